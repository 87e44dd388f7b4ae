/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Frames whose window opens. */
#ifndef KPN_INSERT_H
#define KPN_INSERT_H

#include "kpn_pacer_state.h"

/**
 * kpn_insert_due() - review frames, place those whose window has opened, then best effort; within
 * the budget
 */
void kpn_insert_due(struct kpn_pacer *pacer, u64 cpu_ns);

#endif
