/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one door between the NIC model and its surroundings: integer types, memcpy, memset and 64-bit
 * division, in userspace and in a kernel module.
 */
#ifndef NICMODEL_PLATFORM_H
#define NICMODEL_PLATFORM_H

#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>

static inline uint64_t ring_nic_div(uint64_t dividend, uint64_t divisor)
{
	return div64_u64(dividend, divisor);
}
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * ring_nic_div() - quotient rounded down; @divisor is not 0. 32-bit machines need no libgcc helper
 */
static inline uint64_t ring_nic_div(uint64_t dividend, uint64_t divisor)
{
#if UINTPTR_MAX > 0xffffffffu
	return dividend / divisor;
#else
	uint64_t quotient = 0;
	uint64_t rest = 0;
	int bit;

	for (bit = 63; bit >= 0; bit--) {
		bool carry = rest >> 63;

		rest = rest << 1 | (dividend >> bit & 1);
		if (carry || rest >= divisor) {
			rest -= divisor;
			quotient |= (uint64_t)1 << bit;
		}
	}
	return quotient;
#endif
}
#endif

/**
 * ring_nic_lowest_bit() - number of the lowest bit set; @word is not 0. In halves: 32-bit machines
 * need no libgcc helper
 */
static inline uint32_t ring_nic_lowest_bit(uint64_t word)
{
	uint32_t half = (uint32_t)word;

	return half ? (uint32_t)__builtin_ctz(half) :
		      32 + (uint32_t)__builtin_ctz((uint32_t)(word >> 32));
}

#endif
