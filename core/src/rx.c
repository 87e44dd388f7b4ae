// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Two bounds from each reading of a receive index. Upper: the frame not yet counted had not ended
 * when the reading began, less the lag; its length is known once it is received, so this bound is
 * used one reading later. Lower: the last frame counted had ended when the reading ended, less the
 * lag.
 */
#include "keepon/rx.h"

#include "keepon/wire.h"
#include "kpn_math.h"

enum {
	LAG_NS_MAX = 1000000,
	PPB_MAX = 1000000,
	TICK_NS_MAX = 1000,
	BUDGET_FRAMES_MIN = 32,
};

#define AGE_PS_MAX (1ull << 60)

const char *kpn_rx_problem(const struct kpn_rx_config *config)
{
	if (!kpn_byte_time_ps(config->rate_bps))
		return "rate_bps is no Ethernet rate: 10000000 to 100000000000, dividing 8e12";
	if (config->drift_ppb_max > PPB_MAX)
		return "drift_ppb_max is not within 0 to 1000000";
	if (config->wander_ppb_per_s_max > PPB_MAX)
		return "wander_ppb_per_s_max is not within 0 to 1000000";
	if (!config->poll_ns || config->poll_ns > KPN_PACE_NS_MAX / 2)
		return "poll_ns is not within 1 to 256000000";
	if (config->lag_ns_min > config->lag_ns_max || config->lag_ns_max > LAG_NS_MAX)
		return "lag_ns_min and lag_ns_max are not within 0 to 1000000 in this order";
	if (config->cpu_tick_ns > TICK_NS_MAX)
		return "cpu_tick_ns is not within 0 to 1000";
	if (config->frame_bytes_max < KPN_FRAME_BYTES_MIN ||
	    config->frame_bytes_max > KPN_FRAME_BYTES_MAX)
		return "frame_bytes_max is not within 64 to 1522";
	return NULL;
}

/*
 * Twice the number of shortest frames that can arrive between two beats, by any crystal, and some
 * more.
 */
static u32 budget_frames(const struct kpn_rx_config *config, u32 byte_ps)
{
	u64 shortest_ps = (u64)kpn_wire_bytes(KPN_FRAME_BYTES_MIN) * byte_ps;

	return 2 * (u32)kpn_div_u64(config->poll_ns * 1001, shortest_ps) + BUDGET_FRAMES_MIN;
}

void kpn_rx_init(struct kpn_rx *rx, const struct kpn_rx_config *config)
{
	memset(rx, 0, sizeof(*rx));
	kpn_strip_init(&rx->strip, config->drift_ppb_max, config->wander_ppb_per_s_max,
		       config->poll_ns, config->cpu_tick_ns ? config->cpu_tick_ns : 1);
	rx->byte_ps = kpn_byte_time_ps(config->rate_bps);
	rx->gap_ps = KPN_GAP_BYTES * rx->byte_ps;
	rx->sfd_ps = KPN_PREAMBLE_BYTES * rx->byte_ps;
	rx->longest_ps = (u64)rx->sfd_ps + (u64)config->frame_bytes_max * rx->byte_ps;
	rx->lag_ns_max = config->lag_ns_max;
	/*
	 * The lag passes at the peer's rate, which is at least 0.999 of the CPU's: kpn_strip_init()
	 * takes no greater drift.
	 */
	rx->lag_lower_ps = 999ull * config->lag_ns_min;
	rx->budget_frames = budget_frames(config, rx->byte_ps);
}

static u64 last_end_ps(const struct kpn_rx *rx)
{
	return rx->head_ps - rx->gap_ps;
}

/* Greatest movement of the wire between two readings, rounded up. */
static u64 moved_most_ps(u64 dt_ns, u64 pace)
{
	return dt_ns <= KPN_PACE_NS_MAX ? kpn_pace_ps(dt_ns, pace) + 2 : dt_ns * 1002;
}

static void start_again(struct kpn_rx *rx, u64 before_ns, u64 now_ns)
{
	rx->steady_ps = rx->head_ps;
	kpn_strip_reset(
		&rx->strip, now_ns, last_end_ps(rx) + rx->lag_lower_ps,
		rx->head_ps + rx->longest_ps +
			moved_most_ps(now_ns - before_ns + rx->lag_ns_max, rx->strip.pace_most));
}

/* Nothing arrived: the frame on the wire has not ended, and is at most the longest frame. */
static bool observe_silence(struct kpn_rx *rx, u64 before_ns, u64 now_ns)
{
	return kpn_strip_observe(&rx->strip, now_ns, now_ns, last_end_ps(rx) + rx->lag_lower_ps,
				 before_ns - rx->lag_ns_max, rx->head_ps + rx->longest_ps);
}

/* Rates are due, or the reading contradicts. */
static __attribute__((__noinline__)) bool observe_slow_path(struct kpn_rx *rx, u64 now_ns)
{
	return kpn_strip_observe(&rx->strip, now_ns, now_ns, last_end_ps(rx) + rx->lag_lower_ps,
				 rx->open_ns, rx->first_end_ps);
}

bool kpn_rx_observe(struct kpn_rx *rx, u64 before_ns, u64 after_ns)
{
	u64 now_ns = after_ns + rx->strip.tick_ns;
	bool agrees = true;

	rx->readings++;
	/* The position is compared modulo 2^64, so it must not grow old. */
	if (KPN_UNLIKELY((s64)(rx->head_ps - rx->steady_ps) > (s64)AGE_PS_MAX))
		rx->steady_ps = rx->head_ps - AGE_PS_MAX;
	if (KPN_UNLIKELY(!rx->strip.valid)) {
		if (!rx->taken)
			return true;
		start_again(rx, before_ns, now_ns);
	} else if (KPN_UNLIKELY(!rx->taken)) {
		agrees = observe_silence(rx, before_ns, now_ns);
	} else if (!kpn_strip_merge(&rx->strip, now_ns, last_end_ps(rx) + rx->lag_lower_ps,
				    rx->first_end_ps + moved_most_ps(now_ns - rx->open_ns,
								     rx->strip.pace_upper))) {
		agrees = observe_slow_path(rx, now_ns);
	}
	rx->open_ns = before_ns - rx->lag_ns_max;
	if (KPN_LIKELY(agrees)) {
		rx->taken = 0;
		return true;
	}
	rx->stops++;
	if (rx->taken)
		start_again(rx, before_ns, now_ns);
	else
		kpn_strip_invalidate(&rx->strip);
	rx->taken = 0;
	return false;
}

struct kpn_rx_limits kpn_rx_beat_limits(const struct kpn_rx *rx)
{
	return (struct kpn_rx_limits){ .frames = rx->budget_frames };
}

void kpn_rx_show(struct kpn_rx *rx, u64 frames, u64 before_ns, u64 after_ns)
{
	KPN_ASSERT(!rx->left);
	rx->left = frames;
	rx->before_ns = before_ns;
	rx->after_ns = after_ns;
}

u32 kpn_rx_due(const struct kpn_rx *rx)
{
	return rx->left < rx->budget_frames ? (u32)rx->left : rx->budget_frames;
}

void kpn_rx_lost(struct kpn_rx *rx)
{
	rx->gap = true;
}

bool kpn_rx_conclude(struct kpn_rx *rx)
{
	if (rx->left)
		return false;
	if (KPN_LIKELY(!rx->gap)) {
		kpn_rx_observe(rx, rx->before_ns, rx->after_ns);
		return true;
	}
	/*
	 * The next frame follows these by an unknown time, so neither these frames nor this reading
	 * give its position.
	 */
	rx->readings++;
	rx->taken = 0;
	rx->gap = false;
	kpn_strip_invalidate(&rx->strip);
	return true;
}
