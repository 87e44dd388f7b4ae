/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * head: where the wire is believed to be, and the time read from that: the interval holds, narrows,
 * never lets time go back, and no slot the NIC has fetched is written.
 */
#include "../src/kpn_pacer_state.h"
#include "watched_nic.h"

#include "keepon/errno.h"
#include "keepon/wire.h"

/* The interval of the head holds at any moment, on both edges of the stated drift. */
static void test_head_interval_contains_the_wire(struct kpn_selftest *t)
{
	static const s32 drifts_ppb[] = { 0, 100000, -100000, 200000, -200000 };
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(drifts_ppb); i++) {
		exact_nic_prepare(&nic);
		nic.ppb = drifts_ppb[i];
		exact_nic_start(&nic, START_NS);
		KPN_EXPECT(t, run_watching(30 * MS));
		KPN_EXPECT_EQ(t, stats()->slips + stats()->underruns + stats()->suspected_underruns,
			      0);
		KPN_EXPECT(t, state().head_valid);
		KPN_EXPECT(t, state().clock_error_ps < 500000);
		KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
	}
}

/* Tenths of a ns by which the time read is before @earlier; @earlier becomes the time read. */
static s64 back_from(struct kpn_time *earlier)
{
	struct kpn_time now = kpn_pacer_gettime(nic.pacer, nic.now_ns);
	struct kpn_time back = kpn_time_sub(*earlier, now);

	*earlier = now;
	return back.ns * 10 + (s64)((u64)back.frac * 10 >> 32);
}

/* The truth less the time read, ps, by the law in force. */
static u64 read_error_ps(void)
{
	struct kpn_time read = kpn_pacer_gettime(nic.pacer, nic.now_ns);
	s64 error_ps = (s64)(exact_nic_position(&nic) -
			     kpn_clock_position_at(kpn_pacer_clock(nic.pacer), read));

	return (u64)magnitude(error_ps);
}

/*
 * While the rate is slewed about, the time read never goes back, before and after polls that
 * tighten the strip, and is never further from the truth than is said.
 */
static void test_time_never_goes_back(struct kpn_selftest *t)
{
	static const s32 drifts_ppb[] = { 0, 100000, -100000 };
	struct kpn_time earlier = { 0 };
	u64 seed = 11;
	u32 tightened = 0;
	u32 polls;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(drifts_ppb); i++) {
		exact_nic_prepare(&nic);
		nic.ppb = drifts_ppb[i];
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		earlier = kpn_pacer_gettime(nic.pacer, nic.now_ns);
		for (polls = 0; polls < 3000; polls++) {
			u32 interval_ns = (u32)kpn_pacer_poll_interval_ns(nic.pacer);
			u32 until_ns = kpn_random_below(&seed, interval_ns);
			u64 error_ps;

			exact_nic_go(&nic, until_ns);
			KPN_EXPECT(t, back_from(&earlier) <= 0);
			error_ps = state().clock_error_ps;
			KPN_EXPECT(t, read_error_ps() <= error_ps + 2);
			exact_nic_go(&nic, interval_ns - until_ns);
			KPN_EXPECT(t, back_from(&earlier) <= 0);
			error_ps = state().clock_error_ps;
			exact_nic_poll(&nic, 0);
			tightened += state().clock_error_ps + 1000 < error_ps;
			KPN_EXPECT(t, back_from(&earlier) <= 0);
			KPN_EXPECT(t, read_error_ps() <= state().clock_error_ps + 2);
			if (kpn_random_below(&seed, 16))
				continue;
			kpn_pacer_adjfine(nic.pacer,
					  (s64)kpn_random_below(&seed, 400 * 65536) - 200 * 65536);
			KPN_EXPECT(t, back_from(&earlier) <= 0);
		}
	}
	KPN_EXPECT(t, tightened > 50);
}

/*
 * Polls learn the rate of the wire: between two of them the strip then grows far less than the
 * stated drift allows.
 */
static void test_polls_learn_the_rate(struct kpn_selftest *t)
{
	u64 width_ps;

	exact_nic_prepare(&nic);
	nic.config.drift_ppb_max = 1000000;
	nic.config.wander_ppb_per_s_max = 100;
	nic.ppb = 300000;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	width_ps = kpn_pacer_state(nic.pacer, nic.now_ns + 50000).clock_error_ps -
		   state().clock_error_ps;
	KPN_EXPECT(t, width_ps >= 49900); /* 50 us at 1000 ppm, either way */
	exact_nic_run(&nic, 500 * MS);
	width_ps = kpn_pacer_state(nic.pacer, nic.now_ns + 50000).clock_error_ps -
		   state().clock_error_ps;
	KPN_EXPECT(t, width_ps <= 1000);
	KPN_EXPECT(t, head_contains_wire());
}

/* Where PAUSE frames may stop the wire, its upper rate is the stated one for ever. */
static void test_polls_learn_no_rate_from_pauses(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	nic.caps.pause_ns_max = 1000000;
	nic.config.wander_ppb_per_s_max = 100;
	nic.ppb = -100000;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 200 * MS);
	KPN_EXPECT(t, nic.pacer->strip.rate_upper == nic.pacer->strip.drift);
	KPN_EXPECT(t, nic.pacer->strip.rate_lower > -nic.pacer->strip.drift);
	KPN_EXPECT(t, head_contains_wire());
}

/*
 * At any moment of a slot, with up to two slots of prefetch: the first slot that may still be
 * changed is written at once, and no store meets a slot the NIC has fetched. One slot less of
 * horizon does not pass here.
 */
static void test_first_changeable_slot_is_never_fetched_before(struct kpn_selftest *t)
{
	static struct kpn_frame frames[400];
	u32 prefetch;
	u32 i;

	for (prefetch = 0; prefetch <= 2; prefetch++) {
		exact_nic_prepare(&nic);
		nic.caps.prefetch_slots_max = prefetch;
		exact_nic_start(&nic, START_NS);
		exact_nic_run(&nic, 20 * MS);
		for (i = 0; i < KPN_COUNT_OF(frames); i++) {
			struct kpn_window window;
			u64 head_seq;

			exact_nic_poll(&nic, 25000);
			exact_nic_go(&nic, i * 25);
			head_seq = nic.head_seq;
			window = kpn_pacer_window(nic.pacer, nic.now_ns);
			/*
			 * the strip is narrow: at most the next slot is taken for the present one
			 */
			KPN_EXPECT(t, window.first_seq == head_seq + prefetch + 1 ||
					      window.first_seq == head_seq + prefetch + 2);
			frames[i] = exact_frame(1, 64, 0, -1);
			KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frames[i]),
				      KPN_VERDICT_PENDING);
		}
		exact_nic_run(&nic, MS);
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_BEST_EFFORT], KPN_COUNT_OF(frames));
		KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
	}
}

void kpn_test_head(struct kpn_selftest *t)
{
	test_head_interval_contains_the_wire(t);
	test_time_never_goes_back(t);
	test_polls_learn_the_rate(t);
	test_polls_learn_no_rate_from_pauses(t);
	test_first_changeable_slot_is_never_fetched_before(t);
}
