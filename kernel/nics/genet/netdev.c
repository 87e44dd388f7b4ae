// SPDX-License-Identifier: GPL-2.0-only
/* Up, down, interrupt, what is counted. */
#include <linux/etherdevice.h>

#include "genet.h"

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
	if (napi_schedule_prep(&nic->card.napi)) {
		genet_write(nic, INTRL2_MASK_SET, IRQ_RX_DONE | IRQ_TX_DONE);
		__napi_schedule(&nic->card.napi);
	}
	return IRQ_HANDLED;
}

int genet_poll(struct napi_struct *napi, int budget)
{
	struct genet_nic *nic = container_of(napi, struct genet_nic, card.napi);
	int done;

	genet_transmit_clean(nic, budget);
	done = genet_receive(nic, budget);
	/* a cause that came since is pending still, and interrupts when it is unmasked */
	if (done < budget && napi_complete_done(napi, done))
		genet_write(nic, INTRL2_MASK_CLEAR, READ_ONCE(nic->irqs));
	return done;
}

/* ---- what is counted ---- */

/* Register 0: it has none of its own. */
static const struct card_counter counters[GENET_COUNTERS] = {
	[GENET_TX_ON_WIRE] = { "tx_frames_on_wire", 0, UMAC_MIB_TX_PKT },
	[GENET_TX_FCS_ERRORS] = { "tx_fcs_errors", 0, UMAC_MIB_TX_FCS },
	[GENET_RX_ON_WIRE] = { "rx_frames_on_wire", 0, UMAC_MIB_RX_PKT },
	[GENET_RX_CRC_ERRORS] = { "rx_crc_errors", CARD_STAT(rx_crc_errors), UMAC_MIB_RX_FCS },
	[GENET_RX_OVERSIZE] = { "rx_oversize", CARD_STAT(rx_length_errors), UMAC_MIB_RX_OVERSIZE },
	[GENET_RX_OVERFLOWS] = { "rx_fifo_overflows", CARD_STAT(rx_fifo_errors), RBUF_OVERFLOWS },
	[GENET_RX_DISCARDED] = { "rx_discarded", CARD_STAT(rx_missed_errors) },
};

static_assert(ARRAY_SIZE(counters) <= CARD_COUNTERS_MAX);

/* How much more each says than last time. */
static u32 count(struct genet_nic *nic, int i)
{
	u32 now = counters[i].at ? genet_read(nic, counters[i].at) : genet_discarded(nic);
	u32 more = now - nic->counted[i];

	nic->counted[i] = now;
	return more;
}

static void nic_read_counters(struct card *card)
{
	int i;

	for (i = 0; i < GENET_COUNTERS; i++)
		card->count[i] += count(genet_of(card), i);
}

/* ---- up and down ---- */

static int nic_up(struct card *card)
{
	struct genet_nic *nic = genet_of(card);
	int error, i;

	if (WARN_ON(card->up))
		return -EBUSY;
	error = card_alloc(card);
	if (error)
		goto free;
	genet_reset(nic);
	error = request_irq(nic->irq, interrupt, 0, card->dev->name, nic);
	if (error)
		goto free;
	genet_receive_start(nic);
	for (i = 0; i < GENET_COUNTERS; i++)
		count(nic, i);
	genet_start_transmit(nic, GENET_SLOTS);
	genet_start_mac(nic);
	napi_enable(&card->napi);
	genet_set_irqs(nic, IRQ_RX_DONE | IRQ_TX_DONE);
	/* frames wait if it was down for a new ring only */
	netif_wake_queue(card->dev);
	phy_start(card->dev->phydev);
	card->up = true;
	return 0;
free:
	card_free(card);
	return error;
}

static void nic_down(struct card *card)
{
	struct genet_nic *nic = genet_of(card);
	bool rests;

	if (!card->up)
		return;
	card->up = false;
	card_quiet(card);
	genet_set_irqs(nic, 0);
	free_irq(nic->irq, nic);
	genet_command(nic, CMD_RX_EN, 0);
	card_read_counters(card);
	genet_stop_transmit(nic);
	/* with its DMA off, before a buffer of it is freed */
	rests = genet_reset(nic);
	/* not before: MAC and DMA come to rest by the clock of the PHY */
	phy_stop(card->dev->phydev);
	card_drop_all(card);
	/* else they stay what they are, though nobody has them any more */
	if (rests)
		card_free(card);
}

const struct card_driver genet_card = {
	.name = GENET_NAME,
	.up = nic_up,
	.down = nic_down,
	.read_counters = nic_read_counters,
	.counters = counters,
	.counters_count = GENET_COUNTERS,
	.slots_max = GENET_SLOTS,
};

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
	if (nic->card.up)
		genet_set_loopback(nic);
	return 0;
}

CARD_IOCTL(phy_do_ioctl_running)

const struct net_device_ops genet_netdev_ops = {
	CARD_NETDEV_OPS,
	.ndo_start_xmit = genet_transmit,
	.ndo_set_rx_mode = genet_set_filters,
	.ndo_set_mac_address = nic_set_address,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_set_features = nic_set_features,
	CARD_IOCTL_OPS(phy_do_ioctl_running),
};
