/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a wire takes its time for: one frame after the other, each with preamble and gap, held back
 * by pauses. The ring NIC and the simulator's MAC count with these.
 */
#ifndef NICMODEL_WIRE_H
#define NICMODEL_WIRE_H

#include "nicmodel/platform.h"

enum {
	RING_NIC_PREAMBLE_BYTES = 8,
	RING_NIC_GAP_BYTES = 12,
};

/**
 * struct ring_nic_pause - the peer has the MAC not transmit (PAUSE, IEEE Std 802.3 annex 31B)
 * @at_ps: no frame starts at or after this moment; the one on the wire is finished
 * @idle_ps: how long the wire then stays idle, counted from the end of that frame. Fetches go on as
 *	far as there is room.
 *	A pause that comes while another one lasts prolongs it if it ends later.
 */
struct ring_nic_pause {
	uint64_t at_ps;
	uint64_t idle_ps;
};

/** nic_wire_frame_ps() - from the first bit of a frame's preamble to the end of the gap behind it */
static inline uint64_t nic_wire_frame_ps(uint32_t frame_bytes, uint32_t byte_time_ps)
{
	return (uint64_t)(RING_NIC_PREAMBLE_BYTES + frame_bytes + RING_NIC_GAP_BYTES) *
	       byte_time_ps;
}

/**
 * nic_wire_start_ps() - when the next frame starts: when it is ready, and after every pause that
 * came until then
 * @pauses: sorted by at_ps, @end of them; @next: the first one not met yet, moved on
 * @free_ps: end of the frame before it, gap included
 * @ready_ps: not before @free_ps
 */
static inline uint64_t nic_wire_start_ps(const struct ring_nic_pause *pauses, size_t end,
					 size_t *next, uint64_t free_ps, uint64_t ready_ps)
{
	uint64_t start_ps = ready_ps;

	while (*next < end && pauses[*next].at_ps <= start_ps) {
		const struct ring_nic_pause *pause = &pauses[(*next)++];
		uint64_t idle_ps = free_ps > pause->at_ps ? free_ps : pause->at_ps;

		if (idle_ps + pause->idle_ps > start_ps)
			start_ps = idle_ps + pause->idle_ps;
	}
	return start_ps;
}

#endif
