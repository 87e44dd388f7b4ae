/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keepon-relay: on the host of virtual machines, send a guest's frames at the txtimes of their
 * tags (examples/txtime_tag.bpf.c), and report back to the guest what became of each that was
 * missed or refused, and of each that was stamped. docs/programs.md has the tag.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/errqueue.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "answers.h"
#include "cli.h"
#include "clocks.h"
#include "interface.h"

enum {
	ADDRESSES_BYTES = 2 * KPT_MAC_BYTES,
	TAG_BYTES = 12,
	TAG_TYPE = 0x88b6, /* local experimental EtherType 2, IEEE Std 802-2014 clause 9.2.4 */
	FRAME_BYTES_MAX = 9216,
	SOCKET_BUFFER_BYTES = 4 << 20,
	FRAMES_PER_ROUND = 64,
	SENDERS = 4096, /* frames whose stamps may be under way; a power of two */
};

/* enum kind - what a tag says: a guest's frame has its txtime, a report the frame's and a time */
enum kind { KIND_SEND, KIND_MISSED, KIND_INVALID, KIND_STAMP };

/* struct sent - whose frame it was, by the counter of stamps */
struct sent {
	uint8_t guest[KPT_MAC_BYTES];
	uint64_t txtime_ns;
};

struct relay {
	int guest; /* socket on the guest's interface */
	int link;
	bool stamps;
	int priority;
	uint32_t sends;
	uint64_t counts[KIND_STAMP + 1];
	uint64_t refused;
	uint64_t malformed;
	struct kpt_interface guest_interface;
	struct kpt_interface link_interface;
	struct sent sent[SENDERS];
};

static const char *const help =
	"usage: keepon-relay GUEST LINK [--stamps]\n"
	"\n"
	"Send frames that a virtual machine has tagged with a txtime (CLOCK_TAI), at it. GUEST is the machine's\n"
	"interface here, such as a tap; LINK a keepon link, or a card with etf. Runs until Ctrl-C.\n"
	"\n"
	"options\n"
	"  --stamps   report to the guest when each frame left, by LINK's clock (what was missed is always reported)\n"
	"  --help, --version\n"
	"\n"
	"exit code: 0 every frame was taken in time, 1 some were missed or refused, 2 usage, 3 environment\n";

static uint64_t get64(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void put64(uint8_t *bytes, uint64_t value)
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		bytes[i] = (uint8_t)value;
}

static void set(int fd, int level, int name, const void *value, socklen_t bytes, const char *what)
{
	if (setsockopt(fd, level, name, value, bytes))
		kpt_environment_error("%s cannot be set: %s", what, strerror(errno));
}

static int packet_socket(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		kpt_environment_error("a packet socket cannot be opened: %s%s", strerror(errno),
				      errno == EPERM ? "; run as root or with CAP_NET_RAW" : "");
	return fd;
}

/*
 * All frames that come in pass here before a bridge takes them, so the filter is by EtherType, not
 * the socket. A check sum that the guest left to its card stays open until LINK (PACKET_VNET_HDR).
 */
static void open_guest(struct relay *relay)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ADDRESSES_BYTES),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TAG_TYPE, 0, 3),
		/* a VLAN's tag around it would be lost on the way */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS,
			 (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog filter = { .len = sizeof(program) / sizeof(*program), .filter = program };
	struct sockaddr_ll place = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = relay->guest_interface.index,
	};
	int on = 1;

	relay->guest = packet_socket();
	set(relay->guest, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter), "the filter");
	set(relay->guest, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on),
	    "PACKET_IGNORE_OUTGOING");
	set(relay->guest, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on), "PACKET_VNET_HDR");
	kpt_socket_buffer(relay->guest, SO_RCVBUF, SOCKET_BUFFER_BYTES);
	if (bind(relay->guest, (struct sockaddr *)&place, sizeof(place)))
		kpt_environment_error("%s: %s", relay->guest_interface.name, strerror(errno));
}

static void open_link(struct relay *relay)
{
	struct sock_txtime txtime = { .clockid = CLOCK_TAI, .flags = SOF_TXTIME_REPORT_ERRORS };
	int flags = SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_TX_HARDWARE |
		    SOF_TIMESTAMPING_RAW_HARDWARE;
	int on = 1;
	int error;

	relay->link = packet_socket();
	set(relay->link, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime), "SO_TXTIME");
	set(relay->link, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on), "PACKET_VNET_HDR");
	kpt_socket_buffer(relay->link, SO_SNDBUF, SOCKET_BUFFER_BYTES);
	kpt_socket_buffer(relay->link, SO_RCVBUF, SOCKET_BUFFER_BYTES);
	if (!relay->stamps)
		return;
	error = kpt_interface_stamp_sent(&relay->link_interface);
	if (error)
		kpt_environment_error("--stamps: interface %s does not stamp frames it sends: %s",
				      relay->link_interface.name, strerror(error));
	set(relay->link, SOL_SOCKET, SO_TIMESTAMPING_NEW, &flags, sizeof(flags),
	    "transmit stamps (SO_TIMESTAMPING)");
}

/* A frame of the guest without its tag, @bytes with it; @header says where its check sum goes. */
static void send_on(struct relay *relay, struct virtio_net_hdr *header, uint8_t *frame,
		    size_t bytes)
{
	const uint8_t *tag = frame + ADDRESSES_BYTES;
	uint64_t txtime_ns = get64(tag + 4);
	struct sent *sent = &relay->sent[relay->sends % SENDERS];
	struct iovec parts[] = { { header, sizeof(*header) },
				 { frame + TAG_BYTES, bytes - TAG_BYTES } };
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_ifindex = relay->link_interface.index };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(txtime_ns))] = { 0 };
	struct msghdr message = { .msg_name = &to,
				  .msg_namelen = sizeof(to),
				  .msg_iov = parts,
				  .msg_iovlen = 2,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *time = CMSG_FIRSTHDR(&message);

	time->cmsg_level = SOL_SOCKET;
	time->cmsg_type = SCM_TXTIME;
	time->cmsg_len = CMSG_LEN(sizeof(txtime_ns));
	memcpy(CMSG_DATA(time), &txtime_ns, sizeof(txtime_ns));
	memcpy(sent->guest, frame + KPT_MAC_BYTES, KPT_MAC_BYTES);
	sent->txtime_ns = txtime_ns;
	if (tag[3] != relay->priority) {
		relay->priority = tag[3];
		setsockopt(relay->link, SOL_SOCKET, SO_PRIORITY, &relay->priority,
			   sizeof(relay->priority));
	}
	memmove(frame + TAG_BYTES, frame, ADDRESSES_BYTES);
	memcpy(&to.sll_protocol, frame + TAG_BYTES + ADDRESSES_BYTES, sizeof(to.sll_protocol));
	if (header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		header->csum_start = (uint16_t)(header->csum_start - TAG_BYTES);
	if (sendmsg(relay->link, &message, 0) < 0) {
		relay->sends += errno == ENOBUFS; /* it had a number when a queue dropped it */
		relay->refused++;
		return;
	}
	relay->sends++;
	relay->counts[KIND_SEND]++;
}

static bool take_frame(struct relay *relay)
{
	static uint8_t frame[FRAME_BYTES_MAX + 1]; /* one more shows what was cut */
	struct virtio_net_hdr header;
	struct iovec parts[] = { { &header, sizeof(header) }, { frame, sizeof(frame) } };
	ssize_t bytes = readv(relay->guest, parts, 2) - (ssize_t)sizeof(header);

	if (bytes < 0 && errno == ENETDOWN && !if_nametoindex(relay->guest_interface.name))
		kpt_environment_error("interface %s is gone; start again when it is there",
				      relay->guest_interface.name);
	if (bytes < 0)
		return false;
	if (bytes < ADDRESSES_BYTES + TAG_BYTES + 2 || bytes > FRAME_BYTES_MAX ||
	    frame[ADDRESSES_BYTES + 2] != KIND_SEND || header.gso_type != VIRTIO_NET_HDR_GSO_NONE)
		relay->malformed++;
	else
		send_on(relay, &header, frame, (size_t)bytes);
	return true;
}

static void report(struct relay *relay, enum kind kind, const struct sent *sent, uint64_t time_ns)
{
	struct virtio_net_hdr header = { 0 };
	uint8_t frame[ADDRESSES_BYTES + TAG_BYTES + 8] = { 0 };
	struct iovec parts[] = { { &header, sizeof(header) }, { frame, sizeof(frame) } };
	uint8_t *tag = frame + ADDRESSES_BYTES;

	relay->counts[kind]++;
	memcpy(frame, sent->guest, KPT_MAC_BYTES);
	memcpy(frame + KPT_MAC_BYTES, relay->link_interface.mac, KPT_MAC_BYTES);
	tag[0] = TAG_TYPE >> 8;
	tag[1] = TAG_TYPE & 0xff;
	tag[2] = (uint8_t)kind;
	put64(tag + 4, sent->txtime_ns);
	put64(tag + TAG_BYTES, time_ns);
	if (writev(relay->guest, parts, 2) < 0)
		relay->refused++;
}

static bool take_answer(struct relay *relay)
{
	uint8_t frame[FRAME_BYTES_MAX];
	struct iovec part = { frame, sizeof(frame) };
	_Alignas(struct cmsghdr) char control[512];
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t bytes = recvmsg(relay->link, &message, MSG_ERRQUEUE);
	struct kpt_answer answer;
	struct sent sent = { .txtime_ns = 0 };

	if (bytes < 0)
		return false;
	answer = kpt_answer_parse(&message, frame, (size_t)bytes);
	if (answer.kind == KPT_ANSWER_STAMP && answer.has_hw) {
		sent = relay->sent[answer.key % SENDERS];
		report(relay, KIND_STAMP, &sent, (uint64_t)answer.hw_ns);
	} else if (answer.kind == KPT_ANSWER_MISSED || answer.kind == KPT_ANSWER_INVALID) {
		if (bytes >= ADDRESSES_BYTES)
			memcpy(sent.guest, frame + KPT_MAC_BYTES, KPT_MAC_BYTES);
		sent.txtime_ns = (uint64_t)answer.txtime_ns;
		report(relay, answer.kind == KPT_ANSWER_MISSED ? KIND_MISSED : KIND_INVALID, &sent,
		       0);
	}
	return true;
}

static void run(struct relay *relay)
{
	struct pollfd fds[] = { { .fd = relay->guest, .events = POLLIN }, { .fd = relay->link } };
	sigset_t mask = kpt_block_signals();

	while (!kpt_stopped()) {
		if (ppoll(fds, 2, NULL, &mask) < 0)
			continue;
		for (int i = 0; i < FRAMES_PER_ROUND && take_frame(relay); i++)
			;
		for (int i = 0; i < FRAMES_PER_ROUND && take_answer(relay); i++)
			;
	}
}

int main(int argc, char **argv)
{
	static struct relay relay;

	kpt_program = "keepon-relay";
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(help, stdout);
		return KPT_EXIT_MET;
	}
	if (argc == 2 && !strcmp(argv[1], "--version"))
		kpt_print_version();
	relay.stamps = argc == 4 && !strcmp(argv[3], "--stamps");
	if (argc != 3 + relay.stamps)
		kpt_usage_error("GUEST and LINK are needed, and --stamps may follow; see --help");
	relay.guest_interface = kpt_interface_find(argv[1]);
	relay.link_interface = kpt_interface_find(argv[2]);
	if (relay.guest_interface.index == relay.link_interface.index)
		kpt_usage_error("GUEST and LINK are both %s; name two", argv[1]);
	kpt_catch_signals();
	open_link(&relay);
	open_guest(&relay);
	run(&relay);
	printf("sent %" PRIu64 ", missed %" PRIu64 ", invalid %" PRIu64 ", stamped %" PRIu64
	       ", refused %" PRIu64 ", malformed %" PRIu64 "\n",
	       relay.counts[KIND_SEND], relay.counts[KIND_MISSED], relay.counts[KIND_INVALID],
	       relay.counts[KIND_STAMP], relay.refused, relay.malformed);
	return relay.counts[KIND_MISSED] + relay.counts[KIND_INVALID] + relay.refused ?
		       KPT_EXIT_MISSED :
		       KPT_EXIT_MET;
}
