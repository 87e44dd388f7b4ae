/* SPDX-License-Identifier: BSD-3-Clause */
/* Result files that appear complete or not at all, and the few JSON values the tools write. */
#ifndef KPT_OUTPUT_H
#define KPT_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "statistics.h"

/**
 * struct kpt_output - a file on its way
 * @file: where to write; NULL when no file was asked for
 * @path: final name, NULL for standard output
 * @part: name until kpt_output_commit(), beside @path
 */
struct kpt_output {
	FILE *file;
	const char *path;
	char part[PATH_MAX];
};

/**
 * kpt_output_open() - @path NULL: none, "-": standard output; ends with an environment error if it
 * cannot be made
 */
void kpt_output_open(struct kpt_output *output, const char *option, const char *path);

/**
 * kpt_output_commit() - everything is written: give the file its name; ends with an environment
 * error otherwise
 */
void kpt_output_commit(struct kpt_output *output);

/** kpt_json_string() - quoted and escaped */
void kpt_json_string(FILE *file, const char *text);

/** kpt_json_time() - number, or null when @present is false */
void kpt_json_time(FILE *file, bool present, int64_t time_ns);

/**
 * kpt_json_summary() - object with count, min, mean, p50, p99, max; the last five are null when
 * count is 0
 */
void kpt_json_summary(FILE *file, const char *name, const struct kpt_summary *summary);

#endif
