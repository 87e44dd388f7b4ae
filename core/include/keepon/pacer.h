/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The driver model in one object: keeps the wire saturated, knows the time from what was sent, and puts frames into
 * the slots of their txtimes. Start reading here. One pacer drives one ring; the caller serialises all
 * calls (a lock in the kernel, nothing in the simulator) and none sleeps.
 */
#ifndef KPN_PACER_H
#define KPN_PACER_H

#include "keepon/align.h"
#include "keepon/clock.h"
#include "keepon/config.h"
#include "keepon/frame.h"
#include "keepon/nic_ops.h"
#include "keepon/observe.h"
#include "keepon/partition.h"
#include "keepon/prebuffer.h"
#include "keepon/ring.h"
#include "keepon/stats.h"

/** enum kpn_event - things an operator must know at once */
enum kpn_event {
	KPN_EVENT_UNDERRUN,           /* the wire was idle */
	KPN_EVENT_SUSPECTED_UNDERRUN, /* it may have been */
	KPN_EVENT_SLIP,               /* index and CPU counter contradict the stated drift */
	KPN_EVENT_STEP,               /* the time of day changed; net_slots are not where they were */
};

/**
 * struct kpn_pacer_ops - what the caller wants to hear
 * @outcome: a pending frame has ended; it is the caller's again. @start is the PHC time of its reference plane
 *	for sent verdicts, in doubt its instant if it left, else zero. Called from poll, submit, the clock setters and stop; must not call back
 * @event: may be NULL
 */
struct kpn_pacer_ops {
	void (*outcome)(void *context, struct kpn_frame *frame, enum kpn_verdict verdict, struct kpn_time start);
	void (*event)(void *context, enum kpn_event event);
};

struct kpn_pacer;

/** kpn_pacer_bytes() - memory one pacer needs for a valid configuration, aligned to 8; buffers are the backend's */
size_t kpn_pacer_bytes(const struct kpn_config *config);

/**
 * kpn_pacer_init() - build a pacer in @memory
 * @memory: kpn_pacer_bytes(@config) bytes, aligned to 8; nothing to release later
 * @start_time_ns: PHC time of the first slot were it to start at the @since_ns of kpn_pacer_start(), not negative
 *
 * Return: the pacer, or NULL if kpn_config_validate() finds a problem.
 */
struct kpn_pacer *kpn_pacer_init(void *memory, const struct kpn_config *config, const struct kpn_nic_caps *caps,
				 const struct kpn_nic_ops *nic_ops, void *nic, const struct kpn_pacer_ops *ops,
				 void *context, s64 start_time_ns);

/**
 * kpn_pacer_start() - all descriptors placeholders, the first depth_slots posted; the wire starts
 * @since_ns: CPU time to which start_time_ns belongs, not in the future; what has passed since is added to it
 *
 * Once after each kpn_pacer_init(): the NIC's indices are 0 and nothing is posted. What is posted first is not trimmed.
 */
void kpn_pacer_start(struct kpn_pacer *pacer, u64 since_ns);

/**
 * kpn_pacer_stop() - end every pending frame as FLUSHED; what the NIC has fetched of them leaves all the same
 *
 * All buffers are zero again. Afterwards submit returns FLUSHED, poll does nothing, and the clock stands at the head: it
 * can be set, but is not synchronised. To start again: read kpn_pacer_gettime() before, reset the NIC, kpn_pacer_init()
 * with the time carried over (rate and counters begin anew), kpn_pacer_start(). May be called twice.
 */
void kpn_pacer_stop(struct kpn_pacer *pacer);

/**
 * kpn_pacer_poll() - complete, observe, post, fill
 *
 * Call every kpn_pacer_poll_interval_ns(), at the latest before depth_slots have been sent. One index read, one
 * doorbell. Source: KeepON paper section 3.1 (A10-A13), docs/model.md.
 */
void kpn_pacer_poll(struct kpn_pacer *pacer);

/** kpn_pacer_poll_interval_ns() - time to sleep until the next poll, by the rule of A25, dithered if so configured */
u64 kpn_pacer_poll_interval_ns(struct kpn_pacer *pacer);

/**
 * kpn_pacer_submit() - give a frame to the pacer
 * @frame: kept by the pacer exactly if KPN_VERDICT_PENDING is returned; the outcome callback is then called once
 *
 * Reads the CPU counter, no register of the NIC, and writes no doorbell (C21). Return: pending, or the verdict.
 */
enum kpn_verdict kpn_pacer_submit(struct kpn_pacer *pacer, struct kpn_frame *frame);

/** kpn_pacer_gettime() - PHC time at CPU time @cpu_ns (not before the last poll), as clock_read says; changes nothing */
struct kpn_time kpn_pacer_gettime(const struct kpn_pacer *pacer, u64 cpu_ns);

/** kpn_pacer_adjfine() - kpn_clock_adjfine() from now on; re-plans the trims of slots that can still be changed */
int kpn_pacer_adjfine(struct kpn_pacer *pacer, s64 scaled_ppm);

/**
 * kpn_pacer_adjtime() - shift the PHC; frames beyond recall are counted SENT_STALE, others move with their txtime
 *
 * Return: 0, or -KPN_ERANGE if the PHC would leave 0 to KPN_TIME_NS_MAX (nothing changed).
 */
int kpn_pacer_adjtime(struct kpn_pacer *pacer, s64 delta_ns);

/** kpn_pacer_settime() - set the PHC; return 0, or -KPN_EINVAL if @t is outside 0 to KPN_TIME_NS_MAX */
int kpn_pacer_settime(struct kpn_pacer *pacer, struct kpn_time t);

/** struct kpn_head - where the wire can be; positions modulo 2^64, slots as sequence numbers */
struct kpn_head {
	struct kpn_interval wire;
	u64 upper_seq;
	bool valid;
};

/** kpn_pacer_head() - interval of the wire position during CPU nanosecond @cpu_ns, not before the last poll */
struct kpn_head kpn_pacer_head(const struct kpn_pacer *pacer, u64 cpu_ns);

/** struct kpn_window - slots into which a frame may be inserted now: [first_seq, end_seq) */
struct kpn_window {
	u64 first_seq;
	u64 end_seq;
	bool valid;
};

/** kpn_pacer_window() - insertion window at CPU time @cpu_ns (C3, with the head's upper bound) */
struct kpn_window kpn_pacer_window(const struct kpn_pacer *pacer, u64 cpu_ns);

/** kpn_pacer_lead_slots() - slots from the head's upper bound to the first that may be changed */
u32 kpn_pacer_lead_slots(const struct kpn_pacer *pacer);

/**
 * struct kpn_state - what the pacer knows of itself
 * @synchronised: false from start, underrun, suspected underrun or slip until adjtime or settime
 * @head_valid: the strip holds; without it nothing is inserted
 * @clock_error_ps: the time read now is at most this far from the truth: half the width of the strip, and what it stands still for
 * @base: net_slot - slot_seq; @lock_seq: first slot on the grid since the last disturbance
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
	u64 pending;
	s64 scaled_ppm;
};

struct kpn_state kpn_pacer_state(const struct kpn_pacer *pacer, u64 cpu_ns);

/** kpn_pacer_stats() - the counters as of now; valid until the next call on the pacer */
const struct kpn_stats *kpn_pacer_stats(struct kpn_pacer *pacer);

/** kpn_pacer_bounds() - boundary error and lock time this configuration promises; see kpn_align_bounds() */
struct kpn_bounds kpn_pacer_bounds(const struct kpn_pacer *pacer, u32 rate_ppb, u32 rate_change_ppb);

/** kpn_pacer_rate() - kpn_strip_rate() of the own wire; 0, the stated drift's middle, while the strip is young */
s64 kpn_pacer_rate(const struct kpn_pacer *pacer);

/** kpn_pacer_steady_ps() - wire position since which the wire cannot have been idle: what can be told of earlier moments begins there */
u64 kpn_pacer_steady_ps(const struct kpn_pacer *pacer);

/** kpn_pacer_clock() - the clock law in force, for tests and reports */
const struct kpn_clock *kpn_pacer_clock(const struct kpn_pacer *pacer);

#endif
