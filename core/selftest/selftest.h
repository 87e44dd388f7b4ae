/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Vector tests of the core, one file per room: the list of rooms, expectations and a random source.
 * Freestanding like the core itself, so that the same files run in userspace (main.c) and in a
 * kernel; the caller shows the results, by @report.
 */
#ifndef KPN_SELFTEST_H
#define KPN_SELFTEST_H

#include "kpn_platform.h"

/* KPN_SELFTESTS - X(room) for every test_<room>.c; a new file needs this one line */
#define KPN_SELFTESTS(X) \
	X(wire)          \
	X(config)        \
	X(defaults)      \
	X(partition)     \
	X(gcl)           \
	X(credit)        \
	X(guard)         \
	X(prebuffer)     \
	X(stats)         \
	X(clock)         \
	X(ring)          \
	X(align)         \
	X(observe)       \
	X(tick)          \
	X(rx)            \
	X(rx_beats)      \
	X(runs)          \
	X(insert)        \
	X(waiting)       \
	X(padding)       \
	X(held_up)       \
	X(span)          \
	X(replan)        \
	X(rates)         \
	X(late_cpu)      \
	X(reported)      \
	X(lasting)       \
	X(pacer)         \
	X(head)          \
	X(recovery)      \
	X(doorbell)      \
	X(dual)          \
	X(dual_merge)    \
	X(hazards)       \
	X(wraps)         \
	X(depth)

/**
 * struct kpn_selftest_failure - one expectation that was not met; texts are NULL where numbers were
 * compared
 */
struct kpn_selftest_failure {
	const char *file;
	int line;
	const char *expression;
	s64 value;
	s64 expected;
	const char *text;
	const char *expected_text;
};

/**
 * struct kpn_selftest - one run
 * @report: called for each failure
 * @passed, @failed: expectations so far
 */
struct kpn_selftest {
	void (*report)(struct kpn_selftest *t, const struct kpn_selftest_failure *failure);
	u64 passed;
	u64 failed;
};

#define KPN_SELFTEST_DECLARE(room) void kpn_test_##room(struct kpn_selftest *t);
KPN_SELFTESTS(KPN_SELFTEST_DECLARE)
#undef KPN_SELFTEST_DECLARE

static inline bool kpn_expect_equal(struct kpn_selftest *t, const char *file, int line,
				    const char *expression, s64 value, s64 expected)
{
	struct kpn_selftest_failure failure = {
		.file = file,
		.line = line,
		.expression = expression,
		.value = value,
		.expected = expected,
	};

	if (value == expected) {
		t->passed++;
		return true;
	}
	t->failed++;
	t->report(t, &failure);
	return false;
}

static inline bool kpn_expect_text(struct kpn_selftest *t, const char *file, int line,
				   const char *expression, const char *text,
				   const char *expected_text)
{
	struct kpn_selftest_failure failure = {
		.file = file,
		.line = line,
		.expression = expression,
		.text = text ? text : "(null)",
		.expected_text = expected_text,
	};
	size_t i = 0;

	while (text && text[i] && text[i] == expected_text[i])
		i++;
	if (text && text[i] == expected_text[i]) {
		t->passed++;
		return true;
	}
	t->failed++;
	t->report(t, &failure);
	return false;
}

/*
 * Expectations; all count once and return whether they were met. The _AT forms name the line of a
 * vector in a table.
 */
#define KPN_EXPECT_EQ_AT(t, line, value, expected) \
	kpn_expect_equal((t), __FILE__, (line), #value, (s64)(value), (s64)(expected))
#define KPN_EXPECT_EQ(t, value, expected) KPN_EXPECT_EQ_AT(t, __LINE__, value, expected)
#define KPN_EXPECT_AT(t, line, condition) \
	kpn_expect_equal((t), __FILE__, (line), #condition, !!(condition), 1)
#define KPN_EXPECT(t, condition) KPN_EXPECT_AT(t, __LINE__, condition)
#define KPN_EXPECT_TEXT_AT(t, line, text, expected) \
	kpn_expect_text((t), __FILE__, (line), #text, (text), (expected))
#define KPN_EXPECT_TEXT(t, text, expected) KPN_EXPECT_TEXT_AT(t, __LINE__, text, expected)

#define KPN_COUNT_OF(array) ((u32)(sizeof(array) / sizeof((array)[0])))

/** kpn_random() - next of a fixed sequence (xorshift64); @state is the seed at first, never 0 */
static inline u64 kpn_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/**
 * kpn_random_below() - number from 0 to @limit - 1; 32-bit arithmetic, so that no division helper
 * is linked
 */
static inline u32 kpn_random_below(u64 *state, u32 limit)
{
	return (u32)(kpn_random(state) >> 32) % limit;
}

/**
 * kpn_random_bits() - number below 2^n for a random n from 1 to @bits_max <= 64: small and large
 * ones equally often
 */
static inline u64 kpn_random_bits(u64 *state, u32 bits_max)
{
	/* two statements: the order of calls within one expression is the compiler's choice */
	u32 unused_bits = 64 - bits_max + kpn_random_below(state, bits_max);

	return kpn_random(state) >> unused_bits;
}

#endif
