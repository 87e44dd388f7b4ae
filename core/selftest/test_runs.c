/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * runs: every frame remembered is found where it was, none else is; a run may be longer than any
 * counter of 32 bits.
 */
#include "keepon/runs.h"

#include "keepon/wire.h"
#include "selftest.h"

enum { BYTE_PS = 8000, BLOCK_FRAMES = 1000000000 };

/* 12 hours at 1 Gb/s with slots of 10 us */
#define LONG_FRAMES (1ull << 32)

static bool is_at(const struct kpn_runs *runs, u64 place, u32 frame_bytes, u64 position_ps)
{
	u64 found_ps;

	return kpn_runs_find(runs, place, frame_bytes, BYTE_PS, &found_ps) &&
	       found_ps == position_ps;
}

static bool is_unknown(const struct kpn_runs *runs, u64 place, u32 frame_bytes)
{
	u64 found_ps;

	return !kpn_runs_find(runs, place, frame_bytes, BYTE_PS, &found_ps);
}

/* A peer that sends slots of one length for days; then one that is a byte longer. */
static void test_long_run(struct kpn_selftest *t)
{
	static struct kpn_runs runs;
	static const u64 places[] = { 0,
				      1,
				      LONG_FRAMES / 2,
				      LONG_FRAMES - 1,
				      LONG_FRAMES,
				      LONG_FRAMES + 1,
				      2 * LONG_FRAMES,
				      3 * LONG_FRAMES - 1 };
	const u64 first = 7;
	const u64 slot_ps = (u64)kpn_wire_bytes(1230) * BYTE_PS;
	const u64 begin_ps = 0 - slot_ps; /* the second one is beyond 2^64 */
	u64 frames = 0;
	u32 i;

	runs = (struct kpn_runs){ .count = 0 };
	KPN_EXPECT(t, is_unknown(&runs, 0, 1230));
	while (frames < 3 * LONG_FRAMES) {
		u64 left = 3 * LONG_FRAMES - frames;
		u32 block = left < BLOCK_FRAMES ? (u32)left : BLOCK_FRAMES;

		kpn_runs_take(&runs, first + frames, block, 1230, begin_ps + frames * slot_ps);
		frames += block;
	}
	for (i = 0; i < KPN_COUNT_OF(places); i++)
		KPN_EXPECT(t,
			   is_at(&runs, first + places[i], 1230, begin_ps + places[i] * slot_ps));
	KPN_EXPECT(t, is_unknown(&runs, first - 1, 1230));
	KPN_EXPECT(t, is_unknown(&runs, first + frames, 1230));
	KPN_EXPECT(t, is_unknown(&runs, first, 1231));
	KPN_EXPECT_EQ(t, runs.count, 1);

	kpn_runs_take(&runs, first + frames, 1, 1231, begin_ps + frames * slot_ps);
	KPN_EXPECT(t, is_at(&runs, first + frames, 1231, begin_ps + frames * slot_ps));
	KPN_EXPECT(t, is_at(&runs, first + frames - 1, 1230, begin_ps + (frames - 1) * slot_ps));
	KPN_EXPECT_EQ(t, runs.count, 2);
}

enum { MODEL_FRAMES = 20000 };

/* Random lengths, some of them alike: against every frame written down. */
static void test_random_runs(struct kpn_selftest *t)
{
	static struct kpn_runs runs;
	static struct {
		u64 position_ps;
		u32 frame_bytes;
		u32 run;
	} frame[MODEL_FRAMES];
	u64 first = 0xfffffff0ull;
	u64 position_ps = 0 - 1000ull * BYTE_PS;
	u64 seed = 5;
	u32 count = 0;
	u32 run = 0;
	u32 i;

	runs = (struct kpn_runs){ .count = 0 };
	while (count < MODEL_FRAMES) {
		u32 frames = 1 + kpn_random_below(&seed, 8);
		u32 frame_bytes = 1229 + kpn_random_below(&seed, 3);

		if (frames > MODEL_FRAMES - count)
			frames = MODEL_FRAMES - count;
		run += count && frame[count - 1].frame_bytes != frame_bytes;
		kpn_runs_take(&runs, first + count, frames, frame_bytes, position_ps);
		for (; frames; frames--) {
			frame[count].position_ps = position_ps;
			frame[count].frame_bytes = frame_bytes;
			frame[count++].run = run;
			position_ps += (u64)kpn_wire_bytes(frame_bytes) * BYTE_PS;
		}
	}
	for (i = 0; i < MODEL_FRAMES; i++) {
		bool known = run - frame[i].run < KPN_RUNS_MAX;

		if (!KPN_EXPECT_EQ(
			    t, is_at(&runs, first + i, frame[i].frame_bytes, frame[i].position_ps),
			    known) ||
		    !KPN_EXPECT(t, is_unknown(&runs, first + i, frame[i].frame_bytes + 1)))
			return;
	}
	KPN_EXPECT(t, is_unknown(&runs, first + MODEL_FRAMES, frame[MODEL_FRAMES - 1].frame_bytes));
	KPN_EXPECT(t, run >= 2 * KPN_RUNS_MAX);
}

void kpn_test_runs(struct kpn_selftest *t)
{
	test_long_run(t);
	test_random_runs(t);
}
