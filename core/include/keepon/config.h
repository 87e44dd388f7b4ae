/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The parameters of one pacer, immutable while it runs, and their validation: every wrong field is
 * named with its value and its allowed range. What the values lead to (bounds, lead time) is
 * computed elsewhere.
 */
#ifndef KPN_CONFIG_H
#define KPN_CONFIG_H

#include "keepon/config_fields.h"
#include "keepon/nic_ops.h"
#include "keepon/partition.h"

/* Sequence number of a slot that never comes. */
#define KPN_SEQ_NEVER (~(u64)0)

/* 30 years: with a PHC that is as far from its epoch the sum is still a time. */
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
	KPN_LATE_STRICT, /* drop and tell the sender (C16) */
	/* earliest free slot of the class within one ring of the txtime's (C17) */
	KPN_LATE_RELAXED,
	KPN_LATE_RESCHEDULE, /* next slot of the class, never dropped for being late (N27) */
};

enum kpn_rounding {
	KPN_ROUND_UP,    /* first slot whose reference plane is not before txtime - tolerance */
	KPN_ROUND_FLOOR, /* slot in progress at txtime, counted from slot start (the paper, C1) */
};

enum kpn_trim_policy {
	/* every slot may be trimmed; real frames are at most slot - trim_down bytes */
	KPN_TRIM_ANY,
	KPN_TRIM_RESERVED, /* only slots no class owns are trimmed; real frames may fill a slot */
};

enum kpn_padding {
	KPN_PADDING_DEFERRED, /* a slot is zeroed after its frame has left, by the poll (C13) */
	/* by the next frame that is placed in it; needs spare buffers (C14) */
	KPN_PADDING_ON_DEMAND,
};

/** struct kpn_class_config - one traffic class */
struct kpn_class_config {
	u8 late;     /* enum kpn_late_policy */
	u8 rounding; /* enum kpn_rounding */
};

#define KPN_CONFIG_MEMBER(field, type, ...) type field;

/**
 * struct kpn_config - everything that can be chosen; the rows of config_fields.h are members, too
 * @rate_bps: link rate; must divide 8e12 (every Ethernet rate does)
 * @allowed: partition_slots class masks; bit tc set: the class may use slots with that index of
 *	net_slot modulo partition_slots. Copied at init
 * @budget_frames: slots with frames that one call may place, end or take back, and the rest of the
 *	last frame; at least twice the batch, so that what is left over never grows
 * @seed: of the dither; equal seeds give equal polls
 * @clock_read: enum kpn_clock_read
 * @classes: per traffic class
 *
 * Trims are multiples of the start quantum, trim_down_bytes at least one, and serve phase-locked
 * mode only. A frame_bytes_max that fits a slot (less trim_down_bytes where any slot is trimmed, as
 * always in paper mode) means that no frame takes several (struct kpn_span). Frames of a class that
 * has no slot until a table that begins beyond horizon_ns are refused as NOT_ALLOWED.
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
 * @value: what was given
 * @min, @max: allowed range of this field, the others being as they are
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
 * kpn_config_spare_buffers() - whether frames are written to buffers of their own, from which no
 * placeholder is sent
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
 * Batch, depth and ring grow with the link rate so far that polls are no closer than
 * caps.poll_ns_min, if any batch of the backend lasts that long.
 */
void kpn_config_defaults(struct kpn_config *config, const struct kpn_nic_caps *caps, u64 rate_bps,
			 u32 slot_bytes);

/**
 * kpn_config_batch_least() - shortest batch whose polls the surroundings sustain (caps.poll_ns_min)
 * with @poll_overhead_ns kept free of each period; 1 to KPN_BATCH_SLOTS_MAX, whether or not a ring
 * has room for it
 */
u32 kpn_config_batch_least(const struct kpn_nic_caps *caps, u64 rate_bps, u32 slot_bytes,
			   u32 poll_overhead_ns);

/**
 * kpn_config_frame_slots() - slots that a frame of @frame_bytes takes; 0: no number is enough
 * @config: rate, slot, mode, trims, padding, placeholder and drift of one that may be valid
 */
u32 kpn_config_frame_slots(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			   u32 frame_bytes);

/**
 * kpn_config_frame_bytes_max() - longest frame of a class that has @row_slots slots in a row, FCS
 * included
 * @config: valid but for @config->allowed, which is not looked at
 */
u32 kpn_config_frame_bytes_max(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			       u32 row_slots);

/**
 * kpn_config_depth_least() - depth_slots for frames of @frame_slots: those and what best effort is
 * placed ahead, so that all stores of a frame are done before the wire comes there
 */
u32 kpn_config_depth_least(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			   u32 frame_slots);

/**
 * kpn_config_validate() - find every wrong field
 * @config: to check; @config->allowed may be read for partition_slots entries if that is in range
 * @caps: of the backend it is for
 * @problems: filled in field order, at most @room entries
 * @room: entries in @problems, may be 0
 *
 * Any context, does not sleep, changes nothing.
 * Return: number of problems found, which may exceed @room; 0 means valid.
 */
u32 kpn_config_validate(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			struct kpn_problem *problems, u32 room);

#endif
