/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Bytes of a frame into a slot, and of a slot behind its frame: always zero on the wire, and who
 * makes them so. Deferred, the bytes of a frame are zeroed when its slot is a placeholder again, so
 * that a buffer without a frame is all zero and an insertion only copies. On demand they stay until
 * the next frame comes, which zeroes what it does not overwrite: polls touch no buffer. No
 * placeholder may be sent from such a buffer then (kpn_config_spare_buffers()). KeepON paper
 * sections 3.3 and A.3.
 */
#ifndef KPN_PLACE_H
#define KPN_PLACE_H

#include "kpn_doubt.h"
#include "kpn_head.h"
#include "kpn_pacer_state.h"

/**
 * kpn_pad() - the first @data_bytes of @buffer, that of descriptor @desc, were just written; zero
 * what earlier frames left behind them
 *
 * Only with padding on demand. Beyond old_bytes the buffer is zero since the reset, so the cost
 * follows what was there, not the length of the slot. Return: how many bytes of the buffer were
 * written since it was last written back.
 */
static inline u32 kpn_pad(struct kpn_pacer *pacer, u8 *buffer, u32 desc, u32 data_bytes)
{
	u32 old_bytes = pacer->frames.old_bytes[desc];

	pacer->frames.old_bytes[desc] = (u16)data_bytes;
	if (old_bytes <= data_bytes)
		return data_bytes;
	memset(buffer + data_bytes, 0, old_bytes - data_bytes);
	return old_bytes;
}

/**
 * kpn_retire() - descriptor @desc is a placeholder of @slot_bytes again: the @data_bytes its frame
 * had written are zeroed, or left to the next one
 */
static inline void kpn_retire(struct kpn_pacer *pacer, u32 desc, u32 slot_bytes, u32 data_bytes)
{
	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, data_bytes & pacer->frames.zeroed_mask);
}

/**
 * kpn_lost() - whether slot @seq of a placement is lost by now, or will be in @ahead_ns and the
 * time of a store
 */
static inline bool kpn_lost(const struct kpn_pacer *pacer, u64 seq,
			    const struct kpn_placement *placement, u64 ahead_ns)
{
	u64 cpu_ns = kpn_cpu_now(pacer) + ahead_ns + pacer->caps.store_ns_max;

	return KPN_UNLIKELY(cpu_ns > placement->until_ns) && kpn_lost_by(pacer, seq, cpu_ns);
}

/**
 * kpn_length_for() - length of the slot in @desc
 *
 * What does not hold the frame yet (planning has not come so far) becomes nominal first.
 */
static inline u32 kpn_length_for(struct kpn_pacer *pacer, u64 seq, u32 desc, u32 frame_bytes)
{
	s64 delta_ps = pacer->ring.slot[desc].delta_ps;
	u32 slot_bytes;

	if (KPN_LIKELY(!delta_ps))
		return pacer->config.slot_bytes;
	slot_bytes = kpn_slot_bytes_with(pacer, delta_ps);
	if (KPN_LIKELY(slot_bytes >= frame_bytes))
		return slot_bytes;
	KPN_ASSERT(pacer->todo & KPN_TODO_PLAN && seq >= pacer->ring.plan.seq);
	kpn_ring_set_delta(&pacer->ring, seq, desc, 0);
	pacer->strip.end_ps = pacer->ring.tail.ps;
	return pacer->config.slot_bytes;
}

/**
 * kpn_place_inline() - @frame into slot @seq, which is free
 * @ahead_ns: so long before it may be fetched the slot counts as lost
 *
 * Copy first, then one store makes the slot real: the NIC never fetches half a frame (C19). Copying
 * took time, so just before that store the head is asked for once more. Return: false if the slot
 * can no longer be changed; it is still a placeholder, whose bytes the first hop discards.
 */
static KPN_ALWAYS_INLINE bool kpn_place_inline(struct kpn_pacer *pacer, struct kpn_frame *frame,
					       u64 seq, enum kpn_verdict verdict,
					       const struct kpn_placement *placement, u64 ahead_ns)
{
	u32 desc = kpn_ring_desc(&pacer->ring, seq);
	u32 data_bytes = frame->frame_bytes - KPN_FCS_BYTES;
	u32 written_bytes = data_bytes;
	u8 *buffer = pacer->nic_ops.buffer(pacer->nic, desc);
	s64 delta_ps;

	kpn_copy_frame(buffer, frame->data, data_bytes);
	if (KPN_UNLIKELY(pacer->frames.old_bytes))
		written_bytes = kpn_pad(pacer, buffer, desc, data_bytes);
	if (KPN_UNLIKELY(kpn_lost(pacer, seq, placement, ahead_ns))) {
		/* nothing of it is written back yet: the next frame here has to say all of it */
		if (pacer->frames.old_bytes)
			pacer->frames.old_bytes[desc] = (u16)written_bytes;
		kpn_retire(pacer, desc, kpn_slot_bytes_with(pacer, pacer->ring.slot[desc].delta_ps),
			   data_bytes);
		return false;
	}
	delta_ps = pacer->ring.slot[desc].delta_ps;
	pacer->nic_ops.commit(pacer->nic, desc,
			      kpn_length_for(pacer, seq, desc, frame->frame_bytes), data_bytes,
			      written_bytes);
	if (KPN_UNLIKELY(kpn_may_be_fetched(pacer, seq, placement->until_ns))) {
		verdict = KPN_VERDICT_IN_DOUBT;
		/* what did not hold it is a slot that was shortened */
		if (pacer->ring.slot[desc].delta_ps != delta_ps)
			kpn_doubt_lengths(pacer, (u64)-delta_ps, seq + 1);
	}
	frame->seq = seq;
	frame->verdict = (u8)verdict;
	kpn_ring_claim(&pacer->ring, seq, desc, frame, verdict == KPN_VERDICT_BEST_EFFORT);
	return true;
}

/**
 * kpn_place_span() - the same of a frame that takes several slots, from @seq on, all of them posted
 * or none; kpn_row_fits()
 *
 * What is fetched while they are stored has a bad FCS. A store too late can leave the slots behind
 * the frame elsewhere: by less than a slot where it is sent in fragments.
 */
bool kpn_place_span(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq,
		    enum kpn_verdict verdict, const struct kpn_placement *placement, u64 ahead_ns);

/**
 * kpn_retire_span() - descriptors from @first on, in which @frame was, are placeholders again; the
 * last of them differs from nominal by @delta_ps
 *
 * From the last to the first: the FCS of fragments goes before any of what it is computed over.
 */
void kpn_retire_span(struct kpn_pacer *pacer, u32 first, const struct kpn_frame *frame,
		     s64 delta_ps);

/** kpn_trim_span() - the slots of @frame, the last in @desc, differ by @delta_ps together */
void kpn_trim_span(struct kpn_pacer *pacer, u32 desc, const struct kpn_frame *frame, s64 delta_ps);

/**
 * kpn_place() - the same for all but the usual, which is a scheduled frame in its own slot
 *
 * Return: false if the slot was lost while the frame was copied; the next frames get ones further
 * ahead then.
 */
bool kpn_place(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq, enum kpn_verdict verdict,
	       const struct kpn_placement *placement);

#endif
