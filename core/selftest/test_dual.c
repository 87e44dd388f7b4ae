/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dual: stamps of received frames against two wires whose positions are known, the own one on the
 * fake NIC.
 */
#include "keepon/dual.h"

#include "keepon/errno.h"
#include "keepon/wire.h"
#include "moving_wire.h"
#include "pacer_rig.h"
#include "selftest.h"

enum {
	BYTE_PS = 8000,
	SLOT_BYTES = 300,
	SLOT_NS = (SLOT_BYTES + KPN_WIRE_OVERHEAD_BYTES) * 8,
	POLL_NS = 100000,
	LAG_NS = 500,
	READ_NS = 300,
	FRAMES = 8,
	MEMORY_WORDS = 200000,
};

/*
 * struct both - the own NIC, and a peer whose wire moves with the same CPU counter
 * @start_ps: on the peer's wire, of the frame whose last bit has not been counted yet
 * @marked_*: the last frame of interest: its position, and where the own wire was at its reference
 *	plane
 */
struct both {
	struct rig rig;
	struct kpn_rx rx;
	struct kpn_dual dual;
	struct wire peer;
	u64 start_ps;
	u64 seed;
	u64 marked_ps;
	u64 marked_own_ps;
	u64 marked_taken_ps;
};

static u64 memory[MEMORY_WORDS];
static struct both both;

static u64 cpu_ns(void)
{
	return fake_nic_cpu_ns(&both.rig.nic);
}

/* Own wire and peer's wire up to CPU time @until_ns. */
static void go(u64 until_ns)
{
	while ((s64)(until_ns - cpu_ns()) > 0)
		rig_advance(&both.rig, (until_ns - cpu_ns()) * 1000 > 2000 ?
					       (until_ns - cpu_ns()) * 999 :
					       1000);
	wire_go(&both.peer, cpu_ns() - both.peer.now_ns);
}

static void start(struct kpn_selftest *t, u8 clock_read, enum kpn_merge merge, s32 own_ppb,
		  s32 peer_ppb, u64 seed)
{
	struct kpn_rx_config rx_config = {
		.rate_bps = 1000000000,
		.drift_ppb_max = 100000,
		.wander_ppb_per_s_max = 100,
		.poll_ns = POLL_NS,
		.lag_ns_min = LAG_NS,
		.lag_ns_max = LAG_NS,
		.frame_bytes_max = KPN_FRAME_BYTES_MAX,
	};
	struct fake_params params = {
		.ring_slots = 256,
		.reserved_slots = 1,
		.slot_bytes = SLOT_BYTES,
		.buffer_bytes = SLOT_BYTES + 8,
		.frame_bytes_min = 64,
		.frame_bytes_max = KPN_FRAME_BYTES_MAX,
		.byte_ps = BYTE_PS,
		.prefetch_slots = 2,
		.restart_ps_min = 1000000,
		.restart_ps_max = 2000000,
		.read_ps = 300000,
		.cpu_start_ns = 1000000,
		.seed = seed,
		.index_counts_done = true,
		.persistent = true,
	};
	struct kpn_nic_caps caps =
		fake_nic_caps(&params, 100000, SLOT_BYTES - 8, SLOT_BYTES + 8, 1);
	struct rig_log log = { 0 };
	struct kpn_config config;

	kpn_config_defaults(&config, &caps, 1000000000, SLOT_BYTES);
	config.ring_slots = 256;
	config.batch_slots = 39;
	config.budget_frames = 78;
	config.depth_slots = 200;
	config.clock_read = clock_read;
	config.seed = seed;
	memset(&both, 0, sizeof(both));
	both.seed = seed;
	KPN_EXPECT(t, rig_bytes(&config, &params, FRAMES) <= sizeof(memory));
	KPN_EXPECT(t,
		   rig_init(&both.rig, memory, &config, &caps, &params, FRAMES, 1000000000, &log));
	fake_nic_drift(&both.rig.nic, -own_ppb, 0); /* the CPU against the NIC */
	rig_start(&both.rig);
	KPN_EXPECT(t, !kpn_rx_problem(&rx_config));
	kpn_rx_init(&both.rx, &rx_config);
	both.peer = (struct wire){ .now_ns = cpu_ns(),
				   .ppb = peer_ppb,
				   .ppb_limit = 100000,
				   .change_ns = cpu_ns() + 1000000,
				   .seed = seed };
	kpn_dual_init(&both.dual, both.rig.pacer, &both.rx, merge, kpn_merge_tau_ns(&config));
}

static void correct(void)
{
	kpn_dual_correct(&both.dual, cpu_ns());
}

/*
 * One poll of each ring. A frame in between is marked: where the own wire is when its reference
 * plane passes.
 */
static void round_of_polls(void)
{
	u64 poll_ns = kpn_pacer_poll_interval_ns(both.rig.pacer);
	u64 next_ns = cpu_ns() + poll_ns;
	u64 seen_ps;
	u64 before_ns;
	u32 sample_ns;

	/* to the reference plane of a frame some way ahead, by the nanosecond */
	go(cpu_ns() + kpn_random_below(&both.seed, (u32)poll_ns / 2));
	both.marked_ps = both.start_ps + KPN_PREAMBLE_BYTES * BYTE_PS;
	while ((s64)(both.peer.position_ps - both.marked_ps) > 0)
		both.marked_ps += SLOT_NS * 1000ull;
	while ((s64)(both.marked_ps - both.peer.position_ps) > 0)
		go(cpu_ns() + 1 + (both.marked_ps - both.peer.position_ps) / 1001);
	both.marked_own_ps = fake_nic_position(&both.rig.nic);
	if ((s64)(next_ns - cpu_ns()) > 0)
		go(next_ns);
	rig_poll(&both.rig);
	correct();
	/* what had ended a lag before the index is sampled, some time within the reading */
	go(cpu_ns() + 2000);
	seen_ps = both.peer.position_ps;
	sample_ns = kpn_random_below(&both.seed, READ_NS);
	before_ns = cpu_ns() + LAG_NS - sample_ns;
	go(before_ns + READ_NS);
	both.marked_taken_ps = 0;
	while ((s64)(seen_ps - both.start_ps) >= (KPN_PREAMBLE_BYTES + SLOT_BYTES) * BYTE_PS) {
		u64 position_ps = kpn_rx_take(&both.rx, SLOT_BYTES);

		both.start_ps += SLOT_NS * 1000ull;
		if (position_ps == both.marked_ps)
			both.marked_taken_ps = position_ps;
	}
	kpn_rx_observe(&both.rx, before_ns, cpu_ns());
	correct();
}

static s64 picoseconds(struct kpn_time t)
{
	return t.ns * 1000 + (s64)((u64)t.frac * 1000 >> 32);
}

/*
 * A stamp is the PHC time at which the frame passed, as well as the two strips know it; 30 ns at
 * slots of 300 bytes.
 */
static void test_stamps(struct kpn_selftest *t, u32 rounds, s32 own_ppb, s32 peer_ppb, u64 seed)
{
	u32 stamps = 0;
	u32 wide = 0;
	u32 i;

	start(t, KPN_CLOCK_INTERPOLATED, KPN_MERGE_STRIP, own_ppb, peer_ppb, seed);
	KPN_EXPECT(t, !kpn_dual_stamp(&both.dual, 0, cpu_ns()).valid);
	for (i = 0; i < rounds; i++) {
		struct kpn_rx_stamp stamp;
		s64 error_ps;

		round_of_polls();
		if (!both.marked_taken_ps)
			continue;
		stamp = kpn_dual_stamp(&both.dual, both.marked_taken_ps, cpu_ns());
		/* how long the wires took to start is not known */
		if (!i)
			continue;
		if (!KPN_EXPECT(t, stamp.valid))
			return;
		error_ps = picoseconds(
			kpn_time_sub(stamp.time, kpn_clock_at(kpn_pacer_clock(both.rig.pacer),
							      both.marked_own_ps)));
		stamps++;
		/* the truth is known to the nanosecond of the CPU counter on both sides */
		if (!KPN_EXPECT(t, error_ps <= (s64)stamp.error_ps + 2500 &&
					   error_ps >= -(s64)stamp.error_ps - 2500))
			return;
		if (i > 2000)
			wide += error_ps > 150000 || error_ps < -150000;
	}
	KPN_EXPECT(t, stamps > rounds - rounds / 8);
	KPN_EXPECT_EQ(t, wide, 0);
	KPN_EXPECT_EQ(t, both.rx.stops, 0);
	KPN_EXPECT_EQ(t, both.dual.tx_set + both.dual.rx_set, 0);
}

/* A frame that is asked for late: in between both wires moved at their own rates. */
static void test_late_stamps(struct kpn_selftest *t)
{
	u32 i;

	start(t, KPN_CLOCK_INTERPOLATED, KPN_MERGE_STRIP, 90000, -90000, 7);
	for (i = 0; i < 2000; i++)
		round_of_polls();
	for (i = 0; i < 20; i++) {
		struct kpn_rx_stamp stamp;
		u64 position_ps;
		u64 own_ps;
		s64 error_ps;
		u32 wait;

		do
			round_of_polls();
		while (!both.marked_taken_ps);
		position_ps = both.marked_taken_ps;
		own_ps = both.marked_own_ps;
		for (wait = 0; wait < 50; wait++)
			round_of_polls();
		stamp = kpn_dual_stamp(&both.dual, position_ps, cpu_ns());
		error_ps = picoseconds(kpn_time_sub(
			stamp.time, kpn_clock_at(kpn_pacer_clock(both.rig.pacer), own_ps)));
		KPN_EXPECT(t, stamp.valid);
		KPN_EXPECT(t, error_ps <= (s64)stamp.error_ps + 2500 &&
				      error_ps >= -(s64)stamp.error_ps - 2500);
	}
}

/* Of a time in which one of the wires may have stood still, nothing is said. */
static void test_no_stamps_across_a_pause(struct kpn_selftest *t)
{
	u64 position_ps;
	u32 i;

	start(t, KPN_CLOCK_INTERPOLATED, KPN_MERGE_STRIP, 0, 0, 8);
	for (i = 0; i < 100 || !both.marked_taken_ps; i++)
		round_of_polls();
	position_ps = both.marked_taken_ps;
	KPN_EXPECT(t, kpn_dual_stamp(&both.dual, position_ps, cpu_ns()).valid);
	go(cpu_ns() + 2000000); /* more than is posted */
	/* the receive ring is looked at first: what the own wire did since nobody knows */
	KPN_EXPECT(t, !kpn_dual_stamp(&both.dual, position_ps, cpu_ns()).valid);
	for (i = 0; i < 100 || !both.marked_taken_ps; i++)
		round_of_polls();
	KPN_EXPECT_EQ(t, kpn_pacer_stats(both.rig.pacer)->underruns, 1);
	KPN_EXPECT(t, !kpn_dual_stamp(&both.dual, position_ps, cpu_ns()).valid);
	position_ps = both.marked_taken_ps;
	KPN_EXPECT(t, kpn_dual_stamp(&both.dual, position_ps, cpu_ns()).valid);
	both.peer.position_ps -= 4 * SLOT_NS * 1000ull; /* the peer paused for four slots */
	for (i = 0; i < 100; i++)
		round_of_polls();
	KPN_EXPECT_EQ(t, both.rx.stops, 1);
	KPN_EXPECT(t,
		   both.rx.strip.valid && !kpn_dual_stamp(&both.dual, position_ps, cpu_ns()).valid);
}

/*
 * Days pass: all positions go on by @ps, on both wires, and nothing else happens. What grew old is
 * where the peer's wire became steady.
 */
static void peer_goes_on(u64 ps)
{
	both.start_ps += ps;
	both.peer.position_ps += ps;
	both.rx.head_ps += ps;
	both.rx.first_end_ps += ps;
	both.rx.strip.lower_ps += ps;
	both.rx.strip.upper_ps += ps;
	both.rx.strip.old.lower_ps += ps;
	both.rx.strip.old.upper_ps += ps;
	both.rx.strip.young.lower_ps += ps;
	both.rx.strip.young.upper_ps += ps;
}

/*
 * A peer that never stops: 2^63 ps are 107 days, 2^64 are 213. In between its frames had no stamps,
 * for they seemed to be from before its wire was steady.
 */
static void test_stamps_for_a_year(struct kpn_selftest *t)
{
	u32 i;

	start(t, KPN_CLOCK_INTERPOLATED, KPN_MERGE_STRIP, 30000, -20000, 9);
	for (i = 0; i < 100; i++)
		round_of_polls();
	/* 53 times 6.7 days */
	for (i = 0; i < 53; i++) {
		u64 position_ps;
		u32 polls;

		peer_goes_on((1ull << 59) - 12345);
		for (polls = 0; polls < 3; polls++)
			round_of_polls();
		position_ps = both.rx.head_ps - SLOT_NS * 1000ull;
		if (!KPN_EXPECT(t, kpn_dual_stamp(&both.dual, position_ps, cpu_ns()).valid))
			return;
		KPN_EXPECT(t, both.rx.head_ps - both.rx.steady_ps <= (1ull << 60) + (1ull << 40));
	}
	KPN_EXPECT_EQ(t, both.rx.stops, 0);
}

/*
 * What lies in the receive ring makes the second clock lag; as long as it does, neither is set.
 */
static void test_nothing_is_set_while_frames_are_left(struct kpn_selftest *t)
{
	u32 i;

	start(t, KPN_CLOCK_COUNTER, KPN_MERGE_PUBLISHED, 0, 0, 3);
	for (i = 0; i < 20; i++)
		round_of_polls();
	kpn_rx_show(&both.rx, 10, cpu_ns() - READ_NS, cpu_ns());
	kpn_clock_adjtime(&both.dual.rx_clock,
			  (struct kpn_time){ .ns = -3 * (s64)both.dual.tau_ns });
	correct();
	KPN_EXPECT_EQ(t, both.dual.tx_set + both.dual.rx_set, 0);
	KPN_EXPECT_EQ(t, kpn_rx_due(&both.rx), 10);
	for (i = 0; i < 10; i++)
		kpn_rx_take(&both.rx, SLOT_BYTES);
	correct();
	KPN_EXPECT(t, both.dual.tx_set + both.dual.rx_set > 0);
}

/* How often a clock was set is counted on across the wraps of 32 and of 64 bits. */
static void test_counts_of_settings_wrap(struct kpn_selftest *t)
{
	static const u64 wraps[] = { 1ull << 31, 1ull << 32, 1ull << 63, 0 };
	u32 wrap;
	u32 i;

	start(t, KPN_CLOCK_COUNTER, KPN_MERGE_PUBLISHED, 0, 0, 3);
	for (i = 0; i < 20; i++)
		round_of_polls();
	for (wrap = 0; wrap < KPN_COUNT_OF(wraps); wrap++) {
		s64 apart_ns = 3 * (s64)both.dual.tau_ns;

		both.dual.tx_set = wraps[wrap] - 2;
		both.dual.rx_set = wraps[wrap] - 2;
		for (i = 0; i < 4; i++) {
			kpn_clock_adjtime(&both.dual.rx_clock,
					  (struct kpn_time){ .ns = -apart_ns });
			correct();
			kpn_clock_adjtime(&both.dual.rx_clock, (struct kpn_time){ .ns = apart_ns });
			correct();
		}
		KPN_EXPECT_EQ(t, both.dual.tx_set, wraps[wrap] + 2);
		KPN_EXPECT_EQ(t, both.dual.rx_set, wraps[wrap] + 2);
	}
}

/*
 * The published merge: one clock that stands still is set to the other, and only beyond 2 tau
 * (D10).
 */
static void test_a_lagging_clock_is_set(struct kpn_selftest *t)
{
	u64 tau_ns;
	u64 steps;
	u32 i;

	start(t, KPN_CLOCK_COUNTER, KPN_MERGE_PUBLISHED, 0, 0, 3);
	tau_ns = both.dual.tau_ns;
	KPN_EXPECT_EQ(t, tau_ns, 40 * SLOT_NS);
	for (i = 0; i < 100; i++)
		round_of_polls();
	KPN_EXPECT_EQ(t, both.dual.tx_set + both.dual.rx_set, 0);
	KPN_EXPECT(t, both.dual.started);
	/* the receive clock falls behind: set, and the merged time is not touched by it */
	kpn_clock_adjtime(&both.dual.rx_clock, (struct kpn_time){ .ns = -3 * (s64)tau_ns });
	KPN_EXPECT_EQ(t, picoseconds(kpn_dual_gettime(&both.dual, cpu_ns())),
		      picoseconds(kpn_pacer_gettime(both.rig.pacer, cpu_ns())));
	correct();
	KPN_EXPECT_EQ(t, both.dual.rx_set, 1);
	KPN_EXPECT_EQ(t, picoseconds(kpn_clock_at(&both.dual.rx_clock, both.rx.head_ps)),
		      picoseconds(kpn_pacer_gettime(both.rig.pacer, cpu_ns())));
	/* it runs ahead: the transmit clock is set, by whole ns */
	steps = kpn_pacer_stats(both.rig.pacer)->steps;
	kpn_clock_adjtime(&both.dual.rx_clock, (struct kpn_time){ .ns = 3 * (s64)tau_ns });
	correct();
	KPN_EXPECT_EQ(t, both.dual.tx_set, 1);
	KPN_EXPECT_EQ(t, kpn_pacer_stats(both.rig.pacer)->steps, steps + 1);
	KPN_EXPECT(t,
		   picoseconds(kpn_time_sub(kpn_clock_at(&both.dual.rx_clock, both.rx.head_ps),
					    kpn_pacer_gettime(both.rig.pacer, cpu_ns()))) < 1000);
	/* within 2 tau nothing is set */
	kpn_clock_adjtime(&both.dual.rx_clock, (struct kpn_time){ .ns = (s64)tau_ns });
	correct();
	KPN_EXPECT_EQ(t, both.dual.tx_set + both.dual.rx_set, 2);
}

/* Adjustments concern both clocks; stamps of the published merge come from the second. */
static void test_adjustments(struct kpn_selftest *t)
{
	struct kpn_time before;
	struct kpn_time set = { .ns = 7000000000, .frac = 0 };
	u64 position_ps;
	u32 i;

	start(t, KPN_CLOCK_COUNTER, KPN_MERGE_PUBLISHED, 0, 0, 3);
	KPN_EXPECT(t, !kpn_dual_stamp(&both.dual, 0, cpu_ns()).valid);
	for (i = 0; i < 10; i++)
		round_of_polls();
	position_ps = both.rx.head_ps;
	before = kpn_dual_gettime(&both.dual, cpu_ns());
	KPN_EXPECT_EQ(t, kpn_dual_adjtime(&both.dual, 12345), 0);
	KPN_EXPECT_EQ(t, picoseconds(kpn_time_sub(kpn_dual_gettime(&both.dual, cpu_ns()), before)),
		      12345000);
	KPN_EXPECT_EQ(t, kpn_dual_adjtime(&both.dual, -2000000000), -KPN_ERANGE);
	KPN_EXPECT_EQ(t, kpn_dual_adjfine(&both.dual, 100 * 65536), 0);
	KPN_EXPECT_EQ(t, kpn_dual_adjfine(&both.dual, KPN_ADJ_SCALED_PPM_MAX + 1), -KPN_ERANGE);
	KPN_EXPECT_EQ(t, both.dual.rx_clock.scaled_ppm, 100 * 65536);
	KPN_EXPECT_EQ(t, kpn_pacer_clock(both.rig.pacer)->scaled_ppm, 100 * 65536);
	KPN_EXPECT_EQ(t, kpn_dual_settime(&both.dual, set), 0);
	KPN_EXPECT_EQ(t, picoseconds(kpn_dual_stamp(&both.dual, position_ps, cpu_ns()).time),
		      7000000000000);
	set.ns = -1;
	KPN_EXPECT_EQ(t, kpn_dual_settime(&both.dual, set), -KPN_EINVAL);
}

void kpn_test_dual(struct kpn_selftest *t)
{
	test_stamps(t, 4000, 0, 0, 1);
	test_stamps(t, 4000, 50000, -50000, 2);
	test_stamps(t, 1000, -90000, 90000, 3);
	test_late_stamps(t);
	test_no_stamps_across_a_pause(t);
	test_stamps_for_a_year(t);
	test_a_lagging_clock_is_set(t);
	test_nothing_is_set_while_frames_are_left(t);
	test_counts_of_settings_wrap(t);
	test_adjustments(t);
}
