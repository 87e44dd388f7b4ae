/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A peer whose wire position is known, for tests of `rx`: it sends frames of slightly different
 * lengths back to back; the index counts a frame some time after its last bit.
 */
#ifndef KPN_SELFTEST_RX_PEER_H
#define KPN_SELFTEST_RX_PEER_H

#include "keepon/rx.h"

#include "keepon/wire.h"
#include "moving_wire.h"
#include "selftest.h"

enum {
	BYTE_PS = 8000,
	SLOT_BYTES = 300,
	SLOT_PS = (SLOT_BYTES + KPN_WIRE_OVERHEAD_BYTES) * BYTE_PS,
	READ_NS = 300,
};

/*
 * struct peer - @start_ps, @frame_bytes: of the frame whose last bit has not been counted yet;
 * @trim_bytes: by how much lengths differ; @short_frames: the next are as short as can be
 */
struct peer {
	struct wire wire;
	struct kpn_rx rx;
	u64 start_ps;
	u64 seed;
	u32 frame_bytes;
	u32 trim_bytes;
	u32 lag_ns_min;
	u32 lag_ns_max;
	bool short_frames;
};

static inline void next_frame(struct peer *peer)
{
	peer->frame_bytes = peer->short_frames ?
				    KPN_FRAME_BYTES_MIN :
				    SLOT_BYTES - peer->trim_bytes +
					    kpn_random_below(&peer->seed, 2 * peer->trim_bytes + 1);
}

static inline struct peer new_peer(u64 seed, s32 ppb, u32 wander_ppb, u32 trim_bytes,
				   u32 lag_ns_min, u32 lag_ns_max)
{
	struct peer peer = {
		.wire = { .now_ns = 1000000,
			  .ppb = ppb,
			  .ppb_limit = 100000,
			  .wander_ppb = wander_ppb,
			  .change_ns = 2000000,
			  .seed = seed },
		.seed = seed + 1,
		.trim_bytes = trim_bytes,
		.lag_ns_min = lag_ns_min,
		.lag_ns_max = lag_ns_max,
	};
	struct kpn_rx_config config = {
		.rate_bps = 1000000000,
		.drift_ppb_max = 100000,
		.wander_ppb_per_s_max = 1000,
		.poll_ns = 100000,
		.lag_ns_min = lag_ns_min,
		.lag_ns_max = lag_ns_max,
		.frame_bytes_max = KPN_FRAME_BYTES_MAX,
	};

	kpn_rx_init(&peer.rx, &config);
	next_frame(&peer);
	return peer;
}

/* Whether the last bit of the frame under way is behind the wire's present position. */
static inline bool has_ended(const struct peer *peer)
{
	u64 end_ps = peer->start_ps + (u64)(KPN_PREAMBLE_BYTES + peer->frame_bytes) * BYTE_PS;

	return (s64)(peer->wire.position_ps - end_ps) >= 0;
}

static inline void take(struct peer *peer)
{
	kpn_rx_take(&peer->rx, peer->frame_bytes);
	peer->start_ps += (u64)(KPN_PREAMBLE_BYTES + peer->frame_bytes + KPN_GAP_BYTES) * BYTE_PS;
	next_frame(peer);
}

/*
 * The next reading begins @wait_ns from now. What it shows is what had ended a lag before the index
 * was sampled.
 */
static inline bool read_after(struct peer *peer, u64 wait_ns)
{
	u64 before_ns = peer->wire.now_ns + wait_ns + peer->lag_ns_max;
	u64 sample_ns = before_ns + kpn_random_below(&peer->seed, READ_NS);
	u32 lag_ns = peer->lag_ns_min +
		     kpn_random_below(&peer->seed, peer->lag_ns_max - peer->lag_ns_min + 1);

	wire_go(&peer->wire, sample_ns - lag_ns - peer->wire.now_ns);
	while (has_ended(peer))
		take(peer);
	wire_go(&peer->wire, before_ns + READ_NS - peer->wire.now_ns);
	return kpn_rx_observe(&peer->rx, before_ns, before_ns + READ_NS);
}

static inline bool contains(const struct peer *peer)
{
	struct kpn_interval interval = kpn_strip_at(&peer->rx.strip, peer->wire.now_ns + 1);
	u64 later_ps = peer->wire.position_ps + 1000;

	return (s64)(later_ps + 2 - interval.lower_ps) >= 0 &&
	       (s64)(interval.upper_ps - peer->wire.position_ps) >= 0;
}

#endif
