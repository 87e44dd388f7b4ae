/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors and arguments of both tools; see cli.h. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *kpt_program = "keepon";

static void say(const char *format, va_list arguments)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", kpt_program);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

void kpt_usage_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	exit(KPT_EXIT_USAGE);
}

void kpt_environment_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	exit(KPT_EXIT_ENVIRONMENT);
}

void kpt_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

/* strtoll() takes leading blanks, signs and octal; here "010" is ten and " 1" is nothing. */
static bool read_leading_integer(const char *text, int64_t *value, const char **rest)
{
	bool negative = text[0] == '-';
	const char *digits = text + negative;
	bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	char *end;
	long long found;

	if (hexadecimal ? !isxdigit((unsigned char)digits[2]) : !isdigit((unsigned char)digits[0]))
		return false;
	errno = 0;
	found = strtoll(text, &end, hexadecimal ? 16 : 10);
	if (errno)
		return false;
	*value = found;
	*rest = end;
	return true;
}

bool kpt_read_integer(const char *text, int64_t *value)
{
	const char *rest;
	int64_t found;

	if (!read_leading_integer(text, &found, &rest) || *rest)
		return false;
	*value = found;
	return true;
}

bool kpt_read_time(const char *text, int64_t *value_ns)
{
	static const struct {
		const char *suffix;
		int64_t ns;
	} units[] = {
		{ "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }
	};
	const char *rest;
	int64_t found;

	if (!read_leading_integer(text, &found, &rest))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(rest, units[i].suffix))
			return !__builtin_mul_overflow(found, units[i].ns, value_ns);
	return false;
}

bool kpt_read_mac(const char *text, uint8_t mac[KPT_MAC_BYTES])
{
	unsigned int octets[KPT_MAC_BYTES];
	int length = 0;

	if (strlen(text) != 17)
		return false;
	for (const char *place = text; *place; place++)
		if ((place - text) % 3 == 2 ? *place != ':' : !isxdigit((unsigned char)*place))
			return false;
	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &octets[0], &octets[1], &octets[2],
		   &octets[3], &octets[4], &octets[5], &length) != KPT_MAC_BYTES ||
	    length != 17)
		return false;
	for (int i = 0; i < KPT_MAC_BYTES; i++)
		mac[i] = (uint8_t)octets[i];
	return true;
}

bool kpt_read_delay(const char *text, uint64_t *seq, int64_t *delay_ns)
{
	const char *rest;
	int64_t found_seq, found_ns;

	if (!read_leading_integer(text, &found_seq, &rest) || found_seq < 0 || *rest != '=' ||
	    !kpt_read_time(rest + 1, &found_ns) || found_ns < 0)
		return false;
	*seq = (uint64_t)found_seq;
	*delay_ns = found_ns;
	return true;
}

int64_t kpt_integer(const char *option, const char *text, int64_t min, int64_t max,
		    const char *unit)
{
	char range[64];
	int64_t value;

	if (min == max)
		snprintf(range, sizeof(range), "%" PRId64, min);
	else
		snprintf(range, sizeof(range), "%" PRId64 "...%" PRId64, min, max);
	if (!kpt_read_integer(text, &value))
		kpt_usage_error("%s %s is not a whole number; give %s%s%s", option, text, range,
				*unit ? " " : "", unit);
	if (value < min || value > max)
		kpt_usage_error("%s %s is out of range; give %s%s%s", option, text, range,
				*unit ? " " : "", unit);
	return value;
}

int64_t kpt_time(const char *option, const char *text, int64_t min_ns, int64_t max_ns)
{
	int64_t value_ns;

	if (!kpt_read_time(text, &value_ns))
		kpt_usage_error(
			"%s %s is not a time; give a whole number of ns, or one with us, ms or s behind it",
			option, text);
	if (value_ns < min_ns || value_ns > max_ns)
		kpt_usage_error("%s %s is out of range; give %" PRId64 "...%" PRId64 " ns", option,
				text, min_ns, max_ns);
	return value_ns;
}

const char *kpt_stream_id(const char *option, const char *text)
{
	size_t length = strlen(text);
	bool good = length >= 1 && length <= KPT_STREAM_ID_MAX;

	for (size_t i = 0; good && i < length; i++)
		good = isalnum((unsigned char)text[i]) || strchr("._:-", text[i]);
	if (!good)
		kpt_usage_error(
			"%s \"%s\" is not a stream id; give 1...%d letters, digits or . _ : -",
			option, text, KPT_STREAM_ID_MAX);
	return text;
}

void kpt_option_error(int found, char *const *argv)
{
	const char *option = optind > 0 ? argv[optind - 1] : "";

	if (found == ':')
		kpt_usage_error("%s needs a value; see %s --help", option, kpt_program);
	/* getopt_long() names a long option it knows by its value, which is beyond characters. */
	if (optopt > UCHAR_MAX)
		kpt_usage_error("%s has a value, which this option does not take; see %s --help",
				option, kpt_program);
	kpt_usage_error("option %s is not known or not unique; see %s --help", option, kpt_program);
}

void kpt_print_version(void)
{
	printf("%s %s\n", kpt_program, KEEPON_VERSION);
	exit(fflush(stdout) ? KPT_EXIT_ENVIRONMENT : KPT_EXIT_MET);
}
