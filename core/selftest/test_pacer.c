/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pacer: the loop of start, poll and clock on an exact NIC - counts of calls, phase lock and stop.
 * What happens to single frames is in test_insert.c, where the wire is in test_head.c, what goes
 * wrong in test_recovery.c.
 */
#include "watched_nic.h"

#include "keepon/errno.h"
#include "keepon/wire.h"

/*
 * A9, A19, A31: the reset made all descriptors placeholders, none is stored again; indices at 0 and
 * the depth, one doorbell.
 */
static void test_start(struct kpn_selftest *t)
{
	exact_nic_paper(&nic, 32, 8);
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	KPN_EXPECT_EQ(t, nic.restores + nic.commits, 0);
	KPN_EXPECT_EQ(t, nic.zeroed_bytes, 0);
	KPN_EXPECT_EQ(t, nic.doorbells, 1);
	KPN_EXPECT_EQ(t, nic.tail_seq, 8);
	KPN_EXPECT_EQ(t, state().head_seq, 0);
	KPN_EXPECT_EQ(t, state().tail_seq, 8);
	KPN_EXPECT_EQ(t, state().synchronised, false);
	KPN_EXPECT_EQ(t, kpn_pacer_gettime(nic.pacer, nic.now_ns).ns, START_NS);
	KPN_EXPECT_EQ(t, kpn_pacer_lead_slots(nic.pacer), 8);
	/* a start time before the epoch and a wrong configuration are refused */
	KPN_EXPECT(t, !exact_nic_start(&nic, -1));
	nic.config.batch_slots = 0;
	KPN_EXPECT(t, !exact_nic_start(&nic, START_NS));
}

/*
 * A10 (Figure 5): ring 12, index 2 -> 5 completes three slots; then over the end of the ring, then
 * over the modulus.
 */
static void test_index_differences(struct kpn_selftest *t)
{
	u32 i;

	exact_nic_paper(&nic, 12, 6);
	nic.caps.index_modulus = 12;
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 2 * SLOT_NS + 2000);
	KPN_EXPECT_EQ(t, stats()->slots_completed, 2);
	exact_nic_poll(&nic, 3 * SLOT_NS);
	KPN_EXPECT_EQ(t, stats()->slots_completed, 5);
	KPN_EXPECT_EQ(t, state().head_seq, 5);
	KPN_EXPECT_EQ(t, state().tail_seq, 11);
	exact_nic_poll(&nic, 5 * SLOT_NS);
	exact_nic_poll(&nic, 3 * SLOT_NS); /* 10 -> 1 */
	KPN_EXPECT_EQ(t, state().head_seq, 13);
	for (i = 0; i < 100; i++)
		exact_nic_poll(&nic, 5 * SLOT_NS - 200);
	KPN_EXPECT_EQ(t, state().head_seq, nic.head_seq);
	KPN_EXPECT_EQ(t, stats()->slots_posted, nic.tail_seq);
	KPN_EXPECT_EQ(t, stats()->underruns + stats()->index_errors + stats()->slips, 0);
	KPN_EXPECT_EQ(t, nic.idle_starts, 1);
}

/*
 * A12, A13, A27: one index read and at most one doorbell a poll, whatever is submitted; the wire
 * never stops.
 */
static void test_one_doorbell_a_poll(struct kpn_selftest *t)
{
	struct kpn_frame frames[8];
	u32 poll;
	u32 i;

	exact_nic_paper(&nic, 32, 8);
	exact_nic_start(&nic, START_NS);
	for (poll = 0; poll < 50; poll++) {
		u32 doorbells = nic.doorbells;
		u32 reads = nic.index_reads;

		for (i = 0; i < 8; i++) {
			frames[i] = exact_frame(1, 100, 0, -1);
			if (poll % 5 == 0)
				kpn_pacer_submit(nic.pacer, &frames[i]);
		}
		KPN_EXPECT_EQ(t, nic.doorbells, doorbells);
		exact_nic_poll(&nic, 2 * SLOT_NS);
		KPN_EXPECT_EQ(t, nic.doorbells, doorbells + 1);
		KPN_EXPECT_EQ(t, nic.index_reads, reads + 1);
	}
	KPN_EXPECT_EQ(t, stats()->doorbells, nic.doorbells);
	KPN_EXPECT_EQ(t, nic.idle_starts, 1);
	KPN_EXPECT_EQ(t, nic.rearmed, 0);
}

/* Write-back descriptors are handed over again before every use. */
static void test_descriptors_that_do_not_persist_are_rearmed(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	nic.caps.desc_persistent = false;
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, nic.rearmed, nic.tail_seq);
	KPN_EXPECT_EQ(t, stats()->slots_posted, nic.tail_seq);
}

/* B6: the counter clock is a staircase moved by polls; the interpolated one is not. */
static void test_counter_clock_moves_with_polls_only(struct kpn_selftest *t)
{
	s64 before_ns;

	exact_nic_paper(&nic, 32, 8);
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 3 * SLOT_NS + 2000);
	KPN_EXPECT_EQ(t, kpn_pacer_gettime(nic.pacer, nic.now_ns).ns, START_NS + 3 * SLOT_NS);
	exact_nic_go(&nic, 2 * SLOT_NS);
	KPN_EXPECT_EQ(t, kpn_pacer_gettime(nic.pacer, nic.now_ns).ns, START_NS + 3 * SLOT_NS);
	exact_nic_poll(&nic, 0);
	KPN_EXPECT_EQ(t, kpn_pacer_gettime(nic.pacer, nic.now_ns).ns, START_NS + 5 * SLOT_NS);

	exact_nic_prepare(&nic);
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, 20 * MS);
	before_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
	KPN_EXPECT(t, magnitude(clock_offset_ns() + 500) < 600);
	exact_nic_go(&nic, 12345);
	KPN_EXPECT(t,
		   magnitude(kpn_pacer_gettime(nic.pacer, nic.now_ns).ns - before_ns - 12345) <= 2);
}

/*
 * B9: setters move time, never counts; in paper mode a pending frame keeps its slot. B16: its stamp
 * is that of the slot.
 */
static void test_adjustments_leave_counts_and_slots_alone(struct kpn_selftest *t)
{
	struct kpn_frame frame = exact_frame(1, 200, 0, START_NS + 20 * SLOT_NS);
	struct kpn_state before;

	exact_nic_paper(&nic, 32, 8);
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_PENDING);
	before = state();
	KPN_EXPECT_EQ(t, kpn_pacer_adjtime(nic.pacer, 5000000), 0);
	KPN_EXPECT_EQ(t, kpn_pacer_adjfine(nic.pacer, 6553600), 0);
	KPN_EXPECT_EQ(t, kpn_pacer_adjfine(nic.pacer, KPN_ADJ_SCALED_PPM_MAX + 1), -KPN_ERANGE);
	KPN_EXPECT_EQ(t, kpn_pacer_adjtime(nic.pacer, -7000000), -KPN_ERANGE);
	KPN_EXPECT_EQ(t, kpn_pacer_settime(nic.pacer, (struct kpn_time){ -1, 0 }), -KPN_EINVAL);
	KPN_EXPECT_EQ(t, state().head_seq, before.head_seq);
	KPN_EXPECT_EQ(t, state().tail_seq, before.tail_seq);
	KPN_EXPECT_EQ(t, state().pending, 1);
	KPN_EXPECT_EQ(t, state().synchronised, true);
	KPN_EXPECT_EQ(t, state().scaled_ppm, 6553600);
	exact_nic_collect(&nic);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STEP], 1);
	exact_nic_run(&nic, 30 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 1);
	KPN_EXPECT_EQ(t, nic.log[0].seq, 20);
	/* it is not the slot of its txtime any more, and is not reported as such */
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_SENT_STALE], 1);
	/*
	 * slot 20 on the stepped clock and 64 ns of preamble; 100 ppm of the 160 us since are 16 ns
	 */
	KPN_EXPECT(t,
		   magnitude(nic.last_start.ns - START_NS - 5000000 - 20 * SLOT_NS - 64 - 16) <= 1);
}

/*
 * A wire in paper mode that stood while frames were in the ring: they leave as much later, and only
 * those whose slots are still of their txtimes are reported on time.
 */
static void test_a_stall_in_paper_mode_is_reported(struct kpn_selftest *t)
{
	static struct kpn_frame frames[8];
	u32 i;

	exact_nic_paper(&nic, 32, 8);
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	for (i = 0; i < KPN_COUNT_OF(frames); i++) {
		frames[i] = exact_frame((u8)(i + 1), 200, 0,
					START_NS + (i < 4 ? 13 + (s64)i : 20 + (s64)i) * SLOT_NS +
						SLOT_NS / 2);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]), KPN_VERDICT_PENDING);
	}
	/* a step so small that the slots remain those of the txtimes */
	KPN_EXPECT_EQ(t, kpn_pacer_adjtime(nic.pacer, 1000), 0);
	exact_nic_run(&nic, 10 * SLOT_NS);
	exact_nic_go(&nic, 30 * SLOT_NS);
	exact_nic_run(&nic, 40 * SLOT_NS);
	KPN_EXPECT_EQ(t, stats()->underruns, 1);
	KPN_EXPECT_EQ(t, nic.log_count, KPN_COUNT_OF(frames));
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 4);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_SENT_STALE], 4);
}

/*
 * Frames ask for instants of the PHC grid: they leave within the bound of them, at any rate of the
 * clock.
 */
static void test_frames_leave_on_the_grid(struct kpn_selftest *t)
{
	static const s64 rates_scaled_ppm[] = { 0, 3276800, -6553600, 6553600 };
	static struct kpn_frame frames[100];
	u32 rate;
	u32 i;

	for (rate = 0; rate < KPN_COUNT_OF(rates_scaled_ppm); rate++) {
		u64 bound_ps;
		s64 first_ns;

		exact_nic_prepare(&nic);
		nic.config.prebuffer_frames = 100;
		exact_nic_start(&nic, START_NS + 3333); /* off the grid */
		kpn_pacer_settime(nic.pacer, (struct kpn_time){ START_NS + 3333, 0 });
		kpn_pacer_adjfine(nic.pacer, rates_scaled_ppm[rate]);
		exact_nic_run(&nic, 2 * MS);
		KPN_EXPECT(t, state().lock_seq < state().head_seq);
		bound_ps = kpn_pacer_bounds(nic.pacer, 100000, 0).boundary_error_ps;
		first_ns =
			(s64)kpn_div_u64((u64)kpn_pacer_gettime(nic.pacer, nic.now_ns).ns, 10000) *
				10000 +
			30 * SLOT_NS + 64;
		for (i = 0; i < 100; i++) {
			frames[i] =
				exact_frame((u8)(i % 60 + 1), 200, 0, first_ns + i * 10 * SLOT_NS);
			KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]),
				      KPN_VERDICT_PENDING);
		}
		for (i = 0; i < 100; i++) {
			s64 error_ps;

			while (nic.outcomes[KPN_VERDICT_ON_TIME] <= i && nic.now_ns < 30 * MS)
				exact_nic_poll(&nic, 40000);
			/* several may end in one poll: the stamp is that of the last one */
			error_ps = (nic.last_start.ns - nic.last_outcome->txtime_ns) * 1000 +
				   (s64)((u64)nic.last_start.frac * 1000 >> 32);
			if (!KPN_EXPECT(t, magnitude(error_ps) <= (s64)bound_ps))
				break;
		}
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 100);
		KPN_EXPECT_EQ(t, nic.log_count, 100);
		KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
		for (i = 0; i < 100; i++)
			KPN_EXPECT_EQ(t, nic.log[i].intact, true);
	}
}

/*
 * Counts per second equal theory: at +-100 ppm of the clock, 12500 quanta of 8 ns in a second of
 * wire.
 */
static void test_trims_per_second_follow_the_clock_rate(struct kpn_selftest *t)
{
	static const s64 rates_scaled_ppm[] = { 0, 6553600, -6553600 };
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(rates_scaled_ppm); i++) {
		u64 trims;

		exact_nic_prepare(&nic);
		exact_nic_start(&nic, START_NS);
		kpn_pacer_adjfine(nic.pacer, rates_scaled_ppm[i]);
		exact_nic_run(&nic, 10 * MS);
		trims = stats()->trims;
		exact_nic_run(&nic, 200 * MS);
		trims = stats()->trims - trims;
		KPN_EXPECT(t, rates_scaled_ppm[i] ? trims >= 2490 && trims <= 2510 : trims == 0);
		KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
	}
}

/* Stop ends all, in ring and pre-buffer; afterwards nothing is taken and a poll does nothing. */
static void test_stop_flushes(struct kpn_selftest *t)
{
	struct kpn_frame frames[4];
	s64 now_ns;
	u32 reads;

	exact_nic_prepare(&nic);
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, MS);
	now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
	frames[0] = exact_frame(1, 200, 0, now_ns + 30 * SLOT_NS);
	frames[1] = exact_frame(2, 200, 3, -1);
	frames[2] = exact_frame(3, 200, 0, now_ns + 3000 * SLOT_NS);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[0]), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[1]), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[2]), KPN_VERDICT_PENDING);
	exact_nic_stop(&nic);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_FLUSHED], 3);
	KPN_EXPECT_EQ(t, state().pending, 0);
	KPN_EXPECT_EQ(t, state().synchronised, false);
	frames[3] = exact_frame(4, 200, 0, -1);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[3]), KPN_VERDICT_FLUSHED);
	reads = nic.index_reads;
	kpn_pacer_poll(nic.pacer);
	KPN_EXPECT_EQ(t, nic.index_reads, reads);
	KPN_EXPECT_EQ(t, stats()->submitted, kpn_stats_ended(stats()));
}

/*
 * Placeholders that are valid frames must not be overwritten in place: without a second buffer they
 * are refused.
 */
static void test_valid_placeholders_need_a_spare_buffer(struct kpn_selftest *t)
{
	struct kpn_frame frame = exact_frame(5, 200, 0, -1);
	u8 kind;

	for (kind = KPN_PLACEHOLDER_MAC_CONTROL; kind < KPN_PLACEHOLDER_COUNT; kind++) {
		exact_nic_prepare(&nic);
		nic.caps.placeholder_kinds = (1u << KPN_PLACEHOLDER_COUNT) - 1;
		nic.config.placeholder = kind;
		KPN_EXPECT(t, !exact_nic_start(&nic, START_NS));
		/*
		 * the buffer the core writes is the spare one, then; the switch is commit's one
		 * store, after the data
		 */
		nic.caps.has_spare_buffers = true;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, MS);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_PENDING);
		KPN_EXPECT_EQ(t, nic.commits, 1);
		exact_nic_run(&nic, MS);
		KPN_EXPECT_EQ(t, nic.log_count, 1);
		KPN_EXPECT_EQ(t, nic.log[0].intact, true);
	}
}

/*
 * A25: one batch of wire time less the poll itself; dithered by less than a slot, and never more
 * than asked for.
 */
static void test_poll_interval(struct kpn_selftest *t)
{
	u64 least_ns = ~0ull;
	u64 most_ns = 0;
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.poll_overhead_ns = 3000;
	exact_nic_start(&nic, START_NS);
	for (i = 0; i < 1000; i++) {
		u64 interval_ns = kpn_pacer_poll_interval_ns(nic.pacer);

		least_ns = interval_ns < least_ns ? interval_ns : least_ns;
		most_ns = interval_ns > most_ns ? interval_ns : most_ns;
	}
	KPN_EXPECT(t, most_ns <= 37000 && most_ns > 36900);
	KPN_EXPECT(t, least_ns >= 27000 && least_ns < 27100);
	nic.config.dither = false;
	exact_nic_start(&nic, START_NS);
	KPN_EXPECT_EQ(t, kpn_pacer_poll_interval_ns(nic.pacer), 37000);
}

/* However near the depth is to a batch: who polls when asked to keeps the wire saturated. */
static void test_polls_come_before_what_is_posted_has_left(struct kpn_selftest *t)
{
	u32 depth;

	for (depth = 8; depth < 26; depth++) {
		exact_nic_prepare(&nic);
		nic.config.batch_slots = 8;
		nic.config.depth_slots = depth;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 20000000);
		KPN_EXPECT_EQ_AT(t, (int)depth, nic.idle_starts, 1);
	}
}

void kpn_test_pacer(struct kpn_selftest *t)
{
	test_polls_come_before_what_is_posted_has_left(t);
	test_start(t);
	test_index_differences(t);
	test_one_doorbell_a_poll(t);
	test_descriptors_that_do_not_persist_are_rearmed(t);
	test_counter_clock_moves_with_polls_only(t);
	test_adjustments_leave_counts_and_slots_alone(t);
	test_a_stall_in_paper_mode_is_reported(t);
	test_frames_leave_on_the_grid(t);
	test_trims_per_second_follow_the_clock_rate(t);
	test_stop_flushes(t);
	test_valid_placeholders_need_a_spare_buffer(t);
	test_poll_interval(t);
}
