// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the ring to the driver: whenever slots are posted and whenever frames come back, as many
 * more are handed over as the window has room for. What is handed over can no longer be changed,
 * so the window is the lead of frames. It also sees what else delays the wire: frames of others,
 * and an idle wire because the pump came late.
 */
#include <linux/delay.h>
#include <linux/if_ether.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "generic.h"

/* Headers a large packet of others is divided with. */
enum { SEGMENT_HEADERS_BYTES = 128 };

static void on_interrupt(struct irq_work *work)
{
	struct generic_pump *pump = container_of(work, struct generic_pump, interrupt);

	tasklet_schedule(&pump->tasklet);
}

/* What the wire did instead of ours since the last time, as far as it is over; ns. */
static u64 take_delay(struct generic_pump *pump)
{
	u64 delay_ns = 0;
	unsigned long flags;
	u32 done;

	raw_spin_lock_irqsave(&pump->lock, flags);
	done = generic_pump_done(pump);
	if (pump->foreign_ns && (s32)(done - (u32)pump->foreign_seq) >= 0) {
		delay_ns = pump->foreign_ns;
		pump->foreign_ns = 0;
	}
	/* nothing is with the driver: the last frame ended up to lag_ns before it came back */
	if (!pump->halted && !pump->paced_here && pump->handed && done == (u32)pump->handed &&
	    !pump->ran_out)
		delay_ns +=
			ktime_get_raw_fast_ns() - READ_ONCE(pump->flight->done_ns) + pump->lag_ns;
	raw_spin_unlock_irqrestore(&pump->lock, flags);
	return delay_ns;
}

/*
 * Slots of the frame that begins in the next one, 1 if that is a placeholder. A frame whose last
 * fragments are placeholders again was taken back, or came too late for its first.
 */
static u32 next_slots(const struct generic_pump *pump)
{
	u32 idx = generic_idx(pump, pump->handed);
	u32 fragments = pump->slots ? pump->slots[idx].fragments : 0;
	u32 i;

	for (i = 0; i < fragments; i++) {
		const struct generic_slot *slot = &pump->slots[(idx + i) % pump->ring_slots];

		if (slot->fragments != fragments || slot->fragment != i)
			return 1;
	}
	return max(fragments, 1u);
}

/* What is in so many slots becomes one frame; a fragment without the others is a placeholder. */
static void take(struct generic_pump *pump, u32 slots)
{
	struct generic_frame *next = &pump->next;
	u32 idx = generic_idx(pump, pump->handed);
	u32 i;

	next->slot = (struct generic_slot){ .frame_bytes = pump->slot_bytes };
	if (!pump->slots)
		return;
	next->slot = pump->slots[idx];
	if (slots == 1 && next->slot.fragments)
		next->slot = (struct generic_slot){
			.frame_bytes = max_t(u16, next->slot.frame_bytes, KPN_FRAME_BYTES_MIN),
		};
	if (!next->slot.real)
		return;
	memcpy(next->data, pump->buffers + (size_t)idx * pump->buffer_bytes, next->slot.data_bytes);
	for (i = 1; i < slots; i++) {
		u32 more = (idx + i) % pump->ring_slots;
		const struct generic_slot *slot = &pump->slots[more];

		memcpy(next->data + next->slot.data_bytes,
		       pump->buffers + (size_t)more * pump->buffer_bytes, slot->data_bytes);
		next->slot.data_bytes += slot->data_bytes;
		next->slot.frame_bytes += KPN_WIRE_OVERHEAD_BYTES + slot->frame_bytes;
	}
}

/* The next frame, as it is now: from here on nothing of it can be changed. */
static bool hand_out(struct generic_pump *pump)
{
	struct generic_frame *next = &pump->next;
	unsigned long flags;
	u32 slots;
	u32 ahead;

	raw_spin_lock_irqsave(&pump->lock, flags);
	pump->ran_out = pump->handed == pump->tail;
	ahead = (u32)pump->handed - generic_pace_left_locked(pump);
	slots = next_slots(pump);
	next->valid = !pump->ran_out && !pump->halted && ahead + slots <= pump->window;
	if (next->valid) {
		if (!ahead)
			generic_pace_begin_locked(pump);
		take(pump, slots);
		pump->handed += slots;
		if (pump->ends)
			WRITE_ONCE(pump->ends[pump->packets++ & pump->ends_mask],
				   (u32)pump->handed);
	}
	raw_spin_unlock_irqrestore(&pump->lock, flags);
	return next->valid;
}

/* Whether pump->skb is the next frame. */
static bool ready(struct generic_pump *pump)
{
	if (pump->skb)
		return true;
	if (!pump->next.valid && !hand_out(pump))
		return false;
	pump->skb = generic_skb_make(pump);
	if (pump->skb)
		pump->next.valid = false;
	return pump->skb;
}

static void run(struct tasklet_struct *tasklet)
{
	struct generic_pump *pump = from_tasklet(pump, tasklet, tasklet);
	struct netdev_queue *txq = pump->txq;
	u64 delay_ns = take_delay(pump);

	if (delay_ns)
		keepon_native_delayed(pump->dev, delay_ns, 0);
	HARD_TX_LOCK(pump->dev, txq, smp_processor_id());
	while (ready(pump) && !netif_xmit_frozen_or_drv_stopped(txq)) {
		if (!dev_xmit_complete(netdev_start_xmit(pump->skb, pump->dev, txq, false)))
			break;
		pump->skb = NULL;
	}
	HARD_TX_UNLOCK(pump->dev, txq);
}

/* ---- frames of others ---- */

/*
 * What goes through the stack is seen here, ours is not. How much of what is in the driver is
 * ahead of it nobody says: it is over when all is back that the driver has now.
 */
static int on_foreign(struct sk_buff *skb, struct net_device *dev, struct packet_type *tap,
		      struct net_device *orig_dev)
{
	struct generic_pump *pump = container_of(tap, struct generic_pump, tap);
	u32 frames = max_t(u32, skb_shinfo(skb)->gso_segs, 1);
	unsigned long flags;
	u64 wire_ns;
	u32 bytes;

	if (skb->pkt_type == PACKET_OUTGOING) {
		bytes = max_t(u32, skb->len + KPN_FCS_BYTES, KPN_FRAME_BYTES_MIN) +
			(frames - 1) * SEGMENT_HEADERS_BYTES + frames * KPN_WIRE_OVERHEAD_BYTES;
		wire_ns = div_u64(bytes * pump->byte_ps, 1000) + 1;
		raw_spin_lock_irqsave(&pump->lock, flags);
		pump->foreign_ns += wire_ns;
		pump->foreign_seq = pump->handed + 1;
		raw_spin_unlock_irqrestore(&pump->lock, flags);
		keepon_native_delayed(pump->dev, wire_ns, frames);
	}
	consume_skb(skb);
	return 0;
}

void generic_tap_begin(struct generic_pump *pump)
{
	pump->tap = (struct packet_type){
		.type = htons(ETH_P_ALL),
		.dev = pump->dev,
		.func = on_foreign,
	};
	dev_add_pack(&pump->tap);
}

void generic_tap_end(struct generic_pump *pump)
{
	if (pump->tap.func)
		dev_remove_pack(&pump->tap);
	pump->tap.func = NULL;
}

/* ---- life ---- */

struct generic_pump *generic_pump_make(struct net_device *dev, u8 placeholder, u32 slot_bytes,
				       u64 rate_bps)
{
	struct generic_pump *pump = kzalloc(sizeof(*pump), GFP_KERNEL);

	if (!pump)
		return NULL;
	pump->dev = dev;
	pump->txq = netdev_get_tx_queue(dev, 0);
	pump->placeholder = placeholder;
	pump->slot_bytes = slot_bytes;
	pump->ring_slots = 1;
	pump->byte_ps = kpn_byte_time_ps(rate_bps);
	raw_spin_lock_init(&pump->lock);
	tasklet_setup(&pump->tasklet, run);
	pump->interrupt = IRQ_WORK_INIT_HARD(on_interrupt);
	return pump;
}

int generic_pump_begin(struct generic_pump *pump, struct generic_meter *meter)
{
	struct sk_buff *blank;
	unsigned long flags;

	generic_pump_end(pump);
	/* clones that are not back yet share the old one, and the flight it names */
	blank = generic_blank_make(pump->dev, pump->placeholder, KPN_FRAME_BYTES_MAX);
	if (!blank)
		return -ENOMEM;
	kfree_skb(pump->blank);
	pump->blank = blank;
	pump->flight = generic_flight_make(pump, meter);
	if (!pump->flight)
		return -ENOMEM;
	skb_shinfo(blank)->destructor_arg = pump->flight;
	raw_spin_lock_irqsave(&pump->lock, flags);
	pump->handed = 0;
	pump->packets = 0;
	if (pump->ends)
		pump->ends[pump->ends_mask] = 0; /* no packet yet */
	pump->tail = 0;
	pump->left = 0;
	pump->foreign_ns = 0;
	pump->ran_out = true;
	pump->halted = false;
	raw_spin_unlock_irqrestore(&pump->lock, flags);
	return 0;
}

/* When this returns no frame that comes back knows the pump, and nobody runs it. */
void generic_pump_end(struct generic_pump *pump)
{
	struct generic_flight *flight = pump->flight;
	unsigned long flags;

	raw_spin_lock_irqsave(&pump->lock, flags);
	pump->halted = true;
	raw_spin_unlock_irqrestore(&pump->lock, flags);
	if (!flight)
		return;
	RCU_INIT_POINTER(flight->pump, NULL);
	synchronize_net();
	irq_work_sync(&pump->interrupt);
	tasklet_kill(&pump->tasklet);
	pump->next.valid = false;
	kfree_skb(pump->skb);
	pump->skb = NULL;
	pump->flight = NULL;
	generic_flight_put(flight);
}

void generic_pump_free(struct generic_pump *pump)
{
	if (!pump)
		return;
	kfree_skb(pump->blank);
	kvfree(pump->slots);
	kvfree(pump->buffers);
	kvfree(pump->ends);
	kfree(pump);
}

bool generic_pump_wait(const struct generic_pump *pump, u32 most_ms)
{
	const struct generic_flight *flight = pump->flight;
	unsigned long end = jiffies + msecs_to_jiffies(most_ms);

	/* the pump's own reference is left */
	while (refcount_read(&flight->refs) > 1) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(500, 1000);
	}
	return true;
}
