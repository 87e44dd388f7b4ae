/* SPDX-License-Identifier: GPL-2.0-only */
/* The receive ring of a NIC: what rx_ring.c (what arrives) and rx_native.c (lending it) share. */
#ifndef KEEPON_HWSIM_RX_RING_H
#define KEEPON_HWSIM_RX_RING_H

#include "hwsim.h"

/** struct hwsim_rx_run - equally long frames back to back; the last bit of the first ended at @end_ps, sender's time */
struct hwsim_rx_run {
	u64 end_ps;
	u64 pitch_ps;
	u32 frames;
	u32 frame_bytes;
};

/**
 * struct hwsim_rx_ring - frames in the order of arrival; everything under @lock, which is taken last
 * @runs: @run_count of them from @run_first on, wrapping at @room; NULL while the ring is not lent
 * @room: frames it holds
 * @held: frames in @runs
 * @arrived: frames ever held: the place of the next one
 * @shown: of these the index has counted so many
 * @due: and so many whatever its lag: the stack was given the frame, or the wire it came by is gone
 * @missed: frames that found it full
 * @draws: reads of the index so far
 */
struct hwsim_rx_ring {
	spinlock_t lock; /* everything below */
	struct hwsim_rx_run *runs;
	u32 room;
	u32 run_first;
	u32 run_count;
	u32 held;
	u64 arrived;
	u64 shown;
	u64 due;
	u64 missed;
	u64 draws;
};

static inline struct hwsim_rx_run *hwsim_rx_run_at(const struct hwsim_rx_ring *rx, u32 number)
{
	u32 at = rx->run_first + number;

	return &rx->runs[at < rx->room ? at : at - rx->room];
}

#endif
