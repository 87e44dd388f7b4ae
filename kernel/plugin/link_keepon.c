// SPDX-License-Identifier: GPL-2.0-only
/*
 * iproute2 plugin for link type "keepon": `ip link add ... type keepon OPTIONS`, `ip link set ... type keepon OPTIONS`,
 * `ip -d [-j] link show`. What it prints it also reads. Options and their meaning: docs/kernel.md.
 */
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <utils.h>
/* iproute2's own, in the order it needs */
#include <ip_common.h>

#include "slots.h"

/* The message ip builds has room for this much. */
enum { MESSAGE_BYTES = 1024 };

/* struct option - one with a number or a word */
struct option {
	const char *name;
	int attribute;
	int bytes;
	const char *const *words;
};

static const char *const modes[] = { "phase-locked", "paper", NULL };
static const char *const lates[] = { "strict", "relaxed", "reschedule", NULL };
static const char *const roundings[] = { "up", "floor", NULL };
static const char *const clocks[] = { "interpolated", "counter", "dual", NULL };
static const char *const merges[] = { "strip", "published", NULL };
static const char *const placeholders[] = { "bad-fcs", "mac-control", "reserved-address", NULL };
static const char *const paddings[] = { "deferred", "on-demand", "auto", NULL };
static const char *const trims[] = { "any", "reserved", NULL };
static const char *const switches[] = { "off", "on", NULL };
static const char *const polls[] = { "hrtimer", "thread", NULL };
static const char *const txtimes[] = { "phc", "tai", NULL };
static const char *const backends[] = { "native", "generic", NULL };

static const struct option options[] = {
	{ "mode", IFLA_KEEPON_MODE, 1, modes },
	{ "slot_bytes", IFLA_KEEPON_SLOT_BYTES, 4, NULL },
	{ "ring", IFLA_KEEPON_RING_SLOTS, 4, NULL },
	{ "batch", IFLA_KEEPON_BATCH_SLOTS, 4, NULL },
	{ "depth", IFLA_KEEPON_DEPTH_SLOTS, 4, NULL },
	{ "partition", IFLA_KEEPON_PARTITION_SLOTS, 4, NULL },
	{ "prebuffer", IFLA_KEEPON_PREBUFFER, 4, NULL },
	{ "clock", IFLA_KEEPON_CLOCK, 1, clocks },
	{ "merge", IFLA_KEEPON_MERGE, 1, merges },
	{ "tau_ns", IFLA_KEEPON_TAU_NS, 4, NULL },
	{ "placeholder", IFLA_KEEPON_PLACEHOLDER, 1, placeholders },
	{ "padding", IFLA_KEEPON_PADDING, 1, paddings },
	{ "trim", IFLA_KEEPON_TRIM, 1, trims },
	{ "trim_down", IFLA_KEEPON_TRIM_DOWN_BYTES, 4, NULL },
	{ "trim_up", IFLA_KEEPON_TRIM_UP_BYTES, 4, NULL },
	{ "tolerance_ns", IFLA_KEEPON_TOLERANCE_NS, 4, NULL },
	{ "drift_ppb", IFLA_KEEPON_DRIFT_PPB, 4, NULL },
	{ "wander_ppb", IFLA_KEEPON_WANDER_PPB, 4, NULL },
	{ "poll_overhead_ns", IFLA_KEEPON_POLL_OVERHEAD_NS, 4, NULL },
	{ "dither", IFLA_KEEPON_DITHER, 1, switches },
	{ "poll", IFLA_KEEPON_POLL, 1, polls },
	{ "poll_cpu", IFLA_KEEPON_POLL_CPU, 4, NULL },
	{ "rx_poll_cpu", IFLA_KEEPON_RX_POLL_CPU, 4, NULL },
	{ "poll_fifo", IFLA_KEEPON_POLL_FIFO, 1, NULL },
	{ "txtime", IFLA_KEEPON_TXTIME, 1, txtimes },
};

static void print_help(struct link_util *link, int argc, char **argv, FILE *file)
{
	fprintf(file,
		"Usage: ip link add link DEVICE [ name NAME ] type %s [ OPTIONS ]\n"
		"       ip link set NAME type %s OPTIONS\n"
		"\n"
		"OPTIONS: [ mode { phase-locked | paper } ] [ slot_bytes BYTES ] [ partition SLOTS ]\n"
		"         [ class CLASSES [ slots { SLOTS | all | none | rest } ]\n"
		"                         [ late { strict | relaxed | reschedule } ] [ round { up | floor } ] ]...\n"
		"         [ ring SLOTS ] [ batch SLOTS ] [ depth SLOTS ] [ prebuffer FRAMES ]\n"
		"         [ clock { interpolated | counter | dual } ] [ merge { strip | published } ] [ tau_ns NS ]\n"
		"         [ txtime { phc | tai } ] [ tolerance_ns NS ]\n"
		"         [ placeholder { bad-fcs | mac-control | reserved-address } ]\n"
		"         [ padding { auto | deferred | on-demand } ]\n"
		"         [ trim { any | reserved } ] [ trim_down BYTES ] [ trim_up BYTES ]\n"
		"         [ drift_ppb PPB ] [ wander_ppb PPB_PER_S ] [ dither { on | off } ]\n"
		"         [ poll { hrtimer | thread } ] [ poll_cpu CPU ] [ rx_poll_cpu CPU ] [ poll_fifo PRIORITY ]\n"
		"         [ poll_overhead_ns NS ]\n"
		"\n"
		"CLASSES: numbers 0 to 15 and ranges: 3 or 0-2,7\n"
		"SLOTS:   numbers below the partition and ranges, with a step: 0-3,10 or 0-240/10;\n"
		"         rest: those no class was given. Once any class has slots, classes without have none.\n"
		"Example: ip link add link eth0 name rt0 type %s slot_bytes 1230 partition 250 \\\n"
		"             class 7 slots 0-240/10 late strict class 0 slots rest\n",
		link->id, link->id, link->id);
}

static int word_index(const char *const *words, const char *word)
{
	int i;

	for (i = 0; words[i]; i++) {
		if (!strcmp(words[i], word))
			return i;
	}
	return -1;
}

static int bad_word(const char *name, const char *word, const char *const *words)
{
	int i;

	fprintf(stderr, "Error: %s \"%s\" is not known; choose", name, word);
	for (i = 0; words[i]; i++)
		fprintf(stderr, "%s %s", i ? " or" : "", words[i]);
	fprintf(stderr, ".\n");
	return -1;
}

static const struct option *find_option(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (!strcmp(options[i].name, name))
			return &options[i];
	}
	return NULL;
}

static int take_option(const struct option *option, const char *text, struct nlmsghdr *n, __u32 *value)
{
	if (option->words) {
		int index = word_index(option->words, text);

		if (index < 0)
			return bad_word(option->name, text, option->words);
		*value = index;
	} else if (get_u32(value, text, 0)) {
		fprintf(stderr, "Error: %s \"%s\" is no number from 0 to 4294967295.\n", option->name, text);
		return -1;
	}
	if (option->bytes == 1 && *value > 255) {
		fprintf(stderr, "Error: %s %u is more than 255.\n", option->name, *value);
		return -1;
	}
	return option->bytes == 1 ? addattr8(n, MESSAGE_BYTES, option->attribute, *value) :
				    addattr32(n, MESSAGE_BYTES, option->attribute, *value);
}

/* `class LIST` and what follows it, as far as it is about classes. Return: arguments used, or -1. */
static int take_class(int argc, char **argv, struct classes *classes)
{
	bool chosen[KEEPON_CLASS_COUNT] = {};
	const char *wrong;
	int used = 2;
	int tc;

	if (argc < 2) {
		fprintf(stderr, "Error: class without a class; write class 0 or class 1-15.\n");
		return -1;
	}
	wrong = list_parse(argv[1], KEEPON_CLASS_COUNT, chosen);
	if (wrong) {
		fprintf(stderr, "Error: class \"%s\" %s (classes are 0 to 15).\n", argv[1], wrong);
		return -1;
	}
	for (; used + 1 < argc; used += 2) {
		const char *value = argv[used + 1];
		bool late = !strcmp(argv[used], "late");
		int index = CLASS_KEEP;

		if (late || !strcmp(argv[used], "round")) {
			index = word_index(late ? lates : roundings, value);
			if (index < 0)
				return bad_word(argv[used], value, late ? lates : roundings);
		} else if (strcmp(argv[used], "slots")) {
			break;
		}
		for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++) {
			if (!chosen[tc])
				continue;
			if (index == CLASS_KEEP)
				classes->slots[tc] = value;
			else
				classes->settings[tc][late ? 0 : 1] = index;
		}
	}
	return used;
}

static int add_masks(struct nlmsghdr *n, const struct classes *classes, unsigned int partition)
{
	static __u16 masks[SLOTS_MAX];
	unsigned int period;
	const char *wrong;
	unsigned int tc;

	if (!partition || partition > SLOTS_MAX) {
		fprintf(stderr, "Error: partition %u is not within 1 to %u slots.\n", partition, SLOTS_MAX);
		return -1;
	}
	wrong = classes_masks(classes, partition, masks, &tc);
	if (wrong) {
		fprintf(stderr,
			"Error: class %u: slots \"%s\" %s; there are slots 0 to %u, the option partition says how many.\n",
			tc, classes->slots[tc], wrong, partition - 1);
		return -1;
	}
	period = masks_period(masks, partition);
	if (NLMSG_ALIGN(n->nlmsg_len) + RTA_LENGTH(period * sizeof(*masks)) > MESSAGE_BYTES) {
		fprintf(stderr,
			"Error: the partition repeats after %u slots, more than a message of ip holds; use keepon link.\n",
			period);
		return -1;
	}
	return addattr_l(n, MESSAGE_BYTES, IFLA_KEEPON_ALLOWED, masks, period * sizeof(*masks));
}

static int add_classes(struct nlmsghdr *n, const struct classes *classes, unsigned int partition)
{
	bool settings = false;
	bool slots = false;
	int tc;

	for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++) {
		slots |= classes->slots[tc] != NULL;
		settings |= classes->settings[tc][0] != CLASS_KEEP || classes->settings[tc][1] != CLASS_KEEP;
	}
	if (settings && addattr_l(n, MESSAGE_BYTES, IFLA_KEEPON_CLASSES, classes->settings, sizeof(classes->settings)))
		return -1;
	return slots ? add_masks(n, classes, partition) : 0;
}

static int parse_opt(struct link_util *link, int argc, char **argv, struct nlmsghdr *n)
{
	unsigned int partition = 1;
	struct classes classes;

	classes_init(&classes);
	while (argc > 0) {
		const struct option *option = find_option(*argv);
		int used = 2;

		if (!strcmp(*argv, "help")) {
			print_help(link, argc, argv, stderr);
			return -1;
		}
		if (!strcmp(*argv, "class")) {
			used = take_class(argc, argv, &classes);
			if (used < 0)
				return -1;
		} else if (!option) {
			fprintf(stderr, "Error: keepon has no option \"%s\"; see ip link help keepon.\n", *argv);
			return -1;
		} else {
			__u32 value;

			if (argc < 2) {
				fprintf(stderr, "Error: %s without a value.\n", *argv);
				return -1;
			}
			if (take_option(option, argv[1], n, &value))
				return -1;
			if (option->attribute == IFLA_KEEPON_PARTITION_SLOTS)
				partition = value;
		}
		argc -= used;
		argv += used;
	}
	return add_classes(n, &classes, partition);
}

/* ---- printing ---- */

static void print_option(const struct option *option, const struct rtattr *attribute)
{
	__u32 value = option->bytes == 1 ? rta_getattr_u8(attribute) : rta_getattr_u32(attribute);
	int count = 0;

	while (option->words && option->words[count])
		count++;
	if (value < (__u32)count) {
		print_string(PRINT_FP, NULL, "%s ", option->name);
		print_string(PRINT_ANY, option->name, "%s ", option->words[value]);
		return;
	}
	print_string(PRINT_FP, NULL, "%s ", option->name);
	print_uint(PRINT_ANY, option->name, "%u ", value);
}

/* struct view - what is the same for classes shown together */
struct view {
	char slots[8 * SLOTS_MAX];
	__u8 settings[2];
};

static void view_class(struct view *view, int tc, const __u16 *masks, unsigned int period, unsigned int partition,
		       const __u8 *settings)
{
	static bool bits[SLOTS_MAX];
	unsigned int i;

	for (i = 0; i < partition; i++)
		bits[i] = masks[i % period] >> tc & 1;
	list_print(view->slots, sizeof(view->slots), bits, partition);
	memcpy(view->settings, settings, sizeof(view->settings));
}

static void print_view(const bool *members, const struct view *view)
{
	char list[64];
	int tc;

	open_json_object(NULL);
	open_json_array(PRINT_JSON, "class");
	for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++) {
		if (members[tc])
			print_uint(PRINT_JSON, NULL, NULL, tc);
	}
	close_json_array(PRINT_JSON, NULL);
	list_print(list, sizeof(list), members, KEEPON_CLASS_COUNT);
	print_string(PRINT_FP, NULL, "class %s ", strcmp(list, "all") ? list : "0-15");
	print_string(PRINT_ANY, "slots", "slots %s ", view->slots);
	print_string(PRINT_ANY, "late", "late %s ", lates[view->settings[0] % 3]);
	print_string(PRINT_ANY, "round", "round %s ", roundings[view->settings[1] % 2]);
	close_json_object();
}

/* Classes that have the same slots and settings are shown in one group. */
static void print_classes(struct rtattr *tb[], unsigned int partition)
{
	static struct view views[2];
	const __u16 *masks = RTA_DATA(tb[IFLA_KEEPON_ALLOWED]);
	const __u8 *settings = RTA_DATA(tb[IFLA_KEEPON_CLASSES]);
	unsigned int period = RTA_PAYLOAD(tb[IFLA_KEEPON_ALLOWED]) / sizeof(*masks);
	bool shown[KEEPON_CLASS_COUNT] = {};
	int tc;
	int i;

	if (!period || partition > SLOTS_MAX || RTA_PAYLOAD(tb[IFLA_KEEPON_CLASSES]) < 2 * KEEPON_CLASS_COUNT)
		return;
	open_json_array(PRINT_JSON, "classes");
	for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++) {
		bool members[KEEPON_CLASS_COUNT] = {};

		if (shown[tc])
			continue;
		view_class(&views[0], tc, masks, period, partition, settings + 2 * tc);
		for (i = tc; i < KEEPON_CLASS_COUNT; i++) {
			view_class(&views[1], i, masks, period, partition, settings + 2 * i);
			members[i] = !strcmp(views[0].slots, views[1].slots) &&
				     !memcmp(views[0].settings, views[1].settings, 2);
			shown[i] |= members[i];
		}
		print_view(members, &views[0]);
	}
	close_json_array(PRINT_JSON, NULL);
}

static void print_opt(struct link_util *link, FILE *file, struct rtattr *tb[])
{
	size_t i;

	if (!tb)
		return;
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (tb[options[i].attribute])
			print_option(&options[i], tb[options[i].attribute]);
		if (options[i].attribute == IFLA_KEEPON_PARTITION_SLOTS && tb[IFLA_KEEPON_PARTITION_SLOTS] &&
		    tb[IFLA_KEEPON_ALLOWED] && tb[IFLA_KEEPON_CLASSES])
			print_classes(tb, rta_getattr_u32(tb[IFLA_KEEPON_PARTITION_SLOTS]));
	}
	if (tb[IFLA_KEEPON_RATE_BPS])
		print_u64(PRINT_JSON, "rate_bps", NULL, rta_getattr_u64(tb[IFLA_KEEPON_RATE_BPS]));
	if (tb[IFLA_KEEPON_BACKEND] && rta_getattr_u8(tb[IFLA_KEEPON_BACKEND]) < 2)
		print_string(PRINT_JSON, "backend", NULL, backends[rta_getattr_u8(tb[IFLA_KEEPON_BACKEND])]);
}

__attribute__((visibility("default"))) struct link_util keepon_link_util = {
	.id = KEEPON_LINK_KIND,
	.maxattr = IFLA_KEEPON_MAX,
	.parse_opt = parse_opt,
	.print_opt = print_opt,
	.print_help = print_help,
};
