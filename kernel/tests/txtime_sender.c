// SPDX-License-Identifier: GPL-2.0-only
/*
 * One socket that sends frames with txtimes as fast as it can, then counts what its error queue
 * says of them: `txtime_sender DEVICE PRIORITY COUNT AHEAD_NS STEP_NS [deadline]`. Frame i has the
 * txtime now + AHEAD_NS + i * STEP_NS, in CLOCK_TAI, now being the moment it begins. Prints "sent N
 * missed N invalid N".
 */
#include <poll.h>
#include <stdint.h>
#include <time.h>

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>

#include "packet_socket.h"

enum { FRAME_BYTES = 46, BUFFER_BYTES = 1 << 26, LAST_ANSWER_MS = 200 };

static int open_socket(const char *device, int priority, bool deadline, struct sockaddr_ll *to)
{
	const struct sock_txtime txtime = {
		.clockid = CLOCK_TAI,
		.flags = SOF_TXTIME_REPORT_ERRORS | (deadline ? SOF_TXTIME_DEADLINE_MODE : 0),
	};
	static const unsigned char everyone[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	const int bytes = BUFFER_BYTES;
	int fd = open_packet_socket(device, priority, everyone, to);

	require(!setsockopt(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime)), "SO_TXTIME");
	require(!setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)),
		"SO_SNDBUFFORCE");
	require(!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)),
		"SO_RCVBUFFORCE");
	return fd;
}

static bool send_one(int fd, struct sockaddr_ll *to, uint64_t txtime_ns)
{
	static char frame[FRAME_BYTES];
	struct iovec data = { frame, sizeof(frame) };
	union {
		char room[CMSG_SPACE(sizeof(txtime_ns))];
		struct cmsghdr header;
	} control = { { 0 } };
	struct msghdr message = {
		.msg_name = to,
		.msg_namelen = sizeof(*to),
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_TXTIME;
	control.header.cmsg_len = CMSG_LEN(sizeof(txtime_ns));
	memcpy(CMSG_DATA(&control.header), &txtime_ns, sizeof(txtime_ns));
	/* A queueing discipline may drop it; then it was not sent. */
	return sendmsg(fd, &message, 0) == FRAME_BYTES;
}

/* The code of one report of a txtime, 0 if none comes any more. */
static int receive_report(int fd)
{
	struct pollfd wait = { .fd = fd };
	char control[512];
	struct msghdr message = { .msg_control = control, .msg_controllen = sizeof(control) };
	struct sock_extended_err *error;
	struct cmsghdr *header;

	while (poll(&wait, 1, LAST_ANSWER_MS) > 0) {
		message.msg_controllen = sizeof(control);
		if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			continue;
		for (header = CMSG_FIRSTHDR(&message); header;
		     header = CMSG_NXTHDR(&message, header)) {
			error = (struct sock_extended_err *)CMSG_DATA(header);
			if (header->cmsg_level == SOL_PACKET &&
			    error->ee_origin == SO_EE_ORIGIN_TXTIME)
				return error->ee_code;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_ll to;
	struct timespec now;
	uint64_t txtime_ns;
	long missed = 0;
	long invalid = 0;
	long sent = 0;
	long count;
	long i;
	int code;
	int fd;

	if (argc < 6) {
		fprintf(stderr,
			"usage: txtime_sender DEVICE PRIORITY COUNT AHEAD_NS STEP_NS [deadline]\n");
		return 2;
	}
	fd = open_socket(argv[1], atoi(argv[2]), argc > 6 && !strcmp(argv[6], "deadline"), &to);
	count = atol(argv[3]);
	clock_gettime(CLOCK_TAI, &now);
	txtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec +
		    (uint64_t)atoll(argv[4]);
	for (i = 0; i < count; i++)
		sent += send_one(fd, &to, txtime_ns + (uint64_t)i * (uint64_t)atoll(argv[5]));
	while ((code = receive_report(fd))) {
		missed += code == SO_EE_CODE_TXTIME_MISSED;
		invalid += code == SO_EE_CODE_TXTIME_INVALID_PARAM;
	}
	printf("sent %ld missed %ld invalid %ld\n", sent, missed, invalid);
	return 0;
}
