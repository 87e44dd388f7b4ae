/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ordinary, small driver for Broadcom's GENET v5, the Ethernet controller of the Raspberry Pi 4
 * (BCM2711), that can lend its rings to keepon.ko. Ring 16 each way with all descriptors,
 * one interrupt, linear frames.
 *
 *	main		device tree: probe, remove, suspend
 *	hardware	reset, addresses, DMA of both directions
 *	phy		MDIO and link state, over phylib
 *	transmit	ordinary frames out, buffers
 *	receive		frames in
 *	netdev		up, down, interrupt, statistics
 *	ethtool
 *	native		the lent transmit ring (contract version 2)
 *	rx_native	the lent receive ring
 */
#ifndef KEEPON_GENET_H
#define KEEPON_GENET_H

#include <linux/bitfield.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/netdevice.h>
#include <linux/phy.h>
#include <linux/platform_device.h>

#include "keepon_native.h"
#include "registers.h"

#define GENET_NAME "keepon_genet"

enum {
	GENET_SLOTS = 256,
	GENET_BUFFER_BYTES = 2048,
	GENET_STATUS_BYTES = 64, /* before a received frame */
	GENET_FRAME_BYTES_MAX = 1522,
	GENET_MAC_BYTES_MAX = 1600,  /* what the MAC lets pass; above the longest slot */
	GENET_SLOT_BYTES_MAX = 1538, /* a longest frame, and room to trim it */
	GENET_MTU_MAX = 1500,
	GENET_RX_LOG = 4096, /* lengths of received frames that are remembered */
	GENET_CHUNK = 16,
	GENET_CHUNKS = GENET_SLOTS / GENET_CHUNK,
};

/** enum genet_counter - what registers count; names in ethtool.c, registers in netdev.c */
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
 * struct genet_buffers - GENET_SLOTS buffers of GENET_BUFFER_BYTES, mapped for their life, in
 * chunks
 * @direction: of the device's accesses
 */
struct genet_buffers {
	void *chunk[GENET_CHUNKS];
	dma_addr_t dma[GENET_CHUNKS];
	enum dma_data_direction direction;
};

/** struct genet_frame - an ordinary frame that the controller has */
struct genet_frame {
	struct sk_buff *skb;
	dma_addr_t dma;
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
 * @tx_next, @tx_done: ordinary frames handed over and found sent; modulo 2^16, as the indices
 * @rx_place: frames NAPI has seen since the interface came up: place of the next one; its low
 *	part is as the index of the controller. NAPI only
 * @rx_seen: the same, modulo 2^32, for everybody
 * @rx_log: lengths on the wire of the last of them, 0 if unknown
 * @counted, @count: registers of genet_counter as read last, and their sums; @counters_lock
 * @discarded: frames that found no descriptor, modulo 2^32; @discards: the controller's count of
 *	them, as read last. Written under @discards_lock
 * @up: rings and interrupt are there. RTNL
 * @lent: the transmit ring is somebody else's; RTNL and netif_tx_lock
 * @rx_lent: somebody counts received frames; changes with NAPI off, under RTNL
 * @rx_taken: place of the next frame to be counted; as the next two: of the operations of the ring
 * @rx_missed: frames that found no descriptor since it was lent, or were counted too late
 * @rx_discarded: @discarded as read last
 * @own_buffers, @own: frames and slots of the lent ring
 */
struct genet_nic {
	struct net_device *dev;
	struct platform_device *pdev;
	void __iomem *regs;
	int irq;
	struct napi_struct napi;
	struct work_struct reset_work;
	phy_interface_t interface;

	spinlock_t command_lock; /* of @command and its register */
	u32 command;
	u32 irqs;

	struct genet_frame *tx;
	u16 tx_next;
	u16 tx_done;

	struct genet_buffers rx_buffers;
	u64 rx_place;
	u32 rx_seen;
	u16 rx_log[GENET_RX_LOG];

	spinlock_t counters_lock; /* of the counters below */
	u32 counted[GENET_COUNTERS];
	u64 count[GENET_COUNTERS];

	raw_spinlock_t discards_lock;
	u32 discarded;
	u16 discards;

	bool up;
	bool lent;
	bool rx_lent;
	u64 rx_taken;
	u64 rx_missed;
	u32 rx_discarded;
	struct genet_buffers own_buffers;
	struct genet_slot *own;
	u32 own_slots;
	u32 own_slot_bytes;
};

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

/** genet_reset() - the MAC as after power on, all interrupts masked, DMA off; may sleep */
void genet_reset(struct genet_nic *nic);
/** genet_command() - change bits of UMAC_CMD */
void genet_command(struct genet_nic *nic, u32 clear, u32 set);
/** genet_set_address() - frames for dev->dev_addr are received */
void genet_set_address(struct genet_nic *nic);
/** genet_set_filters() - who is heard, by the flags and lists of the device */
void genet_set_filters(struct net_device *dev);
/**
 * genet_open_filters() - whoever counts received frames gets all of them: bad ones, and those to
 * others; or no longer. RTNL
 */
void genet_open_filters(struct genet_nic *nic);
/** genet_start_mac() - after a reset: RGMII, buffers, filters, receiver on */
void genet_start_mac(struct genet_nic *nic);
/** genet_set_loopback() - as the feature of the device is */
void genet_set_loopback(struct genet_nic *nic);
/** genet_stop_dma() - nothing is fetched or stored any more; any context, waits 100 us at most */
void genet_stop_dma(struct genet_nic *nic, u32 dma);
/** genet_start_dma() - ring of @slots descriptors at @dma, indices 0 */
void genet_start_dma(struct genet_nic *nic, u32 dma, u32 slots);
/** genet_stop_transmit() - the wire is idle, nothing is left in the FIFO; sleeps */
void genet_stop_transmit(struct genet_nic *nic);
/** genet_start_transmit() - the ring of @slots descriptors is fetched when it is posted */
void genet_start_transmit(struct genet_nic *nic, u32 slots);

/* ---- phy ---- */

/** genet_phy_connect() - bus and PHY as the device tree has them */
int genet_phy_connect(struct genet_nic *nic);
/** genet_speed() - Mb/s now; 0 without a link */
u32 genet_speed(const struct genet_nic *nic);

/* ---- transmit ---- */

int genet_buffers_alloc(struct genet_nic *nic, struct genet_buffers *buffers,
			enum dma_data_direction direction);
void genet_buffers_free(struct genet_nic *nic, struct genet_buffers *buffers);

static inline void *genet_buffer(const struct genet_buffers *buffers, u32 idx)
{
	return buffers->chunk[idx / GENET_CHUNK] + idx % GENET_CHUNK * GENET_BUFFER_BYTES;
}

static inline dma_addr_t genet_buffer_dma(const struct genet_buffers *buffers, u32 idx)
{
	return buffers->dma[idx / GENET_CHUNK] + idx % GENET_CHUNK * GENET_BUFFER_BYTES;
}

/** genet_set_buffer() - where a descriptor's bytes are */
void genet_set_buffer(struct genet_nic *nic, u32 dma, u32 idx, dma_addr_t buffer);
netdev_tx_t genet_transmit(struct sk_buff *skb, struct net_device *dev);
/** genet_transmit_clean() - frames that have left are given back; from NAPI */
void genet_transmit_clean(struct genet_nic *nic, int budget);
/** genet_transmit_drop() - all ordinary frames are given back, sent or not; DMA is off */
void genet_transmit_drop(struct genet_nic *nic);
/**
 * genet_transmit_drain() - wait until no ordinary frame is left, 200 ms at most. Return: none is
 */
bool genet_transmit_drain(struct genet_nic *nic);

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
int genet_up(struct genet_nic *nic);
/** genet_down() - nothing if it did not come up */
void genet_down(struct genet_nic *nic);
int genet_poll(struct napi_struct *napi, int budget);
void genet_reset_work(struct work_struct *work);
/** genet_set_irqs() - which causes interrupt */
void genet_set_irqs(struct genet_nic *nic, u32 irqs);
/** genet_read_counters() - what the registers have counted since is added to the sums */
void genet_read_counters(struct genet_nic *nic);

/* ---- ethtool, native ---- */

extern const struct ethtool_ops genet_ethtool_ops;
extern struct keepon_native_driver genet_native;

/* ---- rx_native: as in struct keepon_native_driver ---- */

int genet_query_rx(struct net_device *dev, struct keepon_native_rx_caps *caps);
int genet_claim_rx(struct net_device *dev, struct keepon_native_rx *native);
void genet_release_rx(struct net_device *dev, struct keepon_native_rx *native);

#endif
