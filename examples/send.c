// SPDX-License-Identifier: BSD-3-Clause
/* Sends a UDP frame each millisecond, at its time: send IFACE ADDRESS COUNT (CAP_NET_ADMIN). */
#include <arpa/inet.h>
#include <err.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PRIORITY = 7, PORT = 4000, PERIOD_NS = 1000000, SECOND_NS = 1000000000 };
enum { ADVANCE_NS = 2000000 }; /* lead_slots of "ethtool -S rt0", and what we may be late */

/* Prints what the error queue has; returns how many frames that were. */
static int report_missed(int fd)
{
	for (int count = 0;; count++) {
		_Alignas(struct cmsghdr) char space[256];
		struct msghdr msg = { .msg_control = space, .msg_controllen = sizeof(space) };
		struct sock_extended_err error;

		if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0 || !CMSG_FIRSTHDR(&msg))
			return count;
		memcpy(&error, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(error));
		printf("%s txtime %llu\n",
		       error.ee_code == SO_EE_CODE_TXTIME_MISSED ? "missed" : "refused",
		       (unsigned long long)error.ee_data << 32 | error.ee_info);
	}
}

int main(int argc, char **argv)
{
	struct sock_txtime clock = { .clockid = CLOCK_TAI, .flags = SOF_TXTIME_REPORT_ERRORS };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), priority = PRIORITY, missed = 0, k;
	struct timespec now;
	long long first_ns;

	if (argc != 4 || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		errx(2, "usage: send IFACE ADDRESS COUNT");
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, argv[1], strlen(argv[1])) ||
	    setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TXTIME, &clock, sizeof(clock)))
		err(3, "%s", argv[1]);
	clock_gettime(CLOCK_TAI, &now);
	first_ns = ((now.tv_sec * 1LL * SECOND_NS + now.tv_nsec) / PERIOD_NS + 10) * PERIOD_NS;
	for (k = 0; k < atoi(argv[3]); k++) {
		long long txtime_ns = first_ns + (long long)k * PERIOD_NS;
		long long wake_ns = txtime_ns - ADVANCE_NS;
		struct timespec wake = { wake_ns / SECOND_NS, wake_ns % SECOND_NS };
		_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(txtime_ns))] = { 0 };
		struct iovec data = { &k, sizeof(k) };
		struct msghdr msg = { .msg_name = &to,
				      .msg_namelen = sizeof(to),
				      .msg_iov = &data,
				      .msg_iovlen = 1,
				      .msg_control = space,
				      .msg_controllen = sizeof(space) };
		struct cmsghdr *control = CMSG_FIRSTHDR(&msg);

		control->cmsg_len = CMSG_LEN(sizeof(txtime_ns));
		control->cmsg_level = SOL_SOCKET;
		control->cmsg_type = SCM_TXTIME;
		memcpy(CMSG_DATA(control), &txtime_ns, sizeof(txtime_ns));
		clock_nanosleep(CLOCK_TAI, TIMER_ABSTIME, &wake, NULL);
		if (sendmsg(fd, &msg, 0) < 0)
			warn("frame %d", k);
		missed += report_missed(fd);
	}
	clock_nanosleep(CLOCK_TAI, 0, &(struct timespec){ 0, 2 * ADVANCE_NS }, NULL);
	missed += report_missed(fd);
	printf("%d sent, %d missed\n", k, missed);
	return 0;
}
