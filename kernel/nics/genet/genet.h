/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ordinary, small driver for Broadcom's GENET v5, the Ethernet controller of the Raspberry Pi 4
 * (BCM2711), that can lend its rings to keepon.ko. Ring 16 each way with all descriptors,
 * one interrupt, linear frames.
 *
 *	main		device tree: probe, remove, sleep
 *	hardware	reset, addresses, DMA of both directions
 *	phy		MDIO and link state, over phylib
 *	transmit	ordinary frames out
 *	receive		frames in
 *	netdev		up, down, interrupt, what is counted
 *	ethtool
 *	native		the lent transmit ring (contract version 4)
 *	rx_native	the lent receive ring
 *
 * What is no different on other cards is in ../common/.
 */
#ifndef KEEPON_GENET_H
#define KEEPON_GENET_H

#include <linux/bitfield.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/netdevice.h>
#include <linux/phy.h>
#include <linux/platform_device.h>

#include "card.h"
#include "registers.h"

#define GENET_NAME "keepon_genet"

enum {
	GENET_SLOTS = 256,
	GENET_STATUS_BYTES = 64,    /* before a received frame */
	GENET_MAC_BYTES_MAX = 1600, /* what the MAC lets pass; above the longest slot */
	GENET_RX_LOG = 4096,        /* lengths of received frames that are remembered */
};

/** enum genet_counter - what registers count; their names and places are in netdev.c */
enum genet_counter {
	GENET_TX_ON_WIRE,
	GENET_TX_FCS_ERRORS,
	GENET_RX_ON_WIRE,
	GENET_RX_CRC_ERRORS,
	GENET_RX_OVERSIZE,
	GENET_RX_OVERFLOWS,
	GENET_RX_DISCARDED, /* all descriptors were full */
	GENET_COUNTERS,
};

/**
 * struct genet_slot - what a slot of the lent ring is
 * @frame_bytes: as its descriptor says, FCS included
 * @fcs_at: where its own, good FCS lies; 0: it is a placeholder
 */
struct genet_slot {
	u16 frame_bytes;
	u16 fcs_at;
};

/**
 * struct genet_nic - the controller
 * @command: UMAC_CMD as written last; @command_lock
 * @irqs: causes that are not masked when nobody polls
 * @rx_place: frames NAPI has seen since the interface came up: place of the next one; its low
 *	part is as the index of the controller. NAPI only
 * @rx_seen: the same, modulo 2^32, for everybody
 * @rx_log: lengths on the wire of the last of them, 0 if unknown
 * @counted: registers of genet_counter as read last
 * @discarded: frames that found no descriptor, modulo 2^32; @discards: the controller's count of
 *	them, as read last. Written under @discards_lock
 * @rx_lent: an owner counts received frames; changes with NAPI off, under RTNL
 * @rx_taken: place of the next frame to be counted; as the next two: of the operations of the ring
 * @rx_missed: frames that found no descriptor since it was lent, or were counted too late
 * @rx_discarded: @discarded as read last
 * @own: slots of the lent ring
 */
struct genet_nic {
	struct card card;
	struct platform_device *pdev;
	void __iomem *regs;
	int irq;
	phy_interface_t interface;

	spinlock_t command_lock; /* of @command and its register */
	u32 command;
	u32 irqs;

	u64 rx_place;
	u32 rx_seen;
	u16 rx_log[GENET_RX_LOG];
	u32 counted[GENET_COUNTERS];

	raw_spinlock_t discards_lock;
	u32 discarded;
	u16 discards;

	bool rx_lent;
	u64 rx_taken;
	u64 rx_missed;
	u32 rx_discarded;
	struct genet_slot *own;
};

static_assert(!offsetof(struct genet_nic, card));

static inline struct genet_nic *genet_of(struct card *card)
{
	return container_of(card, struct genet_nic, card);
}

static inline u32 genet_read(const struct genet_nic *nic, u32 at)
{
	return readl(nic->regs + at);
}

/* Everything stored before it is in memory when the controller sees it. */
static inline void genet_write(const struct genet_nic *nic, u32 at, u32 value)
{
	writel(value, nic->regs + at);
}

static inline u32 genet_desc_word(u32 bytes, u32 flags)
{
	return FIELD_PREP(DESC_LENGTH, bytes) | DESC_SOP | DESC_EOP | flags;
}

/* ---- hardware ---- */

/**
 * genet_reset() - the MAC held in reset, all interrupts masked, DMA off; sleeps. false: it does not
 * end, and may store into buffers yet
 */
bool genet_reset(struct genet_nic *nic);
/** genet_end_reset() - there is a link, or the loop; the PHY's clock is needed, or the loop's */
void genet_end_reset(struct genet_nic *nic);
/** genet_command() - change bits of UMAC_CMD; in reset nothing is sent or received all the same */
void genet_command(struct genet_nic *nic, u32 clear, u32 set);
/** genet_set_address() - frames for dev->dev_addr are received */
void genet_set_address(struct genet_nic *nic);
/** genet_set_filters() - who is heard, by the flags and lists of the device */
void genet_set_filters(struct net_device *dev);
/**
 * genet_open_filters() - receive all frames, bad ones and those to others, for an owner that counts
 * them; or no longer. RTNL
 */
void genet_open_filters(struct genet_nic *nic);
/** genet_start_mac() - after a reset: RGMII, buffers, filters, receiver on */
void genet_start_mac(struct genet_nic *nic);
/** genet_set_loopback() - as the feature of the device is */
void genet_set_loopback(struct genet_nic *nic);
/** genet_halt_dma() - nothing new is fetched or stored; any context, waits 100 us at most */
void genet_halt_dma(struct genet_nic *nic, u32 dma);
/** genet_set_buffer() - where a descriptor's bytes are */
void genet_set_buffer(struct genet_nic *nic, u32 dma, u32 idx, dma_addr_t buffer);
/** genet_start_dma() - ring of @slots descriptors at @dma, indices 0 */
void genet_start_dma(struct genet_nic *nic, u32 dma, u32 slots);
/** genet_stop_transmit() - the wire is idle, nothing is left in the FIFO; sleeps */
void genet_stop_transmit(struct genet_nic *nic);
/** genet_start_transmit() - the ring of @slots descriptors is fetched when it is posted */
void genet_start_transmit(struct genet_nic *nic, u32 slots);

/* ---- phy ---- */

/** genet_phy_connect() - bus and PHY as the device tree has them */
int genet_phy_connect(struct genet_nic *nic);
/** genet_link() - the link now */
struct card_link genet_link(const struct genet_nic *nic);

/* ---- transmit ---- */

netdev_tx_t genet_transmit(struct sk_buff *skb, struct net_device *dev);
/** genet_transmit_clean() - frames that have left are given back; from NAPI */
void genet_transmit_clean(struct genet_nic *nic, int budget);

/* ---- receive ---- */

/** genet_receive_start() - all descriptors are the controller's */
void genet_receive_start(struct genet_nic *nic);
int genet_receive(struct genet_nic *nic, int budget);
/** genet_rx_index() - frames that found a descriptor; counts those that found none; any context */
u32 genet_rx_index(struct genet_nic *nic);
/** genet_discarded() - how many found none, modulo 2^32; any context */
u32 genet_discarded(struct genet_nic *nic);
/**
 * genet_rx_wire_bytes() - length on the wire of the frame in a buffer that NAPI has not been at, 0
 * if it is none; any context
 */
u32 genet_rx_wire_bytes(struct genet_nic *nic, u32 idx);

/* ---- netdev ---- */

extern const struct net_device_ops genet_netdev_ops;
extern const struct card_driver genet_card;
int genet_poll(struct napi_struct *napi, int budget);
/** genet_set_irqs() - which causes interrupt */
void genet_set_irqs(struct genet_nic *nic, u32 irqs);

/* ---- ethtool, native ---- */

extern const struct ethtool_ops genet_ethtool_ops;
extern struct keepon_native_driver genet_native;

/* ---- rx_native: as in struct keepon_native_driver ---- */

int genet_query_rx(struct net_device *dev, struct keepon_native_rx_caps *caps);
int genet_claim_rx(struct net_device *dev, struct keepon_native_rx *native);
void genet_release_rx(struct net_device *dev, struct keepon_native_rx *native);

#endif
