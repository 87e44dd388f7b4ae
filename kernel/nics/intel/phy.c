// SPDX-License-Identifier: GPL-2.0-only
/* The PHY, by MDIO (82574 section 10.2.2.7), and the link. */
#include <linux/bitfield.h>
#include <linux/delay.h>

#include "intel.h"

enum {
	PHY_ADDRESS = 1,
	MDIO_US = 2000,
	ANSWER_TRIES = 10,
	ANSWER_MS = 20, /* until the next: it is configured from the EEPROM after a reset */
};

/* -1 if the PHY does not answer, as the MII library wants it. */
static int mdio(struct intel_nic *nic, u32 command)
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
 * begins by itself: QEMU's 82576 waits until it is told to, and forgets its link with each reset.
 */
void intel_phy_start(struct intel_nic *nic)
{
	int control = mdio(nic, MDIC_READ | FIELD_PREP(MDIC_REGISTER, MII_BMCR));
	int state = mdio(nic, MDIC_READ | FIELD_PREP(MDIC_REGISTER, MII_BMSR));

	if (control >= 0 && state >= 0 && control & BMCR_ANENABLE && !(state & BMSR_ANEGCOMPLETE))
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
