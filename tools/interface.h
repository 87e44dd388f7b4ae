/* SPDX-License-Identifier: BSD-3-Clause */
/* One network interface: what frames sent there look like, and turning its hardware stamps on. */
#ifndef KPT_INTERFACE_H
#define KPT_INTERFACE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli.h"

/** struct kpt_interface - as it was when looked at */
struct kpt_interface {
	char name[IF_NAMESIZE];
	int index;
	int mtu_bytes;
	uint8_t mac[KPT_MAC_BYTES];
};

/**
 * kpt_interface_find() - an Ethernet interface that is up; otherwise ends with a usage or
 * environment error
 */
struct kpt_interface kpt_interface_find(const char *name);

/**
 * kpt_interface_stamp_sent(), kpt_interface_stamp_received() - have the NIC stamp every frame sent
 * or received
 *
 * The other direction keeps its setting, and nothing is turned off afterwards: another program may
 * rely on it by then.
 *
 * Return: 0 or an errno value (EOPNOTSUPP: it cannot).
 */
int kpt_interface_stamp_sent(const struct kpt_interface *interface);
int kpt_interface_stamp_received(const struct kpt_interface *interface);

/**
 * kpt_socket_buffer() - room for @bytes in one direction (SO_SNDBUF or SO_RCVBUF), beyond the limit
 * where allowed
 */
void kpt_socket_buffer(int fd, int direction, int bytes);

#endif
