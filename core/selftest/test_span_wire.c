/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * span on the exact NIC: that each long frame leaves whole, in its slot, while every slot outside
 * of them stays on the grid.
 */
#include "pacer_rig.h"
#include "selftest.h"
#include "test_span.h"

#include "keepon/wire.h"

enum {
	FRAMES = 512,
	RING_SLOTS = 512,
	BYTE_PS = 8000, /* 1 Gb/s */
	BEST_EFFORT = 0,
	SCHEDULED = 1,
};

static u64 memory[1 << 19];
static struct rig rig;

/*
 * struct seen - counts by the NIC and the pacer
 * @off_grid: slots outside of frames further off the grid than promised; @slots: of long frames
 */
static struct seen {
	u64 off_grid;
	u64 on_grid;
	u64 long_frames;
	u64 slots;
	u64 verdicts[KPN_VERDICT_COUNT];
	u64 bound_ps;
	u64 from_seq;
	u64 behind_seq;
} seen;

/* Every slot that begins outside of a long frame begins on the grid. */
static void on_slot(void *context, const struct fake_slot *slot, const struct rig_frame *frame)
{
	struct kpn_align align;
	struct kpn_state state;

	(void)context;
	if (slot->seq < seen.behind_seq)
		return;
	state = kpn_pacer_state(rig.pacer, fake_nic_cpu_ns(&rig.nic));
	if (slot->seq >= seen.from_seq && state.lock_seq <= slot->seq) {
		kpn_align_init(&align, rig.config.slot_bytes * BYTE_PS + 20 * BYTE_PS, BYTE_PS,
			       BYTE_PS, BYTE_PS);
		align.base = state.base;
		if (kpn_align_beyond(&align, kpn_pacer_clock(rig.pacer), slot->seq,
				     slot->position_ps, seen.bound_ps))
			seen.off_grid++;
		else
			seen.on_grid++;
	}
	if (frame && frame->frame.slots > 1) {
		seen.behind_seq = slot->seq + frame->frame.slots;
		seen.long_frames++;
		seen.slots += frame->frame.slots;
	}
}

static void on_outcome(void *context, const struct rig_frame *frame, enum kpn_verdict verdict,
		       struct kpn_time start)
{
	(void)context;
	(void)frame;
	(void)start;
	seen.verdicts[verdict]++;
}

/* struct link - what a run is made of */
struct link {
	u32 slot_bytes;
	u32 fragments_max;
	u32 prefetch_slots;
	bool done;
	bool persistent;
	u8 trim;
	s32 drift_ppb;
	u32 call_ps;
	u32 batch_slots;   /* 0: 40 */
	u32 budget_frames; /* 0: 400 */
	u32 depth_slots;   /* 0: 384 */
	u32 gbps;          /* 0: 1 */
	u8 late;           /* of class SCHEDULED */
};

static u16 masks[64];
static struct kpn_nic_caps caps;

static bool start_link(const struct link *link)
{
	u64 rate_bps = 1000000000ull * (link->gbps ? link->gbps : 1);
	u32 tc;
	static const struct rig_log log = { .slot = on_slot, .outcome = on_outcome };
	struct fake_params params = {
		.ring_slots = RING_SLOTS,
		.reserved_slots = 1,
		.slot_bytes = link->slot_bytes,
		.buffer_bytes = 1600,
		.frame_bytes_min = 64,
		.frame_bytes_max = 1600,
		.byte_ps = kpn_byte_time_ps(rate_bps),
		.prefetch_slots = link->prefetch_slots,
		.fragments_max = link->fragments_max,
		.long_bytes = 1542,
		.index_lag_ps_max = 300000,
		.restart_ps_min = 100000,
		.restart_ps_max = 500000,
		.read_ps = 800000,
		.call_ps = link->call_ps,
		.cpu_start_ns = 1000000000,
		.seed = link->slot_bytes,
		.coherent = link->persistent,
		.index_counts_done = link->done,
		.persistent = link->persistent,
	};
	struct kpn_config config;

	caps = fake_nic_caps(&params, 200000, KPN_FRAME_BYTES_MIN, link->slot_bytes + 16, 1);
	kpn_config_defaults(&config, &caps, rate_bps, link->slot_bytes);
	config.ring_slots = RING_SLOTS;
	config.depth_slots = link->depth_slots ? link->depth_slots : 384;
	config.batch_slots = link->batch_slots ? link->batch_slots : 40;
	config.budget_frames = link->budget_frames ? link->budget_frames : 400;
	for (tc = SCHEDULED; tc < KPN_CLASS_COUNT; tc++)
		config.classes[tc].late = link->late;
	config.partition_slots = KPN_COUNT_OF(masks);
	config.allowed = masks;
	config.trim = link->trim;
	config.frame_bytes_max = 1518;
	config.prebuffer_frames = 64;
	memset(&seen, 0, sizeof(seen));
	seen.from_seq = ~0ull;
	if (rig_bytes(&config, &params, FRAMES) > sizeof(memory) ||
	    !rig_init(&rig, memory, &config, &caps, &params, FRAMES, 1000000000, &log))
		return false;
	fake_nic_drift(&rig.nic, link->drift_ppb, 0);
	rig_start(&rig);
	rig_adjfine(&rig, link->drift_ppb ? 40 << 16 : 0);
	return true;
}

/* A poll as late as it may be. */
static void poll(void)
{
	rig_advance(&rig, kpn_pacer_poll_interval_ns(rig.pacer) * 1000);
	rig_poll(&rig);
}

static s64 now_ns(void)
{
	return kpn_pacer_gettime(rig.pacer, fake_nic_cpu_ns(&rig.nic)).ns;
}

static void expect_right(struct kpn_selftest *t)
{
	if (rig.violation)
		KPN_EXPECT_TEXT(t, rig.violation, "");
	KPN_EXPECT_EQ(t, seen.off_grid, 0);
	KPN_EXPECT(t, seen.on_grid > 400);
	KPN_EXPECT(t, seen.long_frames > 100);
	KPN_EXPECT_EQ(t, seen.verdicts[KPN_VERDICT_IN_DOUBT], 0);
	KPN_EXPECT_EQ(t, kpn_pacer_stats(rig.pacer)->underruns, 0);
	/* in the middle of some frame, as often as not */
	rig_stop(&rig);
	KPN_EXPECT_EQ(t, rig.held, 0);
	if (rig.violation)
		KPN_EXPECT_TEXT(t, rig.violation, "");
}

/* The servo's: what is posted is planned again, wherever the wire is within a frame. */
static void steer(const struct link *link, u32 polls)
{
	if (link->drift_ppb && polls % 7 == 0)
		rig_adjfine(&rig, (s64)(40 + polls % 3) << 16);
}

/* The grid is to be within its bound from the next slots on. */
static void judge_from_here(void)
{
	seen.bound_ps = kpn_pacer_bounds(rig.pacer, 200000, 5000).boundary_error_ps;
	seen.from_seq = kpn_pacer_state(rig.pacer, 0).tail_seq;
}

/* Best effort of full frames alone fills what slots it has; the grid holds beside it. */
static void run_saturated(struct kpn_selftest *t, const struct link *link, u32 frame_bytes)
{
	u64 first_seq = 0;
	u64 slots;
	u32 polls;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(masks); i++)
		masks[i] = link->trim == KPN_TRIM_RESERVED && !i ? 0 : 1 << BEST_EFFORT;
	if (!start_link(link)) {
		KPN_EXPECT(t, false);
		return;
	}
	for (polls = 0; polls < 600 && !rig.violation; polls++) {
		for (i = 0; i < 60 && kpn_pacer_state(rig.pacer, 0).pending < 60; i++)
			rig_submit(&rig, frame_bytes, BEST_EFFORT, 0, 0, NULL);
		steer(link, polls);
		poll();
		if (polls != 100)
			continue;
		judge_from_here();
		seen.slots = 0;
		first_seq = rig.nic.fetch_seq;
	}
	slots = rig.nic.fetch_seq - first_seq;
	expect_right(t);
	KPN_EXPECT(t, seen.verdicts[KPN_VERDICT_BEST_EFFORT] > 200);
	/* all slots but those left over beside a trim, or between two that are open to no class */
	if (link->trim == KPN_TRIM_ANY)
		KPN_EXPECT(t, seen.slots * 100 >= slots * 97);
}

/* Short and long frames with a txtime, and best effort of every length in between. */
static void run_mixed(struct kpn_selftest *t, const struct link *link)
{
	u64 seed = link->slot_bytes * 7 + link->fragments_max;
	s64 slot_ns = kpn_wire_bytes(link->slot_bytes) * BYTE_PS / 1000;
	u32 period = link->trim == KPN_TRIM_RESERVED ? 128 : link->slot_bytes < 200 ? 200 : 60;
	s64 next = 0;
	u32 refused = 0;
	u32 near = 0;
	u64 across = 0;
	u32 polls;
	u64 first;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(masks); i++)
		masks[i] = link->trim == KPN_TRIM_RESERVED && i % 48 == 47 ?
				   0 :
				   1 << BEST_EFFORT | 1 << SCHEDULED;
	if (!start_link(link)) {
		KPN_EXPECT(t, false);
		return;
	}
	for (polls = 0; polls < 600 && !rig.violation; polls++) {
		s64 slot = kpn_div_u64((u64)now_ns(), (u64)slot_ns) + 150;

		for (i = 0; i < 70 && kpn_pacer_state(rig.pacer, 0).pending < 70; i++)
			rig_submit(&rig, 64 + kpn_random_below(&seed, 1455), BEST_EFFORT, 0, 0,
				   NULL);
		if (next < slot)
			next = (slot / period + 1) * period;
		for (; polls > 20 && polls < 300 && next < slot + 100; next += period) {
			u32 bytes = kpn_random_below(&seed, 2) ? 1518 : 64;

			refused += rig_submit(&rig, bytes, SCHEDULED, KPN_FRAME_TXTIME,
					      next * slot_ns + 64, NULL) != KPN_VERDICT_PENDING;
		}
		/* as near as may be, where a long frame may be under way */
		first = kpn_pacer_window(rig.pacer, fake_nic_cpu_ns(&rig.nic)).first_seq +
			kpn_pacer_state(rig.pacer, 0).base + kpn_random_below(&seed, 4);
		/* what takes time without having any kept for it is too late */
		if (!link->call_ps || polls % 2 == 0)
			near += rig_submit(&rig, polls % 2 ? 64 : 1518, SCHEDULED, KPN_FRAME_TXTIME,
					   (s64)first * slot_ns + 64, NULL) == KPN_VERDICT_PENDING;
		/* in the end across the tail */
		first = kpn_pacer_state(rig.pacer, 0).tail_seq +
			kpn_pacer_state(rig.pacer, 0).base - kpn_random_below(&seed, 4);
		if (polls > 320 && first >= across) {
			across = first + kpn_pacer_frame_slots(rig.pacer, 1518);
			refused +=
				rig_submit(&rig, 1518, SCHEDULED, KPN_FRAME_TXTIME,
					   (s64)first * slot_ns + 64, NULL) != KPN_VERDICT_PENDING;
		}
		steer(link, polls);
		poll();
		if (polls != 100)
			continue;
		judge_from_here();
	}
	expect_right(t);
	/* across slots that are open to no class there is no frame */
	if (link->trim == KPN_TRIM_ANY)
		KPN_EXPECT_EQ(t, refused + seen.verdicts[KPN_VERDICT_NOT_ALLOWED], 0);
	KPN_EXPECT(t, near > 5 || link->call_ps);
	/* those far ahead all have their slots, however much best effort has to make room */
	KPN_EXPECT(t, seen.verdicts[KPN_VERDICT_ON_TIME] > near + 20);
	KPN_EXPECT_EQ(t,
		      seen.verdicts[KPN_VERDICT_OCCUPIED] + seen.verdicts[KPN_VERDICT_LATE] +
			      seen.verdicts[KPN_VERDICT_UNLOCKED],
		      0);
}

static void test_links(struct kpn_selftest *t)
{
	static const struct link links[] = {
		{ 105, 128, 3, true, true, KPN_TRIM_ANY, .drift_ppb = 60000 },
		{ 105, 1, 3, true, false, KPN_TRIM_ANY, .drift_ppb = 60000 },
		{ 105, 128, 9, false, true, KPN_TRIM_ANY, .drift_ppb = 60000 },
		{ 105, 1, 2, false, true, KPN_TRIM_ANY, .drift_ppb = 0, .call_ps = 150000 },
		{ 230, 128, 2, false, false, KPN_TRIM_ANY, .drift_ppb = 60000 },
		{ 230, 1, 5, false, true, KPN_TRIM_ANY, .drift_ppb = 60000 },
		{ 605, 128, 1, true, true, KPN_TRIM_ANY, .drift_ppb = 60000 },
		{ 605, 1, 4, true, false, KPN_TRIM_ANY, .drift_ppb = 60000 },
		{ 1230, 128, 2, false, true, KPN_TRIM_ANY, .drift_ppb = 60000 },
		{ 1230, 1, 2, true, true, KPN_TRIM_ANY, .drift_ppb = 60000 },
		{ 105, 128, 3, true, true, KPN_TRIM_RESERVED, .drift_ppb = 60000 },
		{ 230, 1, 3, false, true, KPN_TRIM_RESERVED, .drift_ppb = 60000 },
		{ 115, 128, 1, true, true, KPN_TRIM_ANY, .drift_ppb = 0 },
	};
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(links); i++) {
		run_saturated(t, &links[i], 1518);
		run_saturated(t, &links[i], links[i].slot_bytes + 41);
		run_mixed(t, &links[i]);
	}
}

/* Rows of 20, of 4 and of 13 slots; a frame of 13 is taken where they are all its class's. */
static void test_rows(struct kpn_selftest *t)
{
	static const struct link link = { 105, 128, 2, true, true, KPN_TRIM_ANY, .drift_ppb = 0 };
	s64 slot_ns = kpn_wire_bytes(link.slot_bytes) * BYTE_PS / 1000;
	s64 period;
	u32 polls;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(masks); i++)
		masks[i] = i < 20 ? 1 << 1 : i < 24 ? 1 << 2 : 1 << 3;
	KPN_EXPECT(t, start_link(&link));
	KPN_EXPECT_EQ(t, kpn_pacer_frame_slots(rig.pacer, 1518), 13);
	KPN_EXPECT_EQ(t, kpn_pacer_frame_slots(rig.pacer, 1519), 0);
	KPN_EXPECT_EQ(t, kpn_pacer_frame_bytes_max(rig.pacer, 1), 1518);
	/* 4 x 125 bytes, 20 of them preamble and gap, one kept for a trim */
	KPN_EXPECT_EQ(t, kpn_pacer_frame_bytes_max(rig.pacer, 2), 4 * 125 - 20 - 1);
	KPN_EXPECT_EQ(t, kpn_pacer_frame_bytes_max(rig.pacer, 4), 0);
	for (polls = 0; polls < 100; polls++)
		poll();
	period = now_ns() / slot_ns / 64 + 4;
	KPN_EXPECT_EQ(t, rig_submit(&rig, 1518, 2, 0, 0, NULL), KPN_VERDICT_OVERSIZE);
	KPN_EXPECT_EQ(t, rig_submit(&rig, 4 * 125 - 21, 2, 0, 0, NULL), KPN_VERDICT_PENDING);
	for (i = 0; i < 20; i++) {
		int verdict = rig_submit(&rig, 1518, 1, KPN_FRAME_TXTIME,
					 ((period + i) * 64 + i) * slot_ns + 64, NULL);

		KPN_EXPECT(t, verdict == (i + 13 <= 20 ? KPN_VERDICT_PENDING :
							 KPN_VERDICT_NOT_ALLOWED) ||
				      verdict == KPN_VERDICT_PENDING);
	}
	for (polls = 0; polls < 60; polls++)
		poll();
	KPN_EXPECT_EQ(t, seen.verdicts[KPN_VERDICT_ON_TIME], 8);
	KPN_EXPECT_EQ(t, seen.verdicts[KPN_VERDICT_BEST_EFFORT], 1);
	if (rig.violation)
		KPN_EXPECT_TEXT(t, rig.violation, "");
}

static void all_slots_for(u16 classes)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(masks); i++)
		masks[i] = classes;
}

static s64 time_of(u64 seq, const struct link *link)
{
	u64 net_slot = seq + kpn_pacer_state(rig.pacer, 0).base;

	return (s64)(net_slot * kpn_wire_bytes(link->slot_bytes) * BYTE_PS / 1000) + 64;
}

static void expect_no_violation(struct kpn_selftest *t)
{
	if (rig.violation)
		KPN_EXPECT_TEXT(t, rig.violation, "");
}

/* Polls after polls a frame across the tail of the deepest ring. */
static void test_tail_goes_no_further_than_the_ring(struct kpn_selftest *t)
{
	static const struct link link = {
		105, 128, 3, true, true, KPN_TRIM_ANY, .batch_slots = 8, .depth_slots = 487
	};
	u32 polls;

	all_slots_for(1 << SCHEDULED);
	KPN_EXPECT(t, start_link(&link));
	for (polls = 0; polls < 400 && !rig.violation; polls++) {
		if (polls > 200)
			rig_submit(&rig, 1518, SCHEDULED, KPN_FRAME_TXTIME,
				   time_of(kpn_pacer_state(rig.pacer, 0).tail_seq - 1, &link),
				   NULL);
		poll();
	}
	KPN_EXPECT(t, seen.verdicts[KPN_VERDICT_ON_TIME] > 20);
	expect_no_violation(t);
}

/* They get room, though the first slots they could have are of a long frame that is under way. */
static void test_late_frames_beside_long_ones(struct kpn_selftest *t)
{
	struct link link = { 105, 1, 3, true, true, KPN_TRIM_ANY, .drift_ppb = 0 };
	u32 polls;
	u32 way;
	u32 i;

	all_slots_for(1 << BEST_EFFORT | 1 << SCHEDULED);
	for (way = 0; way < 4; way++) {
		link.fragments_max = way & 1 ? 128 : 1;
		link.late = way & 2 ? KPN_LATE_RELAXED : KPN_LATE_RESCHEDULE;
		KPN_EXPECT(t, start_link(&link));
		for (polls = 0; polls < 140; polls++) {
			for (i = 0; i < 60 && kpn_pacer_state(rig.pacer, 0).pending < 60; i++)
				rig_submit(&rig, 1518, BEST_EFFORT, 0, 0, NULL);
			if (polls >= 100 && polls < 120)
				rig_submit(&rig, 64, SCHEDULED, KPN_FRAME_TXTIME,
					   time_of(kpn_pacer_state(rig.pacer, 0).head_seq, &link),
					   NULL);
			poll();
		}
		KPN_EXPECT_EQ(t, seen.verdicts[KPN_VERDICT_MOVED], 20);
		expect_no_violation(t);
	}
}

/* Long frames that wait for slots which another has take nothing from best effort. */
static void test_waiting_takes_no_budget(struct kpn_selftest *t)
{
	static const struct link link = { 105,
					  128,
					  3,
					  true,
					  true,
					  KPN_TRIM_ANY,
					  .batch_slots = 8,
					  .budget_frames = 32,
					  .late = KPN_LATE_RESCHEDULE };
	u64 head_seq = 0;
	u32 polls;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(masks); i++)
		masks[i] = i < 13 ? 7 << SCHEDULED : 1 << BEST_EFFORT;
	KPN_EXPECT(t, start_link(&link));
	for (polls = 0; polls < 300; polls++) {
		if (polls == 60)
			head_seq = kpn_pacer_state(rig.pacer, 0).head_seq;
		if (polls == 60)
			seen.verdicts[KPN_VERDICT_BEST_EFFORT] = 0;
		for (i = 0; i < 3; i++)
			rig_submit(&rig, 1518, (u8)(SCHEDULED + i), KPN_FRAME_TXTIME,
				   time_of(kpn_pacer_state(rig.pacer, 0).head_seq, &link), NULL);
		for (i = 0; i < 40; i++)
			rig_submit(&rig, 85, BEST_EFFORT, 0, 0, NULL);
		poll();
	}
	head_seq = kpn_pacer_state(rig.pacer, 0).head_seq - head_seq;
	KPN_EXPECT(t, seen.verdicts[KPN_VERDICT_BEST_EFFORT] * 64 > head_seq * 51 * 95 / 100);
	expect_no_violation(t);
}

/* A new table takes some slots of a placed frame away: the frame is recalled. */
static void test_switch_within_a_frame(struct kpn_selftest *t)
{
	static const struct link link = { 105, 128, 3, true, true, KPN_TRIM_ANY, .drift_ppb = 0 };
	static u16 others[KPN_COUNT_OF(masks)];
	static struct kpn_partition next;
	static u64 planes[4096];
	u32 polls;
	u64 at;
	u32 i;

	all_slots_for(1 << SCHEDULED | 1 << 2);
	for (i = 0; i < KPN_COUNT_OF(masks); i++)
		others[i] = 1 << 2;
	KPN_EXPECT(t, start_link(&link));
	for (polls = 0; polls < 100; polls++)
		poll();
	kpn_partition_init(&next, planes, others, KPN_COUNT_OF(others));
	at = kpn_pacer_state(rig.pacer, 0).head_seq + 200;
	KPN_EXPECT_EQ(
		t,
		rig_submit(&rig, 1518, SCHEDULED, KPN_FRAME_TXTIME, time_of(at - 6, &link), NULL),
		KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(
		t, rig_set_partition(&rig, &next, others, at + kpn_pacer_state(rig.pacer, 0).base),
		0);
	KPN_EXPECT_EQ(t, rig_submit(&rig, 64, 2, KPN_FRAME_TXTIME, time_of(at + 2, &link), NULL),
		      KPN_VERDICT_PENDING);
	for (polls = 0; polls < 30; polls++)
		poll();
	KPN_EXPECT_EQ(t, seen.verdicts[KPN_VERDICT_ON_TIME], 1);
	KPN_EXPECT_EQ(t, seen.verdicts[KPN_VERDICT_STEPPED], 1);
	expect_no_violation(t);
}

/* Where all stores of a frame take longer than what best effort is usually placed ahead. */
static void test_fast_links(struct kpn_selftest *t)
{
	static const struct link link = {
		105,       1, 2, true, true, KPN_TRIM_ANY, .batch_slots = 16, .budget_frames = 40,
		.gbps = 10
	};
	u32 polls;

	all_slots_for(1 << BEST_EFFORT);
	KPN_EXPECT(t, start_link(&link));
	rig_submit(&rig, 1518, BEST_EFFORT, 0, 0, NULL);
	rig_submit(&rig, 64, BEST_EFFORT, 0, 0, NULL);
	for (polls = 0; polls < 100; polls++)
		poll();
	KPN_EXPECT_EQ(t, seen.verdicts[KPN_VERDICT_BEST_EFFORT], 2);
	expect_no_violation(t);
}

/* A correction larger than one long frame bears is taken by several: the grid holds. */
static void test_large_corrections(struct kpn_selftest *t)
{
	static const struct link link = {
		1230, 128, 4, false, true, KPN_TRIM_ANY, .depth_slots = 300
	};
	u32 polls;
	u32 i;

	all_slots_for(1 << BEST_EFFORT);
	KPN_EXPECT(t, start_link(&link));
	for (polls = 0; polls < 400; polls++) {
		for (i = 0; i < 110 && kpn_pacer_state(rig.pacer, 0).pending < 110; i++)
			rig_submit(&rig, 1518, BEST_EFFORT, 0, 0, NULL);
		if (polls > 100 && polls % 20 == 0) {
			rig_adjfine(&rig, polls % 40 ? 150 << 16 : 0);
			KPN_EXPECT(t, kpn_pacer_state(rig.pacer, 0).lock_seq <=
					      kpn_pacer_state(rig.pacer, 0).tail_seq);
		}
		poll();
	}
	expect_no_violation(t);
}

/* What a class may send is known before there is a pacer, by the slots it has in a row. */
static void test_limits_of_rows(struct kpn_selftest *t)
{
	struct link link = { .slot_bytes = 230, .prefetch_slots = 3, .persistent = true };
	u32 longest[2] = { 0, 0 };
	u32 row;
	u32 i;

	for (i = 0; i < 2; i++) {
		link.fragments_max = i ? 128 : 1;
		for (row = 1; row < 12; row++) {
			u32 slot;

			/* round the end of the table */
			for (slot = 0; slot < KPN_COUNT_OF(masks); slot++)
				masks[(slot + 60) % KPN_COUNT_OF(masks)] =
					slot < row ? 1 << BEST_EFFORT : 1 << SCHEDULED;
			if (!start_link(&link)) {
				KPN_EXPECT(t, false);
				return;
			}
			KPN_EXPECT_EQ(t, kpn_masks_row_max(masks, 64, BEST_EFFORT), row);
			KPN_EXPECT_EQ(t, kpn_config_frame_bytes_max(&rig.config, &caps, row),
				      kpn_pacer_frame_bytes_max(rig.pacer, BEST_EFFORT));
			if (longest[i] && longest[i] < 1518)
				KPN_EXPECT(t, kpn_config_frame_slots(&rig.config, &caps,
								     longest[i] + 1) == row);
			longest[i] = kpn_config_frame_bytes_max(&rig.config, &caps, row);
		}
		KPN_EXPECT_EQ(t, longest[i], 1518);
		KPN_EXPECT_EQ(t, kpn_config_frame_slots(&rig.config, &caps, 1518), i ? 7 : 9);
	}
	KPN_EXPECT_EQ(t, kpn_config_frame_bytes_max(&rig.config, &caps, 1), 230 - 8);
}

void kpn_test_span_wire(struct kpn_selftest *t)
{
	test_links(t);
	test_rows(t);
	test_tail_goes_no_further_than_the_ring(t);
	test_late_frames_beside_long_ones(t);
	test_waiting_takes_no_budget(t);
	test_switch_within_a_frame(t);
	test_fast_links(t);
	test_large_corrections(t);
	test_limits_of_rows(t);
}
