/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics and their table; see statistics.h. */
#include "statistics.h"

#include <inttypes.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left;
	int64_t b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static int64_t nearest_rank(const int64_t *ordered, size_t count, unsigned int percent)
{
	/* ceil(count * percent / 100) without the product: it must hold for any count */
	size_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;

	return ordered[rank ? rank - 1 : 0];
}

struct kpt_summary kpt_summarise(int64_t *values, size_t count)
{
	struct kpt_summary summary = { .count = count };
	uint64_t quotients = 0, remainders = 0;

	if (!count)
		return summary;
	qsort(values, count, sizeof(*values), compare);
	/* Each difference is divided before it is added: their plain sum may not fit. */
	for (size_t i = 0; i < count; i++) {
		uint64_t difference = (uint64_t)values[i] - (uint64_t)values[0];

		quotients += difference / count;
		remainders += difference % count;
	}
	summary.min = values[0];
	summary.mean = values[0] + (int64_t)(quotients + (remainders + count / 2) / count);
	summary.p50 = nearest_rank(values, count, 50);
	summary.p99 = nearest_rank(values, count, 99);
	summary.max = values[count - 1];
	return summary;
}

void kpt_table_head(FILE *file)
{
	fprintf(file, "%-24s %10s %14s %14s %14s %14s %14s\n", "ns", "count", "min", "mean", "p50",
		"p99", "max");
}

void kpt_table_row(FILE *file, const char *name, const struct kpt_summary *summary)
{
	if (!summary->count) {
		fprintf(file, "%-24s %10d %14s %14s %14s %14s %14s\n", name, 0, "-", "-", "-", "-",
			"-");
		return;
	}
	fprintf(file,
		"%-24s %10" PRIu64 " %14" PRId64 " %14" PRId64 " %14" PRId64 " %14" PRId64
		" %14" PRId64 "\n",
		name, summary->count, summary->min, summary->mean, summary->p50, summary->p99,
		summary->max);
}
