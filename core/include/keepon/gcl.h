/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Compiles a gate control list (IEEE 802.1Q-2022 clause 8.6.8.4, 8.6.9) into a partition. A class
 * gets a slot only if its gate is open for the whole slot; open time lost by this rule is reported.
 */
#ifndef KPN_GCL_H
#define KPN_GCL_H

#include "kpn_platform.h"

enum { KPN_GCL_ENTRIES_MAX = 1024 };

/** struct kpn_gcl_entry - gates open (bit per class) for an interval */
struct kpn_gcl_entry {
	u16 gates;
	u32 interval_ns;
};

/**
 * struct kpn_gcl - a gate control list; the cycle is the sum of the intervals and repeats in both
 * directions from @base_ns
 */
struct kpn_gcl {
	s64 base_ns;
	u32 entry_count;
	const struct kpn_gcl_entry *entries;
};

/**
 * struct kpn_gcl_report - result of a compilation
 * @partition_slots: period of the result
 * @lost_ps: per class, open time of one period not covered by whole slots
 */
struct kpn_gcl_report {
	u32 partition_slots;
	u64 lost_ps[16];
};

/**
 * kpn_gcl_compile() - gate control list to class masks
 * @gcl: to compile; base time not negative
 * @slot_ps: slot time; a multiple of the cycle up to @room slots long must be a whole number of
 *	slots
 * @allowed: receives the masks, indexed by net_slot modulo the returned period
 * @room: entries in @allowed
 * @report: filled on success; may be NULL
 *
 * Any context, does not sleep. Return: 0; -KPN_EINVAL for an empty list, an empty interval,
 * negative base or slot_ps = 0; -KPN_ERANGE if no multiple of the cycle within @room slots fits the
 * slot time.
 */
int kpn_gcl_compile(const struct kpn_gcl *gcl, u64 slot_ps, u16 *allowed, u32 room,
		    struct kpn_gcl_report *report);

#endif
