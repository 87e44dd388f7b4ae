/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * align: the grid is exact. Speed and length of slots are constants, so that no product has two
 * unknown factors.
 */
#include "../src/align.c"

#include "proof.h"

#ifndef BYTE_PS
#define BYTE_PS 8000
#endif
#ifndef WIRE_BYTES
#define WIRE_BYTES 84
#endif
#define SLOT_PS ((u64)WIRE_BYTES * BYTE_PS)

/*
 * Instead of kpn_div_u64(): a long quotient is known to the harness and shown to be right, for a
 * solver finds one by trial. Short ones are divided.
 */
static struct {
	u64 divisor;
	u64 quotient;
	u64 rest;
} known[2];

u64 known_div(u64 dividend, u64 divisor)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		if (divisor == known[i].divisor) {
			PROVE(known[i].rest < divisor &&
			      dividend == known[i].quotient * divisor + known[i].rest);
			return known[i].quotient;
		}
	}
	return dividend / divisor;
}

/* Ten years from 2016 on, as TAI, are below 2^61 ns (2043). */
#define GRID_NS_MAX (1ull << 61)

/*
 * PROVE grid_is_exact
 * bounds: slots of 84 wire bytes at 10 Mb/s and 1 Gb/s; every instant from 1970 to 2043,
 *	to the picosecond
 * cases: BYTE_PS=8000 800000
 * replace: kpn_div_u64: known_div (the quotient is checked where it is used)
 * unwind: 12
 * mutant: core/src/align.c: (s64)(net_slot * grid->cell_ns) => (s64)(net_slot * grid->cell_ns + 1)
 */
void grid_is_exact(void)
{
	struct kpn_grid grid;
	struct kpn_time time;
	u64 cell;
	u32 slot;
	u64 into_ps;
	u64 start_ps;

	kpn_grid_init(&grid, SLOT_PS);
	PROVE(grid.cell_ns * 1000 == grid.cell_slots * SLOT_PS && grid.cell_slots <= 1000);
	cell = any_below(GRID_NS_MAX / grid.cell_ns);
	slot = grid.cell_slots > 1 ? (u32)any_below(grid.cell_slots) : 0;
	into_ps = any_below(SLOT_PS);
	start_ps = slot * SLOT_PS;
	known[0].divisor = grid.cell_ns;
	known[0].quotient = cell;
	known[0].rest = (start_ps + into_ps) / 1000;
	if (grid.cell_slots > 1) {
		known[1].divisor = grid.cell_slots;
		known[1].quotient = cell;
		known[1].rest = slot;
	}
	time = kpn_grid_time(&grid, cell * grid.cell_slots + slot);
	PROVE(time.ns == (s64)(cell * grid.cell_ns + start_ps / 1000));
	PROVE(time.frac == (start_ps % 1000 << 32) / 1000);
	PROVE(kpn_grid_floor(&grid, (s64)(cell * grid.cell_ns + (start_ps + into_ps) / 1000),
			     (u32)((start_ps + into_ps) % 1000)) == cell * grid.cell_slots + slot);
}
