/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * guard: where a guard window begins and what passes within it, late frames; and random frames on a
 * wire of the test's own, which is as slow, with notice as late, as may be.
 */
#include "keepon/errno.h"
#include "keepon/guard.h"
#include "keepon/wire.h"

#include "selftest.h"

#define MBPS 1000000ull
#define T 1000000ll /* a txtime */

static struct kpn_guard_config usual(void)
{
	return (struct kpn_guard_config){
		.rate_bps = 1000 * MBPS,
		.mtu_bytes = 1522,
		.fudge_ns = 10000,
		.tolerance_ns = 50000,
	};
}

static void test_what_a_configuration_may_say(struct kpn_selftest *t)
{
	struct kpn_guard guard = { 0 };
	struct kpn_guard_config config = usual();
	u32 i;

	KPN_EXPECT_EQ(t, kpn_guard_configure(&guard, &config), 0);
	for (i = 0; i < 6; i++) {
		struct kpn_guard_config wrong = usual();

		if (i == 0)
			wrong.rate_bps = 7;
		else if (i == 1)
			wrong.mtu_bytes = 63;
		else if (i == 2)
			wrong.mtu_bytes = 65536;
		else if (i == 3)
			wrong.fudge_ns = KPN_GUARD_FUDGE_NS_MAX + 1;
		else if (i == 4)
			wrong.tolerance_ns = KPN_GUARD_FUDGE_NS_MAX + 1;
		else
			wrong.rate_bps = 0;
		KPN_EXPECT_EQ(t, kpn_guard_configure(&guard, &wrong), -KPN_ERANGE);
		KPN_EXPECT_EQ(t, guard.config.mtu_bytes, 1522);
	}
}

/* 1522 bytes and 20 are 12336 ns at 1 Gb/s, and 200 ppm of it 2.5: 12339. */
static void test_a_window_is_the_longest_frame_and_the_fudge(struct kpn_selftest *t)
{
	struct kpn_guard guard = { 0 };
	struct kpn_guard_config config = usual();

	kpn_guard_configure(&guard, &config);
	KPN_EXPECT_EQ(t, kpn_guard_frame_ns(&guard, 1522), 12339);
	KPN_EXPECT_EQ(t, kpn_guard_frame_ns(&guard, 64), 673);
	KPN_EXPECT_EQ(t, kpn_guard_window_ns(&guard), 22339);
	KPN_EXPECT_EQ(t, kpn_guard_notice_ns(&guard), 3 * 12339 + 10000);
	config.fudge_ns = 500;
	kpn_guard_configure(&guard, &config);
	KPN_EXPECT_EQ(t, kpn_guard_window_ns(&guard), 12839);
}

/* A step at @now_ns with a frame due at T, on a wire that is free from @free_ns on. */
struct step_vector {
	int line;
	s64 now_ns;
	s64 free_ns;
	u32 other_bytes;
	enum kpn_guard_step step;
	s64 wake_ns;
};

static const struct step_vector step_vectors[] = {
	/* before the window anything goes, also if it just ends where the fudge begins */
	{ __LINE__, 0, 0, 1522, KPN_GUARD_SEND_OTHER, T },
	{ __LINE__, T - 22339, 0, 1522, KPN_GUARD_SEND_OTHER, T },
	/* within it: what is short enough */
	{ __LINE__, T - 22338, 0, 1522, KPN_GUARD_WAIT, T },
	{ __LINE__, T - 22338, 0, 1000, KPN_GUARD_SEND_OTHER, T },
	{ __LINE__, T - 10673, 0, 64, KPN_GUARD_SEND_OTHER, T },
	{ __LINE__, T - 10672, 0, 64, KPN_GUARD_WAIT, T },
	{ __LINE__, T - 1, 0, 64, KPN_GUARD_WAIT, T },
	/* it counts when the wire is free, not when it is decided */
	{ __LINE__, T - 30000, T - 22339, 1522, KPN_GUARD_SEND_OTHER, T },
	{ __LINE__, T - 30000, T - 22338, 1522, KPN_GUARD_WAIT, T },
	/* two of the longest frames are enough for the wire */
	{ __LINE__, 1000, 1000 + 2 * 12339, 64, KPN_GUARD_SEND_OTHER, T },
	{ __LINE__, 1000, 1001 + 2 * 12339, 64, KPN_GUARD_WAIT, 1001 },
	/* nothing else: until the txtime */
	{ __LINE__, 0, 0, 0, KPN_GUARD_WAIT, T },
	{ __LINE__, T, T + 500, 64, KPN_GUARD_SEND_TIMED, KPN_GUARD_NEVER_NS },
	{ __LINE__, T + 50000, 0, 64, KPN_GUARD_SEND_TIMED, KPN_GUARD_NEVER_NS },
	{ __LINE__, T + 50001, 0, 64, KPN_GUARD_DROP_TIMED, KPN_GUARD_NEVER_NS },
};

static void test_what_goes_before_a_txtime(struct kpn_selftest *t)
{
	struct kpn_guard_config config = usual();
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(step_vectors); i++) {
		const struct step_vector *v = &step_vectors[i];
		struct kpn_guard_heads heads = { T, 100, v->other_bytes };
		struct kpn_guard guard = { .free_ns = v->free_ns };
		s64 wake_ns = 0;

		kpn_guard_configure(&guard, &config);
		KPN_EXPECT_EQ_AT(t, v->line, kpn_guard_next(&guard, &heads, v->now_ns, &wake_ns),
				 v->step);
		KPN_EXPECT_EQ_AT(t, v->line, wake_ns, v->wake_ns);
	}
}

static void test_late_frames_end_or_go_at_once(struct kpn_selftest *t)
{
	struct kpn_guard_heads heads = { T, 100, 0 };
	struct kpn_guard guard = { 0 };
	struct kpn_guard_config config = usual();
	s64 wake_ns;

	kpn_guard_configure(&guard, &config);
	KPN_EXPECT_EQ(t, kpn_guard_enter(&guard, T, 100, T), KPN_GUARD_QUEUE);
	KPN_EXPECT_EQ(t, kpn_guard_enter(&guard, T, 100, T + 1), KPN_GUARD_TOO_LATE);
	KPN_EXPECT_EQ(t, kpn_guard_enter(&guard, T, 1523, 0), KPN_GUARD_TOO_LONG);
	KPN_EXPECT_EQ(t, guard.late, 1);
	config.late = KPN_GUARD_LATE_SEND;
	kpn_guard_configure(&guard, &config);
	KPN_EXPECT_EQ(t, kpn_guard_enter(&guard, T, 100, 2 * T), KPN_GUARD_QUEUE);
	KPN_EXPECT_EQ(t, kpn_guard_next(&guard, &heads, 2 * T, &wake_ns), KPN_GUARD_SEND_TIMED);
	KPN_EXPECT_EQ(t, guard.late_sent, 1);
	KPN_EXPECT_EQ(t, guard.timed, 1);
}

static void test_short_notice_is_counted(struct kpn_selftest *t)
{
	struct kpn_guard guard = { 0 };
	struct kpn_guard_config config = usual();

	kpn_guard_configure(&guard, &config);
	kpn_guard_enter(&guard, T, 100, T - 10000);
	KPN_EXPECT_EQ(t, guard.short_notice, 0);
	kpn_guard_enter(&guard, T, 100, T - 9999);
	KPN_EXPECT_EQ(t, guard.short_notice, 1);
	guard.free_ns = T - 9999;
	kpn_guard_enter(&guard, T, 100, 0);
	KPN_EXPECT_EQ(t, guard.short_notice, 2);
}

/* What was handed over before may begin by the fudge of then. */
static void test_a_smaller_fudge_is_not_for_what_was_handed_over(struct kpn_selftest *t)
{
	struct kpn_guard_heads heads = { T, 100, 1522 };
	struct kpn_guard guard = { 0 };
	struct kpn_guard_config config = usual();
	s64 wake_ns;

	kpn_guard_configure(&guard, &config);
	KPN_EXPECT_EQ(t, kpn_guard_next(&guard, &heads, 0, &wake_ns), KPN_GUARD_SEND_OTHER);
	KPN_EXPECT_EQ(t, guard.free_ns, 12339);
	config.fudge_ns = 1000;
	kpn_guard_configure(&guard, &config);
	KPN_EXPECT_EQ(t, guard.free_ns, 12339 + 9000);
	/* it may end at 22339, so one that is as long ends at 34678, and then the fudge */
	heads.txtime_ns = 22339 + 12339;
	KPN_EXPECT_EQ(t, kpn_guard_next(&guard, &heads, 0, &wake_ns), KPN_GUARD_SEND_OTHER);
	guard.free_ns = 12339 + 9000;
	heads.txtime_ns--;
	KPN_EXPECT_EQ(t, kpn_guard_next(&guard, &heads, 0, &wake_ns), KPN_GUARD_WAIT);
	kpn_guard_enter(&guard, 22339, 100, 0);
	KPN_EXPECT_EQ(t, guard.short_notice, 0);
	kpn_guard_enter(&guard, 22338, 100, 0);
	KPN_EXPECT_EQ(t, guard.short_notice, 1);
	/* to and fro nothing adds up */
	config.fudge_ns = 10000;
	kpn_guard_configure(&guard, &config);
	KPN_EXPECT_EQ(t, guard.free_ns, 12339);
}

/* ---- random frames on a wire ---- */

#define PERIOD_NS 400000ll
#define RUN_NS (200 * PERIOD_NS)

/*
 * struct wire - one that is @slow_ppm slow; a frame gets to it @fudge_ns after it was decided at
 * most. In ps, so that nothing is rounded.
 */
struct wire {
	u64 random;
	u32 byte_ps;
	u32 slow_ppm;
	u32 fudge_ns;
	s64 free_ps;
	s64 last_end_ps; /* of a frame without txtime, gap included */
	u64 busy_ps;
};

static void wire_send(struct wire *wire, u32 frame_bytes, s64 now_ns, bool timed)
{
	s64 ready_ps = (now_ns + (s64)kpn_random_below(&wire->random, wire->fudge_ns + 1)) * 1000;
	s64 begin_ps = ready_ps > wire->free_ps ? ready_ps : wire->free_ps;
	s64 length_ps = (s64)kpn_wire_bytes(frame_bytes) * wire->byte_ps;

	length_ps += length_ps / 1000000 * wire->slow_ppm;
	wire->free_ps = begin_ps + length_ps;
	if (!timed) {
		wire->last_end_ps = wire->free_ps;
		wire->busy_ps += (u64)length_ps;
	}
}

struct outcome {
	u32 overlaps;
	u32 timed;
	u64 busy_ps;
	u64 held_ns;
	u64 squeezed;
};

enum { FUDGE_NS_BELOW = 20000 };

/*
 * A frame each period, known @notice_ns before; as many others as the wire takes. A fudge that is
 * @changing does so at any time, and the driver with it.
 */
static struct outcome run_wire(u64 seed, struct kpn_guard_config *config, u32 notice_ns,
			       u32 slow_ppm, bool any_length, bool changing)
{
	struct wire wire = {
		.random = seed,
		.byte_ps = kpn_byte_time_ps(config->rate_bps),
		.slow_ppm = slow_ppm,
		.fudge_ns = config->fudge_ns,
	};
	struct kpn_guard guard = { 0 };
	struct outcome outcome = { 0 };
	s64 due_ns = PERIOD_NS;
	u32 other_bytes = 1522;
	s64 now_ns = 0;

	kpn_guard_configure(&guard, config);
	while (now_ns < RUN_NS) {
		bool known = now_ns >= due_ns - notice_ns;
		struct kpn_guard_heads heads = { due_ns, known ? 100 : 0, other_bytes };
		s64 wake_ns;
		enum kpn_guard_step step;

		if (changing && !kpn_random_below(&wire.random, 8)) {
			config->fudge_ns = kpn_random_below(&wire.random, FUDGE_NS_BELOW);
			wire.fudge_ns = config->fudge_ns;
			kpn_guard_configure(&guard, config);
		}
		step = kpn_guard_next(&guard, &heads, now_ns, &wake_ns);
		if (step == KPN_GUARD_SEND_OTHER) {
			wire_send(&wire, other_bytes, now_ns, false);
			other_bytes = any_length ? 64 + kpn_random_below(&wire.random, 1459) : 1522;
		} else if (step == KPN_GUARD_SEND_TIMED) {
			outcome.overlaps += wire.last_end_ps > due_ns * 1000;
			outcome.timed++;
			wire_send(&wire, 100, now_ns, true);
			due_ns += PERIOD_NS;
		} else {
			if (!known && due_ns - notice_ns < wake_ns)
				wake_ns = due_ns - notice_ns;
			now_ns = wake_ns;
		}
	}
	outcome.busy_ps = wire.busy_ps;
	outcome.held_ns = guard.held_ns;
	outcome.squeezed = guard.squeezed;
	return outcome;
}

static void test_no_frame_overlaps_a_txtime(struct kpn_selftest *t)
{
	static const u64 rates_mbps[] = { 100, 1000, 10000 };
	u64 seed = 20171;
	u32 i;

	for (i = 0; i < 60; i++) {
		struct kpn_guard_config config = usual();
		struct kpn_guard guard = { 0 };
		struct outcome outcome;
		u32 notice_ns;

		config.rate_bps = rates_mbps[i % 3] * MBPS;
		config.fudge_ns = kpn_random_below(&seed, FUDGE_NS_BELOW);
		kpn_guard_configure(&guard, &config);
		notice_ns = (u32)kpn_guard_notice_ns(&guard);
		if (notice_ns > PERIOD_NS)
			continue;
		outcome = run_wire(kpn_random(&seed), &config, notice_ns,
				   kpn_random_below(&seed, KPN_GUARD_SLOW_PPM + 1), true, false);
		KPN_EXPECT_EQ(t, outcome.overlaps, 0);
		KPN_EXPECT_EQ(t, outcome.timed, RUN_NS / PERIOD_NS - 1);
		KPN_EXPECT(t, outcome.squeezed > 0);
		/* and with less notice than is asked for it happens */
		config.fudge_ns = 1000;
		kpn_guard_configure(&guard, &config);
		outcome =
			run_wire(kpn_random(&seed), &config, guard.longest_ns / 2, 0, true, false);
		KPN_EXPECT(t, outcome.overlaps > 0);
	}
}

static void test_no_frame_overlaps_a_txtime_while_the_fudge_changes(struct kpn_selftest *t)
{
	static const u64 rates_mbps[] = { 100, 1000, 10000 };
	u64 seed = 20172;
	u32 i;

	for (i = 0; i < 60; i++) {
		struct kpn_guard_config config = usual();
		struct kpn_guard guard = { 0 };
		struct outcome outcome;

		config.rate_bps = rates_mbps[i % 3] * MBPS;
		config.fudge_ns = FUDGE_NS_BELOW;
		kpn_guard_configure(&guard, &config);
		outcome = run_wire(kpn_random(&seed), &config, (u32)kpn_guard_notice_ns(&guard),
				   kpn_random_below(&seed, KPN_GUARD_SLOW_PPM + 1), true, true);
		KPN_EXPECT_EQ(t, outcome.overlaps, 0);
		KPN_EXPECT_EQ(t, outcome.timed, RUN_NS / PERIOD_NS - 1);
	}
}

/* Best effort loses what the wire was held, and not more; held by a window at most (M22). */
static void test_the_loss_is_the_guard_window(struct kpn_selftest *t)
{
	struct kpn_guard_config config = usual();
	struct kpn_guard guard = { 0 };
	struct outcome outcome;
	u64 timed_ns;
	u32 i;

	for (i = 0; i < 2; i++) {
		config.fudge_ns = i ? 40000 : 5000;
		kpn_guard_configure(&guard, &config);
		outcome = run_wire(7, &config, PERIOD_NS / 2, 0, false, false);
		timed_ns = outcome.timed * (u64)kpn_guard_frame_ns(&guard, 100);
		KPN_EXPECT(t, outcome.held_ns > outcome.timed * (u64)config.fudge_ns);
		KPN_EXPECT(t, outcome.held_ns <
				      outcome.timed * (u64)(kpn_guard_window_ns(&guard) + 1));
		KPN_EXPECT(t, outcome.busy_ps / 1000 + outcome.held_ns + timed_ns <
				      (u64)RUN_NS + 3 * guard.longest_ns);
		/* what is late to the wire costs as much again at most, for it idles by then */
		KPN_EXPECT(t, outcome.busy_ps / 1000 + outcome.held_ns + timed_ns +
					      outcome.timed * 2ull * config.fudge_ns >
				      (u64)RUN_NS);
	}
}

void kpn_test_guard(struct kpn_selftest *t)
{
	test_what_a_configuration_may_say(t);
	test_a_window_is_the_longest_frame_and_the_fudge(t);
	test_what_goes_before_a_txtime(t);
	test_late_frames_end_or_go_at_once(t);
	test_short_notice_is_counted(t);
	test_a_smaller_fudge_is_not_for_what_was_handed_over(t);
	test_no_frame_overlaps_a_txtime(t);
	test_no_frame_overlaps_a_txtime_while_the_fudge_changes(t);
	test_the_loss_is_the_guard_window(t);
}
