/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the proofs share: values that may be anything, and the words for assuming and asserting.
 * Read by CBMC only; scripts/prove reads the PROVE comments of prove_<file>.c (docs/proofs.md).
 */
#ifndef KPN_PROOF_H
#define KPN_PROOF_H

#include "kpn_platform.h"

typedef __int128 s128;
typedef unsigned __int128 u128;

bool nondet_bool(void);
u8 nondet_u8(void);
u16 nondet_u16(void);
u32 nondet_u32(void);
u64 nondet_u64(void);
s64 nondet_s64(void);
s128 nondet_s128(void);

#define ASSUME(condition) __CPROVER_assume(condition)
#define PROVE(condition) __CPROVER_assert(condition, #condition)

/** any_below() - any number below @limit */
static inline u64 any_below(u64 limit)
{
	u64 value = nondet_u64();

	ASSUME(value < limit);
	return value;
}

#endif
