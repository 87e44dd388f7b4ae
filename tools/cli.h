/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What both tools say to their caller: exit codes, one-sentence errors, and arguments that
 * are read completely or not at all.
 */
#ifndef KPT_CLI_H
#define KPT_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** enum kpt_exit - exit codes; a run ended by a signal gives 128 + its number (Ctrl-C: 130) */
enum kpt_exit {
	KPT_EXIT_MET = 0,
	KPT_EXIT_MISSED = 1,
	KPT_EXIT_USAGE = 2,
	KPT_EXIT_ENVIRONMENT = 3,
	KPT_EXIT_SIGNAL = 128,
};

enum { KPT_MAC_BYTES = 6, KPT_STREAM_ID_MAX = 63 };

/** kpt_program - name in front of every message */
extern const char *kpt_program;

/** kpt_usage_error() - say what is wrong with the arguments and end with KPT_EXIT_USAGE */
_Noreturn void kpt_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** kpt_environment_error() - say what this machine cannot do and end with KPT_EXIT_ENVIRONMENT */
_Noreturn void kpt_environment_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** kpt_note() - one line on stderr that ends nothing */
void kpt_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** kpt_read_integer() - whole decimal or 0x number, nothing behind it; false leaves @value alone */
bool kpt_read_integer(const char *text, int64_t *value);

/**
 * kpt_read_time() - whole number with ns, us, ms or s behind it (nothing: ns); false leaves
 * @value_ns alone
 */
bool kpt_read_time(const char *text, int64_t *value_ns);

/** kpt_read_mac() - six hexadecimal octets with colons; false leaves @mac alone */
bool kpt_read_mac(const char *text, uint8_t mac[KPT_MAC_BYTES]);

/** kpt_read_delay() - "K=TIME", frame number and time; false leaves both alone */
bool kpt_read_delay(const char *text, uint64_t *seq, int64_t *delay_ns);

/**
 * kpt_integer() - kpt_read_integer() within @min...@max, or a usage error that names @option, range
 * and @unit
 */
int64_t kpt_integer(const char *option, const char *text, int64_t min, int64_t max,
		    const char *unit);

/** kpt_time() - kpt_read_time() within @min_ns...@max_ns, or a usage error */
int64_t kpt_time(const char *option, const char *text, int64_t min_ns, int64_t max_ns);

/** kpt_stream_id() - @text if it is 1...63 of A-Z a-z 0-9 . _ : -, or a usage error */
const char *kpt_stream_id(const char *option, const char *text);

/** kpt_option_error() - usage error for what getopt_long() returned as '?' or ':' */
_Noreturn void kpt_option_error(int found, char *const *argv);

/** kpt_print_version() - name and version on standard output, and the end */
_Noreturn void kpt_print_version(void);

#endif
