/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * wraps: every counter that passes its end, started just before it: indices, positions, the CPU
 * counter, tables, polls, and stamps after day 107.
 */
#include "hazard_nic.h"

#include "keepon/dual.h"
#include "keepon/wire.h"

/* Frames leave on time while a counter passes its end. */
static void expect_frames_across(struct kpn_selftest *t, u32 polls)
{
	u32 on_time = nic.outcomes[KPN_VERDICT_ON_TIME];
	u32 sent = 0;
	u32 i;

	for (i = 0; i < polls; i++) {
		if (i % 4 == 0)
			sent += submit(i / 4 % 32, 0, ahead(20)) == KPN_VERDICT_PENDING;
		exact_nic_poll(&nic, 35000);
	}
	exact_nic_run(&nic, MS);
	KPN_EXPECT_EQ(t, sent, (polls + 3) / 4);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME] - on_time, sent);
	KPN_EXPECT_EQ(t,
		      stats()->slips + stats()->underruns + stats()->index_errors + stats()->losses,
		      0);
	expect_all_accounted(t);
}

static void test_index_wraps(struct kpn_selftest *t)
{
	static const u32 moduli[] = { 64, 65, 100, 256, 65536, 0x7fffffff, 0x80000000, 0 };
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(moduli); i++) {
		u32 modulus = moduli[i] ? moduli[i] : KPN_INDEX_MODULUS_MAX;

		exact_nic_prepare(&nic);
		nic.caps.index_modulus = moduli[i];
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, MS);
		/* the NIC's counter stood somewhere else when it was reset: near its end */
		nic.index_lie = modulus - (u32)nic.head_seq % modulus - 50;
		nic.pacer->reading.head_index = (u32)(nic.pacer->ring.index_seq + nic.index_lie) &
						(KPN_INDEX_MODULUS_MAX - 1);
		if (moduli[i])
			nic.pacer->reading.head_index =
				(u32)(nic.pacer->ring.index_seq + nic.index_lie) % modulus;
		expect_frames_across(t, 60);
	}
}

/* Every position the pacer keeps moves by @by; the wire is where it would be after so long. */
static void move_positions(u64 by)
{
	struct kpn_pacer *pacer = nic.pacer;

	pacer->ring.head.ps += by;
	pacer->ring.index_ps += by;
	pacer->ring.plan.ps += by;
	pacer->ring.tail.ps += by;
	pacer->reading.steady_ps += by;
	pacer->clock.anchor_ps += by;
	pacer->strip.lower_ps += by;
	pacer->strip.upper_ps += by;
	pacer->strip.read_floor_ps += by;
	pacer->strip.old.lower_ps += by;
	pacer->strip.old.upper_ps += by;
	pacer->strip.young.lower_ps += by;
	pacer->strip.young.upper_ps += by;
	nic.head_wire_ps += by;
}

static void test_wire_position_wraps(struct kpn_selftest *t)
{
	static const u64 ends[] = { 1ull << 32, 1ull << 63, 0 };
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(ends); i++) {
		exact_nic_prepare(&nic);
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, 2 * MS);
		move_positions(ends[i] - nic.pacer->ring.head.ps - 500 * 10000000ull);
		expect_frames_across(t, 60);
		kpn_pacer_adjfine(nic.pacer, 65536 * 50);
		expect_frames_across(t, 300);
		kpn_pacer_adjtime(nic.pacer, 12345);
		exact_nic_run(&nic, 2 * MS);
		expect_frames_across(t, 20);
	}
}

static void test_cpu_counter_wraps_nowhere(struct kpn_selftest *t)
{
	static const u64 starts_ns[] = { (1ull << 32) - MS, (1ull << 53) - MS, (1ull << 54) - MS };
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(starts_ns); i++) {
		exact_nic_prepare(&nic);
		nic.now_ns = starts_ns[i];
		KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
		exact_nic_run(&nic, MS / 2);
		expect_frames_across(t, 60);
	}
}

/* Numbers of slots beyond 2^32, and 2^32 slots after the table was last looked up. */
static void test_table_index_wraps(struct kpn_selftest *t)
{
	static const u16 masks[] = { 1, 2, 1, 1, 2 };
	u64 by = (1ull << 32) - 300;

	exact_nic_prepare(&nic);
	nic.config.allowed = masks;
	nic.config.partition_slots = 5;
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 2 * MS);
	/* as if no reference had been renewed for so long */
	nic.pacer->frames.table[0].seq -= by;
	nic.pacer->frames.table[0].index =
		(nic.pacer->frames.table[0].index + 65 - (u32)(by % 65)) % 65;
	nic.config.prebuffer_frames = 0;
	{
		u32 i;
		u32 sent = 0;

		for (i = 0; i < 400; i++) {
			s64 txtime_ns = ahead(20);
			u64 net_slot = kpn_div_u64((u64)txtime_ns, SLOT_NS);
			bool own = masks[net_slot % 5] & 1;
			enum kpn_verdict verdict = submit(i % 32, 0, txtime_ns);

			KPN_EXPECT_EQ(t, verdict,
				      own ? KPN_VERDICT_PENDING : KPN_VERDICT_NOT_ALLOWED);
			sent += own;
			exact_nic_poll(&nic, 10000);
		}
		exact_nic_run(&nic, MS);
		KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], sent);
	}
}

/*
 * Day 107 to 213: 2^63 ps after the start, a wire that was never idle is still known to have been
 * steady.
 */
static void test_stamps_are_valid_after_day_107(struct kpn_selftest *t)
{
	u32 i;

	exact_nic_prepare(&nic);
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, 2 * MS);
	for (i = 0; i < 12; i++) {
		u64 steady_ps = nic.pacer->reading.steady_ps;

		/*
		 * a fortnight and a bit in which only readings came; the references are looked at
		 * every 65536 polls
		 */
		move_positions(1ull << 60);
		nic.pacer->reading.steady_ps = steady_ps;
		nic.pacer->reading.renewed_polls = stats()->polls - 65536;
		nic.pacer->strip.rate_due_ns = nic.now_ns;
		exact_nic_run(&nic, MS);
		KPN_EXPECT(t, (s64)(nic.pacer->ring.head.ps - kpn_pacer_steady_ps(nic.pacer)) > 0);
		KPN_EXPECT(t, nic.pacer->ring.head.ps - kpn_pacer_steady_ps(nic.pacer) <=
				      (1ull << 60) + (1ull << 40));
	}
	KPN_EXPECT_EQ(t, stats()->slips + stats()->underruns, 0);
	expect_frames_across(t, 20);
}

static void test_polls_wrap(struct kpn_selftest *t)
{
	exact_nic_prepare(&nic);
	KPN_EXPECT(t, exact_nic_start(&nic, START_NS));
	exact_nic_run(&nic, MS);
	nic.pacer->stats.polls = ~0ull - 20;
	nic.pacer->reading.renewed_polls = nic.pacer->stats.polls;
	expect_frames_across(t, 60);
}

void kpn_test_wraps(struct kpn_selftest *t)
{
	test_index_wraps(t);
	test_wire_position_wraps(t);
	test_cpu_counter_wraps_nowhere(t);
	test_table_index_wraps(t);
	test_stamps_are_valid_after_day_107(t);
	test_polls_wrap(t);
}
