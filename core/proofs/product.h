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
	u64 span;
	u128 product;
} products[PRODUCTS_MAX];
static u32 product_count;

/* @product is that of @span and @mult; the clock multiplies magnitudes */
static void know_product(s64 span, s128 product, u64 mult)
{
	u64 magnitude = span < 0 ? 0 - (u64)span : (u64)span;
	u128 value;
	u32 i;

	ASSUME(product > -PRODUCT_LIMIT && product < PRODUCT_LIMIT);
	value = product < 0 ? -product : product;
	ASSUME(span != 0 || product == 0);
	ASSUME(span <= 0 || product >= (s128)mult);
	ASSUME(span >= 0 || product <= -(s128)mult);
	for (i = 0; i < product_count; i++)
		ASSUME(products[i].span != magnitude || products[i].product == value);
	products[product_count].span = magnitude;
	products[product_count].product = value;
	product_count++;
}

/* Instead of kpn_mul(). */
static struct kpn_u128 known_product(u64 span, u64 mult)
{
	u128 product = 0;
	bool known = false;
	u32 i;

	(void)mult;
	for (i = 0; i < product_count; i++) {
		if (!known && products[i].span == span) {
			product = products[i].product;
			known = true;
		}
	}
	PROVE(known);
	return (struct kpn_u128){ .high = (u64)(product >> 64), .low = (u64)product };
}

#endif
