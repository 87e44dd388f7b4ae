// SPDX-License-Identifier: GPL-2.0-only
/*
 * Class tables in parts; what is handed over belongs to our socket, so that stays open until `ip`
 * ends.
 */
#include "table.h"

#include <stdlib.h>

#include "iproute2.h"
#include "slots.h"
#include "uapi/keepon_table.h"

/* Masks of one part, within what the kernel takes (KEEPON_CMD_LIMITS). */
enum { PART_SLOTS = 1024, ANSWER_ATTRIBUTES = KEEPON_TABLE_MAX };

struct request {
	struct nlmsghdr n;
	struct genlmsghdr header;
	char room[64 + PART_SLOTS * sizeof(__u16)];
};

static struct rtnl_handle socket_handle;
static int family;

static struct request request_of(int command)
{
	return (struct request){
		.n = {
			.nlmsg_type = family,
			.nlmsg_flags = NLM_F_REQUEST,
			.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
		},
		.header = { .cmd = command, .version = KEEPON_TABLE_VERSION },
	};
}

static bool is_open(void)
{
	if (family)
		return family > 0;
	family = -1;
	if (!rtnl_open_byproto(&socket_handle, 0, NETLINK_GENERIC))
		family = genl_resolve_family(&socket_handle, KEEPON_TABLE_FAMILY);
	return family > 0;
}

/*
 * Ask, and lay out the answer, which the caller frees; NULL if the kernel refuses. @loud: with its
 * sentence on stderr.
 */
static struct nlmsghdr *ask(struct nlmsghdr *request, bool loud, struct rtattr *tb[])
{
	struct nlmsghdr *answer = NULL;
	struct genlmsghdr *header;
	int error = loud ? rtnl_talk(&socket_handle, request, &answer) :
			   rtnl_talk_suppress_rtnl_errmsg(&socket_handle, request, &answer);

	if (error)
		return NULL;
	header = NLMSG_DATA(answer);
	parse_rtattr(tb, ANSWER_ATTRIBUTES, (struct rtattr *)((char *)header + GENL_HDRLEN),
		     answer->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN));
	return answer;
}

static int offer_part(const __u16 *masks, unsigned int count, unsigned int offset,
		      unsigned int part, __u64 *id)
{
	struct request request = request_of(KEEPON_CMD_TABLE_PUT);
	struct rtattr *tb[ANSWER_ATTRIBUTES + 1];
	struct nlmsghdr *answer;

	addattr32(&request.n, sizeof(request), KEEPON_TABLE_SLOTS, count);
	addattr32(&request.n, sizeof(request), KEEPON_TABLE_OFFSET, offset);
	addattr_l(&request.n, sizeof(request), KEEPON_TABLE_MASKS, masks + offset,
		  part * sizeof(*masks));
	answer = ask(&request.n, true, tb);
	if (!answer)
		return -1;
	if (tb[KEEPON_TABLE_ID])
		*id = attr_u64(tb[KEEPON_TABLE_ID]);
	free(answer);
	return 0;
}

int table_offer(const __u16 *masks, unsigned int count, __u64 *id)
{
	unsigned int offset;
	unsigned int part;

	if (!is_open()) {
		fprintf(stderr,
			"Error: a class table of %u slots goes by generic netlink, which keepon.ko does not offer; load it.\n",
			count);
		return -1;
	}
	for (offset = 0; offset < count; offset += part) {
		part = count - offset < PART_SLOTS ? count - offset : PART_SLOTS;
		if (offer_part(masks, count, offset, part, id))
			return -1;
	}
	return 0;
}

/* Return: masks received from @offset on; @count receives how many the table has. */
static unsigned int fetch_part(__u64 id, unsigned int offset, __u16 *masks, unsigned int *count)
{
	struct request request = request_of(KEEPON_CMD_TABLE_GET);
	struct rtattr *tb[ANSWER_ATTRIBUTES + 1];
	struct nlmsghdr *answer;
	unsigned int part = 0;

	addattr_l(&request.n, sizeof(request), KEEPON_TABLE_ID, &id, sizeof(id));
	addattr32(&request.n, sizeof(request), KEEPON_TABLE_OFFSET, offset);
	answer = ask(&request.n, false, tb);
	if (!answer)
		return 0;
	if (tb[KEEPON_TABLE_SLOTS] && tb[KEEPON_TABLE_MASKS]) {
		*count = attr_u32(tb[KEEPON_TABLE_SLOTS]);
		part = RTA_PAYLOAD(tb[KEEPON_TABLE_MASKS]) / sizeof(*masks);
		if (part > SLOTS_MAX - offset)
			part = 0;
		memcpy(masks + offset, RTA_DATA(tb[KEEPON_TABLE_MASKS]), part * sizeof(*masks));
	}
	free(answer);
	return part;
}

unsigned int table_fetch(__u64 id, __u16 *masks)
{
	unsigned int count = 1;
	unsigned int offset;
	unsigned int part;

	if (!is_open())
		return 0;
	for (offset = 0; offset < count; offset += part) {
		part = fetch_part(id, offset, masks, &count);
		if (!part)
			return 0;
	}
	return count;
}
