// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI. A controller is driven only by `driver_override`: the kernel's own drivers keep what they
 * have. The module has no aliases, so nothing loads it by itself.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>

#include "intel.h"
#include "keepon_compat.h"
#include "keepon_version.h"

enum { BAR_REGISTERS = 0 };

enum intel_chip_id { CHIP_82540, CHIP_82574, CHIP_82576, CHIP_I350, CHIP_I210 };

#define LEGACY(chip_name, fifo_kb, is_pcie)                                                   \
	{                                                                                     \
		.name = (chip_name), .tx_base = 0x3800, .rx_base = 0x2800, .pcie = (is_pcie), \
		.tx_fifo_bytes = (fifo_kb) << 10                                              \
	}
#define ADVANCED(chip_name, fifo_kb, has_eee)                                            \
	{                                                                                \
		.name = (chip_name), .tx_base = 0xe000, .rx_base = 0xc000, .pcie = true, \
		.tx_fifo_bytes = (fifo_kb) << 10, .advanced = true, .eee = (has_eee)     \
	}

/* The FIFO: the packet buffer less the part of receiving. */
static const struct intel_chip chips[] = {
	[CHIP_82540] = LEGACY("82540/82545", 16, false), [CHIP_82574] = LEGACY("82574", 20, true),
	[CHIP_82576] = ADVANCED("82576", 40, false),     [CHIP_I350] = ADVANCED("I350", 40, true),
	[CHIP_I210] = ADVANCED("I210/I211", 24, true),
};

#define CHIP(device_id, chip)                                                     \
	{                                                                         \
		PCI_DEVICE_DRIVER_OVERRIDE(PCI_VENDOR_ID_INTEL, device_id, true), \
			.driver_data = (chip)                                     \
	}

static const struct pci_device_id devices[] = { CHIP(0x100e, CHIP_82540), /* 82540EM */
						CHIP(0x100f, CHIP_82540), /* 82545EM */
						CHIP(0x10d3, CHIP_82574), /* 82574L */
						CHIP(0x10f6, CHIP_82574), /* 82574LA */
						CHIP(0x10c9, CHIP_82576), /* 82576 */
						CHIP(0x1521, CHIP_I350),  /* I350 */
						CHIP(0x1533, CHIP_I210),  /* I210 */
						CHIP(0x1539, CHIP_I210),  /* I211 */
						{} };

/* ---- probe and remove ---- */

static int map_device(struct intel_nic *nic)
{
	struct pci_dev *pdev = nic->pdev;
	int error = pcim_enable_device(pdev);

	if (error)
		return dev_err_probe(&pdev->dev, error, "the PCI device cannot be enabled\n");
	error = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (error)
		error = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(32));
	if (error)
		return dev_err_probe(&pdev->dev, error, "no memory that the device can reach\n");
	error = pcim_iomap_regions(pdev, BIT(BAR_REGISTERS), INTEL_NAME);
	if (error)
		return dev_err_probe(&pdev->dev, error,
				     "the registers are taken; unbind the other driver first\n");
	nic->regs = pcim_iomap_table(pdev)[BAR_REGISTERS];
	error = pci_alloc_irq_vectors(pdev, 1, 1,
				      (nic->chip->advanced ? PCI_IRQ_MSIX : 0) | PCI_IRQ_MSI |
					      KEEPON_PCI_IRQ_INTX);
	if (error < 0)
		return dev_err_probe(&pdev->dev, error, "no interrupt\n");
	nic->msix = pdev->msix_enabled;
	return 0;
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	u8 address[ETH_ALEN];
	struct net_device *dev;
	struct intel_nic *nic;
	int error;

	/* driver_override asks for any device, and new_id for one of an unknown kind */
	id = pci_match_id(devices, pdev);
	if (!id)
		return dev_err_probe(&pdev->dev, -ENODEV,
				     "this driver does not know the device %04x:%04x\n",
				     pdev->vendor, pdev->device);
	dev = devm_alloc_etherdev(&pdev->dev, sizeof(struct intel_nic));
	if (!dev)
		return -ENOMEM;
	card_init(dev, &pdev->dev, &intel_card, intel_poll);
	dev->netdev_ops = &intel_netdev_ops;
	dev->ethtool_ops = &intel_ethtool_ops;
	nic = netdev_priv(dev);
	nic->pdev = pdev;
	nic->chip = &chips[id->driver_data];
	nic->card.chip = nic->chip->name;
	nic->card.tx_slots = INTEL_RING_DEFAULT;
	nic->card.rx_slots = INTEL_RING_DEFAULT;
	INIT_DELAYED_WORK(&nic->link_work, intel_link_work);
	error = map_device(nic);
	if (error)
		return error;
	error = intel_reset(nic);
	if (error) {
		error = dev_err_probe(&pdev->dev, error, "the controller does not answer\n");
		goto free_vectors;
	}
	if (!intel_phy_answers(nic)) {
		error = dev_err_probe(&pdev->dev, -ENODEV, "its PHY does not answer\n");
		goto free_vectors;
	}
	/* a bus that falls asleep between two frames would keep the wire waiting */
	if (nic->chip->pcie)
		pci_disable_link_state(pdev, PCIE_LINK_STATE_L0S | PCIE_LINK_STATE_L1);
	/* not before: the driver before may have left rings in memory that is another's now */
	pci_set_master(pdev);
	/* what slot_reset() gives back; a reset of the slot forgets it */
	pci_save_state(pdev);
	if (!intel_read_address(nic, address)) {
		eth_random_addr(address);
		dev_warn(&pdev->dev, "no address in the EEPROM; a random one is used\n");
	}
	eth_hw_addr_set(dev, address);
	intel_phy_init(nic);
	error = register_netdev(dev);
	if (error)
		goto free_vectors;
	netdev_info(dev, "Intel %s%s\n", nic->chip->name,
		    nic->chip->seen ? "" : "; keepon has not been measured on one yet");
	return 0;
free_vectors:
	pci_free_irq_vectors(pdev);
	return error;
}

static void remove(struct pci_dev *pdev)
{
	struct net_device *dev = pci_get_drvdata(pdev);
	struct card *card = netdev_priv(dev);

	/* pulled out: the owner of the ring need not find out by itself */
	if (!pci_device_is_present(pdev)) {
		card->gone = true;
		keepon_native_lost(dev);
	}
	card_remove(dev);
	pci_free_irq_vectors(pdev);
}

/* ---- sleep, errors ---- */

static int __maybe_unused resume(struct device *device)
{
	/* the core has given back what was saved, and it counts only once */
	pci_save_state(to_pci_dev(device));
	return card_resume(device);
}

static SIMPLE_DEV_PM_OPS(sleep, card_suspend, resume);

/* Nothing is stored into the memory of the kernel that comes next (kexec). */
static void shutdown(struct pci_dev *pdev)
{
	card_suspend(&pdev->dev);
}

static pci_ers_result_t error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct net_device *dev = pci_get_drvdata(pdev);

	keepon_native_lost(dev);
	card_suspend(&pdev->dev);
	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	pci_disable_device(pdev);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t slot_reset(struct pci_dev *pdev)
{
	if (pci_enable_device_mem(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	pci_set_master(pdev);
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void error_resume(struct pci_dev *pdev)
{
	struct net_device *dev = pci_get_drvdata(pdev);

	if (card_resume(&pdev->dev))
		netdev_err(dev, "it does not come back after an error of the bus\n");
}

static const struct pci_error_handlers error_handlers = {
	.error_detected = error_detected,
	.slot_reset = slot_reset,
	.resume = error_resume,
};

static struct pci_driver intel_driver = {
	.name = INTEL_NAME,
	.id_table = devices,
	.probe = probe,
	.remove = remove,
	.shutdown = shutdown,
	.driver.pm = &sleep,
	.err_handler = &error_handlers,
};

static int __init intel_init(void)
{
	int error;

	keepon_native_register(&intel_native);
	error = pci_register_driver(&intel_driver);
	if (error)
		keepon_native_unregister(&intel_native);
	return error;
}

static void __exit intel_exit(void)
{
	pci_unregister_driver(&intel_driver);
	keepon_native_unregister(&intel_native);
}

module_init(intel_init);
module_exit(intel_exit);

MODULE_LICENSE("GPL");
MODULE_VERSION(KEEPON_VERSION);
MODULE_DESCRIPTION("Intel gigabit controllers whose transmit ring can be lent to keepon");
