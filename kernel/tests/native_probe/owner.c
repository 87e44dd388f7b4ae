// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a plain owner does with a ring: keeps it full of placeholders and makes every 64th slot a
 * real frame. Mistakes on demand.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>

#include "probe.h"

enum {
	EVERY_SLOTS = 64,
	LEAD_SLOTS = 32,
};

static struct keepon_native_setup setup_of(const struct probe *p)
{
	return (struct keepon_native_setup){
		.ring_slots = PROBE_RING_SLOTS,
		.slot_bytes = PROBE_SLOT_BYTES,
		.buffer_bytes = PROBE_SLOT_BYTES,
		.placeholder = p->placeholder,
	};
}

/** probe_query() - say what the ring can do; RTNL */
int probe_query(struct probe *p)
{
	struct keepon_native_caps caps;
	const char *why = "";
	int err = p->driver->query(p->dev, PROBE_SLOT_BYTES, &caps, &why);

	pr_info("native_probe: query=%d %s\n", err, why);
	if (err)
		return err;
	p->modulus = caps.nic.index_modulus;
	pr_info("native_probe: prefetch_slots_max=%u\n", caps.nic.prefetch_slots_max);
	pr_info("native_probe: pause_ns_max=%u\n", caps.nic.pause_ns_max);
	pr_info("native_probe: cpu_tick_ns=%u\n", caps.nic.cpu_tick_ns);
	pr_info("native_probe: store_ns_max=%u\n", caps.nic.store_ns_max);
	pr_info("native_probe: poll_ns_min=%u\n", caps.nic.poll_ns_min);
	pr_info("native_probe: claims=%x context=%u\n", caps.claims, caps.context);
	return 0;
}

/** probe_claim() - twice, which must not work; RTNL */
int probe_claim(struct probe *p)
{
	struct keepon_native_setup setup = setup_of(p);
	struct keepon_native other;
	int err = p->driver->claim(p->dev, &setup, &p->native);

	pr_info("native_probe: claim=%d\n", err);
	if (!err)
		pr_info("native_probe: second_claim=%d\n",
			p->driver->claim(p->dev, &setup, &other));
	return err;
}

/** probe_begin() - the ring is as new; RTNL */
void probe_begin(struct probe *p)
{
	p->driver->reset(p->dev, &p->native);
	p->head = 0;
	p->tail = 0;
	p->retired = 0;
	p->next = 0;
}

static bool observe(struct probe *p)
{
	u32 index = p->native.ops->read_index(p->native.nic);

	if (index == KPN_INDEX_GONE)
		return false;
	p->head += (index - (u32)p->head) % p->modulus;
	return true;
}

static void fill(u8 *data, u32 number)
{
	struct ethhdr *header = (struct ethhdr *)data;

	eth_broadcast_addr(header->h_dest);
	memset(header->h_source, 0x02, ETH_ALEN);
	header->h_proto = htons(0x88b5); /* local experimental, IEEE Std 802 */
	memset(data + ETH_HLEN, (int)number, PROBE_DATA_BYTES - ETH_HLEN);
}

static void make_real(struct probe *p, u64 seq)
{
	const struct kpn_nic_ops *ops = p->native.ops;
	u32 desc_idx = seq % PROBE_RING_SLOTS;

	fill(ops->buffer(p->native.nic, desc_idx), p->frames);
	ops->commit(p->native.nic, desc_idx, PROBE_SLOT_BYTES, PROBE_DATA_BYTES,
		    PROBE_DATA_BYTES - p->unwritten);
	if (p->tear && p->frames == 2)
		((u8 *)ops->buffer(p->native.nic, desc_idx))[ETH_HLEN + 1] ^= 0xff;
	p->frames++;
}

static bool serve(struct probe *p)
{
	const struct kpn_nic_ops *ops = p->native.ops;

	if (!observe(p))
		return false;
	for (; p->retired < p->head; p->retired++) {
		if (!(p->retired % EVERY_SLOTS))
			ops->retire(p->native.nic, p->retired % PROBE_RING_SLOTS, PROBE_SLOT_BYTES,
				    PROBE_DATA_BYTES);
	}
	if (p->head + PROBE_RING_SLOTS - 1 > p->tail) {
		ops->rearm(p->native.nic, p->tail % PROBE_RING_SLOTS,
			   (u32)(p->head + PROBE_RING_SLOTS - 1 - p->tail));
		p->tail = p->head + PROBE_RING_SLOTS - 1;
		ops->doorbell(p->native.nic, p->tail % PROBE_RING_SLOTS, p->tail);
	}
	if (p->next < p->head + LEAD_SLOTS)
		p->next = roundup(p->head + LEAD_SLOTS, EVERY_SLOTS);
	for (; p->next < p->head + LEAD_SLOTS + EVERY_SLOTS; p->next += EVERY_SLOTS)
		make_real(p, p->next);
	return true;
}

/*
 * probe_serve() - one poll, under a raw lock as an owner in interrupt context has; false if the NIC
 * cannot be read
 */
bool probe_serve(struct probe *p)
{
	static DEFINE_RAW_SPINLOCK(lock);
	unsigned long flags;
	bool readable;

	raw_spin_lock_irqsave(&lock, flags);
	readable = serve(p);
	raw_spin_unlock_irqrestore(&lock, flags);
	return readable;
}

/*
 * probe_write_late() - into a slot the index has passed: it leaves a whole ring later. Not into one
 * that the next polls make a placeholder or a frame of their own.
 */
void probe_write_late(struct probe *p)
{
	u32 desc_idx;
	u64 seq;

	observe(p);
	seq = p->head - 1;
	if (!(seq % EVERY_SLOTS))
		seq--;
	desc_idx = seq % PROBE_RING_SLOTS;
	fill(p->native.ops->buffer(p->native.nic, desc_idx), 0xee);
	p->native.ops->commit(p->native.nic, desc_idx, PROBE_SLOT_BYTES, PROBE_DATA_BYTES,
			      PROBE_DATA_BYTES);
	pr_info("native_probe: late_slot=%llu\n", seq);
}

/** probe_wipe() - zero what stands in the ring, as if the NIC fetched no more */
void probe_wipe(struct probe *p)
{
	u32 desc_idx;

	for (desc_idx = 0; desc_idx < PROBE_RING_SLOTS; desc_idx++)
		memset(p->native.ops->buffer(p->native.nic, desc_idx), 0, PROBE_DATA_BYTES);
}
