/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How a configuration sends frames longer than a slot, and its longest frame. */
#ifndef KPN_CONFIG_SPAN_H
#define KPN_CONFIG_SPAN_H

#include "keepon/span.h"
#include "kpn_check.h"

/** kpn_span_rule_of() - span rule of a configuration whose slots and trims are valid */
struct kpn_span_rule kpn_span_rule_of(const struct kpn_config *config,
				      const struct kpn_nic_caps *caps);

/** kpn_span_slots_max() - slots of the longest frame; 1: no frame is longer than a slot */
u32 kpn_span_slots_max(const struct kpn_config *config, const struct kpn_nic_caps *caps);

/**
 * kpn_longest_frame() - longest frame, at most @most_bytes, for which ring, depth, budget and trims
 * have room; slot_bytes if no longer frame fits
 */
u32 kpn_longest_frame(const struct kpn_config *config, const struct kpn_nic_caps *caps,
		      u32 most_bytes);

/** kpn_check_frames() - check frame_bytes_max, after the fields before it */
void kpn_check_frames(struct check *check);

#endif
