// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reset, addresses, and the two DMA engines. PAUSE frames are neither sent nor obeyed: the wire of
 * a lent ring never stands still by right. Facts by bcmgenet.h and unimac.h of Linux 6.1.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/iopoll.h>

#include "genet.h"
#include "keepon_compat.h"

enum {
	SETTLE_US = 10,
	RESET_US = 2,
	HALT_STEPS = 20,
	HALT_STEP_US = 5,
	STOP_US = 5000,       /* a frame waits for one at 10 Mb/s to leave a full FIFO */
	LAST_FRAME_US = 1500, /* 1600 bytes at 10 Mb/s */
	BURST_BYTES = 8,
	/* an interrupt after so many frames, or when the ring has run empty */
	TX_DONE_FRAMES = 16,
	RX_DONE_FRAMES = 1,
	XOFF_SLOTS = GENET_SLOTS / 16,
	XON_SLOTS = 5,
};

static void pulse(struct genet_nic *nic, u32 at, u32 bits)
{
	genet_write(nic, at, bits);
	udelay(SETTLE_US);
	genet_write(nic, at, 0);
	udelay(SETTLE_US);
}

/* Nothing is sent or received in reset. */
static void write_command(struct genet_nic *nic)
{
	u32 held_back = nic->command & CMD_SW_RESET ? CMD_TX_EN | CMD_RX_EN : 0;

	genet_write(nic, UMAC_CMD, nic->command & ~held_back);
}

void genet_command(struct genet_nic *nic, u32 clear, u32 set)
{
	spin_lock_bh(&nic->command_lock);
	nic->command = (nic->command & ~clear) | set;
	write_command(nic);
	spin_unlock_bh(&nic->command_lock);
}

void genet_end_reset(struct genet_nic *nic)
{
	spin_lock_bh(&nic->command_lock);
	if (nic->command & CMD_SW_RESET) {
		genet_write(nic, UMAC_CMD, nic->command & ~(CMD_SW_RESET | CMD_TX_EN | CMD_RX_EN));
		udelay(RESET_US);
		nic->command &= ~CMD_SW_RESET;
		write_command(nic);
	}
	spin_unlock_bh(&nic->command_lock);
}

static bool dma_rests(struct genet_nic *nic, u32 dma)
{
	return genet_read(nic, DMA_COMMON_AT(dma, DMA_STATUS)) & DMA_DISABLED;
}

void genet_halt_dma(struct genet_nic *nic, u32 dma)
{
	int step;

	genet_write(nic, DMA_COMMON_AT(dma, DMA_CTRL), 0);
	for (step = 0; step < HALT_STEPS && !dma_rests(nic, dma); step++)
		udelay(HALT_STEP_US); /* any context: no sleep */
}

static bool stop_dma(struct genet_nic *nic, u32 dma)
{
	bool rests;

	genet_write(nic, DMA_COMMON_AT(dma, DMA_CTRL), 0);
	if (!read_poll_timeout(dma_rests, rests, rests, 100, STOP_US, false, nic, dma))
		return true;
	dev_err(nic->card.device, "its %s DMA does not stop\n",
		dma == TDMA ? "transmit" : "receive");
	return false;
}

bool genet_reset(struct genet_nic *nic)
{
	bool rests;

	genet_write(nic, INTRL2_MASK_SET, ~0u);
	genet_write(nic, INTRL2_CLEAR, ~0u);
	rests = stop_dma(nic, TDMA);
	rests = stop_dma(nic, RDMA) && rests;
	pulse(nic, SYS_RBUF_FLUSH_CTRL, RBUF_FLUSH_UMAC_RESET);
	/* it ends when the PHY is awake: without its clock the MAC comes out of reset stuck */
	genet_command(nic, ~0u, CMD_SW_RESET | CMD_RX_PAUSE_IGNORE | CMD_TX_PAUSE_IGNORE);
	udelay(SETTLE_US);
	pulse(nic, UMAC_TX_FLUSH, 1);
	pulse(nic, UMAC_MIB_CTRL, MIB_RESET);
	return rests;
}

/* ---- who is heard ---- */

static void set_entry(struct genet_nic *nic, u32 entry, const u8 *address)
{
	genet_write(nic, UMAC_MDF_ADDR(entry), get_unaligned_be16(address));
	genet_write(nic, UMAC_MDF_ADDR(entry) + 4, get_unaligned_be32(address + 2));
}

void genet_set_filters(struct net_device *dev)
{
	struct genet_nic *nic = netdev_priv(dev);
	u32 wanted = 2 + netdev_uc_count(dev) + netdev_mc_count(dev);
	struct netdev_hw_addr *entry;
	u32 used = 0;

	if (nic->rx_lent || dev->flags & (IFF_PROMISC | IFF_ALLMULTI) || wanted > MDF_ENTRIES) {
		genet_command(nic, 0, CMD_PROMISC);
		return;
	}
	set_entry(nic, used++, dev->broadcast);
	set_entry(nic, used++, dev->dev_addr);
	netdev_for_each_uc_addr(entry, dev) set_entry(nic, used++, entry->addr);
	netdev_for_each_mc_addr(entry, dev) set_entry(nic, used++, entry->addr);
	/* the highest bit is that of the first entry */
	genet_write(nic, UMAC_MDF_CTRL, GENMASK(MDF_ENTRIES - 1, MDF_ENTRIES - used));
	genet_command(nic, CMD_PROMISC, 0);
}

static void filter_bad(struct genet_nic *nic)
{
	genet_write(nic, RBUF_CTRL, nic->rx_lent ? RBUF_64B_EN : RBUF_64B_EN | RBUF_BAD_DIS);
}

void genet_open_filters(struct genet_nic *nic)
{
	filter_bad(nic);
	netif_addr_lock_bh(nic->card.dev);
	genet_set_filters(nic->card.dev);
	netif_addr_unlock_bh(nic->card.dev);
}

void genet_set_address(struct genet_nic *nic)
{
	const u8 *address = nic->card.dev->dev_addr;

	genet_write(nic, UMAC_MAC0, get_unaligned_be32(address));
	genet_write(nic, UMAC_MAC1, get_unaligned_be16(address + 4));
	netif_addr_lock_bh(nic->card.dev);
	genet_set_filters(nic->card.dev);
	netif_addr_unlock_bh(nic->card.dev);
}

void genet_start_mac(struct genet_nic *nic)
{
	u32 rgmii = genet_read(nic, EXT_RGMII_OOB_CTRL);

	genet_write(nic, SYS_PORT_CTRL, PORT_MODE_EXT_GPHY);
	rgmii &= ~(RGMII_OOB_DISABLE | RGMII_ID_MODE_DIS);
	/* without a word of a delay there is to be none; else the MAC adds that of transmission */
	if (nic->interface == PHY_INTERFACE_MODE_RGMII)
		rgmii |= RGMII_ID_MODE_DIS;
	genet_write(nic, EXT_RGMII_OOB_CTRL, rgmii | RGMII_MODE_EN);
	genet_write(nic, UMAC_MAX_FRAME_LEN, GENET_MAC_BYTES_MAX);
	genet_write(nic, TBUF_CTRL, 0);
	/* its driver before may have left EEE on */
	genet_write(nic, UMAC_EEE_CTRL, 0);
	genet_write(nic, TBUF_ENERGY_CTRL, 0);
	genet_write(nic, RBUF_ENERGY_CTRL, 0);
	filter_bad(nic);
	genet_write(nic, RBUF_CHK_CTRL, 0);
	genet_write(nic, RBUF_TBUF_SIZE_CTRL, 1);
	/* no filter by content: ring 16 gets everything */
	genet_write(nic, HFB_CTRL, 0);
	genet_write(nic, HFB_ENABLE, 0);
	genet_write(nic, HFB_ENABLE + 4, 0);
	genet_set_address(nic);
	genet_set_loopback(nic);
	genet_command(nic, 0, CMD_RX_EN);
}

void genet_set_loopback(struct genet_nic *nic)
{
	bool on = nic->card.dev->features & NETIF_F_LOOPBACK;

	genet_command(nic, on ? 0 : CMD_LOOPBACK, on ? CMD_LOOPBACK : 0);
	/* then the clock is the controller's own */
	if (on)
		genet_end_reset(nic);
}

/* ---- DMA ---- */

void genet_set_buffer(struct genet_nic *nic, u32 dma, u32 idx, dma_addr_t buffer)
{
	genet_write(nic, DMA_DESC(dma, idx) + DESC_ADDRESS_LOW, lower_32_bits(buffer));
	genet_write(nic, DMA_DESC(dma, idx) + DESC_ADDRESS_HIGH, upper_32_bits(buffer));
}

void genet_start_dma(struct genet_nic *nic, u32 dma, u32 slots)
{
	bool transmit = dma == TDMA;

	genet_write(nic, DMA_COMMON_AT(dma, DMA_SCB_BURST_SIZE), BURST_BYTES);
	genet_write(nic, DMA_RING_AT(dma, RING_START), 0);
	genet_write(nic, DMA_RING_AT(dma, RING_END), slots * DESC_WORDS - 1);
	genet_write(nic, DMA_RING_AT(dma, RING_POINTER), 0);
	genet_write(nic, DMA_RING_AT(dma, RING_SW_POINTER), 0);
	genet_write(nic, DMA_RING_AT(dma, RING_HW_INDEX), 0);
	genet_write(nic, DMA_RING_AT(dma, RING_SW_INDEX), 0);
	genet_write(nic, DMA_RING_AT(dma, RING_BUF_SIZE), slots << 16 | CARD_BUFFER_BYTES);
	genet_write(nic, DMA_RING_AT(dma, RING_DONE_THRESHOLD),
		    transmit ? TX_DONE_FRAMES : RX_DONE_FRAMES);
	genet_write(nic, DMA_RING_AT(dma, RING_FLOW), transmit ? 0 : XON_SLOTS << 16 | XOFF_SLOTS);
	/* one ring alone: whatever the arbiter's mode, nothing else takes the wire */
	if (transmit)
		genet_write(nic, DMA_COMMON_AT(dma, DMA_ARB_CTRL), DMA_ARB_STRICT);
	else
		genet_write(nic, DMA_COMMON_AT(dma, DMA_RING16_TIMEOUT), 0);
	genet_write(nic, DMA_COMMON_AT(dma, DMA_RING_CFG), BIT(DMA_RING));
	genet_write(nic, DMA_COMMON_AT(dma, DMA_CTRL), DMA_CTRL_RUN);
	/* what the driver counts from */
	if (genet_read(nic, DMA_RING_AT(dma, RING_HW_INDEX)))
		netdev_err(nic->card.dev, "the %s index does not begin with 0\n",
			   transmit ? "transmit" : "receive");
}

void genet_stop_transmit(struct genet_nic *nic)
{
	stop_dma(nic, TDMA);
	genet_command(nic, CMD_TX_EN, 0);
	usleep_range(LAST_FRAME_US, LAST_FRAME_US + 100);
	pulse(nic, UMAC_TX_FLUSH, 1);
}

void genet_start_transmit(struct genet_nic *nic, u32 slots)
{
	/* carrier may be reported before adjust_link() has run */
	if (nic->card.dev->phydev->link)
		genet_end_reset(nic);
	genet_start_dma(nic, TDMA, slots);
	genet_command(nic, 0, CMD_TX_EN);
}
