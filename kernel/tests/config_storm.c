// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random configurations of a keepon link from one process that speaks raw netlink: `config_storm
 * LOWER COUNT SEED`. What is accepted must read back as it was set, what is refused must be refused
 * with a sentence and leave no link behind. Every eighth accepted link is brought up and
 * reconfigured while up. Exit code 0, or 1 with the first contradiction.
 */
#include <linux/if.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_storm.h"

struct storm storm;

void die(const char *what, uint32_t round)
{
	printf("round %u: %s%s%s\n", round, what, storm.sentence[0] ? ": " : "", storm.sentence);
	exit(1);
}

static int add_link(void)
{
	begin_link(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 0);
	put(IFLA_IFNAME, "storm", 6);
	put(IFLA_LINK, &storm.lower, sizeof(storm.lower));
	put_config();
	return talk();
}

static int change_link(int index)
{
	begin_link(RTM_NEWLINK, NLM_F_ACK, index);
	put_config();
	return talk();
}

static int set_up(int index)
{
	struct ifinfomsg *info = begin_link(RTM_NEWLINK, NLM_F_ACK, index);

	info->ifi_flags = info->ifi_change = IFF_UP;
	return talk();
}

int main(int argc, char **argv)
{
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
	if (!open_sockets()) {
		perror("config_storm: netlink");
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
