/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* wire: the byte time is exact or refused. */
#include "../src/wire.c"

#include "proof.h"

enum { MBPS = 1000000 };

/*
 * PROVE byte_time_of_every_speed
 * bounds: 10M, 100M, 1G, 2.5G, 5G, 10G, 25G, 40G, 50G and 100G; no other bound
 * unwind: 11
 * mutant: core/src/wire.c: BYTE_PS_BPS 8000000000000ull => BYTE_PS_BPS 8000000000008ull
 */
void byte_time_of_every_speed(void)
{
	static const u32 speeds_mbps[] = { 10,    100,   1000,  2500,  5000,
					   10000, 25000, 40000, 50000, 100000 };
	u32 i;

	for (i = 0; i < sizeof(speeds_mbps) / sizeof(speeds_mbps[0]); i++) {
		u32 byte_ps = kpn_byte_time_ps((u64)speeds_mbps[i] * MBPS);

		PROVE((u64)byte_ps * speeds_mbps[i] == 8000000);
	}
}

/*
 * PROVE byte_time_exact_or_refused
 * bounds: every rate of whole Mb/s from 0 to 131 Gb/s
 * unwind: 1
 * mutant: core/src/wire.c: byte_ps * rate_bps == BYTE_PS_BPS ? => byte_ps * rate_bps <=
 *	BYTE_PS_BPS ?
 */
void byte_time_exact_or_refused(void)
{
	u32 rate_mbps = (u32)any_below(1 << 17);
	u32 byte_ps = kpn_byte_time_ps((u64)rate_mbps * MBPS);
	bool in_range = rate_mbps >= 10 && rate_mbps <= 100000;

	if (byte_ps) {
		PROVE(in_range);
		PROVE((u64)byte_ps * rate_mbps == 8000000);
	} else if (in_range) {
		PROVE(8000000 % rate_mbps != 0);
	}
}
