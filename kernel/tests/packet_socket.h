/* SPDX-License-Identifier: GPL-2.0-only */
/* A packet socket for frames of one priority to one station, for programs of one file. */
#ifndef PACKET_SOCKET_H
#define PACKET_SOCKET_H

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PROTOCOL = 0x88b5 };

/** require() - end with exit code 2 and the error in errno, unless all is well with @what */
static inline void require(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(2);
}

/** open_packet_socket() - @to receives the address of @station on @device, for sendto() */
static inline int open_packet_socket(const char *device, int priority,
				     const unsigned char station[6], struct sockaddr_ll *to)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);

	require(fd >= 0, "socket");
	*to = (struct sockaddr_ll){
		.sll_family = AF_PACKET,
		.sll_protocol = htons(PROTOCOL),
		.sll_ifindex = (int)if_nametoindex(device),
		.sll_halen = 6,
	};
	memcpy(to->sll_addr, station, 6);
	require(to->sll_ifindex, device);
	require(!setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)),
		"SO_PRIORITY");
	return fd;
}

#endif
