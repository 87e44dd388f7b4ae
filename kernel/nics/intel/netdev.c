// SPDX-License-Identifier: GPL-2.0-only
/* Up, down, interrupt, statistics. */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "intel.h"

enum {
	GONE = 0xffffffff,
	LINK_MS = 3000,
};

static const u32 causes = CAUSE_TXDW | CAUSE_LSC | CAUSE_RXDMT0 | CAUSE_RXO | CAUSE_RXT0;

/* A controller that was pulled out, or whose bus is dead, reads as all ones. */
static void lose(struct intel_nic *nic)
{
	if (nic->gone)
		return;
	nic->gone = true;
	netdev_err(nic->dev, "the controller does not answer any more\n");
	keepon_native_lost(nic->dev);
	netif_device_detach(nic->dev);
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct intel_nic *nic = data;
	u32 icr = intel_read(nic, ICR);

	if (icr == GONE) {
		lose(nic);
		return IRQ_NONE;
	}
	if (!(icr & causes))
		return IRQ_NONE;
	if (icr & CAUSE_LSC)
		mod_delayed_work(system_wq, &nic->link_work, 0);
	if (icr & ~CAUSE_LSC && napi_schedule_prep(&nic->napi)) {
		intel_write(nic, IMC, causes & ~CAUSE_LSC);
		__napi_schedule(&nic->napi);
	}
	return IRQ_HANDLED;
}

int intel_poll(struct napi_struct *napi, int budget)
{
	struct intel_nic *nic = container_of(napi, struct intel_nic, napi);
	int done;

	intel_transmit_clean(nic, budget);
	done = intel_receive(nic, budget);
	if (done < budget && napi_complete_done(napi, done))
		intel_write(nic, IMS, causes);
	return done;
}

static int allocate(struct intel_nic *nic)
{
	int error;

	nic->tx_skb = kcalloc(nic->tx_slots, sizeof(*nic->tx_skb), GFP_KERNEL);
	nic->tx_dma = kcalloc(nic->tx_slots, sizeof(*nic->tx_dma), GFP_KERNEL);
	error = nic->tx_skb && nic->tx_dma ? intel_ring_alloc(nic, &nic->tx, nic->tx_slots) :
					     -ENOMEM;
	return error ?: intel_receive_alloc(nic);
}

static void release(struct intel_nic *nic)
{
	intel_receive_free(nic);
	intel_ring_free(nic, &nic->tx);
	kfree(nic->tx_skb);
	kfree(nic->tx_dma);
	nic->tx_skb = NULL;
	nic->tx_dma = NULL;
}

static void wait_for_link(struct intel_nic *nic)
{
	u32 waited_ms;

	for (waited_ms = 0; !intel_link(nic).mbps && waited_ms < LINK_MS; waited_ms += 20)
		msleep(20);
}

/*
 * After a reset: all rings, the MAC, interrupts. The PHY keeps its link over a reset, the MAC looks
 * for it anew: nobody is to hear of that (@link: there was one).
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
	napi_enable(&nic->napi);
	/* without it the 82576 says nothing of frames that have left */
	if (nic->chip->advanced)
		intel_write(nic, IVAR0, IVAR_RX_VALID | IVAR_TX_VALID);
	intel_write(nic, IMS, causes);
	/* a link that is there already causes no interrupt */
	schedule_delayed_work(&nic->link_work, 0);
}

void intel_restart(struct intel_nic *nic, const struct intel_ring *ring)
{
	bool link = netif_carrier_ok(nic->dev);

	napi_disable(&nic->napi);
	intel_write(nic, IMC, GONE);
	cancel_delayed_work_sync(&nic->link_work);
	/* not while NAPI may complete them */
	intel_transmit_drop(nic);
	intel_read_counters(nic);
	/* over a lent ring no interrupt need ever tell that it is gone */
	if (intel_reset(nic))
		lose(nic);
	start(nic, ring, link && !nic->gone);
}

int intel_up(struct intel_nic *nic)
{
	int error;

	if (WARN_ON(nic->up))
		return -EBUSY;
	error = allocate(nic);
	error = error ?: intel_reset(nic);
	if (error)
		goto release;
	nic->gone = false;
	error = request_irq(pci_irq_vector(nic->pdev, 0), interrupt, IRQF_SHARED, nic->dev->name,
			    nic);
	if (error)
		goto release;
	start(nic, &nic->tx, false);
	netif_start_queue(nic->dev);
	nic->up = true;
	return 0;
release:
	release(nic);
	return error;
}

void intel_down(struct intel_nic *nic)
{
	if (!nic->up)
		return;
	nic->up = false;
	netif_tx_disable(nic->dev);
	napi_disable(&nic->napi);
	intel_write(nic, IMC, GONE);
	intel_read_counters(nic);
	intel_reset(nic);
	free_irq(pci_irq_vector(nic->pdev, 0), nic);
	cancel_delayed_work_sync(&nic->link_work);
	netif_carrier_off(nic->dev);
	intel_transmit_drop(nic);
	release(nic);
}

static int nic_open(struct net_device *dev)
{
	struct intel_nic *nic = netdev_priv(dev);

	netif_carrier_off(dev);
	return intel_up(nic);
}

static int nic_stop(struct net_device *dev)
{
	/* whoever had claimed a ring has heard NETDEV_GOING_DOWN, and has given it back */
	intel_down(netdev_priv(dev));
	return 0;
}

static int nic_set_address(struct net_device *dev, void *address)
{
	int error = eth_mac_addr(dev, address);

	if (!error && netif_running(dev))
		intel_set_address(netdev_priv(dev));
	return error;
}

/* ---- a transmitter that hangs ---- */

static void nic_tx_timeout(struct net_device *dev, unsigned int queue)
{
	struct intel_nic *nic = netdev_priv(dev);

	schedule_work(&nic->reset_work);
}

void intel_reset_work(struct work_struct *work)
{
	struct intel_nic *nic = container_of(work, struct intel_nic, reset_work);

	rtnl_lock();
	/* a suspended one is not there, and is started anew when it comes back */
	if (netif_running(nic->dev) && netif_device_present(nic->dev) && !nic->lent) {
		netdev_err(nic->dev, "no frame has left for too long: the controller is reset\n");
		intel_down(nic);
		if (intel_up(nic))
			netdev_err(nic->dev, "it does not come back\n");
	}
	rtnl_unlock();
}

/* ---- statistics ---- */

void intel_read_counters(struct intel_nic *nic)
{
	/* all ones are no counts */
	if (nic->gone || intel_read(nic, STATUS) == GONE)
		return;
	spin_lock_bh(&nic->counters_lock);
	nic->crc_errors += intel_read(nic, CRCERRS);
	nic->missed += intel_read(nic, MPC);
	nic->undersize += intel_read(nic, RUC);
	nic->oversize += intel_read(nic, ROC);
	nic->sent_on_wire += intel_read(nic, TPT);
	spin_unlock_bh(&nic->counters_lock);
}

static void nic_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct intel_nic *nic = netdev_priv(dev);

	dev_fetch_sw_netstats(stats, dev->tstats);
	if (netif_running(dev))
		intel_read_counters(nic);
	stats->rx_crc_errors = nic->crc_errors;
	stats->rx_missed_errors = nic->missed;
	stats->rx_length_errors = nic->undersize + nic->oversize;
	stats->rx_errors = stats->rx_crc_errors + stats->rx_length_errors;
}

static int nic_init(struct net_device *dev)
{
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	return dev->tstats ? 0 : -ENOMEM;
}

static void nic_uninit(struct net_device *dev)
{
	free_percpu(dev->tstats);
	dev->tstats = NULL;
}

const struct net_device_ops intel_netdev_ops = {
	.ndo_init = nic_init,
	.ndo_uninit = nic_uninit,
	.ndo_open = nic_open,
	.ndo_stop = nic_stop,
	.ndo_start_xmit = intel_transmit,
	.ndo_set_rx_mode = intel_set_filters,
	.ndo_set_mac_address = nic_set_address,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_get_stats64 = nic_get_stats64,
	.ndo_tx_timeout = nic_tx_timeout,
};
