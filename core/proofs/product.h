/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Products of wire spans and a clock rate, without a multiplier. A 64 by 64 bit multiplication is
 * beyond a SAT solver, but the laws of the clock need only that the product is exact, and so linear
 * and strictly monotone in the span. A harness says which spans will be multiplied and how their
 * products hang together; any span it did not name fails the proof. Whatever numbers satisfy these
 * relations are allowed, the true products among them: what is proved here holds for those.
 */
#ifndef KPN_PROOF_PRODUCT_H
#define KPN_PROOF_PRODUCT_H

#include "kpn_math.h"
#include "proof.h"

enum { PRODUCTS_MAX = 12 };

/* |span| < 2^62 and rate < 2^63, as clock.h says at KPN_ADJ_PPB_MAX */
#define PRODUCT_LIMIT ((s128)1 << 125)

static struct {
	s64 span;
	s128 product;
} products[PRODUCTS_MAX];
static u32 product_count;

/* @product is that of @span and @mult */
static void know_product(s64 span, s128 product, u64 mult)
{
	u32 i;

	ASSUME(product > -PRODUCT_LIMIT && product < PRODUCT_LIMIT);
	ASSUME(span != 0 || product == 0);
	ASSUME(span <= 0 || product >= (s128)mult);
	ASSUME(span >= 0 || product <= -(s128)mult);
	for (i = 0; i < product_count; i++)
		ASSUME(products[i].span != span || products[i].product == product);
	products[product_count].span = span;
	products[product_count].product = product;
	product_count++;
}

/*
 * The product of a rate and the estimate for one part of a time, n: inverse.smt2 has
 * m e <= n 2^shift < m (e + 2).
 */
static inline s128 any_estimate(u64 part, u32 shift, u64 mult)
{
	s128 exact = (s128)part << shift;
	s128 product = nondet_s128();

	ASSUME(product >= 0 && product <= exact && exact < product + 2 * (s128)mult);
	return product;
}

/* Instead of kpn_mul_add(). */
static struct kpn_u128 known_mul_add(s64 span, u64 mult, struct kpn_u128 addend)
{
	u128 sum = (u128)addend.high << 64 | addend.low;
	bool known = false;
	u32 i;

	(void)mult;
	for (i = 0; i < product_count; i++) {
		if (!known && products[i].span == span) {
			sum += (u128)products[i].product;
			known = true;
		}
	}
	PROVE(known);
	return (struct kpn_u128){ .high = (u64)(sum >> 64), .low = (u64)sum };
}

#endif
