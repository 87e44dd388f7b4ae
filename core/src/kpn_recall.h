/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Frames taken back out of the ring. */
#ifndef KPN_RECALL_H
#define KPN_RECALL_H

#include "kpn_pacer_state.h"

/**
 * kpn_withdraw() - take the frame in slot @seq back; the slot keeps its length
 *
 * Return: NULL if the frame may leave all the same: it stays in the slot, in doubt, with its bytes,
 * which the NIC may be reading.
 */
struct kpn_frame *kpn_withdraw(struct kpn_pacer *pacer, u64 seq);

/**
 * kpn_recall_yielding() - take best effort of some classes back from slot @from on; all of it, so
 * that order is kept
 * @classes: bit per class; @counter: counts the frames
 */
void kpn_recall_yielding(struct kpn_pacer *pacer, u32 classes, u64 from, u64 *counter);

/** kpn_clear_from() - hold frames from slot @from on back again, nearest first, in the budget */
void kpn_clear_from(struct kpn_pacer *pacer, u64 from);

/** kpn_review_from() - frames from slot @from on may be in slots that are no longer theirs */
void kpn_review_from(struct kpn_pacer *pacer, u64 from);

/**
 * kpn_may_stay() - whether a scheduled frame, placed before a change, may stay in slot @at; its
 * txtime asks for @target
 */
bool kpn_may_stay(const struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 at, u64 target);

/** kpn_review() - check those frames, nearest first, within the budget */
void kpn_review(struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_hold_again() - hold back @frame, whose slot is in the future again since a step, even if its
 * class is full
 */
void kpn_hold_again(struct kpn_pacer *pacer, struct kpn_frame *frame);

/**
 * kpn_withdraw_to_heap() - hold back the scheduled frame in slot @seq again. Return: whether the
 * slot is free now
 */
bool kpn_withdraw_to_heap(struct kpn_pacer *pacer, u64 seq);

#endif
