/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between keepon.ko and a driver that lends it a transmit ring ("native" backend). The driver exports one constant
 * struct keepon_native_driver; keepon.ko finds it by the name ethtool gives the driver of the lower device and holds a reference
 * on its module while a ring is claimed.
 *
 * Life of a ring:   query ... claim -> reset -> (kpn_pacer_start ... kpn_pacer_stop) -> reset -> ... -> release
 */
#ifndef KEEPON_NATIVE_H
#define KEEPON_NATIVE_H

#include <linux/netdevice.h>

#include "keepon/nic_ops.h"

/**
 * struct keepon_native_setup - what a claimed ring must offer
 * @ring_slots: descriptors; within the caps
 * @slot_bytes: nominal length of placeholders, FCS included
 * @buffer_bytes: of each buffer: longest slot with trim, FCS included
 * @placeholder: enum kpn_placeholder
 */
struct keepon_native_setup {
	u32 ring_slots;
	u32 slot_bytes;
	u32 buffer_bytes;
	u8 placeholder;
};

/** struct keepon_native - a claimed ring, as kpn_pacer_init() takes it; ops may be called in any context, caller serialised */
struct keepon_native {
	const struct kpn_nic_ops *ops;
	void *nic;
};

/**
 * struct keepon_native_driver - all under RTNL, may sleep
 * @name: as in ethtool's driver information
 * @query: limits of the ring of @dev at its present rate; -EOPNOTSUPP if it has none to lend
 * @claim: the ordinary transmit path of @dev is closed and drained, buffers are mapped; -EBUSY if claimed already
 * @reset: wire idle, indices 0, nothing posted, all buffers zero; after every kpn_pacer_stop(), before every start
 * @release: the ring is the driver's again and its ordinary transmit path open
 *
 * The driver may go down or away only after NETDEV_GOING_DOWN / NETDEV_UNREGISTER, on which keepon.ko stops and releases.
 * Reception stays with the driver all the time: keepon.ko takes frames from the lower device as any upper device does.
 */
struct keepon_native_driver {
	const char *name;
	int (*query)(struct net_device *dev, struct kpn_nic_caps *caps);
	int (*claim)(struct net_device *dev, const struct keepon_native_setup *setup, struct keepon_native *native);
	void (*reset)(struct net_device *dev, struct keepon_native *native);
	void (*release)(struct net_device *dev, struct keepon_native *native);
};

/* The drivers there are. keepon.ko takes them with symbol_get(), so none of them has to be loaded. */
extern const struct keepon_native_driver keepon_hwsim_native;

#endif
