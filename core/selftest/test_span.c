/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* span: frames longer than a slot. How many slots each takes, counted out one by one. */
#include "test_span.h"
#include "selftest.h"

#include "keepon/span.h"

enum {
	BYTE_PS = 8000, /* 1 Gb/s */
	PLACEHOLDER_WIRE_BYTES = 84,
	PADDED_BYTES_MAX = 1518,
};

static struct kpn_span_rule rule_of(u32 slot_bytes, u32 keep_bytes, u32 fragments_max)
{
	return (struct kpn_span_rule){
		.slot_bytes = slot_bytes + 20,
		.short_bytes = 64,
		.single_bytes_max = slot_bytes - 4 * keep_bytes,
		.padded_bytes_max = PADDED_BYTES_MAX,
		.quantum_bytes = 1,
		.keep_bytes = keep_bytes,
		.fragments_max = fragments_max,
	};
}

/* The least number of slots that the rule allows, tried out. */
static u32 slots_needed(u32 slot_wire, u32 frame_bytes, u32 keep, bool fragments)
{
	u32 k;

	for (k = 2;; k++) {
		u32 rest = k * slot_wire - frame_bytes - 20;

		if ((s32)rest < (s32)keep)
			continue;
		if (!fragments && rest >= PLACEHOLDER_WIRE_BYTES * (k - 1) + keep)
			return k;
		if (fragments && (rest >= PLACEHOLDER_WIRE_BYTES + keep ||
				  k * slot_wire - 20 + keep <= PADDED_BYTES_MAX))
			return k;
	}
}

/* Wire bytes of all descriptors, and where those that are not fragments begin. */
static void expect_pieces(struct kpn_selftest *t, const struct kpn_span *span, u32 slot_wire,
			  u32 frame_bytes, u32 keep)
{
	u32 wire = 8;
	u32 covered = 0;
	u32 i;

	for (i = 0; i < span->fragments; i++) {
		u32 from;
		u32 bytes = kpn_span_fragment(span, i, &from);

		KPN_EXPECT_EQ(t, from, covered);
		KPN_EXPECT(t, bytes >= 1);
		covered += bytes;
		/* but for the last two descriptors fragments end where slots end */
		if (span->fragments > 1 && i + 2 < span->fragments)
			KPN_EXPECT_EQ(t, covered, (i + 1) * slot_wire);
		if (i + 1 == span->fragments)
			KPN_EXPECT(t, bytes >= KPN_FCS_BYTES);
	}
	KPN_EXPECT_EQ(t, covered, span->frame_bytes);
	KPN_EXPECT(t, covered >= frame_bytes && covered - frame_bytes <= slot_wire);
	wire += covered + 12;
	for (; i + 1 < span->slots; i++)
		wire += span->short_bytes + 20;
	if (span->last_bytes) {
		KPN_EXPECT_EQ(t, covered, frame_bytes);
		KPN_EXPECT(t, span->last_bytes + 20 >= PLACEHOLDER_WIRE_BYTES + keep);
		wire += span->last_bytes + 20;
	} else {
		KPN_EXPECT_EQ(t, span->fragments, span->slots);
		KPN_EXPECT(t, covered + keep <= PADDED_BYTES_MAX);
	}
	KPN_EXPECT_EQ(t, wire, span->slots * slot_wire);
}

static void test_fewest_slots(struct kpn_selftest *t)
{
	u32 slot_bytes;
	u32 frame_bytes;
	u32 way;

	for (slot_bytes = 72; slot_bytes <= 1521; slot_bytes++) {
		for (way = 0; way < 4; way++) {
			u32 keep = way & 1 ? 2 : 0;
			bool fragments = way & 2;
			struct kpn_span_rule rule = rule_of(slot_bytes, keep, fragments ? 128 : 1);
			u32 before = 0;

			for (frame_bytes = rule.single_bytes_max + 1; frame_bytes <= 1522;
			     frame_bytes++) {
				struct kpn_span span = kpn_span_of(&rule, frame_bytes);

				if (span.slots > 128)
					break;
				if (span.slots != slots_needed(rule.slot_bytes, frame_bytes, keep,
							       fragments) ||
				    span.slots < before)
					KPN_EXPECT_EQ(t, span.slots, frame_bytes);
				before = span.slots;
				if (frame_bytes % 7 == 0 || frame_bytes > 1490)
					expect_pieces(t, &span, rule.slot_bytes, frame_bytes, keep);
			}
		}
	}
}

/* Full frames of IPv4 and IPv6 in the slots that links have had. */
static void test_usual_links(struct kpn_selftest *t)
{
	static const u32 slots[][3] = {
		{ 105, 13, 36 }, { 230, 7, 9 }, { 605, 3, 3 }, { 1230, 2, 2 }
	};
	struct kpn_span_rule rule;
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(slots); i++) {
		rule = rule_of(slots[i][0], 1, 128);
		KPN_EXPECT_EQ(t, kpn_span_of(&rule, 1518).slots, slots[i][1]);
		rule.fragments_max = 1;
		KPN_EXPECT_EQ(t, kpn_span_of(&rule, 1518).slots, slots[i][2]);
	}
	/* slots of the shortest frame cannot be shortened: no frame is longer */
	rule = rule_of(64, 0, 1);
	KPN_EXPECT_EQ(t, kpn_span_of(&rule, 65).slots, 0);
	rule.fragments_max = 128;
	KPN_EXPECT_EQ(t, kpn_span_of(&rule, 1518).slots, 20);
}

void kpn_test_span(struct kpn_selftest *t)
{
	test_fewest_slots(t);
	test_usual_links(t);
	kpn_test_span_wire(t);
}
