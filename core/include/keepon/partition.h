/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Which traffic classes may use a slot: a table of class masks whose period is independent of the ring
 * (KeepON paper section 5.1, with masks instead of one owner). It knows no ring and no clock.
 */
#ifndef KPN_PARTITION_H
#define KPN_PARTITION_H

#include "kpn_platform.h"

/** struct kpn_partition - @allowed[i] is the mask of net_slot = i modulo @slots */
struct kpn_partition {
	const u16 *allowed;
	u32 slots;
};

/** kpn_partition_index() - table index of a net_slot */
u32 kpn_partition_index(const struct kpn_partition *partition, u64 net_slot);

/** kpn_partition_allows() - whether class @tc may use slots with table index @index */
static inline bool kpn_partition_allows(const struct kpn_partition *partition, u32 index, u8 tc)
{
	return partition->allowed[index] >> tc & 1;
}

/** kpn_partition_gap_max() - longest run of slots from one open to no class to the next, 0 if there is none */
u32 kpn_partition_gap_max(const struct kpn_partition *partition);

#endif
