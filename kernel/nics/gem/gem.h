/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ordinary, small driver for the Cadence GEM, the Ethernet controller of Zynq and of other
 * systems on a chip, that can lend its transmit ring to keepon.ko. Queue 0 each way, one
 * interrupt, linear frames.
 *
 *	main		device tree, clocks: probe, remove, sleep
 *	hardware	reset, addresses, rings, the transmitter's start and stop
 *	phy		MDIO and link state, over phylib
 *	transmit	ordinary frames out
 *	receive		frames in
 *	netdev		up, down, interrupt, what is counted
 *	ethtool
 *	native		the lent transmit ring (contract version 4)
 *
 * What is no different on other cards is in ../common/.
 */
#ifndef KEEPON_GEM_H
#define KEEPON_GEM_H

#include <linux/bitfield.h>
#include <linux/clk.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/netdevice.h>
#include <linux/phy.h>
#include <linux/platform_device.h>

#include "card.h"
#include "registers.h"

#define GEM_NAME "keepon_gem"

enum {
	GEM_RING_MIN = 64,
	GEM_RING_MAX = 1024,
	GEM_RING_SLOTS = 256,
};

/** enum gem_counter - what registers count; their names and places are in netdev.c */
enum gem_counter {
	GEM_TX_ON_WIRE,
	GEM_TX_UNDERRUNS,
	GEM_RX_ON_WIRE,
	GEM_RX_CRC_ERRORS,
	GEM_RX_OVERSIZE,
	GEM_RX_OVERRUNS,
	GEM_RX_NO_BUFFER,
	GEM_COUNTERS,
};

/** struct gem_ring - descriptors in memory, @slots of them, in a ring */
struct gem_ring {
	void *desc;
	dma_addr_t dma;
	u32 slots;
};

/**
 * struct gem_nic - the controller
 * @pclk: clock of its registers; NULL, as @tx_clk, if the device tree has none
 * @tx_clk: of the transmitter, by the rate of the link
 * @queues: bit n: it has queue n
 * @desc_words: of a descriptor
 * @desc_ahead: descriptors that it may read beyond the end of a ring
 * @clears_causes: reading the interrupt register clears the causes it shows
 * @config: NET_CFG as written last; @config_lock
 * @control: NET_CTRL without what acts once; written under @control_lock
 * @irqs: causes that are not masked when nobody polls
 * @idle: a descriptor of each direction that is never the controller's, for queues that are
 *	not used
 * @rx_next: frames received, modulo 2^32; see card_first()
 * @own: the lent ring
 * @own_word: of each slot, what its descriptor says, TX_USED aside: the copy from which it is
 *	handed over again
 * @own_index: frames the transmitter has passed; @own_at: the same as a descriptor
 * @own_tail: first descriptor that is not handed over
 */
struct gem_nic {
	struct card card;
	struct platform_device *pdev;
	void __iomem *regs;
	int irq;
	phy_interface_t interface;
	struct clk *pclk;
	struct clk *tx_clk;
	u32 queues;
	u32 desc_words;
	u32 desc_ahead;
	bool clears_causes;

	spinlock_t config_lock; /* of @config and its register */
	u32 config;
	raw_spinlock_t control_lock; /* of @control and its register */
	u32 control;
	u32 irqs;

	__le32 *idle;
	dma_addr_t idle_dma;
	struct gem_ring tx;
	struct gem_ring rx;
	u32 rx_next;

	struct gem_ring own;
	u32 *own_word;
	u32 own_index;
	u32 own_at;
	u32 own_tail;
};

static_assert(!offsetof(struct gem_nic, card));

static inline struct gem_nic *gem_of(struct card *card)
{
	return container_of(card, struct gem_nic, card);
}

static inline u32 gem_read(const struct gem_nic *nic, u32 at)
{
	return readl(nic->regs + at);
}

/* Everything stored before it is in memory when the controller sees it. */
static inline void gem_write(const struct gem_nic *nic, u32 at, u32 value)
{
	writel(value, nic->regs + at);
}

/* A word of a descriptor; only the controller and this driver write it. */
static inline __le32 *gem_desc(const struct gem_nic *nic, const struct gem_ring *ring, u32 idx)
{
	return (__le32 *)ring->desc + idx * nic->desc_words;
}

static inline u32 gem_desc_read(const struct gem_nic *nic, const struct gem_ring *ring, u32 idx,
				u32 word)
{
	return le32_to_cpu(READ_ONCE(gem_desc(nic, ring, idx)[word]));
}

static inline void gem_desc_write(const struct gem_nic *nic, const struct gem_ring *ring, u32 idx,
				  u32 word, u32 value)
{
	WRITE_ONCE(gem_desc(nic, ring, idx)[word], cpu_to_le32(value));
}

/* ---- hardware ---- */

/** gem_reset() - nothing is sent, received or interrupts; the MDIO works; any context */
void gem_reset(struct gem_nic *nic);
/** gem_configure() - change bits of NET_CFG; any context but interrupts */
void gem_configure(struct gem_nic *nic, u32 clear, u32 set);
/** gem_set_control() - change bits of NET_CTRL; any context */
void gem_set_control(struct gem_nic *nic, u32 clear, u32 set);
/** gem_unblock_receiver() - one that has found no buffer looks for one again; any context */
void gem_unblock_receiver(struct gem_nic *nic);
/** gem_set_address() - frames for dev->dev_addr are received */
void gem_set_address(struct gem_nic *nic);
/** gem_set_filters() - who is heard, by the flags and lists of the device */
void gem_set_filters(struct net_device *dev);
/** gem_start_mac() - after a reset: buffers, unused queues, filters */
void gem_start_mac(struct gem_nic *nic);

/** gem_idle_alloc() - for queues that are not used; before any ring; sleeps */
int gem_idle_alloc(struct gem_nic *nic);
/** gem_ring_alloc() - nothing of it is the controller's, all is zero; -ENOMEM; sleeps */
int gem_ring_alloc(struct gem_nic *nic, struct gem_ring *ring, u32 slots);
/** gem_ring_free() - nothing if there is none */
void gem_ring_free(struct gem_nic *nic, struct gem_ring *ring);
/** gem_ring_clear() - no descriptor of a transmit ring is the controller's */
void gem_ring_clear(struct gem_nic *nic, struct gem_ring *ring);
/** gem_set_buffer() - where a descriptor's bytes are, with what else is in the address word */
void gem_set_buffer(struct gem_nic *nic, struct gem_ring *ring, u32 idx, dma_addr_t buffer,
		    u32 flags);
/** gem_tx_word() - second word of a transmit descriptor */
u32 gem_tx_word(const struct gem_ring *ring, u32 idx, u32 bytes, u32 flags);
/** gem_position() - where the transmitter is in a ring; ring->slots or more if it is not there */
u32 gem_position(const struct gem_nic *nic, const struct gem_ring *ring);
/** gem_kick() - what was handed over is sent, if it is not being sent already; any context */
void gem_kick(struct gem_nic *nic);
/** gem_halt() - nothing is fetched any more, nothing is left inside; any context, 1.5 ms at most */
void gem_halt(struct gem_nic *nic);
/** gem_send_from() - from the start of @ring whatever is handed over and kicked; halted before */
void gem_send_from(struct gem_nic *nic, struct gem_ring *ring);

/* ---- phy ---- */

/** gem_phy_connect() - bus and PHY, or fixed link, as the device tree has them */
int gem_phy_connect(struct gem_nic *nic);
void gem_phy_disconnect(struct gem_nic *nic);
/** gem_link() - the link now */
struct card_link gem_link(const struct gem_nic *nic);

/* ---- transmit ---- */

netdev_tx_t gem_transmit(struct sk_buff *skb, struct net_device *dev);
/** gem_transmit_clean() - frames that have left are given back; from NAPI */
void gem_transmit_clean(struct gem_nic *nic, int budget);
/** gem_transmit_pending() - there are such, or it has to be started again; from NAPI */
bool gem_transmit_pending(const struct gem_nic *nic);

/* ---- receive ---- */

/** gem_receive_start() - all descriptors are the controller's, which begins with the first */
void gem_receive_start(struct gem_nic *nic);
int gem_receive(struct gem_nic *nic, int budget);
/** gem_receive_pending() - a frame waits; from NAPI */
bool gem_receive_pending(const struct gem_nic *nic);

/* ---- netdev ---- */

extern const struct net_device_ops gem_netdev_ops;
extern const struct card_driver gem_card;
int gem_poll(struct napi_struct *napi, int budget);
/** gem_set_irqs() - which causes interrupt */
void gem_set_irqs(struct gem_nic *nic, u32 irqs);

/* ---- ethtool, native ---- */

extern const struct ethtool_ops gem_ethtool_ops;
extern struct keepon_native_driver gem_native;

#endif
