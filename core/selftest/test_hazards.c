/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * hazards: what a real machine does and a virtual one hides - dead NICs, storms, coarse counters,
 * caches that are not coherent, stores that take time. Each test is named by its symptom.
 */
#include "hazard_nic.h"

#include "keepon/errno.h"
#include "keepon/wire.h"

/* ---- a NIC that is dead ---- */

static void expect_stopped(struct kpn_selftest *t, enum kpn_event event)
{
	u32 i;

	KPN_EXPECT_EQ(t, nic.events[event], 1);
	KPN_EXPECT_EQ(t, stats()->losses, 1);
	KPN_EXPECT_EQ(t, state().synchronised, false);
	KPN_EXPECT_EQ(t, state().head_valid, false);
	KPN_EXPECT(t, nic.halted);
	KPN_EXPECT_EQ(t, submit(9, 0, ahead(20)), KPN_VERDICT_FLUSHED);
	KPN_EXPECT_EQ(t, submit(9, 0, -1), KPN_VERDICT_FLUSHED);
	for (i = 0; i < 4; i++)
		exact_nic_poll(&nic, 40000);
	KPN_EXPECT_EQ(t, nic.events[event], 1);
	expect_all_accounted(t);
}

static void start_with_frames(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	kpn_pacer_adjtime(nic.pacer, 0);
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT_EQ(t, state().synchronised, true);
	KPN_EXPECT_EQ(t, submit(1, 0, ahead(8)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(2, 0, ahead(40)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(3, 0, ahead(400)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(4, 1, -1), KPN_VERDICT_PENDING);
}

static void test_index_all_ones_stops_the_pacer(struct kpn_selftest *t)
{
	start_with_frames(t);
	nic.gone = true;
	exact_nic_poll(&nic, 40000);
	expect_stopped(t, KPN_EVENT_LOST);
}

static void test_frozen_index_stops_the_pacer_in_the_stated_time(struct kpn_selftest *t)
{
	u64 since_ns;
	u64 stall_ns;

	start_with_frames(t);
	stall_ns = kpn_pacer_limits(nic.pacer).stall_ns;
	nic.frozen_index = (u32)nic.head_seq;
	nic.frozen = true;
	since_ns = nic.now_ns;
	while (!stats()->losses && nic.now_ns < since_ns + 100 * MS)
		exact_nic_poll(&nic, 40000);
	KPN_EXPECT(t, nic.now_ns - since_ns > stall_ns);
	KPN_EXPECT(t, nic.now_ns - since_ns <= stall_ns + 2 * 41000);
	expect_stopped(t, KPN_EVENT_STALLED);
}

/*
 * PAUSE frames may stop the wire for so long; and a CPU may be held up without the NIC being dead.
 */
static void test_pause_is_not_taken_for_a_dead_nic(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 2 * MS);
	exact_nic_go(&nic, 400 * MS);
	exact_nic_poll(&nic, 0);
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT_EQ(t, stats()->losses, 0);
	KPN_EXPECT_EQ(t, stats()->underruns, 1);
	nic.caps.pause_ns_max = 30 * MS;
	nic.now_ns = 1000000;
	KPN_EXPECT(t, kpn_pacer_init(nic.memory, &nic.config, &nic.caps, &nic.pacer->nic_ops, &nic,
				     0));
	KPN_EXPECT(t, kpn_pacer_limits(nic.pacer).stall_ns > 31 * MS);
}

static void test_stop_halts_the_nic_before_it_touches_a_buffer(struct kpn_selftest *t)
{
	u32 i;

	start_with_frames(t);
	exact_nic_go(&nic, 3 * SLOT_NS);
	nic.zeroed_bytes = 0;
	kpn_pacer_stop(nic.pacer);
	KPN_EXPECT(t, nic.halted);
	KPN_EXPECT_EQ(t, nic.zeroed_bytes, 0);
	/* what the NIC had fetched goes on from the same bytes */
	while (kpn_pacer_drain(nic.pacer))
		exact_nic_collect(&nic);
	exact_nic_collect(&nic);
	exact_nic_go(&nic, MS);
	for (i = 0; i < nic.log_count; i++)
		KPN_EXPECT(t, nic.log[i].intact);
	KPN_EXPECT_EQ(t,
		      nic.outcomes[KPN_VERDICT_FLUSHED] + nic.outcomes[KPN_VERDICT_IN_DOUBT] +
			      nic.outcomes[KPN_VERDICT_BEST_EFFORT],
		      4);
	KPN_EXPECT(t, nic.outcomes[KPN_VERDICT_FLUSHED] >= 3);
	KPN_EXPECT_EQ(t, nic.doorbells, stats()->doorbells);
	expect_all_accounted(t);
}

/* Of frames 1 to @count none left that is called flushed. Return: how many were left in doubt. */
static u32 expect_flushed_never_left(struct kpn_selftest *t, int run, u32 count)
{
	u32 doubted = 0;
	u32 i;

	exact_nic_go(&nic, MS);
	exact_nic_poll(&nic, 0);
	for (i = 0; i < nic.log_count; i++)
		KPN_EXPECT_AT(t, run, nic.verdict_of[nic.log[i].tag] != KPN_VERDICT_FLUSHED);
	for (i = 1; i <= count; i++)
		doubted += nic.verdict_of[i] == KPN_VERDICT_IN_DOUBT;
	return doubted;
}

static void test_fetched_frame_is_not_called_flushed(struct kpn_selftest *t)
{
	u32 run;

	for (run = 0; run < 40; run++) {
		u32 i;

		exact_nic_prepare(&nic);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 2 * MS);
		for (i = 1; i <= 8; i++)
			KPN_EXPECT_EQ(t, submit(i, 0, ahead(3 + i)), KPN_VERDICT_PENDING);
		exact_nic_go(&nic, 5 * SLOT_NS + run * 1000);
		exact_nic_stop(&nic);
		KPN_EXPECT(t, expect_flushed_never_left(t, (int)run, 8) > 0);
	}
}

/* Polls that come much faster than slots: between two slips the reading seems to be right. */
static void test_frame_behind_a_frozen_index_is_not_called_flushed(struct kpn_selftest *t)
{
	u32 run;

	for (run = 0; run < 8; run++) {
		u32 polls;
		u32 i;

		exact_nic_prepare(&nic);
		nic.read_ns = 50;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 2 * MS);
		for (i = 1; i <= 8; i++)
			KPN_EXPECT_EQ(t, submit(i, 0, ahead(3 + i)), KPN_VERDICT_PENDING);
		nic.frozen_index = (u32)nic.head_seq;
		nic.frozen = true;
		for (polls = 0; !stats()->losses && polls < 100000; polls++)
			exact_nic_poll(&nic, 100 + run);
		KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STALLED], 1);
		KPN_EXPECT(t, expect_flushed_never_left(t, (int)run, 8) > 0);
	}
}

/* ---- one call, one budget; one slot, one partition ---- */

static void test_frames_that_come_due_at_once_keep_the_budget(struct kpn_selftest *t)
{
	u32 commits;
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.batch_slots = 4;
	nic.config.budget_frames = 8;
	nic.config.prebuffer_frames = 32;
	nic.config.depth_slots = 48;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 2 * MS);
	for (i = 0; i < 24; i++)
		KPN_EXPECT_EQ(t, submit(i, 0, ahead(70 + i)), KPN_VERDICT_PENDING);
	exact_nic_go(&nic, 32 * SLOT_NS);
	commits = nic.commits;
	exact_nic_poll(&nic, 0);
	KPN_EXPECT_EQ(t, nic.commits - commits, 8);
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 24);
	expect_all_accounted(t);
}

static void test_partition_switches_at_its_slot(struct kpn_selftest *t)
{
	static const u16 first[] = { 1 };
	static const u16 second[] = { 2 };
	static u64 memory[64];
	struct kpn_partition next;
	s64 switch_ns;

	exact_nic_prepare(&nic);
	nic.config.allowed = first;
	nic.config.partition_slots = 1;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT(t, kpn_partition_bytes(1) <= sizeof(memory));
	kpn_partition_init(&next, memory, second, 1);
	switch_ns = ahead(30);
	KPN_EXPECT_EQ(
		t, kpn_pacer_set_partition(nic.pacer, &next, kpn_div_u64((u64)switch_ns, SLOT_NS)),
		0);
	KPN_EXPECT_EQ(t, submit(1, 1, switch_ns - SLOT_NS), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(2, 0, switch_ns - SLOT_NS), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(3, 0, switch_ns), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(4, 1, switch_ns), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 2);
}

/*
 * A class that has slots by a table to come only: its frames wait for that within the horizon, and
 * are refused before, or they would hold their senders until a time that another user chose. One
 * that waits and whose slots a step puts out of reach ends.
 */
static void test_nobody_waits_for_a_table_beyond_the_horizon(struct kpn_selftest *t)
{
	static const u16 masks[] = { 1, 2 };
	static u64 memory[64];
	struct kpn_partition next;
	u64 at;

	exact_nic_prepare(&nic);
	nic.config.allowed = masks;
	nic.config.partition_slots = 1;
	nic.config.horizon_ns = 200 * SLOT_NS;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 2 * MS);
	kpn_partition_init(&next, memory, &masks[1], 1);
	at = kpn_div_u64((u64)ahead(500), SLOT_NS);
	KPN_EXPECT_EQ(t, kpn_pacer_set_partition(nic.pacer, &next, at), 0);
	KPN_EXPECT_EQ(t, submit(1, 1, -1), KPN_VERDICT_NOT_ALLOWED);
	exact_nic_run(&nic, 350 * SLOT_NS);
	KPN_EXPECT_EQ(t, submit(2, 1, -1), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, kpn_pacer_adjtime(nic.pacer, -200 * SLOT_NS), 0);
	exact_nic_run(&nic, 20 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_NOT_ALLOWED], 1);
	KPN_EXPECT_EQ(t, submit(3, 1, -1), KPN_VERDICT_NOT_ALLOWED);
	exact_nic_run(&nic, 200 * SLOT_NS);
	KPN_EXPECT_EQ(t, submit(4, 1, -1), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 250 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_BEST_EFFORT], 1);
}

/*
 * A table whose turn has not come gives way: what was placed by it is placed again, and what only it
 * allowed is refused. Once its first slot cannot be changed any more, it is waited for.
 */
static void test_partition_still_to_come_gives_way(struct kpn_selftest *t)
{
	static const u16 masks[] = { 1, 2, 4 };
	static u64 memory[3][64];
	struct kpn_partition table[3];
	s64 switch_ns;
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.allowed = masks;
	nic.config.partition_slots = 1;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 2 * MS);
	for (i = 0; i < 3; i++)
		kpn_partition_init(&table[i], memory[i], &masks[i], 1);
	switch_ns = ahead(30);
	KPN_EXPECT_EQ(
		t,
		kpn_pacer_set_partition(nic.pacer, &table[1], kpn_div_u64((u64)switch_ns, SLOT_NS)),
		0);
	KPN_EXPECT_EQ(t, submit(1, 1, switch_ns), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(2, 1, -1), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t,
		      kpn_pacer_set_partition(nic.pacer, &table[2],
					      kpn_div_u64((u64)switch_ns, SLOT_NS) + 20),
		      0);
	KPN_EXPECT(t, kpn_pacer_partition(nic.pacer, true) == &table[2]);
	KPN_EXPECT_EQ(t, submit(3, 1, -1), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(4, 0, switch_ns + SLOT_NS), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(5, 2, switch_ns + 19 * SLOT_NS), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(6, 2, switch_ns + 20 * SLOT_NS), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 2);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_BEST_EFFORT], 0);
	KPN_EXPECT(t, kpn_pacer_partition(nic.pacer, false) == &table[2]);
	KPN_EXPECT(t, !kpn_pacer_partition(nic.pacer, true));

	KPN_EXPECT_EQ(t, kpn_pacer_set_partition(nic.pacer, &table[0], 0), 0);
	exact_nic_go(&nic, 2 * SLOT_NS);
	KPN_EXPECT_EQ(t, kpn_pacer_set_partition(nic.pacer, &table[1], 0), -KPN_EBUSY);
	KPN_EXPECT(t, kpn_pacer_partition(nic.pacer, true) == &table[0]);
	exact_nic_run(&nic, MS);
	KPN_EXPECT(t, kpn_pacer_partition(nic.pacer, false) == &table[0]);
	KPN_EXPECT_EQ(t, kpn_pacer_set_partition(nic.pacer, &table[1], 0), 0);
	exact_nic_run(&nic, MS);
	expect_all_accounted(t);
}

/* ---- stores and lead ---- */

/*
 * The clock is read after the commit: a store that is still under way for store_ns_max may come too
 * late.
 */
static void test_store_under_way_is_in_doubt(struct kpn_selftest *t)
{
	static const u32 stores_ns[] = { 0, 3 * SLOT_NS };
	u32 i;

	for (i = 0; i < 2; i++) {
		struct kpn_window window;
		u64 seq;

		exact_nic_prepare(&nic);
		nic.caps.store_ns_max = stores_ns[i];
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 5 * MS);
		window = kpn_pacer_window(nic.pacer, nic.now_ns);
		seq = window.first_seq + 2;
		KPN_EXPECT(t, seq + 3 < nic.tail_seq);
		KPN_EXPECT_EQ(t, submit(1, 0, (s64)(seq + state().base) * SLOT_NS + 64),
			      i ? KPN_VERDICT_LATE : KPN_VERDICT_PENDING);
		/* held up in the store for three slots, and it may take three more */
		nic.store_ns = 3 * SLOT_NS;
		submit(2, 0, (s64)(seq + 3 + state().base) * SLOT_NS + 64);
		nic.store_ns = 0;
		exact_nic_run(&nic, MS);
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_IN_DOUBT], i);
	}
}

/* Prefetch 64 at depth 8: what was never posted was never fetched. */
static void test_latency_is_bounded_by_what_is_posted(struct kpn_selftest *t)
{
	struct kpn_window window;

	exact_nic_prepare(&nic);
	nic.config.ring_slots = 128;
	nic.caps.prefetch_slots_max = 64;
	nic.config.depth_slots = 8;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 5 * MS);
	window = kpn_pacer_window(nic.pacer, nic.now_ns);
	KPN_EXPECT(t, window.valid && window.first_seq == nic.tail_seq);
	KPN_EXPECT_EQ(t, submit(1, 0, (s64)(nic.tail_seq + state().base) * SLOT_NS + 64),
		      KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, frames[1].seq, nic.tail_seq);
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 1);
	expect_all_accounted(t);
}

/* ---- what may be refused ---- */

static void test_class_without_slots_is_refused(struct kpn_selftest *t)
{
	static const u16 masks[] = { 1, 2 };

	exact_nic_prepare(&nic);
	nic.config.allowed = masks;
	nic.config.partition_slots = 2;
	nic.config.classes[7].late = KPN_LATE_RESCHEDULE;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, submit(1, 7, -1), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(1, 7, ahead(20)), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(1, 7, ahead(2000)), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(2, 1, -1), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, MS);
	expect_all_accounted(t);
}

static void test_txtime_beyond_the_horizon_is_refused(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	nic.config.horizon_ns = 2 * MS;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, submit(1, 0, ahead(190)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(2, 0, ahead(220)), KPN_VERDICT_TOO_EARLY);
	KPN_EXPECT_EQ(t, submit(2, 0, KPN_TIME_NS_MAX), KPN_VERDICT_TOO_EARLY);
	exact_nic_run(&nic, 3 * MS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 1);
}

/*
 * A relaxed frame whose class has its next slot within a ring length of its own is moved there,
 * however early it was given.
 */
static void test_relaxed_frames_end_the_same_however_early(struct kpn_selftest *t)
{
	static u16 masks[100];
	static const s64 early_slots[] = { 3, 20, 60, 70, 150 };
	u64 expected = 0;
	u32 i;

	for (i = 0; i < 100; i++)
		masks[i] = i == 50 ? 2 : 1;
	for (i = 0; i < KPN_COUNT_OF(early_slots); i++) {
		u64 target;

		exact_nic_prepare(&nic);
		nic.config.allowed = masks;
		nic.config.partition_slots = 100;
		nic.config.classes[1].late = KPN_LATE_RELAXED;
		KPN_EXPECT(t, exact_nic_start(&nic, 0));
		kpn_pacer_settime(nic.pacer, (struct kpn_time){ 100 * MS, 0 });
		exact_nic_run(&nic, 2 * MS);
		/*
		 * net_slot 60 of the partition: 90 slots to the next of its class, and the ring has
		 * 64
		 */
		target = (kpn_div_u64((u64)now(), 100 * SLOT_NS) + 3) * 100 + 60;
		while ((s64)(target * SLOT_NS) - now() > early_slots[i] * SLOT_NS)
			exact_nic_poll(&nic, 5000);
		if (submit(1, 1, (s64)target * SLOT_NS + 64) != KPN_VERDICT_PENDING)
			KPN_EXPECT(t, early_slots[i] < 60);
		exact_nic_run(&nic, 3 * MS);
		KPN_EXPECT_EQ(t, nic.log_count, 0);
		KPN_EXPECT_EQ(t, stats()->verdicts[KPN_VERDICT_NO_SLOT], 1);
		/* net_slot 10: 40 slots to it */
		target = (kpn_div_u64((u64)now(), 100 * SLOT_NS) + 3) * 100 + 10;
		while ((s64)(target * SLOT_NS) - now() > early_slots[i] * SLOT_NS)
			exact_nic_poll(&nic, 5000);
		KPN_EXPECT_EQ(t, submit(2, 1, (s64)target * SLOT_NS + 64), KPN_VERDICT_PENDING);
		exact_nic_run(&nic, 4 * MS);
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_MOVED], 1);
		expected = frames[2].seq - target + state().base;
		KPN_EXPECT_EQ(t, expected, 40);
	}
}

void kpn_test_hazards(struct kpn_selftest *t)
{
	test_index_all_ones_stops_the_pacer(t);
	test_frozen_index_stops_the_pacer_in_the_stated_time(t);
	test_pause_is_not_taken_for_a_dead_nic(t);
	test_stop_halts_the_nic_before_it_touches_a_buffer(t);
	test_fetched_frame_is_not_called_flushed(t);
	test_frame_behind_a_frozen_index_is_not_called_flushed(t);
	test_frames_that_come_due_at_once_keep_the_budget(t);
	test_partition_switches_at_its_slot(t);
	test_partition_still_to_come_gives_way(t);
	test_nobody_waits_for_a_table_beyond_the_horizon(t);
	test_store_under_way_is_in_doubt(t);
	test_latency_is_bounded_by_what_is_posted(t);
	test_class_without_slots_is_refused(t);
	test_txtime_beyond_the_horizon_is_refused(t);
	test_relaxed_frames_end_the_same_however_early(t);
}
