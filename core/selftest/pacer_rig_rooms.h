/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the files of the rig of pacer_rig.h share: pacer_rig.c has the operations and calls
 * rig_check() after each, pacer_rig_checks.c the invariants, pacer_rig_frames.c the frames and what
 * NIC and pacer report of them. For these files alone.
 */
#ifndef KPN_PACER_RIG_ROOMS_H
#define KPN_PACER_RIG_ROOMS_H

#include "pacer_rig.h"

/** rig_violate() - keep @text unless there is a violation already */
static inline void rig_violate(struct rig *rig, const char *text)
{
	if (!rig->violation)
		rig->violation = text;
}

/** rig_require() - @condition, or @text is the violation */
static inline void rig_require(struct rig *rig, bool condition, const char *text)
{
	if (!condition)
		rig_violate(rig, text);
}

/** rig_mix() - let the hash of what happened depend on @value */
static inline void rig_mix(struct rig *rig, u64 value)
{
	rig->hash = (rig->hash ^ value) * 0x100000001b3ull;
	rig->hash ^= rig->hash >> 29;
}

/** rig_span_slots() - slots of the longest frame, 1 if none is longer than a slot */
static inline u32 rig_span_slots(const struct rig *rig)
{
	u32 slots = kpn_pacer_frame_slots(rig->pacer, rig->config.frame_bytes_max);

	return slots ? slots : 1;
}

/** rig_fill_frame() - bytes that follow from the id of @frame */
void rig_fill_frame(struct rig_frame *frame, u32 data_bytes);

/** rig_listen() - have the NIC made of @params report to @rig */
void rig_listen(struct rig *rig, struct fake_params *params);

/** rig_collect() - take what ended and what happened in the call just made */
void rig_collect(struct rig *rig);

/** rig_check() - every invariant, after a call */
void rig_check(struct rig *rig);

#endif
