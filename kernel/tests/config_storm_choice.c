// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a round of the storm sets, drawn, put into a message or handed over as a table before, and
 * compared with what the link says of itself.
 */
#include <stdio.h>
#include <string.h>

#include "config_storm.h"
#include "keepon_table.h"

/* Tables of up to INLINE_MAX masks are given with the link, others handed over before. */
enum { INLINE_MAX = 1024, PART_SLOTS = 2048, VALUES_MAX = 8 };
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
	{ IFLA_KEEPON_FRAME_BYTES, 4, 4, { 0, 300, 1518, 1522 } },
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
	{ IFLA_KEEPON_PRIORITIES, 1, 2, { 0, 1 } },
	{ IFLA_KEEPON_HORIZON_NS, 8, 3, { 0, 1000000, 4000000000 } },
};

#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

_Static_assert(NUMBER_COUNT <= NUMBERS_MAX, "a round has room for all numbers");

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
		if (talk_generic())
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
		if (talk_generic())
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

void choose(uint32_t round)
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

void put_config(void)
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

void compare(uint32_t round)
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
