/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* One list of counters for ethtool strings, simulator and result files. */
#ifndef KPN_STATS_H
#define KPN_STATS_H

#include "keepon/frame.h"

/* KPN_COUNTERS - X(name, meaning); all count up from kpn_pacer_init() */
#define KPN_COUNTERS(X)                                                                     \
	X(submitted, "frames given to submit")                                              \
	X(slots_completed, "slots the index has passed")                                    \
	X(slots_posted, "slots handed to the NIC")                                          \
	X(frames_completed, "slots that carried a frame when the index passed them")        \
	X(polls, "calls of poll")                                                           \
	X(doorbells, "register writes that posted slots")                                   \
	X(trims, "slots given a length other than nominal")                                 \
	X(underruns, "times the ring was found empty: the wire was idle")                   \
	X(suspected_underruns, "times the wire may have been idle for less than a restart") \
	X(slips, "times readings of the index contradicted the stated drift")               \
	X(doubts, "times a length was stored when its slot may have been fetched")          \
	X(index_errors, "readings of the index outside the posted slots")                   \
	X(losses, "times the NIC could not be read or its index stood still: stopped")      \
	X(steps, "changes of the time of day, requested or after an underrun")              \
	X(rate_changes, "changes of the clock rate")                                        \
	X(recalled, "frames taken back from the ring because the clock stepped")            \
	X(displaced, "best-effort frames taken back for a scheduled one")                   \
	X(prebuffered, "frames held back before their window")

/** struct kpn_stats - the counters, and one per verdict */
struct kpn_stats {
#define KPN_COUNTER_MEMBER(name, text) u64 name;
	KPN_COUNTERS(KPN_COUNTER_MEMBER)
#undef KPN_COUNTER_MEMBER
	u64 verdicts[KPN_VERDICT_COUNT];
};

enum {
#define KPN_COUNTER_ONE(name, text) +1
	KPN_COUNTER_COUNT = 0 KPN_COUNTERS(KPN_COUNTER_ONE),
#undef KPN_COUNTER_ONE
};

/** kpn_stats_name() - name of counter @index < KPN_COUNTER_COUNT, in the order of the list */
const char *kpn_stats_name(u32 index);

/** kpn_stats_value() - value of that counter */
u64 kpn_stats_value(const struct kpn_stats *stats, u32 index);

/** kpn_stats_ended() - frames with a verdict */
u64 kpn_stats_ended(const struct kpn_stats *stats);

#endif
