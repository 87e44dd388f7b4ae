/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* doorbell: a CPU that is held up between reading the index and posting. */
#include "watched_nic.h"

#include "keepon/errno.h"
#include "keepon/wire.h"

/*
 * Held up between reading and doorbell, by up to twice what is posted: the wire has stood there for
 * an unknown time. Its position stays within the bounds, and the stop is reported.
 */
static void test_held_up_before_the_doorbell(struct kpn_selftest *t)
{
	u32 suspected = 0;
	u32 quiet = 0;
	u64 held_ns;

	for (held_ns = SLOT_NS; held_ns < 40 * SLOT_NS; held_ns += SLOT_NS / 4) {
		exact_nic_prepare(&nic);
		exact_nic_start(&nic, START_NS);
		kpn_pacer_adjtime(nic.pacer, 0);
		exact_nic_run(&nic, 10 * MS);
		KPN_EXPECT_EQ(t, state().synchronised, true);
		nic.bell_ns = held_ns;
		while (nic.bell_ns)
			exact_nic_run(&nic, 1);
		/*
		 * one that came in time kept the wire going; a wire that might have stood still is
		 * reported
		 */
		KPN_EXPECT(t, nic.idle_starts == 1 || stats()->suspected_underruns == 1);
		KPN_EXPECT_EQ(t, stats()->suspected_underruns,
			      nic.events[KPN_EVENT_SUSPECTED_UNDERRUN]);
		KPN_EXPECT_EQ(t, state().synchronised, !stats()->suspected_underruns);
		KPN_EXPECT(t, run_watching(5 * MS));
		KPN_EXPECT_EQ(t, stats()->slips, 0);
		suspected += stats()->suspected_underruns;
		quiet += !stats()->suspected_underruns;
	}
	KPN_EXPECT(t, suspected > 40 && quiet > 40);
}

/* Where little was posted when the poll came: the wire stands until the doorbell. */
static void test_held_up_after_a_late_poll(struct kpn_selftest *t)
{
	u64 held_ns;

	for (held_ns = 0; held_ns < 40 * SLOT_NS; held_ns += SLOT_NS / 4) {
		exact_nic_prepare(&nic);
		exact_nic_start(&nic, START_NS);
		kpn_pacer_adjtime(nic.pacer, 0);
		exact_nic_run(&nic, 10 * MS);
		while (nic.head_seq + 1 < nic.tail_seq)
			exact_nic_go(&nic, 100);
		exact_nic_go(&nic, 8800);
		KPN_EXPECT(t, !nic.idle);
		nic.bell_ns = held_ns;
		exact_nic_poll(&nic, 0);
		KPN_EXPECT_EQ(t, nic.bell_ns, 0);
		KPN_EXPECT_EQ(t, stats()->suspected_underruns, 1);
		KPN_EXPECT_EQ(t, stats()->underruns, 0);
		KPN_EXPECT(t, run_watching(5 * MS));
		KPN_EXPECT_EQ(t, stats()->slips, 0);
	}
}

/*
 * Soon after the start, and with a wire as fast as stated: what is learnt of its rate afterwards
 * must not have the pause in it.
 */
static void test_held_up_while_rates_are_young(struct kpn_selftest *t)
{
	u64 held_ns;

	for (held_ns = MS / 2; held_ns < 1000 * MS; held_ns *= 3) {
		exact_nic_prepare(&nic);
		nic.config.drift_ppb_max = 200000;
		nic.ppb = 150000;
		exact_nic_start(&nic, START_NS);
		exact_nic_run(&nic, 4 * MS);
		nic.bell_ns = held_ns;
		while (nic.bell_ns)
			exact_nic_run(&nic, 1);
		KPN_EXPECT_EQ(t, stats()->suspected_underruns, 1);
		KPN_EXPECT(t, run_watching(2 * held_ns + 20 * MS));
		KPN_EXPECT_EQ(t, stats()->slips, 0);
	}
}

/* An index read just before a CPU is taken away for long has not stood still meanwhile. */
static void test_held_up_after_reading_is_no_stall(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	nic.config.batch_slots = 1;
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 250;
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, 10 * MS);
	/* twice within a slot: the second reading finds nothing new, and its end comes late */
	exact_nic_poll(&nic, 0);
	nic.after_read_ns = kpn_pacer_limits(nic.pacer).stall_ns + 100000;
	exact_nic_poll(&nic, 0);
	KPN_EXPECT_EQ(t, nic.after_read_ns, 0);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STALLED], 0);
	KPN_EXPECT(t, run_watching(5 * MS));
}

/*
 * The CPU is held up before a doorbell for longer than a NIC may stand still; this one had nothing
 * to send.
 */
static void test_held_up_before_a_doorbell_is_no_stall(struct kpn_selftest *t)
{
	prepare_fetching();
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, MS);
	/* up to where the index has come to the end of what is posted, and the wire has not */
	exact_nic_go(&nic, (state().tail_seq - nic.head_seq - 1) * SLOT_NS);
	nic.bell_ns = 2 * kpn_pacer_limits(nic.pacer).stall_ns;
	nic.frozen_index = (u32)nic.tail_seq;
	exact_nic_poll(&nic, 0);
	/* it fetches a little later */
	nic.frozen = true;
	exact_nic_poll(&nic, 100);
	nic.frozen = false;
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STALLED], 0);
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT_EQ(t, stats()->losses, 0);
}

/* However near batch and depth are, polls are no closer than the surroundings sustain. */
static void test_polls_keep_their_distance(struct kpn_selftest *t)
{
	u32 started = 0;
	u32 depth;
	u32 i;

	for (depth = 1; depth < 64; depth++) {
		exact_nic_prepare(&nic);
		nic.caps.poll_ns_min = 9000;
		nic.config.batch_slots = depth < 8 ? depth : 8;
		nic.config.depth_slots = depth;
		if (!exact_nic_start(&nic, START_NS))
			continue;
		started++;
		for (i = 0; i < 200; i++)
			KPN_EXPECT(t, kpn_pacer_poll_interval_ns(nic.pacer) >= 9000);
	}
	KPN_EXPECT(t, started > 40);
}

void kpn_test_doorbell(struct kpn_selftest *t)
{
	test_held_up_before_the_doorbell(t);
	test_held_up_after_a_late_poll(t);
	test_held_up_while_rates_are_young(t);
	test_held_up_after_reading_is_no_stall(t);
	test_held_up_before_a_doorbell_is_no_stall(t);
	test_polls_keep_their_distance(t);
}
