/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What a backend allows, for both the defaults and the validation of a configuration. */
#ifndef KPN_CAPS_H
#define KPN_CAPS_H

#include "keepon/config.h"
#include "keepon/wire.h"

enum {
	PS_PER_NS = 1000,
	KPN_POLL_NS_MIN = 200,  /* no machine polls faster */
	KPN_STORE_CPU_NS = 200, /* unless the backend says another store_cpu_ns */
};

struct limits {
	u64 min;
	u64 max;
};

static inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 multiple_below(u64 value, u64 multiple)
{
	return kpn_div_u64(value, multiple) * multiple;
}

static inline bool within(u64 value, struct limits range)
{
	return value >= range.min && value <= range.max;
}

static inline u32 quantum_bytes(const struct kpn_nic_caps *caps)
{
	return caps->start_quantum_bytes ? caps->start_quantum_bytes : 1;
}

static inline u32 ring_multiple(const struct kpn_nic_caps *caps)
{
	return caps->ring_slots_multiple ? caps->ring_slots_multiple : 1;
}

/*
 * Ring sizes: enough for one posted slot and one that may still be changed, within the count of the
 * index, and multiples of ring_slots_multiple.
 */
static inline struct limits ring_range(const struct kpn_nic_caps *caps)
{
	u64 multiple = ring_multiple(caps);
	struct limits range = {
		.min = max_u64(
			max_u64(KPN_RING_SLOTS_MIN, caps->ring_slots_min),
			max_u64((u64)caps->reserved_slots + 1, (u64)caps->prefetch_slots_max + 2)),
		.max = min_u64(KPN_RING_SLOTS_MAX, caps->ring_slots_max),
	};

	if (caps->index_modulus)
		range.max = min_u64(range.max, caps->index_modulus > KPN_INDEX_MODULUS_MAX ?
						       0 :
						       caps->index_modulus);
	range.min = multiple_below(range.min + multiple - 1, multiple);
	range.max = multiple_below(range.max, multiple);
	return range;
}

/*
 * Slots that can be posted ahead in a ring of valid size; posted slots beyond prefetch can still be
 * changed. An index that has passed all of them must differ from one that has not moved.
 */
static inline u32 posted_max(u32 ring_slots, const struct kpn_nic_caps *caps)
{
	u32 slots = ring_slots - caps->reserved_slots;

	return slots && slots == caps->index_modulus ? slots - 1 : slots;
}

static inline u32 placeholder_kinds_usable(const struct kpn_nic_caps *caps)
{
	u32 kinds = caps->placeholder_kinds & ((1u << KPN_PLACEHOLDER_COUNT) - 1);

	return caps->has_spare_buffers ? kinds : kinds & 1u << KPN_PLACEHOLDER_BAD_FCS;
}

/* Shortest length a slot may be trimmed to: real frames may sit in it under KPN_TRIM_ANY. */
static inline u32 trimmed_bytes_min(u8 trim, const struct kpn_nic_caps *caps)
{
	if (trim == KPN_TRIM_ANY)
		return (u32)max_u64(KPN_FRAME_BYTES_MIN, caps->placeholder_bytes_min);
	return caps->placeholder_bytes_min;
}

/** kpn_span_stores_ns_max() - time that all stores of a frame of @slots may take */
static inline u64 kpn_span_stores_ns_max(const struct kpn_nic_caps *caps, u64 slots)
{
	u64 store_ns = caps->store_cpu_ns ? caps->store_cpu_ns : KPN_STORE_CPU_NS;

	return slots * (store_ns + caps->store_ns_max);
}

/** kpn_span_ahead() - slots that pass until all those stores are done */
static inline u64 kpn_span_ahead(const struct kpn_nic_caps *caps, u64 slots, u64 slot_ps)
{
	return kpn_div_u64(kpn_span_stores_ns_max(caps, slots) * PS_PER_NS, slot_ps) + 1;
}

/* Slots of @slot_ps between two polls that the host sustains; 0: any. */
static inline u64 batch_slots_least(const struct kpn_nic_caps *caps, u32 overhead_ns, u64 slot_ps)
{
	u64 least_ns = (u64)caps->poll_ns_min + overhead_ns;

	return caps->poll_ns_min && slot_ps ?
		       kpn_div_u64(least_ns * PS_PER_NS + slot_ps - 1, slot_ps) :
		       0;
}

/*
 * Longest time in which posted slots are of no use, from the reading of one poll to the doorbell of
 * the next: the duration of two polls, a restart, the slot on the wire, one slot by which two
 * readings round differently, half a slot of a clock step, and a tick each for the moments of two
 * readings, of the doorbell and of the wake-up. The uncertainty of the wire position comes on top:
 * the lag of the index, and for a fetch index, after a possible restart of the wire, also a slot,
 * the restart, and the whole time from index to wire (observe()).
 */
static inline u64 unposted_ns(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			      u64 slot_ps)
{
	u64 slot_ns = kpn_div_u64(slot_ps + PS_PER_NS - 1, PS_PER_NS);
	u64 ns = 2ull * config->poll_overhead_ns + caps->restart_ns_max + 3 * slot_ns +
		 4ull * caps->cpu_tick_ns;

	if (caps->index_to_wire_ns_min < 0)
		ns -= (u64)(s64)caps->index_to_wire_ns_min;
	if (!caps->index_counts_done)
		ns += caps->restart_ns_max + slot_ns + (u64)(s64)caps->index_to_wire_ns_max;
	return ns;
}

/* How long @slots last at least: the greatest rate trims them by 1 %. */
static inline u64 posted_ns(u64 slots, u64 slot_ps)
{
	return kpn_div_u64(slots * slot_ps * 99, 100 * PS_PER_NS);
}

/* Slots that last through the shortest poll interval of the host plus unposted_ns(). */
static inline u64 depth_slots_least(const struct kpn_config *config,
				    const struct kpn_nic_caps *caps, u64 slot_ps)
{
	u64 poll_ns =
		max_u64(KPN_POLL_NS_MIN, caps->poll_ns_min) + unposted_ns(config, caps, slot_ps);

	return kpn_div_u64(poll_ns * 100 * PS_PER_NS + 99 * slot_ps - 1, 99 * slot_ps);
}

#endif
