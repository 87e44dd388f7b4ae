/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The driver model in one object: it keeps the wire saturated, knows the time from what was sent,
 * and puts frames into the slots of their txtimes. Start reading here. One pacer drives one ring;
 * the caller serialises all calls (a lock in the kernel, nothing in the simulator), and no call
 * sleeps.
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

/** enum kpn_event - what an operator must know at once; bits of kpn_pacer_take_events() */
enum kpn_event {
	KPN_EVENT_UNDERRUN,           /* the wire was idle */
	KPN_EVENT_SUSPECTED_UNDERRUN, /* the wire may have been idle */
	KPN_EVENT_SLIP,               /* index and CPU counter contradict the stated drift */
	/* lengths were stored in slots that may have left: the wire position is less certain */
	KPN_EVENT_DOUBT,
	KPN_EVENT_STEP,      /* the time of day changed, and net_slots with it */
	KPN_EVENT_LOST,      /* the NIC cannot be read: the pacer has stopped */
	KPN_EVENT_STALLED,   /* the index stood still for too long: the pacer has stopped */
	KPN_EVENT_PARTITION, /* the table that kpn_pacer_set_partition() replaced is out of use */
	KPN_EVENT_COUNT,
};

struct kpn_pacer;

/**
 * kpn_pacer_bytes() - memory one pacer needs for a valid configuration, aligned to 8; the backend
 * has the buffers
 */
size_t kpn_pacer_bytes(const struct kpn_config *config);

/**
 * kpn_pacer_init() - build a pacer in @memory
 * @memory: kpn_pacer_bytes(@config) bytes, aligned to 8; nothing to release later
 * @start_time_ns: PHC time of the first slot if it started at the @since_ns of kpn_pacer_start(),
 *	not negative
 *
 * Costs O(memory): call it without a lock. Return: the pacer, or NULL if kpn_config_validate()
 * finds a problem.
 */
struct kpn_pacer *kpn_pacer_init(void *memory, const struct kpn_config *config,
				 const struct kpn_nic_caps *caps, const struct kpn_nic_ops *nic_ops,
				 void *nic, s64 start_time_ns);

/**
 * kpn_pacer_start() - post the first slots, all placeholders; the wire starts
 * @since_ns: CPU time of start_time_ns, not in the future; the time since then is added
 *
 * Call it once after each kpn_pacer_init(): the NIC was reset, so its indices are 0, nothing is
 * posted and every descriptor is a placeholder. The first slots are not trimmed.
 */
void kpn_pacer_start(struct kpn_pacer *pacer, u64 since_ns);

/**
 * kpn_pacer_stop() - halt the NIC; frames not sent by then are FLUSHED by kpn_pacer_drain()
 *
 * The NIC is halted before anything else is touched. Afterwards submit returns FLUSHED, poll does
 * nothing, and the clock stands still at the head, can be set, and is not synchronised. To start
 * again: read kpn_pacer_gettime() before, reset the NIC (which zeroes its buffers),
 * kpn_pacer_init() with the time carried over (rate and counters begin again), kpn_pacer_start().
 * May be called twice, and after the pacer stopped itself (KPN_EVENT_LOST, KPN_EVENT_STALLED).
 */
void kpn_pacer_stop(struct kpn_pacer *pacer);

/**
 * kpn_pacer_drain() - after a stop: end up to limits.frames frames as FLUSHED. Return: whether more
 * are left
 */
bool kpn_pacer_drain(struct kpn_pacer *pacer);

/**
 * kpn_pacer_delay() - the wire is up to @delay_ps later than index and CPU counter show: it was
 * idle, or sent frames from outside the ring
 *
 * Called by backends that share the wire, as soon as they know of the delay and again when it is
 * over, since readings in between may have been believed. Counts as a suspected underrun; the time
 * becomes uncertain by @delay_ps.
 */
void kpn_pacer_delay(struct kpn_pacer *pacer, u64 delay_ps);

/**
 * kpn_pacer_poll() - complete, observe, post, fill
 *
 * Call every kpn_pacer_poll_interval_ns(), at the latest before depth_slots have been sent. Costs
 * one index read, one doorbell, and work within kpn_pacer_limits(). Source: KeepON paper section
 * 3.1 (A10-A13), docs/model.md.
 *
 * Return: whether kpn_pacer_take_ended() or kpn_pacer_take_events() have anything.
 */
bool kpn_pacer_poll(struct kpn_pacer *pacer);

/**
 * kpn_pacer_poll_interval_ns() - time to sleep until the next poll, by rule A25, dithered if so
 * configured
 */
u64 kpn_pacer_poll_interval_ns(struct kpn_pacer *pacer);

/**
 * kpn_pacer_submit() - give a frame to the pacer
 * @frame: the pacer keeps it if and only if it returns KPN_VERDICT_PENDING; kpn_pacer_take_ended()
 *	gives it back
 *
 * Reads the CPU counter, no register of the NIC, and writes no doorbell (C21). Return: pending, or
 * the verdict.
 */
enum kpn_verdict kpn_pacer_submit(struct kpn_pacer *pacer, struct kpn_frame *frame);

/**
 * kpn_pacer_take_ended() - frames that have ended since the last call, in the order they ended
 *
 * Call it after any call that changes the pacer. Return: the first, linked by kpn_frame.next; NULL
 * if there is none. The frames are the caller's again.
 */
struct kpn_frame *kpn_pacer_take_ended(struct kpn_pacer *pacer);

/** kpn_pacer_take_events() - bit per enum kpn_event that occurred since the last call */
u32 kpn_pacer_take_events(struct kpn_pacer *pacer);

/**
 * struct kpn_limits - the most work of one call on a running pacer, whatever its arguments;
 * computed from the configuration. The next polls do the rest
 * @frames: stores that make a slot real or a placeholder, each with at most one frame copied or
 *	zeroed
 * @trims: descriptors whose length is changed
 * @rearms: descriptors that a poll hands over again to a NIC that writes them back; 0 with
 *	desc_persistent
 * @words: 64-bit words of bitmaps read in search of slots
 * @stall_ns: an index that stands still, or is outside the posted slots, for so long stops the
 *	pacer with KPN_EVENT_STALLED at the next poll; outside the posted slots takes at least five
 *	readings, too
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
 * @next: made by kpn_partition_init(); table and memory belong to the caller and stay valid until
 *	the table is replaced in turn or the pacer is stopped. The table used before may be freed
 *	after KPN_EVENT_PARTITION
 * @at_net_slot: first slot of the new table; if it can no longer be changed, the first that can.
 *	Slots before the origin of time count from 2^64 down, so from 2^63 on they are past
 *
 * Frames already placed from that slot on in slots that the new table denies them are placed again,
 * within the limits. A table that has not begun yet is dropped for @next without an event. Where
 * the switch comes later than requested, or a clock step moves it, the grid is reached again.
 *
 * Return: 0; -KPN_EBUSY while the first slot of a table that has not begun can no longer be changed
 * and has not been passed: try again after a poll or two; -KPN_EINVAL in paper mode, and for a
 * table whose trimmed slots are too far apart (KPN_TRIM_RESERVED); -KPN_ERANGE if the last such
 * slot of the old table and the first of the new one are too far apart at @at_net_slot.
 */
int kpn_pacer_set_partition(struct kpn_pacer *pacer, const struct kpn_partition *next,
			    u64 at_net_slot);

/**
 * kpn_pacer_set_credit() - shape best effort of class @tc from now on: a frame is placed in a slot
 * whose credit is earned by the time the slot is on the wire, however far ahead it is posted
 * @idle_slope_bps, @high_bytes: see kpn_credit_init(); 0: the class is no longer shaped
 *
 * A new slope begins when the last frame of the old one is paid for, by the steeper of the two.
 * Frames with a txtime neither wait for credit nor take any. A class that is always ready reaches
 * its slope if @high_bytes is at least kpn_credit_high_bytes(). A stop ends the shaping. Return: 0;
 * -KPN_EINVAL: no such class; -KPN_ERANGE: no such slope; nothing was changed.
 */
int kpn_pacer_set_credit(struct kpn_pacer *pacer, u8 tc, u64 idle_slope_bps, u32 high_bytes);

/**
 * kpn_pacer_partition() - the table in force, or with @next the one to come, NULL if there is none
 *
 * Any other table may be freed. The first table belongs to the pacer.
 */
const struct kpn_partition *kpn_pacer_partition(const struct kpn_pacer *pacer, bool next);

/**
 * kpn_pacer_gettime() - PHC time at CPU time @cpu_ns (not before the last poll), in the way of
 * config.clock_read; changes nothing
 */
struct kpn_time kpn_pacer_gettime(const struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_pacer_rate_ppb_max() - largest rate of the PHC against the NIC, either way, that trims can
 * follow; KPN_ADJ_PPB_MAX at most, and always that in paper mode
 */
u32 kpn_pacer_rate_ppb_max(const struct kpn_pacer *pacer);

/** kpn_pacer_scaled_ppm_max() - the same in the unit of kpn_pacer_adjfine() */
s64 kpn_pacer_scaled_ppm_max(const struct kpn_pacer *pacer);

/**
 * kpn_pacer_adjfine() - kpn_clock_adjfine() from now on; plans the trims of slots that can still be
 * changed again. Return: -KPN_ERANGE beyond kpn_pacer_scaled_ppm_max(), nothing was changed
 */
int kpn_pacer_adjfine(struct kpn_pacer *pacer, s64 scaled_ppm);

/**
 * kpn_pacer_adjtime() - shift the PHC; frames beyond recall are counted SENT_STALE, others move
 * with their txtime
 *
 * Return: 0, or -KPN_ERANGE if the PHC would leave 0 to KPN_TIME_NS_MAX (nothing changed).
 */
int kpn_pacer_adjtime(struct kpn_pacer *pacer, s64 delta_ns);

/** kpn_pacer_settime() - set the PHC. Return: -KPN_EINVAL if @t is outside 0 to KPN_TIME_NS_MAX */
int kpn_pacer_settime(struct kpn_pacer *pacer, struct kpn_time t);

/**
 * struct kpn_head - where the wire can be; positions modulo 2^64, slots as sequence numbers
 * @may_stand: the wire may have come to the end of the posted slots since the last poll, and may
 *	have stood there for an unknown time
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
 * @head_valid: the strip holds; while false, no frame is inserted
 * @clock_error_ps: greatest error of the time read now, as time of the PHC: half the width of the
 *	strip, and how far the clock stands still
 * @base: net_slot - slot_seq; @lock_seq: first slot on the grid since the last disturbance
 * @planned_seq: posted slots before it have the length that the clock now requires
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

/** kpn_pacer_stats() - the counters now; valid until the next call on the pacer */
const struct kpn_stats *kpn_pacer_stats(struct kpn_pacer *pacer);

/**
 * kpn_pacer_bounds() - promised boundary error and lock time of this configuration; see
 * kpn_align_bounds()
 */
struct kpn_bounds kpn_pacer_bounds(const struct kpn_pacer *pacer, u32 rate_ppb,
				   u32 rate_change_ppb);

/**
 * kpn_pacer_rate() - kpn_strip_rate() of the own wire; 0, the middle of the stated drift, while the
 * strip is young
 */
s64 kpn_pacer_rate(const struct kpn_pacer *pacer);

/**
 * kpn_pacer_steady_ps() - wire position since which the wire cannot have been idle; nothing is
 * known of earlier moments
 */
u64 kpn_pacer_steady_ps(const struct kpn_pacer *pacer);

/** kpn_pacer_clock() - the clock law in force, for tests and reports */
const struct kpn_clock *kpn_pacer_clock(const struct kpn_pacer *pacer);

#endif
