/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * held_up: the CPU stands still just before a store, longer than any margin (firmware, a
 * hypervisor), and goes on as if nothing had been. No frame is called sent that was not, none is
 * sent twice, none leaves with other bytes than its own.
 */
#include "exact_nic.h"

#define SLOT_NS 10000ll
#define START_NS 1000000ll
#define MS 1000000ull

enum { RUNS = 4000, FRAMES = 6, HELD_UP_NS_MAX = 200000 };

static struct exact_nic nic;

/* What the runs of one test came to, so that none of it can be missing unnoticed. */
struct tally {
	u32 certain;
	u32 doubted_sent;
	u32 doubted_not_sent;
	u32 not_sent;
};

static u32 times_sent(u8 tag, bool *intact)
{
	u32 count = 0;
	u32 i;

	for (i = 0; i < nic.log_count; i++) {
		if (nic.log[i].tag != tag)
			continue;
		count++;
		*intact = *intact && nic.log[i].intact;
	}
	return count;
}

static void start(u64 *seed, u16 prefetch_slots)
{
	exact_nic_prepare(&nic);
	nic.caps.prefetch_slots_max = prefetch_slots;
	nic.config.batch_slots = 4 + prefetch_slots;
	nic.config.depth_slots = 16 + prefetch_slots;
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, MS + kpn_random_below(seed, 10000));
}

/* A time @slots ahead that is a slot's own. */
static s64 slots_ahead(u32 slots)
{
	u64 now_ns = (u64)kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;

	return (s64)(kpn_div_u64(now_ns, SLOT_NS) + slots) * SLOT_NS + 64;
}

/* Whether what is reported of frame @tag, reported as @verdict, is what the wire saw. */
static bool is_true(u8 tag, enum kpn_verdict verdict, struct tally *tally)
{
	bool intact = true;
	u32 sent = times_sent(tag, &intact);

	if (verdict == KPN_VERDICT_IN_DOUBT) {
		tally->doubted_sent += sent == 1;
		tally->doubted_not_sent += sent == 0;
		return sent <= 1 && intact;
	}
	tally->certain += kpn_verdict_is_sent(verdict);
	tally->not_sent += !kpn_verdict_is_sent(verdict);
	return sent == (kpn_verdict_is_sent(verdict) ? 1 : 0) && intact;
}

/* What became of frame @tag, of which submit said @said, once the wire has run on. */
static enum kpn_verdict end_of(u8 tag, enum kpn_verdict said)
{
	nic.copy_ns = 0;
	nic.store_ns = 0;
	exact_nic_run(&nic, 2 * MS);
	return said == KPN_VERDICT_PENDING ? (enum kpn_verdict)nic.verdict_of[tag] : said;
}

static void expect_all_kinds(struct kpn_selftest *t, const struct tally *tally)
{
	KPN_EXPECT(t, tally->certain > 0);
	KPN_EXPECT(t, tally->doubted_sent > 0);
	KPN_EXPECT(t, tally->doubted_not_sent > 0);
}

/*
 * Held up while a frame is written, in copy or commit, with and without a NIC that fetches ahead.
 */
static void test_while_inserting(struct kpn_selftest *t)
{
	struct tally tally = { 0 };
	u64 seed = 1;
	u32 run;

	for (run = 0; run < RUNS; run++) {
		struct kpn_frame frame;

		start(&seed, (u16)kpn_random_below(&seed, 4));
		frame = exact_frame(1, 200, 0, slots_ahead(kpn_random_below(&seed, 40)));
		nic.copy_ns =
			kpn_random_below(&seed, 2) ? kpn_random_below(&seed, HELD_UP_NS_MAX) : 0;
		nic.store_ns = kpn_random_below(&seed, HELD_UP_NS_MAX);
		KPN_EXPECT_AT(t, (int)run,
			      is_true(1, end_of(1, kpn_pacer_submit(nic.pacer, &frame)), &tally));
	}
	expect_all_kinds(t, &tally);
	KPN_EXPECT(t, tally.not_sent > 0);
}

/* Held up while best effort makes room for a scheduled frame. */
static void test_while_displacing(struct kpn_selftest *t)
{
	struct tally tally = { 0 };
	u64 seed = 2;
	u32 run;

	for (run = 0; run < RUNS; run++) {
		struct kpn_frame best_effort[FRAMES];
		struct kpn_frame scheduled;
		u8 tag;

		start(&seed, (u16)kpn_random_below(&seed, 4));
		for (tag = 1; tag <= FRAMES; tag++) {
			best_effort[tag - 1] = exact_frame(tag, 200, 0, -1);
			KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &best_effort[tag - 1]),
				      KPN_VERDICT_PENDING);
		}
		scheduled = exact_frame(tag, 200, 1, slots_ahead(6 + kpn_random_below(&seed, 10)));
		nic.store_ns = kpn_random_below(&seed, HELD_UP_NS_MAX);
		KPN_EXPECT_AT(
			t, (int)run,
			is_true(tag, end_of(tag, kpn_pacer_submit(nic.pacer, &scheduled)), &tally));
		while (--tag)
			KPN_EXPECT_AT(t, (int)run,
				      is_true(tag, (enum kpn_verdict)nic.verdict_of[tag], &tally));
	}
	expect_all_kinds(t, &tally);
}

/* Held up while the clock is set and frames are taken back from their slots. */
static void test_while_stepping(struct kpn_selftest *t)
{
	struct tally tally = { 0 };
	u64 seed = 3;
	u32 run;

	for (run = 0; run < RUNS; run++) {
		struct kpn_frame frames[FRAMES];
		enum kpn_verdict verdict[FRAMES + 1];
		u8 tag;

		start(&seed, (u16)kpn_random_below(&seed, 4));
		for (tag = 1; tag <= FRAMES; tag++) {
			frames[tag - 1] = exact_frame(tag, 200, 0, slots_ahead(8 + 3 * tag));
			verdict[tag] = kpn_pacer_submit(nic.pacer, &frames[tag - 1]);
		}
		exact_nic_go(&nic, kpn_random_below(&seed, 5 * SLOT_NS));
		nic.store_ns = kpn_random_below(&seed, HELD_UP_NS_MAX / FRAMES);
		kpn_pacer_adjtime(nic.pacer, ((s64)kpn_random_below(&seed, 30) - 10) * SLOT_NS);
		for (tag = 1; tag <= FRAMES; tag++)
			KPN_EXPECT_AT(t, (int)run, is_true(tag, end_of(tag, verdict[tag]), &tally));
	}
	expect_all_kinds(t, &tally);
}

/*
 * What is not posted cannot be fetched, however long the CPU was held up: no doubt, it is too late
 * for the frame or it leaves.
 */
static void test_no_doubt_beyond_the_tail(struct kpn_selftest *t)
{
	u32 beyond = 0;
	u32 before = 0;
	u64 seed = 4;
	u32 run;

	for (run = 0; run < RUNS; run++) {
		struct kpn_frame frame;
		u64 tail_seq;

		start(&seed, (u16)kpn_random_below(&seed, 4));
		frame = exact_frame(1, 200, 0, slots_ahead(10 + kpn_random_below(&seed, 20)));
		tail_seq = kpn_pacer_state(nic.pacer, nic.now_ns).tail_seq;
		nic.store_ns = 40 * SLOT_NS;
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_PENDING);
		end_of(1, KPN_VERDICT_PENDING);
		KPN_EXPECT_AT(t, (int)run,
			      nic.outcomes[KPN_VERDICT_IN_DOUBT] == (frame.seq < tail_seq));
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 0);
		beyond += frame.seq >= tail_seq;
		before += frame.seq < tail_seq;
	}
	KPN_EXPECT(t, beyond > 0);
	KPN_EXPECT(t, before > 0);
}

/*
 * Best effort, which may have any slot, leaves time for the store: no doubt as long as that takes
 * no longer, whatever the copy takes.
 */
static void test_no_doubt_within_the_time_for_the_store(struct kpn_selftest *t)
{
	u64 seed = 5;
	u32 run;

	for (run = 0; run < RUNS; run++) {
		struct kpn_frame frame;

		start(&seed, (u16)kpn_random_below(&seed, 4));
		frame = exact_frame(1, 200, 0, -1);
		nic.copy_ns = kpn_random_below(&seed, 10000);
		nic.store_ns = kpn_random_below(&seed, 2000);
		KPN_EXPECT_AT(t, (int)run,
			      end_of(1, kpn_pacer_submit(nic.pacer, &frame)) ==
				      KPN_VERDICT_BEST_EFFORT);
	}
}

void kpn_test_held_up(struct kpn_selftest *t)
{
	test_while_inserting(t);
	test_while_displacing(t);
	test_while_stepping(t);
	test_no_doubt_beyond_the_tail(t);
	test_no_doubt_within_the_time_for_the_store(t);
}
