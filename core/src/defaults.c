/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Defaults of the parameters. Each follows from the backend and from the parameters before it, so
 * that the result is valid wherever any configuration is.
 */
#include "keepon/config.h"

#include "kpn_caps.h"

enum { DEPTH_BATCHES = 4 };

#define DEFAULT(field, type, option, attribute, unit, min, max, value, ...) .field = value,
static const struct kpn_config usual = { .budget_frames = 32,
					 .seed = 1,
					 KPN_CONFIG_FIELDS(DEFAULT) };

static u8 default_placeholder(const struct kpn_nic_caps *caps)
{
	u32 usable = placeholder_kinds_usable(caps);
	u8 kind;

	for (kind = 0; kind < KPN_PLACEHOLDER_COUNT; kind++) {
		if (usable >> kind & 1)
			return kind;
	}
	return KPN_PLACEHOLDER_BAD_FCS;
}

/* The possible size nearest to the usual one that has room for @posted_slots. */
static u32 default_ring_slots(const struct kpn_nic_caps *caps, u64 posted_slots)
{
	struct limits range = ring_range(caps);
	u64 multiple = ring_multiple(caps);
	u64 nearest = multiple_below(usual.ring_slots + multiple / 2, multiple);
	u64 room = multiple_below(posted_slots + caps->reserved_slots + multiple - 1, multiple);

	return (u32)max_u64(range.min, min_u64(max_u64(nearest, room), range.max));
}

u32 kpn_config_batch_least(const struct kpn_nic_caps *caps, u64 rate_bps, u32 slot_bytes,
			   u32 poll_overhead_ns)
{
	u64 slot_ps = (u64)kpn_byte_time_ps(rate_bps) * kpn_wire_bytes(slot_bytes);
	u64 least = batch_slots_least(caps, poll_overhead_ns, slot_ps);

	return (u32)max_u64(1, min_u64(least, KPN_BATCH_SLOTS_MAX));
}

/*
 * A batch lasts as long as the shortest poll interval, some batches are posted ahead, and the ring
 * has room for all of these.
 */
static void default_posting(struct kpn_config *config, const struct kpn_nic_caps *caps)
{
	struct limits ring = ring_range(caps);
	u64 batch = max_u64(usual.batch_slots,
			    kpn_config_batch_least(caps, config->rate_bps, config->slot_bytes, 0));
	u64 depth = usual.depth_slots;
	u64 slot_ps = (u64)kpn_byte_time_ps(config->rate_bps) * kpn_wire_bytes(config->slot_bytes);

	if (batch > usual.batch_slots)
		depth = max_u64(depth, DEPTH_BATCHES * batch);
	if (slot_ps)
		depth = max_u64(depth, depth_slots_least(config, caps, slot_ps));
	config->ring_slots = default_ring_slots(caps, depth);
	if (within(config->ring_slots, ring))
		depth = min_u64(depth, posted_max(config->ring_slots, caps));
	config->depth_slots = (u32)depth;
	config->batch_slots = (u32)min_u64(batch, depth);
	config->budget_frames = (u32)max_u64(usual.budget_frames, 2ull * config->batch_slots);
}

/* The usual trim, at least one quantum, and at most @room_bytes where that is a quantum or more. */
static u32 default_trim_bytes(u32 usual_bytes, u32 room_bytes, u32 quantum)
{
	return (u32)max_u64(quantum, multiple_below(min_u64(room_bytes, usual_bytes), quantum));
}

static void default_trims(struct kpn_config *config, const struct kpn_nic_caps *caps)
{
	u32 quantum = quantum_bytes(caps);
	u32 shortest_bytes = trimmed_bytes_min(KPN_TRIM_ANY, caps);

	if (config->slot_bytes < (u64)shortest_bytes + quantum) {
		config->trim = KPN_TRIM_RESERVED;
		shortest_bytes = trimmed_bytes_min(KPN_TRIM_RESERVED, caps);
	}
	config->trim_down_bytes = default_trim_bytes(
		usual.trim_down_bytes,
		config->slot_bytes > shortest_bytes ? config->slot_bytes - shortest_bytes : 0,
		quantum);
	config->trim_up_bytes = 0;
	if (caps->frame_bytes_max >= (u64)config->slot_bytes + quantum)
		config->trim_up_bytes = default_trim_bytes(
			usual.trim_up_bytes, caps->frame_bytes_max - config->slot_bytes, quantum);
}

void kpn_config_defaults(struct kpn_config *config, const struct kpn_nic_caps *caps, u64 rate_bps,
			 u32 slot_bytes)
{
	static const u16 all_classes[1] = { 0xffff };
	u64 quantum_ps = (u64)quantum_bytes(caps) * kpn_byte_time_ps(rate_bps);
	u32 tc;

	*config = usual;
	config->rate_bps = rate_bps;
	config->slot_bytes = slot_bytes;
	config->allowed = all_classes;
	default_posting(config, caps);
	default_trims(config, caps);
	config->tolerance_ns = (u32)max_u64(1, kpn_div_u64(quantum_ps + PS_PER_NS - 1, PS_PER_NS));
	config->clock_read = KPN_CLOCK_INTERPOLATED;
	config->placeholder = default_placeholder(caps);
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		config->classes[tc].late = KPN_LATE_STRICT;
		config->classes[tc].rounding = KPN_ROUND_UP;
	}
}
