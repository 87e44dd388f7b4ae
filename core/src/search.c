// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Free slots of a class, 64 at a time: the slots that the partition allows, less those with a
 * frame. A step is cut short only where ring or plane wrap, so a search of n slots takes at most n
 * / 32 + 4 steps.
 */
#include "kpn_pacer_state.h"
#include "kpn_search.h"

enum { ROW_TRIES = 4 }; /* unusable rows found before the frame waits for the next poll */

/*
 * Occupied slots of the ring, a bit each from descriptor @desc on; @yielding: best effort counts as
 * free.
 */
static inline u64 taken_window(const struct kpn_ring *ring, u32 desc, bool yielding)
{
	u64 taken = kpn_bits_window(&ring->claimed, desc);

	if (KPN_UNLIKELY(ring->span_count))
		taken |= kpn_bits_window(&ring->inner, desc);
	return yielding ? taken & ~kpn_bits_window(&ring->yielding, desc) : taken;
}

static inline u32 least(u64 a, u32 b, u32 c)
{
	u32 less = b < c ? b : c;

	return a < less ? (u32)a : less;
}

/* First slot in [from, to) of a plane of one table; with @free, one without a frame. */
static u64 find_in_table(const struct kpn_pacer *pacer, const struct kpn_table *table, u32 plane,
			 u64 from, u64 to, bool free, bool yielding)
{
	const struct kpn_partition *partition = table->partition;
	const struct kpn_ring *ring = &pacer->ring;
	u32 desc;
	u32 index;

	if (from >= to)
		return to;
	desc = kpn_ring_desc(ring, from);
	index = kpn_plane_index(table, from);
	while (from != to) {
		u32 span = least(to - from, ring->slots - desc, partition->plane_slots - index);
		u64 window = kpn_partition_window(partition, plane, index);

		if (span > KPN_WORD_BITS)
			span = KPN_WORD_BITS;
		if (free)
			window &= ~taken_window(ring, desc, yielding);
		if (span < KPN_WORD_BITS)
			window &= (1ull << span) - 1;
		if (window)
			return from + kpn_lowest_bit(window);
		from += span;
		desc += span;
		if (desc == ring->slots)
			desc = 0;
		index += span;
		if (index == partition->plane_slots)
			index = 0;
	}
	return to;
}

/* The same over both tables. */
static u64 find(const struct kpn_pacer *pacer, u32 plane, u64 from, u64 to, bool free,
		bool yielding)
{
	u64 end = to;
	u64 found;

	if (to > pacer->frames.switch_seq)
		end = from > pacer->frames.switch_seq ? from : pacer->frames.switch_seq;
	found = find_in_table(pacer, &pacer->frames.table[0], plane, from, end, free, yielding);
	if (found != end || end == to)
		return found;
	return find_in_table(pacer, &pacer->frames.table[1], plane, end, to, free, yielding);
}

u64 kpn_find_free(const struct kpn_pacer *pacer, u8 tc, u64 from, u64 to, bool yielding)
{
	return find(pacer, tc, from, to, true, yielding);
}

/*
 * struct row - consecutive slots
 * @from: the first of them; @count: how many so far; @wanted: how many are needed
 */
struct row {
	u64 from;
	u32 count;
	u32 wanted;
};

/* Append @window, @span slots from @seq on; a gap resets the row. Return: whether it is full. */
static bool extend_row(struct row *row, u64 seq, u64 window, u32 span)
{
	u32 bit = 0;

	while (bit < span) {
		u64 rest = window >> bit;
		u64 others = ~rest;
		u32 alike = others ? kpn_lowest_bit(others) : KPN_WORD_BITS;

		if (alike > span - bit)
			alike = span - bit;
		if (!row->count)
			row->from = seq + bit;
		row->count += alike;
		if (row->count >= row->wanted)
			return true;
		bit += alike;
		if (bit == span)
			return false;
		row->count = 0;
		rest = window >> bit;
		bit += rest ? kpn_lowest_bit(rest) : KPN_WORD_BITS;
	}
	return false;
}

/* find_in_table() of a row of slots */
static bool find_row_in_table(const struct kpn_pacer *pacer, const struct kpn_table *table, u8 tc,
			      u64 from, u64 to, bool free, bool yielding, struct row *row)
{
	const struct kpn_ring *ring = &pacer->ring;

	while ((s64)(to - from) > 0) {
		u32 desc = kpn_ring_desc(ring, from);
		u32 index = kpn_plane_index(table, from);
		u32 span =
			least(to - from, ring->slots - desc, table->partition->plane_slots - index);
		u64 window = kpn_partition_window(table->partition, tc, index);

		if (span > KPN_WORD_BITS)
			span = KPN_WORD_BITS;
		if (free)
			window &= ~taken_window(ring, desc, yielding);
		if (extend_row(row, from, window, span))
			return true;
		from += span;
	}
	return false;
}

/* The first row of @slots slots of class @tc in [from, to), or @to. */
static u64 find_row(const struct kpn_pacer *pacer, u8 tc, u64 from, u64 to, u32 slots, bool free,
		    bool yielding)
{
	struct row row = { .wanted = slots };
	u64 end = to;

	if (to > pacer->frames.switch_seq)
		end = from > pacer->frames.switch_seq ? from : pacer->frames.switch_seq;
	if (find_row_in_table(pacer, &pacer->frames.table[0], tc, from, end, free, yielding, &row))
		return row.from;
	if (end != to &&
	    find_row_in_table(pacer, &pacer->frames.table[1], tc, end, to, free, yielding, &row))
		return row.from;
	return to;
}

bool kpn_row_allowed(const struct kpn_pacer *pacer, u64 seq, u32 slots, u8 tc)
{
	return find_row(pacer, tc, seq, seq + slots, slots, false, false) == seq;
}

u64 kpn_find_row(const struct kpn_pacer *pacer, u8 tc, u64 from, u64 to, u32 slots, bool yielding)
{
	u64 tail = pacer->ring.tail.seq;
	u64 end = to + slots - 1;
	u32 tries;

	for (tries = 0; tries < ROW_TRIES && from < to; tries++) {
		u64 seq = find_row(pacer, tc, from, end, slots, true, yielding);

		if (seq >= to)
			break;
		if (seq < tail && seq + slots > tail)
			from = tail;
		else if (kpn_row_fits(pacer, seq, slots))
			return seq;
		else
			from = kpn_ring_next(&pacer->ring, &pacer->ring.trimmed, seq, seq + slots) +
			       1;
	}
	return to;
}

u64 kpn_find_reserved(const struct kpn_pacer *pacer, u64 from, u64 to)
{
	return find(pacer, KPN_PLANE_RESERVED, from, to, false, false);
}

u32 kpn_index_of(const struct kpn_partition *partition, u64 net_slot)
{
	if (KPN_UNLIKELY(net_slot >> 63))
		return partition->plane_slots - 1 - kpn_partition_index(partition, ~net_slot);
	return kpn_partition_index(partition, net_slot);
}

void kpn_locate_tables(struct kpn_pacer *pacer)
{
	u64 base = pacer->phase_locked ? pacer->align.base : 0;
	u64 seq = pacer->ring.head.seq;
	u32 i;

	for (i = 0; i < 2; i++) {
		struct kpn_table *table = &pacer->frames.table[i];

		if (!table->partition)
			continue;
		table->seq = seq;
		table->index = kpn_index_of(table->partition, seq + base);
	}
}

void kpn_place_switch(struct kpn_pacer *pacer, u64 from)
{
	u64 seq = pacer->frames.switch_net_slot - pacer->align.base;

	if (pacer->frames.table[1].partition)
		pacer->frames.switch_seq = (s64)(seq - from) < 0 ? from : seq;
}

void kpn_switch_tables(struct kpn_pacer *pacer)
{
	pacer->frames.table[0] = pacer->frames.table[1];
	pacer->frames.table[1].partition = NULL;
	pacer->frames.switch_seq = KPN_SEQ_NEVER;
	pacer->frames.classes = pacer->frames.table[0].partition->classes;
	pacer->todo &= ~(u32)KPN_TODO_SWITCH;
	kpn_emit(pacer, KPN_EVENT_PARTITION);
}
