/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* An exact NIC for each file that includes this, and what is watched on it. */
#ifndef KPN_SELFTEST_WATCHED_NIC_H
#define KPN_SELFTEST_WATCHED_NIC_H

#include "exact_nic.h"

#define SLOT_NS 10000ll
#define START_NS 1000000ll
#define MS 1000000ull

static struct exact_nic nic;

static inline const struct kpn_stats *stats(void)
{
	return kpn_pacer_stats(nic.pacer);
}

static inline struct kpn_state state(void)
{
	return kpn_pacer_state(nic.pacer, nic.now_ns);
}

static inline s64 magnitude(s64 value)
{
	return value < 0 ? -value : value;
}

/* PHC time minus what CPU time and rate say; the wire began restart_ns_min after CPU time 1 ms. */
static inline s64 clock_offset_ns(void)
{
	return kpn_pacer_gettime(nic.pacer, nic.now_ns).ns - START_NS - (s64)(nic.now_ns - 1000000);
}

static inline bool head_contains_wire(void)
{
	struct kpn_head head = kpn_pacer_head(nic.pacer, nic.now_ns);
	u64 position_ps = exact_nic_position(&nic);

	return (s64)(position_ps - head.wire.lower_ps) >= 0 &&
	       (s64)(head.wire.upper_ps - position_ps) >= 0 && head.upper_seq >= nic.head_seq;
}

/* Poll for a while; after every poll, and between, the interval must contain the wire. */
static inline bool run_watching(u64 ns)
{
	u64 end_ns = nic.now_ns + ns;

	while (nic.now_ns < end_ns) {
		u64 interval_ns = nic.poll_ns ? nic.poll_ns : kpn_pacer_poll_interval_ns(nic.pacer);

		exact_nic_go(&nic, interval_ns / 2);
		if (!head_contains_wire())
			return false;
		exact_nic_poll(&nic, interval_ns - interval_ns / 2);
		if (!head_contains_wire())
			return false;
	}
	return true;
}

/* A fetch index, which knows more than a slot less of where the wire is. */
static inline void prepare_fetching(void)
{
	exact_nic_prepare(&nic);
	nic.caps.index_counts_done = false;
	nic.caps.index_to_wire_ns_max = (s32)nic.caps.restart_ns_max + 2 * (s32)SLOT_NS;
}

#endif
