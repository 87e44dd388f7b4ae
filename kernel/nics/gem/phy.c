// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PHY, by the MDIO master of the controller and phylib, or a fixed link. Of the interfaces
 * between MAC and PHY those are known that need nothing else: MII, GMII, RGMII.
 */
#include <linux/iopoll.h>
#include <linux/of.h>
#include <linux/of_mdio.h>
#include <linux/of_net.h>

#include "gem.h"

enum {
	MDIO_STEP_US = 10,
	MDIO_US = 2000,
};

/* ---- MDIO ---- */

static int mdio(struct gem_nic *nic, int phy, int at, u32 command)
{
	u32 status;
	int error;

	gem_write(nic, PHY_MAINT,
		  PHY_CLAUSE_22 | PHY_MUST_10 | FIELD_PREP(PHY_ADDRESS, (u32)phy) |
			  FIELD_PREP(PHY_REGISTER, (u32)at) | command);
	error = readl_poll_timeout(nic->regs + NET_STATUS, status, status & STATUS_MDIO_IDLE,
				   MDIO_STEP_US, MDIO_US);
	return error ?: (int)FIELD_GET(PHY_DATA, gem_read(nic, PHY_MAINT));
}

static int mdio_read(struct mii_bus *bus, int phy, int at)
{
	return mdio(bus->priv, phy, at, PHY_READ);
}

static int mdio_write(struct mii_bus *bus, int phy, int at, u16 value)
{
	int result = mdio(bus->priv, phy, at, PHY_WRITE | FIELD_PREP(PHY_DATA, value));

	return result < 0 ? result : 0;
}

/* PHYs are in a node for the bus, or in that of the controller itself. */
static int add_bus(struct gem_nic *nic)
{
	struct device *device = nic->card.device;
	struct mii_bus *bus = devm_mdiobus_alloc(device);
	struct device_node *node;
	int error;

	if (!bus)
		return -ENOMEM;
	bus->name = GEM_NAME;
	bus->priv = nic;
	bus->read = mdio_read;
	bus->write = mdio_write;
	bus->parent = device;
	snprintf(bus->id, MII_BUS_ID_SIZE, "%s", dev_name(device));
	node = of_get_child_by_name(device->of_node, "mdio") ?: of_node_get(device->of_node);
	error = devm_of_mdiobus_register(device, bus, node);
	of_node_put(node);
	return error;
}

/* ---- link ---- */

static unsigned long clock_hz(int speed)
{
	return speed == SPEED_1000 ? 125000000 : speed == SPEED_100 ? 25000000 : 2500000;
}

/* phylib calls it. */
static void adjust_link(struct net_device *dev)
{
	struct gem_nic *nic = netdev_priv(dev);
	const struct phy_device *phy = dev->phydev;
	u32 set = phy->duplex == DUPLEX_FULL ? CFG_FULL : 0;

	if (phy->link) {
		if (phy->speed == SPEED_1000)
			set |= CFG_1000;
		else if (phy->speed == SPEED_100)
			set |= CFG_100;
		gem_configure(nic, CFG_FULL | CFG_1000 | CFG_100, set);
		/* one that cannot be set is the board's affair */
		if (clk_set_rate(nic->tx_clk, clock_hz(phy->speed)))
			netdev_dbg(dev, "the transmit clock keeps its rate\n");
	}
	phy_print_status(dev->phydev);
}

static bool is_known(phy_interface_t interface)
{
	return interface == PHY_INTERFACE_MODE_MII || interface == PHY_INTERFACE_MODE_GMII ||
	       phy_interface_mode_is_rgmii(interface);
}

static void forget_fixed_link(struct gem_nic *nic)
{
	struct device_node *node = nic->card.device->of_node;

	if (of_phy_is_fixed_link(node))
		of_phy_deregister_fixed_link(node);
}

int gem_phy_connect(struct gem_nic *nic)
{
	struct device *device = nic->card.device;
	struct phy_device *phy;
	int error = of_get_phy_mode(device->of_node, &nic->interface);

	if (error)
		return dev_err_probe(device, error, "the device tree has no phy-mode\n");
	if (!is_known(nic->interface))
		return dev_err_probe(device, -EOPNOTSUPP, "a PHY by %s is not supported\n",
				     phy_modes(nic->interface));
	gem_reset(nic);
	if (!of_phy_is_fixed_link(device->of_node)) {
		error = add_bus(nic);
		if (error)
			return error;
	}
	phy = of_phy_get_and_connect(nic->card.dev, device->of_node, adjust_link);
	if (!phy) {
		forget_fixed_link(nic);
		return dev_err_probe(device, -ENODEV, "its PHY does not answer\n");
	}
	/* it goes to sleep and wakes with the MAC */
	phy->mac_managed_pm = true;
	/* PAUSE would let the wire stand still */
	phy_remove_link_mode(phy, ETHTOOL_LINK_MODE_Pause_BIT);
	phy_remove_link_mode(phy, ETHTOOL_LINK_MODE_Asym_Pause_BIT);
	/* a PHY that stamps would be asked for clock and stamps instead of the link */
	phy->mii_ts = NULL;
	return 0;
}

void gem_phy_disconnect(struct gem_nic *nic)
{
	phy_disconnect(nic->card.dev->phydev);
	forget_fixed_link(nic);
}

struct card_link gem_link(const struct gem_nic *nic)
{
	const struct phy_device *phy = nic->card.dev->phydev;

	return (struct card_link){ .mbps = phy->link && phy->speed > 0 ? (u32)phy->speed : 0,
				   .full = phy->duplex == DUPLEX_FULL };
}
