/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Rare cases are kept out of the functions that every poll runs through; helpers of those are
 * forced inline.
 */
#ifndef KPN_INLINE_H
#define KPN_INLINE_H

#define KPN_NOINLINE __attribute__((__noinline__))
#define KPN_ALWAYS_INLINE inline __attribute__((__always_inline__))

#endif
