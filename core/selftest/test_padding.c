/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * padding: behind a frame a slot is zero whatever was in it before, by either padding; and who
 * touches buffers when. Paper mode on a ring of 32 slots of 10 us with batches of 8: slot k starts
 * at k x 10 us, and is descriptor k modulo 32.
 */
#include "exact_nic.h"

#include "keepon/wire.h"

#define SLOT_NS 10000ll
#define START_NS 1000000ll

enum { RING = 32, BATCH = 8, SLOT_BYTES = 1230, FRAMES_MAX = 40 };

static struct exact_nic nic;
static struct kpn_frame frames[FRAMES_MAX];

static bool start(u8 padding, u8 mode)
{
	if (mode == KPN_MODE_PAPER)
		exact_nic_paper(&nic, RING, BATCH);
	else
		exact_nic_prepare(&nic);
	nic.caps.has_spare_buffers = true;
	nic.config.padding = padding;
	return exact_nic_start(&nic, START_NS);
}

static s64 slot_time(s64 slot)
{
	return START_NS + slot * SLOT_NS;
}

static enum kpn_verdict submit(u8 tag, u16 frame_bytes, s64 txtime_ns)
{
	frames[tag] = exact_frame(tag, frame_bytes, 0, txtime_ns);
	return kpn_pacer_submit(nic.pacer, &frames[tag]);
}

static void run_until(u64 ns)
{
	if (ns > nic.now_ns)
		exact_nic_run(&nic, ns - nic.now_ns);
}

static u32 used_bytes(u32 desc)
{
	u32 used = EXACT_BUFFER_BYTES;

	while (used && !nic.buffers[desc][used - 1])
		used--;
	return used;
}

/* C13, C14: every pair of lengths in one slot; of the longest only the FCS is not its own. */
static void test_every_length_after_every_other(struct kpn_selftest *t, u8 padding)
{
	static const u16 lengths[] = { 18,   19,  64,  65, 200,  1229, 1230, 64,  1230,
				       1229, 200, 199, 18, 1230, 18,   18,   1230 };
	u64 begin_ns;
	u32 i;

	KPN_EXPECT(t, start(padding, KPN_MODE_PAPER));
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	begin_ns = nic.now_ns;
	for (i = 0; i < KPN_COUNT_OF(lengths); i++) {
		u32 data_bytes = lengths[i] - KPN_FCS_BYTES;

		KPN_EXPECT_EQ(t, submit((u8)(i + 1), lengths[i], slot_time(20 + (s64)i * RING)),
			      KPN_VERDICT_PENDING);
		KPN_EXPECT_EQ(t, used_bytes(20), data_bytes);
		run_until(begin_ns + (i + 1) * (u64)RING * SLOT_NS);
		KPN_EXPECT_EQ(t, nic.log_count, i + 1);
		KPN_EXPECT_EQ(t, nic.log[i].seq, 20 + (u64)i * RING);
		KPN_EXPECT_EQ(t, nic.log[i].frame_bytes, SLOT_BYTES);
		KPN_EXPECT_EQ(t, nic.log[i].intact, true);
		/* the poll has zeroed it, or left it alone */
		KPN_EXPECT_EQ(t, used_bytes(20), padding == KPN_PADDING_DEFERRED ? 0 : data_bytes);
	}
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
	if (padding == KPN_PADDING_DEFERRED) {
		for (i = 0; i < RING; i++)
			KPN_EXPECT_EQ(t, used_bytes(i), 0);
	}
}

/*
 * An insertion asks for the buffer once, a poll never: what a frame leaves is zeroed by retire, or
 * on demand by the next frame. Whatever was written is said, so that it is written back: on demand
 * also what was zeroed behind a shorter frame.
 */
static void test_who_touches_buffers(struct kpn_selftest *t, u8 padding)
{
	static const struct {
		u16 frame_bytes;
		u16 on_demand_bytes;
	} vectors[] = { { 200, 196 },   { 200, 196 }, { 201, 197 }, { 200, 197 },
			{ 1230, 1226 }, { 64, 1226 }, { 64, 60 } };
	u32 i;

	KPN_EXPECT(t, start(padding, KPN_MODE_PAPER));
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	for (i = 0; i < KPN_COUNT_OF(vectors); i++) {
		u32 data_bytes = vectors[i].frame_bytes - KPN_FCS_BYTES;
		u64 written = nic.written_bytes;
		u64 zeroed = nic.zeroed_bytes;
		u32 calls = nic.buffer_calls;

		KPN_EXPECT_EQ(
			t,
			submit((u8)(i + 1), vectors[i].frame_bytes, slot_time(20 + (s64)i * RING)),
			KPN_VERDICT_PENDING);
		KPN_EXPECT_EQ(t, nic.buffer_calls - calls, 1);
		KPN_EXPECT_EQ(t, nic.written_bytes - written,
			      padding == KPN_PADDING_DEFERRED ? data_bytes :
								vectors[i].on_demand_bytes);
		exact_nic_run(&nic, RING * SLOT_NS);
		KPN_EXPECT_EQ(t, nic.buffer_calls - calls, 1);
		KPN_EXPECT_EQ(t, nic.zeroed_bytes - zeroed,
			      padding == KPN_PADDING_DEFERRED ? data_bytes : 0);
	}
}

/*
 * A frame copied into a slot that was lost meanwhile, and one taken back from its slot, leave
 * nothing for the next there.
 */
static void test_frames_that_never_left(struct kpn_selftest *t, u8 padding)
{
	u32 i;

	KPN_EXPECT(t, start(padding, KPN_MODE_PAPER));
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	nic.copy_ns = 2 * SLOT_NS;
	KPN_EXPECT_EQ(t, submit(1, 1230, slot_time(12)), KPN_VERDICT_LATE);
	nic.copy_ns = 0;
	KPN_EXPECT_EQ(t, nic.commits, 0);
	KPN_EXPECT_EQ(t, used_bytes(12), padding == KPN_PADDING_DEFERRED ? 0 : 1226);
	exact_nic_run(&nic, 20 * SLOT_NS);
	KPN_EXPECT_EQ(t, submit(2, 64, slot_time(12 + RING)), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, RING * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 1);
	KPN_EXPECT_EQ(t, nic.log[0].tag, 2);
	KPN_EXPECT_EQ(t, nic.log[0].intact, true);

	/*
	 * best effort gives its slot to a frame with a txtime and leaves after it; trimmed slots
	 * are longer
	 */
	KPN_EXPECT(t, start(padding, KPN_MODE_PHASE_LOCKED));
	exact_nic_run(&nic, 200 * SLOT_NS);
	kpn_pacer_adjfine(nic.pacer, -65536 * 90);
	exact_nic_run(&nic, 200 * SLOT_NS);
	{
		s64 now_ns = kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;

		for (i = 0; i < 8; i++)
			KPN_EXPECT_EQ(t, submit((u8)(10 + i), 1214, -1), KPN_VERDICT_PENDING);
		KPN_EXPECT_EQ(t, submit(5, 64, now_ns + 5 * SLOT_NS), KPN_VERDICT_PENDING);
	}
	exact_nic_run(&nic, 100 * SLOT_NS);
	KPN_EXPECT(t, kpn_pacer_stats(nic.pacer)->displaced >= 2);
	KPN_EXPECT_EQ(t, nic.log_count, 9);
	for (i = 0; i < nic.log_count; i++)
		KPN_EXPECT_EQ(t, nic.log[i].intact, true);
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
}

/*
 * Lengths, lateness, trims and restarts of the ring's descriptors at random: no frame has a byte
 * that is not its own.
 */
static void test_random_frames(struct kpn_selftest *t, u8 padding)
{
	u64 seed = 77;
	u32 sent = 0;
	u32 run;
	u32 i;

	for (run = 0; run < 60; run++) {
		KPN_EXPECT(t, start(padding, run % 2 ? KPN_MODE_PAPER : KPN_MODE_PHASE_LOCKED));
		exact_nic_run(&nic, 100 * SLOT_NS);
		for (i = 1; i < FRAMES_MAX; i++) {
			u16 bytes = (u16)(18 + kpn_random_below(&seed, 1197));
			s64 ahead_ns = kpn_random_below(&seed, 40 * SLOT_NS);

			if (kpn_random_below(&seed, 8) == 0)
				nic.copy_ns = kpn_random_below(&seed, 3 * SLOT_NS);
			submit((u8)i, bytes,
			       kpn_random_below(&seed, 4) ?
				       kpn_pacer_gettime(nic.pacer, nic.now_ns).ns + ahead_ns :
				       -1);
			nic.copy_ns = 0;
			if (kpn_random_below(&seed, 3) == 0)
				exact_nic_run(&nic, kpn_random_below(&seed, 9 * SLOT_NS));
			if (kpn_random_below(&seed, 30) == 0)
				kpn_pacer_adjtime(nic.pacer,
						  (s64)kpn_random_below(&seed, 20000) - 10000);
		}
		exact_nic_run(&nic, 100 * SLOT_NS);
		for (i = 0; i < nic.log_count; i++) {
			if (!KPN_EXPECT_EQ(t, nic.log[i].intact, true))
				return;
		}
		sent += nic.log_count;
	}
	KPN_EXPECT(t, sent > 500);
}

/* Frames have buffers of their own exactly where a placeholder must not be sent from theirs. */
static void test_spare_buffers(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	KPN_EXPECT_EQ(t, nic.config.padding, KPN_PADDING_DEFERRED);
	KPN_EXPECT_EQ(t, kpn_config_spare_buffers(&nic.config), false);
	nic.config.padding = KPN_PADDING_ON_DEMAND;
	KPN_EXPECT_EQ(t, kpn_config_spare_buffers(&nic.config), true);
	nic.config.placeholder = KPN_PLACEHOLDER_MAC_CONTROL;
	nic.config.padding = KPN_PADDING_DEFERRED;
	KPN_EXPECT_EQ(t, kpn_config_spare_buffers(&nic.config), true);
}

void kpn_test_padding(struct kpn_selftest *t)
{
	u8 padding;

	for (padding = KPN_PADDING_DEFERRED; padding <= KPN_PADDING_ON_DEMAND; padding++) {
		test_every_length_after_every_other(t, padding);
		test_who_touches_buffers(t, padding);
		test_frames_that_never_left(t, padding);
		test_random_frames(t, padding);
	}
	test_spare_buffers(t);
}
