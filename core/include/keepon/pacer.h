/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The driver model in one object: keeps the wire saturated, knows the time from what was sent, and
 * puts frames into the slots of their txtimes. Start reading here. One pacer drives one ring; the
 * caller serialises all calls (a lock in the kernel, nothing in the simulator) and none sleeps.
 */
#ifndef KPN_PACER_H
#define KPN_PACER_H

#include "keepon/align.h"
#include "keepon/clock.h"
#include "keepon/config.h"
#include "keepon/credit.h"
#include "keepon/frame.h"
#include "keepon/nic_ops.h"
#include "keepon/observe.h"
#include "keepon/partition.h"
#include "keepon/prebuffer.h"
#include "keepon/ring.h"
#include "keepon/stats.h"

/** enum kpn_event - things an operator must know at once; bits of kpn_pacer_take_events() */
enum kpn_event {
	KPN_EVENT_UNDERRUN,           /* the wire was idle */
	KPN_EVENT_SUSPECTED_UNDERRUN, /* it may have been */
	KPN_EVENT_SLIP,               /* index and CPU counter contradict the stated drift */
	/* lengths were stored in slots that may have left: where the wire is is less certain */
	KPN_EVENT_DOUBT,
	KPN_EVENT_STEP,      /* the time of day changed; net_slots are not where they were */
	KPN_EVENT_LOST,      /* the NIC cannot be read: the pacer has stopped */
	KPN_EVENT_STALLED,   /* the index stood still for too long: the pacer has stopped */
	KPN_EVENT_PARTITION, /* the table that kpn_pacer_set_partition() replaced is used no more */
	KPN_EVENT_COUNT,
};

struct kpn_pacer;

/**
 * kpn_pacer_bytes() - memory one pacer needs for a valid configuration, aligned to 8; buffers are
 * the backend's
 */
size_t kpn_pacer_bytes(const struct kpn_config *config);

/**
 * kpn_pacer_init() - build a pacer in @memory
 * @memory: kpn_pacer_bytes(@config) bytes, aligned to 8; nothing to release later
 * @start_time_ns: PHC time of the first slot were it to start at the @since_ns of
 *	kpn_pacer_start(), not negative
 *
 * Costs O(memory): call it without a lock. Return: the pacer, or NULL if kpn_config_validate()
 * finds a problem.
 */
struct kpn_pacer *kpn_pacer_init(void *memory, const struct kpn_config *config,
				 const struct kpn_nic_caps *caps, const struct kpn_nic_ops *nic_ops,
				 void *nic, s64 start_time_ns);

/**
 * kpn_pacer_start() - post the first slots, all placeholders; the wire starts
 * @since_ns: CPU time to which start_time_ns belongs, not in the future; what has passed since is
 *	added to it
 *
 * Once after each kpn_pacer_init(): the NIC was reset, so its indices are 0, nothing is posted and
 * every descriptor is a placeholder. What is posted first is not trimmed.
 */
void kpn_pacer_start(struct kpn_pacer *pacer, u64 since_ns);

/**
 * kpn_pacer_stop() - halt the NIC; frames not sent by then are FLUSHED by kpn_pacer_drain()
 *
 * The NIC is halted before anything else is touched. Afterwards submit returns FLUSHED, poll does
 * nothing, and the clock stands at the head: it can be set, but is not synchronised. To start
 * again: read kpn_pacer_gettime() before, reset the NIC (which zeroes its buffers),
 * kpn_pacer_init() with the time carried over (rate and counters begin anew), kpn_pacer_start().
 * May be called twice, and after the pacer stopped itself (KPN_EVENT_LOST, KPN_EVENT_STALLED).
 */
void kpn_pacer_stop(struct kpn_pacer *pacer);

/**
 * kpn_pacer_drain() - after a stop: end up to limits.frames frames as FLUSHED. Return: whether
 * there are more
 */
bool kpn_pacer_drain(struct kpn_pacer *pacer);

/**
 * kpn_pacer_delay() - the wire is up to @delay_ps later than the index and the CPU counter make
 * believe: it was idle, or sent what is not of the ring
 *
 * Told by backends that share the wire. Counted as suspected underrun; the time is as uncertain as
 * that. It is to be told when it is known, and again when it is over, as readings in between may
 * have been believed.
 */
void kpn_pacer_delay(struct kpn_pacer *pacer, u64 delay_ps);

/**
 * kpn_pacer_poll() - complete, observe, post, fill
 *
 * Call every kpn_pacer_poll_interval_ns(), at the latest before depth_slots have been sent. One
 * index read, one doorbell, work within kpn_pacer_limits(). Source: KeepON paper section 3.1
 * (A10-A13), docs/model.md.
 *
 * Return: whether kpn_pacer_take_ended() or kpn_pacer_take_events() have anything.
 */
bool kpn_pacer_poll(struct kpn_pacer *pacer);

/**
 * kpn_pacer_poll_interval_ns() - time to sleep until the next poll, by the rule of A25, dithered if
 * so configured
 */
u64 kpn_pacer_poll_interval_ns(struct kpn_pacer *pacer);

/**
 * kpn_pacer_submit() - give a frame to the pacer
 * @frame: kept by the pacer exactly if KPN_VERDICT_PENDING is returned; it comes back by
 *	kpn_pacer_take_ended()
 *
 * Reads the CPU counter, no register of the NIC, and writes no doorbell (C21). Return: pending, or
 * the verdict.
 */
enum kpn_verdict kpn_pacer_submit(struct kpn_pacer *pacer, struct kpn_frame *frame);

/**
 * kpn_pacer_take_ended() - frames that have ended since the last call, in that order
 *
 * To be asked after any call that changes the pacer. Return: the first, linked by kpn_frame.next;
 * NULL if there is none. They are the caller's again.
 */
struct kpn_frame *kpn_pacer_take_ended(struct kpn_pacer *pacer);

/** kpn_pacer_take_events() - bit per enum kpn_event that occurred since the last call */
u32 kpn_pacer_take_events(struct kpn_pacer *pacer);

/**
 * struct kpn_limits - the most that one call on a running pacer does, whatever it is given;
 * computed from the configuration. What is left over is done by the next polls
 * @frames: stores that make a slot real or a placeholder, each with at most one frame copied or
 *	zeroed
 * @trims: descriptors whose length is changed
 * @rearms: descriptors handed over anew by a poll of a NIC that writes them back; 0 with
 *	desc_persistent
 * @words: 64-bit words of bitmaps looked at in search of slots
 * @stall_ns: an index that has not moved for so long stops the pacer with KPN_EVENT_STALLED; it is
 *	noticed by the first poll after that. So does one that is outside what is posted for so
 *	long, and at five readings at least
 */
struct kpn_limits {
	u32 frames;
	u32 trims;
	u32 rearms;
	u32 words;
	u64 stall_ns;
};

struct kpn_limits kpn_pacer_limits(const struct kpn_pacer *pacer);

/**
 * kpn_pacer_set_partition() - another table from a slot on; the wire runs, nothing is flushed
 * @next: made by kpn_partition_init(); table and memory stay the caller's, and stay until they are
 *	replaced in turn or
 *	the pacer is stopped. The table used before may be freed after KPN_EVENT_PARTITION
 * @at_net_slot: first slot of the new table; if it can no longer be changed, the first that can.
 *	Slots before the origin of time count from 2^64 down, so from 2^63 on they are past
 *
 * Frames already placed beyond that slot that the new table does not let stay are placed anew,
 * within the limits. A table whose turn is still to come gives way to @next and is used no more,
 * without an event. Return: 0; -KPN_EBUSY while the first slot of such a table can no longer be
 * changed and has not been passed yet: ask again after a poll or two; -KPN_EINVAL in paper mode and
 * for a table whose slots are too far apart for the trims (KPN_TRIM_RESERVED); -KPN_ERANGE if at
 * @at_net_slot the last of them in the old table and the first in the new one are. Where the switch
 * comes later than asked for, or a step moves it, the grid is reached anew.
 */
int kpn_pacer_set_partition(struct kpn_pacer *pacer, const struct kpn_partition *next,
			    u64 at_net_slot);

/**
 * kpn_pacer_set_credit() - best effort of class @tc is shaped from now on: it is placed in slots its
 * credit has been paid for by the time they are on the wire, however far ahead they are posted
 * @idle_slope_bps, @high_bytes: see kpn_credit_init(); 0: it is not shaped any more
 *
 * Another slope begins when the last frame of the one before is paid for, by the steeper of the two.
 * Frames with a txtime neither wait for credit nor take any away. A class that is always ready
 * reaches its slope if @high_bytes are what kpn_credit_high_bytes() says. Ends with the run. Return:
 * 0; -KPN_EINVAL: no such class; -KPN_ERANGE: no such slope; nothing was changed.
 */
int kpn_pacer_set_credit(struct kpn_pacer *pacer, u8 tc, u64 idle_slope_bps, u32 high_bytes);

/**
 * kpn_pacer_partition() - the table in force, or with @next the one to come, NULL if there is none
 *
 * A table that is neither may be freed. The first one is the pacer's own.
 */
const struct kpn_partition *kpn_pacer_partition(const struct kpn_pacer *pacer, bool next);

/**
 * kpn_pacer_gettime() - PHC time at CPU time @cpu_ns (not before the last poll), as clock_read
 * says; changes nothing
 */
struct kpn_time kpn_pacer_gettime(const struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_pacer_rate_ppb_max() - largest rate of the PHC against the NIC, either way: what the trims
 * can follow, and KPN_ADJ_PPB_MAX at most (in paper mode always)
 */
u32 kpn_pacer_rate_ppb_max(const struct kpn_pacer *pacer);

/** kpn_pacer_scaled_ppm_max() - the same as kpn_pacer_adjfine() takes it */
s64 kpn_pacer_scaled_ppm_max(const struct kpn_pacer *pacer);

/**
 * kpn_pacer_adjfine() - kpn_clock_adjfine() from now on; re-plans the trims of slots that can still
 * be changed. Return: -KPN_ERANGE beyond kpn_pacer_scaled_ppm_max(), nothing was changed
 */
int kpn_pacer_adjfine(struct kpn_pacer *pacer, s64 scaled_ppm);

/**
 * kpn_pacer_adjtime() - shift the PHC; frames beyond recall are counted SENT_STALE, others move
 * with their txtime
 *
 * Return: 0, or -KPN_ERANGE if the PHC would leave 0 to KPN_TIME_NS_MAX (nothing changed).
 */
int kpn_pacer_adjtime(struct kpn_pacer *pacer, s64 delta_ns);

/**
 * kpn_pacer_settime() - set the PHC; return 0, or -KPN_EINVAL if @t is outside 0 to KPN_TIME_NS_MAX
 */
int kpn_pacer_settime(struct kpn_pacer *pacer, struct kpn_time t);

/**
 * struct kpn_head - where the wire can be; positions modulo 2^64, slots as sequence numbers
 * @may_stand: it may have come to the end of what is posted, and no poll has looked since: for how
 *	long it has stood there is not known
 */
struct kpn_head {
	struct kpn_interval wire;
	u64 upper_seq;
	bool valid;
	bool may_stand;
};

/**
 * kpn_pacer_head() - interval of the wire position during CPU nanosecond @cpu_ns, not before the
 * last poll
 */
struct kpn_head kpn_pacer_head(const struct kpn_pacer *pacer, u64 cpu_ns);

/** struct kpn_window - slots into which a frame may be inserted now: [first_seq, end_seq) */
struct kpn_window {
	u64 first_seq;
	u64 end_seq;
	bool valid;
};

/** kpn_pacer_window() - insertion window at CPU time @cpu_ns (C3, with the head's upper bound) */
struct kpn_window kpn_pacer_window(const struct kpn_pacer *pacer, u64 cpu_ns);

/** kpn_pacer_frame_slots() - slots that a frame of @frame_bytes takes; 0: it is too long */
u32 kpn_pacer_frame_slots(const struct kpn_pacer *pacer, u32 frame_bytes);

/**
 * kpn_pacer_frame_bytes_max() - longest frame of class @tc, FCS included: by the configuration, and
 * by the slots in a row it has; 0: it has no slots
 */
u32 kpn_pacer_frame_bytes_max(const struct kpn_pacer *pacer, u8 tc);

/** kpn_pacer_lead_slots() - slots from the head's upper bound to the first that may be changed */
u32 kpn_pacer_lead_slots(const struct kpn_pacer *pacer);

/**
 * struct kpn_state - what the pacer knows of itself
 * @synchronised: false from start, underrun, suspected underrun or slip until adjtime or settime
 * @head_valid: the strip holds; without it nothing is inserted
 * @clock_error_ps: the time read now is at most this far from the truth: half the width of the
 *	strip, and what it stands still for, as time of the PHC
 * @base: net_slot - slot_seq; @lock_seq: first slot on the grid since the last disturbance
 * @planned_seq: posted slots before it have the length the clock asks for now
 * @pending: frames held
 */
struct kpn_state {
	bool synchronised;
	bool head_valid;
	u64 clock_error_ps;
	u64 base;
	u64 head_seq;
	u64 tail_seq;
	u64 lock_seq;
	u64 planned_seq;
	u64 pending;
	s64 scaled_ppm;
};

struct kpn_state kpn_pacer_state(const struct kpn_pacer *pacer, u64 cpu_ns);

/** kpn_pacer_stats() - the counters as of now; valid until the next call on the pacer */
const struct kpn_stats *kpn_pacer_stats(struct kpn_pacer *pacer);

/**
 * kpn_pacer_bounds() - boundary error and lock time this configuration promises; see
 * kpn_align_bounds()
 */
struct kpn_bounds kpn_pacer_bounds(const struct kpn_pacer *pacer, u32 rate_ppb,
				   u32 rate_change_ppb);

/**
 * kpn_pacer_rate() - kpn_strip_rate() of the own wire; 0, the stated drift's middle, while the
 * strip is young
 */
s64 kpn_pacer_rate(const struct kpn_pacer *pacer);

/**
 * kpn_pacer_steady_ps() - wire position since which the wire cannot have been idle: what can be
 * told of earlier moments begins there
 */
u64 kpn_pacer_steady_ps(const struct kpn_pacer *pacer);

/** kpn_pacer_clock() - the clock law in force, for tests and reports */
const struct kpn_clock *kpn_pacer_clock(const struct kpn_pacer *pacer);

#endif
