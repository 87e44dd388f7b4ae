// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plainest device that lends a ring: `bench0`, 1 Gb/s, no wire behind it, an index that follows
 * from the time and the lengths set. It stands in for keepon_hwsim, whose model of a NIC would
 * cost more than the driver that is to be measured. What its own operations take is added up in
 * keepon_plain_spent, so that it can be left out.
 */
#include <asm/msr.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "keepon_native.h"

enum {
	RING_SLOTS_MAX = 1024,
	BUFFER_BYTES = 2048,
	WIRE_OVERHEAD_BYTES = 20,
	BYTE_PS = 8000,
	RESTART_NS = 1000,
	CALIBRATION_CALLS = 64,
};

/*
 * struct plain - the ring; start_ps: when the next slot starts, in CLOCK_MONOTONIC_RAW; sent, tail:
 * slots that have left, slots posted; trimmed: descriptors of another length than slot_bytes
 */
struct plain {
	u8 *buffers;
	u64 start_ps;
	u64 sent;
	u64 tail;
	u32 ring_slots;
	u32 slot_bytes;
	u32 trimmed;
	u32 length_bytes[RING_SLOTS_MAX];
};

static struct net_device *plain_dev;

/* Of the time stamp counter: within the operations below, since the module was loaded. */
u64 keepon_plain_spent;
EXPORT_SYMBOL_GPL(keepon_plain_spent);

/* What SPENT() takes beside its statement, from call to return. */
static u64 call_cost;

#define SPENT(statement)                                           \
	do {                                                       \
		u64 begin = rdtsc();                               \
                                                                   \
		statement;                                         \
		keepon_plain_spent += rdtsc() - begin + call_cost; \
	} while (0)

/* However many slots have left: a NIC counts them itself. */
static void advance_equal(struct plain *plain, u64 now_ps)
{
	u64 slot_ps = (u64)(plain->slot_bytes + WIRE_OVERHEAD_BYTES) * BYTE_PS;
	u64 slots = 0;

	if (now_ps > plain->start_ps)
		slots = min((now_ps - plain->start_ps) / slot_ps, plain->tail - plain->sent);
	plain->start_ps += slots * slot_ps;
	plain->sent += slots;
}

static void advance(struct plain *plain)
{
	u64 now_ps = ktime_get_raw_ns() * 1000;

	if (!plain->trimmed) {
		advance_equal(plain, now_ps);
		return;
	}
	while (plain->sent != plain->tail) {
		u32 bytes =
			plain->length_bytes[plain->sent % plain->ring_slots] + WIRE_OVERHEAD_BYTES;
		u64 end_ps = plain->start_ps + (u64)bytes * BYTE_PS;

		if (end_ps > now_ps)
			break;
		plain->start_ps = end_ps;
		plain->sent++;
	}
}

/* Part of the driver's cost, as it is on any system: not left out. */
static u64 op_cpu_ns(void *nic)
{
	return ktime_get_raw_ns();
}

static u32 op_read_index(void *nic)
{
	struct plain *plain = nic;

	SPENT(advance(plain));
	return (u32)plain->sent;
}

static void *op_buffer(void *nic, u32 desc_idx)
{
	struct plain *plain = nic;
	void *buffer;

	SPENT(buffer = plain->buffers + desc_idx * BUFFER_BYTES);
	return buffer;
}

/* Descriptors in memory that the NIC sees at once; the barrier is what the contract asks for. */
static void set_length(struct plain *plain, u32 desc_idx, u32 frame_bytes)
{
	plain->trimmed -= plain->length_bytes[desc_idx] != plain->slot_bytes;
	plain->trimmed += frame_bytes != plain->slot_bytes;
	WRITE_ONCE(plain->length_bytes[desc_idx], frame_bytes);
	smp_mb();
}

static void op_commit(void *nic, u32 desc_idx, u32 frame_bytes, u32 data_bytes, u32 written_bytes)
{
	SPENT(set_length(nic, desc_idx, frame_bytes));
}

static void op_retire(void *nic, u32 desc_idx, u32 frame_bytes, u32 data_bytes)
{
	struct plain *plain = nic;

	SPENT(set_length(plain, desc_idx, frame_bytes);
	      memset(plain->buffers + desc_idx * BUFFER_BYTES, 0, data_bytes));
}

static void op_set_length(void *nic, u32 desc_idx, u32 frame_bytes)
{
	SPENT(set_length(nic, desc_idx, frame_bytes));
}

static void ring_bell(struct plain *plain, u64 tail_seq)
{
	u64 soonest_ps = (ktime_get_raw_ns() + RESTART_NS) * 1000;

	advance(plain);
	if (plain->sent == plain->tail)
		plain->start_ps = max(plain->start_ps, soonest_ps);
	plain->tail = tail_seq;
}

static void op_doorbell(void *nic, u32 tail_idx, u64 tail_seq)
{
	struct plain *plain = nic;

	SPENT(ring_bell(plain, tail_seq));
}

static void op_halt(void *nic)
{
	struct plain *plain = nic;

	SPENT(advance(plain); plain->tail = plain->sent);
}

static noinline void op_nothing(void *nic, u32 desc_idx, u32 frame_bytes)
{
	SPENT(barrier());
}

static const struct kpn_nic_ops plain_ops = {
	.cpu_ns = op_cpu_ns,
	.read_index = op_read_index,
	.buffer = op_buffer,
	.commit = op_commit,
	.retire = op_retire,
	.set_length = op_set_length,
	.doorbell = op_doorbell,
	.halt = op_halt,
};

static bool plain_owns(const struct net_device *dev)
{
	return dev == plain_dev;
}

static int plain_query(struct net_device *dev, u32 slot_bytes, struct keepon_native_caps *caps,
		       const char **why)
{
	caps->claims = KEEPON_CLAIM_PACED | KEEPON_CLAIM_PHC;
	caps->context = KEEPON_CONTEXT_HARDIRQ;
	caps->nic = (struct kpn_nic_caps){
		.ring_slots_min = 8,
		.ring_slots_max = RING_SLOTS_MAX,
		.ring_slots_multiple = 1,
		.reserved_slots = 1,
		.prefetch_slots_max = 4,
		.restart_ns_min = RESTART_NS / 2,
		.restart_ns_max = RESTART_NS * 2,
		.start_quantum_bytes = 1,
		.placeholder_bytes_min = 64,
		.frame_bytes_max = 1522,
		.placeholder_kinds = BIT(KPN_PLACEHOLDER_BAD_FCS),
		.index_counts_done = true,
		.has_spare_buffers = true,
		.desc_persistent = true,
	};
	return 0;
}

static int plain_claim(struct net_device *dev, const struct keepon_native_setup *setup,
		       struct keepon_native *native)
{
	struct plain *plain = netdev_priv(dev);

	plain->buffers = vzalloc(array_size(setup->ring_slots, BUFFER_BYTES));
	if (!plain->buffers)
		return -ENOMEM;
	plain->ring_slots = setup->ring_slots;
	plain->slot_bytes = setup->slot_bytes;
	native->ops = &plain_ops;
	native->nic = plain;
	return 0;
}

static void plain_reset(struct net_device *dev, struct keepon_native *native)
{
	struct plain *plain = netdev_priv(dev);
	u32 i;

	plain->sent = 0;
	plain->tail = 0;
	plain->trimmed = 0;
	for (i = 0; i < plain->ring_slots; i++)
		plain->length_bytes[i] = plain->slot_bytes;
	memset(plain->buffers, 0, plain->ring_slots * BUFFER_BYTES);
}

static void plain_release(struct net_device *dev, struct keepon_native *native)
{
	struct plain *plain = netdev_priv(dev);

	vfree(plain->buffers);
	plain->buffers = NULL;
}

static struct keepon_native_driver plain_native = {
	.name = "keepon_plain",
	.module = THIS_MODULE,
	.owns = plain_owns,
	.query = plain_query,
	.claim = plain_claim,
	.reset = plain_reset,
	.release = plain_release,
};

static netdev_tx_t plain_xmit(struct sk_buff *skb, struct net_device *dev)
{
	return keepon_native_transmit(skb, dev);
}

static const struct net_device_ops plain_netdev_ops = {
	.ndo_start_xmit = plain_xmit,
};

static void plain_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, plain_native.name, sizeof(info->driver));
}

static int plain_link_settings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	settings->base.speed = SPEED_1000;
	settings->base.duplex = DUPLEX_FULL;
	return 0;
}

static const struct ethtool_ops plain_ethtool_ops = {
	.get_drvinfo = plain_drvinfo,
	.get_link_ksettings = plain_link_settings,
};

/* The cheapest of some calls, less what was counted within: what SPENT() misses. */
static void calibrate(void)
{
	u64 least = U64_MAX;
	u64 empty = U64_MAX;
	u32 i;

	for (i = 0; i < CALIBRATION_CALLS; i++) {
		u64 spent = keepon_plain_spent;
		u64 begin = rdtsc();
		u64 middle = rdtsc();
		u64 end;

		op_nothing(NULL, 0, 0);
		end = rdtsc();
		empty = min(empty, middle - begin);
		least = min(least, end - middle - (keepon_plain_spent - spent));
	}
	call_cost = least - empty;
}

static int __init plain_init(void)
{
	int error;

	calibrate();
	plain_dev = alloc_etherdev(sizeof(struct plain));
	if (!plain_dev)
		return -ENOMEM;
	strscpy(plain_dev->name, "bench0", sizeof(plain_dev->name));
	plain_dev->netdev_ops = &plain_netdev_ops;
	plain_dev->ethtool_ops = &plain_ethtool_ops;
	eth_hw_addr_random(plain_dev);
	error = register_netdev(plain_dev);
	if (error)
		free_netdev(plain_dev);
	else
		keepon_native_register(&plain_native);
	return error;
}

static void __exit plain_exit(void)
{
	keepon_native_unregister(&plain_native);
	unregister_netdev(plain_dev);
	free_netdev(plain_dev);
}

module_init(plain_init);
module_exit(plain_exit);

MODULE_DESCRIPTION("Keepon benchmark: the plainest device that lends a ring");
MODULE_LICENSE("GPL");
