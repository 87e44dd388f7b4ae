/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stats and frame: names and values come from the lists in the headers, each counter from its own
 * place.
 */
#include "keepon/stats.h"

#include "selftest.h"

static void test_counters(struct kpn_selftest *t)
{
	static const char *const names[] = {
#define NAME(name, text) #name,
		KPN_COUNTERS(NAME)
#undef NAME
	};
	struct kpn_stats stats;
	u64 next = 1;
	u32 i;

	memset(&stats, 0, sizeof(stats));
	/* different values beyond 32 bits, in the order of the list */
#define FILL(name, text) stats.name = next++ << 33;
	KPN_COUNTERS(FILL)
#undef FILL
	KPN_EXPECT_EQ(t, KPN_COUNT_OF(names), KPN_COUNTER_COUNT);
	for (i = 0; i < KPN_COUNTER_COUNT; i++) {
		KPN_EXPECT_TEXT(t, kpn_stats_name(i), names[i]);
		KPN_EXPECT_EQ(t, kpn_stats_value(&stats, i), (u64)(i + 1) << 33);
	}
	KPN_EXPECT_TEXT(t, kpn_stats_name(0), "submitted");
	KPN_EXPECT_TEXT(t, kpn_stats_name(KPN_COUNTER_COUNT - 1), "prebuffered");
	KPN_EXPECT_EQ(t, kpn_stats_ended(&stats), 0);
}

static void test_ended(struct kpn_selftest *t)
{
	struct kpn_stats stats;
	u64 sum = 0;
	u32 verdict;

	memset(&stats, 0, sizeof(stats));
	stats.submitted = 7;
	for (verdict = 0; verdict < KPN_VERDICT_COUNT; verdict++) {
		stats.verdicts[verdict] = 1ull << (verdict + 20);
		sum += 1ull << (verdict + 20);
		KPN_EXPECT_EQ(t, kpn_stats_ended(&stats), sum);
	}
}

/* "ON_TIME" to "on_time", into @text of @room characters */
static void lower_case(const char *name, char *text, size_t room)
{
	size_t i;

	for (i = 0; i + 1 < room && name[i]; i++)
		text[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
	text[i] = '\0';
}

static void test_verdicts(struct kpn_selftest *t)
{
	static const char *const names[] = {
#define NAME(name, sent, text) #name,
		KPN_VERDICTS(NAME)
#undef NAME
	};
	u32 sent_count = 0;
	u32 verdict;

	KPN_EXPECT_EQ(t, KPN_COUNT_OF(names), KPN_VERDICT_COUNT);
	for (verdict = 0; verdict < KPN_VERDICT_COUNT; verdict++) {
		char expected[32];

		lower_case(names[verdict], expected, sizeof(expected));
		KPN_EXPECT_TEXT(t, kpn_verdict_name((enum kpn_verdict)verdict), expected);
		sent_count += kpn_verdict_is_sent((enum kpn_verdict)verdict);
	}
	KPN_EXPECT_TEXT(t, kpn_verdict_name(KPN_VERDICT_PENDING), "pending");

	KPN_EXPECT_EQ(t, sent_count, 4);
	KPN_EXPECT(t, kpn_verdict_is_sent(KPN_VERDICT_ON_TIME));
	KPN_EXPECT(t, kpn_verdict_is_sent(KPN_VERDICT_MOVED));
	KPN_EXPECT(t, kpn_verdict_is_sent(KPN_VERDICT_BEST_EFFORT));
	KPN_EXPECT(t, kpn_verdict_is_sent(KPN_VERDICT_SENT_STALE));
	KPN_EXPECT(t, !kpn_verdict_is_sent(KPN_VERDICT_LATE));
	KPN_EXPECT(t, !kpn_verdict_is_sent(KPN_VERDICT_FLUSHED));
	KPN_EXPECT(t, !kpn_verdict_is_sent(KPN_VERDICT_PENDING));
}

void kpn_test_stats(struct kpn_selftest *t)
{
	test_counters(t);
	test_ended(t);
	test_verdicts(t);
}
