// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Bytes to a configuration and a stream of operations on a pacer and the fake NIC; every invariant
 * of pacer_rig.h must hold after every operation. The first 24 bytes choose the configuration, then
 * each operation takes one byte and what it needs. Inputs that give no valid configuration end at
 * once. The trace hash of a run can be compared between machines (tests/test_core_32bit.py).
 */
#include <stdio.h>
#include <stdlib.h>

#include "keepon/wire.h"
#include "rig_restart.h"

enum {
	FRAMES = 256,
	PARTITION_SLOTS_MAX = 64,
	OPERATIONS_MAX = 200,
	SPAN_SLOTS_MAX = 5000,
	TRIM_BYTES_MAX = 16,
	PLANE_WORDS = 4 * KPN_PARTITION_PLANES,
	STOP_KIND = 254, /* 1 operation in 128 */
	FAULT_KIND = 253,
	STORM_KIND = 250, /* and two more */
	STORM_MAX = 60,
	START_KINDS = 4, /* 1 in this many while stopped */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
u64 fuzz_pacer_trace_hash(void);

static u64 trace_hash;

/** fuzz_pacer_trace_hash() - hash over everything the last input made happen */
u64 fuzz_pacer_trace_hash(void)
{
	return trace_hash;
}

/* ---- bytes ---- */

struct bytes {
	const u8 *at;
	const u8 *end;
};

static u32 take(struct bytes *bytes, u32 count)
{
	u32 value = 0;

	while (count-- && bytes->at != bytes->end)
		value = value << 8 | *bytes->at++;
	return value;
}

static u32 take_in(struct bytes *bytes, u32 min, u32 max)
{
	u32 span = max - min + 1;

	return min + take(bytes, span > 0x100 ? 2 : 1) % span;
}

/* A signed number of any magnitude: one byte for sign and shift, one for the leading bits. */
static s64 take_signed(struct bytes *bytes, u32 shift_max)
{
	u32 form = take(bytes, 1);
	u64 magnitude = (u64)take(bytes, 1) << form % (shift_max + 1);

	return form & 0x80 ? (s64)(0 - magnitude) : (s64)magnitude;
}

/* ---- configuration ---- */

/** struct setup - everything one input chooses before the first operation */
struct setup {
	struct kpn_config config;
	struct fake_params params;
	struct kpn_nic_caps caps;
	u16 allowed[PARTITION_SLOTS_MAX];
	u16 others[PARTITION_SLOTS_MAX];
	struct kpn_partition partition[2];
	u64 planes[2][PLANE_WORDS];
	bool half;
	s64 start_time_ns;
	u64 slot_ps;
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

	config->partition_slots = take_in(bytes, 1, PARTITION_SLOTS_MAX);
	if (config->mode == KPN_MODE_PAPER)
		config->partition_slots = config->ring_slots;
	for (i = 0; i < config->partition_slots && i < PARTITION_SLOTS_MAX; i++)
		setup->allowed[i] = masks[(first + i * step) % 8];
	if (config->trim == KPN_TRIM_RESERVED)
		setup->allowed[0] = 0;
	config->allowed = setup->allowed;
	for (i = 0; i < PARTITION_SLOTS_MAX; i++)
		setup->others[i] = setup->allowed[i] ? masks[(first + 1 + i * step) % 8] : 0;
}

static void choose_nic(struct setup *setup, struct bytes *bytes)
{
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
	params->cpu_tick_ps = params->coherent ? 0 : 18519;
	params->seed = setup->config.seed;
}

static u32 posted_max(const struct fake_params *params)
{
	u32 unposted = params->prefetch_slots + 1;

	return params->ring_slots -
	       (params->reserved_slots > unposted ? params->reserved_slots : unposted);
}

static void choose(struct setup *setup, struct bytes *bytes)
{
	static const u64 rates_bps[] = { 10000000,   100000000,   1000000000,
					 2500000000, 10000000000, 100000000000 };
	struct kpn_config *config = &setup->config;
	u32 flags = take(bytes, 1);
	u32 shortest_bytes;
	u32 longest_bytes;
	u32 tc;

	memset(setup, 0, sizeof(*setup));
	config->mode = flags & 1 ? KPN_MODE_PAPER : KPN_MODE_PHASE_LOCKED;
	config->trim = flags & 2 ? KPN_TRIM_RESERVED : KPN_TRIM_ANY;
	config->clock_read = flags & 4 || flags & 1 ? KPN_CLOCK_COUNTER : KPN_CLOCK_INTERPOLATED;
	config->dither = flags >> 3 & 1;
	config->seed = flags;
	config->rate_bps = rates_bps[take_in(bytes, 0, 5)];
	/* room for the deepest trim, so that few inputs are refused */
	config->slot_bytes =
		take_in(bytes, KPN_FRAME_BYTES_MIN + TRIM_BYTES_MAX, KPN_FRAME_BYTES_MAX);
	config->ring_slots = take_in(bytes, 8, flags & 1 ? PARTITION_SLOTS_MAX : 300);
	choose_partition(setup, bytes);
	setup->params.byte_ps = kpn_byte_time_ps(config->rate_bps);
	setup->slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * setup->params.byte_ps;
	choose_nic(setup, bytes);
	config->depth_slots =
		posted_max(&setup->params) - take_in(bytes, 0, posted_max(&setup->params) - 1);
	config->batch_slots = take_in(bytes, 1, config->depth_slots);
	if (config->mode == KPN_MODE_PAPER)
		config->depth_slots = config->batch_slots;
	config->trim_down_bytes = take_in(bytes, 1, TRIM_BYTES_MAX);
	config->trim_up_bytes = take_in(bytes, 0, TRIM_BYTES_MAX);
	config->prebuffer_frames = take_in(bytes, 0, 20);
	config->budget_frames = 2 * config->batch_slots + take_in(bytes, 0, 8);
	if (config->budget_frames < KPN_BUDGET_FRAMES_MIN)
		config->budget_frames = KPN_BUDGET_FRAMES_MIN;
	config->horizon_ns = take(bytes, 1) ? 0 : 300 * setup->slot_ps / 1000;
	config->drift_ppb_max = 1000;
	config->wander_ppb_per_s_max = 1000;
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
	shortest_bytes = config->slot_bytes;
	longest_bytes = config->slot_bytes;
	if (config->mode == KPN_MODE_PHASE_LOCKED) {
		shortest_bytes -= config->trim_down_bytes;
		longest_bytes += config->trim_up_bytes;
	}
	setup->params.buffer_bytes = longest_bytes;
	setup->caps = fake_nic_caps(&setup->params, config->drift_ppb_max, shortest_bytes,
				    longest_bytes, 1);
	setup->start_time_ns = (s64)take(bytes, 4);
	setup->start_time_ns <<= take_in(bytes, 0, 24);
}

/* ---- operations ---- */

static void submit(struct rig *rig, const struct setup *setup, struct bytes *bytes)
{
	struct kpn_window window = kpn_pacer_window(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	u32 form = take(bytes, 1);
	u8 tc = form & 7;
	s64 slots = take_signed(bytes, 3);
	struct kpn_time at;
	u32 frame_bytes = setup->config.slot_bytes - take_in(bytes, 0, 255);

	/* 1 in 8 is scheduled anywhere in time */
	if (form >> 5 == 7)
		at = (struct kpn_time){ take_signed(bytes, 55), 0 };
	else
		at = kpn_clock_at(kpn_pacer_clock(rig->pacer),
				  fake_nic_position(&rig->nic) +
					  (window.first_seq - rig->nic.wire_seq + (u64)slots) *
						  setup->slot_ps);
	if (frame_bytes > 2000)
		frame_bytes = 64;
	rig_submit(rig, frame_bytes, tc, form & 8 ? KPN_FRAME_TXTIME : 0,
		   at.ns + (s64)(form >> 4 & 1), NULL);
}

static void run(struct rig *rig, u32 polls)
{
	while (polls-- && !rig->violation) {
		rig_advance(rig, kpn_pacer_poll_interval_ns(rig->pacer) * 1000);
		rig_poll(rig);
	}
}

/*
 * Many frames for one slot or one after the other, of any class, more than one call may deal with;
 * a step in between.
 */
static void storm(struct rig *rig, const struct setup *setup, struct bytes *bytes)
{
	struct kpn_window window = kpn_pacer_window(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	u32 form = take(bytes, 1);
	s64 slots = take_signed(bytes, 2);
	u32 count = take_in(bytes, 1, STORM_MAX);
	u32 i;

	for (i = 0; i < count && !rig->violation; i++) {
		u64 ahead = window.first_seq - rig->nic.wire_seq + (u64)slots + (form & 8 ? i : 0);
		struct kpn_time at =
			kpn_clock_at(kpn_pacer_clock(rig->pacer),
				     fake_nic_position(&rig->nic) + ahead * setup->slot_ps);

		rig_submit(rig, 64, (form + (form & 16 ? i : 0)) & 7, KPN_FRAME_TXTIME, at.ns,
			   NULL);
		if (form & 32 && i == count / 2)
			rig_adjtime(rig, (s64)(form >> 6) * (s64)(3 * setup->slot_ps / 1000));
	}
}

/*
 * Up again at the time and rate the clock of the stopped pacer has; the NIC is reset while it sends
 * or idle.
 */
static void start_again(struct rig *rig, const struct setup *setup)
{
	s64 scaled_ppm;
	s64 ns;

	/* a pacer that stopped itself has frames still */
	rig_stop(rig);
	ns = kpn_pacer_gettime(rig->pacer, fake_nic_cpu_ns(&rig->nic)).ns;
	scaled_ppm = kpn_pacer_clock(rig->pacer)->scaled_ppm;
	if (ns < 0)
		ns = 0;
	if (ns > KPN_TIME_NS_MAX)
		ns = KPN_TIME_NS_MAX;
	if (!rig_reset(rig, &setup->caps, ns))
		abort();
	rig_adjfine(rig, scaled_ppm);
	rig->assumptions_hold = true;
	rig_start_again(rig);
}

/* The other table, or the first one again, some slots from now. */
static void switch_partition(struct rig *rig, struct setup *setup, struct bytes *bytes)
{
	struct kpn_state state = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	const u16 *allowed =
		rig->table[0].allowed == setup->others ? setup->allowed : setup->others;
	u32 slots = setup->config.partition_slots -
		    take_in(bytes, 0, 1) * (setup->config.partition_slots / 2);
	u64 at = state.head_seq + state.base + take_in(bytes, 0, 400);

	if (rig->stopped || rig->table[1].allowed ||
	    kpn_partition_bytes(slots) > sizeof(setup->planes[0]) ||
	    setup->config.mode == KPN_MODE_PAPER)
		return;
	/*
	 * the table in use is the pacer's own or in one half of the memory; the next one goes to
	 * the other half
	 */
	setup->half = !setup->half;
	kpn_partition_init(&setup->partition[setup->half], setup->planes[setup->half], allowed,
			   slots);
	rig_set_partition(rig, &setup->partition[setup->half], allowed, at);
}

/* The card is pulled, or its index stands still. */
static void fail(struct rig *rig, struct bytes *bytes)
{
	if (take(bytes, 1) & 1)
		rig->nic.gone = true;
	else
		rig->nic.frozen = rig->misled = true;
	rig->assumptions_hold = false;
}

static void operate(struct rig *rig, struct setup *setup, struct bytes *bytes)
{
	u32 kind = take(bytes, 1);
	struct kpn_time at;

	if (!rig->stopped && kind >= STOP_KIND) {
		rig_stop(rig);
		return;
	}
	if (rig->stopped && kind % START_KINDS == 0) {
		start_again(rig, setup);
		return;
	}
	if (kind == FAULT_KIND) {
		fail(rig, bytes);
		return;
	}
	if (kind >= STORM_KIND && kind < FAULT_KIND) {
		storm(rig, setup, bytes);
		return;
	}
	switch (kind % 11) {
	case 0:
	case 1:
	case 2: submit(rig, setup, bytes); break;
	case 3: rig_advance(rig, take(bytes, 1) * setup->slot_ps / 32); break;
	case 4: run(rig, kind / 11 % 8 + 1); break;
	case 5: rig_poll(rig); break;
	case 6: rig_adjfine(rig, take_signed(bytes, 24)); break;
	case 7: rig_adjtime(rig, take_signed(bytes, 40)); break;
	case 8:
		at.ns = take_signed(bytes, 52);
		at.frac = take(bytes, 1) << 24;
		rig_settime(rig, at);
		break;
	case 9: switch_partition(rig, setup, bytes); break;
	default: rig_advance(rig, take_in(bytes, 0, SPAN_SLOTS_MAX) * setup->slot_ps / 4); break;
	}
}

/* Streams of operations are only worth anything when long, so inputs need not grow slowly. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char option[] = "-len_control=0";
	char **longer = calloc((size_t)*argc + 2, sizeof(*longer));

	if (!longer)
		abort();
	memcpy(longer, *argv, (size_t)*argc * sizeof(*longer));
	longer[(*argc)++] = option;
	*argv = longer;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { data, data + size };
	struct setup setup;
	struct rig rig;
	u32 operations = 0;
	void *memory;

	trace_hash = 0;
	choose(&setup, &bytes);
	if (kpn_config_validate(&setup.config, &setup.caps, NULL, 0))
		return 0;
	memory = malloc(rig_bytes(&setup.config, &setup.params, FRAMES));
	if (!memory)
		abort();
	if (!rig_init(&rig, memory, &setup.config, &setup.caps, &setup.params, FRAMES,
		      setup.start_time_ns, NULL))
		abort();
	rig_start(&rig);
	while (bytes.at != bytes.end && !rig.violation && operations++ < OPERATIONS_MAX)
		operate(&rig, &setup, &bytes);
	if (!rig.violation)
		rig_stop(&rig);
	if (rig.violation) {
		fprintf(stderr, "fuzz_pacer: after %u operations: %s\n", operations, rig.violation);
		abort();
	}
	trace_hash = rig.hash;
	free(memory);
	return 0;
}
