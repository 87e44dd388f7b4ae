/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Frame bytes, wire bytes and picoseconds: the only home of preamble, gap and FCS (IEEE 802.3-2022
 * clause 3 and 4.4.2). Nothing here knows rings or clocks.
 *
 * `frame_bytes` counts from the destination address to the FCS inclusive; `wire_bytes` adds
 * preamble, SFD and inter-packet gap. Wire positions are nominal picoseconds of wire time ("wire
 * ps"), counted modulo 2^64 (213 days); differences are taken as signed 64-bit numbers and stay
 * below 53 days.
 */
#ifndef KPN_WIRE_H
#define KPN_WIRE_H

#include "kpn_platform.h"

enum kpn_wire {
	KPN_FCS_BYTES = 4,
	KPN_PREAMBLE_BYTES = 8, /* seven of preamble and the SFD: slot start to reference plane */
	KPN_GAP_BYTES = 12,
	KPN_WIRE_OVERHEAD_BYTES = KPN_PREAMBLE_BYTES + KPN_GAP_BYTES,
	KPN_FRAME_BYTES_MIN = 64,
	KPN_FRAME_BYTES_MAX = 1522,
};

#define KPN_RATE_BPS_MIN 10000000ull
#define KPN_RATE_BPS_MAX 100000000000ull

/**
 * kpn_byte_time_ps() - time of one byte on the wire
 * @rate_bps: link rate, KPN_RATE_BPS_MIN to KPN_RATE_BPS_MAX
 *
 * Every Ethernet rate has a byte time of whole picoseconds (2.5 Gb/s: 3200; 100 Gb/s: 80), so
 * counting in picoseconds never rounds.
 * Return: picoseconds, or 0 when @rate_bps is out of range or does not divide 8e12.
 */
u32 kpn_byte_time_ps(u64 rate_bps);

/** kpn_wire_bytes() - wire bytes of a frame of @frame_bytes, preamble and gap included */
static inline u32 kpn_wire_bytes(u32 frame_bytes)
{
	return frame_bytes + KPN_WIRE_OVERHEAD_BYTES;
}

#endif
