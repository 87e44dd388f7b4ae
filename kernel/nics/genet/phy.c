// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PHY, by the MDIO master of the controller and phylib (mdio-bcm-unimac.c has its registers).
 */
#include <linux/bitfield.h>
#include <linux/brcmphy.h>
#include <linux/iopoll.h>
#include <linux/of.h>
#include <linux/of_mdio.h>
#include <linux/of_net.h>

#include "genet.h"

enum { MDIO_US = 2000 };

/*
 * As bcmgenet has it: the Pi's PHY sleeps as deep as the flags of the driver before say, and wakes
 * up from there only with the same flags.
 */
static const u32 phy_flags =
	PHY_BRCM_AUTO_PWRDWN_ENABLE | PHY_BRCM_DIS_TXCRXC_NOENRGY | PHY_BRCM_IDDQ_SUSPEND;

static int mdio(struct genet_nic *nic, int phy, int at, u32 command)
{
	u32 answer;
	int error;

	command |= FIELD_PREP(MDIO_PHY, (u32)phy) | FIELD_PREP(MDIO_REGISTER, (u32)at);
	genet_write(nic, UMAC_MDIO_CMD, command);
	genet_write(nic, UMAC_MDIO_CMD, command | MDIO_START_BUSY);
	error = readl_poll_timeout(nic->regs + UMAC_MDIO_CMD, answer, !(answer & MDIO_START_BUSY),
				   20, MDIO_US);
	if (error)
		return error;
	return answer & MDIO_READ_FAIL ? -EIO : (int)FIELD_GET(MDIO_DATA, answer);
}

static int mdio_read(struct mii_bus *bus, int phy, int at)
{
	return mdio(bus->priv, phy, at, MDIO_READ);
}

static int mdio_write(struct mii_bus *bus, int phy, int at, u16 value)
{
	int result = mdio(bus->priv, phy, at, MDIO_WRITE | FIELD_PREP(MDIO_DATA, value));

	return result < 0 ? result : 0;
}

static int add_bus(struct genet_nic *nic)
{
	struct device *device = nic->card.device;
	struct mii_bus *bus = devm_mdiobus_alloc(device);
	struct device_node *node;
	int error;

	if (!bus)
		return -ENOMEM;
	node = of_get_compatible_child(device->of_node, "brcm,genet-mdio-v5");
	if (!node)
		return dev_err_probe(device, -ENODEV, "the device tree has no MDIO bus here\n");
	bus->name = GENET_NAME;
	bus->priv = nic;
	bus->read = mdio_read;
	bus->write = mdio_write;
	bus->parent = device;
	snprintf(bus->id, MII_BUS_ID_SIZE, "%s", dev_name(device));
	error = devm_of_mdiobus_register(device, bus, node);
	of_node_put(node);
	return error;
}

/* The speed the MAC sends and receives with, and whether RGMII may. phylib calls it. */
static void adjust_link(struct net_device *dev)
{
	struct genet_nic *nic = netdev_priv(dev);
	const struct phy_device *phy = dev->phydev;
	u32 rgmii = genet_read(nic, EXT_RGMII_OOB_CTRL);
	u32 command;

	if (phy->link) {
		command = FIELD_PREP(CMD_SPEED, phy->speed == SPEED_1000 ? 2 :
						phy->speed == SPEED_100  ? 1 :
									   0);
		if (phy->duplex != DUPLEX_FULL)
			command |= CMD_HD_EN;
		genet_command(nic, CMD_SPEED | CMD_HD_EN, command);
		rgmii |= RGMII_LINK;
		genet_write(nic, EXT_RGMII_OOB_CTRL, rgmii);
		genet_end_reset(nic);
	} else {
		genet_write(nic, EXT_RGMII_OOB_CTRL, rgmii & ~RGMII_LINK);
	}
	phy_print_status(dev->phydev);
}

int genet_phy_connect(struct genet_nic *nic)
{
	struct device *device = nic->card.device;
	struct device_node *node;
	struct phy_device *phy;
	int error;

	error = of_get_phy_mode(device->of_node, &nic->interface);
	if (error)
		return dev_err_probe(device, error, "the device tree has no phy-mode\n");
	error = add_bus(nic);
	if (error)
		return error;
	node = of_parse_phandle(device->of_node, "phy-handle", 0);
	phy = of_phy_connect(nic->card.dev, node, adjust_link, phy_flags, nic->interface);
	of_node_put(node);
	if (!phy)
		return dev_err_probe(device, -ENODEV, "its PHY does not answer\n");
	/* it goes to sleep and wakes with the MAC */
	phy->mac_managed_pm = true;
	/* PAUSE would let the wire stand still */
	phy_remove_link_mode(phy, ETHTOOL_LINK_MODE_Pause_BIT);
	phy_remove_link_mode(phy, ETHTOOL_LINK_MODE_Asym_Pause_BIT);
	/* a PHY that stamps would be asked for clock and stamps instead of the link */
	phy->mii_ts = NULL;
	return 0;
}

struct card_link genet_link(const struct genet_nic *nic)
{
	const struct phy_device *phy = nic->card.dev->phydev;

	return (struct card_link){ .mbps = phy->link && phy->speed > 0 ? (u32)phy->speed : 0,
				   .full = phy->duplex == DUPLEX_FULL };
}
