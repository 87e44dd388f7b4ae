// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring as the core knows rings. Slots are in memory and persistent; what makes one real is a
 * store under the pump's lock, and the pump takes it as it is then, once. Placeholders are sent
 * from a buffer of their own, so each slot has its spare one. The index counts frames that came
 * back.
 */
#include <linux/ktime.h>

#include "generic.h"

static u64 ring_cpu_ns(void *context)
{
	return ktime_get_raw_fast_ns();
}

/*
 * A pump that stands still though it could go on goes on: there was no memory, the driver refused,
 * or no frame that comes back tells that the time of one is over.
 */
static u32 ring_read_index(void *context)
{
	struct generic_pump *pump = context;
	unsigned long flags;
	bool stands;
	u32 left;

	if (!pump->flight)
		return KPN_INDEX_GONE;
	raw_spin_lock_irqsave(&pump->lock, flags);
	left = generic_pace_left_locked(pump);
	stands = pump->paced_here || left == (u32)pump->handed;
	raw_spin_unlock_irqrestore(&pump->lock, flags);
	if (stands || READ_ONCE(pump->skb) || READ_ONCE(pump->next.valid))
		generic_pump_kick(pump);
	return left & (KPN_INDEX_MODULUS_MAX - 1);
}

static void *ring_buffer(void *context, u32 idx)
{
	struct generic_pump *pump = context;

	return pump->buffers + (size_t)idx * pump->buffer_bytes;
}

static void store(struct generic_pump *pump, u32 idx, struct generic_slot slot)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&pump->lock, flags);
	pump->slots[idx] = slot;
	raw_spin_unlock_irqrestore(&pump->lock, flags);
	/* a reading of the CPU counter after this is later than the store */
	mb();
}

static void ring_commit(void *context, u32 idx, u32 frame_bytes, u32 data_bytes, u32 written_bytes)
{
	store(context, idx,
	      (struct generic_slot){ .frame_bytes = (u16)frame_bytes,
				     .data_bytes = (u16)data_bytes,
				     .real = true });
}

/* All of them at once: the pump sees none or all. */
static void ring_commit_fragments(void *context, u32 first_idx, const struct kpn_span *span,
				  u32 data_bytes)
{
	struct generic_pump *pump = context;
	unsigned long flags;
	u32 i;

	raw_spin_lock_irqsave(&pump->lock, flags);
	for (i = 0; i < span->fragments; i++) {
		bool is_last = i + 1 == span->fragments;
		u32 from;
		u32 bytes = kpn_span_fragment(span, i, &from);

		pump->slots[(first_idx + i) % pump->ring_slots] = (struct generic_slot){
			/* between two there is neither preamble nor gap */
			.frame_bytes = (u16)(bytes - (is_last ? 0 : KPN_WIRE_OVERHEAD_BYTES)),
			.data_bytes = (u16)(data_bytes > from ? min(data_bytes - from, bytes) : 0),
			.real = true,
			.fragments = (u8)span->fragments,
			.fragment = (u8)i,
		};
	}
	raw_spin_unlock_irqrestore(&pump->lock, flags);
	/* as in store() */
	mb();
}

static void ring_retire(void *context, u32 idx, u32 frame_bytes, u32 data_bytes)
{
	store(context, idx, (struct generic_slot){ .frame_bytes = (u16)frame_bytes });
	if (data_bytes)
		memset(ring_buffer(context, idx), 0, data_bytes);
}

static void ring_set_length(void *context, u32 idx, u32 frame_bytes)
{
	struct generic_pump *pump = context;
	struct generic_slot slot = pump->slots[idx];

	slot.frame_bytes = (u16)frame_bytes;
	store(pump, idx, slot);
}

static void ring_rearm(void *context, u32 first_idx, u32 count)
{
}

static void ring_doorbell(void *context, u32 tail_idx, u64 tail_seq)
{
	struct generic_pump *pump = context;
	unsigned long flags;

	raw_spin_lock_irqsave(&pump->lock, flags);
	pump->tail = tail_seq;
	raw_spin_unlock_irqrestore(&pump->lock, flags);
	generic_pump_kick(pump);
}

static void ring_halt(void *context)
{
	struct generic_pump *pump = context;
	unsigned long flags;

	raw_spin_lock_irqsave(&pump->lock, flags);
	pump->halted = true;
	raw_spin_unlock_irqrestore(&pump->lock, flags);
}

const struct kpn_nic_ops generic_ring_ops = {
	.cpu_ns = ring_cpu_ns,
	.read_index = ring_read_index,
	.buffer = ring_buffer,
	.commit = ring_commit,
	.commit_fragments = ring_commit_fragments,
	.retire = ring_retire,
	.set_length = ring_set_length,
	.rearm = ring_rearm,
	.doorbell = ring_doorbell,
	.halt = ring_halt,
};
