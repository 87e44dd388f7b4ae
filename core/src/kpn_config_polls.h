/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The rules of slot, ring, batch and depth, which config applies with its own. */
#ifndef KPN_CONFIG_POLLS_H
#define KPN_CONFIG_POLLS_H

#include "kpn_check.h"

/**
 * kpn_least_slots() - slots that must be between two polls; 0: any. An overhead that no batch could
 * bear is wrong itself, and found later
 */
u64 kpn_least_slots(const struct check *check);

/** kpn_check_slot() - the length of slots. Return: whether it is right */
bool kpn_check_slot(struct check *check);

/** kpn_check_ring() - the size of the ring. Return: whether it is right */
bool kpn_check_ring(struct check *check);

/** kpn_check_posting() - batch and depth; those before are checked */
void kpn_check_posting(struct check *check);

#endif
