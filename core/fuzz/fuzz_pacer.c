// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Bytes to a configuration (setup.h) and a stream of operations on a pacer and the fake NIC;
 * every invariant of pacer_rig.h must hold after every call. At the end of the program the
 * operations of all streams are counted on stderr. The trace hash of a run can be compared between
 * machines (tests/test_core_32bit.py).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../src/kpn_pacer_state.h"
#include "keepon/wire.h"
#include "rig_restart.h"
#include "setup.h"

enum {
	FRAMES = 256,
	SPAN_SLOTS_MAX = 2000,
	RUN_SLOTS_MAX = 256,
	PAUSE_SLOTS_MAX = 60,
	STORM_MAX = 60,
	START_KINDS = 4, /* 1 in this many while stopped */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
u64 fuzz_pacer_trace_hash(void);

static u64 trace_hash;

/** struct counts - of the whole program; @calls: on pacers, each followed by all invariants */
static struct counts {
	u64 streams;
	u64 refused;
	u64 operations;
	u64 calls;
	u64 slots;
	u64 frames;
} counts;

/** fuzz_pacer_trace_hash() - hash over everything the last input made happen */
u64 fuzz_pacer_trace_hash(void)
{
	return trace_hash;
}

static void print_counts(void)
{
	fprintf(stderr,
		"fuzz_pacer: %" PRIu64 " operations, %" PRIu64 " calls, %" PRIu64 " slots, %" PRIu64
		" frames, %" PRIu64 " streams, %" PRIu64 " refused\n",
		counts.operations, counts.calls, counts.slots, counts.frames, counts.streams,
		counts.refused);
}

static void count_stream(const struct rig *rig)
{
	if (!counts.streams++ && !counts.refused)
		atexit(print_counts);
	counts.calls += rig->calls;
	counts.frames += rig->next_id - 1;
}

/* A signed number of any magnitude: @form is sign and shift, @leading the leading bits. */
static s64 signed_of(u32 form, u32 leading, u32 shift_max)
{
	u64 magnitude = (u64)(leading & 0xff) << form % (shift_max + 1);

	return form & 0x80 ? (s64)(0 - magnitude) : (s64)magnitude;
}

/** struct record - one operation; what @form, @x and @y mean depends on @kind */
struct record {
	u32 kind;
	u32 form;
	u32 x;
	u32 y;
};

/* ---- operations ---- */

/* When slot @slots after the first of the window starts. */
static struct kpn_time start_of(const struct rig *rig, const struct setup *setup, s64 slots)
{
	struct kpn_window window = kpn_pacer_window(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	u64 ahead = window.first_seq - rig->nic.wire_seq + (u64)slots;

	return kpn_clock_at(kpn_pacer_clock(rig->pacer),
			    fake_nic_position(&rig->nic) + ahead * setup->slot_ps);
}

/* 1 in 16 is as long as it may be, or a little too long, 4 have any length; the rest is short. */
static u32 frame_bytes_of(const struct setup *setup, u32 choice)
{
	u32 longest = setup->config.slot_bytes;
	u32 least = KPN_FRAME_BYTES_MIN - 4;

	if (longest < setup->config.frame_bytes_max)
		longest = setup->config.frame_bytes_max;
	if (choice % 16 == 0)
		return longest + 2 - choice / 16 % 24;
	if (choice % 4 == 1)
		return least + choice / 16 % (longest - least);
	return least + choice / 16 % (longest - least < 64 ? longest - least : 64);
}

static void submit(struct rig *rig, const struct setup *setup, const struct record *record)
{
	u32 form = record->form;
	struct kpn_time at;

	/* 1 in 64 is scheduled anywhere in time; most lie within some dozen slots */
	if (record->kind % 64 == 7)
		at = (struct kpn_time){ signed_of(record->x >> 8, record->x, 55), 0 };
	else if (form >> 4 & 1)
		at = start_of(rig, setup, (s64)(record->x % 48));
	else
		at = start_of(rig, setup, signed_of(record->x >> 8, record->x, 3));
	rig_submit(rig, frame_bytes_of(setup, record->y), form & 7, form & 8 ? KPN_FRAME_TXTIME : 0,
		   at.ns + (s64)(form >> 5 & 1), NULL);
}

static void run(struct rig *rig, u32 polls)
{
	u32 most = 1 + RUN_SLOTS_MAX / rig->config.batch_slots;

	if (polls > most)
		polls = most;
	while (polls-- && !rig->violation) {
		rig_advance(rig, kpn_pacer_poll_interval_ns(rig->pacer) * 1000);
		rig_poll(rig);
	}
}

/*
 * Many frames for one slot or one after the other, of any class, more than one call may deal with;
 * a step in between.
 */
static void storm(struct rig *rig, const struct setup *setup, const struct record *record)
{
	u32 form = record->form;
	s64 slots = signed_of(record->x >> 8, record->x, 2);
	u32 count = 1 + record->y % STORM_MAX;
	u32 i;

	for (i = 0; i < count && !rig->violation; i++) {
		struct kpn_time at = start_of(rig, setup, slots + (form & 8 ? (s64)i : 0));

		rig_submit(rig, 64, (form + (form & 16 ? i : 0)) & 7, KPN_FRAME_TXTIME, at.ns,
			   NULL);
		if (form & 32 && i == count / 2)
			rig_adjtime(rig, (s64)(form >> 6) * (s64)(3 * setup->slot_ps / 1000));
	}
}

/* Rates that change again and again while all that is posted waits for its lengths. */
static void wobble(struct rig *rig, const struct setup *setup, const struct record *record)
{
	u32 count = 1 + record->form % 8;

	while (count-- && !rig->violation) {
		rig_adjfine(rig, signed_of(record->x >> 8, record->x + count, 22));
		rig_advance(rig, record->y % 64 * setup->slot_ps / 16);
		if (record->form & 64)
			rig_poll(rig);
	}
}

/* Before the start: the wire's position may be anywhere, so that it wraps soon. */
static void begin(struct rig *rig, const struct setup *setup)
{
	struct kpn_pacer *pacer = rig->pacer;
	u64 position_ps = setup->start_position_ps;

	pacer->ring.head.ps = position_ps;
	pacer->ring.tail.ps = position_ps;
	pacer->ring.plan.ps = position_ps;
	pacer->ring.index_ps = position_ps;
	pacer->clock.anchor_ps = position_ps;
	rig->clock.anchor_ps = position_ps;
	rig->nic.position_ps = position_ps;
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
	counts.slots += rig->nic.fetch_seq;
	ns = kpn_pacer_gettime(rig->pacer, fake_nic_cpu_ns(&rig->nic)).ns;
	scaled_ppm = kpn_pacer_clock(rig->pacer)->scaled_ppm;
	if (ns < 0)
		ns = 0;
	if (ns > KPN_TIME_NS_MAX)
		ns = KPN_TIME_NS_MAX;
	if (!rig_reset(rig, &setup->caps, ns))
		abort();
	begin(rig, setup);
	rig_adjfine(rig, scaled_ppm);
	rig->assumptions_hold = true;
	rig_start_again(rig);
}

/* The other table, or the first one again, some slots from now. */
static void switch_partition(struct rig *rig, struct setup *setup, const struct record *record)
{
	struct kpn_state state = kpn_pacer_state(rig->pacer, fake_nic_cpu_ns(&rig->nic));
	const u16 *allowed =
		rig->table[0].allowed == setup->others ? setup->allowed : setup->others;
	u32 slots = setup->config.partition_slots -
		    (record->form & 1) * (setup->config.partition_slots / 2);
	u64 at = state.head_seq + state.base + record->x % 401;

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
	if (rig_set_partition(rig, &setup->partition[setup->half], allowed, at))
		setup->half = !setup->half;
}

/* The card is pulled, or its index stands still, for good or for a while. */
static void fail(struct rig *rig, const struct setup *setup, const struct record *record)
{
	rig->assumptions_hold = false;
	if (!(record->form & 3)) {
		rig->nic.gone = true;
		return;
	}
	rig->nic.frozen = true;
	if (record->form & 1)
		return;
	rig_advance(rig, record->x % 200 * setup->slot_ps / 8);
	run(rig, record->y % 6);
	rig->nic.frozen = rig->stopped;
}

static void set_clock(struct rig *rig, const struct record *record)
{
	struct kpn_time at = { signed_of(record->x >> 8, record->x, 52), record->y << 16 };

	rig_settime(rig, at);
}

/*
 * Best effort of a class is shaped, by another slope, or not any more; also by slopes there are
 * not.
 */
static void shape(struct rig *rig, const struct setup *setup, const struct record *record)
{
	u64 slope_bps = setup->config.rate_bps / 60000 * record->y;

	kpn_pacer_set_credit(rig->pacer, record->form % (KPN_CLASS_COUNT + 1),
			     record->x % 4 ? slope_bps : 0, record->x);
}

/* The CPU's crystal wanders within what was stated. */
static void drift(struct rig *rig, const struct setup *setup, const struct record *record)
{
	s32 most = (s32)setup->config.drift_ppb_max;

	fake_nic_drift(&rig->nic, (s32)(record->x % (2 * (u32)most + 1)) - most,
		       setup->config.wander_ppb_per_s_max);
}

/*
 * A pacer that is stopped soon starts again; until then it is called all the same. In calm streams
 * few operations disturb what the others have built up.
 */
static void operate(struct rig *rig, struct setup *setup, const struct record *record)
{
	static const u8 ends[] = { 108, 126, 166, 176, 190, 200, 207, 213,
				   219, 224, 229, 234, 239, 244, 248 };
	u32 kind = 0;

	if (rig->stopped && record->kind % START_KINDS == 0) {
		start_again(rig, setup);
		return;
	}
	if (record->kind >= ends[4] && (record->form ^ record->y) & setup->calm) {
		run(rig, 1 + record->form % 4);
		return;
	}
	while (kind < sizeof(ends) && record->kind >= ends[kind])
		kind++;
	switch (kind) {
	case 0: submit(rig, setup, record); break;
	case 1: rig_advance(rig, record->x % 512 * setup->slot_ps / 64); break;
	case 2: run(rig, 1 + record->form % 4); break;
	case 3: run(rig, 1 + record->form % 64); break;
	case 4: rig_poll(rig); break;
	case 5: rig_adjfine(rig, signed_of(record->x >> 8, record->x, 24)); break;
	case 6: rig_adjtime(rig, signed_of(record->x >> 8, record->x, 40)); break;
	case 7: rig_adjtime(rig, signed_of(record->x >> 8, record->x, 8)); break;
	case 8: set_clock(rig, record); break;
	case 9: switch_partition(rig, setup, record); break;
	case 10: rig_advance(rig, record->x % SPAN_SLOTS_MAX * setup->slot_ps / 4); break;
	case 11: wobble(rig, setup, record); break;
	case 12: drift(rig, setup, record); break;
	case 13: storm(rig, setup, record); break;
	case 14: shape(rig, setup, record); break;
	default:
		if (record->kind >= 254)
			rig_stop(rig);
		else if (record->kind >= 252)
			fail(rig, setup, record);
		else if (setup->caps.pause_ns_max)
			rig_pause(rig, record->x % PAUSE_SLOTS_MAX * setup->slot_ps);
		break;
	}
}

/* A stream that ends at the first violation. Return: how many operations that was. */
static u64 play(struct rig *rig, struct setup *setup, struct bytes *bytes)
{
	u64 operations = 0;

	rig_start(rig);
	while ((size_t)(bytes->end - bytes->at) >= RECORD_BYTES && !rig->violation) {
		struct record record = { .kind = take(bytes, 1) };

		record.form = take(bytes, 1);
		record.x = take(bytes, 2);
		record.y = take(bytes, 2);
		operate(rig, setup, &record);
		operations++;
	}
	if (!rig->violation)
		rig_stop(rig);
	counts.slots += rig->nic.fetch_seq;
	return operations;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { data, size < SETUP_BYTES ? data + size : data + SETUP_BYTES };
	struct setup setup;
	struct rig rig;
	u64 operations;
	void *memory;

	trace_hash = 0;
	fuzz_choose(&setup, &bytes);
	if (kpn_config_validate(&setup.config, &setup.caps, NULL, 0)) {
		counts.refused++;
		return 0;
	}
	memory = malloc(rig_bytes(&setup.config, &setup.params, FRAMES));
	if (!memory)
		abort();
	if (!rig_init(&rig, memory, &setup.config, &setup.caps, &setup.params, FRAMES,
		      setup.start_time_ns, NULL))
		abort();
	begin(&rig, &setup);
	bytes = (struct bytes){ bytes.end, data + size };
	operations = play(&rig, &setup, &bytes);
	count_stream(&rig);
	counts.operations += operations;
	if (rig.violation) {
		fprintf(stderr, "fuzz_pacer: after %" PRIu64 " operations: %s\n", operations,
			rig.violation);
		abort();
	}
	trace_hash = rig.hash;
	free(memory);
	return 0;
}
