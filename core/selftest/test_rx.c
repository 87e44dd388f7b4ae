/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rx: against a peer whose wire position is known. It sends frames of slightly different lengths
 * back to back; the index counts a frame some time after its last bit. The strip must contain the
 * peer's wire at any time, narrow with dither, and notice a peer that pauses, stops, or sends what
 * is not counted.
 */
#include "keepon/rx.h"

#include "keepon/wire.h"
#include "rx_peer.h"
#include "selftest.h"

struct rx_vector {
	int line;
	u32 poll_ns;
	s32 ppb;
	u32 wander_ppb; /* a millisecond */
	u32 trim_bytes;
	u32 lag_ns_min;
	u32 lag_ns_max;
	bool tight;
};

static const struct rx_vector rx_vectors[] = {
	{ __LINE__, 20000, 0, 0, 0, 0, 0, true },
	{ __LINE__, 100000, 100000, 1, 0, 500, 500, true },
	{ __LINE__, 100000, -100000, 1, 8, 0, 0, true },
	{ __LINE__, 500000, 99000, 1, 8, 500, 700, true },
	{ __LINE__, 333333, -50000, 1, 200, 300, 300, true },
	{ __LINE__, 2000, 30000, 1, 8, 500, 500,
	  false }, /* some readings find nothing; it lasts 26 ms only */
};

/*
 * The width is that of a done index: a twentieth of a slot, the reading, and what the lag leaves
 * open, whatever the lengths.
 */
static void test_strip_contains_the_peers_wire(struct kpn_selftest *t,
					       const struct rx_vector *vector)
{
	struct peer peer = new_peer(91, vector->ppb, vector->wander_ppb, vector->trim_bytes,
				    vector->lag_ns_min, vector->lag_ns_max);
	u64 width_ps = SLOT_PS / 20 + 1000ull * (READ_NS + vector->lag_ns_max - vector->lag_ns_min);
	u32 dither_ns = vector->poll_ns > 5000 ? 2560 : vector->poll_ns / 2;
	u32 looks = 0;
	u32 wide = 0;
	u32 i;

	read_after(&peer, 10000); /* the first frame */
	for (i = 1; i < 10000; i++) {
		struct kpn_interval interval;

		if (!KPN_EXPECT_AT(
			    t, vector->line,
			    read_after(&peer, vector->poll_ns -
						      kpn_random_below(&peer.seed, dither_ns))) ||
		    !KPN_EXPECT_AT(t, vector->line, contains(&peer)))
			return;
		wire_go(&peer.wire, kpn_random_below(&peer.seed, vector->poll_ns / 2));
		if (!KPN_EXPECT_AT(t, vector->line, contains(&peer)))
			return;
		if (i < 5000)
			continue;
		interval = kpn_strip_at(&peer.rx.strip, peer.wire.now_ns + 1);
		looks++;
		wide += interval.upper_ps - interval.lower_ps > width_ps;
	}
	if (vector->tight)
		KPN_EXPECT_AT(t, vector->line, wide * 100 <= looks);
	KPN_EXPECT_EQ(t, peer.rx.stops, 0);
	KPN_EXPECT_EQ(t, peer.rx.readings, 10000);
	KPN_EXPECT_EQ(t, peer.rx.head_ps, peer.start_ps);
}

static void settle(struct kpn_selftest *t, struct peer *peer)
{
	u32 i;

	for (i = 0; i < 2000; i++)
		KPN_EXPECT(t, read_after(peer, 100000 - kpn_random_below(&peer->seed, 2560)));
}

/*
 * A peer that is silent has a wire that does not move: without a valid strip there are no stamps.
 * It begins again with the next frame (D8).
 */
static void test_a_peer_that_stops(struct kpn_selftest *t)
{
	struct peer peer = new_peer(17, 20000, 0, 8, 500, 600);
	u64 position_ps;
	u32 i;

	KPN_EXPECT(t,
		   kpn_rx_observe(&peer.rx, 10, 20) && !peer.rx.strip.valid); /* nothing came yet */
	settle(t, &peer);
	position_ps = peer.wire.position_ps;
	for (i = 0; i < 10; i++) {
		bool agrees = read_after(&peer, 100000);

		peer.wire.position_ps =
			position_ps; /* stands still, right before the end of no frame */
		KPN_EXPECT(t, i == 0 || !agrees || !peer.rx.strip.valid);
		if (peer.rx.stops)
			break;
	}
	KPN_EXPECT_EQ(t, peer.rx.stops, 1);
	KPN_EXPECT(t, read_after(&peer, 100000) || peer.rx.strip.valid);
	for (i = 0; i < 10; i++)
		read_after(&peer, 100000);
	KPN_EXPECT(t, peer.rx.strip.valid && contains(&peer));
}

/*
 * Pauses of two slots, and frames that were dropped before they were counted, contradict what is
 * known.
 */
static void test_contradictions_are_noticed(struct kpn_selftest *t)
{
	struct peer peer = new_peer(19, -20000, 0, 0, 0, 0);

	settle(t, &peer);
	peer.wire.position_ps -=
		2 *
		/* it paused: what had not ended by then is known with the next frame */
		(u64)SLOT_PS;
	KPN_EXPECT(t, read_after(&peer, 100000) && !read_after(&peer, 100000));
	KPN_EXPECT_EQ(t, peer.rx.stops, 1);
	settle(t, &peer);
	KPN_EXPECT(t, contains(&peer));
	peer.wire.position_ps += 2 * (u64)SLOT_PS; /* more has come than could */
	KPN_EXPECT(t, !read_after(&peer, 100000));
	KPN_EXPECT_EQ(t, peer.rx.stops, 2);
	settle(t, &peer);
	KPN_EXPECT(t, contains(&peer));
}

static void test_positions_of_frames(struct kpn_selftest *t)
{
	struct peer peer = new_peer(23, 0, 0, 0, 0, 0);

	KPN_EXPECT_EQ(t, kpn_rx_take(&peer.rx, 64), 8 * BYTE_PS);
	KPN_EXPECT_EQ(t, kpn_rx_take(&peer.rx, 1522), (84 + 8) * BYTE_PS);
	KPN_EXPECT_EQ(t, kpn_rx_take(&peer.rx, 40), (84 + 1542 + 8) * BYTE_PS);
	KPN_EXPECT_EQ(t, peer.rx.head_ps, (84 + 1542 + 60) * BYTE_PS);
	KPN_EXPECT_EQ(t, peer.rx.head_seq, 3);
}

static void test_wrong_values_are_named(struct kpn_selftest *t)
{
	const struct kpn_rx_config good = { 1000000000, 100000, 1000, 100000, 0, 1000000, 1, 1522 };
	struct kpn_rx_config config = good;

	KPN_EXPECT(t, !kpn_rx_problem(&config));
	config.rate_bps = 7;
	KPN_EXPECT_TEXT_AT(t, __LINE__, kpn_rx_problem(&config),
			   "rate_bps is no Ethernet rate: 10000000 to 100000000000, dividing 8e12");
	config = good;
	config.drift_ppb_max = 1000001;
	KPN_EXPECT_TEXT_AT(t, __LINE__, kpn_rx_problem(&config),
			   "drift_ppb_max is not within 0 to 1000000");
	config = good;
	config.wander_ppb_per_s_max = 1000001;
	KPN_EXPECT_TEXT_AT(t, __LINE__, kpn_rx_problem(&config),
			   "wander_ppb_per_s_max is not within 0 to 1000000");
	config = good;
	config.poll_ns = 0;
	KPN_EXPECT_TEXT_AT(t, __LINE__, kpn_rx_problem(&config),
			   "poll_ns is not within 1 to 256000000");
	config = good;
	config.lag_ns_min = 2;
	config.lag_ns_max = 1;
	KPN_EXPECT_TEXT_AT(t, __LINE__, kpn_rx_problem(&config),
			   "lag_ns_min and lag_ns_max are not within 0 to 1000000 in this order");
	config = good;
	config.frame_bytes_max = 1523;
	KPN_EXPECT_TEXT_AT(t, __LINE__, kpn_rx_problem(&config),
			   "frame_bytes_max is not within 64 to 1522");
}

void kpn_test_rx(struct kpn_selftest *t)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(rx_vectors); i++)
		test_strip_contains_the_peers_wire(t, &rx_vectors[i]);
	test_a_peer_that_stops(t);
	test_contradictions_are_noticed(t);
	test_positions_of_frames(t);
	test_wrong_values_are_named(t);
}
