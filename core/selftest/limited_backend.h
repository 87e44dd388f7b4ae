/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What configurations are tried on. */
#ifndef KPN_SELFTEST_LIMITED_BACKEND_H
#define KPN_SELFTEST_LIMITED_BACKEND_H

#include "keepon/config.h"

/* A backend with a limit of every kind, none of them equal to a limit of the core. */
static const struct kpn_nic_caps backend = {
	.ring_slots_min = 16,
	.ring_slots_max = 1024,
	.ring_slots_multiple = 8,
	.reserved_slots = 1,
	.prefetch_slots_max = 4,
	.start_quantum_bytes = 1,
	.placeholder_bytes_min = 40,
	.frame_bytes_max = 1536,
	.placeholder_kinds = 1u << KPN_PLACEHOLDER_BAD_FCS | 1u << KPN_PLACEHOLDER_MAC_CONTROL |
			     1u << KPN_PLACEHOLDER_RESERVED_ADDRESS,
	.has_spare_buffers = true,
	.desc_persistent = true,
};

#endif
