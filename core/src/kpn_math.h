/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Products of 64-bit numbers of which only some bits are needed; no machine needs a library helper.
 */
#ifndef KPN_MATH_H
#define KPN_MATH_H

#include "keepon/bits.h"

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

/** kpn_mul_add() - a x b + c in two's complement, @a signed and @b below 2^63 */
static inline struct kpn_u128 kpn_mul_add(s64 a, u64 b, struct kpn_u128 c)
{
#if defined(__SIZEOF_INT128__)
	unsigned __int128 sum = (unsigned __int128)((__int128)a * (s64)b);

	sum += (unsigned __int128)c.high << 64 | c.low;
	return (struct kpn_u128){ .high = (u64)(sum >> 64), .low = (u64)sum };
#else
	struct kpn_u128 product = kpn_mul((u64)a, b);

	if (a < 0)
		product.high -= b;
	product.low += c.low;
	product.high += c.high + (product.low < c.low);
	return product;
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
