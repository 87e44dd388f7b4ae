/* SPDX-License-Identifier: BSD-3-Clause */
/* Lost, duplicate and reordered frames; see listen_sequence.h. */
#include "listen_sequence.h"

#include <stdbool.h>
#include <string.h>

static uint64_t *word_of(struct listen_sequence *sequence, uint64_t seq)
{
	return &sequence->seen[seq % LISTEN_WINDOW_FRAMES / 64];
}

static uint64_t bit_of(uint64_t seq)
{
	return UINT64_C(1) << seq % 64;
}

static void move_window(struct listen_sequence *sequence, uint64_t seq)
{
	if (seq - sequence->highest >= LISTEN_WINDOW_FRAMES)
		memset(sequence->seen, 0, sizeof(sequence->seen));
	else
		for (uint64_t skipped = sequence->highest + 1; skipped != seq; skipped++)
			*word_of(sequence, skipped) &= ~bit_of(skipped);
	sequence->highest = seq;
}

void listen_sequence_add(struct listen_sequence *sequence, uint64_t seq)
{
	if (!sequence->distinct) {
		sequence->lowest = seq;
		sequence->highest = seq;
	} else if (seq > sequence->highest) {
		move_window(sequence, seq);
	} else if (sequence->highest - seq >= LISTEN_WINDOW_FRAMES) {
		sequence->beyond_window++;
		return;
	} else if (*word_of(sequence, seq) & bit_of(seq)) {
		sequence->duplicates++;
		return;
	} else {
		sequence->reordered++;
		if (seq < sequence->lowest)
			sequence->lowest = seq;
	}
	*word_of(sequence, seq) |= bit_of(seq);
	sequence->distinct++;
}

uint64_t listen_sequence_lost(const struct listen_sequence *sequence)
{
	return sequence->distinct ? sequence->highest - sequence->lowest + 1 - sequence->distinct :
				    0;
}
