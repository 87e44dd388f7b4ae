// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plain owner of a lent ring, for tests of keepon_hwsim: keeps the ring full of placeholders, makes every 64th slot a real
 * frame, and on purpose writes too late, tears a frame and stalls. What it did is in the kernel log, one line
 * "native_probe: NAME=VALUE" each; what the wire made of it is in the NIC's counters and record.
 *
 *	insmod native_probe.ko dev=n0 polls=400
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>

#include "keepon_native.h"

enum {
	RING_SLOTS = 256,
	SLOT_BYTES = 1230,
	DATA_BYTES = 200,
	EVERY_SLOTS = 64,
	LEAD_SLOTS = 32,
	POLL_US = 50,
};

static char *dev = "n0";
module_param(dev, charp, 0);
MODULE_PARM_DESC(dev, "NIC whose ring is taken");
static int polls = 400;
module_param(polls, int, 0);
MODULE_PARM_DESC(polls, "how often the ring is served, about every 50 us");
static int stall_us;
module_param(stall_us, int, 0);
MODULE_PARM_DESC(stall_us, "in the middle, leave the ring alone for so long");
static bool tear;
module_param(tear, bool, 0);
MODULE_PARM_DESC(tear, "change the third frame after its commit");
static bool late;
module_param(late, bool, 0);
MODULE_PARM_DESC(late, "after three quarters, write into a slot that was fetched");
static int placeholder;
module_param(placeholder, int, 0);
MODULE_PARM_DESC(placeholder, "enum kpn_placeholder");

/**
 * struct probe - the ring and how far it is served
 * @native: the claimed ring
 * @head: slots the index has passed
 * @tail: slots posted
 * @restored: slots made placeholders again
 * @next: next slot to become real
 * @frames: made so far
 * @modulus: of the index
 */
struct probe {
	struct keepon_native native;
	u64 head;
	u64 tail;
	u64 restored;
	u64 next;
	u32 frames;
	u32 modulus;
};

static void observe(struct probe *p)
{
	u32 index = p->native.ops->read_index(p->native.nic);

	p->head += (index - (u32)p->head) % p->modulus;
}

static void fill(u8 *data, u32 number)
{
	struct ethhdr *header = (struct ethhdr *)data;

	eth_broadcast_addr(header->h_dest);
	memset(header->h_source, 0x02, ETH_ALEN);
	header->h_proto = htons(0x88b5); /* local experimental, IEEE Std 802 */
	memset(data + ETH_HLEN, (int)number, DATA_BYTES - ETH_HLEN);
}

static void make_real(struct probe *p, u64 seq)
{
	u8 *data = p->native.ops->buffer(p->native.nic, seq % RING_SLOTS);

	fill(data, p->frames);
	p->native.ops->commit(p->native.nic, seq % RING_SLOTS, SLOT_BYTES, DATA_BYTES);
	if (tear && p->frames == 2)
		data[ETH_HLEN + 1] ^= 0xff;
	p->frames++;
}

static void serve(struct probe *p)
{
	observe(p);
	for (; p->restored < p->head; p->restored++) {
		if (p->restored % EVERY_SLOTS)
			continue;
		memset(p->native.ops->buffer(p->native.nic, p->restored % RING_SLOTS), 0, DATA_BYTES);
		p->native.ops->restore(p->native.nic, p->restored % RING_SLOTS, SLOT_BYTES);
	}
	if (p->head + RING_SLOTS - 1 > p->tail) {
		p->native.ops->rearm(p->native.nic, p->tail % RING_SLOTS, (u32)(p->head + RING_SLOTS - 1 - p->tail));
		p->tail = p->head + RING_SLOTS - 1;
		p->native.ops->doorbell(p->native.nic, p->tail % RING_SLOTS, p->tail);
	}
	if (p->next < p->head + LEAD_SLOTS)
		p->next = roundup(p->head + LEAD_SLOTS, EVERY_SLOTS);
	for (; p->next < p->head + LEAD_SLOTS + EVERY_SLOTS; p->next += EVERY_SLOTS)
		make_real(p, p->next);
}

/* What the index has passed was fetched: what is written now leaves a whole ring later. */
static void write_late(struct probe *p)
{
	u32 desc_idx;

	observe(p);
	desc_idx = (p->head - 1) % RING_SLOTS;
	fill(p->native.ops->buffer(p->native.nic, desc_idx), 0xee);
	p->native.ops->commit(p->native.nic, desc_idx, SLOT_BYTES, DATA_BYTES);
	pr_info("native_probe: late_slot=%llu\n", p->head - 1);
}

static void drive(struct probe *p)
{
	int i;

	for (i = 0; i < polls; i++) {
		serve(p);
		if (stall_us && i == polls / 2)
			usleep_range(stall_us, stall_us + 10);
		if (late && i == polls * 3 / 4)
			write_late(p);
		usleep_range(POLL_US, POLL_US + 1);
	}
}

static int run(struct net_device *nic)
{
	const struct keepon_native_driver *driver = &keepon_hwsim_native;
	struct keepon_native_setup setup = {
		.ring_slots = RING_SLOTS,
		.slot_bytes = SLOT_BYTES,
		.buffer_bytes = SLOT_BYTES,
		.placeholder = (u8)placeholder,
	};
	struct kpn_nic_caps caps;
	struct keepon_native other;
	struct probe p = { 0 };
	int err = driver->query(nic, &caps);

	pr_info("native_probe: query=%d\n", err);
	if (err)
		return err;
	p.modulus = caps.index_modulus;
	pr_info("native_probe: prefetch_slots_max=%u index_to_wire_ns=%d..%d restart_ns=%u..%u\n",
		caps.prefetch_slots_max, caps.index_to_wire_ns_min, caps.index_to_wire_ns_max, caps.restart_ns_min,
		caps.restart_ns_max);
	err = driver->claim(nic, &setup, &p.native);
	pr_info("native_probe: claim=%d\n", err);
	if (err)
		return err;
	pr_info("native_probe: second_claim=%d\n", driver->claim(nic, &setup, &other));
	driver->reset(nic, &p.native);
	drive(&p);
	pr_info("native_probe: frames=%u\n", p.frames);
	pr_info("native_probe: head=%llu\n", p.head);
	driver->reset(nic, &p.native);
	pr_info("native_probe: index_after_reset=%u\n", p.native.ops->read_index(p.native.nic));
	driver->release(nic, &p.native);
	return 0;
}

static int __init probe_init(void)
{
	struct net_device *nic;
	int err = -ENODEV;

	rtnl_lock();
	nic = __dev_get_by_name(&init_net, dev);
	if (nic)
		err = run(nic);
	rtnl_unlock();
	return err;
}

static void __exit probe_exit(void)
{
}

module_init(probe_init);
module_exit(probe_exit);
MODULE_DESCRIPTION("Plain owner of a lent ring, for tests");
MODULE_LICENSE("GPL");
