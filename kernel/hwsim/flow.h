/* SPDX-License-Identifier: GPL-2.0-only */
/* flow.c: what may hold an ordinary wire back: PAUSE of the other end, and waking it up. */
#ifndef KEEPON_HWSIM_FLOW_H
#define KEEPON_HWSIM_FLOW_H

#include "nic.h"

/**
 * hwsim_flow_hold() - nothing starts for @ns, from now on; port not locked
 */
void hwsim_flow_hold(struct hwsim_nic *nic, s64 ns);
/**
 * hwsim_flow_takes() - @frame is PAUSE, which this NIC obeys and its stack never sees; softirq
 */
bool hwsim_flow_takes(struct hwsim_nic *nic, const struct hwsim_frame *frame);

void hwsim_get_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause);
int hwsim_set_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause);
int hwsim_get_eee(struct net_device *dev, struct keepon_eee *eee);
int hwsim_set_eee(struct net_device *dev, struct keepon_eee *eee);

#endif
