/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * One line for each side of a boundary of a rule: what is changed in a valid configuration, and
 * what is said of it.
 */
#ifndef CONFIG_VECTORS_H
#define CONFIG_VECTORS_H

#include "keepon/config.h"

enum { CHANGES_MAX = 6, PROBLEMS_MAX = 64 };

/*
 * class masks of all lengths; slot 0 is open to no class in the first, every slot to all in the
 * second
 */
static u16 masks_reserved[KPN_PARTITION_SLOTS_MAX];
static u16 masks_open[KPN_PARTITION_SLOTS_MAX];

enum base {
	LOCKED,   /* 1 Gb/s, 1230 B: the defaults */
	RESERVED, /* the same with trims in reserved slots, one in eight */
	PAPER,    /* the same in paper mode, one mask per descriptor */
	NO_MASKS, /* the defaults without a table */
};

/*
 * struct change - put @value into a member of the configuration or, with @caps, of the backend;
 * none if @bytes is 0
 */
struct change {
	bool caps;
	u16 offset;
	u16 bytes;
	u64 value;
};

#define CHANGE(is_caps, type, member, v)                           \
	{                                                          \
		is_caps, (u16)offsetof(struct type, member),       \
			(u16)sizeof(((struct type *)0)->member), v \
	}
#define SET(member, v) CHANGE(false, kpn_config, member, v)
#define CAPS(member, v) CHANGE(true, kpn_nic_caps, member, v)

struct vector {
	int line;
	enum base base;
	struct change changes[CHANGES_MAX];
	const char *field; /* NULL: valid */
	u64 value;
	u64 min;
	u64 max;
};

#define REFUSED(base, field, value, min, max, ...)                      \
	{                                                               \
		__LINE__, base, { __VA_ARGS__ }, field, value, min, max \
	}
#define VALID(base, ...) REFUSED(base, NULL, 0, 0, 0, __VA_ARGS__)
#define NOTHING                \
	{                      \
		false, 0, 0, 0 \
	}

static const struct vector vectors[] = {
	VALID(LOCKED, NOTHING),
	VALID(RESERVED, NOTHING),
	VALID(PAPER, NOTHING),

	VALID(LOCKED, SET(rate_bps, 10000000), SET(tolerance_ns, 800)),
	REFUSED(LOCKED, "rate_bps", 9999999, 10000000, 100000000000ull, SET(rate_bps, 9999999)),
	VALID(LOCKED, SET(rate_bps, 100000000000ull)),
	REFUSED(LOCKED, "rate_bps", 200000000000ull, 10000000, 100000000000ull,
		SET(rate_bps, 200000000000ull)),
	REFUSED(LOCKED, "rate_bps", 0, 10000000, 100000000000ull, SET(rate_bps, 0)),
	REFUSED(LOCKED, "rate_bps", 999999999, 10000000, 100000000000ull, SET(rate_bps, 999999999)),

	VALID(PAPER, SET(slot_bytes, 64)),
	REFUSED(PAPER, "slot_bytes", 63, 64, 1522, SET(slot_bytes, 63)),
	REFUSED(PAPER, "slot_bytes", 0, 64, 1522, SET(slot_bytes, 0)),
	VALID(PAPER, SET(slot_bytes, 1522)),
	REFUSED(PAPER, "slot_bytes", 1523, 64, 1522, SET(slot_bytes, 1523)),
	REFUSED(PAPER, "slot_bytes", 0xffffffffu, 64, 1522, SET(slot_bytes, 0xffffffffu)),
	VALID(PAPER, SET(slot_bytes, 1518), CAPS(frame_bytes_max, 1518)),
	REFUSED(PAPER, "slot_bytes", 1519, 64, 1518, SET(slot_bytes, 1519),
		CAPS(frame_bytes_max, 1518)),
	REFUSED(PAPER, "slot_bytes", 99, 100, 1522, SET(slot_bytes, 99),
		CAPS(placeholder_bytes_min, 100)),
	REFUSED(LOCKED, "slot_bytes", 63, 65, 1522, SET(slot_bytes, 63)),
	REFUSED(LOCKED, "slot_bytes", 64, 65, 1522, SET(slot_bytes, 64)),
	VALID(LOCKED, SET(slot_bytes, 65), SET(trim_down_bytes, 1)),
	REFUSED(LOCKED, "slot_bytes", 71, 72, 1522, SET(slot_bytes, 71),
		CAPS(start_quantum_bytes, 8)),
	VALID(RESERVED, SET(slot_bytes, 64)),
	REFUSED(RESERVED, "slot_bytes", 64, 65, 1522, SET(slot_bytes, 64),
		CAPS(placeholder_bytes_min, 64)),

	VALID(LOCKED, SET(ring_slots, 16), SET(depth_slots, 8)),
	REFUSED(LOCKED, "ring_slots", 15, 16, 1024, SET(ring_slots, 15)),
	VALID(LOCKED, SET(ring_slots, 1024)),
	REFUSED(LOCKED, "ring_slots", 1032, 16, 1024, SET(ring_slots, 1032)),
	REFUSED(LOCKED, "ring_slots", 0, 16, 1024, SET(ring_slots, 0)),
	REFUSED(LOCKED, "ring_slots", 260, 16, 1024, SET(ring_slots, 260)),
	VALID(LOCKED, SET(ring_slots, 4096), CAPS(ring_slots_max, 10000)),
	REFUSED(LOCKED, "ring_slots", 4104, 16, 4096, SET(ring_slots, 4104),
		CAPS(ring_slots_max, 10000)),
	REFUSED(LOCKED, "ring_slots", 7, 8, 1024, SET(ring_slots, 7), CAPS(ring_slots_min, 2),
		CAPS(ring_slots_multiple, 1)),
	VALID(LOCKED, SET(ring_slots, 255), CAPS(ring_slots_multiple, 0)),
	REFUSED(LOCKED, "ring_slots", 16, 24, 1024, CAPS(ring_slots_min, 17), SET(ring_slots, 16)),
	REFUSED(LOCKED, "ring_slots", 264, 16, 256, CAPS(ring_slots_max, 257),
		SET(ring_slots, 264)),
	VALID(LOCKED, CAPS(index_modulus, 256)),
	/* an index that moves over all of its numbers would not have moved */
	REFUSED(LOCKED, "depth_slots", 256, 8, 255, SET(depth_slots, 256), CAPS(reserved_slots, 0),
		CAPS(index_modulus, 256)),
	VALID(LOCKED, SET(depth_slots, 256), CAPS(reserved_slots, 0), CAPS(index_modulus, 512)),
	REFUSED(LOCKED, "ring_slots", 256, 16, 248, CAPS(index_modulus, 255)),
	VALID(LOCKED, CAPS(prefetch_slots_max, 254), SET(depth_slots, 5), SET(batch_slots, 1)),
	REFUSED(LOCKED, "ring_slots", 256, 264, 1024, CAPS(prefetch_slots_max, 255)),
	VALID(LOCKED, CAPS(reserved_slots, 251), SET(depth_slots, 5), SET(batch_slots, 1)),
	REFUSED(LOCKED, "ring_slots", 256, 264, 1024, CAPS(reserved_slots, 252),
		SET(depth_slots, 4), SET(batch_slots, 1)),
	REFUSED(LOCKED, "ring_slots", 256, 264, 1024, CAPS(reserved_slots, 256)),

	REFUSED(LOCKED, "partition_slots", 0, 1, 65536, SET(partition_slots, 0)),
	VALID(RESERVED, SET(partition_slots, 1)),
	REFUSED(LOCKED, "partition_slots", 65537, 1, 65536, SET(partition_slots, 65537)),
	REFUSED(PAPER, "partition_slots", 255, 256, 256, SET(partition_slots, 255)),
	REFUSED(PAPER, "partition_slots", 0, 256, 256, SET(partition_slots, 0)),
	REFUSED(PAPER, "partition_slots", 65536, 256, 256, SET(partition_slots, 65536)),
	REFUSED(PAPER, "partition_slots", 256, 64, 64, SET(ring_slots, 64)),
	VALID(PAPER, SET(ring_slots, 64), SET(partition_slots, 64)),

	REFUSED(NO_MASKS, "allowed", 0, 1, 1, NOTHING),
	REFUSED(NO_MASKS, "allowed", 0, 500, 500, SET(partition_slots, 500)),
	REFUSED(LOCKED, "allowed", 0, 1, 1, SET(trim, KPN_TRIM_RESERVED)),

	VALID(LOCKED, SET(batch_slots, 1)),
	REFUSED(LOCKED, "batch_slots", 0, 1, 64, SET(batch_slots, 0)),
	VALID(LOCKED, SET(batch_slots, 64), SET(budget_frames, 128)),
	REFUSED(LOCKED, "batch_slots", 65, 1, 64, SET(batch_slots, 65)),
	VALID(LOCKED, SET(batch_slots, 800), SET(ring_slots, 1024), SET(depth_slots, 800),
	      SET(budget_frames, 1600)),
	VALID(PAPER, SET(batch_slots, 512), SET(depth_slots, 512), SET(ring_slots, 1024),
	      SET(partition_slots, 1024), SET(budget_frames, 1024)),
	REFUSED(PAPER, "batch_slots", 513, 1, 512, SET(batch_slots, 513), SET(depth_slots, 513),
		SET(ring_slots, 1024), SET(partition_slots, 1024)),
	REFUSED(PAPER, "batch_slots", 0, 1, 255, SET(batch_slots, 0), SET(depth_slots, 1)),
	VALID(PAPER, SET(batch_slots, 255), SET(depth_slots, 255), SET(budget_frames, 510)),
	/* the longest batch on a ring of 32; the published prototype accepts 512 there */
	REFUSED(PAPER, "batch_slots", 512, 1, 31, SET(batch_slots, 512), SET(ring_slots, 32),
		SET(partition_slots, 32)),
	VALID(PAPER, SET(batch_slots, 31), SET(ring_slots, 32), SET(partition_slots, 32),
	      SET(depth_slots, 31), SET(budget_frames, 62)),

	/* what is left over must never grow: twice the batch, which is 8 */
	VALID(LOCKED, SET(budget_frames, 16)),
	REFUSED(LOCKED, "budget_frames", 15, 16, 8192, SET(budget_frames, 15)),
	REFUSED(LOCKED, "budget_frames", 32, 128, 8192, SET(batch_slots, 64)),
	VALID(LOCKED, SET(budget_frames, 4), SET(batch_slots, 2)),
	REFUSED(LOCKED, "budget_frames", 3, 4, 8192, SET(budget_frames, 3), SET(batch_slots, 1)),
	VALID(LOCKED, SET(budget_frames, 8192)),
	REFUSED(LOCKED, "budget_frames", 8193, 16, 8192, SET(budget_frames, 8193)),
	REFUSED(PAPER, "budget_frames", 0, 16, 8192, SET(budget_frames, 0)),

	/* 8 slots of 10 us: a poll every 80 us, less what a poll takes */
	VALID(LOCKED, CAPS(poll_ns_min, 80000)),
	REFUSED(LOCKED, "batch_slots", 8, 9, 64, CAPS(poll_ns_min, 80001)),
	REFUSED(LOCKED, "batch_slots", 8, 9, 64, CAPS(poll_ns_min, 80000),
		SET(poll_overhead_ns, 1)),
	VALID(LOCKED, CAPS(poll_ns_min, 80001), SET(batch_slots, 9)),
	REFUSED(LOCKED, "batch_slots", 8, 64, 64, CAPS(poll_ns_min, 640000)),
	/*
	 * 64 slots of 10 us, less 1 % that trims can take, the one under way, half a one of a step,
	 * one of rounding and one that a fetch index tells of late: 593.6 us; restarts and polls
	 * count twice
	 */
	VALID(LOCKED, SET(batch_slots, 63), SET(budget_frames, 126), CAPS(poll_ns_min, 593600),
	      CAPS(restart_ns_max, 0)),
	REFUSED(LOCKED, "depth_slots", 64, 65, 255, SET(batch_slots, 63), SET(budget_frames, 126),
		CAPS(poll_ns_min, 593601), CAPS(restart_ns_max, 0)),
	REFUSED(LOCKED, "depth_slots", 64, 65, 255, SET(batch_slots, 63), SET(budget_frames, 126),
		CAPS(poll_ns_min, 593600), CAPS(restart_ns_max, 1)),
	REFUSED(LOCKED, "depth_slots", 64, 65, 255, SET(batch_slots, 63), SET(budget_frames, 126),
		CAPS(poll_ns_min, 593600), SET(poll_overhead_ns, 1), CAPS(restart_ns_max, 0)),
	VALID(LOCKED, SET(batch_slots, 63), SET(budget_frames, 126), CAPS(poll_ns_min, 589600),
	      CAPS(restart_ns_max, 0), CAPS(cpu_tick_ns, 1000)),
	REFUSED(LOCKED, "depth_slots", 64, 65, 255, SET(batch_slots, 63), SET(budget_frames, 126),
		CAPS(poll_ns_min, 589601), CAPS(restart_ns_max, 0), CAPS(cpu_tick_ns, 1000)),
	/* what a fetch index leaves open counts, too */
	REFUSED(LOCKED, "depth_slots", 64, 75, 255, SET(batch_slots, 63), SET(budget_frames, 126),
		CAPS(poll_ns_min, 593600), CAPS(restart_ns_max, 0),
		CAPS(index_to_wire_ns_max, 100000)),
	REFUSED(LOCKED, "depth_slots", 64, 75, 255, SET(batch_slots, 63), SET(budget_frames, 126),
		CAPS(poll_ns_min, 593600), CAPS(restart_ns_max, 0),
		CAPS(index_to_wire_ns_max, 100000), CAPS(index_to_wire_ns_min, 50000)),
	/* what cannot be had within depth, ring, slot length: these come first */
	REFUSED(LOCKED, "depth_slots", 64, 69, 255, CAPS(poll_ns_min, 640001)),
	REFUSED(LOCKED, "depth_slots", 64, 255, 255, CAPS(poll_ns_min, 2550000)),
	REFUSED(LOCKED, "ring_slots", 256, 264, 1024, CAPS(poll_ns_min, 2550001)),
	REFUSED(LOCKED, "ring_slots", 256, 1024, 1024, CAPS(poll_ns_min, 10230000)),
	REFUSED(LOCKED, "slot_bytes", 1230, 1231, 1522, CAPS(poll_ns_min, 10230001)),
	REFUSED(PAPER, "batch_slots", 8, 9, 255, CAPS(poll_ns_min, 80001)),
	REFUSED(PAPER, "ring_slots", 256, 264, 1024, CAPS(poll_ns_min, 2550001)),
	REFUSED(PAPER, "slot_bytes", 1230, 1231, 1522, CAPS(poll_ns_min, 5120001)),

	VALID(LOCKED, SET(depth_slots, 8)),
	REFUSED(LOCKED, "depth_slots", 0, 8, 255, SET(depth_slots, 0)),
	VALID(LOCKED, SET(depth_slots, 255)),
	REFUSED(LOCKED, "depth_slots", 256, 8, 255, SET(depth_slots, 256)),
	REFUSED(LOCKED, "depth_slots", 247, 8, 246, SET(depth_slots, 247),
		CAPS(reserved_slots, 10)),
	REFUSED(PAPER, "depth_slots", 9, 8, 8, SET(depth_slots, 9)),
	REFUSED(PAPER, "depth_slots", 7, 8, 8, SET(depth_slots, 7)),

	REFUSED(LOCKED, "trim_down_bytes", 0, 1, 1166, SET(trim_down_bytes, 0)),
	VALID(LOCKED, SET(trim_down_bytes, 1166)),
	REFUSED(LOCKED, "trim_down_bytes", 1167, 1, 1166, SET(trim_down_bytes, 1167)),
	REFUSED(LOCKED, "trim_down_bytes", 0xffffffffu, 1, 1166, SET(trim_down_bytes, 0xffffffffu)),
	REFUSED(LOCKED, "trim_down_bytes", 1131, 1, 1130, CAPS(placeholder_bytes_min, 100),
		SET(trim_down_bytes, 1131)),
	VALID(RESERVED, SET(trim_down_bytes, 1190)),
	REFUSED(RESERVED, "trim_down_bytes", 1191, 1, 1190, SET(trim_down_bytes, 1191)),
	REFUSED(LOCKED, "trim_down_bytes", 3, 4, 1164, CAPS(start_quantum_bytes, 4),
		SET(trim_down_bytes, 3)),
	REFUSED(LOCKED, "trim_down_bytes", 18, 4, 1164, CAPS(start_quantum_bytes, 4),
		SET(trim_down_bytes, 18)),
	VALID(PAPER, SET(trim_down_bytes, 0), SET(trim_up_bytes, 0xffffffffu)),

	VALID(LOCKED, SET(trim_up_bytes, 1), SET(drift_ppb_max, 100)),
	REFUSED(LOCKED, "trim_up_bytes", 0, 1, 306, SET(trim_up_bytes, 0)),
	VALID(LOCKED, SET(trim_up_bytes, 306)),
	VALID(LOCKED, SET(frame_bytes_max, 1522)),
	VALID(PAPER, SET(frame_bytes_max, 1230)),
	REFUSED(PAPER, "frame_bytes_max", 1231, 0, 1230, SET(frame_bytes_max, 1231)),
	REFUSED(LOCKED, "frame_bytes_max", 1537, 0, 1522, SET(frame_bytes_max, 1537)),
	REFUSED(LOCKED, "trim_up_bytes", 307, 1, 306, SET(trim_up_bytes, 307)),
	REFUSED(LOCKED, "trim_up_bytes", 0xffffffffu, 1, 306, SET(trim_up_bytes, 0xffffffffu)),
	REFUSED(LOCKED, "slot_bytes", 1230, 65, 1229, CAPS(frame_bytes_max, 1230)),
	REFUSED(LOCKED, "trim_up_bytes", 6, 4, 304, CAPS(start_quantum_bytes, 4),
		SET(trim_up_bytes, 6)),

	VALID(LOCKED, SET(prebuffer_frames, 0)),
	VALID(LOCKED, SET(prebuffer_frames, 65536)),
	REFUSED(LOCKED, "prebuffer_frames", 65537, 0, 65536, SET(prebuffer_frames, 65537)),

	VALID(LOCKED, SET(tolerance_ns, 0)),
	VALID(LOCKED, SET(tolerance_ns, 10000)),
	VALID(LOCKED, SET(horizon_ns, KPN_HORIZON_NS_MAX)),
	REFUSED(LOCKED, "horizon_ns", KPN_HORIZON_NS_MAX + 1, 0, KPN_HORIZON_NS_MAX,
		SET(horizon_ns, KPN_HORIZON_NS_MAX + 1)),
	REFUSED(LOCKED, "tolerance_ns", 10001, 0, 10000, SET(tolerance_ns, 10001)),
	/* 1250 bytes at 100 Gb/s: 100 ns; 84 at 2.5 Gb/s: 268.8 ns */
	REFUSED(LOCKED, "tolerance_ns", 101, 0, 100, SET(rate_bps, 100000000000ull),
		SET(tolerance_ns, 101)),
	REFUSED(RESERVED, "tolerance_ns", 269, 0, 268, SET(slot_bytes, 64),
		SET(rate_bps, 2500000000ull), SET(tolerance_ns, 269)),

	VALID(LOCKED, SET(drift_ppb_max, 1)),
	REFUSED(LOCKED, "drift_ppb_max", 0, 1, 1000000, SET(drift_ppb_max, 0)),
	VALID(LOCKED, SET(drift_ppb_max, 1000000), SET(trim_down_bytes, 2)),
	REFUSED(LOCKED, "drift_ppb_max", 1000001, 1, 1000000, SET(drift_ppb_max, 1000001)),
	/*
	 * one byte to 1250 is 1 in 1251, 799 ppm, and a tenth of that if only every tenth slot can
	 * be trimmed
	 */
	VALID(LOCKED, SET(trim_down_bytes, 1), SET(drift_ppb_max, 799360)),
	REFUSED(LOCKED, "drift_ppb_max", 799361, 1, 799360, SET(trim_down_bytes, 1),
		SET(drift_ppb_max, 799361)),
	VALID(RESERVED, SET(trim_down_bytes, 1), SET(partition_slots, 10),
	      SET(drift_ppb_max, 79993)),
	REFUSED(RESERVED, "drift_ppb_max", 79994, 1, 79993, SET(trim_down_bytes, 1),
		SET(partition_slots, 10), SET(drift_ppb_max, 79994)),
	/* 16 bytes every 65536 slots of 1250 bytes: 195.3 ppb */
	VALID(RESERVED, SET(partition_slots, 65536), SET(drift_ppb_max, 195)),
	REFUSED(RESERVED, "drift_ppb_max", 196, 1, 195, SET(partition_slots, 65536),
		SET(drift_ppb_max, 196)),
	VALID(PAPER, SET(trim_down_bytes, 0), SET(drift_ppb_max, 1000000)),

	VALID(LOCKED, SET(wander_ppb_per_s_max, 0)),
	VALID(LOCKED, SET(wander_ppb_per_s_max, 1000000)),
	REFUSED(LOCKED, "wander_ppb_per_s_max", 1000001, 0, 1000000,
		SET(wander_ppb_per_s_max, 1000001)),

	/* eight slots of 10 us; below it, not at it */
	VALID(LOCKED, SET(poll_overhead_ns, 79999)),
	REFUSED(LOCKED, "poll_overhead_ns", 80000, 0, 79999, SET(poll_overhead_ns, 80000)),
	REFUSED(PAPER, "poll_overhead_ns", 80000, 0, 79999, SET(poll_overhead_ns, 80000)),
	VALID(RESERVED, SET(slot_bytes, 64), SET(rate_bps, 2500000000ull), SET(batch_slots, 1),
	      SET(poll_overhead_ns, 268)),
	REFUSED(RESERVED, "poll_overhead_ns", 269, 0, 268, SET(slot_bytes, 64),
		SET(rate_bps, 2500000000ull), SET(batch_slots, 1), SET(poll_overhead_ns, 269)),

	VALID(LOCKED, SET(seed, 0)),
	VALID(LOCKED, SET(dither, 0)),

	REFUSED(LOCKED, "mode", 2, 0, 1, SET(mode, 2)),
	REFUSED(LOCKED, "mode", 255, 0, 1, SET(mode, 255)),
	VALID(LOCKED, SET(clock_read, KPN_CLOCK_COUNTER)),
	REFUSED(LOCKED, "clock_read", 2, 0, 1, SET(clock_read, 2)),
	REFUSED(PAPER, "clock_read", 0, 1, 1, SET(clock_read, KPN_CLOCK_INTERPOLATED)),
	REFUSED(PAPER, "clock_read", 7, 1, 1, SET(clock_read, 7)),

	VALID(LOCKED, SET(placeholder, KPN_PLACEHOLDER_RESERVED_ADDRESS)),
	REFUSED(LOCKED, "placeholder", 3, 0, 2, SET(placeholder, 3)),
	REFUSED(LOCKED, "placeholder", 200, 0, 2, SET(placeholder, 200)),
	REFUSED(LOCKED, "placeholder", 1, 0, 0, SET(placeholder, KPN_PLACEHOLDER_MAC_CONTROL),
		CAPS(has_spare_buffers, 0)),
	REFUSED(LOCKED, "placeholder", 2, 0, 0, SET(placeholder, KPN_PLACEHOLDER_RESERVED_ADDRESS),
		CAPS(has_spare_buffers, 0)),
	VALID(LOCKED, CAPS(has_spare_buffers, 0)),
	REFUSED(LOCKED, "placeholder", 0, 1, 1, CAPS(placeholder_kinds, 2)),
	REFUSED(LOCKED, "placeholder", 1, 2, 2, CAPS(placeholder_kinds, 4), SET(placeholder, 1)),

	REFUSED(LOCKED, "trim", 2, 0, 1, SET(trim, 2)),
	REFUSED(PAPER, "trim", 2, 0, 1, SET(trim, 2)),

	VALID(LOCKED, SET(padding, KPN_PADDING_ON_DEMAND)),
	VALID(PAPER, SET(padding, KPN_PADDING_ON_DEMAND)),
	REFUSED(LOCKED, "padding", 2, 0, 1, SET(padding, 2)),
	REFUSED(LOCKED, "padding", 1, 0, 0, SET(padding, KPN_PADDING_ON_DEMAND),
		CAPS(has_spare_buffers, 0)),
	REFUSED(PAPER, "padding", 200, 0, 0, SET(padding, 200), CAPS(has_spare_buffers, 0)),

	VALID(LOCKED, SET(classes[0].late, 2), SET(classes[15].late, 1)),
	REFUSED(LOCKED, "classes[0].late", 3, 0, 2, SET(classes[0].late, 3)),
	REFUSED(LOCKED, "classes[15].late", 255, 0, 2, SET(classes[15].late, 255)),
	VALID(LOCKED, SET(classes[9].rounding, 1)),
	REFUSED(LOCKED, "classes[9].rounding", 2, 0, 1, SET(classes[9].rounding, 2)),
	REFUSED(PAPER, "classes[12].rounding", 0, 1, 1, SET(classes[12].rounding, KPN_ROUND_UP)),
	REFUSED(PAPER, "classes[12].rounding", 2, 1, 1, SET(classes[12].rounding, 2)),
};

#endif
