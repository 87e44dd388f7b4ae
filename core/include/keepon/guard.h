/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What to send next on a standard NIC: frames with a txtime at their times, all others in the gaps.
 * This is the software best effort of the SO_TXTIME proposal (RFC "Time based packet transmission",
 * 2017, "Things todo"). The proposal leaves open when a frame is late and what becomes of it; this
 * file decides that (docs/qdiscs.md). Freestanding: the simulator and sch_guard.ko decide by it.
 *
 * The caller keeps two queues, one ordered by txtime, one a FIFO, and passes only their heads.
 *
 *	          guard window
 *	            |<-- longest frame -->|<- fudge ->|
 *	------------+---------------------------------+--------> time
 *	  any frame |  frames that end before the fudge      txtime: the frame goes,
 *	  may begin |  begins; the others wait                   fudge late at most
 *
 * Times are ns of one clock. The clock of the wire may be slower by KPN_GUARD_SLOW_PPM at most.
 */
#ifndef KPN_GUARD_H
#define KPN_GUARD_H

#include "kpn_platform.h"

#define KPN_GUARD_NEVER_NS ((s64)(~0ull >> 1))

enum {
	/* Two clocks, each within 100 ppm (IEEE Std 802.3-2022 clause 40.6.1.2.6). */
	KPN_GUARD_SLOW_PPM = 200,
	/* Longest frames handed over while the wire is busy: the wire never idles for a timer. */
	KPN_GUARD_AHEAD_FRAMES = 2,
	KPN_GUARD_FUDGE_NS_MAX = 1000000000,
	KPN_GUARD_MTU_BYTES_MAX = 65535,
};

/** enum kpn_guard_late - outcome of a frame whose txtime has passed: dropped, or sent at once */
enum kpn_guard_late {
	KPN_GUARD_LATE_DROP,
	KPN_GUARD_LATE_SEND,
};

/**
 * struct kpn_guard_config - may change at any time
 * @rate_bps: of the link, KPN_RATE_BPS_MIN to KPN_RATE_BPS_MAX
 * @mtu_bytes: longest frame, FCS included; longer ones are refused
 * @fudge_ns: longest time from the decision to send until the wire has begun
 * @tolerance_ns: how long after its txtime a frame that came in time is still sent
 */
struct kpn_guard_config {
	u64 rate_bps;
	u32 mtu_bytes;
	u32 fudge_ns;
	u32 tolerance_ns;
	enum kpn_guard_late late;
};

/**
 * struct kpn_guard - decisions about one wire; zeroed, then kpn_guard_configure()
 * @free_ns: the wire has sent all frames handed over by @free_ns plus the fudge
 * @held_since_ns: with @is_held: since when the wire could send and the next frame waits for a
 *	txtime
 *
 * Counters:
 * @timed: sent by their txtime; @late_sent: of those, sent after it, and @late by their policy
 * @late: came after their txtime, or their turn came later than the tolerance
 * @others: sent from the FIFO; @squeezed: of those, within a guard window
 * @short_notice: came so late that a frame before them may have been on the wire at their txtime
 * @held_ns: time the wire was idle for guard windows while other frames waited
 */
struct kpn_guard {
	struct kpn_guard_config config;
	u32 byte_ps;
	u32 longest_ns;
	s64 free_ns;
	s64 held_since_ns;
	bool is_held;
	u64 timed;
	u64 late_sent;
	u64 late;
	u64 others;
	u64 squeezed;
	u64 short_notice;
	u64 held_ns;
};

/** enum kpn_guard_entry - answer to a frame with a txtime on arrival */
enum kpn_guard_entry {
	KPN_GUARD_QUEUE,
	KPN_GUARD_TOO_LATE,
	KPN_GUARD_TOO_LONG,
};

/** enum kpn_guard_step - what to do now */
enum kpn_guard_step {
	KPN_GUARD_WAIT,       /* until @wake_ns, or until something is queued */
	KPN_GUARD_SEND_TIMED, /* the first by txtime */
	KPN_GUARD_DROP_TIMED, /* the first by txtime, which is late */
	KPN_GUARD_SEND_OTHER, /* the first of the FIFO */
};

/** struct kpn_guard_heads - first frames of both queues; bytes with FCS, 0: the queue is empty */
struct kpn_guard_heads {
	s64 txtime_ns;
	u32 timed_bytes;
	u32 other_bytes;
};

/**
 * kpn_guard_configure() - take a configuration
 *
 * Frames handed over before are assumed to begin within the old fudge; with a smaller fudge the
 * FIFO waits for the difference while the wire is busy. Return: 0, or -KPN_ERANGE, nothing was
 * changed.
 */
int kpn_guard_configure(struct kpn_guard *guard, const struct kpn_guard_config *config);

/** kpn_guard_frame_ns() - time of a frame on the slowest wire, its gap included */
u32 kpn_guard_frame_ns(const struct kpn_guard *guard, u32 frame_bytes);

/** kpn_guard_window_ns() - how long before a txtime its guard window begins */
static inline u32 kpn_guard_window_ns(const struct kpn_guard *guard)
{
	return guard->longest_ns + guard->config.fudge_ns;
}

/**
 * kpn_guard_notice_ns() - how early a txtime must be known so that no other frame overlaps it: the
 * time of all frames that may be handed over by then, and the fudge
 */
static inline u64 kpn_guard_notice_ns(const struct kpn_guard *guard)
{
	return (KPN_GUARD_AHEAD_FRAMES + 1ull) * guard->longest_ns + guard->config.fudge_ns;
}

/** kpn_guard_enter() - a frame with a txtime arrives at @now_ns */
enum kpn_guard_entry kpn_guard_enter(struct kpn_guard *guard, s64 txtime_ns, u32 frame_bytes,
				     s64 now_ns);

/**
 * kpn_guard_next() - what to do at @now_ns
 * @wake_ns: receives the time of the next call if no frame is queued before; KPN_GUARD_NEVER_NS:
 *	call again only when a frame is queued
 *
 * The step counts as done: after anything but KPN_GUARD_WAIT call again at once, with the new
 * heads.
 */
enum kpn_guard_step kpn_guard_next(struct kpn_guard *guard, const struct kpn_guard_heads *heads,
				   s64 now_ns, s64 *wake_ns);

#endif
