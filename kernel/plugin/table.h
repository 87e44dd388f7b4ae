/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Class tables of any length, to the kernel and back in parts (uapi/keepon_table.h), by the netlink
 * of `ip`.
 */
#ifndef KEEPON_PLUGIN_TABLE_H
#define KEEPON_PLUGIN_TABLE_H

#include <linux/types.h>

/**
 * table_offer() - hand a table over, for IFLA_KEEPON_TABLE of the request that follows
 * @id: receives its number, good as long as this process lives
 *
 * Return: 0, or -1 with a sentence on stderr.
 */
int table_offer(const __u16 *masks, unsigned int count, __u64 *id);

/**
 * table_fetch() - read table @id into @masks, room for SLOTS_MAX. Return: masks it has, 0 if it is
 * gone
 */
unsigned int table_fetch(__u64 id, __u16 *masks);

#endif
