/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The parameters of one pacer, immutable while the pacer runs, and their validation: every wrong
 * field is named with its value and its allowed range. Bounds and lead time, which follow from the
 * parameters, are computed elsewhere.
 */
#ifndef KPN_CONFIG_H
#define KPN_CONFIG_H

#include "keepon/config_fields.h"
#include "keepon/nic_ops.h"
#include "keepon/partition.h"

/* Sequence number of a slot that never comes. */
#define KPN_SEQ_NEVER (~(u64)0)

/* 30 years: added to a PHC time as far from its epoch, the sum still is a valid time. */
#define KPN_HORIZON_NS_MAX 1000000000000000000ull

enum {
	KPN_RING_SLOTS_MIN = 8,
	KPN_RING_SLOTS_MAX = 4096,
	KPN_BATCH_SLOTS_MAX = 4096,
	KPN_PREBUFFER_FRAMES_MAX = 65536,
	KPN_BUDGET_FRAMES_MIN = 4,
	KPN_BUDGET_FRAMES_MAX = 2 * KPN_BATCH_SLOTS_MAX,
};

enum kpn_mode {
	/* slots start on the grid k x slot time in PHC time (docs/model.md) */
	KPN_MODE_PHASE_LOCKED,
	KPN_MODE_PAPER, /* free-running slots, counter clock, depth = batch, floor, period = ring */
};

enum kpn_clock_read {
	KPN_CLOCK_INTERPOLATED, /* middle of the strip at the moment of reading */
	KPN_CLOCK_COUNTER,      /* staircase: start of the head slot at the last poll (B6) */
};

enum kpn_late_policy {
	KPN_LATE_STRICT, /* drop and report to the sender (C16) */
	/* earliest free slot of the class within one ring from the slot of the txtime (C17) */
	KPN_LATE_RELAXED,
	KPN_LATE_RESCHEDULE, /* next slot of the class, never dropped for being late (N27) */
};

enum kpn_rounding {
	KPN_ROUND_UP,    /* first slot whose reference plane is not before txtime - tolerance */
	KPN_ROUND_FLOOR, /* slot in progress at txtime, by slot starts (the paper, C1) */
};

enum kpn_trim_policy {
	/* every slot may be trimmed; real frames are at most slot - trim_down bytes */
	KPN_TRIM_ANY,
	KPN_TRIM_RESERVED, /* only slots no class owns are trimmed; real frames may fill a slot */
};

enum kpn_padding {
	KPN_PADDING_DEFERRED, /* the poll zeroes a slot after its frame has left (C13) */
	/* the next frame placed in the slot overwrites the old one; needs spare buffers (C14) */
	KPN_PADDING_ON_DEMAND,
};

/** struct kpn_class_config - one traffic class */
struct kpn_class_config {
	u8 late;     /* enum kpn_late_policy */
	u8 rounding; /* enum kpn_rounding */
};

#define KPN_CONFIG_MEMBER(field, type, ...) type field;

/**
 * struct kpn_config - all parameters; the rows of config_fields.h are members, too
 * @rate_bps: link rate; must divide 8e12 (every Ethernet rate does)
 * @allowed: partition_slots class masks; bit tc set: the class may use slots with that index of
 *	net_slot modulo partition_slots. Copied at init
 * @budget_frames: slots with frames that one call may place, end or recall, and the rest of the
 *	last frame; at least twice the batch, so that the work left over never grows
 * @seed: of the dither; equal seeds give equal polls
 * @clock_read: enum kpn_clock_read
 * @classes: per traffic class
 *
 * Trims are multiples of the start quantum, with trim_down_bytes at least one quantum, and exist in
 * phase-locked mode only. No frame takes several slots (struct kpn_span) while frame_bytes_max fits
 * one slot, less trim_down_bytes where any slot may be trimmed and in paper mode. A frame is
 * refused as NOT_ALLOWED if its class gets its first slot from a table that begins beyond
 * horizon_ns.
 */
struct kpn_config {
	u64 rate_bps;
	const u16 *allowed;
	u32 budget_frames;
	u64 seed;
	u8 clock_read;
	KPN_CONFIG_FIELDS(KPN_CONFIG_MEMBER)
	struct kpn_class_config classes[KPN_CLASS_COUNT];
};

/**
 * struct kpn_problem - one wrong field
 * @field: name as in struct kpn_config
 * @value: the value given
 * @min, @max: allowed range of this field while the other fields stay as they are
 * @reason: why, and what to do; one sentence without the numbers
 */
struct kpn_problem {
	const char *field;
	u64 value;
	u64 min;
	u64 max;
	const char *reason;
};

/**
 * kpn_config_spare_buffers() - whether frames are written to buffers of their own, which never hold
 * a placeholder
 *
 * Placeholders with a good FCS must not be overwritten in place; with padding on demand their
 * buffers would hold an old frame.
 */
static inline bool kpn_config_spare_buffers(const struct kpn_config *config)
{
	return config->placeholder != KPN_PLACEHOLDER_BAD_FCS ||
	       config->padding == KPN_PADDING_ON_DEMAND;
}

/**
 * kpn_config_defaults() - a valid configuration for @rate_bps and @slot_bytes on a backend, all
 * slots open to all classes
 *
 * Batch, depth and ring grow with the link rate until polls are at least caps.poll_ns_min apart, if
 * any batch of the backend lasts that long.
 */
void kpn_config_defaults(struct kpn_config *config, const struct kpn_nic_caps *caps, u64 rate_bps,
			 u32 slot_bytes);

/**
 * kpn_config_batch_least() - shortest batch for which the host can poll often enough
 *
 * Polls are at least caps.poll_ns_min apart, with @poll_overhead_ns kept free of each period.
 * Return: 1 to KPN_BATCH_SLOTS_MAX, whether or not a ring has room for that.
 */
u32 kpn_config_batch_least(const struct kpn_nic_caps *caps, u64 rate_bps, u32 slot_bytes,
			   u32 poll_overhead_ns);

/**
 * kpn_config_frame_slots() - slots that a frame of @frame_bytes takes; 0: it fits no number of
 * slots
 * @config: only rate, slot, mode, trims, padding, placeholder and drift are read; they are in range
 */
u32 kpn_config_frame_slots(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			   u32 frame_bytes);

/**
 * kpn_config_frame_bytes_max() - longest frame of a class that has @row_slots slots in a row, FCS
 * included
 * @config: valid but for @config->allowed, which is not read
 */
u32 kpn_config_frame_bytes_max(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			       u32 row_slots);

/**
 * kpn_config_depth_least() - least depth_slots for frames of @frame_slots: these slots and the
 * lookahead of best effort, so that all stores of a frame are done before the wire reaches it
 */
u32 kpn_config_depth_least(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			   u32 frame_slots);

/**
 * kpn_config_validate() - find every wrong field
 * @config: to check; @config->allowed is read for partition_slots entries if that is in range
 * @caps: of its backend
 * @problems: filled in field order, at most @room entries
 * @room: entries in @problems, may be 0
 *
 * Any context, does not sleep, changes nothing.
 * Return: number of problems found, which may exceed @room; 0 means valid.
 */
u32 kpn_config_validate(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			struct kpn_problem *problems, u32 room);

#endif
