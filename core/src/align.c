// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The grid, the error of slots against it, and when a trim is due (docs/model.md). With a rate r
 * and slots of nominal length the error grows by r x slot time a slot, so the slot at which it
 * exceeds half a quantum is known in advance: no slot before that needs a look.
 */
#include "keepon/align.h"

#include "kpn_inline.h"
#include "kpn_math.h"

enum {
	TIME_SHIFT = 32,  /* errors: 2^-32 ns */
	DRIFT_SHIFT = 44, /* drift per slot: 2^-44 ns; at 1 % of 1.3 ms a slot it needs 58 bits */
	MULT_SHIFT = 72,
	CARRIES_MAX = 1024,
	CARRY_SLOTS_MAX = 1 << 14, /* x CARRIES_MAX x 2^-44 ns = 2^-20 ns */
};

#define ERROR_NS_MAX 1000000000ll

void kpn_grid_init(struct kpn_grid *grid, u64 slot_ps)
{
	grid->slot_ps = slot_ps;
	grid->cell_slots = (u32)kpn_div_u64(1000, kpn_common_divisor(1000, slot_ps));
	grid->cell_ns = kpn_div_u64(slot_ps * grid->cell_slots, 1000);
}

struct kpn_time kpn_grid_time(const struct kpn_grid *grid, u64 net_slot)
{
	struct kpn_time time = { 0, 0 };
	u64 cell;
	u64 rest_ps;
	u64 rest_ns;

	if (grid->cell_slots == 1) {
		time.ns = (s64)(net_slot * grid->cell_ns);
		return time;
	}
	cell = kpn_div_u64(net_slot, grid->cell_slots);
	rest_ps = (net_slot - cell * grid->cell_slots) * grid->slot_ps;
	rest_ns = kpn_div_u64(rest_ps, 1000);
	time.ns = (s64)(cell * grid->cell_ns + rest_ns);
	time.frac = (u32)kpn_div_u64((rest_ps - rest_ns * 1000) << 32, 1000);
	return time;
}

u64 kpn_grid_floor_in(const struct kpn_grid *grid, u64 cell, s64 ns, u32 ps)
{
	u64 rest_ps;

	rest_ps = ((u64)ns - cell * grid->cell_ns) * 1000 + ps;
	return cell * grid->cell_slots + kpn_div_u64(rest_ps, grid->slot_ps);
}

void kpn_align_init(struct kpn_align *align, u64 slot_ps, u64 quantum_ps, u64 down_ps, u64 up_ps)
{
	memset(align, 0, sizeof(*align));
	kpn_grid_init(&align->grid, slot_ps);
	align->quantum_ps = quantum_ps;
	align->down_ps = down_ps;
	align->up_ps = up_ps;
	align->lock_seq = KPN_SEQ_NEVER;
}

s64 kpn_align_error(const struct kpn_align *align, const struct kpn_clock *clock, u64 seq,
		    u64 start_ps)
{
	struct kpn_time error = kpn_time_sub(kpn_clock_at(clock, start_ps),
					     kpn_grid_time(&align->grid, seq + align->base));

	if (KPN_UNLIKELY(error.ns > ERROR_NS_MAX))
		return ERROR_NS_MAX << TIME_SHIFT;
	if (KPN_UNLIKELY(error.ns < -ERROR_NS_MAX))
		return -(ERROR_NS_MAX << TIME_SHIFT);
	return (s64)((u64)error.ns << TIME_SHIFT) + error.frac;
}

bool kpn_align_beyond(const struct kpn_align *align, const struct kpn_clock *clock, u64 seq,
		      u64 start_ps, u64 bound_ps)
{
	s64 error = kpn_align_error(align, clock, seq, start_ps);
	u64 bound = kpn_mul_shr(bound_ps, KPN_CLOCK_NOMINAL_MULT, MULT_SHIFT - TIME_SHIFT) + 1;

	return (error < 0 ? 0 - (u64)error : (u64)error) > bound;
}

void kpn_align_replan(struct kpn_align *align, u64 seq)
{
	align->next_trim_seq = seq;
	align->carries = 0;
	/* Slots planned towards the grid may now follow another rate and reach the grid later. */
	if (align->lock_seq > seq)
		kpn_align_unlock(align);
}

void kpn_align_hold(struct kpn_align *align)
{
	align->next_trim_seq = KPN_SEQ_NEVER;
	kpn_align_unlock(align);
}

void kpn_align_unlock(struct kpn_align *align)
{
	align->carries = 0;
	align->lock_seq = KPN_SEQ_NEVER;
}

bool kpn_align_choose_base(struct kpn_align *align, const struct kpn_clock *clock, u64 seq,
			   u64 start_ps)
{
	s64 error = kpn_align_error(align, clock, seq, start_ps);
	u64 half_ps = align->grid.slot_ps / 2;
	s64 half = (s64)kpn_mul_shr(half_ps, KPN_CLOCK_NOMINAL_MULT, MULT_SHIFT - TIME_SHIFT) + 1;
	struct kpn_time start;
	u64 base;

	if (error <= half && error >= -half)
		return false;
	start = kpn_clock_at(clock, start_ps);
	start = kpn_time_add(start, (struct kpn_time){ half >> TIME_SHIFT, (u32)half });
	base = kpn_grid_floor(&align->grid, start.ns, (u32)((u64)start.frac * 1000 >> 32)) - seq;
	if (base == align->base)
		return false;
	align->base = base;
	align->carries = 0;
	return true;
}

static void use_rate(struct kpn_align *align, u64 mult)
{
	u64 slot_ps = align->grid.slot_ps;
	u64 faster = mult >= KPN_CLOCK_NOMINAL_MULT ? mult - KPN_CLOCK_NOMINAL_MULT :
						      KPN_CLOCK_NOMINAL_MULT - mult;

	align->mult = mult;
	align->quantum_time = (s64)kpn_mul_shr(align->quantum_ps, mult, MULT_SHIFT - TIME_SHIFT);
	align->half_time = align->quantum_time / 2;
	align->growth = (s64)kpn_mul_shr(slot_ps, faster, MULT_SHIFT - DRIFT_SHIFT);
	align->drift = mult >= KPN_CLOCK_NOMINAL_MULT ? align->growth : -align->growth;
	align->quantum_fine = (s64)kpn_mul_shr(align->quantum_ps, mult, MULT_SHIFT - DRIFT_SHIFT);
	align->half_fine = align->quantum_fine / 2;
	align->period_slots =
		align->growth ? kpn_div_u64((u64)align->quantum_fine, (u64)align->growth) : 0;
	align->carries = 0;
}

/*
 * Find the next trim from @error of slot @seq + 1, by whole slots of the drift. A slower drift is
 * not carried: its rounding error would grow too large.
 */
static void plan_next(struct kpn_align *align, u64 seq, s64 error)
{
	s64 along = align->drift > 0 ? error : -error;
	s64 room = align->half_time - along;
	u64 slots = 0;

	align->carries = 0;
	align->next_trim_seq = KPN_SEQ_NEVER;
	if (!align->growth)
		return;
	if (room > 0)
		slots = kpn_div_u64((u64)room << (DRIFT_SHIFT - TIME_SHIFT), (u64)align->growth);
	align->next_trim_seq = seq + 1 + slots;
	if (align->period_slots && align->period_slots <= CARRY_SLOTS_MAX &&
	    slots <= CARRY_SLOTS_MAX && along >= -2 * align->quantum_time) {
		align->carried = along * (1ll << (DRIFT_SHIFT - TIME_SHIFT)) +
				 (s64)(slots + 1) * align->growth;
		align->carries = CARRIES_MAX;
	}
}

/* The trim due in steady state, at slot next_trim_seq: one quantum against the drift. */
static inline s64 trim_carried(struct kpn_align *align)
{
	s64 after = align->carried - align->quantum_fine;
	u64 slots = align->period_slots;
	s64 due = after + (s64)slots * align->growth;

	/* Nominal slots stay within half a quantum for a period, or for a slot less. */
	if (due > align->half_fine) {
		slots--;
		due -= align->growth;
	}
	align->carried = due + align->growth;
	align->carries--;
	align->next_trim_seq += 1 + slots;
	return align->drift > 0 ? -(s64)align->quantum_ps : (s64)align->quantum_ps;
}

static KPN_NOINLINE s64 trim_planned(struct kpn_align *align, const struct kpn_clock *clock,
				     u64 seq, u64 start_ps)
{
	s64 change_ps = 0;
	u64 magnitude;
	s64 error; /* of the next slot, if this one keeps its length */

	if (KPN_UNLIKELY(align->mult != clock->mult))
		use_rate(align, clock->mult);
	error = kpn_align_error(align, clock, seq + 1, start_ps + align->grid.slot_ps);
	magnitude = error < 0 ? 0 - (u64)error : (u64)error;
	if (magnitude > (u64)align->half_time) {
		/* A late start shortens this slot, an early one lengthens it. */
		u64 quanta =
			kpn_div_u64(magnitude + (u64)align->half_time, (u64)align->quantum_time);
		u64 most_ps = error > 0 ? align->down_ps : align->up_ps;
		s64 sign = error > 0 ? -1 : 1;

		if (quanta * align->quantum_ps > most_ps) {
			align->next_trim_seq = seq + 1;
			align->carries = 0;
			return sign * (s64)most_ps;
		}
		change_ps = sign * (s64)(quanta * align->quantum_ps);
		error += sign * (s64)quanta * align->quantum_time;
	}
	if (align->lock_seq == KPN_SEQ_NEVER)
		align->lock_seq = seq + 1;
	plan_next(align, seq, error);
	return change_ps;
}

s64 kpn_align_trim(struct kpn_align *align, const struct kpn_clock *clock, u64 seq, u64 start_ps)
{
	if (KPN_LIKELY(align->carries && seq == align->next_trim_seq &&
		       align->mult == clock->mult && align->carried > align->half_fine))
		return trim_carried(align);
	return trim_planned(align, clock, seq, start_ps);
}

/* Parts per billion as a fraction of 2^32, rounded up. */
static u64 fraction_of(u32 ppb)
{
	return kpn_div_u64((u64)ppb << 32, 1000000000) + 1;
}

struct kpn_bounds kpn_align_bounds(const struct kpn_align *align, u32 unalterable_slots,
				   u32 gap_slots, u32 rate_ppb, u32 rate_change_ppb)
{
	u64 slot_ps = align->grid.slot_ps;
	u64 least_ps = align->down_ps < align->up_ps ? align->down_ps : align->up_ps;
	u64 span_ps = unalterable_slots * (slot_ps + align->up_ps);
	/*
	 * Between two slots that may be trimmed the error grows by growth_ps, and by the rate a
	 * trim is shorter than its bytes say; both reduce what every trim corrects.
	 */
	u64 growth_ps = kpn_mul_shr(slot_ps * gap_slots, fraction_of(rate_ppb), 32) + 1;
	u64 lost_ps = growth_ps + kpn_mul_shr(least_ps, fraction_of(rate_ppb), 32) + 1;
	struct kpn_bounds bounds;

	bounds.boundary_error_ps = align->quantum_ps / 2 + 1 + (gap_slots > 1 ? growth_ps : 0) +
				   kpn_mul_shr(span_ps, fraction_of(rate_change_ppb), 32) + 1;
	/* By the rate a quantum lasts longer, or shorter; so does its half. */
	bounds.boundary_error_ps += kpn_mul_shr(align->quantum_ps, fraction_of(rate_ppb), 32) + 1;
	bounds.span_ns = kpn_div_u64(span_ps, 1000) + 1;
	bounds.lock_slots = least_ps > lost_ps ? kpn_div_u64(slot_ps / 2, least_ps - lost_ps) + 1 :
						 KPN_SEQ_NEVER;
	bounds.lock_ns = KPN_SEQ_NEVER;
	if (bounds.lock_slots != KPN_SEQ_NEVER)
		bounds.lock_ns =
			bounds.span_ns +
			kpn_div_u64((bounds.lock_slots + 1) * gap_slots * (slot_ps + align->up_ps),
				    1000) +
			1;
	return bounds;
}
