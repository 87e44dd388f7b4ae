// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reset, addresses, rings, the transmitter's start and stop. PAUSE frames are neither sent nor
 * obeyed: the wire of a lent ring never stands still by right.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>

#include "gem.h"

enum {
	HALT_STEP_US = 5,
	HALT_STEPS = 300, /* a longest frame at 10 Mb/s takes 1.3 ms */
	HASH_BITS = 6,
	RX_BUFFER_UNIT = 64,
	IDLE_BYTES = 64, /* both descriptors, each with room for the longest */
	IDLE_RX = 32,
};

/* ---- registers ---- */

void gem_configure(struct gem_nic *nic, u32 clear, u32 set)
{
	spin_lock_bh(&nic->config_lock);
	nic->config = (nic->config & ~clear) | set;
	gem_write(nic, NET_CFG, nic->config);
	spin_unlock_bh(&nic->config_lock);
}

void gem_set_control(struct gem_nic *nic, u32 clear, u32 set)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&nic->control_lock, flags);
	nic->control = (nic->control & ~clear) | set;
	gem_write(nic, NET_CTRL, nic->control);
	raw_spin_unlock_irqrestore(&nic->control_lock, flags);
}

/* UG585, 16.7.4: it may stop for good otherwise. */
void gem_unblock_receiver(struct gem_nic *nic)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&nic->control_lock, flags);
	gem_write(nic, NET_CTRL, nic->control & ~CTRL_RX_EN);
	gem_write(nic, NET_CTRL, nic->control);
	raw_spin_unlock_irqrestore(&nic->control_lock, flags);
}

/* The MDIO is not to be faster than 2.5 MHz; where nobody knows the clock it is slowest. */
static u32 mdc_divisor(const struct gem_nic *nic)
{
	static const u16 mhz_max[] = { 20, 40, 80, 120, 160, 240, 320 };
	unsigned long hz = clk_get_rate(nic->pclk);
	u32 i;

	for (i = 0; hz && i < ARRAY_SIZE(mhz_max) && hz > mhz_max[i] * 1000000ul; i++)
		;
	return hz ? i : ARRAY_SIZE(mhz_max);
}

/* As wide as it was made. */
static u32 bus_width(const struct gem_nic *nic)
{
	return FIELD_GET(DESIGN_1_BUS_WIDTH, gem_read(nic, DESIGN_1)) >> 1;
}

void gem_reset(struct gem_nic *nic)
{
	u32 queue;

	/* the MDIO may be another one's, too */
	gem_set_control(nic, ~(u32)CTRL_MDIO_EN, 0);
	gem_write(nic, NET_CTRL, nic->control | CTRL_CLEAR_STAT);
	gem_write(nic, INTR_DISABLE, ~0u);
	for (queue = 1; queue < QUEUES_MAX; queue++) {
		if (nic->queues & BIT(queue))
			gem_write(nic, QUEUE_INTR_DISABLE(queue), ~0u);
	}
	gem_write(nic, TX_STATUS, ~0u);
	gem_write(nic, RX_STATUS, ~0u);
	gem_write(nic, INTR_STATUS, gem_read(nic, INTR_STATUS));
	gem_configure(nic, ~(u32)(CFG_100 | CFG_1000 | CFG_FULL),
		      CFG_1536 | CFG_STRIP_FCS | FIELD_PREP(CFG_MDC, mdc_divisor(nic)) |
			      FIELD_PREP(CFG_BUS_WIDTH, bus_width(nic)));
	gem_write(nic, USER_IO, phy_interface_mode_is_rgmii(nic->interface) ? USER_IO_RGMII : 0);
	gem_write(nic, DMA_CFG,
		  DMA_BURST_16 | DMA_RX_MEMORY_ALL | DMA_TX_MEMORY_ALL |
			  FIELD_PREP(DMA_RX_BUFFER, CARD_BUFFER_BYTES / RX_BUFFER_UNIT) |
			  (nic->desc_words > DESC_ADDRESS_HIGH ? DMA_ADDRESS_64 : 0));
	gem_set_control(nic, 0, CTRL_MDIO_EN);
}

/* ---- who is heard ---- */

/* UG585, 16.2.5: bit n of the hash is the sum of every sixth bit of the address, from bit n on. */
static u64 hash_bit(const u8 *address)
{
	u64 bits = get_unaligned_le32(address) | (u64)get_unaligned_le16(address + 4) << 32;
	u32 hash = 0;

	for (; bits; bits >>= HASH_BITS)
		hash ^= (u32)bits & (BIT(HASH_BITS) - 1);
	return BIT_ULL(hash);
}

void gem_set_filters(struct net_device *dev)
{
	struct gem_nic *nic = netdev_priv(dev);
	struct netdev_hw_addr *entry;
	u64 hash = 0;
	u32 set = 0;

	netdev_for_each_uc_addr(entry, dev) hash |= hash_bit(entry->addr);
	if (hash)
		set |= CFG_UNI_HASH;
	netdev_for_each_mc_addr(entry, dev) hash |= hash_bit(entry->addr);
	if (dev->flags & IFF_ALLMULTI)
		hash = ~0ull;
	if (hash)
		set |= CFG_MULTI_HASH;
	if (dev->flags & IFF_PROMISC)
		set |= CFG_PROMISC;
	gem_write(nic, HASH_LOW, lower_32_bits(hash));
	gem_write(nic, HASH_HIGH, upper_32_bits(hash));
	gem_configure(nic, CFG_UNI_HASH | CFG_MULTI_HASH | CFG_PROMISC, set);
}

void gem_set_address(struct gem_nic *nic)
{
	const u8 *address = nic->card.dev->dev_addr;

	/* the second half makes it valid */
	gem_write(nic, ADDRESS_1_LOW, get_unaligned_le32(address));
	gem_write(nic, ADDRESS_1_HIGH, get_unaligned_le16(address + 4));
}

void gem_start_mac(struct gem_nic *nic)
{
	u32 queue;

	for (queue = 1; queue < QUEUES_MAX; queue++) {
		if (!(nic->queues & BIT(queue)))
			continue;
		gem_write(nic, QUEUE_TX_QBAR(queue), lower_32_bits(nic->idle_dma));
		gem_write(nic, QUEUE_RX_QBAR(queue), lower_32_bits(nic->idle_dma) + IDLE_RX);
	}
	if (nic->desc_words > DESC_ADDRESS_HIGH) {
		gem_write(nic, TX_QBAR_HIGH, upper_32_bits(nic->idle_dma));
		gem_write(nic, RX_QBAR_HIGH, upper_32_bits(nic->idle_dma));
	}
	gem_set_address(nic);
	netif_addr_lock_bh(nic->card.dev);
	gem_set_filters(nic->card.dev);
	netif_addr_unlock_bh(nic->card.dev);
}

/* ---- rings ---- */

int gem_idle_alloc(struct gem_nic *nic)
{
	nic->idle = dmam_alloc_coherent(nic->card.device, IDLE_BYTES, &nic->idle_dma, GFP_KERNEL);
	if (!nic->idle)
		return -ENOMEM;
	nic->idle[DESC_CONTROL] = cpu_to_le32(TX_USED | TX_WRAP | TX_LAST);
	nic->idle[IDLE_RX / sizeof(*nic->idle) + DESC_ADDRESS] = cpu_to_le32(RX_USED | RX_WRAP);
	return 0;
}

static size_t ring_bytes(const struct gem_nic *nic, u32 slots)
{
	return (slots + nic->desc_ahead) * nic->desc_words * sizeof(__le32);
}

int gem_ring_alloc(struct gem_nic *nic, struct gem_ring *ring, u32 slots)
{
	ring->slots = slots;
	ring->desc = dma_alloc_coherent(nic->card.device, ring_bytes(nic, slots), &ring->dma,
					GFP_KERNEL);
	if (!ring->desc)
		return -ENOMEM;
	/* there is one register for the upper half of all rings' addresses */
	if (upper_32_bits(ring->dma) == upper_32_bits(nic->idle_dma))
		return 0;
	gem_ring_free(nic, ring);
	return -ENOMEM;
}

void gem_ring_free(struct gem_nic *nic, struct gem_ring *ring)
{
	if (ring->desc)
		dma_free_coherent(nic->card.device, ring_bytes(nic, ring->slots), ring->desc,
				  ring->dma);
	ring->desc = NULL;
}

void gem_ring_clear(struct gem_nic *nic, struct gem_ring *ring)
{
	u32 idx;

	for (idx = 0; idx < ring->slots; idx++)
		gem_desc_write(nic, ring, idx, DESC_CONTROL, gem_tx_word(ring, idx, 0, TX_USED));
}

void gem_set_buffer(struct gem_nic *nic, struct gem_ring *ring, u32 idx, dma_addr_t buffer,
		    u32 flags)
{
	if (nic->desc_words > DESC_ADDRESS_HIGH)
		gem_desc_write(nic, ring, idx, DESC_ADDRESS_HIGH, upper_32_bits(buffer));
	gem_desc_write(nic, ring, idx, DESC_ADDRESS, lower_32_bits(buffer) | flags);
}

u32 gem_tx_word(const struct gem_ring *ring, u32 idx, u32 bytes, u32 flags)
{
	return FIELD_PREP(TX_LENGTH, bytes) | TX_LAST | flags |
	       (idx + 1 == ring->slots ? TX_WRAP : 0);
}

/* ---- the transmitter ---- */

u32 gem_position(const struct gem_nic *nic, const struct gem_ring *ring)
{
	u32 bytes = gem_read(nic, TX_QBAR) - lower_32_bits(ring->dma);

	return bytes / (nic->desc_words * (u32)sizeof(__le32));
}

static void act(struct gem_nic *nic, u32 once)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&nic->control_lock, flags);
	/* one that is off stays so */
	if (nic->control & CTRL_TX_EN)
		gem_write(nic, NET_CTRL, nic->control | once);
	raw_spin_unlock_irqrestore(&nic->control_lock, flags);
}

void gem_kick(struct gem_nic *nic)
{
	act(nic, CTRL_TX_START);
}

void gem_halt(struct gem_nic *nic)
{
	int step;

	act(nic, CTRL_TX_HALT);
	for (step = 0; step < HALT_STEPS; step++) {
		if (!(gem_read(nic, TX_STATUS) & TX_STATUS_GO))
			break;
		udelay(HALT_STEP_US); /* any context: no sleep */
	}
	/* this empties it, too */
	gem_set_control(nic, CTRL_TX_EN, 0);
}

void gem_send_from(struct gem_nic *nic, struct gem_ring *ring)
{
	gem_write(nic, TX_QBAR, lower_32_bits(ring->dma));
	gem_set_control(nic, 0, CTRL_TX_EN);
	/* what the driver counts from */
	if (gem_position(nic, ring))
		netdev_err(nic->card.dev, "the transmitter does not begin where its ring does\n");
}
