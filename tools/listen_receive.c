/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving side of keepon-listen: a packet socket behind a filter for test frames, a stamp for
 * each of them. From the first frame on nothing is allocated.
 */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clocks.h"
#include "payload.h"

enum {
	SOCKET_BUFFER_BYTES = 16 << 20,
	TYPE_OFFSET = 2 * KPT_MAC_BYTES,
	ETHERNET_BYTES = TYPE_OFFSET + 2,
	TAG_BYTES = 4,
	FCS_BYTES = 4,
	VID_MASK = 0xfff,
	PCP_SHIFT = 13,
};

/* struct listener - all that the loop touches */
struct listener {
	const struct listen_options *options;
	struct listen_run *run;
	FILE *capture;
	int fd;
	int64_t tai_offset_ns;
	uint8_t frame[LISTEN_FRAME_BYTES_MAX];
	_Alignas(struct cmsghdr) char control[512];
};

/* struct arrival - one frame as the kernel gives it: stamps, and the tag if it took one out */
struct arrival {
	int64_t hw_ns;
	int64_t sw_ns;
	bool has_hw;
	bool has_sw;
	bool has_tag;
	uint8_t tag[TAG_BYTES];
};

#define LOOK_AT(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
/* accept: how many instructions behind this one the accepting one is */
#define IF_MAGIC(accept) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, KPT_PAYLOAD_MAGIC, (accept), 0)

/*
 * The magic behind Ethernet, or behind IPv4 or IPv6 and UDP, each with 0-1 tags in the frame.
 * Looking beyond the end of a frame rejects it, so places are in ascending order.
 */
static void attach_filter(int fd)
{
	struct sock_filter code[] = {
		LOOK_AT(14),
		IF_MAGIC(11),
		LOOK_AT(18),
		IF_MAGIC(9),
		LOOK_AT(42),
		IF_MAGIC(7),
		LOOK_AT(46),
		IF_MAGIC(5),
		LOOK_AT(62),
		IF_MAGIC(3),
		LOOK_AT(66),
		IF_MAGIC(1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
		kpt_environment_error("the packet filter cannot be attached: %s", strerror(errno));
}

static void set_option(int fd, int level, int name, const void *value, socklen_t bytes,
		       const char *what)
{
	if (setsockopt(fd, level, name, value, bytes))
		kpt_environment_error("%s cannot be set: %s", what, strerror(errno));
}

/*
 * Every type, filtered here: the kernel takes the tag off before it looks for a socket of one type.
 */
static int open_socket(const struct kpt_interface *interface, bool hw_stamps)
{
	struct sockaddr_ll place = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = interface->index,
	};
	struct packet_mreq everything = { .mr_ifindex = interface->index,
					  .mr_type = PACKET_MR_PROMISC };
	int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	int one = 1;
	/* Protocol 0 until bind(): nothing unfiltered or unstamped gets in. */
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		kpt_environment_error("a packet socket cannot be opened: %s%s", strerror(errno),
				      errno == EPERM ? "; run as root or with CAP_NET_RAW" : "");
	attach_filter(fd);
	if (hw_stamps)
		flags |= SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	set_option(fd, SOL_SOCKET, SO_TIMESTAMPING_NEW, &flags, sizeof(flags),
		   "receive stamps (SO_TIMESTAMPING)");
	set_option(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one),
		   "tags beside the frame (PACKET_AUXDATA)");
	set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one),
		   "PACKET_IGNORE_OUTGOING");
	kpt_socket_buffer(fd, SO_RCVBUF, SOCKET_BUFFER_BYTES);
	if (bind(fd, (struct sockaddr *)&place, sizeof(place)))
		kpt_environment_error("interface %s cannot be listened to: %s", interface->name,
				      strerror(errno));
	set_option(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &everything, sizeof(everything),
		   "promiscuous reception");
	return fd;
}

static bool read_time(const struct __kernel_timespec *time, int64_t *time_ns)
{
	*time_ns = time->tv_sec * KPT_SECOND_NS + time->tv_nsec;
	return *time_ns != 0;
}

static void read_auxdata(const struct tpacket_auxdata *data, struct arrival *arrival)
{
	uint16_t type =
		data->tp_status & TP_STATUS_VLAN_TPID_VALID ? data->tp_vlan_tpid : ETH_P_8021Q;

	arrival->has_tag = data->tp_status & TP_STATUS_VLAN_VALID;
	arrival->tag[0] = (uint8_t)(type >> 8);
	arrival->tag[1] = (uint8_t)type;
	arrival->tag[2] = (uint8_t)(data->tp_vlan_tci >> 8);
	arrival->tag[3] = (uint8_t)data->tp_vlan_tci;
}

static struct arrival read_arrival(const struct listener *listener, struct msghdr *message)
{
	struct arrival arrival = { .has_tag = false };
	struct scm_timestamping64 stamps;
	struct tpacket_auxdata data;

	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
	     control = CMSG_NXTHDR(message, control)) {
		if (control->cmsg_level == SOL_SOCKET &&
		    control->cmsg_type == SO_TIMESTAMPING_NEW &&
		    control->cmsg_len >= CMSG_LEN(sizeof(stamps))) {
			memcpy(&stamps, CMSG_DATA(control), sizeof(stamps));
			arrival.has_sw = read_time(&stamps.ts[0], &arrival.sw_ns);
			arrival.has_hw = read_time(&stamps.ts[2], &arrival.hw_ns);
			arrival.sw_ns += listener->tai_offset_ns;
		} else if (control->cmsg_level == SOL_PACKET &&
			   control->cmsg_type == PACKET_AUXDATA &&
			   control->cmsg_len >= CMSG_LEN(sizeof(data))) {
			memcpy(&data, CMSG_DATA(control), sizeof(data));
			read_auxdata(&data, &arrival);
		}
	}
	return arrival;
}

/* Index of the frame's stream; -1 if it is not listened to. */
static int stream_of(const struct listener *listener, uint32_t hash)
{
	struct listen_run *run = listener->run;

	for (size_t i = 0; i < run->stream_count; i++)
		if (run->streams[i].hash == hash)
			return (int)i;
	if (listener->options->stream_count)
		return -1;
	if (run->stream_count == LISTEN_STREAMS_MAX) {
		run->other_streams++;
		return -1;
	}
	run->streams[run->stream_count].hash = hash;
	if (hash == kpt_stream_hash(KPT_STREAM_DEFAULT))
		run->streams[run->stream_count].id = KPT_STREAM_DEFAULT;
	return (int)run->stream_count++;
}

/*
 * A tag still in the frame moves into @arrival, so that both ways of the kernel look the same;
 * returns the EtherType.
 */
static int find_type(const uint8_t *frame, size_t bytes, struct arrival *arrival, bool *tag_inside)
{
	int type = frame[TYPE_OFFSET] << 8 | frame[TYPE_OFFSET + 1];

	*tag_inside = type == ETH_P_8021Q && bytes >= ETHERNET_BYTES + TAG_BYTES;
	if (!*tag_inside)
		return type;
	memcpy(arrival->tag, frame + TYPE_OFFSET, TAG_BYTES);
	return frame[TYPE_OFFSET + TAG_BYTES] << 8 | frame[TYPE_OFFSET + TAG_BYTES + 1];
}

static void note_frame(struct listener *listener, size_t bytes, struct arrival *arrival)
{
	struct listen_run *run = listener->run;
	struct listen_record *record = &run->records[run->received % run->capacity];
	struct listen_stream *stream;
	struct kpt_payload payload;
	bool tag_inside = false;
	int type, index, tci;

	if (bytes < ETHERNET_BYTES || bytes > sizeof(listener->frame))
		return;
	type = find_type(listener->frame, bytes, arrival, &tag_inside);
	if (listener->options->ethertype != LISTEN_ANY_ETHERTYPE &&
	    type != listener->options->ethertype)
		return;
	if (kpt_payload_find(listener->frame, bytes, &payload) < 0)
		return;
	index = stream_of(listener, payload.stream_hash);
	if (index < 0)
		return;
	stream = &run->streams[index];
	tci = arrival->tag[2] << 8 | arrival->tag[3];
	*record = (struct listen_record){
		.seq = payload.seq,
		.rx_stamp_ns = run->hw_stamps ? arrival->hw_ns : arrival->sw_ns,
		.sw_stamp_ns = arrival->sw_ns,
		.txtime_ns = payload.txtime_ns,
		.sent_ns = payload.sent_ns,
		.frame_bytes = (int32_t)(bytes + FCS_BYTES + (arrival->has_tag ? TAG_BYTES : 0)),
		.vid = (int16_t)(arrival->has_tag || tag_inside ? tci & VID_MASK : LISTEN_NO_VLAN),
		.pcp = (uint8_t)(tci >> PCP_SHIFT),
		.stream = (uint8_t)index,
		.has_rx = run->hw_stamps ? arrival->has_hw : arrival->has_sw,
		.has_sw = arrival->has_sw,
		.in_tai = payload.clock == CLOCK_TAI,
	};
	stream->received++;
	stream->without_stamp += !record->has_rx;
	listen_sequence_add(&stream->sequence, payload.seq);
	run->received++;
	if (listener->capture)
		listen_capture_frame(listener->capture, record->has_rx ? record->rx_stamp_ns : 0,
				     listener->frame, bytes,
				     arrival->has_tag ? arrival->tag : NULL);
}

static bool enough(const struct listener *listener)
{
	return listener->options->count && listener->run->received >= listener->options->count;
}

/* True if there was a frame. */
static bool receive_one(struct listener *listener)
{
	struct iovec place = { .iov_base = listener->frame, .iov_len = sizeof(listener->frame) };
	struct msghdr message = {
		.msg_iov = &place,
		.msg_iovlen = 1,
		.msg_control = listener->control,
		.msg_controllen = sizeof(listener->control),
	};
	ssize_t bytes = recvmsg(listener->fd, &message, MSG_TRUNC);
	struct arrival arrival;

	if (bytes < 0) {
		if (errno == ENETDOWN)
			kpt_note("interface %s went down; waiting for it",
				 listener->options->interface);
		else if (errno != EAGAIN && errno != EINTR)
			kpt_environment_error("frames cannot be received: %s", strerror(errno));
		return false;
	}
	arrival = read_arrival(listener, &message);
	note_frame(listener, (size_t)bytes, &arrival);
	return true;
}

static void receive_all(struct listener *listener)
{
	sigset_t during_wait = kpt_block_signals();
	int64_t end_ns = kpt_now(CLOCK_MONOTONIC) + listener->options->duration_ns;

	while (!enough(listener)) {
		struct pollfd frames = { .fd = listener->fd, .events = POLLIN };
		int64_t left_ns = end_ns - kpt_now(CLOCK_MONOTONIC);
		struct timespec wait = { .tv_sec = (time_t)(left_ns / KPT_SECOND_NS),
					 .tv_nsec = (long)(left_ns % KPT_SECOND_NS) };

		if (listener->options->duration_ns && left_ns <= 0) {
			listener->run->ended_early = listener->options->count != 0;
			break;
		}
		/* Signals arrive here only, so none is missed between looking and waiting. */
		if (ppoll(&frames, 1, listener->options->duration_ns ? &wait : NULL, &during_wait) <
			    0 &&
		    errno != EINTR)
			kpt_environment_error("waiting for frames failed: %s", strerror(errno));
		if (kpt_stopped())
			break;
		if (frames.revents)
			receive_one(listener);
	}
}

static void *room_for(const struct listen_options *options, size_t element_bytes)
{
	void *room = calloc(options->record_count, element_bytes);

	if (!room)
		kpt_environment_error("no memory for %" PRIu64 " records; give a smaller --records",
				      options->record_count);
	return room;
}

void listen_receive(const struct listen_options *options, const struct kpt_interface *interface,
		    struct listen_run *run, FILE *capture)
{
	static struct listener listener;
	struct tpacket_stats stats;
	socklen_t stats_bytes = sizeof(stats);
	const char *reason = "as asked";

	run->capacity = options->record_count;
	run->records = room_for(options, sizeof(*run->records));
	run->scratch = room_for(options, sizeof(*run->scratch));
	for (run->stream_count = 0; run->stream_count < options->stream_count;
	     run->stream_count++) {
		run->streams[run->stream_count].id = options->streams[run->stream_count];
		run->streams[run->stream_count].hash =
			kpt_stream_hash(options->streams[run->stream_count]);
	}
	if (!options->sw_stamps) {
		int error = kpt_interface_stamp_received(interface);

		run->hw_stamps = !error;
		reason = strerror(error);
	}
	listener.options = options;
	listener.run = run;
	listener.capture = capture;
	listener.tai_offset_ns = kpt_clock_offset(CLOCK_TAI);
	kpt_catch_signals();
	listener.fd = open_socket(interface, run->hw_stamps);
	/*
	 * Best effort: without it a first touch of a record may cost a fault, which no stamp sees.
	 */
	mlockall(MCL_CURRENT | MCL_FUTURE);
	/* The kernel turns software stamps on in the background; a frame before that has none. */
	poll(NULL, 0, 20);
	if (run->hw_stamps)
		kpt_note("listening on %s, hardware stamps", interface->name);
	else
		kpt_note("listening on %s, software stamps (%s%s)", interface->name,
			 options->sw_stamps ? "" : "it does not stamp all received frames: ",
			 reason);
	receive_all(&listener);
	if (getsockopt(listener.fd, SOL_PACKET, PACKET_STATISTICS, &stats, &stats_bytes))
		kpt_environment_error("the socket's drop counter cannot be read: %s",
				      strerror(errno));
	run->dropped = stats.tp_drops;
	close(listener.fd);
}
