// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The end of a frame decides when it may begin, with every uncertainty at its worst. */
#include "keepon/guard.h"

#include "keepon/errno.h"
#include "keepon/wire.h"

static s64 later(s64 a, s64 b)
{
	return a > b ? a : b;
}

static u32 frame_ns(u32 byte_ps, u32 frame_bytes)
{
	u64 ps = (u64)kpn_wire_bytes(frame_bytes) * byte_ps;
	u64 slowest_ps = ps + kpn_div_u64(ps * KPN_GUARD_SLOW_PPM + 999999, 1000000);

	return (u32)kpn_div_u64(slowest_ps + 999, 1000);
}

int kpn_guard_configure(struct kpn_guard *guard, const struct kpn_guard_config *config)
{
	u32 byte_ps = kpn_byte_time_ps(config->rate_bps);

	if (!byte_ps || config->mtu_bytes < KPN_FRAME_BYTES_MIN ||
	    config->mtu_bytes > KPN_GUARD_MTU_BYTES_MAX ||
	    config->fudge_ns > KPN_GUARD_FUDGE_NS_MAX ||
	    config->tolerance_ns > KPN_GUARD_FUDGE_NS_MAX)
		return -KPN_ERANGE;
	/*
	 * Frames handed over may still begin within the old fudge: the sum of free_ns and fudge
	 * stays.
	 */
	if (guard->byte_ps)
		guard->free_ns += (s64)guard->config.fudge_ns - (s64)config->fudge_ns;
	guard->config = *config;
	guard->byte_ps = byte_ps;
	guard->longest_ns = frame_ns(byte_ps, config->mtu_bytes);
	return 0;
}

u32 kpn_guard_frame_ns(const struct kpn_guard *guard, u32 frame_bytes)
{
	return frame_ns(guard->byte_ps, frame_bytes);
}

enum kpn_guard_entry kpn_guard_enter(struct kpn_guard *guard, s64 txtime_ns, u32 frame_bytes,
				     s64 now_ns)
{
	if (frame_bytes > guard->config.mtu_bytes)
		return KPN_GUARD_TOO_LONG;
	if (txtime_ns < now_ns) {
		guard->late++;
		if (guard->config.late == KPN_GUARD_LATE_DROP)
			return KPN_GUARD_TOO_LATE;
		guard->late_sent++;
	} else if (later(guard->free_ns, now_ns) + guard->config.fudge_ns > txtime_ns) {
		guard->short_notice++;
	}
	return KPN_GUARD_QUEUE;
}

static void hold(struct kpn_guard *guard, s64 begin_ns)
{
	if (!guard->is_held)
		guard->held_since_ns = begin_ns;
	guard->is_held = true;
}

static void release(struct kpn_guard *guard, s64 now_ns)
{
	if (guard->is_held && now_ns > guard->held_since_ns)
		guard->held_ns += (u64)(now_ns - guard->held_since_ns);
	guard->is_held = false;
}

static void hand_over(struct kpn_guard *guard, u32 frame_bytes, s64 now_ns)
{
	release(guard, now_ns);
	guard->free_ns =
		later(guard->free_ns, now_ns) + (s64)kpn_guard_frame_ns(guard, frame_bytes);
}

static enum kpn_guard_step send_timed(struct kpn_guard *guard, const struct kpn_guard_heads *heads,
				      s64 now_ns)
{
	/* A frame that was late on arrival was counted then; once queued, it is sent. */
	if (guard->config.late == KPN_GUARD_LATE_DROP &&
	    now_ns - heads->txtime_ns > (s64)guard->config.tolerance_ns) {
		guard->late++;
		return KPN_GUARD_DROP_TIMED;
	}
	guard->timed++;
	hand_over(guard, heads->timed_bytes, now_ns);
	return KPN_GUARD_SEND_TIMED;
}

enum kpn_guard_step kpn_guard_next(struct kpn_guard *guard, const struct kpn_guard_heads *heads,
				   s64 now_ns, s64 *wake_ns)
{
	s64 begin_ns = later(guard->free_ns, now_ns);
	s64 ahead_ns = KPN_GUARD_AHEAD_FRAMES * (s64)guard->longest_ns;
	s64 end_ns;

	*wake_ns = KPN_GUARD_NEVER_NS;
	if (heads->timed_bytes) {
		if (now_ns >= heads->txtime_ns)
			return send_timed(guard, heads, now_ns);
		*wake_ns = heads->txtime_ns;
	}
	if (!heads->other_bytes)
		return KPN_GUARD_WAIT;
	if (begin_ns - now_ns > ahead_ns) {
		if (begin_ns - ahead_ns < *wake_ns)
			*wake_ns = begin_ns - ahead_ns;
		return KPN_GUARD_WAIT;
	}
	if (heads->timed_bytes) {
		end_ns = begin_ns + (s64)kpn_guard_frame_ns(guard, heads->other_bytes);
		if (end_ns + (s64)guard->config.fudge_ns > heads->txtime_ns) {
			hold(guard, begin_ns);
			return KPN_GUARD_WAIT;
		}
		guard->squeezed += begin_ns + (s64)kpn_guard_window_ns(guard) > heads->txtime_ns;
	}
	guard->others++;
	hand_over(guard, heads->other_bytes, now_ns);
	return KPN_GUARD_SEND_OTHER;
}
