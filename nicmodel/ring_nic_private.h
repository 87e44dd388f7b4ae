/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the two halves of the ring NIC share: its state, and the history of the wire as runs of
 * equal slots.
 */
#ifndef NICMODEL_RING_NIC_PRIVATE_H
#define NICMODEL_RING_NIC_PRIVATE_H

#include "nicmodel/ring_nic.h"

enum { RING_NIC_WORDS = RING_NIC_SLOTS_MAX / 64 };

#define RING_NIC_NEVER_PS (~(uint64_t)0)

/**
 * struct ring_nic_run - @count slots of @pitch_ps each, back to back from @start_ps
 * @seq: of the first; @sent_ps: wire time of everything before it
 * @latch_ps, @latch_pitch_ps: slot i was latched at latch_ps + i x latch_pitch_ps
 */
struct ring_nic_run {
	uint64_t seq;
	uint64_t count;
	uint64_t start_ps;
	uint64_t pitch_ps;
	uint64_t sent_ps;
	uint64_t latch_ps;
	uint64_t latch_pitch_ps;
};

/**
 * struct ring_nic_bell - slots before @tail_seq were posted at @when_ps; they start no sooner than
 * @start_ps
 */
struct ring_nic_bell {
	uint64_t tail_seq;
	uint64_t when_ps;
	uint64_t start_ps;
};

/**
 * struct ring_nic_desc - one descriptor
 * @sum: over the data bytes as they stood in the NIC's memory at the commit
 * @stale_at: first byte in which the CPU's buffer differed from the NIC's memory then, or
 *	RING_NIC_FRESH
 */
struct ring_nic_desc {
	uint64_t sum;
	uint32_t stale_at;
	uint16_t frame_bytes;
	uint16_t data_bytes;
};

#define RING_NIC_FRESH (~(uint32_t)0)

/** struct ring_nic_bits - a set of descriptors; @summary has a bit per word that is not zero */
struct ring_nic_bits {
	uint64_t summary;
	uint64_t word[RING_NIC_WORDS];
};

/**
 * struct ring_nic - @fetch_seq is the next to latch, @end_ps where the last latched one ends on the
 * wire
 * @gone_ps: the wire is dead from then on (removed), else RING_NIC_NEVER_PS
 * @shown_index: what the frozen index shows
 * @unarmed: a fetch met a descriptor that was not handed over; it waits for a doorbell
 * @halted: ring_nic_halt() or ring_nic_remove()
 * @special: descriptors that are not nominal placeholders; @real: those with a good FCS; @armed:
 *	may be fetched;
 *	@blank: their length was overwritten
 * @run_first, @run_end: remembered runs, numbered without wrapping; @cursor: run holding the slot
 *	whose end makes room
 * @bell_first, @bell_end: doorbells not used up, numbered without wrapping
 * @pause_next, @pause_end: announced pauses that no latched slot has met
 */
struct ring_nic {
	struct ring_nic_params params;
	struct ring_nic_counters counters;
	uint64_t now_ps;
	uint64_t fetch_seq;
	uint64_t tail_seq;
	uint64_t end_ps;
	uint64_t sent_ps;
	uint64_t gone_ps;
	uint64_t shown_index;
	uint64_t nominal_pitch_ps;
	uint32_t fetch_idx;
	bool unarmed;
	bool halted;
	bool index_frozen;
	bool fifo_limited;
	struct ring_nic_bits special;
	struct ring_nic_bits real;
	struct ring_nic_bits armed;
	struct ring_nic_bits blank;
	uint64_t run_first;
	uint64_t run_end;
	uint64_t cursor;
	uint64_t run_mask;
	uint64_t bell_first;
	uint64_t bell_end;
	uint64_t bell_mask;
	size_t pause_next;
	size_t pause_end;
	const struct ring_nic_pause *pauses;
	struct ring_nic_run *runs;
	struct ring_nic_bell *bells;
	struct ring_nic_desc *desc;
};

/**
 * struct ring_nic_room - slot end @end_ps makes room; so do the @slots - 1 next ones, @pitch_ps
 * apart
 */
struct ring_nic_room {
	uint64_t end_ps;
	uint64_t pitch_ps;
	uint64_t slots;
	uint64_t cursor;
};

static inline struct ring_nic_run *ring_nic_run_at(const struct ring_nic *nic, uint64_t run)
{
	return &nic->runs[run & nic->run_mask];
}

static inline uint64_t ring_nic_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t ring_nic_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/** ring_nic_mix() - splitmix64's output function: a well-mixed number for every @value */
static inline uint64_t ring_nic_mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15ull;
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

/** ring_nic_draw() - a number in [min, max] fixed by seed and @value; max - min below 2^32 */
static inline uint64_t ring_nic_draw(const struct ring_nic *nic, uint64_t value, uint64_t min,
				     uint64_t max)
{
	if (min == max)
		return min;
	return min +
	       ((ring_nic_mix(nic->params.seed ^ ring_nic_mix(value)) >> 32) * (max - min + 1) >>
		32);
}

/** ring_nic_pitch_ps() - wire time of a slot */
static inline uint64_t ring_nic_pitch_ps(const struct ring_nic_params *params, uint32_t frame_bytes)
{
	return nic_wire_frame_ps(frame_bytes, params->byte_time_ps);
}

/** ring_nic_history_slots() - runs that must be remembered for @params */
uint64_t ring_nic_history_slots(const struct ring_nic_params *params);

/** ring_nic_push() - @count slots of @pitch_ps were latched, the next ones after fetch_seq */
void ring_nic_push(struct ring_nic *nic, uint64_t count, uint64_t start_ps, uint64_t pitch_ps,
		   uint64_t latch_ps, uint64_t latch_pitch_ps);

/** ring_nic_room() - when slot fetch_seq finds room; end_ps 0 if it always had */
struct ring_nic_room ring_nic_room(const struct ring_nic *nic);

#endif
