/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Bytes of a slot behind its frame: always zero on the wire, and who makes them so. Deferred, the
 * bytes of a frame are zeroed when its slot is a placeholder again, so that a buffer without a
 * frame is all zero and an insertion only copies. On demand they stay until the next frame comes,
 * which zeroes what it does not overwrite: polls touch no buffer. No placeholder may be sent from
 * such a buffer then (kpn_config_spare_buffers()). KeepON paper sections 3.3 and A.3.
 */
#ifndef KPN_PADDING_H
#define KPN_PADDING_H

#include "kpn_pacer_state.h"

/**
 * kpn_pad() - the first @data_bytes of @buffer, that of descriptor @desc, were just written; zero
 * what earlier frames left behind them
 *
 * Only with padding on demand. Beyond old_bytes the buffer is zero since the reset, so the cost
 * follows what was there, not the length of the slot. Return: how many bytes of the buffer were
 * written since it was last written back.
 */
static inline u32 kpn_pad(struct kpn_pacer *pacer, u8 *buffer, u32 desc, u32 data_bytes)
{
	u32 old_bytes = pacer->old_bytes[desc];

	pacer->old_bytes[desc] = (u16)data_bytes;
	if (old_bytes <= data_bytes)
		return data_bytes;
	memset(buffer + data_bytes, 0, old_bytes - data_bytes);
	return old_bytes;
}

/**
 * kpn_retire() - descriptor @desc is a placeholder of @slot_bytes again: the @data_bytes its frame
 * had written are zeroed, or left to the next one
 */
static inline void kpn_retire(struct kpn_pacer *pacer, u32 desc, u32 slot_bytes, u32 data_bytes)
{
	pacer->nic_ops.retire(pacer->nic, desc, slot_bytes, data_bytes & pacer->zeroed_mask);
}

#endif
