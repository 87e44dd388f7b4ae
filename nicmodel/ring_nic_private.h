/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the ring NIC share: its state, and the history of the wire as runs of
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
 * @frame_bytes: of each slot; @continues: each is followed by more of its frame
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
	uint32_t frame_bytes;
	bool continues;
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
 * @sum: over the data bytes as they stood in the NIC's memory at the commit; of a last fragment,
 *	over all bytes of its frame at the seal
 * @stale_at: first byte in which the CPU's buffer differed from the NIC's memory then, or
 *	RING_NIC_FRESH
 * @data_bytes: that @sum is over
 */
struct ring_nic_desc {
	uint64_t sum;
	uint32_t stale_at;
	uint16_t frame_bytes;
	uint16_t data_bytes;
};

#define RING_NIC_FRESH (~(uint32_t)0)

/**
 * enum ring_nic_kind - what a descriptor is: one with a bad FCS, a whole frame, a fragment that the
 * next descriptor continues, one that ends its frame, or that with the FCS of all fragments in it
 */
enum ring_nic_kind {
	RING_NIC_PLACEHOLDER,
	RING_NIC_WHOLE,
	RING_NIC_CONTINUED,
	RING_NIC_LAST,
	RING_NIC_SEALED,
};

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
 * @inside: the last latched slot is continued by the next
 * @spoilt: the MAC has run dry inside that frame
 * @special: descriptors that are not nominal placeholders; @real: those that end in an FCS; @armed:
 *	may be fetched;
 *	@blank: their length was overwritten; @fragment: parts of a frame; @continued: those of them that
 *	do not end it
 * @frame: what the latched fragments make so far, @part_bytes of them; @collected: those bytes
 * @sealed: room for ring_nic_seal() to put fragments together
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
	bool inside;
	bool spoilt;
	struct ring_nic_bits special;
	struct ring_nic_bits real;
	struct ring_nic_bits armed;
	struct ring_nic_bits blank;
	struct ring_nic_bits fragment;
	struct ring_nic_bits continued;
	struct ring_nic_frame frame;
	uint64_t part_bytes;
	uint8_t *collected;
	uint8_t *sealed;
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

/** ring_nic_part_ps() - wire time of a slot that is a part: @first of a frame, @continues it */
static inline uint64_t ring_nic_part_ps(const struct ring_nic_params *params, uint32_t bytes,
					bool first, bool continues)
{
	return (uint64_t)(bytes + (first ? (uint32_t)RING_NIC_PREAMBLE_BYTES : 0) +
			  (continues ? 0 : (uint32_t)RING_NIC_GAP_BYTES)) *
	       params->byte_time_ps;
}

static inline bool ring_nic_bit_test(const struct ring_nic_bits *bits, uint32_t idx)
{
	return bits->word[idx / 64] >> idx % 64 & 1;
}

/** ring_nic_memory() - the buffer of a descriptor as the NIC sees it */
static inline uint8_t *ring_nic_memory(const struct ring_nic *nic, uint32_t idx)
{
	return (nic->params.coherent ? nic->params.buffers : nic->params.device_buffers) +
	       idx * nic->params.buffer_stride;
}

/** ring_nic_cpu_memory() - the buffer of a descriptor as the CPU sees it */
static inline uint8_t *ring_nic_cpu_memory(const struct ring_nic *nic, uint32_t idx)
{
	return nic->params.buffers + idx * nic->params.buffer_stride;
}

/** ring_nic_first_stale() - first byte in which both differ; RING_NIC_FRESH if none */
uint32_t ring_nic_first_stale(const struct ring_nic *nic, uint32_t idx);

/** ring_nic_data_sum() - any change of a byte changes it */
uint64_t ring_nic_data_sum(const uint8_t *data, uint32_t bytes);

/** ring_nic_latch_part() - slot fetch_seq is a fragment or ends a frame; @late: after a gap */
void ring_nic_latch_part(struct ring_nic *nic, uint64_t latch_ps, uint64_t start_ps, bool late);

/** ring_nic_history_slots() - runs that must be remembered for @params */
uint64_t ring_nic_history_slots(const struct ring_nic_params *params);

/** ring_nic_push() - @slots were latched, from fetch_seq on; their seq and sent_ps are set here */
void ring_nic_push(struct ring_nic *nic, const struct ring_nic_run *slots);

/** ring_nic_latched_at() - slots latched until @at_ps */
uint64_t ring_nic_latched_at(const struct ring_nic *nic, uint64_t at_ps);

/** ring_nic_room() - when slot fetch_seq finds room; end_ps 0 if it always had */
struct ring_nic_room ring_nic_room(const struct ring_nic *nic);

#endif
