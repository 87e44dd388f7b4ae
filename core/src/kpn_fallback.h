/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Other slots for a frame than its own, and holders that make room for it. */
#ifndef KPN_FALLBACK_H
#define KPN_FALLBACK_H

#include "kpn_head.h"
#include "kpn_pacer_state.h"

/**
 * struct kpn_fallback - slots that a frame may have other than its own: [from, end)
 * @last: no more of them will come into the window
 */
struct kpn_fallback {
	u64 from;
	u64 end;
	bool last;
};

/**
 * kpn_make_room() - whether a scheduled frame can have slot @seq, recalling a holder that has to
 * make room
 */
bool kpn_make_room(struct kpn_pacer *pacer, u64 seq);

/** kpn_vacate() - kpn_make_room() of a slot that nearly always is free */
static inline bool kpn_vacate(struct kpn_pacer *pacer, u64 seq)
{
	return KPN_LIKELY(!kpn_ring_frame(&pacer->ring, seq)) || kpn_make_room(pacer, seq);
}

/**
 * kpn_vacate_for() - the same for all slots of @frame from @seq on: a holder makes room with all
 * its slots
 */
bool kpn_vacate_for(struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 seq);

/**
 * kpn_place_later() - place @frame in the first free slot of its class in [from, to). Return:
 * whether there was one
 */
bool kpn_place_later(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 from, u64 to,
		     const struct kpn_placement *placement);

/** kpn_lock_seq_of() - first slot that is, or certainly will be, on the grid */
static inline u64 kpn_lock_seq_of(const struct kpn_pacer *pacer)
{
	if (!pacer->phase_locked)
		return 0;
	if (pacer->align.lock_seq != KPN_SEQ_NEVER)
		return pacer->align.lock_seq;
	return pacer->ring.tail.seq + pacer->posting.lock_slots_max;
}

/** kpn_fallback_slots() - slots for a frame of class @tc other than @target, by its late policy */
struct kpn_fallback kpn_fallback_slots(const struct kpn_pacer *pacer, u8 tc, u64 target,
				       const struct kpn_placement *placement);

#endif
