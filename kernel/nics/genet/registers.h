/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers and descriptors of Broadcom's GENET v5 as in the BCM2711, as far as this driver uses
 * them. There is no public data sheet: addresses, bits and their names are those of Linux 6.1's
 * bcmgenet.h, unimac.h and mdio-bcm-unimac.c. Offsets count from the start of the device.
 */
#ifndef KEEPON_GENET_REGISTERS_H
#define KEEPON_GENET_REGISTERS_H

#include <linux/bits.h>

/* ---- system, RGMII ---- */

#define SYS_REV_CTRL 0x0000
#define SYS_REV_MAJOR GENMASK(27, 24)
#define SYS_REV_MAJOR_V5 6
#define SYS_PORT_CTRL 0x0004
#define PORT_MODE_EXT_GPHY 3
#define SYS_RBUF_FLUSH_CTRL 0x0008
#define RBUF_FLUSH_UMAC_RESET BIT(1)
#define EXT_RGMII_OOB_CTRL 0x008c
#define RGMII_LINK BIT(4)
#define RGMII_OOB_DISABLE BIT(5)
#define RGMII_MODE_EN BIT(6)
#define RGMII_ID_MODE_DIS BIT(16)

/* ---- interrupts: first controller ---- */

#define INTRL2_STATUS 0x0200
#define INTRL2_CLEAR 0x0208
#define INTRL2_MASK_STATUS 0x020c
#define INTRL2_MASK_SET 0x0210
#define INTRL2_MASK_CLEAR 0x0214
#define IRQ_RX_DONE BIT(13) /* MBDONE of ring 16 */
#define IRQ_TX_DONE BIT(16)

/* ---- receive and transmit buffers ---- */

#define RBUF_CTRL 0x0300
#define RBUF_64B_EN BIT(0)  /* a status block before each frame, in memory */
#define RBUF_BAD_DIS BIT(2) /* frames with errors are not delivered */
#define RBUF_CHK_CTRL 0x0314
#define RBUF_OVERFLOWS 0x0394
#define RBUF_ENERGY_CTRL 0x039c
#define RBUF_TBUF_SIZE_CTRL 0x03b4
#define TBUF_CTRL 0x0600
#define TBUF_ENERGY_CTRL 0x0614
#define HFB_CTRL 0xfc00
#define HFB_ENABLE 0xfc04 /* two words */

/* ---- UniMAC ---- */

#define UMAC_CMD 0x0808
#define CMD_TX_EN BIT(0)
#define CMD_RX_EN BIT(1)
#define CMD_SPEED GENMASK(3, 2) /* 0: 10, 1: 100, 2: 1000 Mb/s */
#define CMD_PROMISC BIT(4)
#define CMD_RX_PAUSE_IGNORE BIT(8)
#define CMD_HD_EN BIT(10)
#define CMD_SW_RESET BIT(13)
#define CMD_LOOPBACK BIT(15) /* what is sent comes back, and leaves nowhere else */
#define CMD_TX_PAUSE_IGNORE BIT(28)
#define UMAC_MAC0 0x080c
#define UMAC_MAC1 0x0810
#define UMAC_MAX_FRAME_LEN 0x0814
#define UMAC_EEE_CTRL 0x0864
#define UMAC_TX_FLUSH 0x0b34
#define UMAC_MIB_RX_PKT 0x0c28
#define UMAC_MIB_RX_FCS 0x0c38
#define UMAC_MIB_RX_OVERSIZE 0x0c58
#define UMAC_MIB_TX_PKT 0x0ca8
#define UMAC_MIB_TX_FCS 0x0cbc
#define UMAC_MIB_CTRL 0x0d80
#define MIB_RESET GENMASK(2, 0)
#define UMAC_MDIO_CMD 0x0e14
#define MDIO_START_BUSY BIT(29)
#define MDIO_READ_FAIL BIT(28)
#define MDIO_READ BIT(27)
#define MDIO_WRITE BIT(26)
#define MDIO_PHY GENMASK(25, 21)
#define MDIO_REGISTER GENMASK(20, 16)
#define MDIO_DATA GENMASK(15, 0)
#define UMAC_MDF_CTRL 0x0e50
#define UMAC_MDF_ADDR(n) (0x0e54 + 8 * (n)) /* two words */
#define MDF_ENTRIES 17

/* ---- DMA: 256 descriptors each way in registers, of which ring 16 has all ---- */

#define RDMA 0x2000
#define TDMA 0x4000
#define DMA_DESC(dma, n) ((dma) + 12 * (n))
#define DESC_LENGTH_STATUS 0
#define DESC_ADDRESS_LOW 4
#define DESC_ADDRESS_HIGH 8
#define DESC_WORDS 3

#define DMA_RING 16
#define DMA_RING_AT(dma, reg) ((dma) + 0xc00 + 0x40 * DMA_RING + (reg))
#define RING_POINTER 0x00  /* the controller's; words */
#define RING_HW_INDEX 0x08 /* consumer of transmit, producer of receive */
#define RING_SW_INDEX 0x0c
#define RING_BUF_SIZE 0x10
#define RING_START 0x14
#define RING_END 0x1c
#define RING_DONE_THRESHOLD 0x24
#define RING_FLOW 0x28       /* transmit: no rate limit; receive: XON, XOFF */
#define RING_SW_POINTER 0x2c /* transmit WRITE_PTR, receive READ_PTR */
#define RING_INDEX GENMASK(15, 0)
#define RING_DISCARDS GENMASK(31, 16) /* with the receive producer */

#define DMA_COMMON_AT(dma, reg) ((dma) + 0x1040 + (reg))
#define DMA_RING_CFG 0x00
#define DMA_CTRL 0x04
#define DMA_CTRL_RUN (BIT(0) | BIT(DMA_RING + 1))
#define DMA_STATUS 0x08
#define DMA_DISABLED BIT(0)
#define DMA_SCB_BURST_SIZE 0x0c
#define DMA_ARB_CTRL 0x2c /* transmit */
#define DMA_ARB_STRICT 2
#define DMA_RING16_TIMEOUT 0x6c /* receive; 8.192 us */

/* Length and status of a descriptor, and of a receive status block. */
#define DESC_LENGTH GENMASK(27, 16)
#define DESC_EOP BIT(14)
#define DESC_SOP BIT(13)
#define TX_QTAG GENMASK(12, 7)
#define TX_APPEND_CRC BIT(6)
#define RX_ERRORS GENMASK(4, 0) /* too long, no octets, receive error, FCS, overrun */

#endif
