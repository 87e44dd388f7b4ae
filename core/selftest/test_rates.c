/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rates: how fast the clock may be made, and what is reported of frames while slots follow a new
 * rate or a step that they cannot follow at once.
 */
#include "exact_nic.h"
#include "keepon/errno.h"

#define SLOT_NS 10000ll
#define START_NS 2000000000ll
#define MS 1000000ull
#define PPM 65536ll

enum { FRAMES = 60, HELD = 16 };

static struct exact_nic nic;
static struct kpn_frame frames[FRAMES];
static struct kpn_frame held[HELD];

/* Frames for slots @from and after, of the class of @tc. */
static void fill(u64 from, u8 tc)
{
	u64 base = kpn_pacer_state(nic.pacer, nic.now_ns).base;
	u8 i;

	for (i = 0; i < FRAMES; i++) {
		frames[i] =
			exact_frame((u8)(i + 1), 200, tc, (s64)(from + base + i) * SLOT_NS + 64);
		kpn_pacer_submit(nic.pacer, &frames[i]);
	}
}

/* Frames reported on time are where the grid is, by no more than is promised. Return: how many. */
static u32 expect_on_time_is_true(struct kpn_selftest *t, u32 rate_ppb)
{
	return exact_expect_on_time(t, 0, frames, FRAMES,
				    kpn_pacer_bounds(nic.pacer, rate_ppb, rate_ppb));
}

static void start(struct kpn_selftest *t, u32 ring_slots, u32 depth_slots, u32 prebuffer_frames)
{
	nic.config.ring_slots = ring_slots;
	nic.config.depth_slots = depth_slots;
	nic.config.prebuffer_frames = prebuffer_frames;
	nic.config.budget_frames = 256;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	kpn_pacer_adjtime(nic.pacer, 0);
	exact_nic_run(&nic, 3 * MS);
}

/*
 * The rate is set, to what it is, where slots are so short that some pass between two readings of
 * the CPU counter: they stay on the grid, and frames in them are on time.
 */
static void test_slots_that_pass_while_a_rate_is_set(struct kpn_selftest *t)
{
	u32 on_time;
	u32 call;

	exact_nic_prepare(&nic);
	kpn_config_defaults(&nic.config, &nic.caps, 10000000000ull, 100);
	nic.config.ring_slots = 256;
	nic.config.depth_slots = 240;
	nic.config.batch_slots = 16;
	nic.cpu_read_ns = 80;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	kpn_pacer_adjtime(nic.pacer, 0);
	exact_nic_run(&nic, 3 * MS);
	for (call = 0; call < 20; call++) {
		s64 from_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
		u32 stale = nic.outcomes[KPN_VERDICT_SENT_STALE];
		u32 i;

		on_time = nic.outcomes[KPN_VERDICT_ON_TIME];
		for (i = 0; i < FRAMES; i++) {
			frames[i] = exact_frame((u8)(i + 1), 64, 0, from_ns + 8000 + i * 192);
			kpn_pacer_submit(nic.pacer, &frames[i]);
		}
		kpn_pacer_adjfine(nic.pacer, 0);
		exact_nic_run(&nic, MS);
		KPN_EXPECT_AT(t, (int)call, nic.outcomes[KPN_VERDICT_ON_TIME] > on_time + 20);
		KPN_EXPECT_EQ_AT(t, (int)call, nic.outcomes[KPN_VERDICT_SENT_STALE], stale);
	}
}

/*
 * A rate that trims cannot follow is refused whatever its sign, and the nearest that they can is
 * not.
 */
static void test_a_rate_beyond_the_trims_is_refused(struct kpn_selftest *t)
{
	static const u32 trims[][2] = { { 4, 4 }, { 16, 2 }, { 1, 16 }, { 16, 16 } };
	u32 i;

	for (i = 0; i < sizeof(trims) / sizeof(trims[0]); i++) {
		u32 least = trims[i][0] < trims[i][1] ? trims[i][0] : trims[i][1];
		u32 share_ppb;
		u32 most_ppb;
		s64 most;

		exact_nic_prepare(&nic);
		nic.config.trim_down_bytes = trims[i][0];
		nic.config.trim_up_bytes = trims[i][1];
		start(t, 256, 64, 256);
		most_ppb = kpn_pacer_rate_ppb_max(nic.pacer);
		/* of a slot of 1250 bytes of wire time, and of the trim itself */
		share_ppb = (u32)(least * 1000000000ull / (1250 + least));
		KPN_EXPECT(t, most_ppb <= share_ppb);
		KPN_EXPECT(t, most_ppb > share_ppb - 1000 || most_ppb == KPN_ADJ_PPB_MAX);
		KPN_EXPECT(t, kpn_pacer_bounds(nic.pacer, most_ppb, 0).lock_slots != ~0ull);
		KPN_EXPECT(t, kpn_pacer_bounds(nic.pacer, most_ppb + 1000, 0).lock_slots == ~0ull ||
				      most_ppb == KPN_ADJ_PPB_MAX);
		most = (s64)most_ppb * 65536 / 1000;
		KPN_EXPECT_EQ(t, kpn_pacer_adjfine(nic.pacer, most), 0);
		KPN_EXPECT_EQ(t, kpn_pacer_adjfine(nic.pacer, -most), 0);
		KPN_EXPECT_EQ(t, kpn_pacer_adjfine(nic.pacer, most + 66), -KPN_ERANGE);
		KPN_EXPECT_EQ(t, kpn_pacer_adjfine(nic.pacer, -most - 66), -KPN_ERANGE);
		KPN_EXPECT_EQ(t, kpn_pacer_adjfine(nic.pacer, (s64)(1ull << 62)), -KPN_ERANGE);
		KPN_EXPECT_EQ(t, kpn_pacer_clock(nic.pacer)->scaled_ppm, -most);
	}
}

/* Without trims any rate will do; where few slots may be trimmed their distance counts. */
static void test_what_a_rate_is_measured_by(struct kpn_selftest *t)
{
	static const u16 allowed[] = { 0, 0xffff, 0xffff, 0xffff, 0xffff };

	exact_nic_paper(&nic, 32, 8);
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	KPN_EXPECT_EQ(t, kpn_pacer_rate_ppb_max(nic.pacer), KPN_ADJ_PPB_MAX);
	exact_nic_prepare(&nic);
	nic.config.allowed = allowed;
	nic.config.partition_slots = 5;
	nic.config.trim = KPN_TRIM_RESERVED;
	nic.config.trim_down_bytes = 5;
	nic.config.trim_up_bytes = 5;
	start(t, 256, 64, 256);
	KPN_EXPECT(t, kpn_pacer_rate_ppb_max(nic.pacer) <= 800000);
	KPN_EXPECT(t, kpn_pacer_rate_ppb_max(nic.pacer) > 799000);
}

/*
 * More slots need new lengths than one call may store, and the next poll is late: by less than what
 * was planned, by more, and by so much that nothing was changed in time.
 */
static void test_the_wire_overtakes_what_follows_a_rate(struct kpn_selftest *t)
{
	u32 stale = 0;
	u32 late;

	for (late = 1; late <= 221; late += 10) {
		u64 head;
		u32 on_time;

		exact_nic_prepare(&nic);
		start(t, 256, 240, 256);
		head = kpn_pacer_state(nic.pacer, nic.now_ns).head_seq;
		fill(head + (late < 160 ? late + 2 : 150), 0);
		kpn_pacer_adjfine(nic.pacer, 1000 * PPM);
		exact_nic_go(&nic, late * SLOT_NS);
		exact_nic_run(&nic, 4 * MS);
		on_time = expect_on_time_is_true(t, 1000000);
		KPN_EXPECT_AT(t, (int)late, on_time == FRAMES || late > 50);
		stale += nic.outcomes[KPN_VERDICT_SENT_STALE];
	}
	KPN_EXPECT(t, stale > FRAMES);
}

/* While nobody knows where the wire is none of what is posted can be given other lengths. */
static void test_a_rate_while_the_head_is_not_believed(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	start(t, 256, 240, 256);
	fill(kpn_pacer_state(nic.pacer, nic.now_ns).tail_seq + 2, 0);
	nic.index_lie = 250; /* beyond what is posted */
	while (!nic.events[KPN_EVENT_SLIP])
		exact_nic_poll(&nic, 20000);
	nic.index_lie = 0;
	kpn_pacer_adjtime(nic.pacer, 0);
	KPN_EXPECT(t, !kpn_pacer_head(nic.pacer, nic.now_ns).valid);
	kpn_pacer_adjfine(nic.pacer, 1000 * PPM);
	exact_nic_run(&nic, 4 * MS);
	expect_on_time_is_true(t, 1000000);
	KPN_EXPECT(t, nic.outcomes[KPN_VERDICT_SENT_STALE] > 0);
}

/* A shift by nothing says that the clock is right, and moves no slot. */
static void test_a_shift_by_nothing_makes_no_frame_stale(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	start(t, 256, 240, 256);
	fill(kpn_pacer_window(nic.pacer, nic.now_ns).first_seq, 0);
	exact_nic_go(&nic, 100000);
	nic.events[KPN_EVENT_STEP] = 0;
	KPN_EXPECT_EQ(t, kpn_pacer_adjtime(nic.pacer, 0), 0);
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], FRAMES);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STEP], 1);
	KPN_EXPECT(t, kpn_pacer_state(nic.pacer, nic.now_ns).synchronised);
}

/* A clock read as a staircase takes a new rate from the last poll on, which the bound has in it. */
static void test_a_staircase_changes_its_rate_in_the_past(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	nic.config.clock_read = KPN_CLOCK_COUNTER;
	nic.config.batch_slots = 60;
	start(t, 256, 240, 256);
	exact_nic_go(&nic, 550000);
	fill(kpn_pacer_window(nic.pacer, nic.now_ns).first_seq, 0);
	kpn_pacer_adjfine(nic.pacer, 1000 * PPM);
	exact_nic_run(&nic, 4 * MS);
	KPN_EXPECT_EQ(t, expect_on_time_is_true(t, 1000000), FRAMES);
}

/*
 * Nobody has polled for long when the rate changes: a staircase turns far behind the wire, so that
 * what is posted leaves the grid by more than is promised. Frames there are not reported on time.
 */
static void test_a_rate_after_a_late_poll(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	nic.config.clock_read = KPN_CLOCK_COUNTER;
	nic.config.trim_down_bytes = 16; /* which follow the greatest rate */
	nic.config.trim_up_bytes = 16;
	start(t, 256, 240, 256);
	exact_nic_go(&nic, 1500000);
	fill(kpn_pacer_window(nic.pacer, nic.now_ns).first_seq, 0);
	kpn_pacer_adjfine(nic.pacer, 10000 * PPM);
	exact_nic_run(&nic, 4 * MS);
	expect_on_time_is_true(t, 10000000);
	KPN_EXPECT(t, nic.outcomes[KPN_VERDICT_SENT_STALE] + nic.outcomes[KPN_VERDICT_STEPPED] > 0);
}

/* A slower clock makes the bytes of a trim shorter, too: the greatest rate has that in it. */
static void test_trims_follow_the_greatest_rate_either_way(struct kpn_selftest *t)
{
	u32 trim;
	s32 sign;

	for (trim = 1; trim <= 10; trim++) {
		for (sign = -1; sign <= 1; sign += 2) {
			exact_nic_prepare(&nic);
			nic.config.trim_down_bytes = trim;
			nic.config.trim_up_bytes = trim;
			start(t, 256, 64, 256);
			kpn_pacer_adjfine(nic.pacer, sign * kpn_pacer_scaled_ppm_max(nic.pacer));
			exact_nic_run(&nic, 200 * MS);
			fill(kpn_pacer_window(nic.pacer, nic.now_ns).first_seq + 8, 0);
			exact_nic_run(&nic, 4 * MS);
			KPN_EXPECT_EQ_AT(
				t, sign * (int)trim,
				expect_on_time_is_true(t, kpn_pacer_rate_ppb_max(nic.pacer)),
				FRAMES);
		}
	}
}

/*
 * A relaxed frame that waited for another slot than its own has its own ahead of it again after a
 * step: frames of its class that come after it do not wait for that.
 */
static void step_back(struct kpn_selftest *t, bool many_held)
{
	static const u16 allowed[] = { 0xffff, 0xfffd, 0xfffd, 0xfffd,
				       0xfffd, 0xfffd, 0xfffd, 0xfffd };
	u64 slot;
	u32 ended;
	u8 i;

	exact_nic_prepare(&nic);
	nic.config.allowed = allowed;
	nic.config.partition_slots = 8;
	nic.config.classes[1].late = KPN_LATE_RELAXED;
	start(t, 64, 32, HELD);
	slot = kpn_pacer_window(nic.pacer, nic.now_ns).first_seq +
	       kpn_pacer_state(nic.pacer, nic.now_ns).base + 16;
	slot -= slot % 8;
	for (i = 0; i < HELD && many_held; i++) {
		held[i] = exact_frame((u8)(i + 40), 200, 1, (s64)(slot + 100000) * SLOT_NS + 64);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &held[i]), KPN_VERDICT_PENDING);
	}
	for (i = 0; i < 12; i++) {
		frames[i] = exact_frame((u8)(i + 1), 200, 1, (s64)slot * SLOT_NS + 64);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]), KPN_VERDICT_PENDING);
	}
	exact_nic_poll(&nic, 20000);
	KPN_EXPECT_EQ(t, kpn_pacer_adjtime(nic.pacer, -1000 * (s64)MS), 0);
	slot = kpn_pacer_window(nic.pacer, nic.now_ns).first_seq +
	       kpn_pacer_state(nic.pacer, nic.now_ns).base + 16;
	slot -= slot % 8;
	ended = nic.outcomes[KPN_VERDICT_MOVED] + nic.outcomes[KPN_VERDICT_ON_TIME];
	for (i = 12; i < 20; i++) {
		frames[i] = exact_frame((u8)(i + 1), 200, 1, (s64)slot * SLOT_NS + 64);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]), KPN_VERDICT_PENDING);
	}
	exact_nic_run(&nic, 5 * MS);
	ended = nic.outcomes[KPN_VERDICT_MOVED] + nic.outcomes[KPN_VERDICT_ON_TIME] - ended;
	KPN_EXPECT_EQ(t, ended, 8);
}

static void test_a_step_back_blocks_no_class(struct kpn_selftest *t)
{
	step_back(t, false);
	step_back(t, true);
}

/* The horizon is a time, whatever the rounding of a slot's: 512 slots of 38.4 ns are 19661 ns. */
static void test_the_horizon_is_as_far_as_it_is_said(struct kpn_selftest *t)
{
	u64 slot;

	exact_nic_prepare(&nic);
	kpn_config_defaults(&nic.config, &nic.caps, 25000000000ull, 100);
	nic.config.horizon_ns = 19661;
	nic.config.prebuffer_frames = 4;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, MS);
	slot = kpn_pacer_state(nic.pacer, nic.now_ns).head_seq +
	       kpn_pacer_state(nic.pacer, nic.now_ns).base;
	frames[0] = exact_frame(1, 64, 0, (s64)((slot + 509) * 38400 / 1000) + 10);
	frames[1] = exact_frame(2, 64, 0, (s64)((slot + 515) * 38400 / 1000) + 10);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[0]), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[1]), KPN_VERDICT_TOO_EARLY);
}

void kpn_test_rates(struct kpn_selftest *t)
{
	test_a_rate_beyond_the_trims_is_refused(t);
	test_what_a_rate_is_measured_by(t);
	test_the_wire_overtakes_what_follows_a_rate(t);
	test_a_rate_while_the_head_is_not_believed(t);
	test_a_shift_by_nothing_makes_no_frame_stale(t);
	test_a_staircase_changes_its_rate_in_the_past(t);
	test_a_rate_after_a_late_poll(t);
	test_trims_follow_the_greatest_rate_either_way(t);
	test_a_step_back_blocks_no_class(t);
	test_the_horizon_is_as_far_as_it_is_said(t);
	test_slots_that_pass_while_a_rate_is_set(t);
}
