// SPDX-License-Identifier: GPL-2.0-only
/*
 * Command lines of the debugfs files: words and key=value pairs, each problem one sentence in the
 * kernel log.
 */
#include <linux/ctype.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "control.h"

enum { LINES_BYTES_MAX = 16384 };

/*
 * hwsim_words_split() - @line is changed and must live as long as @words; @where begins each
 * message
 */
int hwsim_words_split(struct hwsim_words *words, const char *where, char *line)
{
	char *token;

	memset(words, 0, sizeof(*words));
	words->where = where;
	while ((token = strsep(&line, " \t"))) {
		char *equals = strchr(token, '=');

		if (!*token)
			continue;
		if (words->count == HWSIM_WORDS_MAX || words->pairs == HWSIM_WORDS_MAX) {
			pr_err(HWSIM_NAME ": %s: more than %d words in one line\n", where,
			       HWSIM_WORDS_MAX);
			return -EINVAL;
		}
		if (!equals) {
			words->word[words->count++] = token;
			continue;
		}
		*equals = 0;
		words->key[words->pairs] = token;
		words->value[words->pairs++] = equals + 1;
	}
	return 0;
}

/** hwsim_words_text() - value of @key, NULL if it is not there; the key counts as known */
const char *hwsim_words_text(struct hwsim_words *words, const char *key)
{
	const char *value = NULL;
	u32 i;

	for (i = 0; i < words->pairs; i++) {
		if (!strcmp(words->key[i], key)) {
			words->used[i] = true;
			value = words->value[i];
		}
	}
	return value;
}

/** hwsim_number() - @text as a decimal number within [@min, @max] */
int hwsim_number(const char *where, const char *key, const char *text, s64 min, s64 max, s64 *value)
{
	s64 number;

	if (kstrtoll(text, 10, &number)) {
		pr_err(HWSIM_NAME ": %s: %s=%s is no whole number; use %lld to %lld\n", where, key,
		       text, min, max);
		return -EINVAL;
	}
	if (number < min || number > max) {
		pr_err(HWSIM_NAME ": %s: %s=%lld is out of range; use %lld to %lld\n", where, key,
		       number, min, max);
		return -EINVAL;
	}
	*value = number;
	return 0;
}

/** hwsim_words_number() - @value keeps its default if @key is not there */
int hwsim_words_number(struct hwsim_words *words, const char *key, s64 min, s64 max, s64 *value)
{
	const char *text = hwsim_words_text(words, key);

	return text ? hwsim_number(words->where, key, text, min, max, value) : 0;
}

/** hwsim_words_u32() - as hwsim_words_number() */
int hwsim_words_u32(struct hwsim_words *words, const char *key, u32 min, u32 max, u32 *value)
{
	s64 number = *value;
	int err = hwsim_words_number(words, key, min, max, &number);

	*value = (u32)number;
	return err;
}

/*
 * hwsim_words_range() - MIN-MAX or one number for both, within 0 to @max; defaults kept if @key is
 * not there
 */
int hwsim_words_range(struct hwsim_words *words, const char *key, s64 max, u32 *low, u32 *high)
{
	const char *text = hwsim_words_text(words, key);
	char *dash;
	s64 first;
	s64 last;
	int err;

	if (!text)
		return 0;
	dash = strchr(text, '-');
	if (dash)
		*dash = 0;
	err = hwsim_number(words->where, key, text, 0, max, &first);
	last = first;
	if (!err && dash)
		err = hwsim_number(words->where, key, dash + 1, first, max, &last);
	if (err)
		return err;
	*low = (u32)first;
	*high = (u32)last;
	return 0;
}

/*
 * hwsim_words_choice() - position of the value in @names (NULL ends them); default kept if @key is
 * not there
 */
int hwsim_words_choice(struct hwsim_words *words, const char *key, const char *const *names,
		       u8 *value)
{
	const char *text = hwsim_words_text(words, key);
	u8 i;

	if (!text)
		return 0;
	for (i = 0; names[i]; i++) {
		if (!strcmp(text, names[i])) {
			*value = i;
			return 0;
		}
	}
	pr_err(HWSIM_NAME ": %s: %s=%s is unknown; use %s or %s%s%s\n", words->where, key, text,
	       names[0], names[1], names[2] ? " or " : "", names[2] ? names[2] : "");
	return -EINVAL;
}

/** hwsim_words_all_used() - -EINVAL if a key was not asked for by the command */
int hwsim_words_all_used(struct hwsim_words *words)
{
	u32 i;

	for (i = 0; i < words->pairs; i++) {
		if (!words->used[i]) {
			pr_err(HWSIM_NAME
			       ": %s: %s is no option of this command; see docs/hwsim.md\n",
			       words->where, words->key[i]);
			return -EINVAL;
		}
	}
	return 0;
}

/*
 * hwsim_lines() - a write to a debugfs file: one command per line, the first that fails ends it;
 * blank lines and # are skipped
 */
ssize_t hwsim_lines(const char __user *from, size_t bytes,
		    int (*command)(void *context, char *line), void *context)
{
	char *text;
	char *rest;
	char *line;
	int err = 0;

	if (bytes > LINES_BYTES_MAX) {
		pr_err(HWSIM_NAME ": %zu bytes in one write; use at most %d\n", bytes,
		       LINES_BYTES_MAX);
		return -EINVAL;
	}
	text = memdup_user_nul(from, bytes);
	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = text;
	while (!err && (line = strsep(&rest, "\n"))) {
		line = strim(line);
		if (*line && *line != '#')
			err = command(context, line);
	}
	kfree(text);
	return err ? err : (ssize_t)bytes;
}
