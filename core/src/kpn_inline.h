/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What is seldom is kept out of functions that every poll runs through; what they share is in them.
 */
#ifndef KPN_INLINE_H
#define KPN_INLINE_H

#define KPN_NOINLINE __attribute__((__noinline__))
#define KPN_ALWAYS_INLINE inline __attribute__((__always_inline__))

#endif
