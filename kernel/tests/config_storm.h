/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One round of the storm of configurations, which its files share: config_storm.c runs the rounds,
 * config_storm_choice.c draws what a round sets and compares it with what is reported,
 * config_storm_netlink.c builds messages and waits for their answers. netlink_fuzz.c, which asks for
 * what nobody should, uses the last one, too.
 */
#ifndef CONFIG_STORM_H
#define CONFIG_STORM_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>

#include "keepon_link.h"

enum { ROOM_BYTES = 65536, SLOTS_MAX = 65536, NUMBERS_MAX = 32 };

/* struct storm - sockets, message under construction, answer (of a dump: what is still to be read), and what
 * this round set */
struct storm {
	int fd;
	int table_fd;
	uint16_t family;
	uint32_t sequence;
	int lower;
	uint64_t random;
	uint32_t values[NUMBERS_MAX];
	bool set[NUMBERS_MAX];
	uint16_t allowed[SLOTS_MAX];
	uint32_t allowed_slots;
	uint64_t table;
	uint8_t classes[2 * KEEPON_CLASS_COUNT];
	bool classes_set;
	char sentence[256];
	const struct nlmsghdr *next;
	uint32_t dumped_bytes;
	union {
		struct nlmsghdr header;
		char room[ROOM_BYTES];
	} message, answer;
};

extern struct storm storm;

/** die() - end with exit code 1 and what contradicts, with the kernel's sentence if there is one */
void die(const char *what, uint32_t round);

/* ---- config_storm_netlink.c ---- */

/** draw() - a number below @below, by storm.random */
uint32_t draw(uint32_t below);
/** open_sockets() - of rtnetlink and of generic netlink. Return: whether they are there */
bool open_sockets(void);
/** find_family() - the number of our family, into storm.family; ends the program if it is not there */
void find_family(void);
/** read_link() - index of a link by name, 0 without one; its description stays in storm.answer */
int read_link(const char *name);
int delete_link(int index);
/** begin() - any message, with a header of @bytes, which is returned */
void *begin(uint16_t type, uint16_t flags, uint32_t bytes);
/** begin_link() - a message of rtnetlink about the link @index */
struct ifinfomsg *begin_link(uint16_t type, uint16_t flags, int index);
/** begin_generic() - a message of generic netlink */
void begin_generic(uint16_t family, uint8_t command);
/** put() - an attribute at the end of the message; close_nest() ends one that holds others */
struct rtattr *put(uint16_t type, const void *data, uint32_t bytes);
void close_nest(struct rtattr *nest);
/**
 * talk() - send a message of rtnetlink. Return: 0 or -errno of the kernel; a link asked for
 * stands in storm.answer then
 */
int talk(void);
/** talk_generic() - as talk(), for generic netlink; what was asked for stands in storm.answer */
int talk_generic(void);
/** talk_acked() - as talk(), of generic netlink with NLM_F_ACK: 0 when the request is done */
int talk_acked(void);
/**
 * start_dump() - send a message that is answered by many. Return: 0 or -errno; next_of_dump() has
 * them one by one, and NULL at the end
 */
int start_dump(void);
const struct nlmsghdr *next_of_dump(void);
/** find() - an attribute among @bytes of them, or NULL; in_answer(): of generic netlink's answer */
const struct rtattr *find(const void *start, uint32_t bytes, uint16_t type);
const struct rtattr *in_answer(uint16_t type);

/* ---- config_storm_choice.c ---- */

/** choose() - what this round sets: some attributes, most with values that usually do */
void choose(uint32_t round);
/** put_config() - what this round sets, into the message */
void put_config(void);
/** compare() - all that was set must be in the description of the link just read and its table */
void compare(uint32_t round);

#endif
