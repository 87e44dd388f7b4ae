// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Validation of slot, ring, batch and depth, which decide how often polls must come and how long
 * the wire lasts without one.
 */
#include "kpn_config_polls.h"

enum {
	SLOT_BYTES_MAX = KPN_FRAME_BYTES_MAX,
	PAPER_BATCH_SLOTS_MAX = 512, /* KeepON paper section A.12 (K1) */
};

/* Most slots of a batch, for any ring. */
static u64 batch_most(const struct check *check)
{
	u64 posted = ring_range(check->caps).max;

	posted -= min_u64(posted, check->caps->reserved_slots);
	return max_u64(1,
		       min_u64(posted, check->paper ? PAPER_BATCH_SLOTS_MAX : KPN_BATCH_SLOTS_MAX));
}

/*
 * Polls that are too close would leave the machine no time for anything else, so the longest batch
 * has to last at least the shortest poll interval. Return: least slot bytes for which it does, not
 * below @range; beyond its end if there are none.
 */
static u64 slots_for_polls(const struct check *check, struct limits range)
{
	u64 batch_ps = batch_most(check) * kpn_byte_time_ps(check->config->rate_bps);
	u64 wire_bytes;

	if (!batch_ps)
		return range.min;
	wire_bytes =
		kpn_div_u64((u64)check->caps->poll_ns_min * PS_PER_NS + batch_ps - 1, batch_ps);
	if (wire_bytes <= range.min + KPN_WIRE_OVERHEAD_BYTES)
		return range.min;
	return wire_bytes - KPN_WIRE_OVERHEAD_BYTES;
}

u64 kpn_least_slots(const struct check *check)
{
	u32 overhead_ns = check->config->poll_overhead_ns;
	u64 most = batch_most(check);
	u64 least = batch_slots_least(check->caps, overhead_ns, check->slot_ps);

	return least <= most ? least : batch_slots_least(check->caps, 0, check->slot_ps);
}

bool kpn_check_slot(struct check *check)
{
	const struct kpn_nic_caps *caps = check->caps;
	u32 slot_bytes = check->config->slot_bytes;
	struct limits range = {
		.min = max_u64(KPN_FRAME_BYTES_MIN, caps->placeholder_bytes_min),
		.max = min_u64(SLOT_BYTES_MAX, caps->frame_bytes_max),
	};
	struct limits now = range;

	if (check->locked) {
		now.min = max_u64(range.min, (u64)trimmed_bytes_min(check->config->trim, caps) +
						     quantum_bytes(caps));
		now.max = min_u64(range.max, caps->frame_bytes_max - min_u64(caps->frame_bytes_max,
									     quantum_bytes(caps)));
	}
	if (!within(slot_bytes, now))
		now.min = min_u64(slots_for_polls(check, now), now.max);
	if (!kpn_require_narrowed(
		    check, "slot_bytes", slot_bytes, range,
		    "a slot holds one frame the backend sends unpadded; choose such a length, FCS included",
		    now,
		    "a slot of this length cannot be trimmed both ways; choose one that can, or use paper mode"))
		return false;
	now.min = slots_for_polls(check, now);
	if (now.min <= now.max && slot_bytes >= now.min)
		return true;
	now.min = min_u64(now.min, now.max);
	kpn_refuse(
		check, "slot_bytes", slot_bytes, now,
		"not even the longest batch of such slots lasts as long as this machine needs between polls; choose longer slots or a slower link");
	return false;
}

bool kpn_check_ring(struct check *check)
{
	struct limits range = ring_range(check->caps);
	u64 multiple = ring_multiple(check->caps);
	u32 ring_slots = check->config->ring_slots;
	struct limits now = range;

	now.min =
		max_u64(range.min, multiple_below(check->least_slots + check->caps->reserved_slots +
							  multiple - 1,
						  multiple));
	if (now.min > range.max)
		now.min = range.min;
	if (!kpn_require_narrowed(
		    check, "ring_slots", ring_slots, range,
		    "the backend's index, prefetch and limits do not suit a ring of this size; resize the ring",
		    now,
		    "no batch within the ring lasts as long as this machine needs between polls; raise ring, depth and batch, or slot_bytes"))
		return false;
	if (ring_slots == multiple_below(ring_slots, ring_multiple(check->caps)))
		return true;
	kpn_refuse(
		check, "ring_slots", ring_slots, now,
		"the backend has rings in steps only; choose a multiple of its ring_slots_multiple");
	return false;
}

/*
 * Posted slots must last through the shortest poll interval of this machine plus unposted_ns():
 * otherwise the wire runs dry between any two polls. Return: that many slots, 0 where depth does
 * not keep the wire saturated.
 */
static u64 depth_least(const struct check *check)
{
	if (check->paper || !check->slot_ps)
		return 0;
	return depth_slots_least(check->config, check->caps, check->slot_ps);
}

/* Not even all slots of this ring last from poll to poll: ask for a larger ring or longer slots. */
static void refuse_shallow_ring(struct check *check, u64 least)
{
	const struct kpn_config *config = check->config;
	const struct kpn_nic_caps *caps = check->caps;
	struct limits ring = ring_range(caps);
	struct limits slot = { config->slot_bytes, min_u64(SLOT_BYTES_MAX, caps->frame_bytes_max) };
	u64 multiple = ring_multiple(caps);
	u64 byte_ps = kpn_byte_time_ps(config->rate_bps);
	u32 posted;

	ring.min = multiple_below(least + caps->reserved_slots + multiple - 1, multiple);
	if (ring.min <= ring.max) {
		kpn_refuse(
			check, "ring_slots", config->ring_slots, ring,
			"the wire would run dry between two polls however many slots are posted; raise ring and depth, or slot_bytes");
		return;
	}
	posted = posted_max((u32)multiple_below(ring.max, multiple), caps);
	while (slot.min < slot.max &&
	       depth_slots_least(config, caps, byte_ps * kpn_wire_bytes((u32)slot.min)) > posted)
		slot.min++;
	kpn_refuse(
		check, "slot_bytes", config->slot_bytes, slot,
		"the wire would run dry between two polls however long the ring; choose longer slots or a slower link");
}

void kpn_check_posting(struct check *check)
{
	const struct kpn_config *config = check->config;
	u32 posted =
		check->ring_ok ? posted_max(config->ring_slots, check->caps) : KPN_RING_SLOTS_MAX;
	u64 least = check->ring_ok ? check->least_slots : 0;
	struct limits depth = { 1, posted };
	struct limits batch = { 1, min_u64(posted, check->paper ? PAPER_BATCH_SLOTS_MAX :
								  KPN_BATCH_SLOTS_MAX) };
	struct limits now;

	/*
	 * in paper mode depth follows batch, otherwise the batch has to stay within a depth that is
	 * valid
	 */
	if (!check->paper && within(config->depth_slots, depth))
		batch.max = min_u64(batch.max, config->depth_slots);
	now = batch;
	/* otherwise the depth is wrong */
	if (least <= batch.max)
		now.min = max_u64(1, least);
	check->batch_ok = kpn_require_narrowed(
		check, "batch_slots", config->batch_slots, batch,
		"a doorbell posts at least one slot and no more than depth_slots; change the batch",
		now,
		"polls would follow each other faster than this machine sustains; raise the batch, or slot_bytes");
	if (check->batch_ok)
		depth.min = config->batch_slots;
	if (check->batch_ok && check->paper) {
		depth.max = config->batch_slots;
		check->depth_ok = kpn_require(
			check, "depth_slots", config->depth_slots, depth,
			"in paper mode one batch is posted ahead; make the depth equal to batch_slots");
		return;
	}
	now = depth;
	least = max_u64(least, check->ring_ok && check->batch_ok ? depth_least(check) : 0);
	if (!check->paper)
		now.min = max_u64(depth.min, min_u64(least, depth.max));
	if (!kpn_require_narrowed(
		    check, "depth_slots", config->depth_slots, depth,
		    "a batch must fit in, and reserved descriptors stay unposted; change the depth or the ring",
		    now,
		    "the wire would run dry between two polls of this machine; raise the depth, and batch or slot_bytes if polls are too close"))
		return;
	check->depth_ok = check->paper || least <= depth.max;
	if (!check->depth_ok)
		refuse_shallow_ring(check, least);
}
