/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A frame on its way through the core, and its possible outcomes. Frames belong to the caller; the
 * core holds a pointer from the moment kpn_pacer_submit() returns KPN_VERDICT_PENDING until it
 * reports the outcome.
 */
#ifndef KPN_FRAME_H
#define KPN_FRAME_H

#include "keepon/time.h"

/*
 * KPN_VERDICTS - every outcome of a submitted frame: X(name, counted as sent, one-line meaning).
 * Each has a counter; submitted = sum of all + pending, at all times.
 */
#define KPN_VERDICTS(X)                                                                        \
	X(ON_TIME, 1, "left in the slot of its txtime")                                        \
	X(MOVED, 1, "left in a later slot of its class (late policy relaxed or reschedule)")   \
	X(BEST_EFFORT, 1, "had no txtime; left in the first free slot of its class")           \
	X(SENT_STALE, 1, "its slot is another time since: a step, or a grid reached later")    \
	X(IN_DOUBT, 0, "the CPU was held up: it left in its slot or not at all")               \
	X(LATE, 0, "its slot can no longer be changed")                                        \
	X(TOO_EARLY, 0, "its slot is beyond the ring and there is no room before it")          \
	X(OCCUPIED, 0, "another scheduled frame has the slot")                                 \
	X(NOT_ALLOWED, 0, "the slot does not belong to its class")                             \
	X(OVERSIZE, 0, "longer than any run of slots its class has")                           \
	X(NO_SLOT, 0, "no free slot of its class within the ring")                             \
	X(NO_ROOM, 0, "the pre-buffer of its class is full")                                   \
	X(STEPPED, 0, "a clock step took its slot away and no other fits")                     \
	X(UNSYNCHRONISED, 0, "the head of the ring is not known well enough to insert safely") \
	X(UNLOCKED, 0, "its slot is not on the time grid yet")                                 \
	X(INVALID, 0, "malformed: no bytes, negative txtime or class outside 0-15")            \
	X(FLUSHED, 0, "the device stopped before it could leave")

/** enum kpn_verdict - outcome of a frame; KPN_VERDICT_PENDING is none yet */
enum kpn_verdict {
#define KPN_VERDICT_ENUM(name, sent, text) KPN_VERDICT_##name,
	KPN_VERDICTS(KPN_VERDICT_ENUM)
#undef KPN_VERDICT_ENUM
		KPN_VERDICT_COUNT,
	KPN_VERDICT_PENDING = KPN_VERDICT_COUNT,
};

/** kpn_verdict_name() - lower-case name, as in result files ("on_time") */
const char *kpn_verdict_name(enum kpn_verdict verdict);

/** kpn_verdict_is_sent() - whether frames with this verdict were on the wire */
bool kpn_verdict_is_sent(enum kpn_verdict verdict);

enum kpn_frame_flags {
	KPN_FRAME_TXTIME = 1u << 0, /* txtime_ns is valid: a scheduled frame */
};

/**
 * struct kpn_frame - one frame, owned by the caller
 * @data: frame from destination address to last payload byte, FCS excluded; unchanged until the
 *	outcome
 * @frame_bytes: length on the wire, FCS included and preamble excluded; @data has 4 bytes less
 * @tc: traffic class, 0-15
 * @flags: enum kpn_frame_flags
 * @txtime_ns: requested instant at the reference plane (first bit after the SFD), in PHC time
 * @cookie: free for the caller
 * @verdict: outcome of a frame taken from kpn_pacer_take_ended()
 * @start: PHC time of its reference plane for sent verdicts (in doubt: the instant if it left),
 *	else zero
 * @next: next frame of that list
 * @slots: number of slots it takes
 * @seq: slot it was last placed in, the first of them
 *
 * While the frame is pending, @verdict and all members after it are private to the core.
 */
struct kpn_frame {
	const void *data;
	u16 frame_bytes;
	u8 tc;
	u8 flags;
	u8 verdict;
	u8 slots;
	s64 txtime_ns;
	void *cookie;
	struct kpn_frame *next;
	struct kpn_time start;
	/* private while pending */
	u64 seq;
};

#endif
