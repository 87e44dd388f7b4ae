// SPDX-License-Identifier: GPL-2.0-only
/*
 * What tc of Debian 12 cannot say of taprio: limits of traffic classes, and what the device counted.
 *
 *   taprio_limits LINK set MAX_SDU     full offload, two traffic classes of a queue each, all gates
 *                                      open; the second class has that limit in bytes, 0: none
 *   taprio_limits LINK hold            the same without a limit, its one entry being H, not S
 *   taprio_limits LINK long            900 entries and 16 classes, the last of which never has a
 *                                      slot; the others have one at the very end of the cycle
 *   taprio_limits LINK send BYTES N [PRIORITY]  N frames BYTES long without FCS, of that priority of
 *                                      a socket, or that of the second class
 *   taprio_limits LINK counters        "window_drops=N tx_overruns=N" of the root, or "none"
 *
 * Source: linux/pkt_sched.h; the counters' attributes are in it since Linux 6.6.
 */
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config_storm.h"
#include "packet_socket.h"

enum {
	ROOT = 0x01000000,
	INTERVAL_NS = 1000000,
	FULL_OFFLOAD = 2,
	SECOND = 7, /* a priority of the second class */
	WINDOW_DROPS = 2,
	TX_OVERRUNS = 3,
	FRAME_MAX = 9000,
	SET_GATES = 0, /* commands of entries */
	SET_AND_HOLD = 1,
	LONG_ENTRIES = 900,
	LONG_CLASSES = 16,
	LONG_WINDOW_NS = 500, /* Linux takes none shorter than a frame */
};

struct storm storm;

void die(const char *what, uint32_t round)
{
	printf("%u: %s%s%s\n", round, what, storm.sentence[0] ? ": " : "", storm.sentence);
	exit(1);
}

static void put_u32(uint16_t type, uint32_t value)
{
	put(type, &value, sizeof(value));
}

static void put_limit(uint32_t class, uint32_t max_sdu)
{
	struct rtattr *entry = put(TCA_TAPRIO_ATTR_TC_ENTRY | NLA_F_NESTED, NULL, 0);

	put_u32(TCA_TAPRIO_TC_ENTRY_INDEX, class);
	put_u32(TCA_TAPRIO_TC_ENTRY_MAX_SDU, max_sdu);
	close_nest(entry);
}

static void put_entry(uint8_t command, uint32_t gates, uint32_t interval_ns)
{
	struct rtattr *entry = put(TCA_TAPRIO_SCHED_ENTRY | NLA_F_NESTED, NULL, 0);

	put(TCA_TAPRIO_SCHED_ENTRY_CMD, &command, sizeof(command));
	put_u32(TCA_TAPRIO_SCHED_ENTRY_GATE_MASK, gates);
	put_u32(TCA_TAPRIO_SCHED_ENTRY_INTERVAL, interval_ns);
	close_nest(entry);
}

static void put_base_and_flags(void)
{
	const int64_t base_ns = 0;

	put(TCA_TAPRIO_ATTR_SCHED_BASE_TIME, &base_ns, sizeof(base_ns));
	put_u32(TCA_TAPRIO_ATTR_FLAGS, FULL_OFFLOAD);
}

/* 449 windows shorter than any slot, and one at the end as long as is left of 2^16 x 8 ns. */
static void put_long_options(void)
{
	struct tc_mqprio_qopt classes = { .num_tc = LONG_CLASSES };
	struct rtattr *options = put(TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	struct rtattr *list;
	uint32_t i;

	for (i = 0; i < LONG_CLASSES; i++) {
		classes.prio_tc_map[i] = (uint8_t)i;
		classes.count[i] = 1;
		classes.offset[i] = (uint16_t)i;
	}
	put(TCA_TAPRIO_ATTR_PRIOMAP, &classes, sizeof(classes));
	list = put(TCA_TAPRIO_ATTR_SCHED_ENTRY_LIST | NLA_F_NESTED, NULL, 0);
	put_entry(SET_GATES, 0x8000, LONG_WINDOW_NS);
	for (i = 1; i < LONG_ENTRIES - 1; i++)
		put_entry(SET_GATES, i % 2 ? 0x7fff : 0, LONG_WINDOW_NS);
	put_entry(SET_GATES, 0x7fff, (8 << 16) - (LONG_ENTRIES - 1) * LONG_WINDOW_NS);
	close_nest(list);
	put_base_and_flags();
	close_nest(options);
}

static void put_options(uint8_t command, uint32_t max_sdu)
{
	struct tc_mqprio_qopt classes = { .num_tc = 2, .count = { 1, 1 }, .offset = { 0, 1 } };
	struct rtattr *options = put(TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	struct rtattr *list;

	classes.prio_tc_map[SECOND] = 1;
	put(TCA_TAPRIO_ATTR_PRIOMAP, &classes, sizeof(classes));
	list = put(TCA_TAPRIO_ATTR_SCHED_ENTRY_LIST | NLA_F_NESTED, NULL, 0);
	put_entry(command, 3, INTERVAL_NS);
	close_nest(list);
	put_base_and_flags();
	put_limit(1, max_sdu);
	close_nest(options);
}

/* @command: of its one entry; LONG_ENTRIES: the long list instead */
static void set(int index, uint32_t command, uint32_t max_sdu)
{
	struct tcmsg *qdisc =
		begin(RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, sizeof(*qdisc));

	qdisc->tcm_ifindex = index;
	qdisc->tcm_parent = TC_H_ROOT;
	qdisc->tcm_handle = ROOT;
	put(TCA_KIND, "taprio", sizeof("taprio"));
	if (command == LONG_ENTRIES)
		put_long_options();
	else
		put_options((uint8_t)command, max_sdu);
	if (talk())
		die("taprio is refused", 0);
}

static void send_frames(const char *link, uint32_t bytes, uint32_t count, int priority)
{
	static const unsigned char everyone[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static unsigned char frame[FRAME_MAX];
	const struct timespec pause = { .tv_nsec = INTERVAL_NS };
	struct sockaddr_ll to;
	int fd = open_packet_socket(link, priority, everyone, &to);
	uint32_t data = bytes - 14;

	while (count--) {
		if (sendto(fd, frame, data, 0, (struct sockaddr *)&to, sizeof(to)) != (ssize_t)data)
			die("a frame is not sent", count);
		nanosleep(&pause, NULL);
	}
	close(fd);
}

static unsigned long long number(const struct rtattr *in, uint16_t type)
{
	const struct rtattr *attr = find(RTA_DATA(in), (uint32_t)RTA_PAYLOAD(in), type);
	uint64_t value;

	if (!attr || RTA_PAYLOAD(attr) != sizeof(value))
		die("a counter is missing", type);
	memcpy(&value, RTA_DATA(attr), sizeof(value));
	return value;
}

static void print_counters(int index)
{
	struct tcmsg *wanted = begin(RTM_GETQDISC, NLM_F_DUMP, sizeof(*wanted));
	const struct nlmsghdr *header;
	const char *counted = "none";
	char line[80];

	wanted->tcm_ifindex = index;
	if (start_dump())
		die("queueing disciplines cannot be listed", 0);
	while ((header = next_of_dump())) {
		const struct tcmsg *qdisc = NLMSG_DATA(header);
		const struct rtattr *stats;

		if (qdisc->tcm_ifindex != index || qdisc->tcm_handle != ROOT)
			continue;
		stats = find(TCA_RTA(qdisc), (uint32_t)TCA_PAYLOAD(header), TCA_STATS2);
		stats = stats ? find(RTA_DATA(stats), (uint32_t)RTA_PAYLOAD(stats), TCA_STATS_APP) :
				NULL;
		if (!stats)
			continue;
		snprintf(line, sizeof(line), "window_drops=%llu tx_overruns=%llu",
			 number(stats, WINDOW_DROPS), number(stats, TX_OVERRUNS));
		counted = line;
	}
	puts(counted);
}

int main(int argc, char **argv)
{
	int index = argc > 1 ? (int)if_nametoindex(argv[1]) : 0;

	if (!index || !open_sockets())
		die("no such link, or no netlink", 0);
	if (argc == 4 && !strcmp(argv[2], "set"))
		set(index, SET_GATES, (uint32_t)atoi(argv[3]));
	else if (argc == 3 && !strcmp(argv[2], "hold"))
		set(index, SET_AND_HOLD, 0);
	else if (argc == 3 && !strcmp(argv[2], "long"))
		set(index, LONG_ENTRIES, 0);
	else if ((argc == 5 || argc == 6) && !strcmp(argv[2], "send"))
		send_frames(argv[1], (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]),
			    argc == 6 ? atoi(argv[5]) : SECOND);
	else if (argc == 3 && !strcmp(argv[2], "counters"))
		print_counters(index);
	else
		die("usage: taprio_limits LINK set MAX_SDU | hold | long | send BYTES N [PRIORITY] | counters",
		    0);
	return 0;
}
