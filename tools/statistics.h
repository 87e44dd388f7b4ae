/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of one quantity over many frames, in whole nanoseconds; shared by both tools. */
#ifndef KPT_STATISTICS_H
#define KPT_STATISTICS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct kpt_summary - order statistics of @count values in ns
 *
 * Percentiles are values that occurred (nearest rank); the mean is rounded to whole ns, halves away
 * from the minimum. All are 0 when @count is 0.
 */
struct kpt_summary {
	uint64_t count;
	int64_t min;
	int64_t mean;
	int64_t p50;
	int64_t p99;
	int64_t max;
};

/** kpt_summarise() - sorts @values in place; differences between them must fit 63 bits */
struct kpt_summary kpt_summarise(int64_t *values, size_t count);

/** kpt_table_head(), kpt_table_row() - the table both tools print, one quantity a line */
void kpt_table_head(FILE *file);
void kpt_table_row(FILE *file, const char *name, const struct kpt_summary *summary);

#endif
