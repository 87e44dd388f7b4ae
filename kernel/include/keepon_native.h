/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface between keepon.ko and a driver that lends it a transmit ring (contract version 4), and
 * perhaps its receive ring, too. Drivers register with the small module keepon_native.ko, which
 * knows neither side; keepon.ko asks it for the driver that lends the ring of a device. So a driver
 * loads and works without keepon.ko, and keepon.ko without any driver.
 *
 *	transmit ring	query ... claim -> reset -> (pacer runs ... halt) -> reset -> ... -> release
 *	receive ring	query_rx ... claim_rx -> (read_index, take ...) -> release_rx
 *
 * A driver calls back whenever the ring stops being usable (struct keepon_native_owner): suspend,
 * AER, transmit timeout, ethtool -G, self-test, surprise removal.
 */
#ifndef KEEPON_NATIVE_H
#define KEEPON_NATIVE_H

#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "keepon/nic_ops.h"
#include "keepon/wire.h"
#include "keepon_compat.h"

enum { KEEPON_NATIVE_FRAME_BYTES_MAX = 1538 }; /* longest frame, with room to trim it */

/**
 * keepon_native_frame_slots() - slots of a longest frame in one buffer. Each slot after the first
 * holds a shortest placeholder, so it adds only the rest of its length to the frame
 */
static inline u32 keepon_native_frame_slots(u32 slot_bytes)
{
	u32 short_bytes = kpn_wire_bytes(KPN_FRAME_BYTES_MIN);
	u32 wire_bytes = kpn_wire_bytes(slot_bytes);

	if (wire_bytes <= short_bytes)
		return 1;
	return min_t(u32, KPN_SPAN_SLOTS_MAX,
		     DIV_ROUND_UP(kpn_wire_bytes(KEEPON_NATIVE_FRAME_BYTES_MAX) - short_bytes,
				  wire_bytes - short_bytes));
}

/**
 * enum keepon_native_context - most restricted context in which a backend's ops may be called
 * @KEEPON_CONTEXT_HARDIRQ: anywhere, interrupts off, under a raw spinlock (PREEMPT_RT too): no
 *	sleeping locks inside
 * @KEEPON_CONTEXT_SOFTIRQ: bottom halves off, no interrupt context
 * @KEEPON_CONTEXT_THREAD: in a thread of its own, may take sleeping locks, must not wait
 */
enum keepon_native_context {
	KEEPON_CONTEXT_HARDIRQ,
	KEEPON_CONTEXT_SOFTIRQ,
	KEEPON_CONTEXT_THREAD,
};

/**
 * enum keepon_native_claims - what a link over this ring may promise to user space; bits
 * @KEEPON_CLAIM_PACED: frames take their wire time: slots start where the core says, within its
 *	bounds
 * @KEEPON_CLAIM_TX_STAMPS: instants of sent frames are good enough to be hardware stamps
 * @KEEPON_CLAIM_PHC: the clock counted from the wire may be a PTP hardware clock
 * @KEEPON_CLAIM_BAD_FCS: placeholders with a bad FCS really leave
 * @KEEPON_CLAIM_UNMEASURED: until a link runs it is unknown whether the ring is paced
 */
enum keepon_native_claims {
	KEEPON_CLAIM_PACED = 1 << 0,
	KEEPON_CLAIM_TX_STAMPS = 1 << 1,
	KEEPON_CLAIM_PHC = 1 << 2,
	KEEPON_CLAIM_BAD_FCS = 1 << 3,
	KEEPON_CLAIM_UNMEASURED = 1 << 4,
};

/**
 * struct keepon_native_caps - limits of a ring at the present link rate
 * @nic: limits for the core
 * @claims: enum keepon_native_claims
 * @context: enum keepon_native_context
 */
struct keepon_native_caps {
	struct kpn_nic_caps nic;
	u32 claims;
	u8 context;
};

/**
 * struct keepon_native_setup - what a claimed ring must offer
 * @ring_slots: descriptors; within the caps
 * @slot_bytes: nominal length of placeholders, FCS included
 * @buffer_bytes: of each buffer: longest slot with trim and longest frame, FCS included
 * @placeholder: enum kpn_placeholder
 * @spare_buffers: frames are written to buffers of their own, which never hold a placeholder; only
 *	if the caps have them
 */
struct keepon_native_setup {
	u32 ring_slots;
	u32 slot_bytes;
	u32 buffer_bytes;
	u8 placeholder;
	bool spare_buffers;
};

/**
 * struct keepon_native_owner - callbacks from the driver to the owner of a claimed ring
 * @stop: the ring is about to be taken apart: when this returns, the owner has halted, reset and
 *	released it and its receive ring; RTNL, sleeps
 * @lost: the ring is dead (device gone, transmit timeout, bus error): stores have no effect, and
 *	read_index() returns KPN_INDEX_GONE from now on. The owner stops and releases soon, from a
 *	context of its own; any context, does not sleep
 * @ready: the reason for a stop or loss is over, so the ring may be claimed again; RTNL. Also
 *	called when the limits of query() have changed
 * @delayed: for up to @delay_ns the wire did not send, or will soon not send, slots of the ring: it
 *	was idle, or sent @frames frames from elsewhere; may be NULL; any context but the ring's own
 *	operations, does not sleep
 * @transmit: a frame given to the device's own transmit function while the transmit ring is
 *	claimed; as ndo_start_xmit, under the same lock, perhaps with interrupts off: the owner may
 *	stop the queue, and counts the frame in its byte queue limit, in dev->tstats where the
 *	driver has them, and as dropped. NULL: all such frames are dropped
 * @received: a frame on its way to the stack, behind eth_type_trans(); its hardware stamp may be
 *	replaced and its end cut off. BH off; may be NULL
 * @ts_info, @hwtstamp_get, @hwtstamp_set: as in ethtool and struct net_device_ops, for the device
 *	whose ring is claimed; -EOPNOTSUPP: the driver's own functions apply. RTNL; may be NULL, all
 *	three of them
 */
struct keepon_native_owner {
	void (*stop)(void *owner);
	void (*lost)(void *owner);
	void (*ready)(void *owner);
	void (*delayed)(void *owner, u64 delay_ns, u32 frames);
	netdev_tx_t (*transmit)(void *owner, struct sk_buff *skb, struct net_device *dev);
	void (*received)(void *owner, struct sk_buff *skb);
	int (*ts_info)(void *owner, struct keepon_ts_info *info);
	int (*hwtstamp_get)(void *owner, struct keepon_hwtstamp *config);
	int (*hwtstamp_set)(void *owner, struct keepon_hwtstamp *config,
			    struct netlink_ext_ack *extack);
};

/**
 * struct keepon_native - a claimed ring, as kpn_pacer_init() takes it
 * @ops, @nic: callable in caps.context, caller serialised
 */
struct keepon_native {
	const struct kpn_nic_ops *ops;
	void *nic;
};

/*
 * Receive rings: every arriving frame, bad FCS or not, has a place, a number in the order of
 * arrival.
 */

/**
 * struct keepon_native_rx_caps - what a receive ring can be trusted for
 * @index_modulus: the index counts modulo this; 0 means 2^32, with all ones always refused
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
 * struct keepon_native_rx_ops - a claimed receive ring; any context, caller serialised, CPU time as
 * in struct kpn_nic_ops
 * @read_index: how many frames have arrived, modulo caps.index_modulus; may take a microsecond of
 *	bus time. Frames given to the stack are counted
 * @take: take the next equally long frames in order of arrival, at most @frames_max of those the
 *	index showed, and give their descriptors back to the NIC. Returns their number, with their
 *	length, FCS included, in @frame_bytes
 * @missed: frames so far that found all descriptors full; they have no place, and the stack never
 *	sees them
 */
struct keepon_native_rx_ops {
	u32 (*read_index)(void *nic);
	u32 (*take)(void *nic, u32 frames_max, u32 *frame_bytes);
	u64 (*missed)(void *nic);
};

/**
 * struct keepon_native_rx - a claimed receive ring; @place: place of the next frame; the index
 * shows its low part
 */
struct keepon_native_rx {
	const struct keepon_native_rx_ops *ops;
	void *nic;
	u64 place;
};

#define KEEPON_NO_PLACE U64_MAX

/*
 * The place travels in the field of the hardware stamp: there it survives taps, RPS and GRO, all of
 * which may overwrite skb->cb. The frame then has no stamp of the driver's own, which would be of
 * another clock.
 */

/**
 * keepon_native_set_place() - a driver calls this for every frame to the stack while its receive
 * ring is claimed
 */
static inline void keepon_native_set_place(struct sk_buff *skb, u64 place)
{
	skb_hwtstamps(skb)->hwtstamp = (ktime_t)(place + 1);
}

/**
 * keepon_native_place() - the place set by the driver, or KEEPON_NO_PLACE; only for frames of a
 * claimed receive ring
 */
static inline u64 keepon_native_place(const struct sk_buff *skb)
{
	return (u64)skb_shinfo(skb)->hwtstamps.hwtstamp - 1;
}

/**
 * struct keepon_native_driver - one driver that lends rings; all calls under RTNL, may sleep
 * @name: of the driver, for messages
 * @module: held while one of its rings is claimed
 * @any_driver: it serves devices of other drivers, and only on request
 * @owns: whether @dev is a device of this driver
 * @query: limits of the ring of @dev at its present rate for slots of @slot_bytes (FIFOs hold
 *	bytes, the core counts slots); -EOPNOTSUPP if it has none to lend, with a sentence of its
 *	own in @why (may be NULL), which may also say why it is not KEEPON_CLAIM_PACED
 * @claim: the ordinary transmit path of @dev is drained, and its frames go to
 *	keepon_native_transmit() from now on; buffers are mapped; -EBUSY if claimed already. From
 *	now on the owner gets the callbacks of the ring
 * @reset: wire idle, indices 0, nothing posted, every descriptor a placeholder of setup.slot_bytes,
 *	all buffers zero and written back; after every halt, before every start
 * @release: the ring is the driver's again, its ordinary transmit path open and every queue awake
 * @query_rx: limits of the receive ring of @dev; -EOPNOTSUPP if it has none to lend or cannot
 *	deliver frames with a bad FCS. If no device of the driver lends one, this and the next two
 *	are NULL
 * @claim_rx: the FCS filter is off: every frame that arrives from now on takes a descriptor; -EBUSY
 *	if claimed
 * @release_rx: the FCS filter is on again
 *
 * Reception stays with the driver all the time, claimed or not: it gives every frame with a good
 * FCS to keepon_native_received() and then to the stack, once, and drops the others.
 */
struct keepon_native_driver {
	const char *name;
	struct module *module;
	bool any_driver;
	bool (*owns)(const struct net_device *dev);
	int (*query)(struct net_device *dev, u32 slot_bytes, struct keepon_native_caps *caps,
		     const char **why);
	int (*claim)(struct net_device *dev, const struct keepon_native_setup *setup,
		     struct keepon_native *native);
	void (*reset)(struct net_device *dev, struct keepon_native *native);
	void (*release)(struct net_device *dev, struct keepon_native *native);
	int (*query_rx)(struct net_device *dev, struct keepon_native_rx_caps *caps);
	int (*claim_rx)(struct net_device *dev, struct keepon_native_rx *native);
	void (*release_rx)(struct net_device *dev, struct keepon_native_rx *native);
	/* private */
	struct list_head list;
};

/* ---- keepon_native.ko ---- */

/**
 * keepon_native_register() - @driver lends rings from now on; it must stay in memory until
 * unregistered
 */
void keepon_native_register(struct keepon_native_driver *driver);

/** keepon_native_unregister() - @driver lends no rings any more; none of its rings is claimed */
void keepon_native_unregister(struct keepon_native_driver *driver);

/**
 * keepon_native_get() - the driver that lends the ring of @dev, its module held; NULL if there is
 * none. RTNL
 * @any_driver: the driver that serves devices of any driver
 */
struct keepon_native_driver *keepon_native_get(const struct net_device *dev, bool any_driver);

/** keepon_native_put() - the end of a keepon_native_get(); @driver may be NULL */
void keepon_native_put(struct keepon_native_driver *driver);

/**
 * keepon_native_attach() - register the callbacks of @owner for the rings of @dev, claimed or not:
 * ready, and for a claimed ring stop and lost; -EBUSY if there is an owner. RTNL
 */
int keepon_native_attach(struct net_device *dev, const struct keepon_native_owner *ops,
			 void *owner);

/** keepon_native_detach() - the end of keepon_native_attach(). RTNL */
void keepon_native_detach(struct net_device *dev);

/* Called by drivers; nothing happens if @dev has no owner. */

/** keepon_native_stop() - see struct keepon_native_owner; RTNL */
void keepon_native_stop(struct net_device *dev);
/** keepon_native_lost() - any context */
void keepon_native_lost(struct net_device *dev);
/** keepon_native_delayed() - any context but the ring's own operations */
void keepon_native_delayed(struct net_device *dev, u64 delay_ns, u32 frames);
/** keepon_native_ready() - RTNL */
void keepon_native_ready(struct net_device *dev);
/**
 * keepon_native_transmit() - ndo_start_xmit while the ring is lent; drops the frame if there is no
 * owner
 */
netdev_tx_t keepon_native_transmit(struct sk_buff *skb, struct net_device *dev);
/** keepon_native_received() - for every frame, behind eth_type_trans(); BH off */
void keepon_native_received(struct sk_buff *skb, struct net_device *dev);
/** keepon_native_ts_info() and the next two - -EOPNOTSUPP: the driver's own apply; RTNL */
int keepon_native_ts_info(struct net_device *dev, struct keepon_ts_info *info);
int keepon_native_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config);
int keepon_native_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config,
			       struct netlink_ext_ack *extack);

#endif
