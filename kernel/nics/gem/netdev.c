// SPDX-License-Identifier: GPL-2.0-only
/* Up, down, interrupt, what is counted. */
#include <linux/etherdevice.h>

#include "gem.h"

/* ---- interrupt ---- */

void gem_set_irqs(struct gem_nic *nic, u32 irqs)
{
	WRITE_ONCE(nic->irqs, irqs);
	gem_write(nic, INTR_DISABLE, ~irqs);
	gem_write(nic, INTR_ENABLE, irqs);
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct gem_nic *nic = data;
	u32 irqs = READ_ONCE(nic->irqs);
	u32 causes = gem_read(nic, INTR_STATUS) & irqs;

	if (!causes) {
		/* a poll that ends while gem_set_irqs() runs may switch on what nobody wants */
		gem_write(nic, INTR_DISABLE, ~irqs);
		return IRQ_NONE;
	}
	if (!nic->clears_causes)
		gem_write(nic, INTR_STATUS, causes);
	if (napi_schedule_prep(&nic->card.napi)) {
		gem_write(nic, INTR_DISABLE, IRQ_RX | IRQ_TX);
		__napi_schedule(&nic->card.napi);
	}
	return IRQ_HANDLED;
}

int gem_poll(struct napi_struct *napi, int budget)
{
	struct gem_nic *nic = container_of(napi, struct gem_nic, card.napi);
	int done;

	gem_transmit_clean(nic, budget);
	done = gem_receive(nic, budget);
	if (done == budget || !napi_complete_done(napi, done))
		return done;
	gem_write(nic, INTR_ENABLE, READ_ONCE(nic->irqs));
	/* whether a cause that came while it was masked interrupts now the manuals do not say */
	if ((gem_receive_pending(nic) || gem_transmit_pending(nic)) && napi_schedule_prep(napi)) {
		gem_write(nic, INTR_DISABLE, IRQ_RX | IRQ_TX);
		__napi_schedule(napi);
	}
	return done;
}

/* ---- what is counted ---- */

static const struct card_counter counters[GEM_COUNTERS] = {
	[GEM_TX_ON_WIRE] = { "tx_frames_on_wire", 0, STAT_TX_FRAMES },
	[GEM_TX_UNDERRUNS] = { "tx_underruns", CARD_STAT(tx_fifo_errors), STAT_TX_UNDERRUNS },
	[GEM_RX_ON_WIRE] = { "rx_good_frames", 0, STAT_RX_FRAMES },
	[GEM_RX_CRC_ERRORS] = { "rx_crc_errors", CARD_STAT(rx_crc_errors), STAT_RX_FCS },
	[GEM_RX_OVERSIZE] = { "rx_oversize", CARD_STAT(rx_length_errors), STAT_RX_OVERSIZE },
	[GEM_RX_OVERRUNS] = { "rx_overruns", CARD_STAT(rx_fifo_errors), STAT_RX_OVERRUNS },
	[GEM_RX_NO_BUFFER] = { "rx_no_buffer", CARD_STAT(rx_missed_errors), STAT_RX_NO_BUFFER },
};

static_assert(ARRAY_SIZE(counters) <= CARD_COUNTERS_MAX);

/* Reading clears them. */
static void nic_read_counters(struct card *card)
{
	int i;

	for (i = 0; i < GEM_COUNTERS; i++)
		card->count[i] += gem_read(gem_of(card), counters[i].at);
}

/* ---- up and down ---- */

static void free_rings(struct gem_nic *nic)
{
	gem_ring_free(nic, &nic->tx);
	gem_ring_free(nic, &nic->rx);
	card_free(&nic->card);
}

static int alloc_rings(struct gem_nic *nic)
{
	int error = card_alloc(&nic->card);

	error = error ?: gem_ring_alloc(nic, &nic->tx, nic->card.tx_slots);
	error = error ?: gem_ring_alloc(nic, &nic->rx, nic->card.rx_slots);
	if (error)
		free_rings(nic);
	else
		gem_ring_clear(nic, &nic->tx);
	return error;
}

static int nic_up(struct card *card)
{
	struct gem_nic *nic = gem_of(card);
	int error;

	if (WARN_ON(card->up))
		return -EBUSY;
	error = alloc_rings(nic);
	if (error)
		return error;
	gem_reset(nic);
	error = request_irq(nic->irq, interrupt, 0, card->dev->name, nic);
	if (error) {
		free_rings(nic);
		return error;
	}
	gem_start_mac(nic);
	gem_receive_start(nic);
	gem_send_from(nic, &nic->tx);
	gem_set_control(nic, 0, CTRL_RX_EN);
	napi_enable(&card->napi);
	gem_set_irqs(nic, IRQ_RX | IRQ_TX);
	/* frames wait if it was down for a new ring only */
	netif_wake_queue(card->dev);
	phy_start(card->dev->phydev);
	card->up = true;
	return 0;
}

static void nic_down(struct card *card)
{
	struct gem_nic *nic = gem_of(card);

	if (!card->up)
		return;
	card->up = false;
	phy_stop(card->dev->phydev);
	card_quiet(card);
	gem_set_irqs(nic, 0);
	free_irq(nic->irq, nic);
	card_read_counters(card);
	gem_halt(nic);
	/* with its DMA off, before a buffer of it is freed */
	gem_reset(nic);
	card_drop_all(card);
	free_rings(nic);
}

const struct card_driver gem_card = {
	.name = GEM_NAME,
	.up = nic_up,
	.down = nic_down,
	.read_counters = nic_read_counters,
	.counters = counters,
	.counters_count = GEM_COUNTERS,
	.slots_max = GEM_RING_MAX,
};

static int nic_set_address(struct net_device *dev, void *address)
{
	int error = eth_mac_addr(dev, address);

	if (!error && netif_running(dev))
		gem_set_address(netdev_priv(dev));
	return error;
}

CARD_IOCTL(phy_do_ioctl_running)

const struct net_device_ops gem_netdev_ops = {
	CARD_NETDEV_OPS,
	.ndo_start_xmit = gem_transmit,
	.ndo_set_rx_mode = gem_set_filters,
	.ndo_set_mac_address = nic_set_address,
	.ndo_validate_addr = eth_validate_addr,
	CARD_IOCTL_OPS(phy_do_ioctl_running),
};
