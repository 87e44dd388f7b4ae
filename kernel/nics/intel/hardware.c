// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reset, addresses and settings of the MAC. PAUSE frames are neither sent nor obeyed and EEE is
 * off: the wire of a lent ring never stands still by right.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>

#include "intel.h"

enum {
	RESET_MS = 20,     /* EEPROM loaded, 82574 section 4.6.3 */
	PHY_SETUP_MS = 25, /* and after it, on the 82574, the PHY set up from it */
	MASTER_US = 80000,
	STOP_STEPS = 10,
	GONE = 0xffffffff,
};

static void change(struct intel_nic *nic, u32 at, u32 clear, u32 set)
{
	intel_write(nic, at, (intel_read(nic, at) & ~clear) | set);
}

/* No access to memory is under way when the reset comes (82574 section 5.2.5). */
static void stop_bus_master(struct intel_nic *nic)
{
	u32 waited_us;

	change(nic, CTRL, 0, CTRL_MASTER_DISABLE);
	for (waited_us = 0; waited_us < MASTER_US; waited_us += 100) {
		if (!(intel_read(nic, STATUS) & STATUS_MASTER_ENABLED))
			return;
		usleep_range(100, 200);
	}
	netdev_dbg(nic->card.dev, "accesses to memory did not end within 80 ms\n");
}

int intel_reset(struct intel_nic *nic)
{
	bool owned;

	if (intel_read(nic, STATUS) == GONE)
		return -EIO;
	intel_write(nic, IMC, GONE);
	intel_write(nic, RCTL, 0);
	change(nic, TCTL, TCTL_EN, 0);
	intel_flush(nic);
	msleep(RESET_MS / 2);
	if (nic->chip->pcie)
		stop_bus_master(nic);
	/* firmware does not begin with the PHY now; if it does not let go of it, no PHY answers */
	owned = intel_phy_acquire(nic);
	change(nic, CTRL, 0, CTRL_RST);
	if (owned)
		intel_phy_release(nic);
	msleep(intel_is_82574(nic) ? RESET_MS + PHY_SETUP_MS : RESET_MS);
	intel_write(nic, IMC, GONE);
	return intel_read(nic, ICR) == GONE && intel_read(nic, STATUS) == GONE ? -EIO : 0;
}

bool intel_read_address(struct intel_nic *nic, u8 *address)
{
	u32 low = intel_read(nic, RAL0);
	u32 high = intel_read(nic, RAH0);
	int i;

	for (i = 0; i < ETH_ALEN; i++)
		address[i] = (u8)((i < 4 ? low >> 8 * i : high >> 8 * (i - 4)));
	return high & RAH_AV && is_valid_ether_addr(address);
}

void intel_set_address(struct intel_nic *nic)
{
	const u8 *address = nic->card.dev->dev_addr;

	intel_write(nic, RAH0, 0);
	intel_write(nic, RAL0,
		    address[0] | address[1] << 8 | address[2] << 16 | (u32)address[3] << 24);
	intel_write(nic, RAH0, address[4] | address[5] << 8 | RAH_AV);
}

/* Bits 47:36 of the destination, as it is sent (RCTL.MO = 0; 82574 section 10.2.5.21). */
static u32 multicast_hash(const u8 *address)
{
	return (address[4] >> 4 | address[5] << 4) & 0xfff;
}

void intel_set_filters(struct net_device *dev)
{
	struct intel_nic *nic = netdev_priv(dev);
	u32 rctl = intel_read(nic, RCTL) & ~(RCTL_UPE | RCTL_MPE);
	u32 hashes[MTA_ENTRIES] = {};
	struct netdev_hw_addr *entry;
	u32 i;

	if (dev->flags & IFF_PROMISC)
		rctl |= RCTL_UPE | RCTL_MPE;
	else if (dev->flags & IFF_ALLMULTI || netdev_uc_count(dev))
		rctl |= RCTL_MPE;
	if (netdev_uc_count(dev))
		rctl |= RCTL_UPE;
	netdev_for_each_mc_addr(entry, dev)
	{
		u32 hash = multicast_hash(entry->addr);

		hashes[hash / 32] |= BIT(hash % 32);
	}
	for (i = 0; i < MTA_ENTRIES; i++)
		intel_write(nic, MTA + 4 * i, hashes[i]);
	intel_write(nic, RCTL, rctl);
}

/*
 * What the kernel's e1000e sets after each reset of an 82574 against its errata: without it
 * completions on the bus are unreliable, and transmission stops. Igb of the later ones: a link at
 * all.
 */
static void set_chip_bits(struct intel_nic *nic)
{
	if (intel_is_82574(nic)) {
		change(nic, TARC0, TARC0_82574_CLEAR, TARC0_82574_SET);
		change(nic, CTRL, CTRL_82574_CLEAR, 0);
		change(nic, CTRL_EXT, CTRL_EXT_82574_CLEAR, CTRL_EXT_82574_SET);
		change(nic, GCR, 0, GCR_82574_SET);
		change(nic, GCR2, 0, GCR2_82574_SET);
	}
	if (nic->chip->eee)
		change(nic, PHPM, PHPM_GO_LINK_DOWN, 0);
	intel_tell_firmware(nic, true);
}

void intel_tell_firmware(struct intel_nic *nic, bool driven)
{
	if (nic->chip->pcie)
		change(nic, CTRL_EXT, driven ? 0 : CTRL_EXT_DRV_LOAD,
		       driven ? CTRL_EXT_DRV_LOAD : 0);
}

void intel_start_mac(struct intel_nic *nic)
{
	u32 ctrl = intel_read(nic, CTRL);

	/* the speed is the PHY's; ASDE, to find it out by the clock, is to be 0 since PCIe */
	ctrl &= ~(CTRL_FRCSPD | CTRL_FRCDPX | CTRL_RFCE | CTRL_TFCE | CTRL_MASTER_DISABLE |
		  (nic->chip->pcie ? CTRL_ASDE : 0));
	intel_write(nic, CTRL, ctrl | CTRL_SLU | CTRL_FD);
	set_chip_bits(nic);
	if (nic->chip->eee)
		intel_write(nic, EEER, 0);
	if (!nic->chip->advanced)
		intel_write(nic, TIPG, TIPG_COPPER_8254X);
	/* another driver has had the card, and not every reset forgets what it set */
	if (nic->chip->pcie) {
		intel_write(nic, RFCTL, 0);
		intel_write(nic, MRQC, 0);
	}
	intel_write(nic, RCTL, RCTL_EN | RCTL_BAM | RCTL_SECRC);
	netif_addr_lock_bh(nic->card.dev);
	intel_set_filters(nic->card.dev);
	netif_addr_unlock_bh(nic->card.dev);
}

void intel_set_queue(struct intel_nic *nic, u32 base, const struct intel_ring *ring)
{
	intel_write(nic, QUEUE_BAL(base), lower_32_bits(ring->dma));
	intel_write(nic, QUEUE_BAH(base), upper_32_bits(ring->dma));
	intel_write(nic, QUEUE_LEN(base), ring->slots * sizeof(struct intel_desc));
	intel_write(nic, QUEUE_HEAD(base), 0);
	intel_write(nic, QUEUE_TAIL(base), 0);
}

/*
 * TCTL.EN ends transmission after the frame on the wire (82574 section 10.2.6.1). On the 82576 the
 * queue says when it has stopped fetching (section 7.2.1).
 */
void intel_stop_transmit(struct intel_nic *nic)
{
	u32 at = QUEUE_DCTL(nic->chip->tx_base);
	int step;

	change(nic, TCTL, TCTL_EN, 0);
	if (nic->chip->advanced) {
		change(nic, at, DCTL_ENABLE, 0);
		for (step = 0; step < STOP_STEPS; step++) {
			if (!(intel_read(nic, at) & DCTL_ENABLE))
				break;
			udelay(5); /* any context: no sleep */
		}
	}
	intel_flush(nic);
}

/*
 * Thresholds of zero: descriptors are fetched when none is left on the chip, not before, and none
 * is written back unless it asks for it.
 */
void intel_start_transmit(struct intel_nic *nic, const struct intel_ring *ring)
{
	u32 at = QUEUE_DCTL(nic->chip->tx_base);

	intel_set_queue(nic, nic->chip->tx_base, ring);
	if (nic->chip->advanced)
		intel_write(nic, at, DCTL_ENABLE);
	else
		intel_write(nic, at, DCTL_GRAN | DCTL_COUNT_DESC);
	/* the rest as it was: more than one read of memory at a time, on some */
	change(nic, TCTL, TCTL_CT | TCTL_COLD,
	       TCTL_EN | TCTL_PSP | FIELD_PREP(TCTL_CT, 15) | FIELD_PREP(TCTL_COLD, 64));
	intel_flush(nic);
}
