// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the driver is given: for each slot a packet of its own, so that its end tells when it has
 * left. All placeholders share one buffer. A driver that frees, or orphans, what it has not sent is
 * found out by the measurement.
 */
#include <linux/etherdevice.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "generic.h"

enum {
	MAC_CONTROL_TYPE = 0x8808,
	MAC_CONTROL_OPCODE = 0x7fff, /* unassigned: IEEE Std 802.3 table 31A-1 */
	EXPERIMENTAL_TYPE = 0x88b5,
};

/* Frames of all devices: this module's code is called for each of them. */
static atomic_t in_flight = ATOMIC_INIT(0);

int generic_flights(void)
{
	return atomic_read(&in_flight);
}

struct generic_flight *generic_flight_make(struct generic_pump *pump, struct generic_meter *meter)
{
	struct generic_flight *flight = kzalloc(sizeof(*flight), GFP_KERNEL);

	if (!flight)
		return NULL;
	refcount_set(&flight->refs, 1);
	flight->meter = meter;
	rcu_assign_pointer(flight->pump, pump);
	return flight;
}

void generic_flight_put(struct generic_flight *flight)
{
	if (flight && refcount_dec_and_test(&flight->refs))
		kfree(flight);
}

static void note(struct generic_meter *meter, u64 now_ns)
{
	unsigned long flags;
	s64 after_ns;
	u32 part;

	raw_spin_lock_irqsave(&meter->lock, flags);
	part = div_u64((u64)meter->count++ * GENERIC_PARTS, meter->frames);
	meter->last_ns = now_ns;
	after_ns =
		(s64)(now_ns - meter->begun_ns) - (s64)div_u64(meter->count * meter->slot_ps, 1000);
	meter->early_ns[part] = min(meter->early_ns[part], after_ns);
	/* at first the pump is busy filling the window */
	if (part == 1)
		meter->late_ns = max(meter->late_ns, after_ns);
	raw_spin_unlock_irqrestore(&meter->lock, flags);
}

/* The driver is through with a frame. */
static void came_back(struct sk_buff *skb)
{
	struct generic_flight *flight = skb_shinfo(skb)->destructor_arg;
	struct generic_pump *pump;
	u64 now_ns = ktime_get_raw_fast_ns();

	rcu_read_lock();
	pump = rcu_dereference(flight->pump);
	if (pump) {
		if (flight->meter)
			note(flight->meter, now_ns);
		WRITE_ONCE(flight->done_ns, now_ns);
		/* a reader that sees the count sees the time */
		smp_mb__before_atomic();
		atomic_inc(&flight->done);
		generic_pump_kick(pump);
	}
	rcu_read_unlock();
	generic_flight_put(flight);
	atomic_dec(&in_flight);
}

/* The last bytes of a blank with a bad FCS are zero, which no frame of zeros has. */
struct sk_buff *generic_blank_make(struct net_device *dev, u8 placeholder, u32 frame_bytes_max)
{
	static const u8 control[ETH_ALEN] = { 0x01, 0x80, 0xc2, 0, 0, 0x01 };
	static const u8 reserved[ETH_ALEN] = { 0x01, 0x80, 0xc2, 0, 0, 0x0f };
	bool is_control = placeholder == KPN_PLACEHOLDER_MAC_CONTROL;
	struct sk_buff *skb = alloc_skb(LL_RESERVED_SPACE(dev) + frame_bytes_max, GFP_KERNEL);
	struct ethhdr *header;

	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(dev));
	header = skb_put_zero(skb, frame_bytes_max);
	if (placeholder == KPN_PLACEHOLDER_BAD_FCS) {
		skb->no_fcs = 1;
	} else {
		ether_addr_copy(header->h_dest, is_control ? control : reserved);
		ether_addr_copy(header->h_source, dev->dev_addr);
		header->h_proto = htons(is_control ? MAC_CONTROL_TYPE : EXPERIMENTAL_TYPE);
		if (is_control)
			*(__be16 *)(header + 1) = htons(MAC_CONTROL_OPCODE);
	}
	skb->protocol = header->h_proto;
	return skb;
}

static struct sk_buff *make_real(struct generic_pump *pump)
{
	const struct generic_slot *slot = &pump->next.slot;
	u32 bytes = slot->frame_bytes - KPN_FCS_BYTES;
	struct sk_buff *skb =
		alloc_skb(LL_RESERVED_SPACE(pump->dev) + bytes, GFP_ATOMIC | __GFP_NOWARN);

	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(pump->dev));
	skb_put_data(skb, pump->next.data, slot->data_bytes);
	skb_put_zero(skb, bytes - slot->data_bytes);
	skb->protocol = ((struct ethhdr *)skb->data)->h_proto;
	skb_shinfo(skb)->destructor_arg = pump->flight;
	return skb;
}

struct sk_buff *generic_skb_make(struct generic_pump *pump)
{
	const struct generic_slot *slot = &pump->next.slot;
	struct sk_buff *skb = slot->real ? make_real(pump) : skb_clone(pump->blank, GFP_ATOMIC);

	if (!skb)
		return NULL;
	if (!slot->real)
		skb_trim(skb, slot->frame_bytes - (skb->no_fcs ? 0 : KPN_FCS_BYTES));
	skb->dev = pump->dev;
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	skb_set_queue_mapping(skb, 0);
	refcount_inc(&pump->flight->refs);
	atomic_inc(&in_flight);
	skb->destructor = came_back;
	return skb;
}
