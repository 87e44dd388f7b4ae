/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ordinary, small driver for Intel's gigabit controllers that can lend its transmit ring to
 * keepon.ko. One transmit ring, one receive ring, one interrupt, linear frames.
 *
 *	main		PCI: probe, remove, suspend, errors
 *	hardware	reset, addresses, what the MAC is told
 *	phy		MDIO and link state
 *	transmit	ordinary frames out, descriptors
 *	receive		frames in
 *	netdev		up, down, interrupt, statistics
 *	ethtool
 *	native		the lent ring (contract version 2)
 */
#ifndef KEEPON_INTEL_H
#define KEEPON_INTEL_H

#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/mii.h>
#include <linux/netdevice.h>
#include <linux/pci.h>

#include "keepon_native.h"
#include "registers.h"

#define INTEL_NAME "keepon_intel"

enum {
	INTEL_RING_MIN = 64,
	INTEL_RING_MAX = 4096,
	INTEL_RING_MULTIPLE = 8, /* TDLEN counts 128 bytes */
	INTEL_RING_DEFAULT = 256,
	INTEL_BUFFER_BYTES = 2048,
	INTEL_FRAME_BYTES_MAX = 1522,
	INTEL_SLOT_BYTES_MAX = 1538, /* a longest frame, and room to trim it */
	INTEL_MTU_MAX = 1500,
};

/**
 * struct intel_chip - what differs between chips
 * @name: of the data sheet
 * @tx_base, @rx_base: registers of queue 0
 * @advanced: 82576 and later: advanced descriptors, queues enabled one by one
 * @eee: has EEER
 * @pcie: bus mastering is to be stopped before a reset
 * @desc_cache: descriptors the chip may fetch ahead, by its data sheet
 * @tx_fifo_bytes: of the transmit packet buffer as this driver leaves it
 * @seen: somebody has measured it (docs/nics.md); 0: only models of it were seen
 */
struct intel_chip {
	const char *name;
	u32 tx_base;
	u32 rx_base;
	u16 desc_cache;
	u32 tx_fifo_bytes;
	bool advanced;
	bool eee;
	bool pcie;
	bool seen;
};

/**
 * struct intel_buffers - @count buffers of INTEL_BUFFER_BYTES, mapped for their life, in chunks
 * @direction: of the device's accesses
 */
struct intel_buffers {
	void **chunk;
	dma_addr_t *dma;
	u32 count;
	enum dma_data_direction direction;
};

/** struct intel_ring - @desc in memory that both sides see at once */
struct intel_ring {
	struct intel_desc *desc;
	dma_addr_t dma;
	u32 slots;
};

/** struct intel_link - what the MAC works with: @mbps, 0 without a link, and @full duplex */
struct intel_link {
	u32 mbps;
	bool full;
};

/**
 * struct intel_nic - one controller
 * @link: as the link work saw it last
 * @tx_next, @tx_done: ordinary frames handed over and found sent; modulo 2^32
 * @tx_skb, @tx_dma: of each descriptor of the ordinary ring
 * @rx_next: descriptor of the next frame
 * @up: rings and interrupt are there; after a reset that failed the interface may be up without. RTNL
 * @lent: the ring below is somebody else's; RTNL and netif_tx_lock
 * @own: the lent ring; @own_buffers its frames; @own_head: TDH as read last, @own_index the same
 *	without wrapping
 */
struct intel_nic {
	struct net_device *dev;
	struct pci_dev *pdev;
	void __iomem *regs;
	const struct intel_chip *chip;
	struct napi_struct napi;
	struct mii_if_info mii;
	struct work_struct reset_work;
	struct delayed_work link_work;
	struct intel_link link;

	struct intel_ring tx;
	struct sk_buff **tx_skb;
	dma_addr_t *tx_dma;
	u32 tx_next;
	u32 tx_done;
	u32 tx_slots;

	struct intel_ring rx;
	struct intel_buffers rx_buffers;
	u32 rx_next;
	u32 rx_slots;

	spinlock_t counters_lock; /* of the counters below */
	u64 crc_errors;
	u64 missed;
	u64 undersize;
	u64 oversize;
	u64 sent_on_wire;

	bool up;
	bool lent;
	bool gone;
	struct intel_ring own;
	struct intel_buffers own_buffers;
	u32 own_head;
	u32 own_index;
	struct keepon_native_setup setup;
};

static inline u32 intel_read(const struct intel_nic *nic, u32 at)
{
	return readl(nic->regs + at);
}

static inline void intel_write(const struct intel_nic *nic, u32 at, u32 value)
{
	writel(value, nic->regs + at);
}

/* The device has seen all writes when this returns. */
static inline void intel_flush(const struct intel_nic *nic)
{
	intel_read(nic, STATUS);
}

/* ---- hardware ---- */

/**
 * intel_reset() - the whole controller as after power on, interrupts masked; may sleep. -EIO: it is
 * gone
 */
int intel_reset(struct intel_nic *nic);
/** intel_read_address() - the station address that the EEPROM gave; false if that is none */
bool intel_read_address(struct intel_nic *nic, u8 *address);
/** intel_set_address() - frames for dev->dev_addr are received */
void intel_set_address(struct intel_nic *nic);
/** intel_set_filters() - RCTL and multicast hash by the flags and lists of the device */
void intel_set_filters(struct net_device *dev);
/** intel_start_mac() - link up, no PAUSE either way, no EEE; receiver and transmitter on */
void intel_start_mac(struct intel_nic *nic);
/** intel_set_queue() - ring registers of queue 0 at @base; indices 0 */
void intel_set_queue(struct intel_nic *nic, u32 base, const struct intel_ring *ring);
/** intel_stop_transmit() - the frame on the wire ends, no other begins; busy-waits 100 us at most */
void intel_stop_transmit(struct intel_nic *nic);
/** intel_start_transmit() - the ring is fetched from its start, when it is posted */
void intel_start_transmit(struct intel_nic *nic, const struct intel_ring *ring);

/* ---- phy ---- */

/** intel_phy_init() - the MII library is told how to reach the PHY */
void intel_phy_init(struct intel_nic *nic);
/** intel_phy_answers() - it is there; after a reset, may sleep */
bool intel_phy_answers(struct intel_nic *nic);
/** intel_phy_start() - it negotiates, or has; after a reset, may sleep */
void intel_phy_start(struct intel_nic *nic);
/** intel_link_work() - carrier by STATUS; whoever follows the device hears of another link, too */
void intel_link_work(struct work_struct *work);
/** intel_link() - the link now */
struct intel_link intel_link(const struct intel_nic *nic);

/* ---- transmit ---- */

int intel_ring_alloc(struct intel_nic *nic, struct intel_ring *ring, u32 slots);
void intel_ring_free(struct intel_nic *nic, struct intel_ring *ring);
int intel_buffers_alloc(struct intel_nic *nic, struct intel_buffers *buffers, u32 count,
			enum dma_data_direction direction);
void intel_buffers_free(struct intel_nic *nic, struct intel_buffers *buffers);

enum { INTEL_CHUNK = 16 };

static inline void *intel_buffer(const struct intel_buffers *buffers, u32 idx)
{
	return buffers->chunk[idx / INTEL_CHUNK] + idx % INTEL_CHUNK * INTEL_BUFFER_BYTES;
}

static inline dma_addr_t intel_buffer_dma(const struct intel_buffers *buffers, u32 idx)
{
	return buffers->dma[idx / INTEL_CHUNK] + idx % INTEL_CHUNK * INTEL_BUFFER_BYTES;
}

/**
 * intel_tx_word() - second word of a transmit descriptor
 * @data_bytes: in the buffer
 * @flags: TX_LEGACY_ bits, the same in both formats
 */
static inline u64 intel_tx_word(const struct intel_chip *chip, u32 data_bytes, u64 flags)
{
	if (!chip->advanced)
		return data_bytes | flags;
	return data_bytes | flags | TX_ADVANCED_DATA | (u64)data_bytes << TX_ADVANCED_PAYLOAD_SHIFT;
}

netdev_tx_t intel_transmit(struct sk_buff *skb, struct net_device *dev);
/** intel_transmit_clean() - frames that have left are given back; from NAPI */
void intel_transmit_clean(struct intel_nic *nic, int budget);
/** intel_transmit_drop() - all frames of the ordinary ring are given back, sent or not */
void intel_transmit_drop(struct intel_nic *nic);
/** intel_transmit_drain() - wait until the ordinary ring is empty, 200 ms at most. Return: it is */
bool intel_transmit_drain(struct intel_nic *nic);

/* ---- receive ---- */

int intel_receive_alloc(struct intel_nic *nic);
void intel_receive_free(struct intel_nic *nic);
/** intel_receive_start() - all descriptors are the controller's */
void intel_receive_start(struct intel_nic *nic);
int intel_receive(struct intel_nic *nic, int budget);

/* ---- netdev ---- */

extern const struct net_device_ops intel_netdev_ops;
int intel_up(struct intel_nic *nic);
/** intel_down() - nothing if it did not come up */
void intel_down(struct intel_nic *nic);
/**
 * intel_restart() - a reset with everything as before, but @ring is fetched; frames that arrive
 * meanwhile are missed. One that does not answer is lost
 */
void intel_restart(struct intel_nic *nic, const struct intel_ring *ring);
int intel_poll(struct napi_struct *napi, int budget);
void intel_reset_work(struct work_struct *work);
/** intel_read_counters() - registers that reading clears are added to their sums */
void intel_read_counters(struct intel_nic *nic);

/* ---- ethtool, native ---- */

extern const struct ethtool_ops intel_ethtool_ops;
extern struct keepon_native_driver intel_native;

#endif
