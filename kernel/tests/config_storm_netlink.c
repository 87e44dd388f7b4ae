// SPDX-License-Identifier: GPL-2.0-only
/*
 * Raw netlink of the storm: messages are built in storm.message, answers and the sentence of a
 * refusal are kept in storm.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "config_storm.h"
#include "keepon_table.h"

uint32_t draw(uint32_t below)
{
	storm.random ^= storm.random >> 12;
	storm.random ^= storm.random << 25;
	storm.random ^= storm.random >> 27;
	return (uint32_t)((storm.random * 2685821657736338717ull) >> 32) % below;
}

bool open_sockets(void)
{
	const int protocols[] = { NETLINK_ROUTE, NETLINK_GENERIC };
	int *const fds[] = { &storm.fd, &storm.table_fd };
	const int one = 1;
	size_t i;

	for (i = 0; i < 2; i++) {
		*fds[i] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocols[i]);
		if (*fds[i] < 0 ||
		    setsockopt(*fds[i], SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one)) < 0)
			return false;
	}
	return true;
}

void find_family(void)
{
	const struct rtattr *attr;

	begin_generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	put(CTRL_ATTR_FAMILY_NAME, KEEPON_TABLE_FAMILY, sizeof(KEEPON_TABLE_FAMILY));
	if (talk_generic())
		die("no generic netlink family keepon", 0);
	attr = in_answer(CTRL_ATTR_FAMILY_ID);
	memcpy(&storm.family, RTA_DATA(attr), sizeof(storm.family));
}

int read_link(const char *name)
{
	begin_link(RTM_GETLINK, 0, 0);
	put(IFLA_IFNAME, name, (uint32_t)strlen(name) + 1);
	return talk() ? 0 : ((const struct ifinfomsg *)NLMSG_DATA(&storm.answer.header))->ifi_index;
}

int delete_link(int index)
{
	begin_link(RTM_DELLINK, NLM_F_ACK, index);
	return talk();
}

struct rtattr *put(uint16_t type, const void *data, uint32_t bytes)
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

void close_nest(struct rtattr *nest)
{
	nest->rta_len =
		(uint16_t)(storm.message.room + storm.message.header.nlmsg_len - (char *)nest);
}

void *begin(uint16_t type, uint16_t flags, uint32_t bytes)
{
	memset(&storm.message, 0, 256);
	storm.message.header.nlmsg_len = NLMSG_LENGTH(bytes);
	storm.message.header.nlmsg_type = type;
	storm.message.header.nlmsg_flags = NLM_F_REQUEST | flags;
	storm.message.header.nlmsg_seq = ++storm.sequence;
	return NLMSG_DATA(&storm.message.header);
}

struct ifinfomsg *begin_link(uint16_t type, uint16_t flags, int index)
{
	struct ifinfomsg *info = begin(type, flags, sizeof(*info));

	info->ifi_index = index;
	return info;
}

void begin_generic(uint16_t family, uint8_t command)
{
	struct genlmsghdr *generic = begin(family, 0, GENL_HDRLEN);

	generic->cmd = command;
	generic->version = 1;
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
		else if ((attr->nla_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MISS_TYPE &&
			 !storm.sentence[0])
			snprintf(storm.sentence, sizeof(storm.sentence), "attribute %u is missing",
				 *(const uint32_t *)(attr + 1));
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

int talk(void)
{
	return talk_on(storm.fd, storm.message.header.nlmsg_type == RTM_GETLINK);
}

int talk_generic(void)
{
	return talk_on(storm.table_fd, true);
}

int start_dump(void)
{
	storm.dumped_bytes = 0;
	return send(storm.fd, &storm.message, storm.message.header.nlmsg_len, 0) < 0 ? -errno : 0;
}

const struct nlmsghdr *next_of_dump(void)
{
	for (;;) {
		const struct nlmsghdr *header = storm.next;

		if (!NLMSG_OK(header, storm.dumped_bytes)) {
			ssize_t got = recv(storm.fd, &storm.answer, sizeof(storm.answer), 0);

			if (got <= 0)
				return NULL;
			storm.dumped_bytes = (uint32_t)got;
			storm.next = &storm.answer.header;
			continue;
		}
		storm.next = NLMSG_NEXT(header, storm.dumped_bytes);
		if (header->nlmsg_seq != storm.sequence)
			continue;
		if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)
			return NULL;
		return header;
	}
}

int talk_acked(void)
{
	return talk_on(storm.table_fd, false);
}

const struct rtattr *find(const void *start, uint32_t bytes, uint16_t type)
{
	const struct rtattr *attr = start;

	for (; RTA_OK(attr, bytes); attr = RTA_NEXT(attr, bytes)) {
		if ((attr->rta_type & NLA_TYPE_MASK) == type)
			return attr;
	}
	return NULL;
}

const struct rtattr *in_answer(uint16_t type)
{
	const char *first = (const char *)NLMSG_DATA(&storm.answer.header) + GENL_HDRLEN;

	return find(first, storm.answer.header.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), type);
}
