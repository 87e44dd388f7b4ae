// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames at given instants, and which of them arrive:
 * `policed_frames FROM TO FIRST_NS GAP_NS COUNT BYTES ...`. Frame i leaves device FROM at
 * FIRST_NS + i * GAP_NS of CLOCK_TAI. Frames have the payloads of BYTES in turn, and the n-th of
 * these goes to 02:00:00:00:01:n. Prints number:ns of those that came to device TO, ns from their
 * sending to the stamp of their arrival, and last how late the latest one was sent, in ns.
 */
#include <linux/sockios.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <time.h>

#include "packet_socket.h"

enum { BYTES_MAX = 9000, NS_PER_S = 1000000000, LAST_NS = 50000000 };

struct sent {
	int64_t real_ns;
	uint32_t number;
};

static int64_t ns_of(struct timespec time)
{
	return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

static int64_t sleep_until(int64_t at_ns)
{
	struct timespec time = { .tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S };

	errno = clock_nanosleep(CLOCK_TAI, TIMER_ABSTIME, &time, NULL);
	require(!errno, "clock_nanosleep");
	clock_gettime(CLOCK_TAI, &time);
	return ns_of(time) - at_ns;
}

int main(int argc, char **argv)
{
	static unsigned char frame[BYTES_MAX];
	unsigned char station[6] = { 2, 0, 0, 0, 1, 0 };
	struct sockaddr_ll to;
	int64_t latest_ns = 0;
	int64_t late_ns;
	int64_t at_ns;
	struct timespec now;
	struct sent sent;
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
	ioctl(receiver, SIOCGSTAMPNS, &now); /* from now on arrivals are stamped */
	to.sll_ifindex = (int)if_nametoindex(argv[1]);
	count = (uint32_t)atol(argv[5]);
	at_ns = atoll(argv[3]);
	for (sent.number = 0; sent.number < count; sent.number++) {
		bytes = atol(argv[6 + sent.number % (uint32_t)kinds]);
		require(bytes >= (ssize_t)sizeof(sent) && bytes <= BYTES_MAX, "BYTES");
		to.sll_addr[5] = (unsigned char)(sent.number % (uint32_t)kinds);
		late_ns = sleep_until(at_ns);
		if (late_ns > latest_ns)
			latest_ns = late_ns;
		clock_gettime(CLOCK_REALTIME, &now);
		sent.real_ns = ns_of(now);
		memcpy(frame, &sent, sizeof(sent));
		require(sendto(sender, frame, (size_t)bytes, 0, (struct sockaddr *)&to,
			       sizeof(to)) == bytes,
			"sendto");
		at_ns += atoll(argv[4]);
	}
	sleep_until(at_ns + LAST_NS);
	while (recv(receiver, &sent, sizeof(sent), MSG_DONTWAIT) > 0) {
		require(!ioctl(receiver, SIOCGSTAMPNS, &now), "SIOCGSTAMPNS");
		printf("%u:%lld ", sent.number, (long long)(ns_of(now) - sent.real_ns));
	}
	printf("%lld\n", (long long)latest_ns);
	return 0;
}
