// SPDX-License-Identifier: GPL-2.0-only
/* Up, down, interrupt, statistics. */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "genet.h"

/* 0: not a register of its own */
static const u16 counter_at[GENET_COUNTERS] = {
	[GENET_TX_ON_WIRE] = UMAC_MIB_TX_PKT,       [GENET_TX_FCS_ERRORS] = UMAC_MIB_TX_FCS,
	[GENET_RX_ON_WIRE] = UMAC_MIB_RX_PKT,       [GENET_RX_CRC_ERRORS] = UMAC_MIB_RX_FCS,
	[GENET_RX_OVERSIZE] = UMAC_MIB_RX_OVERSIZE, [GENET_RX_OVERFLOWS] = RBUF_OVERFLOWS,
};

/* ---- interrupt ---- */

void genet_set_irqs(struct genet_nic *nic, u32 irqs)
{
	WRITE_ONCE(nic->irqs, irqs);
	genet_write(nic, INTRL2_MASK_SET, ~irqs);
	genet_write(nic, INTRL2_MASK_CLEAR, irqs);
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct genet_nic *nic = data;
	u32 causes = genet_read(nic, INTRL2_STATUS) & ~genet_read(nic, INTRL2_MASK_STATUS);

	if (!causes)
		return IRQ_NONE;
	genet_write(nic, INTRL2_CLEAR, causes);
	if (napi_schedule_prep(&nic->napi)) {
		genet_write(nic, INTRL2_MASK_SET, IRQ_RX_DONE | IRQ_TX_DONE);
		__napi_schedule(&nic->napi);
	}
	return IRQ_HANDLED;
}

int genet_poll(struct napi_struct *napi, int budget)
{
	struct genet_nic *nic = container_of(napi, struct genet_nic, napi);
	int done;

	genet_transmit_clean(nic, budget);
	done = genet_receive(nic, budget);
	/* a cause that came since is pending still, and interrupts when it is unmasked */
	if (done < budget && napi_complete_done(napi, done))
		genet_write(nic, INTRL2_MASK_CLEAR, READ_ONCE(nic->irqs));
	return done;
}

/* ---- statistics ---- */

/* @since: of what is added to the sums; else it is where counting begins */
static void read_counters(struct genet_nic *nic, bool since)
{
	int i;

	spin_lock_bh(&nic->counters_lock);
	for (i = 0; i < GENET_COUNTERS; i++) {
		u32 now = counter_at[i] ? genet_read(nic, counter_at[i]) : genet_discarded(nic);

		if (since)
			nic->count[i] += now - nic->counted[i];
		nic->counted[i] = now;
	}
	spin_unlock_bh(&nic->counters_lock);
}

void genet_read_counters(struct genet_nic *nic)
{
	read_counters(nic, true);
}

static void nic_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct genet_nic *nic = netdev_priv(dev);

	dev_fetch_sw_netstats(stats, dev->tstats);
	if (READ_ONCE(nic->up))
		genet_read_counters(nic);
	stats->rx_crc_errors = nic->count[GENET_RX_CRC_ERRORS];
	stats->rx_length_errors = nic->count[GENET_RX_OVERSIZE];
	stats->rx_missed_errors = nic->count[GENET_RX_DISCARDED];
	stats->rx_fifo_errors = nic->count[GENET_RX_OVERFLOWS];
	stats->rx_errors = stats->rx_crc_errors + stats->rx_length_errors;
}

/* ---- up and down ---- */

static void release(struct genet_nic *nic)
{
	genet_buffers_free(nic, &nic->rx_buffers);
	kfree(nic->tx);
	nic->tx = NULL;
}

int genet_up(struct genet_nic *nic)
{
	int error;

	if (WARN_ON(nic->up))
		return -EBUSY;
	nic->tx = kcalloc(GENET_SLOTS, sizeof(*nic->tx), GFP_KERNEL);
	if (!nic->tx)
		return -ENOMEM;
	error = genet_buffers_alloc(nic, &nic->rx_buffers, DMA_FROM_DEVICE);
	if (error)
		goto release;
	genet_reset(nic);
	error = request_irq(nic->irq, interrupt, 0, nic->dev->name, nic);
	if (error)
		goto release;
	nic->tx_next = 0;
	nic->tx_done = 0;
	genet_receive_start(nic);
	read_counters(nic, false);
	genet_start_transmit(nic, GENET_SLOTS);
	genet_start_mac(nic);
	napi_enable(&nic->napi);
	genet_set_irqs(nic, IRQ_RX_DONE | IRQ_TX_DONE);
	netif_start_queue(nic->dev);
	phy_start(nic->dev->phydev);
	nic->up = true;
	return 0;
release:
	release(nic);
	return error;
}

void genet_down(struct genet_nic *nic)
{
	if (!nic->up)
		return;
	nic->up = false;
	phy_stop(nic->dev->phydev);
	netif_tx_disable(nic->dev);
	napi_disable(&nic->napi);
	genet_set_irqs(nic, 0);
	free_irq(nic->irq, nic);
	genet_command(nic, CMD_RX_EN, 0);
	genet_read_counters(nic);
	genet_stop_transmit(nic);
	/* with its DMA off, before a buffer of it is freed */
	genet_reset(nic);
	genet_transmit_drop(nic);
	release(nic);
}

static int nic_open(struct net_device *dev)
{
	return genet_up(netdev_priv(dev));
}

static int nic_stop(struct net_device *dev)
{
	/* whoever had claimed a ring has heard NETDEV_GOING_DOWN, and has given it back */
	genet_down(netdev_priv(dev));
	return 0;
}

static int nic_set_address(struct net_device *dev, void *address)
{
	int error = eth_mac_addr(dev, address);

	if (!error && netif_running(dev))
		genet_set_address(netdev_priv(dev));
	return error;
}

static int nic_set_features(struct net_device *dev, netdev_features_t features)
{
	struct genet_nic *nic = netdev_priv(dev);

	dev->features = (dev->features & ~NETIF_F_LOOPBACK) | (features & NETIF_F_LOOPBACK);
	if (nic->up)
		genet_set_loopback(nic);
	return 0;
}

/* ---- a transmitter that hangs ---- */

static void nic_tx_timeout(struct net_device *dev, unsigned int queue)
{
	struct genet_nic *nic = netdev_priv(dev);

	schedule_work(&nic->reset_work);
}

void genet_reset_work(struct work_struct *work)
{
	struct genet_nic *nic = container_of(work, struct genet_nic, reset_work);

	rtnl_lock();
	/* a suspended one is not there, and is started anew when it comes back */
	if (netif_running(nic->dev) && netif_device_present(nic->dev) && !nic->lent) {
		netdev_err(nic->dev, "no frame has left for too long: the controller is reset\n");
		genet_down(nic);
		if (genet_up(nic))
			netdev_err(nic->dev, "it does not come back\n");
	}
	rtnl_unlock();
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

const struct net_device_ops genet_netdev_ops = {
	.ndo_init = nic_init,
	.ndo_uninit = nic_uninit,
	.ndo_open = nic_open,
	.ndo_stop = nic_stop,
	.ndo_start_xmit = genet_transmit,
	.ndo_set_rx_mode = genet_set_filters,
	.ndo_set_mac_address = nic_set_address,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_features = nic_set_features,
	.ndo_eth_ioctl = phy_do_ioctl_running,
	.ndo_get_stats64 = nic_get_stats64,
	.ndo_tx_timeout = nic_tx_timeout,
};
