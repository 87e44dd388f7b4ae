/* SPDX-License-Identifier: GPL-2.0-only */
/* bridge.c: store-and-forward bridges. */
#ifndef KEEPON_HWSIM_BRIDGE_H
#define KEEPON_HWSIM_BRIDGE_H

#include "wire.h"

enum { HWSIM_PRIORITIES = 8 };

struct hwsim_bridge;

int hwsim_bridge_create(const char *name, u32 ports, u64 processing_ps, u64 rate_bps, s64 ppb,
			u32 queue_frames, const char *classes, struct hwsim_bridge **result);
void hwsim_bridge_destroy(struct hwsim_bridge *bridge);
struct hwsim_port *hwsim_bridge_port(struct hwsim_bridge *bridge, u32 port);
u32 hwsim_bridge_ports(const struct hwsim_bridge *bridge);

#endif
