// SPDX-License-Identifier: GPL-2.0-only
/* Requests about links, and those of generic netlink's family keepon. */
#include <linux/if_link.h>
#include <string.h>

#include "keepon_table.h"
#include "netlink_fuzz.h"

enum { BINARY_MAX = 4096, NAME_BYTES = 5, ADDRESS_BYTES = 6 };

static bool nest_is_misformed;

/* Bytes of each attribute as the kernel has it; 0: of any length. */
static uint32_t usual_bytes(uint16_t type)
{
	switch (type) {
	case IFLA_KEEPON_ALLOWED:
	case IFLA_KEEPON_CLASS_SLOTS: return 0;
	case IFLA_KEEPON_CLASSES: return 2 * KEEPON_CLASS_COUNT;
	case IFLA_KEEPON_RATE_BPS:
	case IFLA_KEEPON_TABLE:
	case IFLA_KEEPON_HORIZON_NS:
	case IFLA_KEEPON_LIMIT_STALL_NS: return 8;
	case IFLA_KEEPON_MODE:
	case IFLA_KEEPON_CLOCK:
	case IFLA_KEEPON_PLACEHOLDER:
	case IFLA_KEEPON_TRIM:
	case IFLA_KEEPON_DITHER:
	case IFLA_KEEPON_POLL:
	case IFLA_KEEPON_POLL_FIFO:
	case IFLA_KEEPON_TXTIME:
	case IFLA_KEEPON_BACKEND:
	case IFLA_KEEPON_MERGE:
	case IFLA_KEEPON_PADDING:
	case IFLA_KEEPON_FORCE: return 1;
	default: return 4;
	}
}

static void put_option(uint16_t type)
{
	static uint16_t binary[BINARY_MAX];
	uint32_t bytes = usual_bytes(type);
	uint64_t value = odd(draw(2) ? draw(4) : draw(2000));
	uint32_t i;

	for (i = 0; i < BINARY_MAX; i++)
		binary[i] = (uint16_t)(draw(4) ? 0x0101 * draw(3) : draw(65536));
	if (type == IFLA_KEEPON_CLASSES)
		put_drawn(type, binary, bytes);
	else if (bytes)
		put_drawn(type, &value, bytes);
	else
		put_drawn(type, binary, draw(draw(4) ? 64 : 2 * BINARY_MAX));
}

/* Up to eight of them, in any order; also those that cannot be set, and some there are not. */
static void put_options(void)
{
	struct rtattr *info = put(IFLA_LINKINFO | (draw(8) ? NLA_F_NESTED : 0), NULL, 0);
	struct rtattr *data;
	uint32_t count = draw(9);

	put(IFLA_INFO_KIND, KEEPON_LINK_KIND, sizeof(KEEPON_LINK_KIND));
	data = put(IFLA_INFO_DATA | (draw(8) ? NLA_F_NESTED : 0), NULL, 0);
	while (count--)
		put_option((uint16_t)(draw(16) ? 1 + draw(IFLA_KEEPON_MAX) : draw(300)));
	close_nest(data);
	close_nest(info);
	nest_is_misformed = !draw(32);
	if (nest_is_misformed)
		data->rta_len = (uint16_t)draw(2u * data->rta_len);
}

/* Of the device, what the driver has a say in. */
static void put_other(void)
{
	uint8_t address[8] = { (uint8_t)draw(4), 0x4b, (uint8_t)draw(256), 1, 2, 3, 4, 5 };
	uint32_t number = (uint32_t)odd(draw(1300));

	switch (draw(4)) {
	case 0: put_drawn(IFLA_MTU, &number, sizeof(number)); break;
	case 1: put_drawn(IFLA_ADDRESS, address, ADDRESS_BYTES); break;
	case 2: put_drawn(IFLA_NUM_TX_QUEUES, &number, sizeof(number)); break;
	default: put_drawn(IFLA_TXQLEN, &number, sizeof(number)); break;
	}
}

bool link_is_misformed(void)
{
	const struct nlmsghdr *header = &storm.message.header;
	const struct rtattr *attr = IFLA_RTA(NLMSG_DATA(header));
	uint32_t rest = (uint32_t)IFLA_PAYLOAD(header);

	for (; RTA_OK(attr, rest); attr = RTA_NEXT(attr, rest)) {
		if (attr->rta_type == IFLA_ADDRESS && RTA_PAYLOAD(attr) < ADDRESS_BYTES)
			return true;
	}
	return nest_is_misformed;
}

void build_change(int index)
{
	nest_is_misformed = false;
	begin_link(RTM_NEWLINK, NLM_F_ACK, index);
	/* The kernel itself does one after the other, and keeps the first if the second fails. */
	if (draw(5))
		put_options();
	else
		put_other();
}

void build_new(const int *lowers, uint32_t count)
{
	uint32_t lower = draw(8) ? (uint32_t)lowers[draw(count)] : (uint32_t)odd(0);

	begin_link(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 0);
	put(IFLA_IFNAME, "fuzz", NAME_BYTES);
	put_drawn(IFLA_LINK, &lower, sizeof(lower));
	if (!draw(4))
		put_other();
	put_options();
}

int offer_table(uint32_t slots, uint32_t part, uint64_t *table)
{
	static const uint16_t masks[] = { 1, 1, 1, 1 };
	const uint32_t offset = 0;
	int error;

	begin_generic(storm.family, KEEPON_CMD_TABLE_PUT);
	put(KEEPON_TABLE_SLOTS, &slots, sizeof(slots));
	put(KEEPON_TABLE_OFFSET, &offset, sizeof(offset));
	put(KEEPON_TABLE_MASKS, masks, part * (uint32_t)sizeof(masks[0]));
	error = talk_generic();
	if (!error)
		memcpy(table, RTA_DATA(in_answer(KEEPON_TABLE_ID)), sizeof(*table));
	return error;
}

int set_table(int index, uint64_t table)
{
	struct rtattr *info;
	struct rtattr *data;

	begin_link(RTM_NEWLINK, NLM_F_ACK, index);
	info = put(IFLA_LINKINFO | NLA_F_NESTED, NULL, 0);
	put(IFLA_INFO_KIND, KEEPON_LINK_KIND, sizeof(KEEPON_LINK_KIND));
	data = put(IFLA_INFO_DATA | NLA_F_NESTED, NULL, 0);
	put(IFLA_KEEPON_TABLE, &table, sizeof(table));
	close_nest(data);
	close_nest(info);
	return talk();
}

void build_generic(void)
{
	static uint16_t masks[BINARY_MAX];
	uint32_t slots = (uint32_t)odd(1 + draw(2000));
	uint32_t offset = (uint32_t)odd(draw(4) ? 0 : slots / 2);
	uint64_t table = odd(draw(1000));

	begin_generic(storm.family, (uint8_t)(draw(8) ? draw(5) : draw(256)));
	storm.message.header.nlmsg_flags |= NLM_F_ACK | (draw(16) ? 0 : NLM_F_DUMP);
	put_drawn(KEEPON_TABLE_ID, &table, sizeof(table));
	put_drawn(KEEPON_TABLE_SLOTS, &slots, sizeof(slots));
	put_drawn(KEEPON_TABLE_OFFSET, &offset, sizeof(offset));
	if (draw(2))
		put_drawn(KEEPON_TABLE_MASKS, masks, draw(draw(4) ? 200 : 2 * BINARY_MAX));
	if (!draw(8))
		put_drawn((uint16_t)draw(300), masks, draw(64));
}
