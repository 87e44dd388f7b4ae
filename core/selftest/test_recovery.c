/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * recovery: underruns, suspected ones, a wire outside what was stated, an index that says nonsense,
 * and steps of the clock.
 */
#include "watched_nic.h"

#include "keepon/errno.h"
#include "keepon/wire.h"

/*
 * A stall until everything was sent: the count goes on from the tail, the clock from the CPU
 * counter.
 */
static void test_underrun_keeps_the_count_and_nearly_the_time(struct kpn_selftest *t)
{
	static const u64 stalls_ns[] = { 200000, 1000000, 50000000 };
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(stalls_ns); i++) {
		struct kpn_frame lost = exact_frame(1, 200, 0, START_NS);
		struct kpn_state before;
		s64 offset_ns;
		s64 limit_ns;

		exact_nic_prepare(&nic);
		nic.ppb = 50000;
		nic.caps.desc_persistent = false;
		exact_nic_start(&nic, START_NS);
		kpn_pacer_adjtime(nic.pacer, 0);
		exact_nic_run(&nic, 50 * MS);
		before = state();
		KPN_EXPECT_EQ(t, before.synchronised, true);
		offset_ns = clock_offset_ns();
		exact_nic_go(&nic, stalls_ns[i]);
		KPN_EXPECT(t, nic.idle);
		/* what preparing the restart takes makes the wire late, and not the clock wrong */
		nic.rearm_ns = 30 * SLOT_NS;
		exact_nic_poll(&nic, 0);
		nic.rearm_ns = 0;
		KPN_EXPECT_EQ(t, stats()->underruns, 1);
		KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_UNDERRUN], 1);
		KPN_EXPECT_EQ(t, state().synchronised, false);
		KPN_EXPECT_EQ(t, state().head_seq, before.tail_seq);
		KPN_EXPECT_EQ(t, state().tail_seq, before.tail_seq + nic.config.depth_slots);
		KPN_EXPECT_EQ(t, nic.idle_starts, 2);
		/*
		 * strip width + restart latency + rate uncertainty (here 20 ppm) x stall + the
		 * drift of the wire since
		 */
		limit_ns = (s64)(2 * before.clock_error_ps / 1000) + nic.caps.restart_ns_max +
			   (s64)(stalls_ns[i] / 50000) + 2;
		KPN_EXPECT(t, magnitude(clock_offset_ns() - offset_ns -
					(s64)(stalls_ns[i] / 20000)) <= limit_ns);
		KPN_EXPECT(t, run_watching(5 * MS));
		KPN_EXPECT(t, state().head_valid);
		/* frames are inserted again as before */
		lost.txtime_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns + 30 * SLOT_NS;
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &lost), KPN_VERDICT_PENDING);
		exact_nic_run(&nic, 2 * MS);
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 1);
		KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
	}
}

/*
 * A fetch index at the tail says nothing, and each suspicion lowers the bound by a restart. Where
 * polls follow each other faster than that the wire stayed idle for ever, without a word.
 */
static void test_idle_wire_starts_again_though_restarts_are_long(struct kpn_selftest *t)
{
	u64 late_ns;

	for (late_ns = 300000; late_ns < 700000; late_ns += 7000) {
		u64 stopped_seq;

		exact_nic_prepare(&nic);
		nic.caps.index_counts_done = false;
		nic.caps.restart_ns_min = 60000;
		nic.caps.restart_ns_max = 90000;
		nic.caps.index_to_wire_ns_max = 90000 + 2 * 12500;
		nic.config.depth_slots = 40;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		nic.poll_ns = 20000;
		exact_nic_run(&nic, 2 * MS);
		exact_nic_go(&nic, late_ns);
		exact_nic_run(&nic, MS);
		stopped_seq = nic.head_seq;
		exact_nic_run(&nic, MS);
		KPN_EXPECT_EQ_AT(t, (int)late_ns, nic.head_seq > stopped_seq + 90, true);
		KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
	}
}

/*
 * More frames wait behind an underrun than one call may take back: it rings once all the same, and
 * sends the rest later.
 */
static void test_underrun_with_a_full_ring_rings_once(struct kpn_selftest *t)
{
	static struct kpn_frame frames[40];
	s64 now_ns;
	u32 doorbells;
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.budget_frames = 8;
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, 5 * MS);
	now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
	for (i = 0; i < KPN_COUNT_OF(frames); i++) {
		frames[i] = exact_frame((u8)(i + 1), 200, 0, now_ns + (20 + (s64)i) * SLOT_NS);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]), KPN_VERDICT_PENDING);
	}
	exact_nic_go(&nic, 18 * SLOT_NS);
	KPN_EXPECT(t, nic.idle);
	doorbells = nic.doorbells;
	exact_nic_poll(&nic, 0);
	KPN_EXPECT_EQ(t, stats()->underruns, 1);
	KPN_EXPECT_EQ(t, nic.doorbells, doorbells + 1);
	KPN_EXPECT(t, !nic.idle);
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, stats()->underruns, 1);
	KPN_EXPECT_EQ(t, state().pending, 0);
	KPN_EXPECT_EQ(t, stats()->submitted, kpn_stats_ended(stats()));
	KPN_EXPECT_EQ(t, nic.log_count + nic.outcomes[KPN_VERDICT_STEPPED], KPN_COUNT_OF(frames));
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
}

/*
 * The wire has run dry with more frames on it than one poll may end: all have left at their times,
 * and are reported with the clock they left by, not by the one that is set when the wire starts
 * again.
 */
static void test_an_underrun_changes_nothing_of_what_left_before(struct kpn_selftest *t)
{
	static struct kpn_frame before[40];
	struct kpn_window window;
	u32 counts_done;
	u32 placed;
	u64 slot;
	u32 i;

	for (counts_done = 0; counts_done < 2; counts_done++) {
		exact_nic_prepare(&nic);
		nic.caps.index_counts_done = counts_done;
		if (!counts_done)
			nic.caps.index_to_wire_ns_max =
				(s32)nic.caps.restart_ns_max + 2 * (s32)SLOT_NS;
		nic.config.depth_slots = 60;
		nic.config.budget_frames = 8;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 2 * MS);
		window = kpn_pacer_window(nic.pacer, nic.now_ns);
		slot = window.first_seq + state().base;
		/* one after the tail would leave after the pause */
		for (i = 0, placed = 0; i < 40 && window.first_seq + i < state().tail_seq; i++) {
			before[placed] = exact_frame((u8)(placed + 1), 200, 0,
						     (s64)(slot + i) * SLOT_NS + 64);
			placed +=
				kpn_pacer_submit(nic.pacer, &before[placed]) == KPN_VERDICT_PENDING;
		}
		exact_nic_go(&nic, MS);
		KPN_EXPECT(t, run_watching(2 * MS));
		KPN_EXPECT_EQ(t, stats()->underruns, 1);
		KPN_EXPECT(t, placed > 2 * nic.config.budget_frames);
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], placed);
		for (i = 0; i < placed; i++)
			KPN_EXPECT_EQ(t, before[i].start.ns, before[i].txtime_ns);
	}
}

/* Less left than a restart takes: it may have been idle, so nobody says it was not. */
static void test_suspected_underrun(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	exact_nic_start(&nic, START_NS);
	kpn_pacer_adjtime(nic.pacer, 0);
	exact_nic_run(&nic, 10 * MS);
	KPN_EXPECT_EQ(t, state().synchronised, true);
	/* up to the last slot but a microsecond, not to its end */
	while (nic.head_seq + 1 < nic.tail_seq)
		exact_nic_go(&nic, 100);
	exact_nic_go(&nic, 8800);
	KPN_EXPECT(t, !nic.idle);
	exact_nic_poll(&nic, 0);
	KPN_EXPECT_EQ(t, stats()->suspected_underruns, 1);
	KPN_EXPECT_EQ(t, stats()->underruns, 0);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_SUSPECTED_UNDERRUN], 1);
	KPN_EXPECT_EQ(t, state().synchronised, false);
	KPN_EXPECT(t, run_watching(5 * MS));
	kpn_pacer_adjtime(nic.pacer, 0);
	KPN_EXPECT_EQ(t, state().synchronised, true);
}

/*
 * The backend reports a frame of others on the wire, and its end. The wire stays within the bounds,
 * no slip is seen, and the clock is unsynchronised. A pacer without that report sees a slip, or a
 * wrong position of the wire.
 */
static void test_a_delay_that_is_reported(struct kpn_selftest *t)
{
	u64 delay_ns;

	for (delay_ns = 700; delay_ns < 40 * SLOT_NS; delay_ns *= 3) {
		exact_nic_prepare(&nic);
		exact_nic_start(&nic, START_NS);
		kpn_pacer_adjtime(nic.pacer, 0);
		exact_nic_run(&nic, 10 * MS);
		KPN_EXPECT_EQ(t, state().synchronised, true);
		kpn_pacer_delay(nic.pacer, delay_ns * 1000);
		KPN_EXPECT_EQ(t, state().synchronised, false);
		/* it stands in the slot where it is */
		nic.head_start_ps += delay_ns * 1000;
		exact_nic_go(&nic, delay_ns);
		kpn_pacer_delay(nic.pacer, delay_ns * 1000);
		KPN_EXPECT(t, head_contains_wire());
		KPN_EXPECT_EQ(t, stats()->suspected_underruns, 2);
		exact_nic_poll(&nic, 0);
		KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_SUSPECTED_UNDERRUN], 1);
		KPN_EXPECT(t, run_watching(5 * MS));
		KPN_EXPECT_EQ(t, stats()->slips, 0);
	}
	kpn_pacer_stop(nic.pacer);
	kpn_pacer_delay(nic.pacer, MS * 1000);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_SUSPECTED_UNDERRUN], 1);
}

/*
 * A wire faster than stated: an empty strip, unsynchronised, no insertion until readings agree
 * again.
 */
static void test_drift_beyond_the_stated_bound_ends_unsynchronised(struct kpn_selftest *t)
{
	struct kpn_frame frame;
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.prebuffer_frames = 0;
	exact_nic_start(&nic, START_NS);
	kpn_pacer_adjtime(nic.pacer, 0);
	exact_nic_run(&nic, 20 * MS);
	KPN_EXPECT_EQ(t, state().synchronised, true);
	nic.ppb = -900000; /* stated: 200 ppm */
	for (i = 0; i < 2000 && !stats()->slips; i++)
		exact_nic_poll(&nic, 40000);
	KPN_EXPECT_EQ(t, stats()->slips, 1);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_SLIP], 1);
	KPN_EXPECT_EQ(t, state().synchronised, false);
	KPN_EXPECT_EQ(t, state().head_valid, false);
	frame = exact_frame(1, 200, 0, kpn_pacer_gettime(nic.pacer, nic.now_ns).ns + 30 * SLOT_NS);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_UNSYNCHRONISED);
	/*
	 * back within the bound it is believed again after some agreeing readings, but synchronised
	 * only by a setter
	 */
	nic.ppb = 0;
	exact_nic_run(&nic, 20 * MS);
	KPN_EXPECT_EQ(t, state().head_valid, true);
	KPN_EXPECT_EQ(t, state().synchronised, false);
	KPN_EXPECT(t, run_watching(5 * MS));
}

/* An index outside what was posted is counted, and nothing else happens. */
static void test_impossible_index_changes_nothing(struct kpn_selftest *t)
{
	struct kpn_stats before;
	struct kpn_state before_state;
	struct kpn_state after;
	u32 doorbells;

	exact_nic_prepare(&nic);
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, MS);
	before = *stats();
	before_state = state();
	doorbells = nic.doorbells;
	nic.index_lie = 17; /* beyond depth 16 */
	kpn_pacer_poll(nic.pacer);
	nic.index_lie = (u32)-1 - 16; /* before the head */
	kpn_pacer_poll(nic.pacer);
	nic.index_lie = 0;
	KPN_EXPECT_EQ(t, stats()->index_errors, 2);
	before.index_errors += 2;
	before.polls += 2;
	KPN_EXPECT(t, memcmp(&before, stats(), sizeof(before)) == 0);
	after = state();
	KPN_EXPECT_EQ(t, after.head_seq, before_state.head_seq);
	KPN_EXPECT_EQ(t, after.tail_seq, before_state.tail_seq);
	KPN_EXPECT_EQ(t, nic.doorbells, doorbells);
	KPN_EXPECT(t, run_watching(MS));
	KPN_EXPECT_EQ(t, stats()->index_errors, 2);
}

/*
 * A step moves what can be moved to the slots of its txtime; the rest leaves stale and is counted
 * so.
 */
static void test_step_recalls_what_it_can(struct kpn_selftest *t)
{
	struct kpn_frame near;
	struct kpn_frame far;
	s64 now_ns;

	exact_nic_prepare(&nic);
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, 2 * MS);
	now_ns = (s64)kpn_div_u64((u64)kpn_pacer_gettime(nic.pacer, nic.now_ns).ns, 10000) * 10000 +
		 64;
	near = exact_frame(1, 200, 0, now_ns + 4 * SLOT_NS);
	far = exact_frame(2, 200, 0, now_ns + 40 * SLOT_NS);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &near), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &far), KPN_VERDICT_PENDING);
	exact_nic_go(&nic, 3 * SLOT_NS); /* the near one is within the horizon now */
	KPN_EXPECT_EQ(t, kpn_pacer_adjtime(nic.pacer, 10 * SLOT_NS), 0);
	KPN_EXPECT_EQ(t, stats()->recalled, 1);
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_SENT_STALE], 1);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 1);
	KPN_EXPECT_EQ(t, nic.log_count, 2);
	/* 36 slots apart before, ten fewer after the step */
	KPN_EXPECT_EQ(t, nic.log[1].seq - nic.log[0].seq, 26);
	KPN_EXPECT(t, magnitude(nic.last_start.ns - far.txtime_ns) <= 4);
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
	/* a step past its instant leaves no slot for it */
	now_ns = (s64)kpn_div_u64((u64)kpn_pacer_gettime(nic.pacer, nic.now_ns).ns, 10000) * 10000 +
		 64;
	far.txtime_ns = now_ns + 40 * SLOT_NS;
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &far), KPN_VERDICT_PENDING);
	kpn_pacer_adjtime(nic.pacer, 100 * SLOT_NS);
	exact_nic_collect(&nic);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_STEPPED], 1);
	KPN_EXPECT_EQ(t, state().pending, 0);
}

/* Off the grid no frame is placed until the slots are back; from lock_seq on they are. */
static void test_unlocked_slots_take_no_scheduled_frame(struct kpn_selftest *t)
{
	struct kpn_frame frame;
	s64 now_ns;

	exact_nic_prepare(&nic);
	nic.config.prebuffer_frames = 0;
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, 2 * MS);
	kpn_pacer_adjtime(nic.pacer, 5000 - 64); /* the worst residual: 40 trimmed slots */
	now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
	frame = exact_frame(1, 200, 0, now_ns + 25 * SLOT_NS);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_UNLOCKED);
	exact_nic_run(&nic, MS);
	KPN_EXPECT(t, state().lock_seq <= state().head_seq);
	now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
	frame.txtime_ns = now_ns + 25 * SLOT_NS;
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_PENDING);
}

/*
 * An index that says nonsense says nothing: not that the wire has stood still since the last one,
 * either.
 */
static void test_nonsense_is_no_bound(struct kpn_selftest *t)
{
	u32 fetching;
	u32 i;

	for (fetching = 0; fetching < 2; fetching++) {
		if (fetching)
			prepare_fetching();
		else
			exact_nic_prepare(&nic);
		nic.config.batch_slots = 1;
		nic.config.depth_slots = 40;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, MS);
		nic.index_lie = 1000;
		for (i = 0; i < 5; i++)
			exact_nic_poll(&nic, 11000);
		nic.index_lie = 0;
		KPN_EXPECT_EQ(t, stats()->index_errors, 5);
		for (i = 0; i < 100; i++) {
			struct kpn_head head = kpn_pacer_head(nic.pacer, nic.now_ns);
			u64 wire_ps = exact_nic_position(&nic);

			KPN_EXPECT_AT(t, (int)i, (s64)(wire_ps - head.wire.lower_ps) >= 0);
			KPN_EXPECT_AT(t, (int)i, (s64)(head.wire.upper_ps - wire_ps) >= 0);
			exact_nic_poll(&nic, 9000);
		}
		KPN_EXPECT_EQ(t, stats()->slips, 0);
		KPN_EXPECT(t, state().head_valid);
	}
}

/*
 * A fetch index that is at the end of what is posted whenever it is read: a slip is survived all
 * the same.
 */
static void test_a_slip_ends_where_the_index_waits_for_doorbells(struct kpn_selftest *t)
{
	prepare_fetching();
	nic.caps.prefetch_slots_max = 6;
	nic.caps.index_to_wire_ns_max += 5 * (s32)SLOT_NS;
	nic.config.batch_slots = 1;
	nic.config.depth_slots = 12;
	nic.poll_ns = 6 * SLOT_NS;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, MS);
	KPN_EXPECT(t, state().head_valid);
	nic.index_lie = 1000;
	exact_nic_poll(&nic, nic.poll_ns);
	nic.index_lie = 0;
	KPN_EXPECT(t, !state().head_valid);
	exact_nic_run(&nic, 10 * MS);
	KPN_EXPECT(t, state().head_valid);
}

void kpn_test_recovery(struct kpn_selftest *t)
{
	test_underrun_keeps_the_count_and_nearly_the_time(t);
	test_idle_wire_starts_again_though_restarts_are_long(t);
	test_underrun_with_a_full_ring_rings_once(t);
	test_an_underrun_changes_nothing_of_what_left_before(t);
	test_suspected_underrun(t);
	test_a_delay_that_is_reported(t);
	test_drift_beyond_the_stated_bound_ends_unsynchronised(t);
	test_impossible_index_changes_nothing(t);
	test_step_recalls_what_it_can(t);
	test_unlocked_slots_take_no_scheduled_frame(t);
	test_nonsense_is_no_bound(t);
	test_a_slip_ends_where_the_index_waits_for_doorbells(t);
}
