/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Where slots ought to start: the grid k x slot time in PHC time, the error of a slot against it,
 * and the trims that remove it. Feed-forward: the error at any future slot follows from clock law
 * and lengths. Also the bounds that follow (docs/model.md). It does not know the ring; `pacer`
 * applies what it says.
 */
#ifndef KPN_ALIGN_H
#define KPN_ALIGN_H

#include "keepon/clock.h"
#include "keepon/config.h"

/*
 * Slot times need not be whole nanoseconds (84 bytes at 2.5 Gb/s: 268.8 ns), but some number of
 * slots always is: struct kpn_grid keeps that cell, so every grid instant is exact. @cell_slots is
 * at most 1000.
 */
struct kpn_grid {
	u64 slot_ps;
	u64 cell_ns;
	u32 cell_slots;
};

void kpn_grid_init(struct kpn_grid *grid, u64 slot_ps);

/**
 * kpn_grid_time() - PHC time at which @net_slot starts, rounded down to 2^-32 ns; exact where slot
 * times are whole ns
 */
struct kpn_time kpn_grid_time(const struct kpn_grid *grid, u64 net_slot);

/** kpn_grid_floor_in() - kpn_grid_floor() of an instant in @cell */
u64 kpn_grid_floor_in(const struct kpn_grid *grid, u64 cell, s64 ns, u32 ps);

/**
 * kpn_grid_floor() - last net_slot that starts at or before @ns + @ps / 1000; @ns >= 0, @ps below
 * 1000; exact
 */
static inline u64 kpn_grid_floor(const struct kpn_grid *grid, s64 ns, u32 ps)
{
	u64 cell = kpn_div_u64((u64)ns, grid->cell_ns);

	return KPN_LIKELY(grid->cell_slots == 1) ? cell : kpn_grid_floor_in(grid, cell, ns, ps);
}

/**
 * struct kpn_align - trim plan of one pacer
 * @quantum_ps: start quantum; @down_ps, @up_ps: greatest shortening and lengthening of a slot
 * @base: net_slot = slot_seq + base
 * @next_trim_seq: first slot whose nominal length would leave the next one more than half a quantum
 *	off the grid
 * @lock_seq: from here on every slot starts within the stated bound of the grid; KPN_SEQ_NEVER
 *	while that is
 *	not planned yet
 * @mult: clock rate the next three are for
 * @quantum_time, @half_time: the quantum and half of it in PHC time, 2^-32 ns
 * @drift: PHC time of a nominal slot minus slot time, 2^-44 ns
 * @growth, @quantum_fine, @half_fine: |drift|, the quantum and half of it, 2^-44 ns
 * @period_slots: slots that grow a quantum, rounded down
 * @carried: once on the grid, the error that slot next_trim_seq with nominal length would give the
 *	next, in the direction
 *	of the drift, 2^-44 ns
 * @carries: how many more trims follow from @carried before it is renewed from the clock law; 0
 *	when anything changed
 */
struct kpn_align {
	struct kpn_grid grid;
	u64 quantum_ps;
	u64 down_ps;
	u64 up_ps;
	u64 base;
	u64 next_trim_seq;
	u64 lock_seq;
	u64 mult;
	s64 quantum_time;
	s64 half_time;
	s64 drift;
	s64 growth;
	s64 quantum_fine;
	s64 half_fine;
	u64 period_slots;
	s64 carried;
	u32 carries;
};

void kpn_align_init(struct kpn_align *align, u64 slot_ps, u64 quantum_ps, u64 down_ps, u64 up_ps);

/**
 * kpn_align_error() - PHC time of wire position @start_ps minus grid time of slot @seq, 2^-32 ns,
 * saturated at +-1 s
 */
s64 kpn_align_error(const struct kpn_align *align, const struct kpn_clock *clock, u64 seq,
		    u64 start_ps);

/** kpn_align_beyond() - whether that is more than @bound_ps of wire, either way */
bool kpn_align_beyond(const struct kpn_align *align, const struct kpn_clock *clock, u64 seq,
		      u64 start_ps, u64 bound_ps);

/**
 * kpn_align_replan() - slots from @seq on are planned again, by a clock law or from a position that
 * may have changed
 *
 * A grid not yet reached at @seq has to be reached anew.
 */
void kpn_align_replan(struct kpn_align *align, u64 seq);

/** kpn_align_hold() - no slot is trimmed, and none is on the grid, until kpn_align_replan() */
void kpn_align_hold(struct kpn_align *align);

/**
 * kpn_align_unlock() - the clock stepped: no slot is on the grid until kpn_align_trim() has brought
 * one there
 */
void kpn_align_unlock(struct kpn_align *align);

/**
 * kpn_align_choose_base() - new base so that slot @seq at @start_ps needs the fewest trimmed slots
 * to reach the grid
 *
 * The present base is kept when the error is within half a slot. Return: true if the base changed.
 */
bool kpn_align_choose_base(struct kpn_align *align, const struct kpn_clock *clock, u64 seq,
			   u64 start_ps);

/**
 * kpn_align_trim() - what to do with slot @seq, the next to be planned
 * @seq: its sequence; @start_ps: where it starts
 *
 * Sets next_trim_seq to the next slot it must be asked for, and lock_seq when the grid is reached.
 * Asked for that very slot it carries the error on from the last trim; every 1024 trims, and after
 * kpn_align_replan(), it comes from the clock law again, so what rounding adds up to stays below
 * 2^-20 ns. Return: change of its length in wire ps, a multiple of the quantum within the trim
 * range; 0 for nominal.
 */
s64 kpn_align_trim(struct kpn_align *align, const struct kpn_clock *clock, u64 seq, u64 start_ps);

/**
 * struct kpn_bounds - what a configuration promises in phase-locked mode (docs/model.md)
 * @boundary_error_ps: |slot start - grid| from lock_seq on
 * @span_ns: wire time that can no longer be changed when the clock changes
 * @lock_ns: from a step to the first slot within @boundary_error_ps, if the wire does not stop
 * @lock_slots: trimmed slots needed for the worst residual of half a slot
 */
struct kpn_bounds {
	u64 boundary_error_ps;
	u64 span_ns;
	u64 lock_ns;
	u64 lock_slots;
};

/**
 * kpn_align_bounds() - compute them
 * @unalterable_slots: horizon and uncertainty of the head, in slots
 * @gap_slots: slots between two that may be trimmed; 1 if all may
 * @rate_ppb: greatest |rate adjustment| while running
 * @rate_change_ppb: greatest change of it at once
 */
struct kpn_bounds kpn_align_bounds(const struct kpn_align *align, u32 unalterable_slots,
				   u32 gap_slots, u32 rate_ppb, u32 rate_change_ppb);

#endif
