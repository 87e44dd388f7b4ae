/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Attributes of qdisc "guard", within TCA_OPTIONS, and its counters (docs/qdiscs.md). A change
 * keeps the attributes it does not name.
 */
#ifndef _UAPI_KEEPON_GUARD_H
#define _UAPI_KEEPON_GUARD_H

#include <linux/types.h>

#define KEEPON_GUARD_KIND "guard"

enum {
	TCA_GUARD_UNSPEC,
	TCA_GUARD_RATE, /* u64, bit/s; 0: rate of the link */
	TCA_GUARD_PAD,
	TCA_GUARD_MTU,          /* u32, bytes with FCS; 0: longest frame of the device */
	TCA_GUARD_FUDGE_NS,     /* u32 */
	TCA_GUARD_TOLERANCE_NS, /* u32 */
	TCA_GUARD_LIMIT,        /* u32, frames per queue */
	TCA_GUARD_LATE,         /* u8, 0: drop, 1: send */
	TCA_GUARD_WINDOW_NS,    /* u32, length of a guard window; read only */
	TCA_GUARD_NOTICE_NS,    /* u64, how early a txtime must be known; read only */
	TCA_GUARD_RATE_USED,    /* u64, bit/s; read only */
	TCA_GUARD_MTU_USED,     /* u32, bytes; read only */
	__TCA_GUARD_MAX,
};

#define TCA_GUARD_MAX (__TCA_GUARD_MAX - 1)

/* struct tc_guard_xstats - see struct kpn_guard; @wrong: refused for clock or length */
struct tc_guard_xstats {
	__u64 timed;
	__u64 late_sent;
	__u64 late;
	__u64 wrong;
	__u64 others;
	__u64 squeezed;
	__u64 short_notice;
	__u64 held_ns;
	__u32 timed_waiting;
	__u32 others_waiting;
};

#endif
