// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wrong, missing, huge and contradictory requests to a keepon link: `netlink_fuzz LINK COUNT SEED
 * LOWER ...`. New links are asked for on the devices LOWER, of which some do and some do not. Each
 * request is answered; one that is refused leaves the link, its class table and its queueing
 * disciplines as they were, and says why in a sentence where the kernel can carry one. Prints how
 * many of each kind were done, refused, and refused without a sentence. Exit code 0, or 1 with the
 * first contradiction.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netlink_fuzz.h"

enum { LOWERS_MAX = 8, ATTRIBUTES_MAX = 16384, QDISCS_MAX = 64, KIND_BYTES = 16 };

enum request { CHANGE, NEW, GENERIC, QDISC, REQUEST_COUNT };

static const char *const names[REQUEST_COUNT] = { "change", "new", "generic", "qdisc" };

/* What a refused request must not change. */
struct state {
	uint32_t bytes;
	char attributes[ATTRIBUTES_MAX];
	uint32_t qdiscs;
	struct {
		uint32_t handle, parent;
		char kind[KIND_BYTES];
	} qdisc[QDISCS_MAX];
};

struct tally {
	uint32_t done, refused, silent;
};

struct storm storm;

void die(const char *what, uint32_t round)
{
	printf("round %u: %s%s%s\n", round, what, storm.sentence[0] ? ": " : "", storm.sentence);
	exit(1);
}

uint64_t odd(uint64_t usual)
{
	static const uint64_t limits[] = { 0,          1,          0x7f,       0xff,
					   0x7fff,     0xffff,     0x10000,    0x7fffffff,
					   0x80000000, 0xffffffff, INT64_MAX,  UINT64_MAX,
					   1ull << 32, 1ull << 63, 1000000000, 65537 };

	if (draw(12))
		return usual;
	return draw(2) ? limits[draw(sizeof(limits) / sizeof(limits[0]))] :
			 (uint64_t)draw(~0u) << 32 | draw(~0u);
}

void put_drawn(uint16_t type, const void *value, uint32_t bytes)
{
	static const char zeros[256];
	uint32_t times = draw(40) ? 1 : draw(3);

	while (times--) {
		if (draw(30))
			put(type, value, bytes);
		else
			put(type, zeros, draw(sizeof(zeros)));
	}
}

static void keep(struct state *state, const struct rtattr *attr)
{
	if (state->bytes + RTA_ALIGN(attr->rta_len) > ATTRIBUTES_MAX)
		die("a description too long to be kept", 0);
	memcpy(state->attributes + state->bytes, attr, attr->rta_len);
	state->bytes += RTA_ALIGN(attr->rta_len);
}

static void read_qdiscs(struct state *state, int index, uint32_t round)
{
	struct tcmsg *wanted = begin(RTM_GETQDISC, NLM_F_DUMP, sizeof(*wanted));
	const struct nlmsghdr *header;

	wanted->tcm_ifindex = index;
	if (start_dump())
		die("queueing disciplines cannot be listed", round);
	while ((header = next_of_dump())) {
		const struct tcmsg *qdisc = NLMSG_DATA(header);
		const struct rtattr *kind =
			find(TCA_RTA(qdisc), (uint32_t)TCA_PAYLOAD(header), TCA_KIND);

		if (qdisc->tcm_ifindex != index || state->qdiscs == QDISCS_MAX)
			continue;
		state->qdisc[state->qdiscs].handle = qdisc->tcm_handle;
		state->qdisc[state->qdiscs].parent = qdisc->tcm_parent;
		snprintf(state->qdisc[state->qdiscs].kind, KIND_BYTES, "%s",
			 kind ? (const char *)RTA_DATA(kind) : "");
		state->qdiscs++;
	}
}

/* Return: index of the link. */
static int read_state(struct state *state, const char *name, uint32_t round)
{
	static const uint16_t kept[] = { IFLA_LINKINFO, IFLA_MTU, IFLA_ADDRESS, IFLA_TXQLEN };
	const struct nlmsghdr *header = &storm.answer.header;
	int index = read_link(name);
	size_t i;

	if (!index)
		die("the link is gone", round);
	memset(state, 0, sizeof(*state));
	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		const struct rtattr *attr =
			find(IFLA_RTA(NLMSG_DATA(header)), (uint32_t)IFLA_PAYLOAD(header), kept[i]);

		if (attr)
			keep(state, attr);
	}
	read_qdiscs(state, index, round);
	return index;
}

static bool can_be_silent(enum request request, int error)
{
	/*
	 * The kernel's own refusals: of addresses no station has, of nests that are none or wrong
	 * (rtnetlink reads IFLA_LINKINFO without a place for a sentence), of commands there are not.
	 */
	switch (request) {
	case QDISC: return true;
	case GENERIC: return error == -EOPNOTSUPP;
	default: return error == -EADDRNOTAVAIL || error == -ERANGE || link_is_misformed();
	}
}

/* What was asked for: type of message, then type and length of each attribute of the first level. */
static void show_request(enum request request)
{
	const struct nlmsghdr *header = &storm.message.header;
	uint32_t fixed = request == QDISC   ? sizeof(struct tcmsg) :
			 request == GENERIC ? GENL_HDRLEN :
					      sizeof(struct ifinfomsg);
	const struct rtattr *attr =
		(const struct rtattr *)((const char *)NLMSG_DATA(header) + NLMSG_ALIGN(fixed));
	uint32_t rest = header->nlmsg_len - NLMSG_SPACE(fixed);

	printf("%s, type %u, flags %#x, %u bytes:", names[request], header->nlmsg_type,
	       header->nlmsg_flags, header->nlmsg_len);
	for (; RTA_OK(attr, rest); attr = RTA_NEXT(attr, rest))
		printf(" %u of %u", attr->rta_type & NLA_TYPE_MASK, (uint32_t)RTA_PAYLOAD(attr));
	printf(", %u bytes behind them\n", rest);
}

static int ask(enum request request, int index, const int *lowers, uint32_t count)
{
	switch (request) {
	case CHANGE: build_change(index); return talk();
	case NEW: build_new(lowers, count); return talk();
	case QDISC: build_qdisc(index); return talk();
	default: build_generic(); return talk_acked();
	}
}

static void one_round(uint32_t round, const char *name, const int *lowers, uint32_t count,
		      struct tally *tallies)
{
	static struct state before;
	static struct state after;
	enum request request = draw(REQUEST_COUNT);
	int index = read_state(&before, name, round);
	int error = ask(request, index, lowers, count);
	char sentence[sizeof(storm.sentence)];
	int made;

	if (!error) {
		tallies[request].done++;
		made = request == NEW ? read_link("fuzz") : 0;
		if (made && delete_link(made))
			die("a link that was made cannot be deleted", round);
		return;
	}
	tallies[request].refused++;
	tallies[request].silent += !storm.sentence[0];
	if (!storm.sentence[0] && !can_be_silent(request, error)) {
		show_request(request);
		die(strerror(-error), round);
	}
	memcpy(sentence, storm.sentence, sizeof(sentence));
	if (read_link("fuzz"))
		die("refused, and yet there", round);
	read_state(&after, name, round);
	memcpy(storm.sentence, sentence, sizeof(sentence));
	if (memcmp(&before, &after, sizeof(before)))
		die("refused, and yet something is different", round);
}

/* A table that was handed over stays when the next one is refused. */
static void check_offers(int index)
{
	uint64_t table;

	if (offer_table(2, 2, &table))
		die("a table is not taken", 0);
	if (!offer_table(1, 2, &table))
		die("a part longer than its table is taken", 0);
	if (set_table(index, table))
		die("a table is gone since another one was refused", 0);
}

int main(int argc, char **argv)
{
	struct tally tallies[REQUEST_COUNT] = {};
	int lowers[LOWERS_MAX];
	uint32_t rounds;
	uint32_t count = 0;
	uint32_t i;

	if (argc < 5 || argc > 4 + LOWERS_MAX) {
		fprintf(stderr, "usage: netlink_fuzz LINK COUNT SEED LOWER ...\n");
		return 2;
	}
	rounds = (uint32_t)strtoul(argv[2], NULL, 10);
	storm.random = strtoull(argv[3], NULL, 10) * 2 + 1;
	if (!open_sockets()) {
		perror("netlink_fuzz: netlink");
		return 3;
	}
	find_family();
	while (count < (uint32_t)argc - 4) {
		lowers[count] = read_link(argv[4 + count]);
		count++;
	}
	check_offers(read_link(argv[1]));
	for (i = 0; i < rounds; i++)
		one_round(i, argv[1], lowers, count, tallies);
	for (i = 0; i < REQUEST_COUNT; i++)
		printf("%s: %u done, %u refused, %u of them without a sentence\n", names[i],
		       tallies[i].done, tallies[i].refused, tallies[i].silent);
	for (i = 0; i < REQUEST_COUNT; i++) {
		if (!tallies[i].done || !tallies[i].refused)
			return 1;
	}
	return 0;
}
