// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device that lacks something while a driver tries it, and has it again when the driver has
 * decided: `modprobe lack_probe device=0000:00:10.0 lacks=interrupt`, until rmmod.
 *
 *	dma		no reach into memory is agreed on; PCI and platform
 *	interrupt	it has none; PCI and platform
 *	phy		nothing answers where the device tree says that its PHY is; platform
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/pci.h>
#include <linux/platform_device.h>

enum { OTHER_PHY = 9 };

static char *device = "";
module_param(device, charp, 0);
MODULE_PARM_DESC(device, "name of the device on its bus");
static char *lacks = "";
module_param(lacks, charp, 0);
MODULE_PARM_DESC(lacks, "dma, interrupt or phy");

/* What was taken away. */
static struct {
	bool taken;
	u64 *dma_mask;
	unsigned int irq;
	u8 pin;
	struct property *property;
	char *name;
	void *value;
} kept;

static __be32 other_phy = cpu_to_be32(OTHER_PHY);
static char hidden[] = "lack-probe,hidden";

static struct property *property_of(struct device_node *node, const char *name)
{
	return node ? of_find_property(node, name, NULL) : NULL;
}

static void take_interrupt(struct device *dev)
{
	if (dev_is_pci(dev)) {
		struct pci_dev *pdev = to_pci_dev(dev);

		kept.irq = pdev->irq;
		kept.pin = pdev->pin;
		pdev->irq = 0;
		pdev->pin = 0;
		pdev->no_msi = 1;
		return;
	}
	kept.property = property_of(dev->of_node, "interrupts");
	if (!kept.property)
		return;
	kept.name = kept.property->name;
	kept.property->name = hidden;
}

static void take_phy(struct device *dev)
{
	struct device_node *phy = of_parse_phandle(dev->of_node, "phy-handle", 0);

	kept.property = property_of(phy, "reg");
	of_node_put(phy);
	if (!kept.property)
		return;
	kept.value = kept.property->value;
	kept.property->value = &other_phy;
}

static void take(struct device *dev)
{
	memset(&kept, 0, sizeof(kept));
	kept.taken = true;
	if (!strcmp(lacks, "dma")) {
		kept.dma_mask = dev->dma_mask;
		dev->dma_mask = NULL;
	} else if (!strcmp(lacks, "interrupt")) {
		take_interrupt(dev);
	} else {
		take_phy(dev);
	}
}

static void give_back(struct device *dev)
{
	if (kept.dma_mask)
		dev->dma_mask = kept.dma_mask;
	if (!strcmp(lacks, "interrupt") && dev_is_pci(dev)) {
		to_pci_dev(dev)->irq = kept.irq;
		to_pci_dev(dev)->pin = kept.pin;
		to_pci_dev(dev)->no_msi = 0;
	}
	if (kept.name)
		kept.property->name = kept.name;
	if (kept.value)
		kept.property->value = kept.value;
	kept.taken = false;
}

/* A driver is about to be asked, or has said yes or no; one device at a time. */
static int heard(struct notifier_block *block, unsigned long event, void *data)
{
	struct device *dev = data;

	if (strcmp(dev_name(dev), device))
		return NOTIFY_DONE;
	if (event == BUS_NOTIFY_BIND_DRIVER)
		take(dev);
	else if (kept.taken &&
		 (event == BUS_NOTIFY_BOUND_DRIVER || event == BUS_NOTIFY_DRIVER_NOT_BOUND))
		give_back(dev);
	return NOTIFY_OK;
}

static struct notifier_block on_pci = { .notifier_call = heard };
static struct notifier_block on_platform = { .notifier_call = heard };

static int __init lack_probe_init(void)
{
	int error;

	if (strcmp(lacks, "dma") && strcmp(lacks, "interrupt") && strcmp(lacks, "phy"))
		return -EINVAL;
	error = bus_register_notifier(&pci_bus_type, &on_pci);
	if (error)
		return error;
	error = bus_register_notifier(&platform_bus_type, &on_platform);
	if (error)
		bus_unregister_notifier(&pci_bus_type, &on_pci);
	return error;
}

static void __exit lack_probe_exit(void)
{
	bus_unregister_notifier(&platform_bus_type, &on_platform);
	bus_unregister_notifier(&pci_bus_type, &on_pci);
}

module_init(lack_probe_init);
module_exit(lack_probe_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A device that lacks something while a driver tries it");
