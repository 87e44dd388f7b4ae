/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Validation rules of slot, ring, batch and depth, for config. */
#ifndef KPN_CONFIG_POLLS_H
#define KPN_CONFIG_POLLS_H

#include "kpn_check.h"

/**
 * kpn_least_slots() - least slots between two polls; 0: any. An overhead longer than any batch is
 * refused by a later rule
 */
u64 kpn_least_slots(const struct check *check);

/** kpn_check_slot() - check the length of slots. Return: whether it is valid */
bool kpn_check_slot(struct check *check);

/** kpn_check_ring() - check the size of the ring. Return: whether it is valid */
bool kpn_check_ring(struct check *check);

/** kpn_check_posting() - check batch and depth, after slot and ring */
void kpn_check_posting(struct check *check);

#endif
