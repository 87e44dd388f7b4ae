// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random configurations of a keepon link from one process that speaks raw netlink: `config_storm
 * LOWER COUNT SEED`. What is accepted must read back as it was set, what is refused must be refused
 * with a sentence and leave no link behind. Every eighth accepted link is brought up and
 * reconfigured while up. Exit code 0, or 1 with the first contradiction.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "keepon_link.h"
#include "keepon_table.h"

/* Tables of up to INLINE_MAX masks are given with the link, others handed over before. */
enum {
	ROOM_BYTES = 65536,
	SLOTS_MAX = 65536,
	INLINE_MAX = 1024,
	PART_SLOTS = 2048,
	VALUES_MAX = 8
};
/* All that a link says of itself, however long its table. */
enum { DESCRIPTION_MAX = 512 };

/* One number attribute: its width, and values that usually do. */
struct number {
	uint16_t type;
	uint8_t bytes;
	uint8_t count;
	uint32_t values[VALUES_MAX];
};

static const struct number numbers[] = {
	{ IFLA_KEEPON_MODE, 1, 2, { 0, 1 } },
	{ IFLA_KEEPON_SLOT_BYTES, 4, 6, { 230, 300, 605, 1230, 1518, 1522 } },
	{ IFLA_KEEPON_RING_SLOTS, 4, 5, { 32, 64, 128, 256, 512 } },
	{ IFLA_KEEPON_BATCH_SLOTS, 4, 4, { 1, 4, 8, 16 } },
	{ IFLA_KEEPON_DEPTH_SLOTS, 4, 4, { 16, 24, 31, 200 } },
	{ IFLA_KEEPON_PREBUFFER, 4, 3, { 0, 16, 256 } },
	{ IFLA_KEEPON_CLOCK, 1, 3, { 0, 1, 2 } },
	{ IFLA_KEEPON_PLACEHOLDER, 1, 1, { 0 } },
	{ IFLA_KEEPON_TRIM, 1, 2, { 0, 1 } },
	{ IFLA_KEEPON_TRIM_DOWN_BYTES, 4, 3, { 1, 8, 16 } },
	{ IFLA_KEEPON_TRIM_UP_BYTES, 4, 3, { 0, 8, 16 } },
	{ IFLA_KEEPON_TOLERANCE_NS, 4, 3, { 0, 8, 100 } },
	{ IFLA_KEEPON_DRIFT_PPB, 4, 3, { 50000, 100000, 200000 } },
	{ IFLA_KEEPON_WANDER_PPB, 4, 3, { 0, 100, 1000 } },
	{ IFLA_KEEPON_POLL_OVERHEAD_NS, 4, 2, { 0, 5000 } },
	{ IFLA_KEEPON_DITHER, 1, 2, { 0, 1 } },
	{ IFLA_KEEPON_POLL, 1, 2, { 0, 1 } },
	{ IFLA_KEEPON_TXTIME, 1, 2, { 0, 1 } },
	{ IFLA_KEEPON_MERGE, 1, 2, { 0, 1 } },
	{ IFLA_KEEPON_TAU_NS, 4, 3, { 0, 1, 50000 } },
	{ IFLA_KEEPON_RX_POLL_CPU, 4, 1, { 0 } },
	{ IFLA_KEEPON_PADDING, 1, 2, { 0, 1 } },
	{ IFLA_KEEPON_HORIZON_NS, 8, 3, { 0, 1000000, 4000000000 } },
};

#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

/* struct storm - sockets, message under construction, answer, and what this round set */
struct storm {
	int fd;
	int table_fd;
	uint16_t family;
	uint32_t sequence;
	int lower;
	uint64_t random;
	uint32_t values[NUMBER_COUNT];
	bool set[NUMBER_COUNT];
	uint16_t allowed[SLOTS_MAX];
	uint32_t allowed_slots;
	uint64_t table;
	uint8_t classes[2 * KEEPON_CLASS_COUNT];
	bool classes_set;
	char sentence[256];
	union {
		struct nlmsghdr header;
		char room[ROOM_BYTES];
	} message, answer;
};

static struct storm storm;

static uint32_t draw(uint32_t below)
{
	storm.random ^= storm.random >> 12;
	storm.random ^= storm.random << 25;
	storm.random ^= storm.random >> 27;
	return (uint32_t)((storm.random * 2685821657736338717ull) >> 32) % below;
}

static void die(const char *what, uint32_t round)
{
	printf("round %u: %s%s%s\n", round, what, storm.sentence[0] ? ": " : "", storm.sentence);
	exit(1);
}

static struct rtattr *put(uint16_t type, const void *data, uint32_t bytes)
{
	struct rtattr *attr =
		(struct rtattr *)(storm.message.room + NLMSG_ALIGN(storm.message.header.nlmsg_len));

	attr->rta_type = type;
	attr->rta_len = (uint16_t)RTA_LENGTH(bytes);
	if (bytes)
		memcpy(RTA_DATA(attr), data, bytes);
	storm.message.header.nlmsg_len =
		(uint32_t)((char *)attr - storm.message.room) + (uint32_t)RTA_ALIGN(attr->rta_len);
	return attr;
}

static void close_nest(struct rtattr *nest)
{
	nest->rta_len =
		(uint16_t)(storm.message.room + storm.message.header.nlmsg_len - (char *)nest);
}

static struct ifinfomsg *begin(uint16_t type, uint16_t flags, int index)
{
	struct ifinfomsg *info = NLMSG_DATA(&storm.message.header);

	memset(&storm.message, 0, 256);
	storm.message.header.nlmsg_len = NLMSG_LENGTH(sizeof(*info));
	storm.message.header.nlmsg_type = type;
	storm.message.header.nlmsg_flags = NLM_F_REQUEST | flags;
	storm.message.header.nlmsg_seq = ++storm.sequence;
	info->ifi_index = index;
	return info;
}

/* Text of an extended acknowledgement, into storm.sentence. */
static void keep_sentence(const struct nlmsghdr *header)
{
	const struct nlmsgerr *error = NLMSG_DATA(header);
	uint32_t skip = sizeof(*error);
	const struct nlattr *attr;

	storm.sentence[0] = 0;
	if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		skip += error->msg.nlmsg_len - sizeof(error->msg);
	attr = (const struct nlattr *)((const char *)error + NLMSG_ALIGN(skip));
	while ((const char *)attr + sizeof(*attr) <= (const char *)header + header->nlmsg_len &&
	       attr->nla_len) {
		if ((attr->nla_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG)
			snprintf(storm.sentence, sizeof(storm.sentence), "%s",
				 (const char *)(attr + 1));
		attr = (const struct nlattr *)((const char *)attr + NLMSG_ALIGN(attr->nla_len));
	}
}

/*
 * Send what was built. Return: 0 or -errno of the kernel; what was asked for, if @wants_answer,
 * stands in storm.answer then.
 */
static int talk_on(int fd, bool wants_answer)
{
	if (send(fd, &storm.message, storm.message.header.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t got = recv(fd, &storm.answer, sizeof(storm.answer), 0);
		const struct nlmsghdr *header = &storm.answer.header;

		if (got < (ssize_t)sizeof(*header))
			return -EIO;
		if (header->nlmsg_seq != storm.sequence)
			continue;
		if (header->nlmsg_type == NLMSG_ERROR) {
			keep_sentence(header);
			return ((const struct nlmsgerr *)NLMSG_DATA(header))->error;
		}
		if (wants_answer)
			return 0;
	}
}

static int talk(void)
{
	return talk_on(storm.fd, storm.message.header.nlmsg_type == RTM_GETLINK);
}

static const struct rtattr *find(const void *start, uint32_t bytes, uint16_t type)
{
	const struct rtattr *attr = start;

	for (; RTA_OK(attr, bytes); attr = RTA_NEXT(attr, bytes)) {
		if ((attr->rta_type & NLA_TYPE_MASK) == type)
			return attr;
	}
	return NULL;
}

/* ---- class tables in parts ---- */

static void begin_generic(uint16_t family, uint8_t command)
{
	struct genlmsghdr *generic = NLMSG_DATA(&storm.message.header);

	memset(&storm.message, 0, 256);
	storm.message.header.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	storm.message.header.nlmsg_type = family;
	storm.message.header.nlmsg_flags = NLM_F_REQUEST;
	storm.message.header.nlmsg_seq = ++storm.sequence;
	generic->cmd = command;
	generic->version = 1;
}

static const struct rtattr *in_answer(uint16_t type)
{
	const char *first = (const char *)NLMSG_DATA(&storm.answer.header) + GENL_HDRLEN;

	return find(first, storm.answer.header.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), type);
}

static void find_family(void)
{
	const struct rtattr *attr;

	begin_generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	put(CTRL_ATTR_FAMILY_NAME, KEEPON_TABLE_FAMILY, sizeof(KEEPON_TABLE_FAMILY));
	if (talk_on(storm.table_fd, true))
		die("no generic netlink family keepon", 0);
	attr = in_answer(CTRL_ATTR_FAMILY_ID);
	memcpy(&storm.family, RTA_DATA(attr), sizeof(storm.family));
}

/* Hand the table of this round over; its number stands in storm.table then. */
static void offer_table(uint32_t round)
{
	uint32_t offset;
	uint32_t part;

	for (offset = 0; offset < storm.allowed_slots; offset += part) {
		part = storm.allowed_slots - offset < PART_SLOTS ? storm.allowed_slots - offset :
								   PART_SLOTS;
		begin_generic(storm.family, KEEPON_CMD_TABLE_PUT);
		put(KEEPON_TABLE_SLOTS, &storm.allowed_slots, sizeof(storm.allowed_slots));
		put(KEEPON_TABLE_OFFSET, &offset, sizeof(offset));
		put(KEEPON_TABLE_MASKS, storm.allowed + offset, part * 2);
		if (talk_on(storm.table_fd, true))
			die("a table is not taken", round);
	}
	memcpy(&storm.table, RTA_DATA(in_answer(KEEPON_TABLE_ID)), sizeof(storm.table));
}

/* The table of a link must be that of this round. */
static void compare_table(uint64_t table, uint32_t round)
{
	uint32_t offset = 0;

	while (offset < storm.allowed_slots) {
		const struct rtattr *masks;
		const struct rtattr *slots;

		begin_generic(storm.family, KEEPON_CMD_TABLE_GET);
		put(KEEPON_TABLE_ID, &table, sizeof(table));
		put(KEEPON_TABLE_OFFSET, &offset, sizeof(offset));
		if (talk_on(storm.table_fd, true))
			die("a link's table cannot be read", round);
		masks = in_answer(KEEPON_TABLE_MASKS);
		slots = in_answer(KEEPON_TABLE_SLOTS);
		if (!masks || !slots || *(const uint32_t *)RTA_DATA(slots) != storm.allowed_slots ||
		    RTA_PAYLOAD(masks) > 2 * (storm.allowed_slots - offset) ||
		    memcmp(RTA_DATA(masks), storm.allowed + offset, RTA_PAYLOAD(masks)))
			die("the partition does not read back as it was set", round);
		offset += RTA_PAYLOAD(masks) / 2;
	}
}

/* What a configuration is made of this time: some attributes, most with values that usually do. */
static void choose(uint32_t round)
{
	uint32_t i;

	for (i = 0; i < NUMBER_COUNT; i++) {
		const struct number *number = &numbers[i];

		storm.set[i] = draw(3) == 0;
		storm.values[i] = draw(12) ? number->values[draw(number->count)] :
				  draw(2)  ? draw(70000) :
					     ~0u - draw(2);
		if (number->bytes == 1)
			storm.values[i] &= 0xff;
	}
	storm.allowed_slots = draw(3) ? 0 :
					1 + draw(draw(4) ? 64 :
						 draw(8) ? 2 * INLINE_MAX :
							   SLOTS_MAX);
	for (i = 0; i < storm.allowed_slots; i++)
		storm.allowed[i] = (uint16_t)(draw(8) ? draw(65536) : 0);
	storm.classes_set = !draw(4);
	for (i = 0; i < KEEPON_CLASS_COUNT; i++) {
		storm.classes[2 * i] = (uint8_t)(draw(400) ? draw(3) : draw(256));
		storm.classes[2 * i + 1] = (uint8_t)(draw(400) ? draw(2) : draw(256));
	}
	if (storm.allowed_slots > INLINE_MAX)
		offer_table(round);
}

static void put_config(void)
{
	struct rtattr *info = put(IFLA_LINKINFO | NLA_F_NESTED, NULL, 0);
	struct rtattr *data;
	uint32_t i;

	put(IFLA_INFO_KIND, KEEPON_LINK_KIND, sizeof(KEEPON_LINK_KIND));
	data = put(IFLA_INFO_DATA | NLA_F_NESTED, NULL, 0);
	for (i = 0; i < NUMBER_COUNT; i++) {
		uint64_t value = storm.values[i];

		/* Numbers are host order, and that is little endian. */
		if (storm.set[i])
			put(numbers[i].type, &value, numbers[i].bytes);
	}
	if (storm.allowed_slots > INLINE_MAX)
		put(IFLA_KEEPON_TABLE, &storm.table, sizeof(storm.table));
	else if (storm.allowed_slots)
		put(IFLA_KEEPON_ALLOWED, storm.allowed, storm.allowed_slots * 2);
	if (storm.classes_set)
		put(IFLA_KEEPON_CLASSES, storm.classes, sizeof(storm.classes));
	close_nest(data);
	close_nest(info);
}

static int add_link(void)
{
	begin(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 0);
	put(IFLA_IFNAME, "storm", 6);
	put(IFLA_LINK, &storm.lower, sizeof(storm.lower));
	put_config();
	return talk();
}

static int change_link(int index)
{
	begin(RTM_NEWLINK, NLM_F_ACK, index);
	put_config();
	return talk();
}

static int set_up(int index)
{
	struct ifinfomsg *info = begin(RTM_NEWLINK, NLM_F_ACK, index);

	info->ifi_flags = info->ifi_change = IFF_UP;
	return talk();
}

static int delete_link(int index)
{
	begin(RTM_DELLINK, NLM_F_ACK, index);
	return talk();
}

/* Index of a link by name, 0 if there is none; its description stays in storm.answer. */
static int read_link(const char *name)
{
	begin(RTM_GETLINK, 0, 0);
	put(IFLA_IFNAME, name, (uint32_t)strlen(name) + 1);
	return talk() ? 0 : ((const struct ifinfomsg *)NLMSG_DATA(&storm.answer.header))->ifi_index;
}

/* 0xff leaves whatever there was. */
static bool are_as_set(const uint8_t *classes)
{
	uint32_t i;

	for (i = 0; i < sizeof(storm.classes); i++) {
		if (storm.classes[i] != 0xff && classes[i] != storm.classes[i])
			return false;
	}
	return true;
}

/* Whether what was set reads back as @value. Padding that was left to the link reads as it came. */
static bool reads_back(uint32_t i, uint64_t value)
{
	if (numbers[i].type == IFLA_KEEPON_PADDING && storm.values[i] == KEEPON_PADDING_AUTO)
		return value == KEEPON_PADDING_DEFERRED || value == KEEPON_PADDING_ON_DEMAND;
	return value == storm.values[i];
}

/* Everything that was set must be in the description of the link just read. */
static void compare(uint32_t round)
{
	const struct nlmsghdr *header = &storm.answer.header;
	const struct ifinfomsg *link = NLMSG_DATA(header);
	const struct rtattr *info = find(IFLA_RTA(link), IFLA_PAYLOAD(header), IFLA_LINKINFO);
	const struct rtattr *data =
		info ? find(RTA_DATA(info), RTA_PAYLOAD(info), IFLA_INFO_DATA) : NULL;
	const struct rtattr *attr;
	uint64_t table;
	uint32_t i;

	storm.sentence[0] = 0;
	if (!data)
		die("a link without a description", round);
	for (i = 0; i < NUMBER_COUNT; i++) {
		uint64_t value = 0;

		attr = find(RTA_DATA(data), RTA_PAYLOAD(data), numbers[i].type);
		if (!attr || RTA_PAYLOAD(attr) != numbers[i].bytes)
			die("a number is not reported", round);
		memcpy(&value, RTA_DATA(attr), numbers[i].bytes);
		if (storm.set[i] && !reads_back(i, value)) {
			snprintf(storm.sentence, sizeof(storm.sentence),
				 "attribute %u is %llu, was set to %u", numbers[i].type,
				 (unsigned long long)value, storm.values[i]);
			die("read-back differs", round);
		}
	}
	if (find(RTA_DATA(data), RTA_PAYLOAD(data), IFLA_KEEPON_ALLOWED) ||
	    RTA_PAYLOAD(data) > DESCRIPTION_MAX)
		die("a description with more than a summary", round);
	attr = find(RTA_DATA(data), RTA_PAYLOAD(data), IFLA_KEEPON_TABLE);
	if (!attr)
		die("the table of a link is not named", round);
	memcpy(&table, RTA_DATA(attr), sizeof(table));
	attr = find(RTA_DATA(data), RTA_PAYLOAD(data), IFLA_KEEPON_CLASSES);
	if (!attr || (storm.classes_set && !are_as_set(RTA_DATA(attr))))
		die("the classes do not read back as they were set", round);
	/* Last, since the answer takes the place of the description. */
	compare_table(table, round);
}

int main(int argc, char **argv)
{
	const int one = 1;
	uint32_t accepted = 0;
	uint32_t refused = 0;
	uint32_t changed = 0;
	uint32_t round;
	uint32_t count;
	int error;
	int index;

	if (argc != 4) {
		fprintf(stderr, "usage: config_storm LOWER COUNT SEED\n");
		return 2;
	}
	count = (uint32_t)strtoul(argv[2], NULL, 10);
	storm.random = strtoull(argv[3], NULL, 10) * 2 + 1;
	storm.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (storm.fd < 0 ||
	    setsockopt(storm.fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one)) < 0) {
		perror("config_storm: netlink");
		return 3;
	}
	storm.table_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (storm.table_fd < 0 ||
	    setsockopt(storm.table_fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one)) < 0) {
		perror("config_storm: generic netlink");
		return 3;
	}
	find_family();
	storm.lower = read_link(argv[1]);
	if (!storm.lower) {
		fprintf(stderr, "config_storm: no link %s; create it first\n", argv[1]);
		return 2;
	}
	for (round = 0; round < count; round++) {
		choose(round);
		error = add_link();
		if (error) {
			refused++;
			if (!storm.sentence[0])
				die(strerror(-error), round);
			if (read_link("storm"))
				die("refused, and yet there", round);
			continue;
		}
		index = read_link("storm");
		accepted++;
		if (!index)
			die("accepted, but not there", round);
		compare(round);
		if (accepted % 8 == 0) {
			error = set_up(index);
			if (error)
				die("an accepted link does not come up", round);
			choose(round);
			error = change_link(index);
			if (!error) {
				changed++;
				read_link("storm");
				compare(round);
			}
		}
		if (delete_link(index))
			die("an accepted link cannot be deleted", round);
	}
	printf("%u rounds: %u accepted, %u refused, %u changed while up\n", count, accepted,
	       refused, changed);
	return accepted && refused && changed ? 0 : 1;
}
