/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dual_merge: the published merge against its formula in slow arithmetic and against the claims
 * made for it.
 */
#include "keepon/dual.h"
#include "selftest.h"

/*
 * In halves of 2^-8 ns, so that nothing is rounded: all times of a vector are multiples of 2^-8 ns.
 */
static s64 units(struct kpn_time t)
{
	return t.ns * 512 + (t.frac >> 23);
}

static struct kpn_time of_units(s64 halves)
{
	s64 ns = halves >> 9; /* rounds down */

	return (struct kpn_time){ .ns = ns, .frac = (u32)(halves - ns * 512) << 23 };
}

static s64 slow_merge(s64 tx, s64 rx, s64 tau)
{
	s64 most = tx > rx ? tx : rx;
	s64 least = tx + tau < rx + tau ? tx + tau : rx + tau;

	if (tx - rx > 2 * tau || rx - tx > 2 * tau)
		return most;
	return (most + least) / 2;
}

static void test_published_formula(struct kpn_selftest *t)
{
	u64 seed = 5;
	u32 above = 0;
	u32 i;

	for (i = 0; i < 20000; i++) {
		u64 tau_ns = 1 + kpn_random_bits(&seed, 20);
		s64 tx = (s64)kpn_random_bits(&seed, 50) * 2;
		s64 apart = (s64)kpn_random_below(&seed, (u32)(3 * 256 * (tau_ns & 0xfffff))) * 2;
		s64 rx = kpn_random(&seed) & 1 ? tx + apart : tx - apart;
		s64 merged = units(kpn_merge_published(of_units(tx), of_units(rx), tau_ns));

		above += merged == tx || merged == rx;
		KPN_EXPECT_EQ(t, merged, slow_merge(tx, rx, (s64)tau_ns * 512));
		KPN_EXPECT_EQ(t, units(kpn_merge_published(of_units(rx), of_units(tx), tau_ns)),
			      merged);
	}
	KPN_EXPECT(t, above > 4000 && above < 16000); /* both branches */
}

/* D11: both lag by at most tau, so the merged time is off by at most tau / 2 either way. */
static void test_jitter_is_halved(struct kpn_selftest *t)
{
	u64 seed = 6;
	u32 i;

	for (i = 0; i < 20000; i++) {
		u32 tau_ns = 1 + kpn_random_below(&seed, 100000);
		s64 truth = 1000000000ll * 512;
		s64 tx = truth - (s64)kpn_random_below(&seed, tau_ns + 1) * 512;
		s64 rx = truth - (s64)kpn_random_below(&seed, tau_ns + 1) * 512;
		s64 error = units(kpn_merge_published(of_units(tx), of_units(rx), tau_ns)) - truth;

		KPN_EXPECT(t, error <= (s64)tau_ns * 256 && error >= -(s64)tau_ns * 256);
	}
}

/* D30: what happens at 2 tau: a jump of tau / 2, from leading - tau / 2 to leading. */
static void test_the_jump_at_two_tau(struct kpn_selftest *t)
{
	struct kpn_time lead = { .ns = 5000000, .frac = 0 };
	struct kpn_time at = { .ns = 5000000 - 2000, .frac = 0 };
	struct kpn_time beyond = { .ns = 5000000 - 2001, .frac = ~0u };

	KPN_EXPECT_EQ(t, units(kpn_merge_published(lead, at, 1000)), (5000000ll - 500) * 512);
	KPN_EXPECT_EQ(t, units(kpn_merge_published(lead, beyond, 1000)), 5000000ll * 512);
	KPN_EXPECT_EQ(t, units(kpn_merge_published(beyond, lead, 1000)), 5000000ll * 512);
}

void kpn_test_dual_merge(struct kpn_selftest *t)
{
	test_published_formula(t);
	test_jitter_is_halved(t);
	test_the_jump_at_two_tau(t);
}
