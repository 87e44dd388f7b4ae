/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers and descriptors of the Cadence GEM, as far as this driver uses them. Names are those of
 * its manuals: Zynq-7000 TRM (UG585) chapter 16 and appendix B, Zynq UltraScale+ TRM (UG1085)
 * chapter 34; addresses and bits were compared with macb.h of Linux 6.1, which alone has those of
 * the design configuration and of the upper halves of addresses.
 */
#ifndef KEEPON_GEM_REGISTERS_H
#define KEEPON_GEM_REGISTERS_H

#include <linux/bits.h>

#define NET_CTRL 0x000
#define CTRL_RX_EN BIT(2)
#define CTRL_TX_EN BIT(3) /* off: the transmitter is as after a reset, at the ring's start */
#define CTRL_MDIO_EN BIT(4)
#define CTRL_CLEAR_STAT BIT(5)
#define CTRL_TX_START BIT(9)
#define CTRL_TX_HALT BIT(10) /* after the frame on the wire */

#define NET_CFG 0x004
#define CFG_100 BIT(0)
#define CFG_FULL BIT(1)
#define CFG_PROMISC BIT(4)
#define CFG_MULTI_HASH BIT(6)
#define CFG_UNI_HASH BIT(7)
#define CFG_1536 BIT(8)
#define CFG_1000 BIT(10)
#define CFG_STRIP_FCS BIT(17)
#define CFG_MDC GENMASK(20, 18) /* pclk by 8, 16, 32, 48, 64, 96, 128, 224 */
#define CFG_BUS_WIDTH GENMASK(22, 21)

#define NET_STATUS 0x008
#define STATUS_MDIO_IDLE BIT(2)
#define USER_IO 0x00c
#define USER_IO_RGMII BIT(0)

#define DMA_CFG 0x010
#define DMA_BURST_16 BIT(4)
#define DMA_RX_MEMORY_ALL GENMASK(9, 8)
#define DMA_TX_MEMORY_ALL BIT(10)
#define DMA_RX_BUFFER GENMASK(23, 16) /* 64 bytes each */
#define DMA_ADDRESS_64 BIT(30)

#define TX_STATUS 0x014
#define TX_STATUS_USED_MET BIT(0)
#define TX_STATUS_GO BIT(3)
#define RX_QBAR 0x018
#define TX_QBAR 0x01c /* reads as where the transmitter is */
#define RX_STATUS 0x020
#define RX_STATUS_NO_BUFFER BIT(0)

#define INTR_STATUS 0x024
#define INTR_ENABLE 0x028
#define INTR_DISABLE 0x02c
#define IRQ_RX_DONE BIT(1)
#define IRQ_RX_NO_BUFFER BIT(2)
#define IRQ_TX_USED BIT(3) /* a descriptor that is not the controller's was met */
#define IRQ_TX_DONE BIT(7)
#define IRQ_RX (IRQ_RX_DONE | IRQ_RX_NO_BUFFER)
#define IRQ_TX (IRQ_TX_USED | IRQ_TX_DONE)

#define PHY_MAINT 0x034
#define PHY_CLAUSE_22 BIT(30)
#define PHY_READ BIT(29)
#define PHY_WRITE BIT(28)
#define PHY_ADDRESS GENMASK(27, 23)
#define PHY_REGISTER GENMASK(22, 18)
#define PHY_MUST_10 BIT(17)
#define PHY_DATA GENMASK(15, 0)

#define HASH_LOW 0x080
#define HASH_HIGH 0x084
#define ADDRESS_1_LOW 0x088
#define ADDRESS_1_HIGH 0x08c
#define MODULE_ID 0x0fc
#define MODULE_ID_NUMBER GENMASK(27, 16)
#define MODULE_ID_GEM_MIN 2 /* below it is a MACB */

/* Statistics: reading clears them. */
#define STAT_TX_FRAMES 0x108
#define STAT_TX_UNDERRUNS 0x134
#define STAT_RX_FRAMES 0x158
#define STAT_RX_OVERSIZE 0x188
#define STAT_RX_FCS 0x190
#define STAT_RX_NO_BUFFER 0x1a0
#define STAT_RX_OVERRUNS 0x1a4

/* What was chosen when the controller was made. */
#define DESIGN_1 0x280
#define DESIGN_1_IRQ_READ_CLEAR BIT(23)
#define DESIGN_1_BUS_WIDTH GENMASK(27, 25) /* 1: 32 bit, 2: 64, 4: 128 */
#define DESIGN_6 0x294
#define DESIGN_6_QUEUES GENMASK(7, 0) /* bit n: queue n, 0 always */
#define DESIGN_6_ADDRESS_64 BIT(23)
#define DESIGN_10 0x2a4
#define DESIGN_10_TX_AHEAD GENMASK(15, 12) /* 2^n descriptors are read ahead, 0: none */
#define DESIGN_10_RX_AHEAD GENMASK(11, 8)

/* Queues from 1 on; the upper half of addresses is the same for all. */
#define QUEUE_TX_QBAR(n) (0x43c + 4 * (n))
#define QUEUE_RX_QBAR(n) (0x47c + 4 * (n))
#define QUEUE_INTR_DISABLE(n) (0x61c + 4 * (n))
#define TX_QBAR_HIGH 0x4c8
#define RX_QBAR_HIGH 0x4d4
#define QUEUES_MAX 8

/* Descriptors: two words, four with 64 bit addresses. */
#define DESC_ADDRESS 0
#define DESC_CONTROL 1
#define DESC_ADDRESS_HIGH 2

#define TX_USED BIT(31) /* not, or no longer, the controller's */
#define TX_WRAP BIT(30)
#define TX_NO_FCS BIT(16) /* nothing is added: no padding, no FCS */
#define TX_LAST BIT(15)
#define TX_LENGTH GENMASK(13, 0)

#define RX_USED BIT(0) /* with the address: a frame is in the buffer */
#define RX_WRAP BIT(1)
#define RX_EOF BIT(15)
#define RX_SOF BIT(14)
#define RX_LENGTH GENMASK(12, 0)

#endif
