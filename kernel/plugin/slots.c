// SPDX-License-Identifier: GPL-2.0-only
/* Lists of classes and slots; knows nothing of netlink. */
#include "slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void classes_init(struct classes *classes)
{
	memset(classes, 0, sizeof(*classes));
	memset(classes->settings, CLASS_KEEP, sizeof(classes->settings));
}

/* A number at *text, which then stands behind it. */
static bool number(const char **text, unsigned long *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*value = strtoul(*text, &end, 10);
	*text = end;
	return !errno;
}

static const char *term_parse(const char **text, unsigned int end, bool *bits)
{
	unsigned long first;
	unsigned long last;
	unsigned long step = 1;
	unsigned long i;

	if (!number(text, &first))
		return "is no list: write numbers and ranges, like 0-3,10 or 0-240/10";
	last = first;
	if (**text == '-') {
		++*text;
		if (!number(text, &last))
			return "has a range without an end: write FIRST-LAST";
	}
	if (**text == '/') {
		++*text;
		if (!number(text, &step) || !step)
			return "has a range without a step: write FIRST-LAST/STEP";
	}
	if (last < first)
		return "has a range that ends before it begins: write FIRST-LAST";
	if (last >= end)
		return "goes beyond the last number there is";
	for (i = first; i <= last; i += step)
		bits[i] = true;
	return NULL;
}

const char *list_parse(const char *text, unsigned int end, bool *bits)
{
	for (;;) {
		const char *wrong = term_parse(&text, end, bits);

		if (wrong)
			return wrong;
		if (!*text)
			return NULL;
		if (*text++ != ',')
			return "is no list: separate its terms by commas";
	}
}

static bool is(const char *text, const char *word)
{
	return text && !strcmp(text, word);
}

const char *classes_masks(const struct classes *classes, unsigned int partition, __u16 *masks,
			  unsigned int *bad_class)
{
	bool *bits = calloc(partition, sizeof(*bits));
	const char *wrong = NULL;
	unsigned int rest = 0;
	unsigned int tc;
	unsigned int i;

	memset(masks, 0, partition * sizeof(*masks));
	if (!bits)
		return "needs more memory than there is";
	for (tc = 0; tc < KEEPON_CLASS_COUNT && !wrong; tc++) {
		const char *slots = classes->slots[tc];

		*bad_class = tc;
		memset(bits, is(slots, "all"), partition * sizeof(*bits));
		if (slots && !is(slots, "all") && !is(slots, "none") && !is(slots, "rest"))
			wrong = list_parse(slots, partition, bits);
		for (i = 0; i < partition; i++)
			masks[i] |= bits[i] << tc;
	}
	/* What is left is known only now; several classes may share it. */
	for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++)
		rest |= is(classes->slots[tc], "rest") << tc;
	/*
	 * Nobody asks for it: it is class 0's, which all traffic is in that has no other, ARP above
	 * all.
	 */
	if (!rest && !classes->slots[0])
		rest = 1;
	for (i = 0; i < partition; i++)
		masks[i] = masks[i] ?: rest;
	free(bits);
	return wrong;
}

unsigned int masks_period(const __u16 *masks, unsigned int count)
{
	unsigned int period;

	for (period = 1; period < count; period++) {
		if (count % period == 0 &&
		    !memcmp(masks, masks + period, (count - period) * sizeof(*masks)))
			return period;
	}
	return count;
}

static unsigned int next_set(const bool *bits, unsigned int from, unsigned int end)
{
	while (from < end && !bits[from])
		from++;
	return from;
}

/* Last number of the run with a constant step that begins at @first; @step receives it. */
static unsigned int run_end(const bool *bits, unsigned int first, unsigned int end,
			    unsigned int *step)
{
	unsigned int second = next_set(bits, first + 1, end);
	unsigned int last = second;

	*step = second - first;
	if (second == end)
		return first;
	while (next_set(bits, last + 1, end) == last + *step && last + *step < end)
		last += *step;
	/* Two numbers that do not touch are no run: the second may begin a better one. */
	return last == second && *step > 1 ? first : last;
}

bool list_print(char *text, size_t room, const bool *bits, unsigned int end)
{
	unsigned int at = next_set(bits, 0, end);
	size_t used = 0;

	if (at == end)
		return snprintf(text, room, "none") < (int)room;
	while (at < end && used < room) {
		unsigned int step;
		unsigned int last = run_end(bits, at, end, &step);

		if (at == 0 && last == end - 1 && (step == 1 || end == 1))
			return snprintf(text, room, "all") < (int)room;
		if (last == at)
			used += snprintf(text + used, room - used, "%s%u", used ? "," : "", at);
		else if (step == 1)
			used += snprintf(text + used, room - used, "%s%u-%u", used ? "," : "", at,
					 last);
		else
			used += snprintf(text + used, room - used, "%s%u-%u/%u", used ? "," : "",
					 at, last, step);
		at = next_set(bits, last + 1, end);
	}
	return used < room;
}
