/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * depth: much at once. Storms of frames and of lengths to change, and NICs that fetch all they are
 * given: each call keeps its limits, every frame is accounted for, and how many polls it takes is
 * known.
 */
#include "exact_nic.h"
#include "pacer_rig.h"

#include "keepon/wire.h"

#define SLOT_NS 10000ll
#define START_NS 1000000ll
#define MS 1000000ull

enum {
	FRAMES = 4096,
	RING_SLOTS = 256,
	DEPTH_SLOTS = 250,
	BATCH_SLOTS = 8,
	BUDGET_FRAMES = 16,
	RELAXED = 1,
	RESCHEDULED = 2,
};

static struct exact_nic nic;
static struct kpn_frame frames[FRAMES];
static u64 memory[1 << 18];

static const struct kpn_stats *stats(void)
{
	return kpn_pacer_stats(nic.pacer);
}

static struct kpn_state state(void)
{
	return kpn_pacer_state(nic.pacer, nic.now_ns);
}

/* The txtime of the slot @slots ahead of the present one. */
static s64 ahead(s64 slots)
{
	u64 now_ns = (u64)kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;

	return (s64)(kpn_div_u64(now_ns, SLOT_NS) + (u64)slots) * SLOT_NS + 64;
}

static bool start_deep(void)
{
	exact_nic_prepare(&nic);
	nic.memory = memory;
	nic.memory_bytes = sizeof(memory);
	nic.config.ring_slots = RING_SLOTS;
	nic.config.depth_slots = DEPTH_SLOTS;
	nic.config.batch_slots = BATCH_SLOTS;
	nic.config.budget_frames = BUDGET_FRAMES;
	nic.config.prebuffer_frames = FRAMES;
	nic.config.classes[RELAXED].late = KPN_LATE_RELAXED;
	nic.config.classes[RESCHEDULED].late = KPN_LATE_RESCHEDULE;
	if (!exact_nic_start(&nic, START_NS))
		return false;
	exact_nic_run(&nic, 5 * MS);
	return true;
}

/* struct work - what the NIC was asked for before a call */
struct work {
	u32 stores;
	u32 lengths;
	u64 ended;
};

static struct work work_so_far(void)
{
	return (struct work){ nic.commits + nic.restores, nic.lengths, kpn_stats_ended(stats()) };
}

static void expect_within_limits(struct kpn_selftest *t, struct work before)
{
	struct kpn_limits limits = kpn_pacer_limits(nic.pacer);
	struct work now = work_so_far();

	KPN_EXPECT(t, now.stores - before.stores <= limits.frames);
	KPN_EXPECT(t, now.lengths - before.lengths <= limits.trims);
	/* of a budget: completed, and refused while placing */
	KPN_EXPECT(t, now.ended - before.ended <= 2 * BUDGET_FRAMES);
	KPN_EXPECT_EQ(t, state().pending + now.ended, stats()->submitted);
}

static void submit_all(struct kpn_selftest *t, u8 tc, s64 first_slots, u32 modulus)
{
	s64 first_ns = ahead(first_slots);
	u32 i;

	for (i = 0; i < FRAMES; i++) {
		s64 later_ns = (s64)(modulus ? i % modulus : i) * SLOT_NS;

		frames[i] = exact_frame((u8)(i % EXACT_TAGS), 100, tc, first_ns + later_ns);
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]), KPN_VERDICT_PENDING);
	}
}

/* Polls until no frame is pending, @most at most; each within its limits. */
static u32 polls_until_done(struct kpn_selftest *t, u32 most)
{
	u32 polls = 0;

	while (state().pending && polls < most) {
		struct work before = work_so_far();

		exact_nic_poll(&nic, kpn_pacer_poll_interval_ns(nic.pacer));
		expect_within_limits(t, before);
		polls++;
	}
	return polls;
}

static void expect_all_accounted(struct kpn_selftest *t)
{
	u32 sum = 0;
	u32 verdict;

	for (verdict = 0; verdict < KPN_VERDICT_COUNT; verdict++)
		sum += nic.outcomes[verdict];
	KPN_EXPECT_EQ(t, sum, FRAMES);
	KPN_EXPECT_EQ(t, state().pending, 0);
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
	KPN_EXPECT_EQ(t, stats()->underruns + stats()->slips + stats()->losses, 0);
}

/* A step makes 4096 frames overdue at once: by 50 to 149 slots. */
static void start_storm(struct kpn_selftest *t, u8 tc)
{
	struct work before;

	KPN_EXPECT(t, start_deep());
	submit_all(t, tc, 400, 100);
	KPN_EXPECT_EQ(t, state().pending, FRAMES);
	before = work_so_far();
	KPN_EXPECT_EQ(t, kpn_pacer_adjtime(nic.pacer, 549 * SLOT_NS), 0);
	exact_nic_collect(&nic);
	expect_within_limits(t, before);
}

/*
 * Relaxed frames have a slot within one ring of their own, or end. Each is looked at once when it
 * comes out of the heap and once when it comes out of the FIFO: two budgets.
 */
static void test_storm_of_overdue_relaxed_frames(struct kpn_selftest *t)
{
	u32 most = 2 * FRAMES / BUDGET_FRAMES + RING_SLOTS / BATCH_SLOTS + 2;

	start_storm(t, RELAXED);
	KPN_EXPECT(t, polls_until_done(t, 10 * most) <= most);
	expect_all_accounted(t);
	KPN_EXPECT(t, nic.outcomes[KPN_VERDICT_MOVED] > 0);
	KPN_EXPECT(t, nic.outcomes[KPN_VERDICT_NO_SLOT] > 0);
	KPN_EXPECT_EQ(t,
		      nic.outcomes[KPN_VERDICT_MOVED] + nic.outcomes[KPN_VERDICT_NO_SLOT] +
			      nic.outcomes[KPN_VERDICT_LATE],
		      FRAMES);
}

/* Rescheduled frames are all sent: one a slot, a batch a poll; a dithered poll is a little less. */
static void test_storm_of_overdue_rescheduled_frames(struct kpn_selftest *t)
{
	u32 most = FRAMES / BATCH_SLOTS * 5 / 4 + RING_SLOTS / BATCH_SLOTS + 2;

	start_storm(t, RESCHEDULED);
	KPN_EXPECT(t, polls_until_done(t, 10 * most) <= most);
	expect_all_accounted(t);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_MOVED], FRAMES);
}

/*
 * Steps one after the other, with frames put into the slots that each leaves free: more are taken
 * back than the ring holds, and all of them have to be somewhere. What there is no room for ends.
 */
static void test_steps_in_a_row_stay_within_the_memory(struct kpn_selftest *t)
{
	static struct kpn_frame many[40 * EXACT_RING_SLOTS_MAX];
	u8 *bytes = (u8 *)memory;
	size_t used_bytes;
	u32 accepted = 0;
	u32 changed = 0;
	size_t at;
	u32 step;
	u32 i;

	memset(memory, 0xa5, sizeof(memory));
	exact_nic_prepare(&nic);
	nic.memory = memory;
	nic.memory_bytes = sizeof(memory);
	nic.config.prebuffer_frames = 0;
	KPN_EXPECT(t, exact_nic_start(&nic, 10000 * (s64)MS));
	used_bytes = kpn_pacer_bytes(&nic.config);
	exact_nic_run(&nic, 5 * MS);
	for (step = 0; step < 40; step++) {
		for (i = 0; i < nic.config.ring_slots; i++) {
			many[accepted] = exact_frame(1, 100, 0, ahead((s64)i));
			if (kpn_pacer_submit(nic.pacer, &many[accepted]) == KPN_VERDICT_PENDING)
				accepted++;
		}
		kpn_pacer_adjtime(nic.pacer, -2000 * SLOT_NS);
		exact_nic_collect(&nic);
	}
	for (at = used_bytes; at < sizeof(memory); at++)
		changed += bytes[at] != 0xa5;
	KPN_EXPECT_EQ(t, changed, 0);
	KPN_EXPECT(t, nic.outcomes[KPN_VERDICT_STEPPED] > nic.config.ring_slots);
	polls_until_done(t, 100000);
	KPN_EXPECT_EQ(t, state().pending, 0);
	KPN_EXPECT_EQ(t, kpn_stats_ended(stats()), stats()->submitted);
}

/* 4096 frames wait for a slot each, and every one of them is on time. */
static void test_prebuffer_of_4096(struct kpn_selftest *t)
{
	u32 most = (FRAMES + 400) / BATCH_SLOTS * 5 / 4 + 2;

	KPN_EXPECT(t, start_deep());
	submit_all(t, 0, 400, 0);
	KPN_EXPECT_EQ(t, stats()->prebuffered, FRAMES);
	KPN_EXPECT(t, polls_until_done(t, 10 * most) <= most);
	expect_all_accounted(t);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], FRAMES);
	/* and one more than 4096 has no room */
	submit_all(t, 0, 400, 1);
	KPN_EXPECT_EQ(t,
		      kpn_pacer_submit(nic.pacer, &(struct kpn_frame){ .data = frames[0].data,
								       .frame_bytes = 100,
								       .flags = KPN_FRAME_TXTIME,
								       .txtime_ns = ahead(400) }),
		      KPN_VERDICT_NO_ROOM);
}

/*
 * At 0.24 % every one of 250 posted slots needs another length, and a call changes a quarter of
 * them at most. Then nobody polls until the wire is about where planning stopped: what it has
 * overtaken keeps its length, what is beyond gets one, and the grid is reached all the same.
 */
static void test_wire_overtakes_the_plan(struct kpn_selftest *t)
{
	u32 slots;

	for (slots = 50; slots < 80; slots++) {
		struct kpn_limits limits;
		struct work before;
		u64 planned_seq;

		KPN_EXPECT(t, start_deep());
		nic.caps.prefetch_slots_max = 1;
		limits = kpn_pacer_limits(nic.pacer);
		before = work_so_far();
		KPN_EXPECT_EQ(t, kpn_pacer_adjfine(nic.pacer, 2400 * 65536), 0);
		expect_within_limits(t, before);
		KPN_EXPECT(t, nic.lengths - before.lengths < DEPTH_SLOTS / 2);
		planned_seq = state().planned_seq;
		KPN_EXPECT(t, planned_seq < state().tail_seq - limits.trims / 8);
		exact_nic_go(&nic, slots * SLOT_NS);
		exact_nic_poll(&nic, 0);
		KPN_EXPECT(t, state().planned_seq > nic.head_seq);
		KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
		exact_nic_run(&nic, 8 * MS);
		KPN_EXPECT(t, state().lock_seq < state().head_seq);
		KPN_EXPECT_EQ(t, state().planned_seq, state().tail_seq);
		KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
		KPN_EXPECT_EQ(t, stats()->underruns + stats()->slips, 0);
	}
}

/*
 * Only slots of no class are trimmed, and the others may be full. After a step a full frame is in a
 * slot that is trimmed now; and while no reading is believed nobody takes it back before its slot
 * is posted. It leaves whole: the next slot of no class is trimmed instead.
 */
static void test_frame_in_a_slot_that_is_trimmed_after_a_step(struct kpn_selftest *t)
{
	static const u16 masks[] = { 0, 1, 1, 1 };
	s64 steps;

	for (steps = 1; steps <= 4; steps++) {
		struct kpn_frame *frame = &frames[0];

		exact_nic_prepare(&nic);
		nic.config.trim = KPN_TRIM_RESERVED;
		nic.config.allowed = masks;
		nic.config.partition_slots = KPN_COUNT_OF(masks);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 5 * MS);
		*frame = exact_frame(7, 1230, 0, ahead(24));
		/* the next slot that is the class's */
		while (kpn_pacer_submit(nic.pacer, frame) != KPN_VERDICT_PENDING)
			frame->txtime_ns += SLOT_NS;
		/* an index that says nonsense is not believed for some polls */
		nic.index_lie = 40;
		exact_nic_poll(&nic, 0);
		nic.index_lie = 0;
		KPN_EXPECT_EQ(t, state().head_valid, false);
		/* by whole slots, and a quarter that has to be trimmed away again */
		KPN_EXPECT_EQ(t, kpn_pacer_adjtime(nic.pacer, steps * SLOT_NS + 2500), 0);
		exact_nic_run(&nic, MS);
		KPN_EXPECT_EQ(t, nic.log_count, 1);
		KPN_EXPECT(t, nic.log_count && nic.log[0].intact);
		KPN_EXPECT(t, nic.log_count && nic.log[0].frame_bytes >= 1230);
		KPN_EXPECT_EQ(t, state().pending, 0);
		KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
		exact_nic_run(&nic, 8 * MS);
		KPN_EXPECT(t, state().lock_seq < state().head_seq);
	}
}

/*
 * A fetch index that lags by up to @lag_ps: the NIC has @prefetch_slots beyond the one on the wire;
 * ring 64, depth 20, batch 4.
 */
static bool start_fetching(struct kpn_selftest *t, struct rig *rig, u32 prefetch_slots, u64 lag_ps)
{
	const struct fake_params params = {
		.ring_slots = 64,
		.slot_bytes = 1230,
		.buffer_bytes = 1522,
		.frame_bytes_min = 60,
		.frame_bytes_max = 1522,
		.byte_ps = 8000,
		.prefetch_slots = prefetch_slots,
		.index_lag_ps_max = lag_ps,
		.restart_ps_min = 500000,
		.restart_ps_max = 1500000 + lag_ps,
		.read_ps = 200000,
		.cpu_start_ns = 1000000,
		.persistent = true,
		.coherent = true,
	};
	struct kpn_nic_caps caps = fake_nic_caps(&params, 200000, 1230 - 16, 1246, 1);
	struct kpn_config config;

	kpn_config_defaults(&config, &caps, 1000000000, 1230);
	config.ring_slots = 64;
	config.depth_slots = 20;
	config.batch_slots = 4;
	config.prebuffer_frames = 8;
	if (!KPN_EXPECT(t, rig_bytes(&config, &params, 4) <= sizeof(memory)) ||
	    !KPN_EXPECT(t, rig_init(rig, memory, &config, &caps, &params, 4, START_NS, NULL)))
		return false;
	rig_start(rig);
	return true;
}

static void poll_often(struct rig *rig, u32 polls)
{
	while (polls--) {
		rig_advance(rig, kpn_pacer_poll_interval_ns(rig->pacer) * 1000);
		rig_poll(rig);
	}
}

/*
 * The wire has run dry and the first poll does not end all frames that have left, so nothing is
 * posted. A CPU that is away then: the index has not moved and could not, and the NIC is well.
 */
static void test_quiet_cpu_is_not_taken_for_a_dead_nic(struct kpn_selftest *t)
{
	u32 i;

	if (!KPN_EXPECT(t, start_deep()))
		return;
	for (i = 0; i < 40; i++) {
		frames[i] = exact_frame((u8)i, 100, 0, ahead(20 + i));
		KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]), KPN_VERDICT_PENDING);
	}
	exact_nic_poll(&nic, 4 * MS);
	KPN_EXPECT(t, state().pending > 0);
	KPN_EXPECT_EQ(t, stats()->underruns, 0);
	KPN_EXPECT(t, kpn_pacer_limits(nic.pacer).stall_ns < 400 * MS);
	exact_nic_poll(&nic, 400 * MS);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_STALLED] + nic.events[KPN_EVENT_LOST], 0);
	exact_nic_run(&nic, 2 * MS);
	KPN_EXPECT_EQ(t, stats()->underruns, 1);
	KPN_EXPECT_EQ(t, nic.events[KPN_EVENT_UNDERRUN], 1);
	KPN_EXPECT_EQ(t, state().pending, 0);
}

/*
 * With 7 slots fetched ahead, a poll after 12 slots or more finds the index at the tail. It posts
 * what has left, so that the wire goes on as long as anything was left.
 */
static void test_late_poll_finds_all_fetched(struct kpn_selftest *t)
{
	static struct rig rig;
	u32 slots;

	for (slots = 8; slots <= 18; slots++) {
		if (!start_fetching(t, &rig, 7, 0))
			return;
		poll_often(&rig, 100);
		rig_advance(&rig, slots * SLOT_NS * 1000);
		rig_poll(&rig);
		KPN_EXPECT(t, slots < 13 || rig.nic.read_seq + 7 > rig.nic.fetch_seq);
		poll_often(&rig, 100);
		/* after the last poll of those before, up to 4 slots were left to the next */
		KPN_EXPECT(t, slots > 14 || kpn_pacer_stats(rig.pacer)->underruns == 0);
		KPN_EXPECT(t, kpn_pacer_stats(rig.pacer)->underruns <= 1);
		KPN_EXPECT_TEXT(t, rig.violation ? rig.violation : "", "");
		rig_stop(&rig);
	}
}

/*
 * An index that stood still and goes on leaves bounds that are behind the wire, and no reading need
 * contradict them. What the index has passed is not changed all the same.
 */
static void test_index_that_stood_still_is_not_written_behind(struct kpn_selftest *t)
{
	static struct rig rig;
	u32 behind = 0;
	u32 halves;

	for (halves = 1; halves <= 24; halves++) {
		u32 polls;

		if (!start_fetching(t, &rig, 3, 30000000))
			return;
		poll_often(&rig, 100);
		rig.assumptions_hold = false;
		rig.nic.frozen = true;
		rig_advance(&rig, halves * SLOT_NS * 500);
		rig_poll(&rig);
		rig.nic.frozen = false;
		for (polls = 0; polls < 40; polls++) {
			struct kpn_head head;

			rig_advance(&rig, SLOT_NS * 700);
			rig_poll(&rig);
			head = kpn_pacer_head(rig.pacer, fake_nic_cpu_ns(&rig.nic));
			behind += head.upper_seq < rig.nic.wire_seq;
			KPN_EXPECT(
				t,
				kpn_pacer_window(rig.pacer, fake_nic_cpu_ns(&rig.nic)).first_seq >=
					rig.nic.read_seq);
			rig_adjfine(&rig, (s64)(polls & 1) * 2400 * 65536);
			rig_submit(&rig, 64, 0, 0, 0, NULL);
		}
		KPN_EXPECT_TEXT(t, rig.violation ? rig.violation : "", "");
		rig_stop(&rig);
	}
	KPN_EXPECT(t, behind > 0);
}

void kpn_test_depth(struct kpn_selftest *t)
{
	test_storm_of_overdue_relaxed_frames(t);
	test_storm_of_overdue_rescheduled_frames(t);
	test_steps_in_a_row_stay_within_the_memory(t);
	test_prebuffer_of_4096(t);
	test_wire_overtakes_the_plan(t);
	test_frame_in_a_slot_that_is_trimmed_after_a_step(t);
	test_quiet_cpu_is_not_taken_for_a_dead_nic(t);
	test_late_poll_finds_all_fetched(t);
	test_index_that_stood_still_is_not_written_behind(t);
}
