// SPDX-License-Identifier: GPL-2.0-only
/* The PHY, by MDIO (82574 section 10.2.2.7), and the link. */
#include <linux/bitfield.h>
#include <linux/delay.h>

#include "intel.h"

enum {
	PHY_ADDRESS = 1,
	MDIO_US = 2000,
	OWNER_TRIES = 100,
	OWNER_US = 1000,
	ANSWER_TRIES = 10,
	GONE = 0xffffffff,
	ANSWER_MS = 20, /* until the next: it is configured from the EEPROM after a reset */
};

/* ---- whose it is ---- */

/* The 82574: one bit (e1000e's MDIO_SW_OWNERSHIP). */
static bool own_mdio(struct intel_nic *nic)
{
	intel_write(nic, EXTCNF_CTRL, intel_read(nic, EXTCNF_CTRL) | EXTCNF_MDIO_SW);
	return intel_read(nic, EXTCNF_CTRL) & EXTCNF_MDIO_SW;
}

/*
 * The 82576 and later: SW_FW_SYNC is changed by who holds both bits of SWSM. Software that has not
 * let go in 50 ms (@force) has died: firmware that booted from the network has left such bits.
 */
static bool hold_semaphore(struct intel_nic *nic, bool force)
{
	if (intel_read(nic, SWSM) & SWSM_SOFTWARE && !force)
		return false;
	intel_write(nic, SWSM, intel_read(nic, SWSM) | SWSM_FIRMWARE);
	if (intel_read(nic, SWSM) & SWSM_FIRMWARE)
		return true;
	intel_write(nic, SWSM, 0);
	return false;
}

static u32 own_bit(const struct intel_nic *nic)
{
	return SW_FW_SYNC_PHY(FIELD_GET(STATUS_FUNCTION, intel_read(nic, STATUS)));
}

static bool own_phy(struct intel_nic *nic, bool force)
{
	u32 mine = own_bit(nic);
	u32 others = mine << SW_FW_SYNC_OF_FIRMWARE | (force ? 0 : mine);
	bool owned;
	u32 sync;

	if (!hold_semaphore(nic, force))
		return false;
	sync = intel_read(nic, SW_FW_SYNC);
	owned = !(sync & others);
	if (owned)
		intel_write(nic, SW_FW_SYNC, sync | mine);
	intel_write(nic, SWSM, 0);
	return owned;
}

bool intel_phy_acquire(struct intel_nic *nic)
{
	int tries;

	if (!nic->chip->pcie)
		return true;
	for (tries = 0; tries < OWNER_TRIES && intel_read(nic, STATUS) != GONE; tries++) {
		if (nic->chip->advanced ? own_phy(nic, tries == OWNER_TRIES / 2) : own_mdio(nic))
			return true;
		usleep_range(OWNER_US, OWNER_US + 100);
	}
	return false;
}

void intel_phy_release(struct intel_nic *nic)
{
	int tries;

	if (intel_is_82574(nic))
		intel_write(nic, EXTCNF_CTRL, intel_read(nic, EXTCNF_CTRL) & ~EXTCNF_MDIO_SW);
	if (!nic->chip->advanced)
		return;
	for (tries = 0; tries < OWNER_TRIES && !hold_semaphore(nic, tries == OWNER_TRIES / 2);
	     tries++)
		usleep_range(OWNER_US, OWNER_US + 100);
	intel_write(nic, SW_FW_SYNC, intel_read(nic, SW_FW_SYNC) & ~own_bit(nic));
	intel_write(nic, SWSM, 0);
}

/* ---- its registers ---- */

static int mdio_owned(struct intel_nic *nic, u32 command)
{
	u32 waited_us;

	intel_write(nic, MDIC, command | FIELD_PREP(MDIC_PHY, PHY_ADDRESS));
	for (waited_us = 0; waited_us < MDIO_US; waited_us += 50) {
		u32 answer;

		usleep_range(50, 60);
		answer = intel_read(nic, MDIC);
		if (answer == 0xffffffff || answer & MDIC_ERROR)
			return -1;
		if (answer & MDIC_READY)
			return FIELD_GET(MDIC_DATA, answer);
	}
	return -1;
}

/* -1 if the PHY does not answer, as the MII library wants it. */
static int mdio(struct intel_nic *nic, u32 command)
{
	int answer;

	if (!intel_phy_acquire(nic))
		return -1;
	answer = mdio_owned(nic, command);
	intel_phy_release(nic);
	return answer;
}

static int phy_read(struct net_device *dev, int address, int at)
{
	return mdio(netdev_priv(dev), MDIC_READ | FIELD_PREP(MDIC_REGISTER, (u32)at));
}

static void phy_write(struct net_device *dev, int address, int at, int value)
{
	mdio(netdev_priv(dev),
	     MDIC_WRITE | FIELD_PREP(MDIC_REGISTER, (u32)at) | FIELD_PREP(MDIC_DATA, (u32)value));
}

void intel_phy_init(struct intel_nic *nic)
{
	nic->mii = (struct mii_if_info){
		.phy_id = PHY_ADDRESS,
		.phy_id_mask = 0x1f,
		.reg_num_mask = 0x1f,
		.dev = nic->card.dev,
		.full_duplex = 1,
		.supports_gmii = 1,
		.mdio_read = phy_read,
		.mdio_write = phy_write,
	};
}

bool intel_phy_answers(struct intel_nic *nic)
{
	int tries;

	for (tries = 0; tries < ANSWER_TRIES; tries++) {
		int state = mdio(nic, MDIC_READ | FIELD_PREP(MDIC_REGISTER, MII_BMSR));

		/* nobody drives the lines */
		if (state >= 0 && state != 0xffff)
			return true;
		msleep(ANSWER_MS);
	}
	return false;
}

/*
 * A PHY that has negotiated keeps its link over a reset of the MAC and is left alone. Not every one
 * begins by itself: QEMU's 82576 waits to be started, and forgets its link with each reset.
 * The kernel's own drivers leave it without power, which a reset of the MAC does not change.
 */
void intel_phy_start(struct intel_nic *nic)
{
	int control = mdio(nic, MDIC_READ | FIELD_PREP(MDIC_REGISTER, MII_BMCR));
	int state = mdio(nic, MDIC_READ | FIELD_PREP(MDIC_REGISTER, MII_BMSR));

	if (control < 0 || state < 0)
		return;
	if (control & (BMCR_PDOWN | BMCR_ISOLATE))
		phy_write(nic->card.dev, PHY_ADDRESS, MII_BMCR,
			  control & ~(BMCR_PDOWN | BMCR_ISOLATE));
	if (control & BMCR_ANENABLE && !(state & BMSR_ANEGCOMPLETE))
		mii_nway_restart(&nic->mii);
}

struct card_link intel_link(const struct intel_nic *nic)
{
	static const u16 speeds[] = { SPEED_10, SPEED_100, SPEED_1000, SPEED_1000 };
	u32 status = intel_read(nic, STATUS);

	if (status == 0xffffffff || !(status & STATUS_LU))
		return (struct card_link){};
	return (struct card_link){ .mbps = speeds[FIELD_GET(STATUS_SPEED, status)],
				   .full = status & STATUS_FD };
}

void intel_link_work(struct work_struct *work)
{
	struct intel_nic *nic = container_of(to_delayed_work(work), struct intel_nic, link_work);

	card_link_is(&nic->card, intel_link(nic));
}
