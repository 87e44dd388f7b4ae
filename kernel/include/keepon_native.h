/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between keepon.ko and a driver that lends it a transmit ring ("native" backend), and perhaps its receive ring, too. The driver
 * exports one constant struct keepon_native_driver; keepon.ko finds it by the name ethtool gives the driver of the lower device and
 * holds a reference on its module while a ring is claimed.
 *
 * Life of a transmit ring:   query ... claim -> reset -> (kpn_pacer_start ... kpn_pacer_stop) -> reset -> ... -> release
 * Life of a receive ring:    query_rx ... claim_rx -> (read_index, take ...) -> release_rx
 */
#ifndef KEEPON_NATIVE_H
#define KEEPON_NATIVE_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "keepon/nic_ops.h"

/**
 * struct keepon_native_setup - what a claimed ring must offer
 * @ring_slots: descriptors; within the caps
 * @slot_bytes: nominal length of placeholders, FCS included
 * @buffer_bytes: of each buffer: longest slot with trim, FCS included
 * @placeholder: enum kpn_placeholder
 * @spare_buffers: frames are written to buffers of their own, from which no placeholder is sent; only if the caps have them
 */
struct keepon_native_setup {
	u32 ring_slots;
	u32 slot_bytes;
	u32 buffer_bytes;
	u8 placeholder;
	bool spare_buffers;
};

/** struct keepon_native - a claimed ring, as kpn_pacer_init() takes it; ops may be called in any context, caller serialised */
struct keepon_native {
	const struct kpn_nic_ops *ops;
	void *nic;
};

/* Receive rings: every frame that arrives has a place, a number in the order of arrival, bad FCS or not. */

/**
 * struct keepon_native_rx_caps - what a receive ring can be trusted for
 * @index_modulus: the index counts modulo this; 0 means 2^32
 * @lag_ns_min, @lag_ns_max: from the last bit of a frame until the index counts it, in CPU time
 * @frame_bytes_max: longest frame it takes, FCS included
 */
struct keepon_native_rx_caps {
	u32 index_modulus;
	u32 lag_ns_min;
	u32 lag_ns_max;
	u32 frame_bytes_max;
};

/**
 * struct keepon_native_rx_ops - a claimed receive ring; any context, caller serialised, CPU time as in struct kpn_nic_ops
 * @read_index: how many frames have arrived, modulo caps.index_modulus; may take a microsecond of bus time. A frame that the stack
 *	was given is counted
 * @take: the next frames in order of arrival, at most @frames_max of those the index showed, as many of them as are equally long;
 *	their descriptors are the NIC's again. Returns how many, their length with FCS in @frame_bytes
 * @missed: frames so far that found all descriptors full; they have no place, and the stack never sees them
 */
struct keepon_native_rx_ops {
	u32 (*read_index)(void *nic);
	u32 (*take)(void *nic, u32 frames_max, u32 *frame_bytes);
	u64 (*missed)(void *nic);
};

/** struct keepon_native_rx - a claimed receive ring; @place: of the next frame, whose low part the index shows */
struct keepon_native_rx {
	const struct keepon_native_rx_ops *ops;
	void *nic;
	u64 place;
};

#define KEEPON_NO_PLACE U64_MAX

/* The last bytes of skb->cb: traffic control, which may come first, leaves them alone. */
static inline void *keepon_native_place_at(struct sk_buff *skb)
{
	return skb->cb + sizeof(skb->cb) - sizeof(u64);
}

/** keepon_native_set_place() - while its receive ring is claimed a driver says so of every frame it gives to the stack */
static inline void keepon_native_set_place(struct sk_buff *skb, u64 place)
{
	memcpy(keepon_native_place_at(skb), &place, sizeof(place));
}

/** keepon_native_place() - what the driver said; a frame from elsewhere has any number here */
static inline u64 keepon_native_place(struct sk_buff *skb)
{
	u64 place;

	memcpy(&place, keepon_native_place_at(skb), sizeof(place));
	return place;
}

/**
 * struct keepon_native_driver - all under RTNL, may sleep
 * @name: as in ethtool's driver information
 * @query: limits of the ring of @dev at its present rate; -EOPNOTSUPP if it has none to lend
 * @claim: the ordinary transmit path of @dev is closed and drained, buffers are mapped; -EBUSY if claimed already
 * @reset: wire idle, indices 0, nothing posted, all buffers zero; after every kpn_pacer_stop(), before every start
 * @release: the ring is the driver's again and its ordinary transmit path open
 * @query_rx: limits of the receive ring of @dev; -EOPNOTSUPP if it has none to lend or cannot deliver frames whose FCS is wrong.
 *	NULL, as the next two, if no device of the driver has
 * @claim_rx: the FCS filter is off: whatever arrives from now on takes a descriptor; -EBUSY if claimed already
 * @release_rx: the FCS filter is on again
 *
 * The driver may go down or away only after NETDEV_GOING_DOWN / NETDEV_UNREGISTER, on which keepon.ko stops and releases.
 * Reception stays with the driver all the time, claimed or not: it gives every frame with a good FCS to the stack, once, and drops the
 * others; keepon.ko takes frames from the lower device as any upper device does.
 */
struct keepon_native_driver {
	const char *name;
	int (*query)(struct net_device *dev, struct kpn_nic_caps *caps);
	int (*claim)(struct net_device *dev, const struct keepon_native_setup *setup, struct keepon_native *native);
	void (*reset)(struct net_device *dev, struct keepon_native *native);
	void (*release)(struct net_device *dev, struct keepon_native *native);
	int (*query_rx)(struct net_device *dev, struct keepon_native_rx_caps *caps);
	int (*claim_rx)(struct net_device *dev, struct keepon_native_rx *native);
	void (*release_rx)(struct net_device *dev, struct keepon_native_rx *native);
};

/* The drivers there are. keepon.ko takes them with symbol_get(), so none of them has to be loaded. */
extern const struct keepon_native_driver keepon_hwsim_native;

#endif
