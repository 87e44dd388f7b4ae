/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Products of 64-bit numbers of which only some bits are wanted; no library helper on any machine. */
#ifndef KPN_MATH_H
#define KPN_MATH_H

#include "kpn_platform.h"

/** struct kpn_u128 - a 128-bit product */
struct kpn_u128 {
	u64 high;
	u64 low;
};

static inline struct kpn_u128 kpn_mul(u64 a, u64 b)
{
#if defined(__SIZEOF_INT128__)
	unsigned __int128 product = (unsigned __int128)a * b;

	return (struct kpn_u128){ .high = (u64)(product >> 64), .low = (u64)product };
#else
	u64 a_low = (u32)a;
	u64 a_high = a >> 32;
	u64 b_low = (u32)b;
	u64 b_high = b >> 32;
	u64 low = a_low * b_low;
	u64 middle = a_high * b_low + (low >> 32);
	u64 middle_low = a_low * b_high + (u32)middle;

	return (struct kpn_u128){
		.high = a_high * b_high + (middle >> 32) + (middle_low >> 32),
		.low = middle_low << 32 | (u32)low,
	};
#endif
}

/** kpn_mul_shr() - (a x b) / 2^shift, rounded down, 0 < shift < 128; the result must fit */
static inline u64 kpn_mul_shr(u64 a, u64 b, u32 shift)
{
	struct kpn_u128 product = kpn_mul(a, b);

	if (shift >= 64)
		return product.high >> (shift - 64);
	return product.high << (64 - shift) | product.low >> shift;
}

/** kpn_lowest_bit() - number of the lowest bit set; @word is not 0 */
static inline u32 kpn_lowest_bit(u64 word)
{
#if __SIZEOF_POINTER__ == 8
	return (u32)__builtin_ctzll(word);
#else
	u32 half = (u32)word;

	return half ? (u32)__builtin_ctz(half) : 32 + (u32)__builtin_ctz((u32)(word >> 32));
#endif
}

/** kpn_common_divisor() - greatest common divisor; @b may be 0 */
static inline u64 kpn_common_divisor(u64 a, u64 b)
{
	while (b) {
		u64 rest = a - kpn_div_u64(a, b) * b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
