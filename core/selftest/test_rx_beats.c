/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rx_beats: the receive ring walked in beats. Whatever has come, one beat does no more than it may,
 * what is left shrinks, and the strip contains the peer's wire all the time. Then the same across
 * the wraps of everything that is counted.
 */
#include "rx_peer.h"

enum { POLL_NS = 100000, BEATS_MAX = 2000 };

/* struct walk - what beats have done: @most frames by one of them, @beats since the last reading */
struct walk {
	struct peer peer;
	u32 most;
	u32 beats;
	u32 behind;
};

/*
 * One beat, @wait_ns after the last. A reading shows what had ended a lag before it; it is taken
 * from a copy of the peer, for it stays in the ring until it is due.
 */
static bool beat(struct walk *walk, u64 wait_ns)
{
	struct peer *peer = &walk->peer;
	u32 taken = 0;
	u32 due;

	wire_go(&peer->wire, wait_ns);
	if (!peer->rx.left) {
		u64 before_ns = peer->wire.now_ns;
		struct peer copy = *peer;
		u64 shown = 0;

		while (has_ended(&copy)) {
			take(&copy);
			shown++;
		}
		wire_go(&peer->wire, READ_NS);
		kpn_rx_show(&peer->rx, shown, before_ns, before_ns + READ_NS);
		walk->beats = 0;
	}
	for (due = kpn_rx_due(&peer->rx); taken < due; taken++)
		take(peer);
	if (taken > walk->most)
		walk->most = taken;
	walk->beats++;
	if (kpn_rx_conclude(&peer->rx))
		return true;
	walk->behind++;
	return false;
}

/* The shortest frames there are, at full rate: after a pause the ring is as full as can be. */
static void test_no_beat_does_more_than_its_limit(struct kpn_selftest *t, u64 pause_ns)
{
	struct walk walk = { .peer = new_peer(41, 60000, 1, 0, 0, 0) };
	struct kpn_rx_limits limits = kpn_rx_beat_limits(&walk.peer.rx);
	u64 frames = pause_ns / 672;
	u32 pauses;
	u32 i;

	/* 148 of them in a poll of 100 us */
	KPN_EXPECT(t, limits.frames >= 2 * 149 && limits.frames < 350);
	for (i = 0; i < 400; i++)
		KPN_EXPECT(t, beat(&walk, POLL_NS - kpn_random_below(&walk.peer.seed, 2560)));
	for (pauses = 0; pauses < 3; pauses++) {
		u64 last = ~0ull;

		walk.peer.short_frames = true;
		wire_go(&walk.peer.wire, pause_ns);
		for (i = 0; i < BEATS_MAX; i++) {
			bool concluded = beat(&walk, POLL_NS);

			/* what a reading shows is taken beat by beat, and then less has come */
			KPN_EXPECT(t, concluded == !walk.peer.rx.left);
			KPN_EXPECT(t, walk.peer.rx.left < last);
			last = concluded ? ~0ull : walk.peer.rx.left;
			if (!KPN_EXPECT(t, contains(&walk.peer)))
				return;
			if (concluded && walk.beats == 1)
				break;
		}
		/* at most half of each beat's work is what came meanwhile */
		KPN_EXPECT(t, i >= frames / limits.frames && i <= 2 + 2 * frames / limits.frames);
		walk.peer.short_frames = false;
		for (i = 0; i < 400; i++)
			KPN_EXPECT(t,
				   beat(&walk, POLL_NS - kpn_random_below(&walk.peer.seed, 2560)));
	}
	KPN_EXPECT_EQ(t, walk.most, limits.frames);
	KPN_EXPECT(t, walk.behind >= 3 * (frames / limits.frames));
	KPN_EXPECT_EQ(t, walk.peer.rx.stops, 0);
}

/*
 * The ring overran: frames behind those it held are missing. What follows them begins at an unknown
 * time, so nothing is known until the next reading, and nothing false after it.
 */
static void test_lost_frames_contradict_nothing(struct kpn_selftest *t)
{
	struct walk walk = { .peer = new_peer(43, -30000, 1, 8, 0, 0) };
	u32 round;
	u32 i;

	for (round = 0; round < 50; round++) {
		u32 beats = 200 + kpn_random_below(&walk.peer.seed, 50);

		for (i = 0; i < beats; i++)
			KPN_EXPECT(t,
				   beat(&walk, POLL_NS - kpn_random_below(&walk.peer.seed, 2560)));
		if (!KPN_EXPECT(t, contains(&walk.peer)))
			return;
		/* of a reading, 20 frames and some bytes: they take no part in what is counted */
		kpn_rx_lost(&walk.peer.rx);
		beat(&walk, POLL_NS);
		KPN_EXPECT(t, !walk.peer.rx.strip.valid);
		walk.peer.wire.position_ps -=
			20 * (u64)SLOT_PS + kpn_random_below(&walk.peer.seed, SLOT_PS);
	}
	KPN_EXPECT_EQ(t, walk.peer.rx.stops, 0);
}

/* ---- wraps ---- */

/* Everything as it would be had the peer sent for so much longer. */
static void begin_at(struct walk *walk, u64 position_ps, u64 frames, u64 cpu_ns)
{
	struct peer *peer = &walk->peer;

	peer->start_ps = position_ps;
	peer->rx.head_ps = position_ps;
	peer->rx.steady_ps = position_ps;
	peer->rx.head_seq = frames;
	peer->rx.readings = frames;
	peer->rx.stops = frames;
	peer->wire.position_ps = position_ps;
	peer->wire.now_ns = cpu_ns;
	peer->wire.change_ns = cpu_ns + 1000000;
}

struct wrap_vector {
	int line;
	u64 at;
};

static const struct wrap_vector wraps[] = {
	{ __LINE__, 1ull << 31 },
	{ __LINE__, 1ull << 32 },
	{ __LINE__, 1ull << 63 },
	{ __LINE__, 0 }, /* 2^64 */
};

/*
 * Half of the 100 ms before, half after the wrap: of positions, of CPU time, and of all that is
 * counted.
 */
static void test_across_a_wrap(struct kpn_selftest *t, const struct wrap_vector *vector, bool time)
{
	struct walk walk = { .peer = new_peer(47, 40000, 1, 8, 100, 300) };
	u64 start_ps = vector->at - 50000000000ull;
	u64 counted = vector->at - 500;
	struct peer *peer = &walk.peer;
	u64 frames = 0;
	u32 i;

	begin_at(&walk, time ? 1000000 : start_ps, counted, time ? vector->at - 50000000 : 1000000);
	for (i = 1; i <= 1000; i++) {
		u64 before = peer->rx.head_seq;

		if (i == 500) /* what is counted of a peer that stopped goes across, too */
			peer->wire.position_ps -= 4 * (u64)SLOT_PS;
		beat(&walk, POLL_NS - kpn_random_below(&peer->seed, 2560));
		frames += peer->rx.head_seq - before;
		if (i > 1 && (i < 500 || i > 510) &&
		    !KPN_EXPECT_AT(t, vector->line, contains(peer)))
			return;
	}
	KPN_EXPECT_EQ_AT(t, vector->line, peer->rx.readings - counted, 1000);
	KPN_EXPECT_EQ_AT(t, vector->line, peer->rx.head_seq - counted, frames);
	KPN_EXPECT_AT(t, vector->line, frames > 38000 && frames < 40000);
	KPN_EXPECT_EQ_AT(t, vector->line, peer->rx.stops - counted, 1);
	/* since the stop, not since the wrap, and not for ever */
	KPN_EXPECT_AT(t, vector->line, peer->rx.head_ps - peer->rx.steady_ps < 60000000000ull);
	KPN_EXPECT_AT(t, vector->line, peer->rx.head_ps - peer->rx.steady_ps > 40000000000ull);
}

void kpn_test_rx_beats(struct kpn_selftest *t)
{
	u32 i;

	test_no_beat_does_more_than_its_limit(t, 3000000);
	test_no_beat_does_more_than_its_limit(t, 50000000);
	test_lost_frames_contradict_nothing(t);
	for (i = 0; i < KPN_COUNT_OF(wraps); i++) {
		test_across_a_wrap(t, &wraps[i], false);
		/* CPU time starts with the machine: 2^64 ns are 584 years */
		if (wraps[i].at)
			test_across_a_wrap(t, &wraps[i], true);
	}
}
