/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* lasting: what was wrong once is over at some time, and what is dead is found dead. */
#include "../src/kpn_pacer_state.h"
#include "exact_nic.h"

#define START_NS 2000000000ll
#define MS 1000000ull

enum { FRAMES = 100, HELD = 40 };

static struct exact_nic nic;
static struct kpn_frame frames[FRAMES];

/* A fetch index up to nine slots ahead, of twenty posted, polled every @poll_ns. */
static void prepare_fetching(u32 prefetch_slots, u64 poll_ns)
{
	exact_nic_prepare(&nic);
	nic.caps.index_counts_done = false;
	nic.caps.prefetch_slots_max = prefetch_slots;
	nic.caps.index_to_wire_ns_min = 0;
	nic.caps.index_to_wire_ns_max = 90000;
	nic.config.depth_slots = 20;
	nic.config.batch_slots = 1;
	nic.poll_ns = poll_ns;
}

/*
 * A CPU that was held up while it stored lengths, where the index waits for a doorbell: what is
 * doubted is doubted once, and slots are posted again.
 */
static void test_a_doubt_does_not_grow(struct kpn_selftest *t)
{
	u32 doubted = 0;
	u32 held_us;

	for (held_us = 10; held_us <= 200; held_us += 10) {
		u64 error_ps = 0;
		u32 doorbells;
		u64 starts;
		u32 i;

		prepare_fetching(8, 2000);
		nic.config.trim_down_bytes = 200;
		nic.config.trim_up_bytes = 200;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 2 * MS);
		nic.late_store_ns = held_us * 1000;
		kpn_pacer_adjtime(nic.pacer, 4900);
		nic.late_store_ns = 0;
		exact_nic_collect(&nic);
		doubted += nic.events[KPN_EVENT_DOUBT];
		for (i = 0; i < 500; i++) {
			exact_nic_poll(&nic, 2000);
			if (error_ps < kpn_pacer_state(nic.pacer, nic.now_ns).clock_error_ps)
				error_ps = kpn_pacer_state(nic.pacer, nic.now_ns).clock_error_ps;
		}
		/* what the index leaves open, the hold-up, and what is doubted */
		KPN_EXPECT_AT(t, (int)held_us, error_ps < 120000000 + held_us * 1000000);
		exact_nic_run(&nic, 5 * MS);
		doorbells = nic.doorbells;
		starts = nic.idle_starts;
		exact_nic_run(&nic, 2 * MS);
		KPN_EXPECT_AT(t, (int)held_us, nic.doorbells > doorbells + 150);
		KPN_EXPECT_EQ_AT(t, (int)held_us, nic.idle_starts, starts);
		kpn_pacer_adjtime(nic.pacer, 0);
		exact_nic_run(&nic, 2 * MS);
		KPN_EXPECT_AT(t, (int)held_us, kpn_pacer_state(nic.pacer, nic.now_ns).synchronised);
	}
	KPN_EXPECT(t, doubted > 5);
}

/* An index that stands still, and every few readings is none: dead all the same, and in time. */
static void test_a_dead_index_that_also_lies(struct kpn_selftest *t)
{
	u32 every;

	for (every = 2; every < 20; every++) {
		u64 stall_ns;
		u32 polls = 0;
		u64 dead_ns;

		exact_nic_prepare(&nic);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 2 * MS);
		stall_ns = kpn_pacer_limits(nic.pacer).stall_ns;
		nic.frozen = true;
		dead_ns = nic.now_ns;
		while (!nic.events[KPN_EVENT_STALLED] && nic.now_ns < dead_ns + 100 * MS) {
			nic.frozen_index =
				(u32)nic.pacer->ring.index_seq + (++polls % every ? 0 : 60);
			exact_nic_poll(&nic, 20000);
		}
		KPN_EXPECT_AT(t, (int)every, nic.now_ns - dead_ns < stall_ns + MS);
	}
}

/* Refused at every reading, where little of the time between two polls is slept: dead in time. */
static void test_a_dead_index_that_is_refused(struct kpn_selftest *t)
{
	u32 overhead_us;

	for (overhead_us = 0; overhead_us < 40; overhead_us += 3) {
		u64 stall_ns;
		u64 dead_ns;

		exact_nic_prepare(&nic);
		nic.config.poll_overhead_ns = overhead_us * 1000;
		nic.config.depth_slots = 32;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 2 * MS);
		stall_ns = kpn_pacer_limits(nic.pacer).stall_ns;
		nic.index_lie = 60;
		dead_ns = nic.now_ns;
		while (!nic.events[KPN_EVENT_STALLED] && nic.now_ns < dead_ns + 100 * MS)
			exact_nic_poll(&nic, 40000);
		KPN_EXPECT_AT(t, (int)overhead_us, nic.now_ns - dead_ns < stall_ns + 100000);
	}
}

/* Readings that are refused, with long pauses in between, say little about the NIC. */
static void test_refused_readings_far_apart(struct kpn_selftest *t)
{
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 240;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 2 * MS);
	nic.index_lie = 250;
	for (i = 0; i < 3; i++)
		exact_nic_poll(&nic, kpn_pacer_limits(nic.pacer).stall_ns + 1000);
	nic.index_lie = 0;
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STALLED], 0);
}

/* Held up once while it copied a frame that may be a little late: those behind it are not lost. */
static void test_late_frames_after_one_hold_up(struct kpn_selftest *t)
{
	u32 late = 0;
	u32 i;

	exact_nic_prepare(&nic);
	nic.config.depth_slots = 60;
	nic.config.batch_slots = 2;
	nic.config.budget_frames = 64;
	for (i = 0; i < KPN_CLASS_COUNT; i++)
		nic.config.classes[i].late = KPN_LATE_RELAXED;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 3 * MS);
	for (i = 0; i < FRAMES; i++) {
		s64 now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;

		frames[i] = exact_frame((u8)(i + 1), 200, 0, now_ns - 100000);
		nic.copy_ns = i ? 0 : 300000;
		if (kpn_pacer_submit(nic.pacer, &frames[i]) != KPN_VERDICT_PENDING)
			late++;
		nic.copy_ns = 0;
		exact_nic_run(&nic, MS / 10);
	}
	KPN_EXPECT(t, late < 10);
}

/*
 * The greatest rate shortens slots: with as little posted as is accepted the wire is never thought
 * to have stood.
 */
static void test_the_greatest_rate_with_the_least_posted(struct kpn_selftest *t)
{
	u32 kind;

	for (kind = 0; kind < 4; kind++) {
		s32 ppb;

		exact_nic_prepare(&nic);
		nic.caps.restart_ns_max = 10000;
		nic.caps.index_to_wire_ns_min = -7000;
		nic.caps.index_to_wire_ns_max = -500;
		kpn_config_defaults(&nic.config, &nic.caps, 1000000000, 72);
		nic.lag_ns = 500 + kind / 2 * 200;
		nic.config.ring_slots = 256;
		nic.config.depth_slots = 250;
		nic.config.batch_slots = 240;
		nic.config.budget_frames = 512;
		nic.config.dither = false;
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		/* it was late once: all that is known comes from readings since */
		nic.bell_ns = MS;
		exact_nic_run(&nic, 10 * MS);
		kpn_pacer_adjtime(nic.pacer, 0);
		ppb = (s32)kpn_pacer_rate_ppb_max(nic.pacer) * (kind & 1 ? 1 : -1);
		KPN_EXPECT_EQ(t, kpn_pacer_adjfine(nic.pacer, (s64)ppb * 65536 / 1000), 0);
		exact_nic_run(&nic, 10 * MS);
		nic.events[KPN_EVENT_SUSPECTED_UNDERRUN] = 0;
		exact_nic_run(&nic, 100 * MS);
		KPN_EXPECT_EQ_AT(t, (int)kind, nic.events[KPN_EVENT_SUSPECTED_UNDERRUN], 0);
	}
}

/*
 * The rate changes while nobody knows where the wire is: what is posted goes far off the grid, to
 * which the way is to the nearest slot.
 */
static void test_a_rate_that_is_set_blindly(struct kpn_selftest *t)
{
	u64 from;
	u64 lock_seq;
	s32 ppb;

	exact_nic_prepare(&nic);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 240;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 3 * MS);
	ppb = (s32)kpn_pacer_rate_ppb_max(nic.pacer) / 10 * 9;
	nic.index_lie = 250;
	exact_nic_poll(&nic, 20000);
	nic.index_lie = 0;
	from = nic.tail_seq;
	kpn_pacer_adjfine(nic.pacer, (s64)ppb * 65536 / 1000);
	exact_nic_run(&nic, 20 * MS);
	lock_seq = kpn_pacer_state(nic.pacer, nic.now_ns).lock_seq;
	KPN_EXPECT(t, lock_seq != KPN_SEQ_NEVER && lock_seq >= from);
	KPN_EXPECT(t, lock_seq - from <=
			      kpn_pacer_bounds(nic.pacer, (u32)ppb, (u32)ppb).lock_slots + 1);
}

/*
 * The wire is reported a millisecond later than believed, more than the ring holds: what the index
 * says all the same, that the last slot is fetched, brings the bound back, and slots are posted
 * before it stands.
 */
static void test_a_wire_that_was_thought_far_back(struct kpn_selftest *t)
{
	u64 starts;

	prepare_fetching(30, 1000);
	nic.caps.restart_ns_min = 9000;
	nic.caps.restart_ns_max = 9000;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 2 * MS);
	kpn_pacer_delay(nic.pacer, MS * 1000);
	exact_nic_run(&nic, 5 * MS);
	starts = nic.idle_starts;
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT_EQ(t, nic.idle_starts, starts);
	kpn_pacer_adjtime(nic.pacer, 0);
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT(t, kpn_pacer_state(nic.pacer, nic.now_ns).synchronised);
}

/* A ring nearly all of which is posted: hardly a reading of its index is outside. */
static bool start_nearly_full(bool counts_done)
{
	exact_nic_prepare(&nic);
	nic.caps.index_counts_done = counts_done;
	nic.caps.index_to_wire_ns_max = counts_done ? 0 : 20000;
	nic.caps.index_modulus = nic.config.ring_slots;
	nic.config.depth_slots = nic.config.ring_slots - 1;
	if (!exact_nic_start(&nic, START_NS))
		return false;
	exact_nic_run(&nic, 2 * MS);
	return !kpn_pacer_adjtime(nic.pacer, 0);
}

static void submit_all(struct kpn_selftest *t)
{
	s64 now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
	u32 i;

	for (i = 0; i < HELD; i++) {
		frames[i] = exact_frame((u8)(i + 1), 200, 0, now_ns + (s64)(i + 8) * 10000);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]), KPN_VERDICT_PENDING);
	}
}

/* One wrong reading is further on than any wire comes in that time: no frame is taken for sent. */
static void test_one_wrong_reading(struct kpn_selftest *t)
{
	u32 kind;

	for (kind = 0; kind < 8; kind++) {
		KPN_EXPECT(t, start_nearly_full(kind & 1));
		submit_all(t);
		nic.index_lie = kind & 2 ? 40 : nic.config.ring_slots - 5;
		if (kind & 4) {
			exact_nic_stop(&nic);
			KPN_EXPECT_EQ_AT(t, (int)kind, nic.outcomes[KPN_VERDICT_FLUSHED], HELD);
			continue;
		}
		exact_nic_poll(&nic, 30000);
		nic.index_lie = 0;
		exact_nic_run(&nic, 5 * MS);
		KPN_EXPECT_EQ_AT(t, (int)kind, nic.log_count, HELD);
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], HELD);
		KPN_EXPECT_EQ(t, kpn_pacer_stats(nic.pacer)->index_errors, 1);
		KPN_EXPECT_EQ(t, kpn_pacer_stats(nic.pacer)->slips, 0);
		KPN_EXPECT_EQ(t, nic.idle_starts, 1);
		KPN_EXPECT(t, nic.head_seq - kpn_pacer_state(nic.pacer, nic.now_ns).head_seq < 10);
		KPN_EXPECT(t, kpn_pacer_state(nic.pacer, nic.now_ns).head_valid);
	}
}

/* An index that was wrong for long leaps when it is right again: that is believed, seen twice. */
static void test_a_leap_seen_twice(struct kpn_selftest *t)
{
	u32 polls = 0;

	KPN_EXPECT(t, start_nearly_full(true));
	nic.frozen_index = (u32)nic.head_seq % nic.config.ring_slots;
	nic.frozen = true;
	exact_nic_run(&nic, MS / 2);
	nic.frozen = false;
	while (nic.head_seq - kpn_pacer_state(nic.pacer, nic.now_ns).head_seq > 4 && polls < 10) {
		exact_nic_poll(&nic, 30000);
		polls++;
	}
	KPN_EXPECT_EQ(t, polls, 2);
	exact_nic_run(&nic, 5 * MS);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STALLED], 0);
	KPN_EXPECT(t, kpn_pacer_state(nic.pacer, nic.now_ns).head_valid);
}

void kpn_test_lasting(struct kpn_selftest *t)
{
	test_one_wrong_reading(t);
	test_a_leap_seen_twice(t);
	test_a_doubt_does_not_grow(t);
	test_a_dead_index_that_also_lies(t);
	test_a_dead_index_that_is_refused(t);
	test_refused_readings_far_apart(t);
	test_late_frames_after_one_hold_up(t);
	test_the_greatest_rate_with_the_least_posted(t);
	test_a_rate_that_is_set_blindly(t);
	test_a_wire_that_was_thought_far_back(t);
}
