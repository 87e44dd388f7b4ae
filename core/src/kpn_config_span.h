/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* How a configuration sends frames longer than a slot, and the longest it can. */
#ifndef KPN_CONFIG_SPAN_H
#define KPN_CONFIG_SPAN_H

#include "keepon/span.h"
#include "kpn_check.h"

/** kpn_span_rule_of() - the rule of a configuration whose slots and trims are right */
struct kpn_span_rule kpn_span_rule_of(const struct kpn_config *config,
				      const struct kpn_nic_caps *caps);

/** kpn_span_slots_max() - slots of the longest frame; 1: no frame is longer than a slot */
u32 kpn_span_slots_max(const struct kpn_config *config, const struct kpn_nic_caps *caps);

/**
 * kpn_longest_frame() - longest frame, at most @most_bytes, for which ring, depth, budget and trims
 * have room; slot_bytes where that is none longer than a slot
 */
u32 kpn_longest_frame(const struct kpn_config *config, const struct kpn_nic_caps *caps,
		      u32 most_bytes);

/** kpn_check_frames() - the longest frame; those before are checked */
void kpn_check_frames(struct check *check);

#endif
