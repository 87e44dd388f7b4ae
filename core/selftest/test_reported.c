/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * reported: a frame reported to have left on time, or in a slot of its class, has; and the clock,
 * whatever happened before, is not before what it was read as.
 */
#include "../src/kpn_pacer_state.h"
#include "exact_nic.h"

#define START_NS 2000000000ll
#define MS 1000000ull
#define SFD_NS 64

enum { FRAMES = 60 };

static struct exact_nic nic;
static struct kpn_frame frames[FRAMES];

static struct kpn_state state(void)
{
	return kpn_pacer_state(nic.pacer, nic.now_ns);
}

/* A frame of class 0 for each of the next slots of @slot_ns. Return: how many were taken. */
static u32 fill(u64 slot_ns, u32 count)
{
	u64 slot = kpn_pacer_window(nic.pacer, nic.now_ns).first_seq + state().base;
	u32 taken = 0;
	u32 i;

	memset(frames, 0, sizeof(frames));
	for (i = 0; i < count; i++) {
		frames[i] = exact_frame((u8)(i + 1), 64, 0, (s64)((slot + i) * slot_ns + SFD_NS));
		taken += kpn_pacer_submit(nic.pacer, &frames[i]) == KPN_VERDICT_PENDING;
	}
	return taken;
}

/* Slots of @slot_bytes, @depth of them posted, @prefetch fetched ahead. */
static void prepare(u32 slot_bytes, u32 depth, u32 prefetch)
{
	exact_nic_prepare(&nic);
	nic.caps.prefetch_slots_max = prefetch;
	kpn_config_defaults(&nic.config, &nic.caps, 1000000000, slot_bytes);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = depth;
	nic.config.batch_slots = 4;
	nic.config.budget_frames = 128;
	nic.config.prebuffer_frames = 64;
	nic.config.trim_down_bytes = slot_bytes / 5;
	nic.config.trim_up_bytes = slot_bytes / 5;
}

/*
 * How many reported on time started there, as the configuration promises, in any case in their slot
 */
static u32 expect_own_slots(struct kpn_selftest *t, int at, struct kpn_bounds bounds, u64 slot_ns)
{
	if (bounds.boundary_error_ps > slot_ns * 500)
		bounds.boundary_error_ps = slot_ns * 500;
	return exact_expect_on_time(t, at, frames, FRAMES, bounds);
}

/*
 * Slots that can no longer be planned again see several changes of rate: by the sum of them they are
 * further off the grid than by any one, and furthest where neither end of them is.
 */
static void test_rates_that_follow_each_other(struct kpn_selftest *t)
{
	u32 on_time = 0;
	u32 stale = 0;
	u64 seed = 5;
	u32 run;
	u32 i;

	for (run = 0; run < 300; run++) {
		u32 changes = 2 + run % 8;
		s32 ppb = 0;

		prepare(1230, 200, 40);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 3 * MS);
		fill(10000, FRAMES);
		for (i = 0; i < changes; i++) {
			ppb += run % 3 ? 100000 : (s32)kpn_random_below(&seed, 200000) - 100000;
			kpn_pacer_adjfine(nic.pacer, (s64)ppb * 65536 / 1000);
			exact_nic_run(&nic, kpn_random_below(&seed, 500000) / changes);
		}
		exact_nic_run(&nic, 3 * MS);
		on_time += expect_own_slots(
			t, (int)run, kpn_pacer_bounds(nic.pacer, changes * 100000, 100000), 10000);
		stale += nic.outcomes[KPN_VERDICT_SENT_STALE];
	}
	KPN_EXPECT(t, on_time > 0);
	KPN_EXPECT(t, stale > 0);
}

/* What is promised of short slots and great changes is more than a slot: then it is another. */
static void test_a_promise_of_more_than_half_a_slot(struct kpn_selftest *t)
{
	u32 ahead;

	for (ahead = 20; ahead <= 100; ahead += 10) {
		struct kpn_bounds bounds;
		s32 ppb;

		prepare(80, 220, ahead);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 3 * MS);
		ppb = (s32)kpn_pacer_rate_ppb_max(nic.pacer) - 1;
		bounds = kpn_pacer_bounds(nic.pacer, (u32)ppb, (u32)ppb);
		fill(800, FRAMES);
		kpn_pacer_adjfine(nic.pacer, (s64)ppb * 65536 / 1000);
		exact_nic_run(&nic, 3 * MS);
		expect_own_slots(t, (int)ahead, bounds, 800);
	}
}

static const u16 split[] = { 1, 2, 1, 2, 1, 2, 1, 2 };
static const u16 swapped[] = { 2, 1, 2, 1, 2, 1, 2, 1 };

/*
 * The classes swap their slots from the next on. Frames that cannot be taken back any more, or are
 * not looked at before they leave, are in slots of another class.
 */
static void test_slots_that_are_given_to_another_class(struct kpn_selftest *t)
{
	static u64 memory[128];
	struct kpn_partition next;
	u32 stale = 0;
	u32 how;
	u32 i;

	KPN_EXPECT(t, kpn_partition_bytes(8) <= sizeof(memory));
	kpn_partition_init(&next, memory, swapped, 8);
	for (how = 0; how < 9; how++) {
		u64 from;

		prepare(1230, 200, 4);
		nic.config.allowed = split;
		nic.config.partition_slots = 8;
		nic.config.budget_frames = 8;
		for (i = 0; how % 3 == 2 && i < KPN_CLASS_COUNT; i++)
			nic.config.classes[i].late = KPN_LATE_RESCHEDULE;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 3 * MS);
		fill(10000, FRAMES);
		/* one reading that is not to be believed, or a poll that comes late */
		if (how % 3 == 0) {
			nic.index_lie = 250;
			exact_nic_poll(&nic, 20000);
			nic.index_lie = 0;
		}
		KPN_EXPECT_EQ(t, kpn_pacer_set_partition(nic.pacer, &next, 0), 0);
		from = nic.pacer->frames.switch_seq + state().base;
		exact_nic_go(&nic, how / 3 * 200000);
		exact_nic_run(&nic, 4 * MS);
		for (i = 0; i < FRAMES; i++) {
			u64 slot = (u64)(frames[i].start.ns - SFD_NS + 5000) / 10000;
			bool sent = frames[i].verdict == KPN_VERDICT_ON_TIME ||
				    frames[i].verdict == KPN_VERDICT_MOVED;

			stale += frames[i].verdict == KPN_VERDICT_SENT_STALE;
			KPN_EXPECT_AT(t, (int)how, !sent || slot < from || swapped[slot % 8] & 1);
		}
	}
	KPN_EXPECT(t, stale > 0);
}

/*
 * Slots that may be trimmed are as near to each other in the new table as in the old one, but not
 * where one follows the other. Refused if that is where it is asked for; if it comes later,
 * reported.
 */
static void test_a_switch_between_trims(struct kpn_selftest *t)
{
	static u16 before[20] = { 1, 0 };
	static u16 after[20];
	static u64 memory[256];
	struct kpn_partition next;
	u32 refused = 0;
	u32 at;
	u32 i;

	KPN_EXPECT(t, kpn_partition_bytes(20) <= sizeof(memory));
	for (i = 0; i < 20; i++) {
		before[i] = i != 1;
		after[i] = i != 19;
	}
	kpn_partition_init(&next, memory, after, 20);
	for (at = 0; at < 40; at++) {
		bool late = at >= 20;
		u64 slot;
		s32 ppb;
		int error;

		prepare(1230, 100, 4);
		nic.config.trim = KPN_TRIM_RESERVED;
		nic.config.allowed = before;
		nic.config.partition_slots = 20;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		ppb = (s32)kpn_pacer_rate_ppb_max(nic.pacer) - 1;
		kpn_pacer_adjfine(nic.pacer, (s64)ppb * 65536 / 1000);
		exact_nic_run(&nic, 10 * MS + at * 10000);
		slot = state().base + kpn_pacer_window(nic.pacer, nic.now_ns).first_seq + 30;
		slot += at % 20 + 20 - slot % 20;
		error = kpn_pacer_set_partition(nic.pacer, &next, late ? 0 : slot);
		/* from slot 1 on to slot 19 */
		KPN_EXPECT_EQ_AT(t, (int)at, error,
				 !late && at > 1 && at < 20 && 18 + (at - 1) % 20 > 36 ?
					 -KPN_ERANGE :
					 error);
		refused += error == -KPN_ERANGE;
		for (i = 0; i < 3; i++) {
			fill(10000, FRAMES);
			exact_nic_run(&nic, 2 * MS);
			expect_own_slots(t, (int)at, kpn_pacer_bounds(nic.pacer, (u32)ppb, 0),
					 10000);
		}
	}
	KPN_EXPECT(t, refused > 0);
}

/*
 * Lengths were stored too late: nobody knows by how much the frames behind them are off their
 * times.
 */
static void test_frames_behind_doubtful_lengths(struct kpn_selftest *t)
{
	u32 stale = 0;
	u32 late_us;

	for (late_us = 10; late_us <= 200; late_us += 10) {
		s64 ahead_ns;
		u32 i;

		prepare(1230, 100, 4);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 3 * MS);
		/* the wire is as fast as the CPU counter: so much is the clock ahead of that */
		ahead_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns - (s64)nic.now_ns + 3000;
		fill(10000, FRAMES);
		nic.late_store_ns = late_us * 1000;
		kpn_pacer_adjtime(nic.pacer, 3000);
		nic.late_store_ns = 0;
		exact_nic_run(&nic, 4 * MS);
		for (i = 0; i < nic.log_count; i++) {
			const struct kpn_frame *frame = &frames[nic.log[i].tag - 1];
			s64 off_ns = (s64)(nic.log[i].start_ps / 1000) + ahead_ns + SFD_NS -
				     frame->txtime_ns;

			stale += frame->verdict == KPN_VERDICT_SENT_STALE;
			KPN_EXPECT_AT(t, (int)late_us,
				      frame->verdict != KPN_VERDICT_ON_TIME ||
					      (off_ns < 1000 && off_ns > -1000));
		}
	}
	KPN_EXPECT(t, stale > 0);
}

/* Slots that are posted get other lengths while nobody polls: the clock reads up to the new end. */
static void test_a_tail_that_moves_under_a_reading(struct kpn_selftest *t)
{
	s64 step_ns;
	u32 late_ns;

	for (step_ns = -2000; step_ns <= 2000; step_ns += 500) {
		for (late_ns = 30000; late_ns < 60000; late_ns += 500) {
			s64 last_ns;

			prepare(493, 14, 2);
			nic.caps.index_to_wire_ns_min = -3337;
			nic.caps.index_to_wire_ns_max = -951;
			nic.caps.restart_ns_min = 1044;
			nic.caps.restart_ns_max = 8909;
			nic.lag_ns = 960 + late_ns % 7 * 300;
			KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
			exact_nic_run(&nic, 3 * MS);
			nic.events[KPN_EVENT_UNDERRUN] = 0;
			last_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns + step_ns;
			kpn_pacer_adjtime(nic.pacer, step_ns);
			if (late_ns % 1000 == 0)
				KPN_EXPECT_AT(t, (int)step_ns,
					      kpn_pacer_gettime(nic.pacer, nic.now_ns).ns + 1 >=
						      last_ns);
			exact_nic_go(&nic, late_ns);
			last_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
			exact_nic_poll(&nic, 0);
			KPN_EXPECT_AT(t, (int)step_ns,
				      nic.events[KPN_EVENT_UNDERRUN] ||
					      kpn_pacer_gettime(nic.pacer, nic.now_ns).ns >=
						      last_ns);
		}
	}
}

/*
 * The wire was at something else for a while, and said so before and after. An index that shows
 * late is of the time before, just after that.
 */
static void test_a_delay_behind_an_index_that_shows_late(struct kpn_selftest *t)
{
	u32 run;

	for (run = 0; run < 200; run++) {
		struct kpn_interval wire;

		prepare(1230, 100, 0);
		nic.caps.index_to_wire_ns_min = -600;
		nic.caps.index_to_wire_ns_max = -600;
		nic.lag_ns = 600;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 3 * MS);
		exact_nic_go(&nic, run * 50);
		kpn_pacer_delay(nic.pacer, 5000000);
		nic.head_start_ps += 5000000;
		exact_nic_go(&nic, 5000);
		kpn_pacer_delay(nic.pacer, 0);
		exact_nic_poll(&nic, 100);
		wire = kpn_pacer_head(nic.pacer, nic.now_ns).wire;
		KPN_EXPECT_AT(t, (int)run,
			      (s64)(exact_nic_position(&nic) - wire.lower_ps) >= 0 &&
				      (s64)(wire.upper_ps - exact_nic_position(&nic)) >= 0);
	}
}

/* The reported clock error is time of the clock, which may run faster than the wire. */
static void test_an_error_by_the_clock_reported(struct kpn_selftest *t)
{
	u32 i;

	prepare(1230, 40, 4);
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 3 * MS);
	kpn_pacer_adjfine(nic.pacer, kpn_pacer_scaled_ppm_max(nic.pacer));
	for (i = 1; i < 100; i++) {
		struct kpn_head head;
		s64 now_ns;
		s64 error_ns;

		/* a long time without a reading: the strip is wide */
		exact_nic_poll(&nic, 3000 * i);
		kpn_pacer_delay(nic.pacer, 100000000);
		head = kpn_pacer_head(nic.pacer, nic.now_ns);
		now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
		error_ns = (s64)(kpn_pacer_state(nic.pacer, nic.now_ns).clock_error_ps / 1000);
		KPN_EXPECT_AT(t, (int)i,
			      kpn_clock_at(kpn_pacer_clock(nic.pacer), head.wire.upper_ps).ns -
					      now_ns <=
				      error_ns + 1);
		KPN_EXPECT_AT(
			t, (int)i,
			now_ns - kpn_clock_at(kpn_pacer_clock(nic.pacer), head.wire.lower_ps).ns <=
				error_ns + 1);
	}
}

/* A wire reported to stand for long is not dead, and one that stands for longer is. */
static void test_a_long_delay_that_is_reported(struct kpn_selftest *t)
{
	u32 dead;

	for (dead = 0; dead < 2; dead++) {
		u64 stall_ns;

		prepare(1230, 40, 4);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 3 * MS);
		stall_ns = kpn_pacer_limits(nic.pacer).stall_ns;
		/* right after a reading, so that the next one is the first that does not move */
		exact_nic_poll(&nic, 0);
		nic.frozen_index = (u32)nic.pacer->ring.index_seq;
		nic.frozen = true;
		kpn_pacer_delay(nic.pacer, 5 * stall_ns * 1000);
		exact_nic_run(&nic, (dead ? 7 : 4) * stall_ns);
		KPN_EXPECT_EQ_AT(t, (int)dead, nic.events[KPN_EVENT_STALLED], dead);
	}
}

void kpn_test_reported(struct kpn_selftest *t)
{
	test_a_long_delay_that_is_reported(t);
	test_an_error_by_the_clock_reported(t);
	test_rates_that_follow_each_other(t);
	test_a_promise_of_more_than_half_a_slot(t);
	test_slots_that_are_given_to_another_class(t);
	test_a_switch_between_trims(t);
	test_frames_behind_doubtful_lengths(t);
	test_a_tail_that_moves_under_a_reading(t);
	test_a_delay_behind_an_index_that_shows_late(t);
}
