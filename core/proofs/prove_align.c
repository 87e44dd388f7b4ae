/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * align: the grid is exact. The speed is a constant, so that no product has two unknown factors.
 */
#include "../src/align.c"

#include "proof.h"

enum { BYTE_PS = 8000 };
enum { WIRE_BYTES = 84 };
#define SLOT_PS ((u64)WIRE_BYTES * BYTE_PS)

/* Ten years from 2016 on, as TAI, are below 2^61 ns (2043). */
#define GRID_NS_MAX (1ull << 61)

/*
 * PROVE grid_is_exact
 * bounds: slots of 84 wire bytes at 1 Gb/s, every instant from 1970 to 2043, to the picosecond
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
	slot = (u32)any_below(grid.cell_slots);
	into_ps = any_below(SLOT_PS);
	start_ps = slot * SLOT_PS;
	time = kpn_grid_time(&grid, cell * grid.cell_slots + slot);
	PROVE(time.ns == (s64)(cell * grid.cell_ns + start_ps / 1000));
	PROVE(time.frac == (start_ps % 1000 << 32) / 1000);
	PROVE(kpn_grid_floor(&grid, (s64)(cell * grid.cell_ns + (start_ps + into_ps) / 1000),
			     (u32)((start_ps + into_ps) % 1000)) == cell * grid.cell_slots + slot);
}
