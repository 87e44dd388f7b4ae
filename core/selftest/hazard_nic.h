/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* One NIC and its pacer, and what is asked of them again and again. */
#ifndef HAZARD_NIC_H
#define HAZARD_NIC_H

#include "../src/kpn_pacer_state.h"
#include "exact_nic.h"

#define SLOT_NS 10000ll
#define START_NS 1000000ll
#define MS 1000000ull

static struct exact_nic nic;
static struct kpn_frame frames[64];

static inline const struct kpn_stats *stats(void)
{
	return kpn_pacer_stats(nic.pacer);
}

static inline struct kpn_state state(void)
{
	return kpn_pacer_state(nic.pacer, nic.now_ns);
}

static inline s64 now(void)
{
	return kpn_pacer_gettime(nic.pacer, nic.now_ns).ns;
}

/* The txtime of the slot @slots ahead of the present one. */
static inline s64 ahead(s64 slots)
{
	return (s64)(kpn_div_u64((u64)now(), SLOT_NS) + (u64)slots) * SLOT_NS + 64;
}

static inline enum kpn_verdict submit(u32 at, u8 tc, s64 txtime_ns)
{
	frames[at] = exact_frame((u8)(at % EXACT_TAGS), 200, tc, txtime_ns);
	return kpn_pacer_submit(nic.pacer, &frames[at]);
}

static inline void expect_all_accounted(struct kpn_selftest *t)
{
	KPN_EXPECT_EQ(t, state().pending, 0);
	KPN_EXPECT_EQ(t, stats()->submitted, kpn_stats_ended(stats()));
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
}

#endif
