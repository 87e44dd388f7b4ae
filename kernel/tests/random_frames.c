// SPDX-License-Identifier: GPL-2.0-only
/*
 * `random_frames send DEVICE COUNT LEAST`: broadcast frames of random lengths from LEAST bytes of
 * payload on, each with its number and bytes that follow from it. `random_frames receive DEVICE
 * COUNT LEAST`: until all have come, or none does for two seconds; prints "whole N wrong N twice N":
 * frames as they were sent, frames that were never sent, and frames that came again.
 */
#include <poll.h>
#include <stdint.h>

#include "packet_socket.h"

enum { BYTES_MAX = 1500, WAIT_MS = 2000, BUFFER_BYTES = 1 << 24 };

static size_t bytes_min;

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t value = *state += 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

/* Payload of frame @number. Return: bytes; half of the frames are the shortest or the longest. */
static size_t frame_of(uint32_t number, unsigned char *payload)
{
	uint64_t state = number;
	uint64_t kind = next(&state) % 4;
	size_t bytes = kind == 0 ? bytes_min :
		       kind == 1 ? BYTES_MAX :
				   bytes_min + next(&state) % (BYTES_MAX - bytes_min + 1);
	size_t i;

	for (i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t word = next(&state);

		memcpy(payload + i, &word, sizeof(word));
	}
	memcpy(payload, &number, sizeof(number));
	return bytes;
}

static void send_all(int fd, const struct sockaddr_ll *to, uint32_t count)
{
	unsigned char payload[BYTES_MAX + sizeof(uint64_t)];
	uint32_t number;

	for (number = 0; number < count; number++) {
		size_t bytes = frame_of(number, payload);

		require(sendto(fd, payload, bytes, 0, (const void *)to, sizeof(*to)) ==
				(ssize_t)bytes,
			"sendto");
	}
}

/* It is all there, and zeros behind it that fill its slots. */
static bool is_whole(const unsigned char *payload, size_t bytes, uint32_t number)
{
	unsigned char wanted[2048] = { 0 };
	size_t sent = frame_of(number, wanted);

	memset(wanted + sent, 0, sizeof(uint64_t));
	return sent <= bytes && !memcmp(payload, wanted, bytes);
}

static void receive_all(int fd, struct sockaddr_ll *from, uint32_t count)
{
	unsigned char payload[2048];
	unsigned char *seen = calloc(count, 1);
	unsigned int result[3] = { 0 };
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int room = BUFFER_BYTES;

	require(seen, "calloc");
	require(!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)), "SO_RCVBUFFORCE");
	require(!bind(fd, (const void *)from, sizeof(*from)), "bind");
	puts("ready");
	fflush(stdout);
	while (result[0] < count && poll(&wait, 1, WAIT_MS) == 1) {
		ssize_t bytes = recv(fd, payload, sizeof(payload), 0);
		uint32_t number;

		require(bytes >= (ssize_t)bytes_min, "recv");
		memcpy(&number, payload, sizeof(number));
		if (number >= count || !is_whole(payload, (size_t)bytes, number)) {
			result[1]++;
			continue;
		}
		result[seen[number] ? 2 : 0]++;
		seen[number] = 1;
	}
	printf("whole %u wrong %u twice %u\n", result[0], result[1], result[2]);
	free(seen);
}

int main(int argc, char **argv)
{
	static const unsigned char everybody[6] = { 255, 255, 255, 255, 255, 255 };
	struct sockaddr_ll station;
	int fd;

	if (argc != 5) {
		fprintf(stderr, "usage: random_frames send|receive DEVICE COUNT LEAST\n");
		return 2;
	}
	bytes_min = (size_t)atoi(argv[4]);
	fd = open_packet_socket(argv[2], 0, everybody, &station);
	if (!strcmp(argv[1], "send"))
		send_all(fd, &station, (uint32_t)atoi(argv[3]));
	else
		receive_all(fd, &station, (uint32_t)atoi(argv[3]));
	return 0;
}
