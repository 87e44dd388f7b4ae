/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The grid on which slots ought to start (k x slot time in PHC time), the error of a slot against
 * the grid, and the trims that remove the error. Feed-forward: the error of any future slot follows
 * from the clock law and the slot lengths. Also the bounds on the error (docs/model.md). This file
 * does not know the ring; `pacer` applies its results.
 */
#ifndef KPN_ALIGN_H
#define KPN_ALIGN_H

#include "keepon/clock.h"
#include "keepon/config.h"

/*
 * A slot time need not be whole nanoseconds (84 bytes at 2.5 Gb/s: 268.8 ns), but some number of
 * slots always is. A cell is that many slots, so every grid instant is exact. @cell_slots is at
 * most 1000.
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
 * @next_trim_seq: first slot whose nominal length would leave the next slot more than half a
 *	quantum off the grid
 * @lock_seq: from this slot on every slot starts within the stated bound of the grid; KPN_SEQ_NEVER
 *	until a plan reaches the grid
 * @mult: clock rate that @quantum_time, @half_time and @drift are for
 * @quantum_time, @half_time: the quantum and half of it in PHC time, 2^-32 ns
 * @drift: PHC time of a nominal slot minus slot time, 2^-44 ns
 * @growth, @quantum_fine, @half_fine: |drift|, the quantum and half of it, 2^-44 ns
 * @period_slots: slots in which the error grows by a quantum, rounded down
 * @carried: on the grid: error of the slot after next_trim_seq if next_trim_seq had nominal
 *	length, in the direction of the drift, 2^-44 ns
 * @carries: trims that still follow from @carried before the clock law renews it; 0 after any
 *	change
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

/** kpn_align_beyond() - whether kpn_align_error() exceeds @bound_ps of wire, either way */
bool kpn_align_beyond(const struct kpn_align *align, const struct kpn_clock *clock, u64 seq,
		      u64 start_ps, u64 bound_ps);

/**
 * kpn_align_replan() - plan slots from @seq on again: the clock law or a position may have changed
 *
 * A grid that was not reached before @seq has to be reached again.
 */
void kpn_align_replan(struct kpn_align *align, u64 seq);

/** kpn_align_hold() - no slot is trimmed, and none is on the grid, until kpn_align_replan() */
void kpn_align_hold(struct kpn_align *align);

/**
 * kpn_align_unlock() - the clock stepped: no slot is on the grid until kpn_align_trim() has reached
 * it again
 */
void kpn_align_unlock(struct kpn_align *align);

/**
 * kpn_align_choose_base() - choose the base with which slot @seq at @start_ps reaches the grid by
 * the fewest trimmed slots
 *
 * The present base stays when the error is within half a slot. Return: true if the base changed.
 */
bool kpn_align_choose_base(struct kpn_align *align, const struct kpn_clock *clock, u64 seq,
			   u64 start_ps);

/**
 * kpn_align_trim() - change of the length of slot @seq, the next slot to plan
 * @seq: its sequence number; @start_ps: where it starts
 *
 * Sets next_trim_seq to the next slot to ask for, and lock_seq when the grid is reached. A call for
 * next_trim_seq carries the error on from the last trim; every 1024 trims, and after
 * kpn_align_replan(), the error comes from the clock law again, so that rounding adds up to less
 * than 2^-20 ns. Return: wire ps, a multiple of the quantum within the trim range; 0 for nominal.
 */
s64 kpn_align_trim(struct kpn_align *align, const struct kpn_clock *clock, u64 seq, u64 start_ps);

/**
 * struct kpn_bounds - what a configuration promises in phase-locked mode (docs/model.md)
 * @boundary_error_ps: |slot start - grid| from lock_seq on
 * @span_ns: wire time of the slots that are beyond change when the clock changes
 * @lock_ns: from a clock step to the first slot within @boundary_error_ps, if the wire does not
 *	stop
 * @lock_slots: trimmed slots needed for the worst residual of half a slot
 */
struct kpn_bounds {
	u64 boundary_error_ps;
	u64 span_ns;
	u64 lock_ns;
	u64 lock_slots;
};

/**
 * kpn_align_bounds() - compute struct kpn_bounds
 * @unalterable_slots: horizon and uncertainty of the head, in slots
 * @gap_slots: distance of slots that may be trimmed; 1 if all may
 * @rate_ppb: greatest |rate adjustment| while running
 * @rate_change_ppb: greatest change of the rate at once
 */
struct kpn_bounds kpn_align_bounds(const struct kpn_align *align, u32 unalterable_slots,
				   u32 gap_slots, u32 rate_ppb, u32 rate_change_ppb);

#endif
