/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * waiting: frames that have no slot of their own to go to: best effort in the order of its class,
 * and frames with a txtime that may leave later. Paper mode, as in the room insert.
 */
#include "exact_nic.h"

#define SLOT_NS 10000ll
#define START_NS 1000000ll /* PHC time of slot 0 */

enum { RING = 32, BATCH = 8, RELAXED = 0, STRICT = 1 };

static struct exact_nic nic;

static s64 slot_time(s64 slot)
{
	return START_NS + slot * SLOT_NS;
}

static enum kpn_verdict submit(struct kpn_frame *frame, u8 tag, u8 tc, s64 txtime_ns)
{
	*frame = exact_frame(tag, 200, tc, txtime_ns);
	return kpn_pacer_submit(nic.pacer, frame);
}

/* C17: relaxed takes the earliest free slot of the class after the target, counted as moved. */
static void test_relaxed_takes_the_next_slot_of_its_class(struct kpn_selftest *t)
{
	static u16 masks[RING];
	struct kpn_frame frames[4];
	u32 i;

	for (i = 0; i < RING; i++)
		masks[i] = i % 16 == 1 ? 1 << 0 :
					 1 << 7; /* the artifact's Example 2: slots 1 and 17 */
	exact_nic_paper(&nic, RING, BATCH);
	nic.config.allowed = masks;
	nic.config.classes[0].late = KPN_LATE_RELAXED;
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	KPN_EXPECT_EQ(t, submit(&frames[0], 1, 0, slot_time(14)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(&frames[1], 2, 0, slot_time(2)),
		      KPN_VERDICT_PENDING); /* 17 is taken: 33 */
	KPN_EXPECT_EQ(t, submit(&frames[2], 3, 0, slot_time(14)), KPN_VERDICT_NO_SLOT);
	exact_nic_run(&nic, 60 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 2);
	KPN_EXPECT_EQ(t, nic.log[0].seq, 17);
	KPN_EXPECT_EQ(t, nic.log[1].seq, 33);
	KPN_EXPECT_EQ(t, nic.log[1].tag, 2);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_MOVED], 2);
}

/*
 * N27: best effort with a missed txtime waits for the next window of its class instead of being
 * dropped.
 */
static void test_rescheduled_frame_is_never_dropped_for_being_late(struct kpn_selftest *t)
{
	struct kpn_frame frames[3];
	u32 i;

	exact_nic_paper(&nic, RING, BATCH);
	nic.config.prebuffer_frames = 4;
	nic.config.classes[7].late = KPN_LATE_RESCHEDULE;
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	for (i = 0; i < 3; i++)
		KPN_EXPECT_EQ(t, submit(&frames[i], (u8)(i + 1), 7, slot_time(1)),
			      KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 60 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 3);
	for (i = 0; i < 3; i++)
		KPN_EXPECT_EQ(t, nic.log[i].tag, i + 1);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_MOVED], 3);
}

/* A pacer whose pre-buffer holds frames of a relaxed and a strict class, polled at slot 4. */
static void start_relaxed(u32 prebuffer_frames)
{
	exact_nic_paper(&nic, RING, BATCH);
	nic.config.prebuffer_frames = prebuffer_frames;
	nic.config.budget_frames = 2 * BATCH;
	nic.config.classes[RELAXED].late = KPN_LATE_RELAXED;
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	nic.poll_ns = 5 * SLOT_NS; /* several slots come into the window at once */
}

/* Slot @slot and the four after it are taken when the relaxed frame comes, @ahead slots before. */
static void expect_fifth_slot_after(struct kpn_selftest *t, s64 slot, s64 ahead)
{
	struct kpn_frame strict[5];
	struct kpn_frame relaxed;
	u8 i;

	start_relaxed(8);
	for (i = 0; i < 5; i++)
		submit(&strict[i], i + 1, STRICT, slot_time(slot + i));
	exact_nic_run(&nic, (slot - 4 - ahead) * SLOT_NS);
	KPN_EXPECT_EQ(t, submit(&relaxed, 9, RELAXED, slot_time(slot)), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, (ahead + 20) * SLOT_NS);
	KPN_EXPECT_EQ_AT(t, (int)ahead, nic.outcomes[KPN_VERDICT_ON_TIME], 5);
	KPN_EXPECT_EQ_AT(t, (int)ahead, nic.outcomes[KPN_VERDICT_MOVED], 1);
	KPN_EXPECT_EQ_AT(t, (int)ahead, nic.log[5].tag, 9);
	KPN_EXPECT_EQ_AT(t, (int)ahead, nic.log[5].seq, slot + 5);
}

/* How far ahead a frame is handed over makes no difference, and it takes nobody's own slot. */
static void test_relaxed_slot_does_not_depend_on_the_lead(struct kpn_selftest *t)
{
	s64 slot;
	s64 ahead;

	for (slot = 100; slot < 105; slot++) {
		for (ahead = 15; ahead <= 90; ahead += 5)
			expect_fifth_slot_after(t, slot, ahead);
	}
}

/*
 * A relaxed frame whose slot is taken when the end of the window comes there does not wait for the
 * lookahead, in which best effort is placed, nor behind best effort of its class.
 */
static void test_relaxed_is_not_held_up_by_best_effort(struct kpn_selftest *t)
{
	struct kpn_frame best_effort[30];
	struct kpn_frame strict;
	struct kpn_frame relaxed;
	u8 i;

	start_relaxed(40);
	submit(&strict, 1, STRICT, slot_time(60));
	submit(&relaxed, 2, RELAXED, slot_time(60));
	exact_nic_run(&nic, 20 * SLOT_NS);
	for (i = 0; i < 30; i++)
		submit(&best_effort[i], (u8)(i + 3), RELAXED, -1);
	exact_nic_run(&nic, 10 * SLOT_NS);
	KPN_EXPECT(t, nic.data_bytes[61 % RING]);
	KPN_EXPECT_EQ(t, nic.buffers[61 % RING][0], 2);
	exact_nic_run(&nic, 60 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 32);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_BEST_EFFORT], 30);
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
}

/*
 * Frames that ask for a slot in vain use up the budget of polls. One that was handed over in time
 * still waits then, though its slot is in the window; a later one does not take that from it.
 */
static void test_frames_handed_over_first_have_their_turn_first(struct kpn_selftest *t)
{
	static struct kpn_frame vain[64];
	s64 ahead;

	for (ahead = 12; ahead < 32; ahead++) {
		struct kpn_frame strict;
		struct kpn_frame relaxed;
		u32 i;

		start_relaxed(64);
		submit(&strict, 1, STRICT, slot_time(100));
		for (i = 0; i < KPN_COUNT_OF(vain); i++)
			submit(&vain[i], 3, 2, slot_time(99));
		exact_nic_run(&nic, (96 - ahead) * SLOT_NS);
		KPN_EXPECT_EQ(t, submit(&relaxed, 2, RELAXED, slot_time(100)), KPN_VERDICT_PENDING);
		exact_nic_run(&nic, (ahead + 20) * SLOT_NS);
		KPN_EXPECT_EQ_AT(t, (int)ahead, nic.verdict_of[1], KPN_VERDICT_ON_TIME);
		KPN_EXPECT_EQ_AT(t, (int)ahead, nic.verdict_of[2], KPN_VERDICT_MOVED);
	}
}

/* Slots of its class are taken for a whole ring: it is not sent, and says why. */
static void test_relaxed_ends_after_a_ring(struct kpn_selftest *t)
{
	static u16 masks[RING];
	struct kpn_frame frames[3];
	u32 i;

	for (i = 0; i < RING; i++)
		masks[i] = i == 20 ? 1 << RELAXED : 1 << STRICT;
	exact_nic_paper(&nic, RING, BATCH);
	nic.config.prebuffer_frames = 4;
	nic.config.allowed = masks;
	nic.config.classes[RELAXED].late = KPN_LATE_RELAXED;
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	/* slots 52 and 84 are its class's; a ring after slot 70 is slot 102 */
	KPN_EXPECT_EQ(t, submit(&frames[0], 1, RELAXED, slot_time(84)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(&frames[1], 2, RELAXED, slot_time(70)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(&frames[2], 3, RELAXED, slot_time(70)), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 130 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 1);
	KPN_EXPECT_EQ(t, nic.log[0].seq, 84);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_NO_SLOT], 2);
}

/* A scheduled frame takes a slot from best effort; that leaves later, in its own order. */
static void test_displaced_best_effort_keeps_its_order(struct kpn_selftest *t)
{
	struct kpn_frame best_effort[5];
	struct kpn_frame scheduled;
	u32 i;

	exact_nic_paper(&nic, RING, BATCH);
	nic.config.prebuffer_frames = 8;
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	for (i = 0; i < 5; i++) /* slots 12-16 */
		KPN_EXPECT_EQ(t, submit(&best_effort[i], (u8)(i + 1), 0, -1), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(&scheduled, 9, 1, slot_time(13)), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 60 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 6);
	KPN_EXPECT_EQ(t, nic.log[0].tag, 1);
	KPN_EXPECT_EQ(t, nic.log[1].tag, 9);
	KPN_EXPECT_EQ(t, nic.log[1].seq, 13);
	for (i = 1; i < 5; i++) {
		KPN_EXPECT_EQ(t, nic.log[i + 1].tag, i + 1);
		KPN_EXPECT_EQ(t, nic.log[i + 1].intact, true);
	}
	KPN_EXPECT_EQ(t, kpn_pacer_stats(nic.pacer)->displaced, 4);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_BEST_EFFORT], 5);
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
}

/* F4: best effort is a FIFO, bounded, and stays out of slots of other classes. */
static void test_best_effort_is_a_bounded_fifo(struct kpn_selftest *t)
{
	static u16 masks[RING];
	static struct kpn_frame frames[40];
	u32 accepted = 0;
	u32 i;

	for (i = 0; i < RING; i++)
		masks[i] = i % 8 == 0 ? 1 << 7 : 1 << 0;
	exact_nic_paper(&nic, RING, BATCH);
	nic.config.allowed = masks;
	nic.config.prebuffer_frames = 8;
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	for (i = 0; i < 40; i++)
		accepted += submit(&frames[i], (u8)(i + 1), 7, -1) == KPN_VERDICT_PENDING;
	/*
	 * 18 slots ahead of slot 12 have two of the class (16, 24); eight wait; the rest is refused
	 */
	KPN_EXPECT_EQ(t, accepted, 10);
	KPN_EXPECT_EQ(t, kpn_pacer_stats(nic.pacer)->verdicts[KPN_VERDICT_NO_ROOM], 30);
	exact_nic_run(&nic, 120 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 10);
	for (i = 0; i < 10; i++) {
		KPN_EXPECT_EQ(t, nic.log[i].tag, i + 1);
		KPN_EXPECT_EQ(t, nic.log[i].seq, 16 + 8 * i);
	}
}

/* A store that takes longer than a slot is allowed for: what may leave in any slot leaves. */
static void test_stores_longer_than_slots(struct kpn_selftest *t)
{
	struct kpn_frame frames[8];
	u8 i;

	exact_nic_prepare(&nic);
	nic.caps.store_ns_max = 700;
	nic.caps.restart_ns_max = 1000;
	kpn_config_defaults(&nic.config, &nic.caps, 10000000000ull, 180);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 200;
	nic.config.batch_slots = 16;
	nic.config.classes[1].late = KPN_LATE_RESCHEDULE;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 1000000);
	for (i = 0; i < 8; i++) {
		frames[i] = exact_frame((u8)(i + 1), 100, 1, i % 2 ? -1 : START_NS);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]), KPN_VERDICT_PENDING);
	}
	exact_nic_run(&nic, 1000000);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_BEST_EFFORT], 4);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_MOVED], 4);
}

/*
 * The ring takes only so many frames of best effort. A class with few slots and many frames does
 * not use up that number far ahead: slots of others would stay empty.
 */
static void test_a_class_with_few_slots_leaves_others_theirs(struct kpn_selftest *t)
{
	static const u16 masks[] = { 2, 1, 1, 1, 1, 1, 1, 1 };
	static struct kpn_frame frames[60];
	u32 of_many = 0;
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 200;
	nic.config.prebuffer_frames = 40;
	nic.config.budget_frames = 12;
	nic.config.allowed = masks;
	nic.config.partition_slots = 8;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 100 * SLOT_NS);
	for (i = 0; i < 60; i++)
		KPN_EXPECT_EQ(t, submit(&frames[i], (u8)i + 1, i < 30, -1), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 50 * SLOT_NS);
	for (i = 0; i < nic.log_count; i++)
		of_many += nic.log[i].tag > 30;
	KPN_EXPECT_EQ(t, of_many, 30);
	exact_nic_run(&nic, 250 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_BEST_EFFORT], 60);
}

/*
 * Nor does a class that comes first use it up ahead of a slot that is not its own: while both wait,
 * no slot is empty.
 */
static void test_a_class_that_comes_first_leaves_others_theirs(struct kpn_selftest *t)
{
	static const u16 masks[] = { 1, 3, 3, 3, 3, 3, 3, 3 };
	static struct kpn_frame frames[60];
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 200;
	nic.config.prebuffer_frames = 60;
	nic.config.budget_frames = 12;
	nic.config.allowed = masks;
	nic.config.partition_slots = 8;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 100 * SLOT_NS);
	for (i = 0; i < 60; i++)
		KPN_EXPECT_EQ(t, submit(&frames[i], (u8)i + 1, i < 50, -1), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 100 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 60);
	for (i = 1; i < 50; i++)
		KPN_EXPECT_EQ_AT(t, (int)i, nic.log[i].seq, nic.log[0].seq + i);
}

/*
 * A class that comes first always has frames waiting; another hands one over wherever between two
 * polls a slot has come up. None of these leaves before the others have.
 */
static void test_slots_between_polls_are_not_for_lower_classes(struct kpn_selftest *t)
{
	static struct kpn_frame high[300];
	static struct kpn_frame low[60];
	u32 highs = 0;
	u32 part;
	u32 i;

	for (part = 0; part < 4; part++) {
		exact_nic_prepare(&nic);
		nic.config.depth_slots = 11;
		nic.caps.prefetch_slots_max = 5;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 50 * SLOT_NS);
		for (i = 0, highs = 0; i < KPN_COUNT_OF(low); i++) {
			u64 poll_ns = kpn_pacer_poll_interval_ns(nic.pacer);

			while (highs < KPN_COUNT_OF(high) &&
			       submit(&high[highs], 1, 7, -1) == KPN_VERDICT_PENDING)
				highs++;
			exact_nic_go(&nic, part * (poll_ns / 4));
			submit(&low[i], 2, 3, -1);
			exact_nic_collect(&nic);
			exact_nic_poll(&nic, poll_ns - part * (poll_ns / 4));
		}
		KPN_EXPECT_AT(t, (int)part, nic.log_count > 180);
		for (i = 0; i < nic.log_count; i++)
			KPN_EXPECT_EQ_AT(t, (int)part, nic.log[i].tag, 1);
		exact_nic_run(&nic, 60 * SLOT_NS);
		KPN_EXPECT_EQ_AT(t, (int)part, nic.log[nic.log_count - 1].tag, 2);
	}
}

/* Best effort that made room for a scheduled frame comes before what is handed over then. */
static void test_displaced_best_effort_comes_first(struct kpn_selftest *t)
{
	struct kpn_frame high[20];
	struct kpn_frame low[4];
	struct kpn_frame scheduled;
	u32 i;

	exact_nic_prepare(&nic);
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 50 * SLOT_NS);
	for (i = 0; i < KPN_COUNT_OF(high); i++)
		submit(&high[i], (u8)(i + 1), 7, -1);
	submit(&scheduled, 40, 1, slot_time((s64)high[1].seq) + 64);
	for (i = 0; i < KPN_COUNT_OF(low); i++)
		submit(&low[i], (u8)(i + 51), 3, -1);
	exact_nic_run(&nic, 60 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, KPN_COUNT_OF(high) + KPN_COUNT_OF(low) + 1);
	KPN_EXPECT_EQ(t, nic.log[1].tag, 40);
	for (i = 1; i < KPN_COUNT_OF(high); i++)
		KPN_EXPECT_EQ(t, nic.log[i + 1].tag, i + 1);
	for (i = 0; i < KPN_COUNT_OF(low); i++)
		KPN_EXPECT_EQ(t, nic.log[KPN_COUNT_OF(high) + 1 + i].tag, i + 51);
}

/* Where nothing is held back, what is handed over then takes any slot, or it would be lost. */
static void test_displaced_best_effort_costs_no_frame(struct kpn_selftest *t)
{
	struct kpn_frame high;
	struct kpn_frame low;
	struct kpn_frame scheduled;

	exact_nic_prepare(&nic);
	nic.config.prebuffer_frames = 0;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 50 * SLOT_NS);
	submit(&high, 1, 7, -1);
	submit(&scheduled, 9, 1, slot_time((s64)high.seq) + 64);
	KPN_EXPECT_EQ(t, submit(&low, 2, 3, -1), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 40 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_BEST_EFFORT], 2);
}

void kpn_test_waiting(struct kpn_selftest *t)
{
	test_slots_between_polls_are_not_for_lower_classes(t);
	test_displaced_best_effort_comes_first(t);
	test_displaced_best_effort_costs_no_frame(t);
	test_a_class_that_comes_first_leaves_others_theirs(t);
	test_a_class_with_few_slots_leaves_others_theirs(t);
	test_relaxed_takes_the_next_slot_of_its_class(t);
	test_relaxed_slot_does_not_depend_on_the_lead(t);
	test_relaxed_is_not_held_up_by_best_effort(t);
	test_frames_handed_over_first_have_their_turn_first(t);
	test_relaxed_ends_after_a_ring(t);
	test_rescheduled_frame_is_never_dropped_for_being_late(t);
	test_displaced_best_effort_keeps_its_order(t);
	test_best_effort_is_a_bounded_fifo(t);
	test_stores_longer_than_slots(t);
}
