/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Byte time of a link rate. Lengths on the wire are inline in the header; clocks and slots are
 * elsewhere.
 */
#include "keepon/wire.h"

/* Byte time in ps times rate in bit/s: 8 bits x 1e12 ps per second. */
#define BYTE_PS_BPS 8000000000000ull

u32 kpn_byte_time_ps(u64 rate_bps)
{
	u64 byte_ps;

	if (rate_bps < KPN_RATE_BPS_MIN || rate_bps > KPN_RATE_BPS_MAX)
		return 0;
	byte_ps = kpn_div_u64(BYTE_PS_BPS, rate_bps);
	/* at most 800000, at the lowest rate */
	return byte_ps * rate_bps == BYTE_PS_BPS ? (u32)byte_ps : 0;
}
