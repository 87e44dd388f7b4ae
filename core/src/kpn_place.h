/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Bytes of a frame into a slot, and the rest of the slot, which is always zero on the wire. With
 * deferred padding the bytes of a frame are zeroed when its slot becomes a placeholder again, so
 * that a buffer without a frame is all zero and an insertion only copies. With padding on demand
 * they stay until the next frame, which zeroes what it does not overwrite: polls touch no buffer.
 * No placeholder may be sent from such a buffer (kpn_config_spare_buffers()). KeepON paper sections
 * 3.3 and A.3.
 */
#ifndef KPN_PLACE_H
#define KPN_PLACE_H

#include "kpn_doubt.h"
#include "kpn_head.h"
#include "kpn_pacer_state.h"

/**
 * kpn_pad() - the first @data_bytes of @buffer, of descriptor @desc, were just written; zero what
 * earlier frames left after them
 *
 * Only with padding on demand. Beyond old_bytes the buffer is zero since the reset, so the cost
 * follows the old frame, not the length of the slot. Return: @written_bytes for commit.
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
 * kpn_retire() - make descriptor @desc a placeholder of @slot_bytes again; zero the @data_bytes its
 * frame had written, or leave them to the next frame
 */
static inline void kpn_retire(struct kpn_pacer *pacer, u32 desc, u32 slot_bytes, u32 data_bytes)
{
	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, data_bytes & pacer->frames.zeroed_mask);
}

/**
 * kpn_lost() - whether slot @seq is no longer changeable now, or will not be after @ahead_ns and
 * the time of a store
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
 * A slot too short for the frame, which planning has not reached yet, becomes nominal first.
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
 * kpn_place_inline() - put @frame into the free slot @seq
 * @ahead_ns: how long before the NIC may fetch it the slot counts as lost
 *
 * Copy first, then one store makes the slot real: the NIC never fetches half a frame (C19). Copying
 * takes time, so the head is checked again just before that store. Return: false if the slot can no
 * longer be changed; it is still a placeholder, whose bytes the first hop discards.
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
		/*
		 * nothing is written back yet: the next frame in this buffer has to report all
		 * bytes as written
		 */
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
		/* the slot was too short for the frame, so its length was changed */
		if (pacer->ring.slot[desc].delta_ps != delta_ps)
			kpn_doubt_lengths(pacer, (u64)-delta_ps, seq + 1);
	}
	frame->seq = seq;
	frame->verdict = (u8)verdict;
	kpn_ring_claim(&pacer->ring, seq, desc, frame, verdict == KPN_VERDICT_BEST_EFFORT);
	return true;
}

/**
 * kpn_place_span() - the same for a frame of several slots, from @seq on, all of them posted or
 * none; kpn_row_fits()
 *
 * A frame fetched before all stores are done has a bad FCS. A late store can shift the slots after
 * the frame: by less than a slot if the frame is sent in fragments.
 */
bool kpn_place_span(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq,
		    enum kpn_verdict verdict, const struct kpn_placement *placement, u64 ahead_ns);

/**
 * kpn_retire_span() - make descriptors from @first on, which held @frame, placeholders again; the
 * last of them differs from nominal by @delta_ps
 *
 * Goes from the last to the first: the FCS of fragments must go before the bytes it covers.
 */
void kpn_retire_span(struct kpn_pacer *pacer, u32 first, const struct kpn_frame *frame,
		     s64 delta_ps);

/** kpn_trim_span() - make the slots of @frame, the last in @desc, differ by @delta_ps together */
void kpn_trim_span(struct kpn_pacer *pacer, u32 desc, const struct kpn_frame *frame, s64 delta_ps);

/**
 * kpn_place() - the same for all other cases than a scheduled frame in its own slot
 *
 * Return: false if the slot was lost while the frame was copied; the next frames are then placed
 * further ahead.
 */
bool kpn_place(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq, enum kpn_verdict verdict,
	       const struct kpn_placement *placement);

#endif
