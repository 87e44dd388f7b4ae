/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A set of descriptors: one bit each, and a summary with one bit per word that is not zero. The
 * next member is found in a few instructions however large the ring is.
 */
#ifndef KPN_BITS_H
#define KPN_BITS_H

#include "kpn_platform.h"

enum {
	KPN_BITS_MAX = 4096,
	KPN_BITS_WORDS = KPN_BITS_MAX / 64,
};

struct kpn_bits {
	u64 summary;
	u64 word[KPN_BITS_WORDS];
};

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

static inline bool kpn_bits_test(const struct kpn_bits *bits, u32 bit)
{
	return bits->word[bit / 64] >> bit % 64 & 1;
}

static inline void kpn_bits_set(struct kpn_bits *bits, u32 bit)
{
	bits->word[bit / 64] |= 1ull << bit % 64;
	bits->summary |= 1ull << bit / 64;
}

/** kpn_bits_remove() - take the bits of @mask out of word @word */
static inline void kpn_bits_remove(struct kpn_bits *bits, u32 word, u64 mask)
{
	u64 left = bits->word[word] & ~mask;

	bits->word[word] = left;
	if (!left)
		bits->summary &= ~(1ull << word);
}

static inline void kpn_bits_clear(struct kpn_bits *bits, u32 bit)
{
	kpn_bits_remove(bits, bit / 64, 1ull << bit % 64);
}

/** kpn_bits_assign() - set @count bits from @bit on, within the set, to @value; costs O(words) */
static inline void kpn_bits_assign(struct kpn_bits *bits, u32 bit, u32 count, bool value)
{
	while (count) {
		u32 rest = 64 - bit % 64;
		u32 here = count < rest ? count : rest;
		u64 mask = (here < 64 ? (1ull << here) - 1 : ~0ull) << bit % 64;

		if (value) {
			bits->word[bit / 64] |= mask;
			bits->summary |= 1ull << bit / 64;
		} else {
			kpn_bits_remove(bits, bit / 64, mask);
		}
		bit += here;
		count -= here;
	}
}

/** kpn_bits_next() - first member in [bit, end), or end; @bit < KPN_BITS_MAX */
static inline u32 kpn_bits_next(const struct kpn_bits *bits, u32 bit, u32 end)
{
	u32 word = bit / 64;
	u64 here = bits->word[word] & ~0ull << bit % 64;

	if (!here) {
		u64 others = word + 1 < KPN_BITS_WORDS ? bits->summary & ~0ull << (word + 1) : 0;

		if (!others)
			return end;
		word = kpn_lowest_bit(others);
		here = bits->word[word];
	}
	bit = word * 64 + kpn_lowest_bit(here);
	return bit < end ? bit : end;
}

/** kpn_bits_window() - the 64 bits from @bit on; beyond KPN_BITS_MAX zeros */
static inline u64 kpn_bits_window(const struct kpn_bits *bits, u32 bit)
{
	u32 word = bit / 64;
	u32 shift = bit % 64;
	u64 window = bits->word[word] >> shift;

	if (shift && word + 1 < KPN_BITS_WORDS)
		window |= bits->word[word + 1] << (64 - shift);
	return window;
}

#endif
