// SPDX-License-Identifier: GPL-2.0-only
/*
 * An application that knows nothing of time-sensitive networking: UDP by plain sockets.
 * `publisher ADDRESS BYTES COUNT PERIOD_NS PRIORITY` sends a numbered message each period and
 * prints "number:ns" of each that came back, ns from its planned instant; `publisher` alone is the
 * subscriber, which sends each message back and ends 10 s after the last one.
 */
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include "packet_socket.h"

enum { PORT = 5000, BYTES_MIN = 16, BYTES_MAX = 1472, NS_PER_S = 1000000000, QUIET_S = 10 };

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

static int udp(void)
{
	const struct timeval wait = { QUIET_S, 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	require(fd >= 0, "socket");
	require(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), "SO_RCVTIMEO");
	return fd;
}

static int subscribe(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = udp();
	char message[BYTES_MAX];

	require(!bind(fd, (struct sockaddr *)&at, sizeof(at)), "bind");
	for (bool begun = false;;) {
		socklen_t length = sizeof(at);
		ssize_t bytes =
			recvfrom(fd, message, sizeof(message), 0, (struct sockaddr *)&at, &length);

		if (bytes < 0 && begun)
			return 0;
		begun = begun || bytes >= 0;
		if (bytes >= 0)
			sendto(fd, message, (size_t)bytes, 0, (struct sockaddr *)&at, length);
	}
}

/* Answers of those that are still to come; without MSG_DONTWAIT all of them. */
static int64_t receive(int fd, int64_t left, int flags)
{
	char message[BYTES_MAX];
	int64_t said[2];

	while (left && recv(fd, message, sizeof(message), flags) >= BYTES_MIN) {
		left--;
		memcpy(said, message, sizeof(said));
		printf("%lld:%lld\n", (long long)said[0], (long long)(now_ns() - said[1]));
	}
	return left;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	char message[BYTES_MAX] = { 0 };
	int64_t said[2] = { 0, now_ns() };
	int64_t period_ns;
	int64_t left;
	int priority;
	int fd;

	if (argc == 1)
		return subscribe();
	require(argc == 6 && inet_pton(AF_INET, argv[1], &to.sin_addr) == 1, "arguments");
	require(atoi(argv[2]) >= BYTES_MIN && atoi(argv[2]) <= BYTES_MAX, "BYTES");
	left = atoll(argv[3]);
	period_ns = atoll(argv[4]);
	priority = atoi(argv[5]);
	fd = udp();
	require(!setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)),
		"SO_PRIORITY");
	require(!connect(fd, (struct sockaddr *)&to, sizeof(to)), "connect");
	for (; said[0] < atoll(argv[3]); said[0]++) {
		struct timespec at;

		said[1] += period_ns;
		at = (struct timespec){ said[1] / NS_PER_S, said[1] % NS_PER_S };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		memcpy(message, said, sizeof(said));
		require(send(fd, message, (size_t)atoi(argv[2]), 0) > 0, "send");
		left = receive(fd, left, MSG_DONTWAIT);
	}
	receive(fd, left, 0);
	return 0;
}
