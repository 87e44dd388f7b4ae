/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Class tables in parts, by generic netlink: family "keepon". Numbers are host order.
 *
 * To read the table of a link: repeat KEEPON_CMD_TABLE_GET with the link's IFLA_KEEPON_TABLE and an
 * offset until all masks have come. The same number always means the same masks; ENOENT: the link
 * now has another table, read the link again. To set one: KEEPON_CMD_TABLE_PUT part by part from
 * offset 0, each answered with the table's number and how much has arrived; then RTM_NEWLINK with
 * that number in IFLA_KEEPON_TABLE. A socket keeps one such table, until it is closed or begins
 * another.
 */
#ifndef _UAPI_KEEPON_TABLE_H
#define _UAPI_KEEPON_TABLE_H

#define KEEPON_TABLE_FAMILY "keepon"
#define KEEPON_TABLE_VERSION 1

enum {
	KEEPON_CMD_UNSPEC,
	/* answered with SLOTS and PART_SLOTS: most masks of a table and of a part */
	KEEPON_CMD_LIMITS,
	KEEPON_CMD_TABLE_GET, /* TABLE, OFFSET; answered with TABLE, SLOTS, OFFSET, MASKS */
	/* SLOTS, OFFSET, MASKS; answered with TABLE, OFFSET; needs CAP_NET_ADMIN */
	KEEPON_CMD_TABLE_PUT,
};

enum {
	KEEPON_TABLE_UNSPEC,
	KEEPON_TABLE_PAD,
	KEEPON_TABLE_ID,    /* __u64 as in IFLA_KEEPON_TABLE */
	KEEPON_TABLE_SLOTS, /* __u32 masks of the table */
	/* __u32 first mask of this part; in an answer to PUT, of the next part */
	KEEPON_TABLE_OFFSET,
	KEEPON_TABLE_MASKS,      /* binary: __u16 each, at most KEEPON_TABLE_PART_SLOTS of them */
	KEEPON_TABLE_PART_SLOTS, /* __u32 */
	__KEEPON_TABLE_MAX,
};

#define KEEPON_TABLE_MAX (__KEEPON_TABLE_MAX - 1)

#endif
