/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Frames that wait before the ring in the order of their class. */
#ifndef KPN_WAITING_H
#define KPN_WAITING_H

#include "kpn_pacer_state.h"

/**
 * kpn_fill() - give free slots to waiting frames: those with a txtime first, then the highest
 * class; within the budget
 */
void kpn_fill(struct kpn_pacer *pacer, u64 cpu_ns);

/** kpn_submit_best_effort() - take a frame without txtime. Return: pending, or the verdict */
enum kpn_verdict kpn_submit_best_effort(struct kpn_pacer *pacer, struct kpn_frame *frame,
					u64 cpu_ns);

#endif
