/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Position in the table of class masks and distance between reserved slots. Building the table is gcl's affair. */
#include "keepon/partition.h"

u32 kpn_partition_index(const struct kpn_partition *partition, u64 net_slot)
{
	return (u32)(net_slot - kpn_div_u64(net_slot, partition->slots) * partition->slots);
}

u32 kpn_partition_gap_max(const struct kpn_partition *partition)
{
	u32 first = partition->slots;
	u32 last = 0;
	u32 gap_max = 0;
	u32 i;

	for (i = 0; i < partition->slots; i++) {
		if (partition->allowed[i])
			continue;
		if (first == partition->slots)
			first = i;
		else if (i - last > gap_max)
			gap_max = i - last;
		last = i;
	}
	if (first == partition->slots)
		return 0;
	/* the table repeats: from the last reserved slot on to the first one of the next period */
	if (first + partition->slots - last > gap_max)
		gap_max = first + partition->slots - last;
	return gap_max;
}
