// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Arithmetic of frames longer than a slot, without any ring or NIC. */
#include "keepon/span.h"

#include "keepon/wire.h"

static u32 quotient_up(u32 value, u32 divisor)
{
	return (value + divisor - 1) / divisor;
}

static u32 max_u32(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* Whether the rest of the slots is neither a placeholder nor padding. */
static bool is_stuck(const struct kpn_span_rule *rule, u32 frame_bytes, u32 rest_bytes)
{
	return rest_bytes < kpn_wire_bytes(rule->short_bytes) + rule->keep_bytes &&
	       frame_bytes + rest_bytes + rule->keep_bytes > rule->padded_bytes_max;
}

static struct kpn_span fragments_of(const struct kpn_span_rule *rule, u32 frame_bytes)
{
	u32 wire_bytes = kpn_wire_bytes(frame_bytes);
	struct kpn_span span = { .frame_bytes = frame_bytes, .fragment_bytes = rule->slot_bytes };
	u32 rest_bytes;

	/* a frame that fits a nominal slot, but not a trimmed one, takes two */
	span.slots = max_u32(2, quotient_up(wire_bytes + rule->keep_bytes, rule->slot_bytes));
	rest_bytes = span.slots * rule->slot_bytes - wire_bytes;
	if (is_stuck(rule, frame_bytes, rest_bytes)) {
		span.slots++;
		rest_bytes += rule->slot_bytes;
	}
	span.fragments = span.slots;
	if (rest_bytes >= kpn_wire_bytes(rule->short_bytes) + rule->keep_bytes) {
		span.fragments--;
		span.last_bytes = rest_bytes - KPN_WIRE_OVERHEAD_BYTES;
	} else {
		span.frame_bytes += rest_bytes;
	}
	return span;
}

static struct kpn_span descriptor_of(const struct kpn_span_rule *rule, u32 frame_bytes)
{
	u32 short_bytes = kpn_wire_bytes(rule->short_bytes);
	u32 wire_bytes = kpn_wire_bytes(frame_bytes);
	struct kpn_span span = { .fragments = 1,
				 .frame_bytes = frame_bytes,
				 .fragment_bytes = frame_bytes,
				 .short_bytes = rule->short_bytes };

	if (rule->slot_bytes <= short_bytes)
		return span;
	span.slots = max_u32(2, quotient_up(wire_bytes - short_bytes + rule->keep_bytes,
					    rule->slot_bytes - short_bytes));
	span.last_bytes = span.slots * rule->slot_bytes - wire_bytes -
			  (span.slots - 2) * short_bytes - KPN_WIRE_OVERHEAD_BYTES;
	return span;
}

struct kpn_span kpn_span_of(const struct kpn_span_rule *rule, u32 frame_bytes)
{
	struct kpn_span span = { .slots = 1, .fragments = 1, .frame_bytes = frame_bytes };
	u32 wire_bytes;

	if (KPN_LIKELY(frame_bytes <= rule->single_bytes_max))
		return span;
	wire_bytes =
		quotient_up(kpn_wire_bytes(frame_bytes), rule->quantum_bytes) * rule->quantum_bytes;
	frame_bytes = wire_bytes - KPN_WIRE_OVERHEAD_BYTES;
	span = fragments_of(rule, frame_bytes);
	if (span.fragments > rule->fragments_max)
		span = descriptor_of(rule, frame_bytes);
	return span;
}
