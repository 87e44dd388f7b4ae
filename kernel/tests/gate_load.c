// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load for gates. `gate_load now PHC` prints the time of a PTP clock in ns; PHC may be "tai" for
 * CLOCK_TAI.
 * `gate_load run PHC DEVICE SPAN_MS SEED PRIORITIES` sends frames of every priority below
 * PRIORITIES, at random times and of random lengths, but priority 0 as many as are taken; `gate_load
 * pace` of the same arguments one of each and 100 bytes every 1.7 to 2.3 ms. Both end sooner by
 * SIGTERM. Bytes 14 and 15 of a frame are its priority and how often it was sent, modulo 256. Prints
 * "sample RAW_NS PHC_NS WIDTH_NS" now and then, RAW_NS being CLOCK_MONOTONIC_RAW in the middle of
 * WIDTH_NS in which the PHC was read, and "sent PRIORITY COUNT".
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "packet_socket.h"

enum {
	PRIORITIES_MAX = 16,
	PAYLOAD_MAX = 1100,
	BUFFER_BYTES = 1 << 17,
	SAMPLE_NS = 20000000,
	BURST_MAX = 24,
	/* More than a socket's buffer holds: a wire faster than the sender never fills it. */
	FILL_MAX = 512,
	PAUSE_NS_MAX = 4000000,
	PACE_NS = 1700000,
	PACE_MORE_NS = 600000,
	PACE_BYTES = 100,
};

static uint64_t random_state;
static volatile sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % limit);
}

static int64_t read_ns(clockid_t clock)
{
	struct timespec time;

	require(!clock_gettime(clock, &time), "clock_gettime");
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static clockid_t open_phc(const char *path)
{
	int fd;

	if (!strcmp(path, "tai"))
		return CLOCK_TAI;
	fd = open(path, O_RDWR);

	require(fd >= 0, path);
	return (clockid_t)(~(unsigned int)fd << 3 | 3);
}

static int open_socket(const char *device, int priority, struct sockaddr_ll *to)
{
	static const unsigned char station[6] = { 2, 0, 0, 0, 0, 9 };
	const int bytes = BUFFER_BYTES;
	int fd = open_packet_socket(device, priority, station, to);

	require(!setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), "SO_SNDBUF");
	return fd;
}

static bool send_bytes(int fd, const struct sockaddr_ll *to, int priority, uint32_t number,
		       size_t bytes)
{
	static unsigned char payload[PAYLOAD_MAX];

	payload[0] = (unsigned char)priority;
	payload[1] = (unsigned char)number;
	return sendto(fd, payload, bytes, MSG_DONTWAIT, (const struct sockaddr *)to, sizeof(*to)) >
	       0;
}

static bool send_one(int fd, const struct sockaddr_ll *to, int priority, uint32_t number)
{
	return send_bytes(fd, to, priority, number, 2 + random_below(PAYLOAD_MAX - 2));
}

/* RAW at a moment between two readings of it, with the PHC read there. */
static void sample(clockid_t phc)
{
	int64_t before = read_ns(CLOCK_MONOTONIC_RAW);
	int64_t at = read_ns(phc);
	int64_t after = read_ns(CLOCK_MONOTONIC_RAW);

	printf("sample %lld %lld %lld\n", (long long)(before + (after - before) / 2), (long long)at,
	       (long long)(after - before));
}

static void load(clockid_t phc, const char *device, int64_t span_ns, int priorities)
{
	struct sockaddr_ll to[PRIORITIES_MAX];
	uint32_t sent[PRIORITIES_MAX] = { 0 };
	int64_t due[PRIORITIES_MAX] = { 0 };
	int fd[PRIORITIES_MAX];
	int64_t begin = read_ns(CLOCK_MONOTONIC);
	int64_t now = begin;
	int64_t sampled = 0;
	int priority;

	for (priority = 0; priority < priorities; priority++)
		fd[priority] = open_socket(device, priority, &to[priority]);
	for (; now - begin < span_ns && !ended; now = read_ns(CLOCK_MONOTONIC)) {
		const struct timespec pause = { 0, 100000 };
		uint32_t fill = FILL_MAX;

		if (now - sampled >= SAMPLE_NS) {
			sample(phc);
			sampled = now;
		}
		while (fill-- && send_one(fd[0], &to[0], 0, sent[0]))
			sent[0]++;
		for (priority = 1; priority < priorities; priority++) {
			uint32_t burst = random_below(BURST_MAX);

			if (now < due[priority])
				continue;
			due[priority] = now + random_below(PAUSE_NS_MAX);
			while (burst-- &&
			       send_one(fd[priority], &to[priority], priority, sent[priority]))
				sent[priority]++;
		}
		nanosleep(&pause, NULL);
	}
	sample(phc);
	for (priority = 0; priority < priorities; priority++)
		printf("sent %d %u\n", priority, sent[priority]);
}

static void pace(clockid_t phc, const char *device, int64_t span_ns, int priorities)
{
	struct sockaddr_ll to[PRIORITIES_MAX];
	int64_t begin = read_ns(CLOCK_MONOTONIC);
	int fd[PRIORITIES_MAX];
	uint32_t sent = 0;
	int priority;

	for (priority = 0; priority < priorities; priority++)
		fd[priority] = open_socket(device, priority, &to[priority]);
	for (; read_ns(CLOCK_MONOTONIC) - begin < span_ns && !ended; sent++) {
		const struct timespec pause = { 0, PACE_NS + random_below(PACE_MORE_NS) };

		sample(phc);
		for (priority = 0; priority < priorities; priority++)
			require(send_bytes(fd[priority], &to[priority], priority, sent, PACE_BYTES),
				"sendto");
		nanosleep(&pause, NULL);
	}
	sample(phc);
	for (priority = 0; priority < priorities; priority++)
		printf("sent %d %u\n", priority, sent);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "now")) {
		printf("%lld\n", (long long)read_ns(open_phc(argv[2])));
		return 0;
	}
	if (argc != 7 || (strcmp(argv[1], "run") != 0 && strcmp(argv[1], "pace") != 0) ||
	    atoi(argv[6]) < 1 || atoi(argv[6]) > PRIORITIES_MAX) {
		fprintf(stderr, "usage: gate_load now PHC\n"
				"       gate_load run|pace PHC DEVICE SPAN_MS SEED PRIORITIES\n");
		return 2;
	}
	signal(SIGTERM, end);
	random_state = strtoull(argv[5], NULL, 0);
	(strcmp(argv[1], "run") ? pace : load)(open_phc(argv[2]), argv[3], atoll(argv[4]) * 1000000,
					       atoi(argv[6]));
	return 0;
}
