/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What drivers of cards that can lend their rings have in common, built into each of them: the
 * ordinary network device with one transmit ring, one receive ring, linear frames. A driver has a
 * struct card at the start of the private part of its device, puts these functions into its tables
 * of operations or calls them in its own, and does itself what its chip wants.
 *
 *	buffers		of frames, mapped for their life
 *	frames		ordinary ones: out, given back, in
 *	device		up, down, sleep, a transmitter that hangs, link
 *	counters	what registers count: statistics, ethtool
 *	lend		limits of the lent ring, claim and release (lend.h)
 */
#ifndef KEEPON_CARD_H
#define KEEPON_CARD_H

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>

#include "buffers.h"
#include "keepon_native.h"

enum {
	CARD_FRAME_BYTES_MAX = 1522,
	CARD_MTU_MAX = 1500,
	CARD_COUNTERS_MAX = 8,
};

struct card;

/**
 * struct card_counter - what the hardware counts
 * @name: in ethtool -S
 * @stat: offset of the counter of struct rtnl_link_stats64 that it belongs to, 0 if none
 * @at: register; a driver's own use
 */
struct card_counter {
	char name[ETH_GSTRING_LEN];
	u16 stat;
	u16 at;
};

#define CARD_STAT(stat) offsetof(struct rtnl_link_stats64, stat)

/**
 * struct card_driver - what is asked of a driver from outside
 * @up: rings and interrupt are there, card->up is set; RTNL
 * @down: the reverse, nothing if it did not come up; RTNL
 * @read_counters: what the registers have counted since is added to card->count, under
 *	card->counters_lock
 * @slots_max: of either ring
 */
struct card_driver {
	const char *name;
	int (*up)(struct card *card);
	void (*down)(struct card *card);
	void (*read_counters)(struct card *card);
	const struct card_counter *counters;
	u32 counters_count;
	u32 slots_max;
};

/** struct card_link - what a MAC works with: @mbps, 0 without a link, and @full duplex */
struct card_link {
	u32 mbps;
	bool full;
};

/** struct card_frame - an ordinary frame that the controller has */
struct card_frame {
	struct sk_buff *skb;
	dma_addr_t dma;
};

/**
 * struct card - the start of the private part of a card's network device
 * @device: what DMA is mapped for; its driver data is @dev
 * @chip: name for ethtool
 * @tx_slots, @rx_slots: of the ordinary rings, powers of two, so that counts may wrap; change while
 *	the interface is down
 * @tx: frame of each descriptor of the ordinary ring
 * @tx_next, @tx_done: ordinary frames handed over and found sent, modulo 2^32; see card_first()
 * @link: last argument of card_link_is()
 * @count: sums, by the driver's counters
 * @up: rings and interrupt are there; after a reset that failed, and asleep, the interface may be
 *	up without. RTNL
 * @lent: the transmit ring is an owner's; RTNL and netif_tx_lock
 * @gone: registers read as all ones
 * @own_buffers: frames of the lent ring, of @own_slots
 * @own_slot_bytes: of its placeholders
 */
struct card {
	struct net_device *dev;
	struct device *device;
	const struct card_driver *driver;
	const char *chip;
	u32 tx_slots;
	u32 rx_slots;

	struct napi_struct napi;
	struct work_struct reset_work;
	struct card_link link;

	struct card_frame *tx;
	u32 tx_next;
	u32 tx_done;
	struct card_buffers rx_buffers;

	spinlock_t counters_lock; /* of the next, and of registers that reading clears */
	u64 count[CARD_COUNTERS_MAX];

	bool up;
	bool lent;
	bool gone;
	struct card_buffers own_buffers;
	u32 own_slots;
	u32 own_slot_bytes;
};

/* ---- device ---- */

/**
 * card_init() - right after alloc_etherdev(); chip, slots, operations and address are the driver's
 * to set before register_netdev()
 */
void card_init(struct net_device *dev, struct device *device, const struct card_driver *driver,
	       int (*poll)(struct napi_struct *napi, int budget));
/** card_remove() - unregistered, and nothing of it runs any more */
void card_remove(struct net_device *dev);
/** card_poll_now() - NAPI looks whether there is something; sleeping context */
void card_poll_now(struct card *card);
/** card_quiet() - neither NAPI nor the stack does anything with the rings any more; sleeps */
void card_quiet(struct card *card);
/** card_link_is() - carrier and log; who follows the device hears of another rate, too. Not phylib's */
void card_link_is(struct card *card, struct card_link link);

/* As in struct net_device_ops. */
int card_dev_init(struct net_device *dev);
void card_dev_uninit(struct net_device *dev);
int card_open(struct net_device *dev);
int card_stop(struct net_device *dev);
void card_tx_timeout(struct net_device *dev, unsigned int queue);

/* What is the same in every card's struct net_device_ops. */
#define CARD_NETDEV_OPS                                                                  \
	.ndo_init = card_dev_init, .ndo_uninit = card_dev_uninit, .ndo_open = card_open, \
	.ndo_stop = card_stop, .ndo_get_stats64 = card_get_stats64,                      \
	.ndo_tx_timeout = card_tx_timeout

/* And ioctls, of which those of stamps are for who has claimed the ring. */
#define CARD_IOCTL(otherwise) \
	KEEPON_HWTSTAMP_IOCTL(keepon_native_hwtstamp_get, keepon_native_hwtstamp_set, otherwise)
#define CARD_IOCTL_OPS(otherwise) \
	KEEPON_HWTSTAMP_OPS(keepon_native_hwtstamp_get, keepon_native_hwtstamp_set, otherwise)

/* As in struct dev_pm_ops; the driver data of the device is the struct net_device. */
int card_suspend(struct device *device);
int card_resume(struct device *device);

/* ---- frames ---- */

/** card_alloc() - room for frames of the ordinary ring, and buffers of the receive ring */
int card_alloc(struct card *card);
void card_free(struct card *card);

/**
 * card_first() - what frames are counted from in a ring of so many slots
 *
 * The count wraps after the first round and not after 2^32 frames: what cannot bear that is found
 * out at once.
 */
static inline u32 card_first(u32 slots)
{
	return -slots;
}

/** card_slot() - descriptor of a frame by its count */
static inline u32 card_slot(u32 count, u32 slots)
{
	return count & (slots - 1);
}

/** card_in_flight() - ordinary frames that have not been found sent */
static inline u32 card_in_flight(const struct card *card)
{
	return READ_ONCE(card->tx_next) - READ_ONCE(card->tx_done);
}

/* A full ring would look empty. */
static inline bool card_has_room(const struct card *card)
{
	return card_in_flight(card) < card->tx_slots - 1;
}

/** card_drop() - what ndo_start_xmit returns when nothing becomes of a frame */
netdev_tx_t card_drop(struct card *card, struct sk_buff *skb);
/** card_map() - a frame is padded and mapped. Return: it is not, was dropped, and is counted */
bool card_map(struct card *card, struct sk_buff *skb, dma_addr_t *dma);
/** card_hand_over() - its descriptor is written, at tx_next; without room the queue stops */
void card_hand_over(struct card *card, struct sk_buff *skb, dma_addr_t dma);

/**
 * card_transmit() - ndo_start_xmit, but for what the chip wants
 * @put: the descriptor at @idx is that of a frame in so many bytes at @dma
 * @post: frames up to tx_next are the controller's
 *
 * Inline, so that neither is an indirect call.
 */
static __always_inline netdev_tx_t card_transmit(struct card *card, struct sk_buff *skb,
						 void (*put)(struct card *card, u32 idx,
							     dma_addr_t dma, u32 bytes),
						 void (*post)(struct card *card))
{
	dma_addr_t dma;

	if (card->gone)
		return card_drop(card, skb);
	if (card->lent)
		return keepon_native_transmit(skb, card->dev);
	if (!card_has_room(card)) {
		netif_stop_queue(card->dev);
		return NETDEV_TX_BUSY;
	}
	if (card_map(card, skb, &dma)) {
		put(card, card_slot(card->tx_next, card->tx_slots), dma, skb->len);
		card_hand_over(card, skb, dma);
	}
	/* dropped or not, no more come at once */
	if (!netdev_xmit_more() || netif_queue_stopped(card->dev))
		post(card);
	return NETDEV_TX_OK;
}

/** card_sent() - so many frames have left and are given back; from NAPI */
void card_sent(struct card *card, u32 frames, int budget);
/** card_drop_all() - all ordinary frames are given back, sent or not; the ring is not fetched */
void card_drop_all(struct card *card);
/**
 * card_give_up() - the same while the interface is up and nothing is fetched; what came meanwhile is
 * polled. Sleeps
 */
void card_give_up(struct card *card);
/** card_drain() - wait until no ordinary frame is left, 200 ms at most. Return: none is */
bool card_drain(struct card *card);
/**
 * card_deliver() - a copy of the frame in a receive buffer goes to the stack; from NAPI
 * @from: bytes before it
 * @place: see keepon_native_set_place(), KEEPON_NO_PLACE if it has none
 */
void card_deliver(struct card *card, u32 idx, u32 from, u32 bytes, u64 place);

/* ---- counters ---- */

/** card_read_counters() - the sums are of now, if the registers can be read */
void card_read_counters(struct card *card);
/** card_get_stats64() - as in struct net_device_ops */
void card_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats);

/* As in struct ethtool_ops. */
void card_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info);
void card_get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			struct kernel_ethtool_ringparam *more, struct netlink_ext_ack *extack);
/**
 * card_set_ring_slots() - rings of these sizes, rounded up to powers of two, which the chip has; a
 * ring that is lent is given back and lent again. For ethtool's set_ringparam
 */
int card_set_ring_slots(struct net_device *dev, const struct ethtool_ringparam *ring);
int card_get_sset_count(struct net_device *dev, int set);
void card_get_strings(struct net_device *dev, u32 set, u8 *data);
void card_get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data);
int card_get_ts_info(struct net_device *dev, struct keepon_ts_info *info);

/* What is the same in every card's struct ethtool_ops. */
#define CARD_ETHTOOL_OPS                                                              \
	.get_drvinfo = card_get_drvinfo, .get_link = ethtool_op_get_link,             \
	.get_ringparam = card_get_ringparam, .get_sset_count = card_get_sset_count,   \
	.get_strings = card_get_strings, .get_ethtool_stats = card_get_ethtool_stats, \
	.get_ts_info = card_get_ts_info

#endif
