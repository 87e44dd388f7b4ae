// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Bytes to a configuration and a NIC: every mode, padding and kind of placeholder, done and fetch
 * index, coherent or not, persistent or written back, counters of every tick.
 */
#include "setup.h"

#include "keepon/wire.h"

enum {
	TRIM_BYTES_MAX = 16,
	SHORT_BYTES_MAX = 300,
	RING_SLOTS_DEEP = 1024,
	PAPER_BATCH_MAX = 32,
};

static void choose_partition(struct setup *setup, struct bytes *bytes)
{
	static const u16 masks[] = {
		0xffff, 0x0081, 0x0002, 0x0004, 0x0008, 0x0010, 0x0000, 0x009f
	};
	struct kpn_config *config = &setup->config;
	u32 step = take_in(bytes, 0, 7);
	u32 first = take_in(bytes, 0, 7);
	u32 i;

	config->partition_slots = take_in(bytes, 1, FUZZ_PARTITION_SLOTS_MAX);
	if (config->mode == KPN_MODE_PAPER)
		config->partition_slots = config->ring_slots;
	for (i = 0; i < config->partition_slots && i < FUZZ_PARTITION_SLOTS_MAX; i++)
		setup->allowed[i] = masks[(first + i * step) % 8];
	if (config->trim == KPN_TRIM_RESERVED)
		setup->allowed[0] = 0;
	config->allowed = setup->allowed;
	for (i = 0; i < FUZZ_PARTITION_SLOTS_MAX; i++)
		setup->others[i] = setup->allowed[i] ? masks[(first + 1 + i * step) % 8] : 0;
}

static void choose_nic(struct setup *setup, struct bytes *bytes)
{
	/* 1 ns; a Raspberry Pi 4; 19.2 MHz */
	static const u32 ticks_ps[] = { 0, 0, 18519, 52083 };
	struct fake_params *params = &setup->params;
	u32 flags = take(bytes, 1);
	u64 slot_ps = setup->slot_ps;

	params->ring_slots = setup->config.ring_slots;
	params->reserved_slots = flags & 3;
	params->index_counts_done = flags >> 2 & 1;
	params->persistent = flags >> 3 & 1;
	params->spare = flags >> 4 & 1;
	if (flags >> 5 & 1)
		params->index_modulus = params->ring_slots + (flags >> 6) * 7;
	params->prefetch_slots = take_in(bytes, 0, params->ring_slots > 16 ? 7 : 3);
	params->index_lag_ps_max = take_in(bytes, 0, 5) * slot_ps / 2;
	params->index_lag_ps_min = params->index_lag_ps_max / take_in(bytes, 1, 3);
	params->restart_ps_max = take_in(bytes, 0, 6) * slot_ps / 3;
	params->restart_ps_min = params->restart_ps_max / take_in(bytes, 1, 3);
	params->read_ps = take_in(bytes, 0, 3) * slot_ps / 4;
	params->slot_bytes = setup->config.slot_bytes;
	params->frame_bytes_min = 60;
	params->frame_bytes_max = 1600;
	params->cpu_start_ns = 5000000000ull;
	params->coherent = take(bytes, 1) & 1;
	params->cpu_tick_ps = ticks_ps[take_in(bytes, 0, 3)];
	params->seed = setup->config.seed;
}

static u32 posted_max(const struct fake_params *params)
{
	u32 unposted = params->prefetch_slots + 1;

	return params->ring_slots -
	       (params->reserved_slots > unposted ? params->reserved_slots : unposted);
}

/* Mostly short slots and small rings, with which an operation costs little. */
static void choose_ring(struct setup *setup, struct bytes *bytes)
{
	static const u64 rates_bps[] = { 10000000,   100000000,   1000000000,
					 2500000000, 10000000000, 100000000000 };
	struct kpn_config *config = &setup->config;
	u32 size = take(bytes, 1);
	/* room for the deepest trim, so that few inputs are refused */
	u32 least_bytes = KPN_FRAME_BYTES_MIN + TRIM_BYTES_MAX;

	config->rate_bps = rates_bps[take_in(bytes, 0, 5)];
	config->slot_bytes =
		take_in(bytes, least_bytes, size & 7 ? SHORT_BYTES_MAX : (u32)KPN_FRAME_BYTES_MAX);
	config->ring_slots = take_in(bytes, 8, size & 8 ? 300 : 40);
	if (config->mode == KPN_MODE_PAPER)
		config->ring_slots = 8 + config->ring_slots % (FUZZ_PARTITION_SLOTS_MAX - 7);
	else if (size >> 4 == 15 && size & 7)
		config->ring_slots = RING_SLOTS_DEEP;
	setup->params.byte_ps = kpn_byte_time_ps(config->rate_bps);
	setup->slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * setup->params.byte_ps;
}

/* Half of the inputs post as deep as they may, so that much is planned and placed ahead. */
static void choose_depth(struct setup *setup, struct bytes *bytes)
{
	struct kpn_config *config = &setup->config;
	u32 most = posted_max(&setup->params);
	u32 less = take_in(bytes, 0, most - 1);

	config->depth_slots = most - (take(bytes, 1) & 1 ? less : 0);
	config->batch_slots = take_in(bytes, 1, config->depth_slots);
	if (take(bytes, 1) & 1)
		config->batch_slots = 1 + config->batch_slots / 4;
	if (config->batch_slots > config->depth_slots)
		config->batch_slots = config->depth_slots;
	if (config->mode == KPN_MODE_PAPER) {
		if (config->batch_slots > PAPER_BATCH_MAX)
			config->batch_slots = PAPER_BATCH_MAX;
		config->depth_slots = config->batch_slots;
	}
	config->trim_down_bytes = take_in(bytes, 1, TRIM_BYTES_MAX);
	config->trim_up_bytes = take_in(bytes, 1, TRIM_BYTES_MAX);
	config->prebuffer_frames = take_in(bytes, 0, 20);
	config->budget_frames = 2 * config->batch_slots + take_in(bytes, 0, 8);
	if (config->budget_frames < KPN_BUDGET_FRAMES_MIN)
		config->budget_frames = KPN_BUDGET_FRAMES_MIN;
	config->horizon_ns = take(bytes, 1) & 7 ? 0 : 300 * setup->slot_ps / 1000;
}

static void choose_classes(struct setup *setup, struct bytes *bytes)
{
	struct kpn_config *config = &setup->config;
	u32 tc;

	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		config->classes[tc].late = tc % 3;
		config->classes[tc].rounding =
			config->mode == KPN_MODE_PAPER || tc == 4 ? KPN_ROUND_FLOOR : KPN_ROUND_UP;
	}
	if (setup->params.spare) {
		u32 kind = take_in(bytes, 0, 5);

		config->placeholder = kind % 3;
		config->padding = kind / 3 ? KPN_PADDING_ON_DEMAND : KPN_PADDING_DEFERRED;
	}
}

/* Positions may wrap within some hundred slots, the time of day may be any. */
static void choose_start(struct setup *setup, struct bytes *bytes)
{
	static const u8 calm[] = { 0, 3, 15, 63 };
	u32 form = take(bytes, 1);

	setup->calm = calm[take_in(bytes, 0, 3)];
	setup->start_time_ns = (s64)take(bytes, 4);
	setup->start_time_ns <<= take_in(bytes, 0, 24);
	if (!(form & 7))
		setup->start_position_ps = 0 - (form >> 3) * 20 * setup->slot_ps;
}

/* Three in four links have frames longer than a slot, in one buffer or in several. */
static void choose_frames(struct setup *setup, struct bytes *bytes)
{
	struct kpn_config *config = &setup->config;
	u32 form = take(bytes, 1);
	u32 longer = take_in(bytes, 1, 1u + KPN_FRAME_BYTES_MAX - KPN_FRAME_BYTES_MIN);

	if (config->mode == KPN_MODE_PAPER || !(form & 3))
		return;
	setup->params.fragments_max = form & 4 ? KPN_SPAN_SLOTS_MAX : 1;
	config->frame_bytes_max = config->slot_bytes + longer;
	if (form & 8 || config->frame_bytes_max > KPN_FRAME_BYTES_MAX)
		config->frame_bytes_max = KPN_FRAME_BYTES_MAX;
	setup->params.long_bytes = config->frame_bytes_max + 2 * KPN_WIRE_OVERHEAD_BYTES;
}

/* The longest frames for which depth, ring and budget have room. */
static void fit_frames(struct setup *setup)
{
	struct kpn_problem problem;

	if (kpn_config_validate(&setup->config, &setup->caps, &problem, 1) &&
	    strcmp(problem.field, "frame_bytes_max") == 0)
		setup->config.frame_bytes_max = (u32)problem.max;
}

void fuzz_choose(struct setup *setup, struct bytes *bytes)
{
	static const u32 drifts_ppb[] = { 1000, 100, 20000, 100000 };
	struct kpn_config *config = &setup->config;
	u32 flags = take(bytes, 1);
	u32 shortest_bytes;
	u32 longest_bytes;

	memset(setup, 0, sizeof(*setup));
	config->mode = (flags & 0x70) == 0x70 ? KPN_MODE_PAPER : KPN_MODE_PHASE_LOCKED;
	config->trim = flags & 2 ? KPN_TRIM_RESERVED : KPN_TRIM_ANY;
	config->clock_read = flags & 4 || config->mode == KPN_MODE_PAPER ? KPN_CLOCK_COUNTER :
									   KPN_CLOCK_INTERPOLATED;
	config->dither = flags >> 3 & 1;
	config->seed = flags;
	config->drift_ppb_max = drifts_ppb[take_in(bytes, 0, 3)];
	config->wander_ppb_per_s_max = 1000;
	choose_ring(setup, bytes);
	choose_partition(setup, bytes);
	choose_nic(setup, bytes);
	choose_depth(setup, bytes);
	choose_classes(setup, bytes);
	choose_start(setup, bytes);
	choose_frames(setup, bytes);
	shortest_bytes = config->slot_bytes;
	longest_bytes = config->slot_bytes;
	if (config->mode == KPN_MODE_PHASE_LOCKED) {
		shortest_bytes -= config->trim_down_bytes;
		longest_bytes += config->trim_up_bytes;
	}
	/* placeholders behind a long frame are as short as they may be */
	if (config->frame_bytes_max)
		shortest_bytes = KPN_FRAME_BYTES_MIN;
	setup->params.buffer_bytes = longest_bytes;
	if (setup->params.fragments_max > 1)
		setup->params.buffer_bytes += KPN_WIRE_OVERHEAD_BYTES;
	if (setup->params.buffer_bytes < config->frame_bytes_max)
		setup->params.buffer_bytes = config->frame_bytes_max;
	setup->caps = fake_nic_caps(&setup->params, config->drift_ppb_max, shortest_bytes,
				    longest_bytes, 1);
	if (take(bytes, 1) & 1)
		setup->caps.pause_ns_max = (u32)kpn_div_u64(64 * setup->slot_ps, 1000) + 1;
	fit_frames(setup);
}
