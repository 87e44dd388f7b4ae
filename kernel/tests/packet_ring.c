// SPDX-License-Identifier: GPL-2.0-only
/*
 * `packet_ring DEVICE COUNT`: COUNT frames to everybody through the transmit ring of a packet
 * socket (PACKET_TX_RING), with hardware stamps asked for. Prints "sent N stamped N queued N":
 * frames whose place the kernel gave back, those with a stamp of the device in it, and stamps in
 * the socket's error queue.
 */
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include <linux/net_tstamp.h>
#include <linux/sockios.h>

#include "packet_socket.h"

enum { FRAME_BYTES = 2048, BLOCK_BYTES = 4096, FRAMES = 64, DATA_BYTES = 200, WAIT_MS = 1000 };

struct counts {
	unsigned int sent;
	unsigned int stamped;
	unsigned int queued;
};

static struct tpacket2_hdr *frame_at(void *ring, unsigned int number)
{
	return (struct tpacket2_hdr *)((char *)ring + (size_t)(number % FRAMES) * FRAME_BYTES);
}

static void switch_stamps_on(int fd, const char *device)
{
	struct hwtstamp_config config = { .tx_type = HWTSTAMP_TX_ON };
	struct ifreq request = { .ifr_data = (char *)&config };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	require(!ioctl(fd, SIOCSHWTSTAMP, &request), "SIOCSHWTSTAMP");
}

static void *map_ring(int fd)
{
	const struct tpacket_req request = {
		.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = FRAMES * FRAME_BYTES / BLOCK_BYTES,
		.tp_frame_size = FRAME_BYTES,
		.tp_frame_nr = FRAMES,
	};
	const int stamps = SOF_TIMESTAMPING_RAW_HARDWARE;
	const int stamping = SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	const int version = TPACKET_V2;
	void *ring;

	require(!setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)),
		"PACKET_VERSION");
	require(!setsockopt(fd, SOL_PACKET, PACKET_TIMESTAMP, &stamps, sizeof(stamps)),
		"PACKET_TIMESTAMP");
	require(!setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamping, sizeof(stamping)),
		"SO_TIMESTAMPING");
	require(!setsockopt(fd, SOL_PACKET, PACKET_TX_RING, &request, sizeof(request)),
		"PACKET_TX_RING");
	ring = mmap(NULL, (size_t)FRAMES * FRAME_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	require(ring != MAP_FAILED, "mmap");
	return ring;
}

/*
 * A place is given back once its frame has left; what stands in it then is counted. poll() is no
 * wait for it: stamps that nobody has read yet end it at once.
 */
static void take_back(volatile struct tpacket2_hdr *frame, struct counts *counts)
{
	const struct timespec pause = { 0, 1000000 };
	int tries = WAIT_MS;

	while (frame->tp_status & (TP_STATUS_SEND_REQUEST | TP_STATUS_SENDING)) {
		require(tries--, "a frame that does not leave");
		nanosleep(&pause, NULL);
	}
	counts->sent++;
	if (frame->tp_status & TP_STATUS_TS_RAW_HARDWARE && frame->tp_sec)
		counts->stamped++;
}

/* A stamp of the device in the control messages of what a socket's error queue held. */
static bool has_stamp(struct msghdr *message)
{
	struct cmsghdr *control;
	struct timespec stamps[3];

	for (control = CMSG_FIRSTHDR(message); control; control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SO_TIMESTAMPING)
			continue;
		memcpy(stamps, CMSG_DATA(control), sizeof(stamps));
		return stamps[2].tv_sec;
	}
	return false;
}

/* Until @wanted stamps were there, or for WAIT_MS nothing came. */
static void take_stamps(int fd, unsigned int wanted, int wait_ms, struct counts *counts)
{
	struct pollfd events = { .fd = fd };

	while (counts->queued < wanted) {
		char room[512];
		struct msghdr message = { .msg_control = room, .msg_controllen = sizeof(room) };

		if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
			counts->queued += has_stamp(&message);
		else if (poll(&events, 1, wait_ms) <= 0)
			return;
	}
}

int main(int argc, char **argv)
{
	static const unsigned char everyone[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct counts counts = { 0, 0, 0 };
	struct sockaddr_ll to;
	unsigned int count;
	unsigned int i;
	void *ring;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: packet_ring DEVICE COUNT\n");
		return 2;
	}
	count = (unsigned int)atoi(argv[2]);
	fd = open_packet_socket(argv[1], 0, everyone, &to);
	switch_stamps_on(fd, argv[1]);
	ring = map_ring(fd);
	for (i = 0; i < count; i++) {
		struct tpacket2_hdr *frame = frame_at(ring, i);

		if (i >= FRAMES)
			take_back(frame, &counts);
		memset((char *)frame + TPACKET2_HDRLEN - sizeof(struct sockaddr_ll), (int)i,
		       DATA_BYTES);
		frame->tp_len = DATA_BYTES;
		__atomic_store_n(&frame->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
		require(sendto(fd, NULL, 0, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)) >= 0,
			"sendto");
		take_stamps(fd, count, 0, &counts);
	}
	for (i = count > FRAMES ? count - FRAMES : 0; i < count; i++)
		take_back(frame_at(ring, i), &counts);
	take_stamps(fd, count, WAIT_MS, &counts);
	printf("sent %u stamped %u queued %u\n", counts.sent, counts.stamped, counts.queued);
	return 0;
}
