/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Parameters of a pacer that a user sets, a row for each. These rows make the members, ranges and
 * defaults of struct kpn_config, the netlink attributes, the options of `ip link` and `keepon link`
 * (`make fields`) and the keys of the simulator; tests compare the keys of a scenario with them.
 *
 * X(field, type, option, ATTRIBUTE, unit, min, max, default, sentence)
 * @field, @type: member of struct kpn_config
 * @option: name in `ip link`; @ATTRIBUTE: IFLA_KEEPON_*
 * @unit: of a number; or the words of an enum in its order, with bars between them
 * @min, @max: limits that hold for any other fields and any backend, which narrow them
 * @default: 0 where other fields decide; kpn_config_defaults() adapts it to the backend
 */
#ifndef KPN_CONFIG_FIELDS_H
#define KPN_CONFIG_FIELDS_H

/* clang-format off */
#define KPN_CONFIG_FIELDS(X) \
	X(mode, u8, mode, MODE, "phase-locked|paper", KPN_MODE_PHASE_LOCKED, KPN_MODE_PAPER, \
	  KPN_MODE_PHASE_LOCKED, "slots on the grid of the PHC, or free-running as published") \
	X(slot_bytes, u32, slot_bytes, SLOT_BYTES, "BYTES", KPN_FRAME_BYTES_MIN, \
	  KPN_FRAME_BYTES_MAX, 0, "frame bytes of a slot") \
	X(ring_slots, u32, ring, RING_SLOTS, "SLOTS", KPN_RING_SLOTS_MIN, KPN_RING_SLOTS_MAX, \
	  256, "descriptors of the ring") \
	X(batch_slots, u32, batch, BATCH_SLOTS, "SLOTS", 1, KPN_BATCH_SLOTS_MAX, \
	  8, "slots per doorbell, at most the depth") \
	X(depth_slots, u32, depth, DEPTH_SLOTS, "SLOTS", 1, KPN_RING_SLOTS_MAX, \
	  64, "slots posted ahead of the wire, from the batch to what the ring holds") \
	X(partition_slots, u32, partition, PARTITION_SLOTS, "SLOTS", 1, KPN_PARTITION_SLOTS_MAX, \
	  1, "slots after which the class table repeats, whatever the ring") \
	X(prebuffer_frames, u32, prebuffer, PREBUFFER, "FRAMES", 0, KPN_PREBUFFER_FRAMES_MAX, \
	  256, "frames each class may have waiting until the ring reaches their slots; 0: none") \
	X(placeholder, u8, placeholder, PLACEHOLDER, "bad-fcs|mac-control|reserved-address", \
	  KPN_PLACEHOLDER_BAD_FCS, KPN_PLACEHOLDER_COUNT - 1, \
	  KPN_PLACEHOLDER_BAD_FCS, "what makes the first hop drop a placeholder") \
	X(padding, u8, padding, PADDING, "deferred|on-demand|auto", KPN_PADDING_DEFERRED, \
	  KPN_PADDING_ON_DEMAND, KPN_PADDING_DEFERRED, \
	  "when the rest of a slot is zeroed: after its frame, or before the next one") \
	X(trim, u8, trim, TRIM, "any|reserved", KPN_TRIM_ANY, KPN_TRIM_RESERVED, \
	  KPN_TRIM_ANY, "slots whose length follows the clock: any, or those of no class") \
	X(trim_down_bytes, u32, trim_down, TRIM_DOWN_BYTES, "BYTES", 1, KPN_FRAME_BYTES_MAX, \
	  8, "by how much a slot may be made shorter") \
	X(trim_up_bytes, u32, trim_up, TRIM_UP_BYTES, "BYTES", 1, KPN_FRAME_BYTES_MAX, \
	  8, "by how much a slot may be made longer") \
	X(frame_bytes_max, u32, frame_bytes, FRAME_BYTES, "BYTES", 0, KPN_FRAME_BYTES_MAX, \
	  0, "longest frame: takes several slots in a row where it does not fit one") \
	X(tolerance_ns, u32, tolerance_ns, TOLERANCE_NS, "NS", 0, 0xffffffff, \
	  0, "how much before its txtime `round up` may send a frame") \
	X(horizon_ns, u64, horizon_ns, HORIZON_NS, "NS", 0, KPN_HORIZON_NS_MAX, \
	  10000000000ull, "how far ahead a txtime may be, or 0 for any") \
	X(drift_ppb_max, u32, drift_ppb, DRIFT_PPB, "PPB", 1, 1000000, \
	  200000, "bound on the rate of the CPU's clock against the card's") \
	X(wander_ppb_per_s_max, u32, wander_ppb, WANDER_PPB, "PPB_PER_S", 0, 1000000, \
	  1000, "bound on the change of that rate in a second") \
	X(poll_overhead_ns, u32, poll_overhead_ns, POLL_OVERHEAD_NS, "NS", 0, 0xffffffff, \
	  0, "what is kept free of every poll interval: the longest time of a poll") \
	X(dither, bool, dither, DITHER, "off|on", 0, 1, \
	  1, "polls at random within a slot, so that readings of the index narrow the strip")
/* clang-format on */

#endif
