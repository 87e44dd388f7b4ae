// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Padding on demand: what a buffer may still hold is known to the byte, and no more than that is zeroed. */
#include "kpn_padding.h"

void kpn_pad(struct kpn_pacer *pacer, u32 desc, u32 data_bytes)
{
	u32 old_bytes = pacer->old_bytes[desc];

	if (old_bytes > data_bytes)
		memset((u8 *)pacer->nic_ops.buffer(pacer->nic, desc) + data_bytes, 0, old_bytes - data_bytes);
	pacer->old_bytes[desc] = (u16)data_bytes;
}

void kpn_wipe_all(struct kpn_pacer *pacer)
{
	u32 desc;

	if (!pacer->old_bytes)
		return;
	for (desc = 0; desc < pacer->config.ring_slots; desc++)
		kpn_pad(pacer, desc, 0);
}
