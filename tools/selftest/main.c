/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tools can be asked without a network: error queue messages as the kernel composes them,
 * the ledger's identity, sequence gaps, payload, statistics, arguments. Prints one line per failure
 * and 'N passed, N failed'.
 */
#include "selftest.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t passed, failed;

void expect(const char *file, int line, const char *expression, int64_t value, int64_t expected)
{
	if (value == expected) {
		passed++;
		return;
	}
	failed++;
	printf("%s:%d: %s is %" PRId64 ", expected %" PRId64 "\n", file, line, expression, value,
	       expected);
}

int main(void)
{
	test_answers();
	test_ledger();
	test_sequence();
	test_payload();
	test_statistics();
	test_arguments();
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
	return failed || !passed;
}
