/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A frame longer than a slot: the slots it takes, and the contents of their descriptors. All slots
 * of a frame together last as long as the same number of nominal slots, so that everything after
 * them stays where it is.
 *
 *	slots		|------|------|------|------|
 *	fragments	|frame   ...  |   | shorter |	or padded to the end, where 84 bytes do not remain
 *	one descriptor	|frame    ...      |84 |rest|	the others are as short as they may be
 *
 * Fragments end where slots end, but for the last two descriptors: any mixture of old and new
 * descriptors that a NIC fetches lasts as long, to less than a slot.
 */
#ifndef KPN_SPAN_H
#define KPN_SPAN_H

#include "keepon/wire.h"

enum { KPN_SPAN_SLOTS_MAX = 128 };

/**
 * struct kpn_span_rule - the input of kpn_span_of(); constant while a pacer runs
 * @slot_bytes: wire bytes of a slot, preamble and gap included
 * @short_bytes: frame bytes of the shortest placeholder
 * @single_bytes_max: longest frame that takes one slot
 * @padded_bytes_max: most bytes a frame of several slots is padded to
 * @quantum_bytes: granularity of lengths
 * @keep_bytes: by how much all slots of a frame together can be shortened or lengthened (a trim)
 * @fragments_max: buffers a frame may have; 1: only one
 */
struct kpn_span_rule {
	u32 slot_bytes;
	u32 short_bytes;
	u32 single_bytes_max;
	u32 padded_bytes_max;
	u32 quantum_bytes;
	u32 keep_bytes;
	u32 fragments_max;
};

/**
 * struct kpn_span - the descriptors of one frame
 * @slots: their number; 0: the frame cannot be sent; 1: it is padded to the length of its slot
 * @fragments: how many of them, from the first on, hold the frame
 * @frame_bytes: length of the frame on the wire, padding and FCS included
 * @fragment_bytes: bytes of the frame in each fragment but the last two
 * @short_bytes: frame bytes of each placeholder after the frame but the last
 * @last_bytes: frame bytes of the last placeholder; 0: the frame ends in the last descriptor
 */
struct kpn_span {
	u32 slots;
	u32 fragments;
	u32 frame_bytes;
	u32 fragment_bytes;
	u32 short_bytes;
	u32 last_bytes;
};

/**
 * kpn_span_of() - the descriptors of a frame of @frame_bytes, FCS included; a longer frame never
 * takes fewer slots
 */
struct kpn_span kpn_span_of(const struct kpn_span_rule *rule, u32 frame_bytes);

/**
 * kpn_span_fragment() - bytes of the frame in fragment @i; the last one holds the whole FCS
 * @from: receives where in the frame they begin
 */
static inline u32 kpn_span_fragment(const struct kpn_span *span, u32 i, u32 *from)
{
	u32 before = i * span->fragment_bytes;
	u32 data_end = span->frame_bytes - KPN_FCS_BYTES;
	u32 end = before + span->fragment_bytes;

	if (i + 1 == span->fragments) {
		end = span->frame_bytes;
		before = before < data_end ? before : data_end;
	} else if (end > data_end) {
		end = data_end;
	}
	*from = before;
	return end - before;
}

#endif
