/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that appear whole, JSON values; see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { OUTPUTS_MAX = 4 };

static struct kpt_output *unfinished[OUTPUTS_MAX];

static void remove_unfinished(void)
{
	for (int i = 0; i < OUTPUTS_MAX; i++)
		if (unfinished[i])
			unlink(unfinished[i]->part);
}

static void remember(struct kpt_output *output)
{
	static bool registered;

	if (!registered && atexit(remove_unfinished))
		kpt_environment_error("an exit handler cannot be registered");
	registered = true;
	for (int i = 0; i < OUTPUTS_MAX; i++) {
		if (!unfinished[i]) {
			unfinished[i] = output;
			return;
		}
	}
	kpt_environment_error("more than %d output files", OUTPUTS_MAX);
}

static void forget(const struct kpt_output *output)
{
	for (int i = 0; i < OUTPUTS_MAX; i++)
		if (unfinished[i] == output)
			unfinished[i] = NULL;
}

void kpt_output_open(struct kpt_output *output, const char *option, const char *path)
{
	struct stat found;
	int length, fd;

	*output = (struct kpt_output){ .file = NULL };
	if (!path)
		return;
	if (!strcmp(path, "-")) {
		output->file = stdout;
		return;
	}
	if (!stat(path, &found) && !S_ISREG(found.st_mode))
		kpt_usage_error(
			"%s %s exists and is not a regular file; give another name, or - for standard output",
			option, path);
	length = snprintf(output->part, sizeof(output->part), "%s.part%ld", path, (long)getpid());
	if (length < 0 || (size_t)length >= sizeof(output->part))
		kpt_usage_error("%s: the name is longer than %d bytes; give a shorter one", option,
				PATH_MAX);
	fd = open(output->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		kpt_environment_error(
			"%s %s cannot be written: %s; name a file in a folder that can be written",
			option, path, strerror(errno));
	output->path = path;
	remember(output);
	output->file = fdopen(fd, "w");
	if (!output->file)
		kpt_environment_error("%s %s cannot be written: %s", option, path, strerror(errno));
}

void kpt_output_commit(struct kpt_output *output)
{
	bool failed;

	if (!output->file)
		return;
	failed = ferror(output->file);
	failed |= (output->path ? fclose(output->file) : fflush(output->file)) != 0;
	output->file = NULL;
	if (failed || (output->path && rename(output->part, output->path)))
		kpt_environment_error("%s cannot be written: %s",
				      output->path ? output->path : "standard output",
				      strerror(errno));
	forget(output);
}

void kpt_json_string(FILE *file, const char *text)
{
	fputc('"', file);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(file, "\\%c", *c);
		else if (*c < 0x20 || *c >= 0x7f)
			fprintf(file, "\\u%04x", *c);
		else
			fputc(*c, file);
	}
	fputc('"', file);
}

void kpt_json_time(FILE *file, bool present, int64_t time_ns)
{
	if (present)
		fprintf(file, "%" PRId64, time_ns);
	else
		fputs("null", file);
}

void kpt_json_summary(FILE *file, const char *name, const struct kpt_summary *summary)
{
	const struct {
		const char *name;
		int64_t value;
	} members[] = {
		{ "min", summary->min }, { "mean", summary->mean }, { "p50", summary->p50 },
		{ "p99", summary->p99 }, { "max", summary->max },
	};

	fprintf(file, "\"%s\": {\"count\": %" PRIu64, name, summary->count);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		fprintf(file, ", \"%s\": ", members[i].name);
		kpt_json_time(file, summary->count > 0, members[i].value);
	}
	fputc('}', file);
}
