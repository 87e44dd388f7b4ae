/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which sequence numbers of a stream arrived: lost, duplicate, reordered. Looks back over a window,
 * as anti-replay in IPsec does (RFC 4303, 3.4.3): a frame older than that is counted as such and
 * can be either.
 */
#ifndef KPT_LISTEN_SEQUENCE_H
#define KPT_LISTEN_SEQUENCE_H

#include <stdint.h>

enum { LISTEN_WINDOW_FRAMES = 4096 };

/**
 * struct listen_sequence - zero before the first frame
 * @lowest, @highest: numbers seen
 * @distinct: different numbers seen
 * @duplicates: frames whose number had been seen
 * @reordered: frames that came after one with a higher number
 * @beyond_window: frames further behind @highest than the window; in none of the others
 * @seen: bit of each of the last LISTEN_WINDOW_FRAMES numbers
 */
struct listen_sequence {
	uint64_t lowest;
	uint64_t highest;
	uint64_t distinct;
	uint64_t duplicates;
	uint64_t reordered;
	uint64_t beyond_window;
	uint64_t seen[LISTEN_WINDOW_FRAMES / 64];
};

/** listen_sequence_add() - a frame arrived */
void listen_sequence_add(struct listen_sequence *sequence, uint64_t seq);

/** listen_sequence_lost() - numbers between lowest and highest that never came */
uint64_t listen_sequence_lost(const struct listen_sequence *sequence);

#endif
