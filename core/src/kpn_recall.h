/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Frames taken back out of the ring. */
#ifndef KPN_RECALL_H
#define KPN_RECALL_H

#include "kpn_pacer_state.h"

/**
 * kpn_withdraw() - the frame in slot @seq is taken back; the slot keeps the length it has
 *
 * Return: NULL if it may leave all the same: the slot keeps it then, in doubt, and its bytes, which
 * the NIC may be reading.
 */
struct kpn_frame *kpn_withdraw(struct kpn_pacer *pacer, u64 seq);

/**
 * kpn_recall_yielding() - best effort of some classes is taken back from slot @from on, so that
 * order is kept
 * @classes: bit per class; @counter: counts the frames
 */
void kpn_recall_yielding(struct kpn_pacer *pacer, u32 classes, u64 from, u64 *counter);

/**
 * kpn_clear_from() - frames from slot @from on are held back again, nearest first, within the
 * budget
 */
void kpn_clear_from(struct kpn_pacer *pacer, u64 from);

/** kpn_review_from() - frames from slot @from on may be in slots that are not theirs any more */
void kpn_review_from(struct kpn_pacer *pacer, u64 from);

/**
 * kpn_may_stay() - whether a scheduled frame, placed before something changed, may stay in slot
 * @at; its txtime asks for @target
 */
bool kpn_may_stay(const struct kpn_pacer *pacer, const struct kpn_frame *frame, u64 at, u64 target);

/** kpn_review() - look at those frames, nearest first, within the budget */
void kpn_review(struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_hold_again() - @frame, whose slot is still to come since a step, among those held back,
 * however many of its class they are
 */
void kpn_hold_again(struct kpn_pacer *pacer, struct kpn_frame *frame);

/**
 * kpn_withdraw_to_heap() - a scheduled frame in slot @seq is held back again. Return: whether the
 * slot is free now
 */
bool kpn_withdraw_to_heap(struct kpn_pacer *pacer, u64 seq);

#endif
