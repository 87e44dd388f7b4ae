// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The published merge of two clocks, and timestamps of received frames from two strips. */
#include "keepon/dual.h"

#include "keepon/errno.h"
#include "keepon/wire.h"
#include "kpn_math.h"

u64 kpn_merge_tau_ns(const struct kpn_config *config)
{
	u64 slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * kpn_byte_time_ps(config->rate_bps);

	return kpn_div_u64((config->batch_slots + 1ull) * slot_ps + 999, 1000);
}

static struct kpn_time of_ns(s64 ns)
{
	return (struct kpn_time){ .ns = ns, .frac = 0 };
}

/* Which clock is behind the other by more than 2 tau. */
enum lagging { NEITHER, TX_LAGS, RX_LAGS };

static enum lagging lagging(struct kpn_time tx, struct kpn_time rx, u64 tau_ns)
{
	if (kpn_time_before(kpn_time_add(tx, of_ns((s64)(2 * tau_ns))), rx))
		return TX_LAGS;
	if (kpn_time_before(kpn_time_add(rx, of_ns((s64)(2 * tau_ns))), tx))
		return RX_LAGS;
	return NEITHER;
}

struct kpn_time kpn_merge_published(struct kpn_time tx, struct kpn_time rx, u64 tau_ns)
{
	bool tx_leads = kpn_time_before(rx, tx);
	struct kpn_time lead = tx_leads ? tx : rx;
	struct kpn_time lag = tx_leads ? rx : tx;
	struct kpn_time difference = kpn_time_sub(kpn_time_add(lag, of_ns((s64)tau_ns)), lead);

	if (lagging(tx, rx, tau_ns) != NEITHER)
		return lead;
	/*
	 * lead + (lag + tau - lead) / 2, so that no sum of two times of day overflows; arithmetic
	 * shifts round down
	 */
	difference.frac = (u32)((u64)(difference.ns & 1) << 31) | difference.frac >> 1;
	difference.ns >>= 1;
	return kpn_time_add(lead, difference);
}

void kpn_dual_init(struct kpn_dual *dual, struct kpn_pacer *pacer, struct kpn_rx *rx,
		   enum kpn_merge merge, u64 tau_ns)
{
	memset(dual, 0, sizeof(*dual));
	dual->pacer = pacer;
	dual->rx = rx;
	dual->merge = (u8)merge;
	dual->tau_ns = tau_ns;
}

/* The second clock's staircase: all frames received until the last reading. */
static struct kpn_time rx_time(const struct kpn_dual *dual)
{
	return kpn_clock_at(&dual->rx_clock, dual->rx->head_ps);
}

static bool merges(const struct kpn_dual *dual)
{
	return dual->merge == KPN_MERGE_PUBLISHED && dual->started;
}

/* Out of line, so that it does not burden the other merge. */
static __attribute__((__noinline__)) struct kpn_time published_time(const struct kpn_dual *dual,
								    u64 cpu_ns)
{
	struct kpn_time tx = kpn_pacer_gettime(dual->pacer, cpu_ns);

	return dual->started ? kpn_merge_published(tx, rx_time(dual), dual->tau_ns) : tx;
}

struct kpn_time kpn_dual_gettime(const struct kpn_dual *dual, u64 cpu_ns)
{
	if (dual->merge == KPN_MERGE_PUBLISHED)
		return published_time(dual, cpu_ns);
	return kpn_pacer_gettime(dual->pacer, cpu_ns);
}

void kpn_dual_correct(struct kpn_dual *dual, u64 cpu_ns)
{
	struct kpn_time tx;
	struct kpn_time rx;
	struct kpn_time difference;

	/* Frames still in the ring make the second clock lag, which is no reason to set it. */
	if (dual->merge != KPN_MERGE_PUBLISHED || dual->rx->left)
		return;
	tx = kpn_pacer_gettime(dual->pacer, cpu_ns);
	if (!dual->started) {
		if (!dual->rx->head_seq)
			return;
		kpn_clock_init(&dual->rx_clock, dual->rx->head_ps, tx);
		kpn_clock_adjfine(&dual->rx_clock, kpn_pacer_clock(dual->pacer)->scaled_ppm,
				  dual->rx->head_ps);
		dual->started = true;
		return;
	}
	/* The law holds within 53 days of its anchor. */
	if ((s64)(dual->rx->head_ps - dual->rx_clock.anchor_ps) >> 60)
		kpn_clock_reanchor(&dual->rx_clock, dual->rx->head_ps);
	rx = rx_time(dual);
	switch (lagging(tx, rx, dual->tau_ns)) {
	case TX_LAGS:
		difference = kpn_time_sub(rx, tx);
		dual->tx_set += !kpn_pacer_adjtime(dual->pacer, difference.ns);
		break;
	case RX_LAGS:
		kpn_clock_settime(&dual->rx_clock, dual->rx->head_ps, tx);
		dual->rx_set++;
		break;
	case NEITHER: break;
	}
}

static u64 middle_of(struct kpn_interval interval)
{
	return interval.lower_ps + (interval.upper_ps - interval.lower_ps) / 2;
}

/* Wire time of the own NIC in which the peer's wire moves by @peer_ps. */
static u64 own_span_ps(const struct kpn_dual *dual, s64 peer_ps)
{
	s64 rate = kpn_pacer_rate(dual->pacer) - kpn_strip_rate(&dual->rx->strip);
	u64 magnitude_ps = peer_ps < 0 ? 0 - (u64)peer_ps : (u64)peer_ps;
	u64 extra_ps =
		kpn_mul_shr(magnitude_ps, kpn_div_u64(rate < 0 ? 0 - (u64)rate : (u64)rate, 1000),
			    KPN_RATE_SHIFT);

	magnitude_ps = rate < 0 ? magnitude_ps - extra_ps : magnitude_ps + extra_ps;
	return peer_ps < 0 ? 0 - magnitude_ps : magnitude_ps;
}

struct kpn_rx_stamp kpn_dual_stamp(const struct kpn_dual *dual, u64 position_ps, u64 cpu_ns)
{
	struct kpn_rx_stamp stamp = { 0 };
	struct kpn_interval peer;
	struct kpn_head own;
	u64 own_ps;

	if (dual->merge == KPN_MERGE_PUBLISHED) {
		stamp.valid = dual->started;
		if (stamp.valid)
			stamp.time = kpn_clock_at(&dual->rx_clock, position_ps);
		return stamp;
	}
	own = kpn_pacer_head(dual->pacer, cpu_ns);
	if (!own.valid || !dual->rx->strip.valid)
		return stamp;
	peer = kpn_strip_at(&dual->rx->strip, cpu_ns);
	own_ps = middle_of(own.wire) - own_span_ps(dual, (s64)(middle_of(peer) - position_ps));
	stamp.error_ps =
		(own.wire.upper_ps - own.wire.lower_ps + peer.upper_ps - peer.lower_ps) / 2 + 2;
	stamp.time = kpn_clock_at(kpn_pacer_clock(dual->pacer), own_ps);
	/* Either wire may have stood still since, or may stand still now unseen by any poll. */
	stamp.valid = !own.may_stand &&
		      (s64)(own_ps - stamp.error_ps - kpn_pacer_steady_ps(dual->pacer)) >= 0 &&
		      (s64)(position_ps - dual->rx->steady_ps) >= 0;
	return stamp;
}

int kpn_dual_adjfine(struct kpn_dual *dual, s64 scaled_ppm)
{
	int error = kpn_pacer_adjfine(dual->pacer, scaled_ppm);

	if (!error && merges(dual))
		error = kpn_clock_adjfine(&dual->rx_clock, scaled_ppm, dual->rx->head_ps);
	return error;
}

int kpn_dual_adjtime(struct kpn_dual *dual, s64 delta_ns)
{
	int error = kpn_pacer_adjtime(dual->pacer, delta_ns);

	if (!error && merges(dual))
		kpn_clock_adjtime(&dual->rx_clock, of_ns(delta_ns));
	return error;
}

int kpn_dual_settime(struct kpn_dual *dual, struct kpn_time t)
{
	int error = kpn_pacer_settime(dual->pacer, t);

	if (!error && merges(dual))
		kpn_clock_settime(&dual->rx_clock, dual->rx->head_ps, t);
	return error;
}
