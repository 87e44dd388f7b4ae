/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers and descriptors of Intel's gigabit controllers, as far as this driver uses them. Names
 * are those of the data sheets: 82574 (318694, section 10), PCI/PCI-X family "8254x" (317453,
 * section 13), 82576 (320961, section 8), I210 (333016, section 8). One map serves all of them; the
 * queue registers of the 82576 and its successors lie elsewhere.
 */
#ifndef KEEPON_INTEL_REGISTERS_H
#define KEEPON_INTEL_REGISTERS_H

#include <linux/bits.h>
#include <linux/types.h>

/* ---- general ---- */

#define CTRL 0x0000
#define CTRL_FD BIT(0)
#define CTRL_MASTER_DISABLE BIT(2)
#define CTRL_ASDE BIT(5)
#define CTRL_SLU BIT(6)
#define CTRL_FRCSPD BIT(11)
#define CTRL_FRCDPX BIT(12)
#define CTRL_RST BIT(26)
#define CTRL_RFCE BIT(27)
#define CTRL_TFCE BIT(28)
#define CTRL_82574_CLEAR BIT(29)
#define STATUS 0x0008
#define STATUS_FD BIT(0)
#define STATUS_LU BIT(1)
#define STATUS_FUNCTION GENMASK(3, 2) /* which port of the chip */
#define STATUS_SPEED GENMASK(7, 6)    /* 0: 10, 1: 100, 2 and 3: 1000 Mb/s */
#define STATUS_MASTER_ENABLED BIT(19)
#define CTRL_EXT 0x0018
#define CTRL_EXT_82574_SET BIT(22) /* these two by e1000e, of no name */
#define CTRL_EXT_82574_CLEAR BIT(23)
#define CTRL_EXT_DRV_LOAD BIT(28) /* firmware: a driver has the controller */
#define MDIC 0x0020
#define MDIC_DATA GENMASK(15, 0)
#define MDIC_REGISTER GENMASK(20, 16)
#define MDIC_PHY GENMASK(25, 21)
#define MDIC_WRITE BIT(26)
#define MDIC_READ BIT(27)
#define MDIC_READY BIT(28)
#define MDIC_ERROR BIT(30)
#define PHPM 0x0E14 /* I350, I210 */
#define PHPM_GO_LINK_DOWN BIT(5)
#define EEER 0x0E30        /* I350, I210 */
#define EXTCNF_CTRL 0x0F00 /* 82574 */
#define EXTCNF_MDIO_SW BIT(5)
#define GCR 0x5B00                        /* 82574 */
#define GCR_82574_SET (BIT(22) | BIT(27)) /* the second: L1 also while the receiver is not in L0s */
#define GCR2 0x5B64
#define GCR2_82574_SET BIT(0)

/* Whose the PHY is: software's and firmware's. 82576 and later, section 4.7 there. */
#define SWSM 0x5B50
#define SWSM_SOFTWARE BIT(0) /* set by being read */
#define SWSM_FIRMWARE BIT(1)
#define SW_FW_SYNC 0x5B5C
#define SW_FW_SYNC_PHY(function) ((u32)((function) < 2 ? BIT(1 + (function)) : BIT(3 + (function))))
#define SW_FW_SYNC_OF_FIRMWARE 16 /* bits further up */

/* ---- interrupts ---- */

#define ICR 0x00C0 /* cleared by reading */
#define IMS 0x00D0
#define IMC 0x00D8
#define CAUSE_TXDW BIT(0)
#define CAUSE_LSC BIT(2)
#define CAUSE_RXDMT0 BIT(4)
#define CAUSE_RXO BIT(6)
#define CAUSE_RXT0 BIT(7) /* RXDW on the 82576 */

#define ITR 0x00C4 /* 82574: least distance of two interrupts */
#define ITR_NS 256

/* 82576 and later: by MSI-X, ICR tells of nothing that concerns a queue */
#define GPIE 0x1514
#define GPIE_NSICR BIT(0) /* reading ICR clears it, whatever is masked */
#define GPIE_MSIX BIT(4)
#define EIMS 0x1524
#define EIMC 0x1528
#define EIAC 0x152C /* causes that a message clears */
#define VECTOR_0 BIT(0)
#define EITR0 0x1680
#define EITR_US_SHIFT 2
#define IVAR0 0x1700 /* which vector queue 0 interrupts by */
#define IVAR_RX_VALID BIT(7)
#define IVAR_TX_VALID BIT(15)
#define IVAR_MISC 0x1740
#define IVAR_OTHER_VALID BIT(15)

/* ---- receive ---- */

#define RCTL 0x0100
#define RCTL_EN BIT(1)
#define RCTL_UPE BIT(3)
#define RCTL_MPE BIT(4)
#define RCTL_BAM BIT(15)
#define RCTL_SECRC BIT(26)
#define RFCTL 0x5008 /* 82571 and later: extended descriptors among others */
#define MRQC 0x5818  /* the same: more than one queue */
#define RAL0 0x5400
#define RAH0 0x5404
#define RAH_AV BIT(31)
#define MTA 0x5200
#define MTA_ENTRIES 128

/* ---- transmit ---- */

#define TCTL 0x0400
#define TCTL_EN BIT(1)
#define TCTL_PSP BIT(3)
#define TCTL_CT GENMASK(11, 4)
#define TCTL_COLD GENMASK(21, 12)
#define TARC0 0x3840 /* 82574 */
#define TARC0_82574_CLEAR GENMASK(30, 27)
#define TARC0_82574_SET BIT(26)
#define TIPG 0x0410
#define TIPG_COPPER_8254X 0x00602008 /* 96 bit times between frames */

/* ---- queue 0; @base is that of the chip ---- */

#define QUEUE_BAL(base) ((base) + 0x00)
#define QUEUE_BAH(base) ((base) + 0x04)
#define QUEUE_LEN(base) ((base) + 0x08)
#define QUEUE_SRRCTL(base) ((base) + 0x0C) /* receive, 82576 and later */
#define SRRCTL_BUFFER_KB GENMASK(6, 0)
#define SRRCTL_ADVANCED BIT(25)
#define QUEUE_HEAD(base) ((base) + 0x10)
#define QUEUE_TAIL(base) ((base) + 0x18)
#define QUEUE_DCTL(base) ((base) + 0x28)
#define DCTL_COUNT_DESC BIT(22) /* 82574: must be set */
#define DCTL_GRAN BIT(24)       /* thresholds in descriptors; 8254x, 8257x */
#define DCTL_ENABLE BIT(25)     /* 82576 and later */

/* ---- statistics; cleared by reading ---- */

#define CRCERRS 0x4000
#define MPC 0x4010
#define RUC 0x40A4
#define ROC 0x40AC
#define TPT 0x40D4

/* ---- descriptors: an address and a second word, which one 64-bit store changes ---- */

struct intel_desc {
	__le64 address;
	__le64 word;
};

/* Legacy transmit (82574 section 7.2.10.1): length, command, status. */
#define TX_LENGTH GENMASK_ULL(15, 0)
#define TX_LEGACY_EOP BIT_ULL(24)
#define TX_LEGACY_IFCS BIT_ULL(25)
#define TX_LEGACY_RS BIT_ULL(27)

/* Advanced data descriptor (82576 section 7.2.2.3). */
#define TX_ADVANCED_DATA (BIT_ULL(20) | BIT_ULL(21) | BIT_ULL(29)) /* DTYP 3, DEXT */
#define TX_ADVANCED_PAYLOAD_SHIFT 46

#define TX_DONE BIT_ULL(32) /* DD in either format */

/* Legacy receive (82574 section 7.1.4): what the NIC writes back. */
#define RX_LEGACY_LENGTH GENMASK_ULL(15, 0)
#define RX_LEGACY_DD BIT_ULL(32)
#define RX_LEGACY_EOP BIT_ULL(33)
#define RX_LEGACY_ERRORS GENMASK_ULL(47, 40)

/* Advanced receive, one buffer (82576 section 7.1.5.2). */
#define RX_ADVANCED_DD BIT_ULL(0)
#define RX_ADVANCED_EOP BIT_ULL(1)
#define RX_ADVANCED_ERROR BIT_ULL(31)
#define RX_ADVANCED_LENGTH GENMASK_ULL(47, 32)

#endif
