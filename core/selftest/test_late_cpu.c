/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * late_cpu: the CPU is slow, or is held up at the worst of places. Reports on frames and clock
 * match the wire all the same, and nothing waits for ever.
 */
#include "../src/kpn_pacer_state.h"
#include "exact_nic.h"

#define SLOT_NS 10000ll
#define START_NS 2000000000ll
#define MS 1000000ull

enum { RUNS = 400, FRAMES = 24 };

static struct exact_nic nic;
static struct kpn_frame frames[FRAMES];

static struct kpn_state state(void)
{
	return kpn_pacer_state(nic.pacer, nic.now_ns);
}

static void start(struct kpn_selftest *t)
{
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	kpn_pacer_adjtime(nic.pacer, 0);
	exact_nic_run(&nic, 3 * MS);
}

/* Whether the slot on the wire is one of those that the pacer takes for possible. */
static bool slot_is_within(void)
{
	struct kpn_head head = kpn_pacer_head(nic.pacer, nic.now_ns);

	return nic.head_seq <= head.upper_seq &&
	       nic.head_seq >= kpn_ring_seq_at(&nic.pacer->ring, head.wire.lower_ps).seq;
}

/*
 * Lengths were stored too late, in slots that leave much later, and the clock is set before they
 * do. Nothing is given away that the NIC may have fetched, and the clock is not synchronised across
 * the moment at which they leave.
 */
static void test_what_is_doubted_leaves_later(struct kpn_selftest *t)
{
	u32 reported = 0;
	u64 seed = 7;
	u32 run;
	u32 i;

	for (run = 0; run < RUNS; run++) {
		u64 error_ps;
		s64 set_ns;
		s64 off_ns;

		exact_nic_prepare(&nic);
		nic.caps.prefetch_slots_max = 1 + run % 31;
		nic.config.depth_slots = 48;
		nic.config.batch_slots = 1;
		nic.config.trim_down_bytes = 250;
		nic.config.trim_up_bytes = 250;
		if (run % 2) {
			/* nothing contradicts what is off by less than this */
			nic.caps.index_to_wire_ns_min = -9000;
			nic.lag_ns = kpn_random_below(&seed, 9000);
		}
		start(t);
		exact_nic_run(&nic, kpn_random_below(&seed, 20000));
		nic.late_store_ns = kpn_random_below(&seed, 60000);
		kpn_pacer_adjtime(nic.pacer, (s64)kpn_random_below(&seed, 9000) - 4500);
		nic.late_store_ns = 0;
		set_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns - (s64)nic.now_ns;
		error_ps = state().clock_error_ps;
		exact_nic_collect(&nic);
		reported += nic.events[KPN_EVENT_DOUBT];
		for (i = 0; i < 80; i++) {
			exact_nic_poll(&nic, 1000 + kpn_random_below(&seed, 2000));
			off_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns - (s64)nic.now_ns;
			if (i < 1 + run % 7) {
				kpn_pacer_adjtime(nic.pacer, 0);
				set_ns = off_ns;
				error_ps = state().clock_error_ps;
			}
			off_ns -= set_ns;
			if (state().synchronised &&
			    !KPN_EXPECT_AT(t, (int)run,
					   (u64)(off_ns < 0 ? -off_ns : off_ns) * 1000 <=
						   error_ps + state().clock_error_ps + 4000))
				return;
			if (state().synchronised && kpn_pacer_head(nic.pacer, nic.now_ns).valid &&
			    !KPN_EXPECT_AT(t, (int)run, slot_is_within()))
				return;
			exact_nic_go(&nic, kpn_random_below(&seed, 1000));
			if (kpn_pacer_window(nic.pacer, nic.now_ns).valid &&
			    !KPN_EXPECT_AT(t, (int)run,
					   kpn_pacer_window(nic.pacer, nic.now_ns).first_seq >=
						   nic.fetch_seq))
				return;
		}
		/* in the end the clock can be set, and is believed */
		exact_nic_run(&nic, MS);
		kpn_pacer_adjtime(nic.pacer, 0);
		exact_nic_run(&nic, MS);
		KPN_EXPECT_AT(t, (int)run,
			      state().synchronised &&
				      kpn_pacer_window(nic.pacer, nic.now_ns).valid);
		KPN_EXPECT_AT(t, (int)run, run % 2 || state().clock_error_ps < 1000000);
	}
	KPN_EXPECT(t, reported > RUNS / 4);
}

/*
 * The wire stood while a doorbell was late, and nobody read the clock meanwhile: what is read then
 * is ahead of where the wire can be by half of what it stood, as nobody knows whether it did.
 * Whoever sets the clock has the error that it states, and no more.
 */
static void test_a_clock_that_is_set_after_a_late_doorbell(struct kpn_selftest *t)
{
	u32 late_us;
	u32 i;

	for (late_us = 100; late_us <= 4000; late_us += 100) {
		s64 set_ns;
		struct kpn_interval wire;
		u64 position_ps;
		u64 before_ns;
		u64 stood_ps;
		u64 since_ns;
		u64 error_ps;

		exact_nic_prepare(&nic);
		nic.config.ring_slots = 256;
		nic.config.depth_slots = 240;
		nic.config.batch_slots = 60;
		nic.config.budget_frames = 256;
		start(t);
		before_ns = nic.now_ns;
		position_ps = exact_nic_position(&nic);
		nic.bell_ns = late_us * 1000;
		while (nic.bell_ns)
			exact_nic_poll(&nic, 20000);
		exact_nic_poll(&nic, 20000);
		kpn_pacer_adjtime(nic.pacer, 0);
		wire = kpn_pacer_head(nic.pacer, nic.now_ns).wire;
		stood_ps =
			(nic.now_ns - before_ns) * 1000 - (exact_nic_position(&nic) - position_ps);
		KPN_EXPECT_AT(t, (int)late_us,
			      state().clock_error_ps <=
				      wire.upper_ps - wire.lower_ps + stood_ps / 2);
		since_ns = nic.now_ns;
		set_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
		error_ps = state().clock_error_ps;
		for (i = 0; i < 100; i++) {
			s64 off_ns;

			exact_nic_poll(&nic, 20000);
			off_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns - set_ns -
				 (s64)(nic.now_ns - since_ns);
			if (!KPN_EXPECT_AT(t, (int)late_us,
					   (u64)(off_ns < 0 ? -off_ns : off_ns) * 1000 <=
						   error_ps + state().clock_error_ps + 4000))
				return;
		}
	}
}

/* Copying a frame takes longer than a slot: some slot is always far enough ahead. */
static void test_a_slow_cpu_starves_nobody(struct kpn_selftest *t)
{
	u32 copy_ns;
	u32 kind;
	u8 i;

	for (kind = 0; kind < 2; kind++) {
		for (copy_ns = 1000; copy_ns <= 40000; copy_ns += 3000) {
			exact_nic_prepare(&nic);
			nic.config.depth_slots = 48;
			nic.config.budget_frames = 32;
			nic.config.prebuffer_frames = FRAMES;
			nic.config.classes[0].late = KPN_LATE_RESCHEDULE;
			start(t);
			nic.copy_ns = copy_ns;
			for (i = 0; i < FRAMES; i++) {
				s64 now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;

				frames[i] = exact_frame((u8)(i + 1), 200, 0, kind ? now_ns : -1);
				kpn_pacer_submit(nic.pacer, &frames[i]);
			}
			exact_nic_run(&nic, 20 * MS);
			KPN_EXPECT_EQ_AT(t, (int)copy_ns, state().pending, 0);
			KPN_EXPECT_EQ_AT(
				t, (int)copy_ns,
				nic.outcomes[kind ? KPN_VERDICT_MOVED : KPN_VERDICT_BEST_EFFORT],
				FRAMES);
		}
	}
}

/* The CPU was held up once while it copied a frame: those that come long after do not pay. */
static void test_held_up_once_is_not_slow_for_ever(struct kpn_selftest *t)
{
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 240;
	nic.config.batch_slots = 4;
	start(t);
	for (i = 0; i < 200; i++) {
		s64 now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;

		frames[0] = exact_frame(1, 200, 0, -1);
		nic.copy_ns = i ? 0 : 400000;
		kpn_pacer_submit(nic.pacer, &frames[0]);
		nic.copy_ns = 0;
		while (state().pending)
			exact_nic_poll(&nic, 20000);
		KPN_EXPECT_AT(t, (int)i, i < 100 || frames[0].start.ns - now_ns < 10 * SLOT_NS);
	}
}

/* Nobody looked for longer than the index may stand still, and then it is not to be believed. */
static void test_one_refused_reading_after_a_long_pause(struct kpn_selftest *t)
{
	u64 stall_ns;

	exact_nic_prepare(&nic);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 240;
	start(t);
	stall_ns = kpn_pacer_limits(nic.pacer).stall_ns;
	KPN_EXPECT(t, stall_ns < 239 * SLOT_NS);
	exact_nic_go(&nic, stall_ns + 1000);
	nic.index_lie = 250;
	exact_nic_poll(&nic, 1000);
	nic.index_lie = 0;
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STALLED], 0);
	KPN_EXPECT(t, nic.events[KPN_EVENT_SLIP] > 0);
	/* one that is never to be believed is dead all the same */
	nic.index_lie = 250;
	exact_nic_run(&nic, stall_ns + MS);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STALLED], 1);
}

/*
 * The wire may stand, and no doorbell has rung since: a clock that is set meanwhile is not right
 * when the wire starts.
 */
static void test_a_clock_that_is_set_while_the_wire_may_stand(struct kpn_selftest *t)
{
	u32 doorbells;
	u32 i;

	exact_nic_paper(&nic, 32, 3);
	nic.caps.restart_ns_min = 20000;
	nic.caps.restart_ns_max = 30000;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	for (i = 0; i < 60; i++)
		exact_nic_poll(&nic, 25000);
	for (i = 0; i < 4000; i++) {
		doorbells = nic.doorbells;
		nic.events[KPN_EVENT_SUSPECTED_UNDERRUN] = 0;
		exact_nic_poll(&nic, 2000);
		if (nic.events[KPN_EVENT_SUSPECTED_UNDERRUN] && nic.doorbells == doorbells)
			break;
	}
	KPN_EXPECT(t, i < 4000 && !state().synchronised);
	kpn_pacer_adjtime(nic.pacer, 0);
	nic.bell_ns = 1000000;
	while (nic.bell_ns)
		exact_nic_poll(&nic, 2000);
	KPN_EXPECT(t, !state().synchronised);
}

/* An index that stands still agrees with anything for a slot: the wire may go on all the same. */
static void test_nothing_is_inserted_by_a_frozen_index(struct kpn_selftest *t)
{
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 240;
	nic.config.batch_slots = 60;
	nic.config.budget_frames = 256;
	start(t);
	nic.frozen_index = (u32)nic.head_seq;
	nic.frozen = true;
	while (!nic.events[KPN_EVENT_SLIP])
		exact_nic_poll(&nic, 1000);
	for (i = 0; i < 60; i++) {
		exact_nic_poll(&nic, 200);
		KPN_EXPECT_AT(t, (int)i, !kpn_pacer_window(nic.pacer, nic.now_ns).valid);
	}
	nic.frozen = false;
	exact_nic_run(&nic, 20 * MS);
	KPN_EXPECT(t, kpn_pacer_window(nic.pacer, nic.now_ns).valid);
}

/* Frames reported as moved left on the grid; a step takes the ground from under some. */
static void test_moved_frames_are_on_the_grid(struct kpn_selftest *t)
{
	u32 stale = 0;
	u32 by_ns;
	u8 i;

	for (by_ns = 500; by_ns < 10000; by_ns += 500) {
		exact_nic_prepare(&nic);
		nic.config.depth_slots = 48;
		nic.config.prebuffer_frames = FRAMES;
		nic.config.classes[0].late = KPN_LATE_RESCHEDULE;
		start(t);
		for (i = 0; i < FRAMES; i++) {
			s64 now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;

			frames[i] = exact_frame((u8)(i + 1), 200, 0, now_ns);
			kpn_pacer_submit(nic.pacer, &frames[i]);
		}
		kpn_pacer_adjtime(nic.pacer, (s64)by_ns);
		exact_nic_run(&nic, 3 * MS);
		for (i = 0; i < FRAMES; i++) {
			s64 off_ns = (frames[i].start.ns - 64) % SLOT_NS;

			stale += frames[i].verdict == KPN_VERDICT_SENT_STALE;
			KPN_EXPECT_AT(t, (int)by_ns,
				      frames[i].verdict != KPN_VERDICT_MOVED || off_ns < 10 ||
					      off_ns > SLOT_NS - 10);
		}
	}
	KPN_EXPECT(t, stale > 0);
}

void kpn_test_late_cpu(struct kpn_selftest *t)
{
	test_what_is_doubted_leaves_later(t);
	test_a_clock_that_is_set_after_a_late_doorbell(t);
	test_a_slow_cpu_starves_nobody(t);
	test_held_up_once_is_not_slow_for_ever(t);
	test_one_refused_reading_after_a_long_pause(t);
	test_a_clock_that_is_set_while_the_wire_may_stand(t);
	test_nothing_is_inserted_by_a_frozen_index(t);
	test_moved_frames_are_on_the_grid(t);
}
