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

static inline u64 kpn_div_u64(u64 dividend, u64 divisor)
{
	return div64_u64(dividend, divisor);
}

#endif
