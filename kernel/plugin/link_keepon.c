// SPDX-License-Identifier: GPL-2.0-only
/*
 * iproute2 plugin for link type "keepon": `ip link add ... type keepon OPTIONS`, `ip link set ...
 * type keepon OPTIONS`, `ip -d [-j] link show`. What it prints it also reads, but for the limits on
 * a line of their own. Options and their meaning: docs/kernel.md.
 */
#include <linux/if_link.h>
#include <stdlib.h>

#include "iproute2.h"
#include "keepon/config_fields.h"
#include "keepon_options.h"
#include "slots.h"
#include "table.h"

/*
 * The message ip builds has room for this much; of it a class table gets what leaves room for other
 * options.
 */
enum { MESSAGE_BYTES = 1024, MASKS_INLINE_MAX = 64 };

/* Longer slot lists are shown as how many slots they are. */
enum { LIST_SHOWN_BYTES = 512 };

/* struct option - one with a number, or with a word of @unit, which has bars between them then */
struct option {
	const char *name;
	int attribute;
	int bytes;
	const char *unit;
	const char *sentence;
};

static const char lates[] = "strict|relaxed|reschedule";
static const char roundings[] = "up|floor";

enum { BYTES_bool = 1, BYTES_u8 = 1, BYTES_u32 = 4, BYTES_u64 = 8 };
#define OPTION(field, type, option, attribute, unit, min, max, default_, sentence) \
	{ #option, IFLA_KEEPON_##attribute, BYTES_##type, unit, sentence },
static const struct option options[] = { KPN_CONFIG_FIELDS(OPTION) KEEPON_OPTIONS(OPTION) };

/* What follows from the rest; in JSON each has its whole name. */
#define LIMIT_PREFIX "limit_"
#define LIMIT(member, type, name, attribute) \
	{ #name, IFLA_KEEPON_##attribute, BYTES_##type, "", "" },
static const struct option limits[] = { KEEPON_LIMITS(LIMIT) };

static void print_help(struct link_util *link, int argc, char **argv, FILE *file)
{
	char choice[80];
	size_t i;

	fprintf(file,
		"Usage: ip link add link DEVICE [ name NAME ] type %s [ OPTION VALUE ]...\n"
		"       ip link set NAME type %s [ OPTION VALUE ]...\n"
		"\n"
		"       class CLASSES [ slots { SLOTS | all | none | rest } ]\n"
		"                     [ late { strict | relaxed | reschedule } ] [ round { up | floor } ]\n"
		"                         slots of these classes, what happens to late frames, and the\n"
		"                         slot of a txtime between two\n",
		link->id, link->id);
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		snprintf(choice, sizeof(choice), "%s %s", options[i].name, options[i].unit);
		fprintf(file, "       %-24s%s%s\n", choice,
			strlen(choice) < 24 ? "" : "\n                               ",
			options[i].sentence);
	}
	fprintf(file,
		"\n"
		"CLASSES: numbers 0 to 15 and ranges: 3 or 0-2,7\n"
		"SLOTS:   numbers below the partition and ranges, with a step: 0-3,10 or 0-240/10;\n"
		"         rest: those no class was given. Once any class has slots, classes without have none,\n"
		"         but class 0 has the rest, except with: class 0 slots none.\n"
		"BYTES:   of a frame with FCS; frames that do not fit a slot take several, up to frame_bytes\n"
		"Example: ip link add link eth0 name rt0 type %s slot_bytes 1230 partition 250 \\\n"
		"             class 7 slots 0-240/10 late strict\n",
		link->id);
}

static bool has_words(const struct option *option)
{
	return strchr(option->unit, '|');
}

/* Length of the first of some words. */
static size_t word_bytes(const char *words)
{
	return strcspn(words, "|");
}

static int word_index(const char *words, const char *word)
{
	int i;

	for (i = 0;; i++) {
		size_t bytes = word_bytes(words);

		if (strlen(word) == bytes && !memcmp(words, word, bytes))
			return i;
		if (!words[bytes])
			return -1;
		words += bytes + 1;
	}
}

/* Word number @index into @word, of any length that words have. Return: whether there is one. */
static bool word_at(const char *words, __u64 index, char word[32])
{
	while (index--) {
		words = strchr(words, '|');
		if (!words)
			return false;
		words++;
	}
	snprintf(word, 32, "%.*s", (int)word_bytes(words), words);
	return true;
}

static int bad_word(const char *name, const char *given, const char *words)
{
	char word[32];
	int i;

	fprintf(stderr, "Error: %s \"%s\" is not known; choose", name, given);
	for (i = 0; word_at(words, i, word); i++)
		fprintf(stderr, "%s %s", i ? " or" : "", word);
	fprintf(stderr, ".\n");
	return -1;
}

static const struct option *find_option(const char *name, const struct option *among, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (!strcmp(among[i].name, name))
			return &among[i];
	}
	return NULL;
}

static int unknown_option(const char *name)
{
	if (find_option(name, limits, ARRAY_SIZE(limits)))
		fprintf(stderr,
			"Error: %s follows from the rest and cannot be set; leave it out.\n", name);
	else
		fprintf(stderr, "Error: keepon has no option \"%s\"; see ip link help keepon.\n",
			name);
	return -1;
}

static int take_option(const struct option *option, const char *text, struct nlmsghdr *n,
		       __u64 *value)
{
	unsigned long long largest = option->bytes == 8 ? ~0ull : (1ull << 8 * option->bytes) - 1;

	if (has_words(option)) {
		int index = word_index(option->unit, text);

		if (index < 0)
			return bad_word(option->name, text, option->unit);
		*value = index;
	} else if (get_u64(value, text, 0) || *value > largest) {
		fprintf(stderr, "Error: %s \"%s\" is no number from 0 to %llu.\n", option->name,
			text, largest);
		return -1;
	}
	switch (option->bytes) {
	case 1: return addattr8(n, MESSAGE_BYTES, option->attribute, *value);
	case 4: return addattr32(n, MESSAGE_BYTES, option->attribute, *value);
	default: return addattr64(n, MESSAGE_BYTES, option->attribute, *value);
	}
}

/*
 * `class LIST` and what follows it, as far as it is about classes. Return: arguments used, or -1.
 */
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
	__u64 table;

	if (!partition || partition > SLOTS_MAX) {
		fprintf(stderr, "Error: partition %u is not within 1 to %u slots.\n", partition,
			SLOTS_MAX);
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
	if (period <= MASKS_INLINE_MAX)
		return addattr_l(n, MESSAGE_BYTES, IFLA_KEEPON_ALLOWED, masks,
				 period * sizeof(*masks));
	if (table_offer(masks, period, &table))
		return -1;
	return addattr_l(n, MESSAGE_BYTES, IFLA_KEEPON_TABLE, &table, sizeof(table));
}

static int add_classes(struct nlmsghdr *n, const struct classes *classes, unsigned int partition)
{
	bool settings = false;
	bool slots = false;
	int tc;

	for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++) {
		slots |= classes->slots[tc] != NULL;
		settings |= classes->settings[tc][0] != CLASS_KEEP ||
			    classes->settings[tc][1] != CLASS_KEEP;
	}
	if (settings && addattr_l(n, MESSAGE_BYTES, IFLA_KEEPON_CLASSES, classes->settings,
				  sizeof(classes->settings)))
		return -1;
	return slots ? add_masks(n, classes, partition) : 0;
}

static int parse_opt(struct link_util *link, int argc, char **argv, struct nlmsghdr *n)
{
	unsigned int partition = 1;
	struct classes classes;

	classes_init(&classes);
	while (argc > 0) {
		const struct option *option = find_option(*argv, options, ARRAY_SIZE(options));
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
			return unknown_option(*argv);
		} else {
			__u64 value;

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

static __u64 number_of(const struct option *option, const struct rtattr *attribute)
{
	switch (option->bytes) {
	case 1: return attr_u8(attribute);
	case 4: return attr_u32(attribute);
	default: return attr_u64(attribute);
	}
}

static void print_option(const struct option *option, const struct rtattr *attribute)
{
	__u64 value = number_of(option, attribute);
	char word[32];

	print_string(PRINT_FP, NULL, "%s ", option->name);
	if (has_words(option) && word_at(option->unit, value, word))
		print_string(PRINT_ANY, option->name, "%s ", word);
	else
		print_u64(PRINT_ANY, option->name, "%llu ", value);
}

/*
 * struct summary - what is known of the classes of a link; no @masks: their table is gone or could
 * not be had
 */
struct summary {
	unsigned int partition;
	const __u8 *settings;
	const __u32 *slots;
	const __u16 *masks;
	unsigned int period;
};

static void print_slots(const struct summary *summary, int tc)
{
	static bool bits[SLOTS_MAX];
	char text[LIST_SHOWN_BYTES];
	unsigned int i;

	for (i = 0; summary->masks && i < summary->partition; i++)
		bits[i] = summary->masks[i % summary->period] >> tc & 1;
	if (summary->masks && list_print(text, sizeof(text), bits, summary->partition)) {
		print_string(PRINT_ANY, "slots", "slots %s ", text);
		return;
	}
	print_uint(PRINT_ANY, "slot_count", "slots %u ", summary->slots[tc]);
	print_uint(PRINT_FP, NULL, "of %u ", summary->partition);
}

static void print_group(const struct summary *summary, const bool *members, int first)
{
	const __u8 *settings = summary->settings + 2 * first;
	char list[64];
	char word[32];
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
	print_slots(summary, first);
	word_at(lates, settings[0] % 3, word);
	print_string(PRINT_ANY, "late", "late %s ", word);
	word_at(roundings, settings[1] % 2, word);
	print_string(PRINT_ANY, "round", "round %s ", word);
	close_json_object();
}

static bool are_alike(const struct summary *summary, int a, int b)
{
	unsigned int i;

	if (a == b)
		return true;
	if (!summary->masks || memcmp(summary->settings + 2 * a, summary->settings + 2 * b, 2))
		return false;
	for (i = 0; i < summary->period; i++) {
		if ((summary->masks[i] >> a & 1) != (summary->masks[i] >> b & 1))
			return false;
	}
	return true;
}

/* Classes that have the same slots and settings are shown in one group. */
static void print_classes(const struct summary *summary)
{
	bool shown[KEEPON_CLASS_COUNT] = {};
	int tc;
	int i;

	open_json_array(PRINT_JSON, "classes");
	for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++) {
		bool members[KEEPON_CLASS_COUNT] = {};

		if (shown[tc])
			continue;
		for (i = tc; i < KEEPON_CLASS_COUNT; i++) {
			members[i] = are_alike(summary, tc, i);
			shown[i] |= members[i];
		}
		print_group(summary, members, tc);
	}
	close_json_array(PRINT_JSON, NULL);
}

/* The description has how many slots each class has; which they are is asked for. */
static void summarise(struct rtattr *tb[])
{
	static __u16 masks[SLOTS_MAX];
	struct summary summary = { .masks = masks, .period = 1 };
	__u64 table;

	if (!tb[IFLA_KEEPON_PARTITION_SLOTS] || !tb[IFLA_KEEPON_TABLE] ||
	    !tb[IFLA_KEEPON_CLASSES] || !tb[IFLA_KEEPON_CLASS_SLOTS] ||
	    RTA_PAYLOAD(tb[IFLA_KEEPON_CLASSES]) < 2 * KEEPON_CLASS_COUNT ||
	    RTA_PAYLOAD(tb[IFLA_KEEPON_CLASS_SLOTS]) < KEEPON_CLASS_COUNT * sizeof(__u32))
		return;
	summary.partition = attr_u32(tb[IFLA_KEEPON_PARTITION_SLOTS]);
	summary.settings = RTA_DATA(tb[IFLA_KEEPON_CLASSES]);
	summary.slots = RTA_DATA(tb[IFLA_KEEPON_CLASS_SLOTS]);
	table = attr_u64(tb[IFLA_KEEPON_TABLE]);
	masks[0] = 0xffff;
	if (table)
		summary.period = table_fetch(table, masks);
	if (!summary.period || summary.partition > SLOTS_MAX)
		summary.masks = NULL;
	print_classes(&summary);
}

/* On a line of their own, for they cannot be given back. */
static void print_limits(struct rtattr *tb[])
{
	size_t i;

	if (!tb[limits[0].attribute])
		return;
	print_nl();
	print_string(PRINT_FP, NULL, "%s", "    most of one call: ");
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		const struct rtattr *attribute = tb[limits[i].attribute];

		if (!attribute)
			continue;
		print_string(PRINT_FP, NULL, "%s ", limits[i].name + strlen(LIMIT_PREFIX));
		print_u64(PRINT_ANY, limits[i].name, "%llu ", number_of(&limits[i], attribute));
	}
}

static void print_opt(struct link_util *link, FILE *file, struct rtattr *tb[])
{
	size_t i;

	if (!tb)
		return;
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (tb[options[i].attribute])
			print_option(&options[i], tb[options[i].attribute]);
		if (options[i].attribute == IFLA_KEEPON_PARTITION_SLOTS)
			summarise(tb);
	}
	if (tb[IFLA_KEEPON_RATE_BPS])
		print_u64(PRINT_JSON, "rate_bps", NULL, attr_u64(tb[IFLA_KEEPON_RATE_BPS]));
	print_limits(tb);
}

__attribute__((visibility("default"))) struct link_util keepon_link_util = {
	.id = KEEPON_LINK_KIND,
	.maxattr = IFLA_KEEPON_MAX,
	.parse_opt = parse_opt,
	.print_opt = print_opt,
	.print_help = print_help,
};

__attribute__((constructor)) static void loaded(void)
{
	layout_check("vlan_link_util", "vlan", offsetof(struct link_util, id),
		     sizeof(struct link_util));
}
