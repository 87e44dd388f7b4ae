// SPDX-License-Identifier: GPL-2.0-only
/* Up, down, interrupt, what is counted. */
#include <linux/delay.h>
#include <linux/etherdevice.h>

#include "intel.h"

enum {
	GONE = 0xffffffff,
	LINK_MS = 3000,
	/*
	 * At most so often, lest every frame has an interrupt: at a gigabit 74 of the shortest in
	 * that time, of rings of 256.
	 */
	INTERRUPT_US = 50,
};

static const u32 causes = CAUSE_TXDW | CAUSE_LSC | CAUSE_RXDMT0 | CAUSE_RXO | CAUSE_RXT0;

/* A controller that was pulled out, or whose bus is dead, reads as all ones. */
static void lose(struct intel_nic *nic)
{
	if (nic->card.gone)
		return;
	nic->card.gone = true;
	netdev_err(nic->card.dev, "the controller does not answer any more\n");
	keepon_native_lost(nic->card.dev);
	netif_device_detach(nic->card.dev);
}

/* Frames cause no interrupt; a link that changes may. */
static void mask(struct intel_nic *nic)
{
	if (nic->msix)
		intel_write(nic, EIMC, VECTOR_0);
	else
		intel_write(nic, IMC, causes & ~CAUSE_LSC);
}

static void unmask(struct intel_nic *nic)
{
	if (nic->msix)
		intel_write(nic, EIMS, VECTOR_0);
	else
		intel_write(nic, IMS, causes);
}

static void mask_all(struct intel_nic *nic)
{
	intel_write(nic, IMC, GONE);
	if (nic->msix)
		intel_write(nic, EIMC, GONE);
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct intel_nic *nic = data;
	u32 icr = intel_read(nic, ICR);

	if (icr == GONE) {
		lose(nic);
		return IRQ_NONE;
	}
	if (!nic->msix && !(icr & causes))
		return IRQ_NONE;
	if (icr & CAUSE_LSC)
		mod_delayed_work(system_wq, &nic->link_work, 0);
	if ((nic->msix || icr & ~CAUSE_LSC) && napi_schedule_prep(&nic->card.napi)) {
		mask(nic);
		__napi_schedule(&nic->card.napi);
	}
	return IRQ_HANDLED;
}

int intel_poll(struct napi_struct *napi, int budget)
{
	struct intel_nic *nic = container_of(napi, struct intel_nic, card.napi);
	int done;

	intel_transmit_clean(nic, budget);
	done = intel_receive(nic, budget);
	if (done < budget && napi_complete_done(napi, done))
		unmask(nic);
	return done;
}

static int allocate(struct intel_nic *nic)
{
	struct card *card = &nic->card;
	int error = card_alloc(card);

	error = error ?: intel_ring_alloc(nic, &nic->tx, card->tx_slots);
	return error ?: intel_ring_alloc(nic, &nic->rx, card->rx_slots);
}

static void release(struct intel_nic *nic)
{
	intel_ring_free(nic, &nic->rx);
	intel_ring_free(nic, &nic->tx);
	card_free(&nic->card);
}

static void wait_for_link(struct intel_nic *nic)
{
	u32 waited_ms;

	for (waited_ms = 0; !intel_link(nic).mbps && waited_ms < LINK_MS; waited_ms += 20)
		msleep(20);
}

/*
 * The 82576 and later moderate by vector; without IVAR they say nothing of frames that have left.
 */
static void start_interrupts(struct intel_nic *nic)
{
	if (!nic->chip->advanced) {
		if (nic->chip->pcie)
			intel_write(nic, ITR, INTERRUPT_US * 1000 / ITR_NS);
		unmask(nic);
		return;
	}
	intel_write(nic, IVAR0, IVAR_RX_VALID | IVAR_TX_VALID);
	intel_write(nic, EITR0, INTERRUPT_US << EITR_US_SHIFT);
	if (nic->msix) {
		intel_write(nic, GPIE, GPIE_MSIX | GPIE_NSICR);
		intel_write(nic, IVAR_MISC, IVAR_OTHER_VALID);
		intel_write(nic, EIAC, VECTOR_0);
		intel_write(nic, IMS, CAUSE_LSC);
	}
	unmask(nic);
}

/*
 * After a reset: all rings, the MAC, interrupts. The PHY keeps its link over a reset and the MAC
 * looks for it again, which is not reported as a loss of carrier (@link: there was one).
 */
static void start(struct intel_nic *nic, const struct intel_ring *ring, bool link)
{
	intel_set_address(nic);
	intel_receive_start(nic);
	intel_start_transmit(nic, ring);
	intel_start_mac(nic);
	intel_phy_start(nic);
	if (link)
		wait_for_link(nic);
	napi_enable(&nic->card.napi);
	start_interrupts(nic);
	/* a link that is there already causes no interrupt */
	schedule_delayed_work(&nic->link_work, 0);
}

void intel_restart(struct intel_nic *nic, const struct intel_ring *ring)
{
	bool link = netif_carrier_ok(nic->card.dev);

	napi_disable(&nic->card.napi);
	mask_all(nic);
	cancel_delayed_work_sync(&nic->link_work);
	card_read_counters(&nic->card);
	/* over a lent ring no interrupt need ever tell that it is gone */
	if (intel_reset(nic))
		lose(nic);
	/* not while NAPI may complete them, nor while the controller may fetch them */
	card_drop_all(&nic->card);
	start(nic, ring, link && !nic->card.gone);
}

static int nic_up(struct card *card)
{
	struct intel_nic *nic = intel_of(card);
	int error;

	if (WARN_ON(card->up))
		return -EBUSY;
	error = allocate(nic);
	error = error ?: intel_reset(nic);
	if (error)
		goto release;
	card->gone = false;
	error = request_irq(pci_irq_vector(nic->pdev, 0), interrupt, IRQF_SHARED, card->dev->name,
			    nic);
	if (error)
		goto release;
	start(nic, &nic->tx, false);
	/* frames wait if it was down for a new ring only */
	netif_wake_queue(card->dev);
	card->up = true;
	return 0;
release:
	release(nic);
	return error;
}

static void nic_down(struct card *card)
{
	struct intel_nic *nic = intel_of(card);

	if (!card->up)
		return;
	card->up = false;
	card_quiet(card);
	mask_all(nic);
	card_read_counters(card);
	intel_reset(nic);
	intel_tell_firmware(nic, false);
	free_irq(pci_irq_vector(nic->pdev, 0), nic);
	cancel_delayed_work_sync(&nic->link_work);
	netif_carrier_off(card->dev);
	card_drop_all(card);
	release(nic);
}

/* ---- what is counted ---- */

/* Reading a register clears it. */
static const struct card_counter counters[] = {
	{ "tx_frames_on_wire", 0, TPT },
	{ "rx_crc_errors", CARD_STAT(rx_crc_errors), CRCERRS },
	{ "rx_missed", CARD_STAT(rx_missed_errors), MPC },
	{ "rx_undersize", CARD_STAT(rx_length_errors), RUC },
	{ "rx_oversize", CARD_STAT(rx_length_errors), ROC },
};

static_assert(ARRAY_SIZE(counters) <= CARD_COUNTERS_MAX);

static void nic_read_counters(struct card *card)
{
	struct intel_nic *nic = intel_of(card);
	u32 i;

	/* all ones are no counts */
	if (card->gone || intel_read(nic, STATUS) == GONE)
		return;
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		card->count[i] += intel_read(nic, counters[i].at);
}

const struct card_driver intel_card = {
	.name = INTEL_NAME,
	.up = nic_up,
	.down = nic_down,
	.read_counters = nic_read_counters,
	.counters = counters,
	.counters_count = ARRAY_SIZE(counters),
	.slots_max = INTEL_RING_MAX,
};

static int nic_set_address(struct net_device *dev, void *address)
{
	int error = eth_mac_addr(dev, address);

	if (!error && netif_running(dev))
		intel_set_address(netdev_priv(dev));
	return error;
}

static int nic_ioctl(struct net_device *dev, struct ifreq *request, int command)
{
	struct intel_nic *nic = netdev_priv(dev);

	if (!netif_running(dev))
		return -EAGAIN;
	return generic_mii_ioctl(&nic->mii, if_mii(request), command, NULL);
}

CARD_IOCTL(nic_ioctl)

const struct net_device_ops intel_netdev_ops = {
	CARD_NETDEV_OPS,
	.ndo_start_xmit = intel_transmit,
	.ndo_set_rx_mode = intel_set_filters,
	.ndo_set_mac_address = nic_set_address,
	.ndo_validate_addr = eth_validate_addr,
	CARD_IOCTL_OPS(nic_ioctl),
};
