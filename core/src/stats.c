/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Names and values of the counters by index, from the one list in the header. Other files count.
 */
#include "keepon/stats.h"

struct counter {
	const char *name;
	u32 offset_bytes;
};

static const struct counter counters[] = {
#define KPN_COUNTER_ROW(name, text) { #name, (u32)offsetof(struct kpn_stats, name) },
	KPN_COUNTERS(KPN_COUNTER_ROW)
#undef KPN_COUNTER_ROW
};

_Static_assert(sizeof(counters) / sizeof(counters[0]) == KPN_COUNTER_COUNT, "one row per counter");

const char *kpn_stats_name(u32 index)
{
	KPN_ASSERT(index < KPN_COUNTER_COUNT);
	if (index >= KPN_COUNTER_COUNT)
		return "unknown";
	return counters[index].name;
}

u64 kpn_stats_value(const struct kpn_stats *stats, u32 index)
{
	u64 value;

	KPN_ASSERT(index < KPN_COUNTER_COUNT);
	if (index >= KPN_COUNTER_COUNT)
		return 0;
	memcpy(&value, (const char *)stats + counters[index].offset_bytes, sizeof(value));
	return value;
}

u64 kpn_stats_ended(const struct kpn_stats *stats)
{
	u64 ended = 0;
	u32 verdict;

	for (verdict = 0; verdict < KPN_VERDICT_COUNT; verdict++)
		ended += stats->verdicts[verdict];
	return ended;
}
