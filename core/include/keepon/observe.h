/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Where is the wire now? The strip: an interval for the wire position at any CPU time, kept from
 * readings of a late, coarse index under two stated bounds - on the relative drift of the CPU
 * counter and on its wander (docs/model.md). Sound as long as the bounds hold; an empty strip
 * proves that they do not, or that the wire was idle unseen. This file knows neither slots nor PHC
 * time.
 *
 * A reading says: the wire was at or past `lower` at one CPU time, and not past `upper` at another.
 * Both bounds are carried forward with the slowest and the fastest rate that all readings so far
 * allow; each new reading tightens them. The rates follow from the strip's bounds now and at an
 * older anchor, widened for wander.
 */
#ifndef KPN_OBSERVE_H
#define KPN_OBSERVE_H

#include "kpn_platform.h"

/*
 * Rates are picoseconds of wire time per CPU nanosecond beyond 1000, x 2^32: the resolution is
 * 2.3e-13, and 1e-3 needs 32 bits.
 */
#define KPN_RATE_SHIFT 32
/*
 * A pace is such a rate with the 1000 in it, in ps/ns x 2^24: its product with half a second fits
 * 64 bits. Rounding, outwards, costs less than a picosecond between two polls that are less than 16
 * ms apart.
 */
#define KPN_PACE_SHIFT 24
#define KPN_PACE_NS_MAX 512000000ull

/** struct kpn_strip_anchor - the strip as it was at one moment */
struct kpn_strip_anchor {
	u64 cpu_ns;
	u64 lower_ps;
	u64 upper_ps;
};

/**
 * struct kpn_strip - bounds on the wire position
 * @cpu_ns: moment both bounds are for
 * @lower_ps, @upper_ps: wire position at @cpu_ns, modulo 2^64
 * @rate_lower, @rate_upper: rate of the wire against the CPU counter; they hold until @rate_due_ns
 * @rate_due_ns: CPU time at which the rates are next renewed; @cpu_ns while there are none
 * @renew_ns: longest time between renewals of the rates
 * @pace_lower, @pace_upper: the same rates as paces; @pace_most: pace of the stated drift
 * @drift: stated bound on |rate|
 * @wander_per_ns: stated bound on the change of the rate per ns, x 2^32
 * @old, @young: anchors; rates come from @old
 * @span_ns: age at which @young replaces @old; doubles from start-up to the best age for the width
 * @span_root: sqrt(4e18 / stated wander in ppb/s), for that best age
 * @read_floor_ps: no position read as the time is before this one (kpn_strip_read())
 * @tick_ns: resolution of the CPU counter, rounded up: a moment t is somewhere in [t, t + tick)
 * @valid: false until the first reading
 * @pauses: the wire may legitimately stand still: its rate while it runs exceeds its mean, and is
 *	not learnt
 * @ends: the wire cannot be past @end_ps, and no position beyond is read as the time
 */
struct kpn_strip {
	u64 cpu_ns;
	u64 lower_ps;
	u64 upper_ps;
	s64 rate_lower;
	s64 rate_upper;
	u64 rate_due_ns;
	u64 renew_ns;
	u64 pace_lower;
	u64 pace_upper;
	u64 pace_most;
	s64 drift;
	u64 wander_per_ns;
	struct kpn_strip_anchor old;
	struct kpn_strip_anchor young;
	u64 span_ns;
	u64 span_root;
	u64 read_floor_ps;
	u64 end_ps;
	u32 tick_ns;
	bool pauses;
	bool ends;
	bool valid;
};

/** struct kpn_interval - wire positions, modulo 2^64, lower not after upper */
struct kpn_interval {
	u64 lower_ps;
	u64 upper_ps;
};

/**
 * kpn_strip_init() - state the bounds; the strip is invalid until kpn_strip_reset()
 * @drift_ppb_max: at most 1e6
 * @wander_ppb_per_s_max: at most 1e6
 * @poll_ns: usual time between readings; rates are renewed after 256 of them, but within 16 to 512
 *	ms
 * @tick_ns: resolution of the CPU counter, rounded up, 1 to 1000
 */
void kpn_strip_init(struct kpn_strip *strip, u32 drift_ppb_max, u32 wander_ppb_per_s_max,
		    u64 poll_ns, u32 tick_ns);

/**
 * kpn_strip_reset() - start again: at @cpu_ns the wire is between the bounds; rates fall back to the
 * stated drift
 */
void kpn_strip_reset(struct kpn_strip *strip, u64 cpu_ns, u64 lower_ps, u64 upper_ps);

/**
 * kpn_strip_observe() - add one reading
 * @now_ns: CPU time after the reading, not before that of an earlier one
 * @lower_ns, @lower_ps: the wire was at or past this position at this CPU time (before or after
 *	@now_ns)
 * @upper_ns, @upper_ps: the wire was not past this position at that CPU time
 *
 * Return: true, or false if no line satisfies all readings; kpn_strip_at() then keeps the bounds
 * from before, and the caller starts again with kpn_strip_reset().
 */
bool kpn_strip_observe(struct kpn_strip *strip, u64 now_ns, u64 lower_ns, u64 lower_ps,
		       u64 upper_ns, u64 upper_ps);

/**
 * kpn_strip_merge_late() - kpn_strip_observe() with both bounds already carried to @now_ns; renews
 * the rates if due
 */
bool kpn_strip_merge_late(struct kpn_strip *strip, u64 now_ns, u64 lower_ps, u64 upper_ps);

/** kpn_pace_ps() - how far the wire moves in @dt_ns, at most KPN_PACE_NS_MAX, rounded down */
static inline u64 kpn_pace_ps(u64 dt_ns, u64 pace)
{
	return dt_ns * pace >> KPN_PACE_SHIFT;
}

/**
 * kpn_strip_note_read() - keep the middle of these bounds, which may have been read as the time,
 * before a reading tightens them from above
 */
static inline void kpn_strip_note_read(struct kpn_strip *strip, u64 lower_ps, u64 upper_ps)
{
	u64 middle_ps;

	if (strip->ends && (s64)(upper_ps - strip->end_ps) > 0)
		upper_ps = strip->end_ps;
	if ((s64)(lower_ps - upper_ps) > 0)
		lower_ps = upper_ps;
	middle_ps = lower_ps + (upper_ps - lower_ps) / 2;
	if ((s64)(middle_ps - strip->read_floor_ps) > 0)
		strip->read_floor_ps = middle_ps;
}

/**
 * kpn_strip_merge() - kpn_strip_merge_late() for nearly every reading; inline because every poll
 * calls it
 *
 * Return: false with no bound changed if rates are due or the reading contradicts; then call
 * kpn_strip_merge_late(), which tells the two cases from each other.
 */
static inline bool kpn_strip_merge(struct kpn_strip *strip, u64 now_ns, u64 lower_ps, u64 upper_ps)
{
	u64 dt_ns = now_ns - strip->cpu_ns;
	u64 lower = strip->lower_ps + kpn_pace_ps(dt_ns, strip->pace_lower);
	u64 upper = strip->upper_ps + kpn_pace_ps(dt_ns, strip->pace_upper) + 1;

	KPN_ASSERT((s64)dt_ns >= 0);
	if (KPN_UNLIKELY((s64)(upper_ps - upper) < 0)) {
		kpn_strip_note_read(strip, lower, upper);
		upper = upper_ps;
	}
	if ((s64)(lower_ps - lower) > 0)
		lower = lower_ps;
	if (KPN_UNLIKELY(now_ns >= strip->rate_due_ns || (s64)(upper - lower) < 0))
		return false;
	strip->cpu_ns = now_ns;
	strip->lower_ps = lower;
	strip->upper_ps = upper;
	return true;
}

/**
 * kpn_strip_at() - where the wire can be when the CPU counter shows @cpu_ns, not before the last
 * reading
 */
struct kpn_interval kpn_strip_at(const struct kpn_strip *strip, u64 cpu_ns);

/** kpn_strip_forget_reads() - the clock is set: times read before bind it no longer */
static inline void kpn_strip_forget_reads(struct kpn_strip *strip)
{
	strip->read_floor_ps = strip->lower_ps;
}

/**
 * kpn_strip_read() - the position read as the time, given bounds at the moment of reading
 *
 * The middle of the bounds. A reading that tightens the upper bound moves the middle back; since
 * time must not go back, it stands still until the middle catches up.
 */
static inline u64 kpn_strip_read(const struct kpn_strip *strip, struct kpn_interval wire)
{
	u64 middle_ps = wire.lower_ps + (wire.upper_ps - wire.lower_ps) / 2;

	return (s64)(middle_ps - strip->read_floor_ps) < 0 ? strip->read_floor_ps : middle_ps;
}

/**
 * kpn_strip_rate() - middle of the present bounds on the rate: ps of wire per CPU ns beyond 1000, x
 * 2^KPN_RATE_SHIFT
 */
static inline s64 kpn_strip_rate(const struct kpn_strip *strip)
{
	return strip->rate_lower + (strip->rate_upper - strip->rate_lower) / 2;
}

/** kpn_strip_invalidate() - nothing is known until the next kpn_strip_reset() */
static inline void kpn_strip_invalidate(struct kpn_strip *strip)
{
	strip->valid = false;
	strip->rate_due_ns = strip->cpu_ns;
}

/**
 * kpn_strip_loosen() - widen the bounds: the wire may be up to @back_ps before the lower one,
 * because it may have stood still just now, and up to @ahead_ps past the upper one
 */
void kpn_strip_loosen(struct kpn_strip *strip, u64 back_ps, u64 ahead_ps);

#endif
