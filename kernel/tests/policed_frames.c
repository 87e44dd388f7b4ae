// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames at given instants, and which of them arrive:
 * `policed_frames FROM TO FIRST_NS GAP_NS COUNT BYTES ...`. Frame i leaves device FROM at
 * FIRST_NS + i * GAP_NS of CLOCK_TAI. Frames have the payloads of BYTES in turn, and the n-th of
 * these goes to 02:00:00:00:01:n. Prints the numbers of those that came to device TO, and last
 * how late the latest one was sent, in ns.
 */
#include <stdint.h>
#include <time.h>

#include "packet_socket.h"

enum { BYTES_MAX = 9000, NS_PER_S = 1000000000, LAST_NS = 50000000 };

static int64_t sleep_until(int64_t at_ns)
{
	struct timespec time = { .tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S };

	errno = clock_nanosleep(CLOCK_TAI, TIMER_ABSTIME, &time, NULL);
	require(!errno, "clock_nanosleep");
	clock_gettime(CLOCK_TAI, &time);
	return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec - at_ns;
}

int main(int argc, char **argv)
{
	static unsigned char frame[BYTES_MAX];
	unsigned char station[6] = { 2, 0, 0, 0, 1, 0 };
	struct sockaddr_ll to;
	int64_t latest_ns = 0;
	int64_t late_ns;
	int64_t at_ns;
	uint32_t number;
	uint32_t count;
	int kinds = argc - 6;
	ssize_t bytes;
	int sender;
	int receiver;

	if (kinds < 1) {
		fprintf(stderr, "usage: policed_frames FROM TO FIRST_NS GAP_NS COUNT BYTES ...\n");
		return 2;
	}
	sender = open_packet_socket(argv[1], 0, station, &to);
	receiver = open_packet_socket(argv[2], 0, station, &to);
	require(!bind(receiver, (struct sockaddr *)&to, sizeof(to)), "bind");
	to.sll_ifindex = (int)if_nametoindex(argv[1]);
	count = (uint32_t)atol(argv[5]);
	at_ns = atoll(argv[3]);
	for (number = 0; number < count; number++) {
		bytes = atol(argv[6 + number % (uint32_t)kinds]);
		require(bytes >= (ssize_t)sizeof(number) && bytes <= BYTES_MAX, "BYTES");
		memcpy(frame, &number, sizeof(number));
		to.sll_addr[5] = (unsigned char)(number % (uint32_t)kinds);
		late_ns = sleep_until(at_ns);
		if (late_ns > latest_ns)
			latest_ns = late_ns;
		require(sendto(sender, frame, (size_t)bytes, 0, (struct sockaddr *)&to,
			       sizeof(to)) == bytes,
			"sendto");
		at_ns += atoll(argv[4]);
	}
	sleep_until(at_ns + LAST_NS);
	while (recv(receiver, frame, sizeof(frame), MSG_DONTWAIT) > 0) {
		memcpy(&number, frame, sizeof(number));
		printf("%u ", number);
	}
	printf("%lld\n", (long long)latest_ns);
	return 0;
}
