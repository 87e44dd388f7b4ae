// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fatal error of the bus as a PCI driver hears of it, and a slot that forgets where the card's
 * registers were: `modprobe bus_error_probe dev=eth0`. Loading returns after the last
 * callback of the driver.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>

enum { RESET_MS = 10, BARS = 4 };

static char *dev = "eth0";
module_param(dev, charp, 0);
MODULE_PARM_DESC(dev, "interface whose bus fails for a moment");

/* What a reset of the slot leaves of the configuration. */
static void forget(struct pci_dev *pdev)
{
	int bar;

	pci_write_config_word(pdev, PCI_COMMAND, 0);
	for (bar = 0; bar < BARS; bar++)
		pci_write_config_dword(pdev, PCI_BASE_ADDRESS_0 + 4 * bar, 0);
}

static int fail(struct pci_dev *pdev, const struct pci_error_handlers *handlers)
{
	pci_ers_result_t answer;

	device_lock(&pdev->dev);
	answer = handlers->error_detected(pdev, pci_channel_io_frozen);
	if (answer == PCI_ERS_RESULT_NEED_RESET) {
		forget(pdev);
		msleep(RESET_MS);
		answer = handlers->slot_reset(pdev);
	}
	if (answer == PCI_ERS_RESULT_RECOVERED)
		handlers->resume(pdev);
	device_unlock(&pdev->dev);
	return answer == PCI_ERS_RESULT_RECOVERED ? 0 : -EIO;
}

static int __init bus_error_probe_init(void)
{
	struct net_device *net = dev_get_by_name(&init_net, dev);
	struct pci_dev *pdev;
	int err = -ENODEV;

	if (!net)
		return err;
	pdev = pci_dev_get(to_pci_dev(net->dev.parent));
	dev_put(net);
	if (pdev->driver && pdev->driver->err_handler)
		err = fail(pdev, pdev->driver->err_handler);
	pci_dev_put(pdev);
	return err;
}

static void __exit bus_error_probe_exit(void)
{
}

module_init(bus_error_probe_init);
module_exit(bus_error_probe_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A fatal error of the bus");
