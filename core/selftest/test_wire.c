/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* wire: byte times of every Ethernet rate, refusal of others, wire lengths. */
#include "keepon/wire.h"

#include "selftest.h"

struct rate_vector {
	int line;
	u64 rate_bps;
	u32 byte_ps; /* 0: refused */
};

static const struct rate_vector rate_vectors[] = {
	{ __LINE__, 10000000, 800000 },
	{ __LINE__, 100000000, 80000 },
	{ __LINE__, 1000000000, 8000 },
	{ __LINE__, 2500000000ull, 3200 },
	{ __LINE__, 5000000000ull, 1600 },
	{ __LINE__, 10000000000ull, 800 },
	{ __LINE__, 25000000000ull, 320 },
	{ __LINE__, 40000000000ull, 200 },
	{ __LINE__, 50000000000ull, 160 },
	{ __LINE__, 100000000000ull, 80 },
	/* outside the limits, though they divide 8e12 */
	{ __LINE__, 0, 0 },
	{ __LINE__, 1, 0 },
	{ __LINE__, 8000000, 0 },
	{ __LINE__, 200000000000ull, 0 },
	{ __LINE__, 8000000000000ull, 0 },
	/* just outside */
	{ __LINE__, 9999999, 0 },
	{ __LINE__, 100000000001ull, 0 },
	{ __LINE__, 0xffffffffffffffffull, 0 },
	/* inside, but a byte would last a fraction of a picosecond */
	{ __LINE__, 10000001, 0 },
	{ __LINE__, 30000000, 0 },
	{ __LINE__, 999999999, 0 },
	{ __LINE__, 99999999999ull, 0 },
	/* inside and odd, yet whole */
	{ __LINE__, 12800000, 625000 },
	{ __LINE__, 15625000, 512000 },
};

void kpn_test_wire(struct kpn_selftest *t)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(rate_vectors); i++) {
		const struct rate_vector *vector = &rate_vectors[i];

		KPN_EXPECT_EQ_AT(t, vector->line, kpn_byte_time_ps(vector->rate_bps),
				 vector->byte_ps);
	}

	/*
	 * preamble 7, SFD 1, gap 12 (IEEE 802.3-2022 clause 4.4.2); 1230 bytes are 10 us at 1 Gb/s
	 */
	KPN_EXPECT_EQ(t, kpn_wire_bytes(64), 84);
	KPN_EXPECT_EQ(t, kpn_wire_bytes(1522), 1542);
	KPN_EXPECT_EQ(t, kpn_wire_bytes(1230) * kpn_byte_time_ps(1000000000), 10000000);
	/* 84 bytes at 2.5 Gb/s are 268.8 ns */
	KPN_EXPECT_EQ(t, kpn_wire_bytes(64) * kpn_byte_time_ps(2500000000ull), 268800);
}
