// SPDX-License-Identifier: GPL-2.0-only
/*
 * A controller of the device tree is driven only by `driver_override`: the kernel's own driver
 * keeps what it has. The module has no aliases, so nothing loads it by itself.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/reset.h>
#include <linux/rtnetlink.h>

#include "gem.h"
#include "keepon_compat.h"
#include "keepon_version.h"

enum { ADDRESS_BITS = 44, ADDRESS_BITS_NARROW = 32 };

static const char *const compatible[] = {
	"xlnx,zynqmp-gem", "cdns,zynqmp-gem",     "xlnx,zynq-gem",
	"cdns,zynq-gem",   "raspberrypi,rp1-gem", "cdns,gem",
};

static bool is_gem(const struct device_node *node)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(compatible); i++) {
		if (of_device_is_compatible(node, compatible[i]))
			return true;
	}
	return false;
}

/* Those that the device tree names run as long as the driver has the device. */
static int start_clocks(struct gem_nic *nic)
{
	static const char *const names[] = { "pclk", "hclk", "tx_clk", "rx_clk", "tsu_clk" };
	struct clk *clk[ARRAY_SIZE(names)];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		clk[i] = devm_clk_get_optional_enabled(&nic->pdev->dev, names[i]);
		if (IS_ERR(clk[i]))
			return dev_err_probe(&nic->pdev->dev, PTR_ERR(clk[i]),
					     "its clock %s cannot be had\n", names[i]);
	}
	nic->pclk = clk[0];
	nic->tx_clk = clk[2];
	return 0;
}

/* What the controller was made with. */
static int read_design(struct gem_nic *nic)
{
	u32 number = FIELD_GET(MODULE_ID_NUMBER, gem_read(nic, MODULE_ID));
	u32 ahead = gem_read(nic, DESIGN_10);
	u32 design = gem_read(nic, DESIGN_6);

	if (number < MODULE_ID_GEM_MIN || number == FIELD_MAX(MODULE_ID_NUMBER))
		return dev_err_probe(&nic->pdev->dev, -ENODEV,
				     "module %#x of the controller is unknown\n", number);
	nic->queues = FIELD_GET(DESIGN_6_QUEUES, design);
	nic->desc_words = design & DESIGN_6_ADDRESS_64 ? 4 : 2;
	ahead = max(FIELD_GET(DESIGN_10_TX_AHEAD, ahead), FIELD_GET(DESIGN_10_RX_AHEAD, ahead));
	nic->desc_ahead = ahead ? BIT(ahead) : 0;
	nic->clears_causes = gem_read(nic, DESIGN_1) & DESIGN_1_IRQ_READ_CLEAR;
	return 0;
}

static int map_device(struct gem_nic *nic)
{
	struct device *device = &nic->pdev->dev;
	int error;

	if (!is_gem(device->of_node))
		return dev_err_probe(device, -ENODEV, "this is no Cadence GEM\n");
	nic->regs = devm_platform_ioremap_resource(nic->pdev, 0);
	if (IS_ERR(nic->regs))
		return dev_err_probe(device, PTR_ERR(nic->regs),
				     "the registers are taken; unbind the other driver first\n");
	nic->irq = platform_get_irq(nic->pdev, 0);
	if (nic->irq < 0)
		return nic->irq;
	error = start_clocks(nic);
	if (error)
		return error;
	error = device_reset_optional(device);
	if (error)
		return dev_err_probe(device, error, "it cannot be reset\n");
	error = read_design(nic);
	if (error)
		return error;
	error = dma_set_mask_and_coherent(device, DMA_BIT_MASK(nic->desc_words > DESC_ADDRESS_HIGH ?
								       ADDRESS_BITS :
								       ADDRESS_BITS_NARROW));
	if (error)
		return dev_err_probe(device, error, "no memory that the device can reach\n");
	return gem_idle_alloc(nic);
}

static struct net_device *new_device(struct platform_device *pdev)
{
	struct net_device *dev = devm_alloc_etherdev(&pdev->dev, sizeof(struct gem_nic));
	struct gem_nic *nic;

	if (!dev)
		return NULL;
	card_init(dev, &pdev->dev, &gem_card, gem_poll);
	dev->netdev_ops = &gem_netdev_ops;
	dev->ethtool_ops = &gem_ethtool_ops;
	nic = netdev_priv(dev);
	nic->card.chip = "Cadence GEM";
	nic->card.tx_slots = GEM_RING_SLOTS;
	nic->card.rx_slots = GEM_RING_SLOTS;
	nic->pdev = pdev;
	spin_lock_init(&nic->config_lock);
	raw_spin_lock_init(&nic->control_lock);
	return dev;
}

static int probe(struct platform_device *pdev)
{
	struct net_device *dev = new_device(pdev);
	struct gem_nic *nic;
	int error;

	if (!dev)
		return -ENOMEM;
	nic = netdev_priv(dev);
	error = map_device(nic);
	if (error)
		return error;
	if (device_get_ethdev_address(&pdev->dev, dev)) {
		eth_hw_addr_random(dev);
		dev_warn(&pdev->dev, "no address in the device tree; a random one is used\n");
	}
	error = gem_phy_connect(nic);
	if (error)
		return error;
	error = register_netdev(dev);
	if (error) {
		gem_phy_disconnect(nic);
		return error;
	}
	netdev_info(dev, "Cadence GEM; keepon has not been measured on one yet\n");
	return 0;
}

static keepon_removed remove(struct platform_device *pdev)
{
	struct net_device *dev = platform_get_drvdata(pdev);

	card_remove(dev);
	gem_phy_disconnect(netdev_priv(dev));
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

	/* it may have been without power */
	gem_reset(netdev_priv(dev));
	rtnl_lock();
	if (netif_running(dev))
		error = phy_init_hw(dev->phydev);
	rtnl_unlock();
	return error ?: card_resume(device);
}

static SIMPLE_DEV_PM_OPS(sleep, card_suspend, resume);

static struct platform_driver gem_driver = {
	.probe = probe,
	.remove = remove,
	.shutdown = shutdown,
	.driver = { .name = GEM_NAME, .pm = &sleep },
};

static int __init gem_init(void)
{
	int error;

	keepon_native_register(&gem_native);
	error = platform_driver_register(&gem_driver);
	if (error)
		keepon_native_unregister(&gem_native);
	return error;
}

static void __exit gem_exit(void)
{
	platform_driver_unregister(&gem_driver);
	keepon_native_unregister(&gem_native);
}

module_init(gem_init);
module_exit(gem_exit);

MODULE_LICENSE("GPL");
MODULE_VERSION(KEEPON_VERSION);
MODULE_DESCRIPTION("Cadence GEM whose transmit ring can be lent to keepon");
