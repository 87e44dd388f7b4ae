// SPDX-License-Identifier: GPL-2.0-only
/*
 * `connected_sender ADDRESS PRIORITY ...`: one connected UDP socket sends a datagram of each of
 * these priorities in turn. The stack keeps the transmit queue of such a socket.
 */
#include "packet_socket.h"

enum { DISCARD = 9 };

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(DISCARD) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int i;

	require(argc > 2 && inet_pton(AF_INET, argv[1], &to.sin_addr) == 1, "arguments");
	require(fd >= 0, "socket");
	require(!connect(fd, (struct sockaddr *)&to, sizeof(to)), "connect");
	for (i = 2; i < argc; i++) {
		int priority = atoi(argv[i]);

		require(!setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)),
			"SO_PRIORITY");
		/* ECONNREFUSED is of a datagram before, and this one is not sent */
		require(send(fd, "", 1, 0) == 1 || send(fd, "", 1, 0) == 1, "send");
	}
	return 0;
}
