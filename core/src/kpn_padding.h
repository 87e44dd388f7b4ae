/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Bytes of a slot behind its frame: always zero on the wire, and who makes them so. Deferred, the bytes of a frame are zeroed
 * when its slot is a placeholder again, so that a buffer without a frame is all zero and an insertion only copies. On demand they stay until the
 * next frame comes, which zeroes what it does not overwrite: polls touch no buffer. No placeholder may be sent from such a
 * buffer then (kpn_config_spare_buffers()). KeepON paper sections 3.3 and A.3.
 */
#ifndef KPN_PADDING_H
#define KPN_PADDING_H

#include "kpn_pacer_state.h"

/**
 * kpn_pad() - the first @data_bytes of the buffer of descriptor @desc were just written; what earlier frames left behind them is zeroed
 *
 * Only with padding on demand. Beyond old_bytes the buffer is zero since the start, so the cost follows what was there, not the
 * length of the slot.
 */
void kpn_pad(struct kpn_pacer *pacer, u32 desc, u32 data_bytes);

/** kpn_wipe() - descriptor @desc is a placeholder again: zero the @data_bytes its frame had written, or leave that to the next one */
static inline void kpn_wipe(struct kpn_pacer *pacer, u32 desc, u32 data_bytes)
{
	if (KPN_LIKELY(!pacer->old_bytes))
		memset(pacer->nic_ops.buffer(pacer->nic, desc), 0, data_bytes);
}

/** kpn_forget() - make descriptor @desc a placeholder of @slot_bytes again and forget the bytes of the frame it carried */
static inline void kpn_forget(struct kpn_pacer *pacer, const struct kpn_frame *frame, u32 desc, u32 slot_bytes)
{
	pacer->nic_ops.restore(pacer->nic, desc, slot_bytes);
	kpn_wipe(pacer, desc, (u32)frame->frame_bytes - KPN_FCS_BYTES);
}

/** kpn_wipe_all() - no slot carries a frame any more, and no next one will come: every buffer is zero afterwards */
void kpn_wipe_all(struct kpn_pacer *pacer);

#endif
