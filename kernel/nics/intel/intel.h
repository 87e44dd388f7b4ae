/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ordinary, small driver for Intel's gigabit controllers that can lend its transmit ring to
 * keepon.ko. One transmit ring, one receive ring, one interrupt, linear frames.
 *
 *	main		PCI: probe, remove, sleep, errors
 *	hardware	reset, addresses, settings of the MAC
 *	phy		MDIO and link state
 *	transmit	ordinary frames out, descriptors
 *	receive		frames in
 *	netdev		up, down, interrupt, what is counted
 *	ethtool
 *	native		the lent ring (contract version 4)
 *
 * What is no different on other cards is in ../common/.
 */
#ifndef KEEPON_INTEL_H
#define KEEPON_INTEL_H

#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/mii.h>
#include <linux/netdevice.h>
#include <linux/pci.h>

#include "card.h"
#include "registers.h"

#define INTEL_NAME "keepon_intel"

enum {
	INTEL_RING_MIN = 64,
	INTEL_RING_MAX = 4096,
	INTEL_RING_MULTIPLE = 8, /* TDLEN counts 128 bytes */
	INTEL_RING_DEFAULT = 256,
	/* fetched ahead by the 8254x (317453 section 3.4); chosen for others, that do not say */
	INTEL_DESC_CACHE = 64,
};

/**
 * struct intel_chip - what differs between chips
 * @name: of the data sheet
 * @tx_base, @rx_base: registers of queue 0
 * @advanced: 82576 and later: advanced descriptors, queues enabled one by one
 * @eee: has EEER
 * @pcie: bus mastering is to be stopped before a reset
 * @tx_fifo_bytes: of the transmit packet buffer as this driver leaves it
 * @seen: a card was measured (docs/nics.md); 0: only models of it were seen
 */
struct intel_chip {
	const char *name;
	u32 tx_base;
	u32 rx_base;
	u32 tx_fifo_bytes;
	bool advanced;
	bool eee;
	bool pcie;
	bool seen;
};

/** struct intel_ring - @desc in memory that both sides see at once */
struct intel_ring {
	struct intel_desc *desc;
	dma_addr_t dma;
	u32 slots;
};

/**
 * struct intel_nic - one controller
 * @tx, @rx: the ordinary rings
 * @rx_next: descriptor of the next frame
 * @msix: it interrupts by MSI-X
 * @own: the lent ring; @own_head: TDH as read last, @own_index the same without wrapping
 */
struct intel_nic {
	struct card card;
	struct pci_dev *pdev;
	void __iomem *regs;
	const struct intel_chip *chip;
	struct mii_if_info mii;
	struct delayed_work link_work;
	struct intel_ring tx;
	struct intel_ring rx;
	u32 rx_next;
	bool msix;
	struct intel_ring own;
	u32 own_head;
	u32 own_index;
};

static_assert(!offsetof(struct intel_nic, card));

static inline struct intel_nic *intel_of(struct card *card)
{
	return container_of(card, struct intel_nic, card);
}

static inline bool intel_is_82574(const struct intel_nic *nic)
{
	return nic->chip->pcie && !nic->chip->advanced;
}

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
/** intel_tell_firmware() - which may manage the machine by this card: a driver has it, or none */
void intel_tell_firmware(struct intel_nic *nic, bool driven);
/** intel_start_mac() - link up, no PAUSE either way, no EEE; receiver and transmitter on */
void intel_start_mac(struct intel_nic *nic);
/** intel_set_queue() - ring registers of queue 0 at @base; indices 0 */
void intel_set_queue(struct intel_nic *nic, u32 base, const struct intel_ring *ring);
/** intel_stop_transmit() - the frame on the wire ends, no other begins; busy-waits 100 us at most */
void intel_stop_transmit(struct intel_nic *nic);
/** intel_start_transmit() - the ring is fetched from its start, when it is posted */
void intel_start_transmit(struct intel_nic *nic, const struct intel_ring *ring);

/* ---- phy ---- */

/** intel_phy_init() - give the MII library access to the PHY */
void intel_phy_init(struct intel_nic *nic);
/** intel_phy_acquire() - firmware keeps off the PHY; may sleep. false: firmware does not let go */
bool intel_phy_acquire(struct intel_nic *nic);
void intel_phy_release(struct intel_nic *nic);
/** intel_phy_answers() - it is there; after a reset, may sleep */
bool intel_phy_answers(struct intel_nic *nic);
/** intel_phy_start() - it is awake and negotiates, or has; after a reset, may sleep */
void intel_phy_start(struct intel_nic *nic);
/** intel_link_work() - carrier by STATUS */
void intel_link_work(struct work_struct *work);
/** intel_link() - the link now */
struct card_link intel_link(const struct intel_nic *nic);

/* ---- transmit ---- */

int intel_ring_alloc(struct intel_nic *nic, struct intel_ring *ring, u32 slots);
void intel_ring_free(struct intel_nic *nic, struct intel_ring *ring);

/**
 * intel_tx_word() - second word of a transmit descriptor
 * @data_bytes: in the buffer; @payload_bytes: of the frame, from there on
 * @flags: TX_LEGACY_ bits, the same in both formats
 */
static inline u64 intel_tx_word(const struct intel_chip *chip, u32 data_bytes, u32 payload_bytes,
				u64 flags)
{
	if (!chip->advanced)
		return data_bytes | flags;
	return data_bytes | flags | TX_ADVANCED_DATA |
	       (u64)payload_bytes << TX_ADVANCED_PAYLOAD_SHIFT;
}

netdev_tx_t intel_transmit(struct sk_buff *skb, struct net_device *dev);
/** intel_transmit_clean() - frames that have left are given back; from NAPI */
void intel_transmit_clean(struct intel_nic *nic, int budget);

/* ---- receive ---- */

/** intel_receive_start() - all descriptors are the controller's */
void intel_receive_start(struct intel_nic *nic);
int intel_receive(struct intel_nic *nic, int budget);

/* ---- netdev ---- */

extern const struct net_device_ops intel_netdev_ops;
extern const struct card_driver intel_card;
/**
 * intel_restart() - a reset with everything as before, but @ring is fetched; frames that arrive
 * meanwhile are missed. One that does not answer is lost
 */
void intel_restart(struct intel_nic *nic, const struct intel_ring *ring);
int intel_poll(struct napi_struct *napi, int budget);

/* ---- ethtool, native ---- */

extern const struct ethtool_ops intel_ethtool_ops;
extern struct keepon_native_driver intel_native;

#endif
