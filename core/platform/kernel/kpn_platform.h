/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The one door between the core and its surroundings, kernel side. A broken invariant warns once;
 * the functions that meet it then refuse, because a kernel must not stop for one device.
 */
#ifndef KPN_PLATFORM_H
#define KPN_PLATFORM_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>

#define KPN_ASSERT(condition) ((void)WARN_ON_ONCE(!(condition)))
#define KPN_LIKELY(condition) likely(condition)
#define KPN_UNLIKELY(condition) unlikely(condition)

/*
 * A short frame in whole words, the last two over what is copied already: x86's memcpy() is a
 * string instruction here, which takes longer to start than a frame of 60 bytes takes.
 */
static inline void kpn_copy_frame(void *to, const void *from, size_t bytes)
{
	size_t done;

	if (bytes < 16 || bytes > 128) {
		memcpy(to, from, bytes);
		return;
	}
	for (done = 0; done + 16 < bytes; done += 16) {
		__builtin_memcpy((char *)to + done, (const char *)from + done, 8);
		__builtin_memcpy((char *)to + done + 8, (const char *)from + done + 8, 8);
	}
	__builtin_memcpy((char *)to + bytes - 16, (const char *)from + bytes - 16, 8);
	__builtin_memcpy((char *)to + bytes - 8, (const char *)from + bytes - 8, 8);
}

static inline u64 kpn_div_u64(u64 dividend, u64 divisor)
{
	return div64_u64(dividend, divisor);
}

#endif
