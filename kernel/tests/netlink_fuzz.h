/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that nobody should make, drawn by storm.random: netlink_fuzz.c makes them and judges the
 * answers, netlink_fuzz_link.c and netlink_fuzz_qdisc.c build them.
 */
#ifndef NETLINK_FUZZ_H
#define NETLINK_FUZZ_H

#include "config_storm.h"

/** put_drawn() - @value as an attribute; now and then it is missing, too short, too long or twice */
void put_drawn(uint16_t type, const void *value, uint32_t bytes);
/** odd() - a number as it may be, or one at a limit, or any */
uint64_t odd(uint64_t usual);

/* ---- netlink_fuzz_link.c ---- */

/** build_change() - options of the link @index, or something else of it, but never both */
void build_change(int index);
/** build_new() - another link, named "fuzz", on a device that may do or not */
void build_new(const int *lowers, uint32_t count);
/**
 * link_is_misformed() - the request about a link that was built last has what the kernel itself
 * refuses without a sentence: an address shorter than the device's, or a nest that is shorter or
 * longer than what it holds, so that options are read as the kind of the link
 */
bool link_is_misformed(void);
/** build_generic() - a request of the family keepon */
void build_generic(void);

/**
 * offer_table() - hand over the first @part masks of a class table of @slots; what it is called
 * into @table. Return: 0 or -errno
 */
int offer_table(uint32_t slots, uint32_t part, uint64_t *table);
/** set_table() - the class table of the link @index. Return: 0 or -errno */
int set_table(int index, uint64_t table);

/* ---- netlink_fuzz_qdisc.c ---- */

/** build_qdisc() - a queueing discipline of the link @index is set, changed or deleted */
void build_qdisc(int index);

#endif
