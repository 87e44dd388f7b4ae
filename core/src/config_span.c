// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Frames longer than a slot: their span rule, and their greatest length. */
#include "kpn_config_span.h"

enum {
	PADDED_BYTES_MAX = 1518, /* of a frame without a tag, IEEE Std 802.3 clause 3.2.7 */
};

/* Longest frame that takes one slot. */
static u32 single_bytes_max(const struct kpn_config *config)
{
	bool trims = config->mode == KPN_MODE_PHASE_LOCKED && config->trim == KPN_TRIM_ANY;

	return config->slot_bytes - (trims ? config->trim_down_bytes : 0);
}

#define PPB 1000000000ull

/*
 * The slots of one frame are together trimmed by as much as they drift off the grid while they
 * last, and by one quantum at least.
 */
static u32 keep_bytes(const struct kpn_config *config, const struct kpn_span_rule *rule)
{
	struct kpn_span_rule kept = *rule;

	u32 most_bytes = (u32)min_u64(config->trim_down_bytes, config->trim_up_bytes);

	for (kept.keep_bytes = rule->quantum_bytes; kept.keep_bytes < most_bytes;
	     kept.keep_bytes += rule->quantum_bytes) {
		u64 slots = kpn_span_of(&kept, config->frame_bytes_max).slots;
		u64 wire_bytes = slots * rule->slot_bytes + kept.keep_bytes;

		if (kept.keep_bytes * PPB >= wire_bytes * config->drift_ppb_max)
			break;
	}
	return kept.keep_bytes;
}

/*
 * Fragments need placeholders with a bad FCS, so that no mixture of old and new descriptors has a
 * good one, and buffers that are zero wherever no frame is.
 */
static bool may_fragment(const struct kpn_config *config)
{
	return config->placeholder == KPN_PLACEHOLDER_BAD_FCS && !kpn_config_spare_buffers(config);
}

struct kpn_span_rule kpn_span_rule_of(const struct kpn_config *config,
				      const struct kpn_nic_caps *caps)
{
	u32 quantum = quantum_bytes(caps);
	u32 short_bytes = (u32)max_u64(KPN_FRAME_BYTES_MIN, caps->placeholder_bytes_min);
	struct kpn_span_rule rule = {
		.slot_bytes = kpn_wire_bytes(config->slot_bytes),
		.single_bytes_max = single_bytes_max(config),
		.padded_bytes_max = (u32)min_u64(PADDED_BYTES_MAX, caps->frame_bytes_max),
		.quantum_bytes = quantum,
		.fragments_max = may_fragment(config) ? (u32)max_u64(caps->fragments_max, 1) : 1,
	};

	rule.short_bytes = (u32)multiple_below(kpn_wire_bytes(short_bytes) + quantum - 1, quantum) -
			   KPN_WIRE_OVERHEAD_BYTES;
	if (config->mode == KPN_MODE_PHASE_LOCKED && config->trim == KPN_TRIM_ANY)
		rule.keep_bytes = keep_bytes(config, &rule);
	return rule;
}

u32 kpn_span_slots_max(const struct kpn_config *config, const struct kpn_nic_caps *caps)
{
	struct kpn_span_rule rule;

	if (config->mode != KPN_MODE_PHASE_LOCKED ||
	    config->frame_bytes_max <= single_bytes_max(config))
		return 1;
	rule = kpn_span_rule_of(config, caps);
	return kpn_span_of(&rule, config->frame_bytes_max).slots;
}

u32 kpn_config_frame_slots(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			   u32 frame_bytes)
{
	struct kpn_span_rule rule = kpn_span_rule_of(config, caps);

	if (config->mode != KPN_MODE_PHASE_LOCKED && frame_bytes > rule.single_bytes_max)
		return 0;
	return kpn_span_of(&rule, frame_bytes).slots;
}

u32 kpn_config_frame_bytes_max(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			       u32 row_slots)
{
	struct kpn_span_rule rule = kpn_span_rule_of(config, caps);
	u32 least = rule.single_bytes_max;
	u32 most = kpn_span_slots_max(config, caps) > 1 ? config->frame_bytes_max : least;

	while (least < most) {
		u32 middle = least + (most - least + 1) / 2;

		if (kpn_span_of(&rule, middle).slots <= row_slots)
			least = middle;
		else
			most = middle - 1;
	}
	return least;
}

u32 kpn_config_depth_least(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			   u32 frame_slots)
{
	u64 slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * kpn_byte_time_ps(config->rate_bps);

	return (u32)(frame_slots + caps->prefetch_slots_max + 2 +
		     kpn_span_ahead(caps, frame_slots, slot_ps));
}

/*
 * A frame must fit the posted slots and the budget of a call, and the ring must have room for the
 * slots of two frames that the tail must not divide.
 */
static bool has_room(const struct kpn_config *config, const struct kpn_nic_caps *caps)
{
	struct kpn_span_rule rule = kpn_span_rule_of(config, caps);
	u32 slots = kpn_span_slots_max(config, caps);

	if (slots < 2 || slots > KPN_SPAN_SLOTS_MAX)
		return false;
	if (rule.keep_bytes &&
	    rule.keep_bytes * PPB <
		    ((u64)slots * rule.slot_bytes + rule.keep_bytes) * config->drift_ppb_max)
		return false;
	return rule.slot_bytes == multiple_below(rule.slot_bytes, rule.quantum_bytes) &&
	       slots <= config->budget_frames &&
	       kpn_config_depth_least(config, caps, slots) <= config->depth_slots &&
	       config->depth_slots + 2ull * (slots - 1) <= posted_max(config->ring_slots, caps);
}

u32 kpn_longest_frame(const struct kpn_config *config, const struct kpn_nic_caps *caps,
		      u32 most_bytes)
{
	struct kpn_config longer = *config;
	u32 single_bytes = single_bytes_max(config);

	for (longer.frame_bytes_max = most_bytes; longer.frame_bytes_max > single_bytes;
	     longer.frame_bytes_max--) {
		if (has_room(&longer, caps))
			break;
	}
	return (u32)max_u64(longer.frame_bytes_max, single_bytes);
}

void kpn_check_frames(struct check *check)
{
	const struct kpn_config *config = check->config;
	u32 most_bytes = (u32)min_u64(KPN_FRAME_BYTES_MAX, check->caps->frame_bytes_max);
	struct limits range = { 0, max_u64(config->slot_bytes, most_bytes) };
	struct limits now = range;

	if (!check->slot_ps || !check->ring_ok || !check->batch_ok || !check->depth_ok)
		return;
	if (check->paper)
		now.max = config->slot_bytes;
	else if (check->locked && check->trims_ok)
		now.max = kpn_longest_frame(config, check->caps,
					    (u32)min_u64(config->frame_bytes_max, range.max));
	kpn_require_narrowed(
		check, "frame_bytes_max", config->frame_bytes_max, range,
		"the backend sends no frame as long; choose one that it does", now,
		check->paper ?
			"in paper mode a frame has one slot; choose slot_bytes or less" :
			"the slots of such a frame are more than ring, depth, budget or trims have room for; raise those, or slot_bytes");
}
