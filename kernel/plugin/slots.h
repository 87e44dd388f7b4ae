/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Class and slot lists as people write them, and the table of class masks they stand for. A list is
 * `0-3,10` or `0-240/10` (every tenth); slots are also `all`, `none` and `rest` (those no other
 * class was given), which class 0 has unless something else is said of it.
 */
#ifndef KEEPON_PLUGIN_SLOTS_H
#define KEEPON_PLUGIN_SLOTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "uapi/keepon_link.h"

enum { SLOTS_MAX = 65536, CLASS_KEEP = 0xff };

/**
 * struct classes - what a command says of classes
 * @slots: text of the slot list per class, NULL if none was given
 * @settings: late policy and rounding per class, CLASS_KEEP if not given
 */
struct classes {
	const char *slots[KEEPON_CLASS_COUNT];
	__u8 settings[KEEPON_CLASS_COUNT][2];
};

void classes_init(struct classes *classes);

/**
 * list_parse() - set bit @bits[i] for every i of a list below @end. Return: NULL, or what is wrong
 * with it
 */
const char *list_parse(const char *text, unsigned int end, bool *bits);

/**
 * classes_masks() - table of class masks of @partition slots
 * @masks: room for @partition
 * @bad_class: class whose list is wrong
 *
 * Return: NULL, or what is wrong.
 */
const char *classes_masks(const struct classes *classes, unsigned int partition, __u16 *masks,
			  unsigned int *bad_class);

/** masks_period() - length of the shortest part of a table that repeats */
unsigned int masks_period(const __u16 *masks, unsigned int count);

/**
 * list_print() - write the numbers below @end whose bit is set in as few terms as a reader would;
 * "none", "all"
 *
 * Return: whether it fits @room; if not, @text is of no use.
 */
bool list_print(char *text, size_t room, const bool *bits, unsigned int end);

#endif
