/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The one door between the core and its surroundings, userspace side: integer types, the three libc
 * functions the core may call, 64-bit division and the assertion. The kernel side has the same
 * names. Nothing of ours is included here.
 */
#ifndef KPN_PLATFORM_H
#define KPN_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

/*
 * A broken invariant ends a userspace process: a core that goes on would send frames at wrong
 * times.
 */
#ifdef KPN_NO_ASSERT
#define KPN_ASSERT(condition) ((void)sizeof(condition))
#else
#define KPN_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#endif

#define KPN_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define KPN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/** kpn_copy_frame() - @bytes of a frame, 14 at least; they do not overlap */
static inline void kpn_copy_frame(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}

/**
 * kpn_div_u64() - quotient of two 64-bit numbers, rounded down
 * @dividend: any value
 * @divisor: not 0
 *
 * Machines without a 64-bit divide get a shift-and-subtract loop, so that no libgcc helper
 * (__udivdi3) is linked; the kernel side uses div64_u64(). Any context, does not sleep.
 */
static inline u64 kpn_div_u64(u64 dividend, u64 divisor)
{
#if UINTPTR_MAX > 0xffffffffu
	return dividend / divisor;
#else
	u64 quotient = 0;
	u64 rest = 0;
	int bit;

	if ((dividend | divisor) >> 32 == 0)
		return (u32)dividend / (u32)divisor;
	for (bit = 63; bit >= 0; bit--) {
		bool carry = rest >> 63;

		rest = rest << 1 | (dividend >> bit & 1);
		if (carry || rest >= divisor) {
			rest -= divisor;
			quotient |= 1ull << bit;
		}
	}
	return quotient;
#endif
}

#endif
