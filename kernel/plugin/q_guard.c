// SPDX-License-Identifier: GPL-2.0-only
/*
 * iproute2 plugin for qdisc "guard": `tc qdisc add|change|replace ... guard OPTIONS`, `tc [-s] [-j]
 * qdisc show`. What it prints it also reads, but for what stands in brackets. Options and their
 * meaning: docs/qdiscs.md.
 */
#include "iproute2.h"
#include "uapi/keepon_guard.h"

enum { MESSAGE_BYTES = 1024 };

static const char *const lates[] = { "drop", "send" };

static void print_help(void)
{
	fprintf(stderr,
		"Usage: ... guard [ fudge NS ] [ mtu BYTES ] [ rate RATE ] [ limit FRAMES ]\n"
		"                 [ late { drop | send } ] [ tolerance NS ]\n"
		"fudge: from the decision to send until the wire has begun, at most\n"
		"mtu:   of the longest frame with FCS; rate: of the link; 0, what the device says\n");
}

static int bad(const char *name, const char *word, const char *allowed)
{
	fprintf(stderr, "Error: guard: %s \"%s\": must be %s.\n", name, word, allowed);
	return -1;
}

struct number {
	const char *name;
	int attribute;
	const char *allowed;
};

static const struct number numbers[] = {
	{ "fudge", TCA_GUARD_FUDGE_NS, "0 to 1000000000 ns" },
	{ "tolerance", TCA_GUARD_TOLERANCE_NS, "0 to 1000000000 ns" },
	{ "mtu", TCA_GUARD_MTU, "64 to 65535 bytes, or 0" },
	{ "limit", TCA_GUARD_LIMIT, "1 to 65536 frames" },
};

static const struct number *number_named(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!strcmp(numbers[i].name, name))
			return &numbers[i];
	}
	return NULL;
}

/* An option with its word. */
static int add_option(struct nlmsghdr *n, const char *name, const char *word)
{
	const struct number *number = number_named(name);
	__u64 rate_bytes;
	__u32 value;

	if (number) {
		if (get_u32(&value, word, 0))
			return bad(name, word, number->allowed);
		return addattr32(n, MESSAGE_BYTES, number->attribute, value);
	}
	if (!strcmp(name, "rate")) {
		if (get_rate64(&rate_bytes, word))
			return bad(name, word, "that of an Ethernet, such as 1gbit, or 0");
		return addattr64(n, MESSAGE_BYTES, TCA_GUARD_RATE, rate_bytes * 8);
	}
	if (!strcmp(name, "late")) {
		if (strcmp(word, lates[0]) && strcmp(word, lates[1]))
			return bad(name, word, "drop or send");
		return addattr8(n, MESSAGE_BYTES, TCA_GUARD_LATE, !strcmp(word, lates[1]));
	}
	fprintf(stderr, "Error: guard has no option \"%s\".\n", name);
	print_help();
	return -1;
}

static int parse_options(const struct qdisc_util *qdisc, int argc, char **argv, struct nlmsghdr *n,
			 const char *device)
{
	struct rtattr *nest = addattr_nest(n, MESSAGE_BYTES, TCA_OPTIONS | NLA_F_NESTED);

	while (argc > 0) {
		if (!strcmp(*argv, "help")) {
			print_help();
			return -1;
		}
		if (argc < 2) {
			fprintf(stderr, "Error: guard: nothing follows \"%s\".\n", *argv);
			return -1;
		}
		if (add_option(n, argv[0], argv[1]))
			return -1;
		argc -= 2;
		argv += 2;
	}
	addattr_nest_end(n, nest);
	return 0;
}

static __u32 number_of(struct rtattr *const *tb, int attribute)
{
	return tb[attribute] ? attr_u32(tb[attribute]) : 0;
}

static __u64 long_of(struct rtattr *const *tb, int attribute)
{
	return tb[attribute] ? attr_u64(tb[attribute]) : 0;
}

static int print_options(const struct qdisc_util *qdisc, FILE *file, struct rtattr *options)
{
	struct rtattr *tb[TCA_GUARD_MAX + 1];
	__u8 late;

	if (!options)
		return 0;
	parse_rtattr_flags(tb, TCA_GUARD_MAX, RTA_DATA(options), RTA_PAYLOAD(options),
			   NLA_F_NESTED);
	late = tb[TCA_GUARD_LATE] ? attr_u8(tb[TCA_GUARD_LATE]) : 0;
	print_uint(PRINT_ANY, "fudge", "fudge %u ", number_of(tb, TCA_GUARD_FUDGE_NS));
	print_uint(PRINT_ANY, "mtu", "mtu %u ", number_of(tb, TCA_GUARD_MTU));
	print_u64(PRINT_ANY, "rate", "rate %llubit ", long_of(tb, TCA_GUARD_RATE));
	print_uint(PRINT_ANY, "limit", "limit %u ", number_of(tb, TCA_GUARD_LIMIT));
	print_string(PRINT_ANY, "late", "late %s ", lates[late ? 1 : 0]);
	print_uint(PRINT_ANY, "tolerance", "tolerance %u ", number_of(tb, TCA_GUARD_TOLERANCE_NS));
	print_uint(PRINT_ANY, "window", "(window %u ns", number_of(tb, TCA_GUARD_WINDOW_NS));
	print_u64(PRINT_ANY, "notice", ", notice %llu ns", long_of(tb, TCA_GUARD_NOTICE_NS));
	print_u64(PRINT_ANY, "rate_used", ", by %llu bit/s", long_of(tb, TCA_GUARD_RATE_USED));
	print_uint(PRINT_ANY, "mtu_used", " and %u bytes) ", number_of(tb, TCA_GUARD_MTU_USED));
	return 0;
}

static int print_counters(const struct qdisc_util *qdisc, FILE *file, struct rtattr *attribute)
{
	struct tc_guard_xstats stats = { 0 };
	size_t bytes = RTA_PAYLOAD(attribute);

	memcpy(&stats, RTA_DATA(attribute), bytes < sizeof(stats) ? bytes : sizeof(stats));
	print_u64(PRINT_ANY, "timed", "  timed %llu", stats.timed);
	print_u64(PRINT_ANY, "late_sent", " late_sent %llu", stats.late_sent);
	print_u64(PRINT_ANY, "late", " late %llu", stats.late);
	print_u64(PRINT_ANY, "wrong", " wrong %llu", stats.wrong);
	print_u64(PRINT_ANY, "others", " others %llu", stats.others);
	print_u64(PRINT_ANY, "squeezed", " squeezed %llu", stats.squeezed);
	print_u64(PRINT_ANY, "short_notice", " short_notice %llu", stats.short_notice);
	print_u64(PRINT_ANY, "held_ns", " held_ns %llu", stats.held_ns);
	print_uint(PRINT_ANY, "timed_waiting", " timed_waiting %u", stats.timed_waiting);
	print_uint(PRINT_ANY, "others_waiting", " others_waiting %u", stats.others_waiting);
	return 0;
}

__attribute__((visibility("default"))) struct qdisc_util guard_qdisc_util = {
	.id = KEEPON_GUARD_KIND,
	.parse_qopt = parse_options,
	.print_qopt = print_options,
	.print_xstats = print_counters,
};

__attribute__((constructor)) static void loaded(void)
{
	layout_check("fq_codel_qdisc_util", "fq_codel", offsetof(struct qdisc_util, id),
		     sizeof(struct qdisc_util));
}
