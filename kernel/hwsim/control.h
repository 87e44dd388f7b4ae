/* SPDX-License-Identifier: GPL-2.0-only */
/* arguments.c, nic_options.c: command lines; control.c, fault.c: the files they are written to. */
#ifndef KEEPON_HWSIM_CONTROL_H
#define KEEPON_HWSIM_CONTROL_H

#include <linux/fs.h>

#include "hwsim.h"

#define complain(where, format, ...) pr_err(HWSIM_NAME ": %s: " format "\n", where, ##__VA_ARGS__)

enum { HWSIM_WORDS_MAX = 32 };

/** struct hwsim_words - a command split at blanks: @word without "=", and key=value pairs */
struct hwsim_words {
	const char *where;
	u32 count;
	u32 pairs;
	char *word[HWSIM_WORDS_MAX];
	char *key[HWSIM_WORDS_MAX];
	char *value[HWSIM_WORDS_MAX];
	bool used[HWSIM_WORDS_MAX];
};

int hwsim_words_split(struct hwsim_words *words, const char *where, char *line);
const char *hwsim_words_text(struct hwsim_words *words, const char *key);
int hwsim_words_number(struct hwsim_words *words, const char *key, s64 min, s64 max, s64 *value);
int hwsim_words_u32(struct hwsim_words *words, const char *key, u32 min, u32 max, u32 *value);
int hwsim_words_range(struct hwsim_words *words, const char *key, s64 max, u32 *low, u32 *high);
int hwsim_words_choice(struct hwsim_words *words, const char *key, const char *const *names,
		       u8 *value);
int hwsim_words_all_used(struct hwsim_words *words);
int hwsim_number(const char *where, const char *key, const char *text, s64 min, s64 max,
		 s64 *value);
ssize_t hwsim_lines(const char __user *from, size_t bytes,
		    int (*command)(void *context, char *line), void *context);

/* nic_options.c */
struct hwsim_nic_params;

int hwsim_words_rate(struct hwsim_words *words, u64 *rate_bps);
int hwsim_nic_options(struct hwsim_words *words, struct hwsim_nic_params *p);

extern const struct file_operations hwsim_fault_file;

extern struct dentry *hwsim_folder;

struct dentry *hwsim_control_init(void);
void hwsim_control_fini(void);

#endif
