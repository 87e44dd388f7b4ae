/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * replan: lengths of slots already posted are planned again, after a step, a change of rate or a
 * switch of tables. Reports on frames and clock match the wire.
 */
#include "../src/kpn_pacer_state.h"
#include "exact_nic.h"

#define SLOT_NS 10000ll
#define START_NS 1000000ll
#define MS 1000000ull

enum { RUNS = 400, FRAMES = 50, OTHERS = 12 };

static struct exact_nic nic;
static struct kpn_frame frames[FRAMES];
static struct kpn_frame others[OTHERS];

/* Whether the wire is where the pacer says, or it says that it does not know. */
static bool head_is_true(void)
{
	struct kpn_head head = kpn_pacer_head(nic.pacer, nic.now_ns);
	u64 wire_ps = exact_nic_position(&nic);

	if (!kpn_pacer_state(nic.pacer, nic.now_ns).synchronised || !head.valid)
		return true;
	return (s64)(wire_ps - head.wire.lower_ps) >= 0 && (s64)(head.wire.upper_ps - wire_ps) >= 0;
}

/*
 * The CPU stands still while the lengths of a small step are stored: slots have left with the old
 * ones, and nobody says which. Told, or nothing is wrong.
 */
static void test_held_up_while_lengths_are_stored(struct kpn_selftest *t)
{
	u32 reported = 0;
	u32 quiet = 0;
	u64 seed = 1;
	u32 run;
	u32 i;

	for (run = 0; run < RUNS; run++) {
		exact_nic_prepare(&nic);
		nic.config.depth_slots = 48;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, MS + kpn_random_below(&seed, 20000));
		nic.store_ns = run % 4 ? kpn_random_below(&seed, 200000) : 0;
		kpn_pacer_adjtime(nic.pacer, (s64)kpn_random_below(&seed, 9000) - 4500);
		nic.store_ns = 0;
		for (i = 0; i < 60; i++) {
			KPN_EXPECT_AT(t, (int)run, head_is_true());
			exact_nic_poll(&nic, 20000);
		}
		reported += nic.events[KPN_EVENT_DOUBT] != 0;
		quiet += nic.events[KPN_EVENT_DOUBT] == 0;
		KPN_EXPECT_AT(t, (int)run,
			      nic.events[KPN_EVENT_DOUBT] == 0 ||
				      !kpn_pacer_state(nic.pacer, nic.now_ns).synchronised);
	}
	KPN_EXPECT(t, reported > RUNS / 4);
	KPN_EXPECT(t, quiet >= RUNS / 4);
}

/*
 * A step takes best effort back from its slots before it stores lengths, and each store takes its
 * time. The lengths are for slots that can still be changed then, not when the call began.
 */
static void test_what_a_step_does_first_takes_time(struct kpn_selftest *t)
{
	u64 seed = 4;
	u32 lengths = 0;
	u32 run;
	u8 i;

	for (run = 0; run < RUNS; run++) {
		exact_nic_prepare(&nic);
		nic.config.depth_slots = 48;
		nic.config.prebuffer_frames = 64;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, MS + kpn_random_below(&seed, 20000));
		for (i = 0; i < 8; i++) {
			frames[i] = exact_frame((u8)(i + 1), 200, 0, -1);
			KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]),
				      KPN_VERDICT_PENDING);
		}
		nic.lengths = 0;
		nic.store_ns = 3000;
		kpn_pacer_adjtime(nic.pacer, 8 * SLOT_NS + 1000);
		nic.store_ns = 0;
		lengths += nic.lengths;
		exact_nic_run(&nic, MS);
		KPN_EXPECT_EQ_AT(t, (int)run, nic.events[KPN_EVENT_DOUBT], 0);
	}
	KPN_EXPECT(t, lengths > RUNS);
}

/*
 * Planning a slot takes longer than the slot, at a start and after steps and changes of rate: the
 * wire catches up, and what it would catch is left to slots further on. Nobody was held up, nothing
 * is in doubt, and the grid is reached.
 */
static void test_slots_shorter_than_planning_one_takes(struct kpn_selftest *t)
{
	static const u32 bytes[] = { 81, 105, 226, 500 };
	u64 seed = 6;
	u32 lengths = 0;
	u32 run;
	u32 i;

	for (run = 0; run < RUNS; run++) {
		u32 slot_bytes = bytes[run % 4];

		exact_nic_prepare(&nic);
		nic.caps.placeholder_bytes_min = 32;
		nic.caps.prefetch_slots_max = run / 4 % 16;
		kpn_config_defaults(&nic.config, &nic.caps, 1000000000, slot_bytes);
		nic.config.ring_slots = 256;
		nic.config.depth_slots = 255 - run % 64;
		nic.config.batch_slots = 64;
		nic.config.budget_frames = 256;
		nic.config.trim_down_bytes = 16;
		nic.config.trim_up_bytes = 16;
		nic.store_ns = 500 + run % 8 * 450;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS + (s64)kpn_random_below(&seed, 4000)));
		kpn_pacer_adjtime(nic.pacer, 0);
		for (i = 0; i < 4; i++) {
			exact_nic_run(&nic, MS + kpn_random_below(&seed, 20000));
			KPN_EXPECT_AT(t, (int)run,
				      kpn_pacer_state(nic.pacer, nic.now_ns).lock_seq <=
					      nic.head_seq);
			kpn_pacer_adjtime(nic.pacer, (s64)kpn_random_below(&seed, 9000) - 4500);
			kpn_pacer_adjfine(nic.pacer,
					  ((s64)kpn_random_below(&seed, 100) - 50) * 65536);
		}
		exact_nic_run(&nic, MS);
		lengths += nic.lengths;
		KPN_EXPECT_EQ_AT(t, (int)run, nic.events[KPN_EVENT_DOUBT], 0);
		KPN_EXPECT_EQ_AT(t, (int)run, nic.events[KPN_EVENT_SLIP], 0);
		KPN_EXPECT_EQ_AT(t, (int)run, nic.unsafe_writes, 0);
		KPN_EXPECT_AT(t, (int)run, kpn_pacer_state(nic.pacer, nic.now_ns).synchronised);
	}
	KPN_EXPECT(t, lengths > 20 * RUNS);
}

/*
 * Frames of @frame_bytes for the next slots that can still be had, @sfd_ns after their start on the
 * grid. Return: how many were taken.
 */
static u32 fill(u64 slot_ns, u32 frame_bytes, u32 sfd_ns)
{
	struct kpn_window window = kpn_pacer_window(nic.pacer, nic.now_ns);
	u64 slot = window.first_seq + kpn_pacer_state(nic.pacer, nic.now_ns).base;
	u32 taken = 0;
	u8 i;

	for (i = 0; i < FRAMES; i++) {
		frames[i] = exact_frame((u8)(i + 1), frame_bytes, 0,
					(s64)((slot + i) * slot_ns + sfd_ns));
		taken += kpn_pacer_submit(nic.pacer, &frames[i]) == KPN_VERDICT_PENDING;
	}
	return taken;
}

/* Frames reported on time started there, by no more than the configuration promises. */
static u32 expect_on_time_is_true(struct kpn_selftest *t, u32 run, u32 rate_ppb)
{
	return exact_expect_on_time(t, (int)run, frames, FRAMES,
				    kpn_pacer_bounds(nic.pacer, rate_ppb, 0));
}

/*
 * On the way to the grid the rate changes, and the grid is reached later than was planned for
 * frames.
 */
static void test_the_grid_moves_off_while_it_is_reached(struct kpn_selftest *t)
{
	u32 on_time = 0;
	u32 stale = 0;
	u64 seed = 2;
	u32 run;

	for (run = 0; run < RUNS; run++) {
		exact_nic_prepare(&nic);
		nic.config.depth_slots = 60;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 2 * MS);
		kpn_pacer_adjtime(nic.pacer, 1000 + (s64)kpn_random_below(&seed, 3900));
		exact_nic_go(&nic, kpn_random_below(&seed, 20000));
		fill(SLOT_NS, 200, 64);
		kpn_pacer_adjfine(nic.pacer, ((s64)kpn_random_below(&seed, 100) - 50) * 65536);
		exact_nic_run(&nic, MS);
		on_time += expect_on_time_is_true(t, run, 50000);
		stale += nic.outcomes[KPN_VERDICT_SENT_STALE];
	}
	KPN_EXPECT(t, on_time > RUNS);
	KPN_EXPECT(t, stale > 0);
}

/* 160 ns a slot at 10 Gb/s: many pass between looking at the head and storing lengths. */
static void prepare_fast(const u16 *allowed)
{
	exact_nic_prepare(&nic);
	nic.caps.placeholder_bytes_min = 22;
	nic.caps.prefetch_slots_max = 3;
	nic.caps.restart_ns_min = 100;
	nic.caps.restart_ns_max = 400;
	kpn_config_defaults(&nic.config, &nic.caps, 10000000000ull, 180);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 200;
	nic.config.batch_slots = 16;
	nic.config.allowed = allowed;
	nic.config.partition_slots = 5;
	nic.config.trim = KPN_TRIM_RESERVED;
	nic.config.trim_down_bytes = 4;
	nic.config.trim_up_bytes = 4;
}

/*
 * Slots that were trimmed as nobody's belong to a class after a switch of tables, which comes too
 * late to make the nearest of them as long as its frames.
 */
static void test_reserved_slots_are_given_away_when_they_are_whole(struct kpn_selftest *t)
{
	static const u16 before[] = { 0, 0xffff, 0xffff, 0xffff, 0xffff };
	static const u16 after[] = { 0xffff, 0xffff, 0, 0xffff, 0xffff };
	static u64 memory[64];
	struct kpn_partition next;
	u32 on_time = 0;
	u32 taken = 0;
	u64 seed = 3;
	u32 run;
	u32 i;

	KPN_EXPECT(t, kpn_partition_bytes(5) <= sizeof(memory));
	kpn_partition_init(&next, memory, after, 5);
	for (run = 0; run < RUNS; run++) {
		prepare_fast(before);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, MS / 10);
		kpn_pacer_adjfine(nic.pacer, (run % 2 ? 3000 : -3000) * 65536ll);
		exact_nic_run(&nic, MS / 5 + kpn_random_below(&seed, 2000));
		KPN_EXPECT_EQ(t, kpn_pacer_set_partition(nic.pacer, &next, 0), 0);
		exact_nic_poll(&nic, 1000 + kpn_random_below(&seed, 6000));
		for (i = 0; i < OTHERS; i++) {
			others[i] = exact_frame((u8)(FRAMES + 1 + i), 180, 0, -1);
			kpn_pacer_submit(nic.pacer, &others[i]);
		}
		taken += fill(160, 180, 7);
		exact_nic_run(&nic, MS / 10);
		on_time += expect_on_time_is_true(t, run, 3000000);
	}
	KPN_EXPECT(t, taken > RUNS * FRAMES / 2);
	KPN_EXPECT(t, on_time > taken / 2);
}

/*
 * A frame for a slot that is still as short as it was when it belonged to nobody makes it whole.
 * The CPU is held up before that store: the slot may have left with either length.
 */
static void test_held_up_while_a_slot_is_made_whole(struct kpn_selftest *t)
{
	static const u16 before[] = { 0, 0xffff, 0xffff, 0xffff, 0xffff };
	static const u16 after[] = { 0xffff, 0xffff, 0, 0xffff, 0xffff };
	static u64 memory[64];
	struct kpn_partition next;
	u32 doubted = 0;
	u32 run;

	kpn_partition_init(&next, memory, after, 5);
	for (run = 0; run < 10; run++) {
		struct kpn_state was;
		u64 slot;

		prepare_fast(before);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		kpn_pacer_adjtime(nic.pacer, 0);
		exact_nic_run(&nic, MS / 10);
		kpn_pacer_adjfine(nic.pacer, 3000 * 65536ll);
		exact_nic_run(&nic, MS / 5 + run * 16);
		KPN_EXPECT_EQ(t, kpn_pacer_set_partition(nic.pacer, &next, 0), 0);
		was = kpn_pacer_state(nic.pacer, nic.now_ns);
		slot = kpn_pacer_window(nic.pacer, nic.now_ns).first_seq + was.base + 35;
		slot -= slot % 5;
		frames[0] = exact_frame(1, 180, 0, (s64)slot * 160 + 6);
		nic.store_ns = 10000;
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[0]), KPN_VERDICT_PENDING);
		nic.store_ns = 0;
		exact_nic_run(&nic, MS / 10);
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_IN_DOUBT], 1);
		KPN_EXPECT_AT(t, (int)run, head_is_true());
		doubted += !kpn_pacer_state(nic.pacer, nic.now_ns).synchronised;
	}
	KPN_EXPECT_EQ(t, doubted, 10);
}

/*
 * Frames that are where they were moved to, when the clock goes back and they cannot be taken back
 * any more: they leave before their own slots, so none may be reported as left in a later one.
 */
static void test_moved_before_a_step_that_comes_too_late(struct kpn_selftest *t)
{
	u64 slot;
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.classes[1].late = KPN_LATE_RELAXED;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, MS);
	slot = kpn_pacer_window(nic.pacer, nic.now_ns).first_seq +
	       kpn_pacer_state(nic.pacer, nic.now_ns).base + 4;
	for (i = 0; i < 3; i++) {
		frames[i] = exact_frame((u8)(i + 1), 200, 1, (s64)slot * SLOT_NS + 64);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]), KPN_VERDICT_PENDING);
	}
	while (nic.head_seq < frames[1].seq)
		exact_nic_go(&nic, 100);
	kpn_pacer_adjtime(nic.pacer, -(s64)MS);
	exact_nic_run(&nic, MS / 5);
	KPN_EXPECT_EQ(t, nic.verdict_of[1], KPN_VERDICT_SENT_STALE);
	KPN_EXPECT_EQ(t, nic.verdict_of[2], KPN_VERDICT_SENT_STALE);
	KPN_EXPECT_EQ(t, nic.verdict_of[3], KPN_VERDICT_SENT_STALE);
}

/*
 * While frames are reviewed a frame that was moved may stay where it is: nothing takes it out for
 * another one, and none is reported as stepped without a step.
 */
static void test_moved_frames_keep_their_slots_in_a_review(struct kpn_selftest *t)
{
	static const u16 allowed[] = { 0, 1, 0, 0 };
	u64 slot;

	exact_nic_prepare(&nic);
	nic.config.allowed = allowed;
	nic.config.partition_slots = 4;
	nic.config.classes[0].late = KPN_LATE_RELAXED;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	/* what the start has to review waits for the first poll */
	slot = kpn_pacer_state(nic.pacer, nic.now_ns).base + 40;
	slot -= slot % 4;
	frames[0] = exact_frame(1, 200, 0, (s64)slot * SLOT_NS + 64);
	frames[1] = exact_frame(2, 200, 0, (s64)(slot + 1) * SLOT_NS + 64);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[0]), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[1]), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, kpn_pacer_stats(nic.pacer)->recalled, 0);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_MOVED], 2);
	KPN_EXPECT(t, frames[0].seq < frames[1].seq);
}

/*
 * Where a frame is that needs all of its slot the trim that would reach the grid is not made: the
 * grid is reached later, and frames before that are not on time.
 */
static void test_the_grid_is_not_reached_by_a_trim_that_is_not_made(struct kpn_selftest *t)
{
	static const u16 allowed[] = { 0, 0xffff, 0xffff, 0xffff, 0xffff };
	u32 reported = 0;
	u64 seed = 5;
	u32 run;

	for (run = 0; run < RUNS; run++) {
		exact_nic_prepare(&nic);
		nic.config.allowed = allowed;
		nic.config.partition_slots = 5;
		nic.config.trim = KPN_TRIM_RESERVED;
		nic.config.trim_down_bytes = 64;
		nic.config.trim_up_bytes = 64;
		nic.config.depth_slots = 60;
		nic.config.prebuffer_frames = 64;
		nic.config.budget_frames = 8;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 2 * MS + kpn_random_below(&seed, 60000));
		fill(SLOT_NS, 1230, 64);
		kpn_pacer_adjtime(nic.pacer, (1 + (s64)kpn_random_below(&seed, 4)) * SLOT_NS +
						     (s64)kpn_random_below(&seed, 600));
		exact_nic_run(&nic, 2 * MS);
		expect_on_time_is_true(t, run, 0);
		reported +=
			nic.outcomes[KPN_VERDICT_SENT_STALE] + nic.outcomes[KPN_VERDICT_STEPPED];
	}
	KPN_EXPECT(t, reported > RUNS);
}

void kpn_test_replan(struct kpn_selftest *t)
{
	test_held_up_while_lengths_are_stored(t);
	test_what_a_step_does_first_takes_time(t);
	test_slots_shorter_than_planning_one_takes(t);
	test_the_grid_moves_off_while_it_is_reached(t);
	test_reserved_slots_are_given_away_when_they_are_whole(t);
	test_held_up_while_a_slot_is_made_whole(t);
	test_the_grid_is_not_reached_by_a_trim_that_is_not_made(t);
	test_moved_before_a_step_that_comes_too_late(t);
	test_moved_frames_keep_their_slots_in_a_review(t);
}
