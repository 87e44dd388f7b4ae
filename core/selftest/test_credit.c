/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * credit: what a frame costs and what may be saved up, in slots; and best effort of a shaped class
 * on the wire, with slots of 10 us at 1 Gb/s.
 */
#include "keepon/credit.h"
#include "keepon/errno.h"

#include "exact_nic.h"

#define SLOT_NS 10000ll
#define START_NS 1000000ll
#define MBPS 1000000ull

enum { WIRE_BYTES = 1250, SHAPED = 5, BELOW = 1, STRICT = 2, FRAMES = 24 };

/* Parts are of 2^-24 slots. */
struct init_vector {
	int line;
	u64 rate_bps;
	u64 idle_slope_bps;
	u32 wire_bytes;
	u32 high_bytes;
	int error;
	u64 cost;
	u32 cost_part;
	u64 high;
	u32 high_part;
};

static const struct init_vector init_vectors[] = {
	{ __LINE__, 1000 * MBPS, 1000 * MBPS, 1250, 0, 0, 1, 0, 0, 0 },
	{ __LINE__, 1000 * MBPS, 400 * MBPS, 1250, 500, 0, 2, 8388608, 1, 0 },
	{ __LINE__, 1000 * MBPS, 300 * MBPS, 1250, 1250, 0, 3, 5592406, 3, 5592406 },
	{ __LINE__, 1000 * MBPS, 98688000, 1250, 153, 0, 10, 2230435, 1, 4031101 },
	{ __LINE__, 1000 * MBPS, 1000 * MBPS - 1, 1250, 0, 0, 1, 1, 0, 0 },
	{ __LINE__, 100000 * MBPS, 1000, 84, 2147483647, 0, 100000000, 0, 2556528151190476,
	  3195660 },
	{ __LINE__, 100000 * MBPS, 99999999999ull, 1542, 1, 0, 1, 1, 0, 10880 },
	{ __LINE__, 10 * MBPS, 999, 1250, 0, -KPN_ERANGE, 0, 0, 0, 0 },
	{ __LINE__, 10 * MBPS, 10 * MBPS + 1, 1250, 0, -KPN_ERANGE, 0, 0, 0, 0 },
	{ __LINE__, 10 * MBPS, 0, 1250, 0, -KPN_ERANGE, 0, 0, 0, 0 },
};

static void test_cost_and_high_credit_in_slots(struct kpn_selftest *t)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(init_vectors); i++) {
		const struct init_vector *v = &init_vectors[i];
		struct kpn_credit credit = { .since = 99 };

		KPN_EXPECT_EQ_AT(t, v->line,
				 kpn_credit_init(&credit, v->rate_bps, v->wire_bytes,
						 v->idle_slope_bps, v->high_bytes, 7),
				 v->error);
		KPN_EXPECT_EQ_AT(t, v->line, credit.since, v->error ? 99 : 7);
		KPN_EXPECT_EQ_AT(t, v->line, credit.cost.whole, v->cost);
		KPN_EXPECT_EQ_AT(t, v->line, credit.cost.part, v->cost_part);
		KPN_EXPECT_EQ_AT(t, v->line, credit.high.whole, v->high);
		KPN_EXPECT_EQ_AT(t, v->line, credit.high.part, v->high_part);
		KPN_EXPECT_EQ_AT(t, v->line, kpn_credit_seq(&credit), v->error ? 0 : 7);
	}
}

/* The published example of the qdisc: 98688 kbit/s of 1 Gb/s, 1542 bytes on the wire, 153. */
static void test_high_credit_for_a_gap(struct kpn_selftest *t)
{
	KPN_EXPECT_EQ(t, kpn_credit_high_bytes(1000 * MBPS, 1542, 98688000, 1), 153);
	KPN_EXPECT_EQ(t, kpn_credit_high_bytes(1000 * MBPS, 1250, 500 * MBPS, 4), 2500);
	KPN_EXPECT_EQ(t, kpn_credit_high_bytes(1000 * MBPS, 1250, 1000 * MBPS, 0), 0);
	KPN_EXPECT_EQ(t, kpn_credit_high_bytes(1000 * MBPS, 1250, 1, 1), 1);
	KPN_EXPECT_EQ(t, kpn_credit_high_bytes(100000 * MBPS, 1542, 100000 * MBPS, 65536),
		      1542ll * 65536);
}

/* 400 Mb/s of 1 Gb/s: 2.5 slots a frame. */
static void start_credit(struct kpn_credit *credit, u32 high_bytes)
{
	kpn_credit_init(credit, 1000 * MBPS, WIRE_BYTES, 400 * MBPS, high_bytes, 100);
}

static void test_frames_of_half_a_slot_more(struct kpn_selftest *t)
{
	static const u64 slots[] = { 100, 103, 105, 108, 110, 113 };
	struct kpn_credit credit;
	u32 i;

	start_credit(&credit, WIRE_BYTES * 2 / 5);
	for (i = 0; i < KPN_COUNT_OF(slots); i++) {
		KPN_EXPECT_EQ_AT(t, (int)i, kpn_credit_seq(&credit), slots[i]);
		kpn_credit_spend(&credit, slots[i], 1);
	}
}

/* Without hiCredit what is gained by waiting is lost, with it no more than that is kept. */
static void test_only_high_credit_is_saved_up(struct kpn_selftest *t)
{
	struct kpn_credit credit;

	start_credit(&credit, 0);
	kpn_credit_spend(&credit, 100, 1);
	kpn_credit_spend(&credit, 103, 1);
	KPN_EXPECT_EQ(t, kpn_credit_seq(&credit), 106);
	start_credit(&credit, 500); /* a slot */
	kpn_credit_spend(&credit, 200, 1);
	KPN_EXPECT_EQ(t, kpn_credit_seq(&credit), 202);
	start_credit(&credit, 2000); /* four */
	kpn_credit_spend(&credit, 200, 1);
	KPN_EXPECT_EQ(t, kpn_credit_seq(&credit), 199);
	kpn_credit_rest(&credit, 201);
	KPN_EXPECT_EQ(t, kpn_credit_seq(&credit), 201);
	kpn_credit_rest(&credit, 150);
	KPN_EXPECT_EQ(t, kpn_credit_seq(&credit), 201);
}

static void test_refund_is_what_was_spent(struct kpn_selftest *t)
{
	struct kpn_credit credit;

	start_credit(&credit, 0);
	kpn_credit_spend(&credit, 100, 1);
	kpn_credit_spend(&credit, 103, 1);
	kpn_credit_refund(&credit, 103, 1);
	KPN_EXPECT_EQ(t, kpn_credit_seq(&credit), 103);
	kpn_credit_refund(&credit, 99, 1); /* before the slope */
	KPN_EXPECT_EQ(t, kpn_credit_seq(&credit), 103);
}

/* A frame in slot 100 at one slope, and another slope from slot 102 on. */
static void test_what_is_owed_is_paid_by_the_steeper_slope(struct kpn_selftest *t)
{
	static const struct {
		u64 before_bps;
		u64 after_bps;
		u64 seq;
	} vectors[] = {
		{ 400 * MBPS, 400 * MBPS, 103 },  { 400 * MBPS, 1000, 103 },
		{ 1000 * MBPS, 1000, 102 },       { 100 * MBPS, 400 * MBPS, 105 },
		{ 100 * MBPS, 1000 * MBPS, 103 }, { 1000, 100 * MBPS, 112 },
		{ 1000, 1001, 999103 },
	};
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(vectors); i++) {
		struct kpn_credit before;
		struct kpn_credit after;

		kpn_credit_init(&before, 1000 * MBPS, WIRE_BYTES, vectors[i].before_bps, 0, 100);
		kpn_credit_spend(&before, 100, 1);
		kpn_credit_init(&after, 1000 * MBPS, WIRE_BYTES, vectors[i].after_bps, 0, 102);
		kpn_credit_carry(&after, &before);
		KPN_EXPECT_EQ_AT(t, (int)i, kpn_credit_seq(&after), vectors[i].seq);
		KPN_EXPECT_EQ_AT(t, (int)i, after.since, 102);
	}
}

static struct exact_nic nic;

static void start(struct kpn_selftest *t, u64 idle_slope_bps, u32 high_bytes)
{
	exact_nic_prepare(&nic);
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, 500000);
	KPN_EXPECT_EQ(t, kpn_pacer_set_credit(nic.pacer, SHAPED, idle_slope_bps, high_bytes), 0);
}

/* Frames may be placed almost a ring ahead. */
static void start_deep(struct kpn_selftest *t, u64 idle_slope_bps)
{
	exact_nic_prepare(&nic);
	nic.config.depth_slots = 60;
	nic.config.budget_frames = 64;
	exact_nic_start(&nic, START_NS);
	exact_nic_run(&nic, 500000);
	KPN_EXPECT_EQ(t, kpn_pacer_set_credit(nic.pacer, SHAPED, idle_slope_bps, 0), 0);
}

static void submit(struct kpn_frame *frames, u8 tag, u8 tc, s64 txtime_ns)
{
	frames[tag] = exact_frame(tag, 200, tc, txtime_ns);
	kpn_pacer_submit(nic.pacer, &frames[tag]);
}

static u64 seq_of(u8 tag)
{
	u32 i;

	for (i = 0; i < nic.log_count; i++) {
		if (nic.log[i].tag == tag)
			return nic.log[i].seq;
	}
	return 0;
}

/* Slots are left to the class below; one with a txtime goes where it wants and costs nothing. */
static void test_shaped_beside_others(struct kpn_selftest *t)
{
	struct kpn_frame frames[EXACT_TAGS];
	u64 first;
	u8 i;

	start(t, 250 * MBPS, WIRE_BYTES);
	for (i = 1; i <= 6; i++)
		submit(frames, i, SHAPED, -1);
	for (i = 11; i <= 22; i++)
		submit(frames, i, BELOW, -1);
	submit(frames, 31, SHAPED, START_NS + ((s64)frames[2].seq + 1) * SLOT_NS + 64);
	exact_nic_run(&nic, 600000);
	first = seq_of(1);
	for (i = 2; i <= 6; i++)
		KPN_EXPECT_EQ_AT(t, i, seq_of(i), first + 4u * (i - 1u));
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 1);
	KPN_EXPECT_EQ(t, nic.log_count, 6 + 12 + 1);
	KPN_EXPECT(t, seq_of(22) < seq_of(6));
}

/* A frame whose slot a scheduled one takes leaves in the next, with the credit it had. */
static void test_displaced_keeps_its_credit(struct kpn_selftest *t)
{
	struct kpn_frame frames[EXACT_TAGS];
	u64 first;

	start(t, 250 * MBPS, WIRE_BYTES);
	submit(frames, 1, SHAPED, -1);
	submit(frames, 2, SHAPED, -1);
	submit(frames, 3, SHAPED, -1);
	first = frames[1].seq;
	KPN_EXPECT_EQ(t, frames[2].seq, first + 4);
	submit(frames, 4, STRICT, START_NS + ((s64)first + 4) * SLOT_NS + 64);
	exact_nic_run(&nic, 400000);
	KPN_EXPECT_EQ(t, seq_of(4), first + 4);
	KPN_EXPECT_EQ(t, seq_of(2), first + 5);
	KPN_EXPECT_EQ(t, seq_of(3), first + 8);
}

/* All windows of what was sent, tag by tag in order; cost in slots. */
static void expect_within_slope(struct kpn_selftest *t, int at, u64 cost)
{
	u32 i;
	u32 j;

	for (i = 0; i < nic.log_count; i++) {
		u32 count = 0;

		for (j = i; j < nic.log_count && nic.log[i].tag <= FRAMES; j++) {
			if (nic.log[j].tag > FRAMES)
				continue;
			KPN_EXPECT_AT(t, at, nic.log[j].seq - nic.log[i].seq >= count * cost);
			count++;
		}
	}
}

/*
 * The CPU is slow: of frames that shall make room the first has come out of its slot, those behind
 * it stay where they are. It has had no credit then that those have not used.
 */
static void test_no_refund_before_frames_that_stay(struct kpn_selftest *t)
{
	struct kpn_frame frames[EXACT_TAGS];
	u32 stayed = 0;
	u64 store_ns;
	u8 i;

	for (store_ns = 80000; store_ns < 200000; store_ns += 3000) {
		start_deep(t, 50 * MBPS);
		for (i = 1; i <= 5; i++)
			submit(frames, i, SHAPED, -1);
		nic.store_ns = store_ns;
		submit(frames, 31, STRICT, START_NS + (s64)frames[2].seq * SLOT_NS + 64);
		nic.store_ns = 0;
		exact_nic_run(&nic, 2000000);
		stayed += nic.outcomes[KPN_VERDICT_IN_DOUBT] == 1 && seq_of(2) > seq_of(3);
		expect_within_slope(t, (int)store_ns, 20);
	}
	KPN_EXPECT(t, stayed > 0);
}

/*
 * Another slope begins when what is owed is paid, by itself if that is sooner, none at once; it is
 * the next run's no more.
 */
static void test_slope_changes_and_ends(struct kpn_selftest *t)
{
	struct kpn_frame frames[EXACT_TAGS];
	u64 first;

	start(t, 250 * MBPS, WIRE_BYTES);
	submit(frames, 1, SHAPED, -1);
	first = frames[1].seq;
	KPN_EXPECT_EQ(t, kpn_pacer_set_credit(nic.pacer, SHAPED, 500 * MBPS, WIRE_BYTES), 0);
	submit(frames, 2, SHAPED, -1);
	submit(frames, 3, SHAPED, -1);
	KPN_EXPECT_EQ(t, frames[2].seq, first + 3);
	KPN_EXPECT_EQ(t, frames[3].seq, first + 5);
	KPN_EXPECT_EQ(t, kpn_pacer_set_credit(nic.pacer, SHAPED, 0, 0), 0);
	submit(frames, 4, SHAPED, -1);
	KPN_EXPECT_EQ(t, frames[4].seq, first + 6);
	KPN_EXPECT_EQ(t, kpn_pacer_set_credit(nic.pacer, KPN_CLASS_COUNT, MBPS, 0), -KPN_EINVAL);
	KPN_EXPECT_EQ(t, kpn_pacer_set_credit(nic.pacer, SHAPED, 1001 * MBPS, 0), -KPN_ERANGE);
	submit(frames, 5, SHAPED, -1);
	KPN_EXPECT_EQ(t, frames[5].seq, first + 7);
	exact_nic_run(&nic, 300000);
}

/* What has waited for credit does not come behind lower classes when it needs none any more. */
static void test_first_when_the_slope_ends(struct kpn_selftest *t)
{
	struct kpn_frame frames[EXACT_TAGS];

	start(t, MBPS, 0);
	submit(frames, 1, SHAPED, -1);
	submit(frames, 2, SHAPED, -1);
	KPN_EXPECT_EQ(t, kpn_pacer_set_credit(nic.pacer, SHAPED, 0, 0), 0);
	submit(frames, 3, BELOW, -1);
	exact_nic_run(&nic, 300000);
	KPN_EXPECT_EQ(t, nic.log_count, 3);
	KPN_EXPECT(t, seq_of(2) < seq_of(3));
}

/* Slots that what waits for credit has been offered in vain are there for others at once. */
static void test_others_need_not_wait_for_credit(struct kpn_selftest *t)
{
	struct kpn_frame frames[EXACT_TAGS];
	u32 polls;
	u8 i;

	start(t, MBPS, 0);
	for (i = 1; i <= 3; i++)
		submit(frames, i, SHAPED, -1);
	for (polls = 0; polls < 9; polls++, i++) {
		KPN_EXPECT_EQ(t, nic.commits, i - 3);
		submit(frames, i, BELOW, -1);
		KPN_EXPECT_EQ(t, nic.commits, i - 2);
		exact_nic_poll(&nic, kpn_pacer_poll_interval_ns(nic.pacer));
	}
}

/* A class of the least slope, raised, does not wait for the 10 s that its last frame was worth. */
static void test_slope_is_raised_at_once(struct kpn_selftest *t)
{
	struct kpn_frame frames[EXACT_TAGS];

	start(t, KPN_IDLE_SLOPE_BPS_MIN, 0);
	submit(frames, 1, SHAPED, -1);
	submit(frames, 2, SHAPED, -1);
	submit(frames, 3, SHAPED, -1);
	exact_nic_run(&nic, 200000);
	KPN_EXPECT_EQ(t, nic.log_count, 1);
	KPN_EXPECT_EQ(t, kpn_pacer_set_credit(nic.pacer, SHAPED, 100 * MBPS, 0), 0);
	exact_nic_run(&nic, 400000);
	KPN_EXPECT_EQ(t, nic.log_count, 3);
	KPN_EXPECT_EQ(t, seq_of(3), seq_of(2) + 10);
	exact_nic_stop(&nic);
}

void kpn_test_credit(struct kpn_selftest *t)
{
	test_slope_is_raised_at_once(t);
	test_others_need_not_wait_for_credit(t);
	test_first_when_the_slope_ends(t);
	test_cost_and_high_credit_in_slots(t);
	test_high_credit_for_a_gap(t);
	test_frames_of_half_a_slot_more(t);
	test_only_high_credit_is_saved_up(t);
	test_refund_is_what_was_spent(t);
	test_what_is_owed_is_paid_by_the_steeper_slope(t);
	test_shaped_beside_others(t);
	test_displaced_keeps_its_credit(t);
	test_no_refund_before_frames_that_stay(t);
	test_slope_changes_and_ends(t);
}
