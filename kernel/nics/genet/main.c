// SPDX-License-Identifier: GPL-2.0-only
/*
 * The controller of the device tree is driven only by `driver_override`: the kernel's own driver
 * keeps what it has. The module has no aliases, so nothing loads it by itself.
 */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/rtnetlink.h>

#include "genet.h"
#include "keepon_compat.h"
#include "keepon_version.h"

#define COMPATIBLE "brcm,bcm2711-genet-v5"

enum { ADDRESS_BITS = 40 };

static int map_device(struct genet_nic *nic)
{
	struct device *device = &nic->pdev->dev;
	u32 revision;
	int error;

	if (!of_device_is_compatible(device->of_node, COMPATIBLE))
		return dev_err_probe(device, -ENODEV, "this is no %s\n", COMPATIBLE);
	nic->regs = devm_platform_ioremap_resource(nic->pdev, 0);
	if (IS_ERR(nic->regs))
		return dev_err_probe(device, PTR_ERR(nic->regs),
				     "the registers are taken; unbind the other driver first\n");
	revision = FIELD_GET(SYS_REV_MAJOR, genet_read(nic, SYS_REV_CTRL));
	if (revision != SYS_REV_MAJOR_V5)
		return dev_err_probe(device, -ENODEV, "revision %u of the controller is unknown\n",
				     revision);
	nic->irq = platform_get_irq(nic->pdev, 0);
	if (nic->irq < 0)
		return nic->irq;
	error = dma_set_mask_and_coherent(device, DMA_BIT_MASK(ADDRESS_BITS));
	if (error)
		return dev_err_probe(device, error, "no memory that the device can reach\n");
	return 0;
}

static int probe(struct platform_device *pdev)
{
	struct net_device *dev = devm_alloc_etherdev(&pdev->dev, sizeof(struct genet_nic));
	struct genet_nic *nic;
	int error;

	if (!dev)
		return -ENOMEM;
	card_init(dev, &pdev->dev, &genet_card, genet_poll);
	dev->netdev_ops = &genet_netdev_ops;
	dev->ethtool_ops = &genet_ethtool_ops;
	dev->hw_features = NETIF_F_LOOPBACK;
	nic = netdev_priv(dev);
	nic->card.chip = "GENET v5";
	nic->card.tx_slots = GENET_SLOTS;
	nic->card.rx_slots = GENET_SLOTS;
	nic->pdev = pdev;
	spin_lock_init(&nic->command_lock);
	raw_spin_lock_init(&nic->discards_lock);
	error = map_device(nic);
	if (error)
		return error;
	if (device_get_ethdev_address(&pdev->dev, dev)) {
		eth_hw_addr_random(dev);
		dev_warn(&pdev->dev, "no address in the device tree; a random one is used\n");
	}
	genet_reset(nic);
	error = genet_phy_connect(nic);
	if (error)
		return error;
	error = register_netdev(dev);
	if (error) {
		phy_disconnect(dev->phydev);
		return error;
	}
	netdev_info(dev, "Broadcom GENET v5; keepon has not been measured on one yet\n");
	return 0;
}

static keepon_removed remove(struct platform_device *pdev)
{
	struct net_device *dev = platform_get_drvdata(pdev);

	card_remove(dev);
	phy_disconnect(dev->phydev);
	return KEEPON_REMOVED;
}

/* Nothing is stored into the memory of the kernel that comes next (kexec). */
static void shutdown(struct platform_device *pdev)
{
	card_suspend(&pdev->dev);
}

/* ---- sleep ---- */

static int __maybe_unused resume(struct device *device)
{
	struct net_device *dev = dev_get_drvdata(device);
	int error = 0;

	rtnl_lock();
	/* it may have been without power */
	if (netif_running(dev))
		error = phy_init_hw(dev->phydev);
	rtnl_unlock();
	return error ?: card_resume(device);
}

static SIMPLE_DEV_PM_OPS(sleep, card_suspend, resume);

static struct platform_driver genet_driver = {
	.probe = probe,
	.remove = remove,
	.shutdown = shutdown,
	.driver = { .name = GENET_NAME, .pm = &sleep },
};

static int __init genet_init(void)
{
	int error;

	keepon_native_register(&genet_native);
	error = platform_driver_register(&genet_driver);
	if (error)
		keepon_native_unregister(&genet_native);
	return error;
}

static void __exit genet_exit(void)
{
	platform_driver_unregister(&genet_driver);
	keepon_native_unregister(&genet_native);
}

module_init(genet_init);
module_exit(genet_exit);

MODULE_LICENSE("GPL");
MODULE_VERSION(KEEPON_VERSION);
MODULE_DESCRIPTION("Broadcom GENET v5 whose rings can be lent to keepon");
