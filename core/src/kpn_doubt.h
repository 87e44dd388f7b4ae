/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The wire is less certain: what may have stood still, and what was stored too late. */
#ifndef KPN_DOUBT_H
#define KPN_DOUBT_H

#include "kpn_pacer_state.h"

enum {
	/* After a slip this many readings must agree before frames are inserted again. */
	KPN_DISTRUST_POLLS = 16,
};

/** kpn_renew_plain() - how far the next reading may move the index and still be plain */
void kpn_renew_plain(struct kpn_pacer *pacer);

/**
 * kpn_suspect_late_bell() - a doorbell for what follows @tail_seq was over at CPU time @rung_ns:
 * the wire may have stood there by then
 */
void kpn_suspect_late_bell(struct kpn_pacer *pacer, u64 tail_seq, u64 tail_ps, u64 rung_ns);

/**
 * kpn_suspect_idle() - little is posted: if the wire could end before a doorbell takes effect, it
 * may have been idle
 */
void kpn_suspect_idle(struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_carry() - the wire has gone on, up to the tail, and slots it has certainly passed must be
 * posted again before it runs dry, whatever a reading says or does not say
 */
void kpn_carry(struct kpn_pacer *pacer, u64 now_ns);

/**
 * kpn_doubt_lengths() - lengths were stored in slots before @end_seq that may have been fetched
 * with those before: until these have left, and some readings more, where the wire is is less
 * certain by @changed_ps either way, and the clock is unsynchronised
 */
void kpn_doubt_lengths(struct kpn_pacer *pacer, u64 changed_ps, u64 end_seq);

/** kpn_keep_doubt() - after a reading; slots before @passed_seq had left before it */
void kpn_keep_doubt(struct kpn_pacer *pacer, u64 passed_seq);

/**
 * kpn_trust_more() - a reading has agreed
 *
 * One of an index that has not moved says nothing new: it may be frozen, and the wire go on.
 */
static inline void kpn_trust_more(struct kpn_pacer *pacer, u32 moved)
{
	if (KPN_UNLIKELY(pacer->reading.distrust) && moved)
		pacer->reading.distrust--;
}

#endif
