/* SPDX-License-Identifier: BSD-3-Clause */
/* Expectations of the selftest and its parts. */
#ifndef KPT_SELFTEST_H
#define KPT_SELFTEST_H

#include <stdint.h>

void expect(const char *file, int line, const char *expression, int64_t value, int64_t expected);

#define EXPECT_EQUAL(value, expected) \
	expect(__FILE__, __LINE__, #value, (int64_t)(value), (int64_t)(expected))
#define EXPECT(condition) expect(__FILE__, __LINE__, #condition, !!(condition), 1)

void test_answers(void);
void test_ledger(void);
void test_sequence(void);
void test_payload(void);
void test_statistics(void);
void test_arguments(void);

#endif
