/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending side of keepon-talk: one thread that wakes up `advance` before each txtime, hands the
 * frame over and reads the error queue until the next one is due. From the first frame on nothing
 * is allocated.
 */
#include "talk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clocks.h"

enum {
	ETHERNET_BYTES = 14,
	TAG_BYTES = 4,
	FCS_BYTES = 4,
	CYCLIC_SECONDS = 3, /* of the published sender, from the second at which it is called */
	IPV4_UDP_BYTES = 28,
	IPV6_UDP_BYTES = 48,
	SOCKET_BUFFER_BYTES = 8 << 20,
	ANSWER_BYTES = KPT_PAYLOAD_SEARCH_BYTES + KPT_PAYLOAD_BYTES,
	ANSWERS_PER_ROUND = 64,
	TOUCH_BYTES = 4096,
};

/* START_MARGIN_NS - from looking for the first txtime to being ready for it */
#define START_MARGIN_NS (10 * KPT_MILLISECOND_NS)

/* struct sender - all that the loop touches */
struct sender {
	const struct talk_options *options;
	struct talk_run *run;
	int fd;
	int64_t clock_offset_ns;
	size_t next_delay;
	uint8_t *payload;
	uint8_t *txtime;
	struct msghdr message;
	struct iovec bytes;
	struct sockaddr_ll station;
	uint8_t frame[TALK_FRAME_BYTES_MAX];
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(uint64_t))];
};

int talk_header_bytes(const struct talk_options *options)
{
	if (options->udp)
		return ETHERNET_BYTES +
		       (options->peer.ss_family == AF_INET ? IPV4_UDP_BYTES : IPV6_UDP_BYTES);
	return ETHERNET_BYTES + (options->vid == TALK_NO_VLAN ? 0 : TAG_BYTES);
}

static void check_mtu(const struct talk_options *options, const struct kpt_interface *interface)
{
	int tag_bytes = options->vid == TALK_NO_VLAN ? 0 : TAG_BYTES;
	int max = interface->mtu_bytes + ETHERNET_BYTES + tag_bytes + FCS_BYTES;

	if (options->frame_bytes > max)
		kpt_usage_error(
			"--size %d is more than interface %s sends with its MTU of %d bytes; give at most %d",
			options->frame_bytes, interface->name, interface->mtu_bytes, max);
}

static void set_option(int fd, int level, int name, const void *value, socklen_t bytes,
		       const char *what)
{
	if (setsockopt(fd, level, name, value, bytes))
		kpt_environment_error("%s cannot be set: %s%s", what, strerror(errno),
				      errno == EPERM ? "; run as root or with CAP_NET_ADMIN" : "");
}

static int open_socket(const struct talk_options *options, const struct kpt_interface *interface)
{
	int family = options->udp ? options->peer.ss_family : AF_PACKET;
	/* Protocol 0: a packet socket that never receives. */
	int fd = socket(family,
			(options->udp ? SOCK_DGRAM : SOCK_RAW) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int discover = IP_PMTUDISC_DO;

	if (fd < 0)
		kpt_environment_error(
			"a %s socket cannot be opened: %s%s", options->udp ? "UDP" : "packet",
			strerror(errno),
			errno == EPERM ? "; run as root or with CAP_NET_RAW, or use --udp" : "");
	if (options->udp)
		set_option(fd, SOL_SOCKET, SO_BINDTODEVICE, interface->name,
			   (socklen_t)strlen(interface->name) + 1,
			   "the interface of the UDP socket (SO_BINDTODEVICE)");
	if (family == AF_INET)
		set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover),
			   "IP_MTU_DISCOVER");
	if (family == AF_INET6)
		set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &discover, sizeof(discover),
			   "IPV6_MTU_DISCOVER");
	set_option(fd, SOL_SOCKET, SO_PRIORITY, &options->priority, sizeof(options->priority),
		   "the priority (SO_PRIORITY)");
	/*
	 * Frames waiting for their txtime count as sent but not gone; answers not read yet as
	 * received.
	 */
	kpt_socket_buffer(fd, SO_SNDBUF, SOCKET_BUFFER_BYTES);
	kpt_socket_buffer(fd, SO_RCVBUF, SOCKET_BUFFER_BYTES);
	return fd;
}

static void ask_for_txtime(int fd, const struct talk_options *options)
{
	struct sock_txtime txtime = { .clockid = options->clock };

	if (!options->with_txtime)
		return;
	if (options->deadline)
		txtime.flags |= SOF_TXTIME_DEADLINE_MODE;
	if (options->report_errors)
		txtime.flags |= SOF_TXTIME_REPORT_ERRORS;
	set_option(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime), "SO_TXTIME");
}

static void ask_for_stamps(int fd, const struct talk_options *options,
			   const struct kpt_interface *interface)
{
	int flags = SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TX_SWHW;
	int error;

	if (!options->hw_stamps && !options->sw_stamps)
		return;
	if (options->hw_stamps) {
		error = kpt_interface_stamp_sent(interface);
		if (error)
			kpt_environment_error(
				"--hw-stamps: interface %s does not stamp frames it sends: %s; use --sw-stamps",
				interface->name, strerror(error));
		flags |= SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	}
	if (options->sw_stamps)
		flags |= SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	set_option(fd, SOL_SOCKET, SO_TIMESTAMPING_NEW, &flags, sizeof(flags),
		   "transmit stamps (SO_TIMESTAMPING)");
}

static void put16(uint8_t *bytes, int value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

static void prepare_raw(struct sender *sender, const struct kpt_interface *interface)
{
	const struct talk_options *options = sender->options;
	uint8_t *place = sender->frame;

	memcpy(place, options->destination, KPT_MAC_BYTES);
	memcpy(place + KPT_MAC_BYTES, interface->mac, KPT_MAC_BYTES);
	place += 2 * KPT_MAC_BYTES;
	if (options->vid != TALK_NO_VLAN) {
		put16(place, ETH_P_8021Q);
		put16(place + 2, options->pcp << 13 | options->vid);
		place += TAG_BYTES;
	}
	put16(place, options->ethertype);
	sender->payload = place + 2;
	sender->bytes.iov_len = (size_t)(options->frame_bytes - FCS_BYTES);
	sender->station = (struct sockaddr_ll){
		.sll_family = AF_PACKET,
		.sll_protocol = htons((uint16_t)(options->vid == TALK_NO_VLAN ? options->ethertype :
										ETH_P_8021Q)),
		.sll_ifindex = interface->index,
		.sll_halen = KPT_MAC_BYTES,
	};
	memcpy(sender->station.sll_addr, options->destination, KPT_MAC_BYTES);
	sender->message.msg_name = &sender->station;
	sender->message.msg_namelen = sizeof(sender->station);
}

static void prepare_message(struct sender *sender, const struct kpt_interface *interface)
{
	const struct talk_options *options = sender->options;
	struct cmsghdr *control;

	if (options->udp) {
		sender->payload = sender->frame;
		sender->bytes.iov_len =
			(size_t)(options->frame_bytes - FCS_BYTES - talk_header_bytes(options));
		/* Not connected: an ICMP error would be handed to some later frame's sendmsg(). */
		sender->message.msg_name = (void *)&options->peer;
		sender->message.msg_namelen = options->peer_bytes;
	} else {
		prepare_raw(sender, interface);
	}
	sender->bytes.iov_base = sender->frame;
	sender->message.msg_iov = &sender->bytes;
	sender->message.msg_iovlen = 1;
	if (!options->with_txtime)
		return;
	sender->message.msg_control = sender->control;
	sender->message.msg_controllen = sizeof(sender->control);
	control = (struct cmsghdr *)sender->control;
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_TXTIME;
	control->cmsg_len = CMSG_LEN(sizeof(uint64_t));
	sender->txtime = CMSG_DATA(control);
}

static void become_punctual(const struct talk_options *options, struct talk_run *run)
{
	struct sched_param parameter = { .sched_priority = options->fifo_priority };

	if (options->fifo_priority && sched_setscheduler(0, SCHED_FIFO, &parameter))
		kpt_environment_error(
			"--fifo %d: the scheduling policy cannot be set: %s; run as root or with CAP_SYS_NICE",
			options->fifo_priority, strerror(errno));
	prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
	run->memory_locked = !mlockall(MCL_CURRENT | MCL_FUTURE);
}

/* The first point of the grid that can still be handed over in time. */
static int64_t first_txtime(const struct talk_options *options)
{
	int64_t now_ns = kpt_now(options->clock);
	int64_t grid_ns = options->base_ns + options->offset_ns;
	int64_t earliest_ns = now_ns + options->advance_ns;

	if (options->base_is_relative)
		grid_ns += now_ns;
	if (options->base_is_second)
		grid_ns += now_ns - now_ns % KPT_SECOND_NS + CYCLIC_SECONDS * KPT_SECOND_NS;
	if (grid_ns < earliest_ns) {
		earliest_ns += START_MARGIN_NS;
		grid_ns += (earliest_ns - grid_ns + options->period_ns - 1) / options->period_ns *
			   options->period_ns;
	}
	return grid_ns;
}

/* True if there was something to read. */
static bool read_answer(struct sender *sender)
{
	uint8_t bytes[ANSWER_BYTES];
	_Alignas(struct cmsghdr) char control[512];
	struct iovec place = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct msghdr message = { .msg_iov = &place,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t length = recvmsg(sender->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
	struct kpt_answer answer;

	if (length < 0) {
		if (errno != EAGAIN && errno != EINTR)
			kpt_environment_error("the error queue cannot be read: %s",
					      strerror(errno));
		return false;
	}
	answer = kpt_answer_parse(&message, bytes, (size_t)length);
	if (!talk_ledger_answer(&sender->run->ledger, &answer, sender->clock_offset_ns))
		sender->run->ignored_answers++;
	return true;
}

static void read_answers(struct sender *sender)
{
	for (int i = 0; i < ANSWERS_PER_ROUND; i++)
		if (!read_answer(sender))
			return;
}

static void hand_over(struct sender *sender, uint64_t seq, int64_t txtime_ns, int64_t planned_ns)
{
	const struct talk_options *options = sender->options;
	struct talk_record *record = talk_ledger_add(&sender->run->ledger);
	uint64_t txtime = (uint64_t)txtime_ns;
	struct kpt_payload payload = {
		.clock = (uint8_t)options->clock,
		.flags = options->with_txtime ? KPT_PAYLOAD_HAS_TXTIME : 0,
		.stream_hash = sender->run->ledger.stream_hash,
		.seq = seq,
		.txtime_ns = txtime_ns,
	};
	ssize_t sent;

	record->txtime_ns = txtime_ns;
	record->planned_ns = planned_ns;
	if (sender->txtime)
		memcpy(sender->txtime, &txtime, sizeof(txtime));
	payload.sent_ns = kpt_now(options->clock);
	record->submitted_ns = payload.sent_ns;
	kpt_payload_write(sender->payload, &payload);
	do {
		sent = sendmsg(sender->fd, &sender->message, 0);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0) {
		talk_ledger_refuse(&sender->run->ledger, record, errno);
		sender->run->last_refusal = errno;
	}
}

/* How late frame @seq is to be handed over; frames are asked for in order. */
static int64_t delay_of(struct sender *sender, uint64_t seq)
{
	const struct talk_options *options = sender->options;

	if (sender->next_delay >= options->delay_count ||
	    options->delays[sender->next_delay].seq != seq)
		return 0;
	return options->delays[sender->next_delay++].delay_ns;
}

static void send_all(struct sender *sender)
{
	const struct talk_options *options = sender->options;

	for (uint64_t seq = 0; !options->count || seq < options->count; seq++) {
		int64_t txtime_ns = sender->run->first_ns + (int64_t)seq * options->period_ns;
		int64_t planned_ns = txtime_ns - options->advance_ns;
		int64_t wake_ns = planned_ns + delay_of(sender, seq);

		while (!kpt_sleep_until(options->clock, wake_ns)) {
			if (kpt_stopped())
				return;
			read_answers(sender);
		}
		/* Also here: a sender that is behind never sleeps. */
		if (kpt_stopped())
			return;
		hand_over(sender, seq, txtime_ns, planned_ns);
		read_answers(sender);
	}
}

/* Until nothing is open, or `linger` after the last txtime; a further Ctrl-C ends it. */
static void wait_for_answers(struct sender *sender)
{
	const struct talk_options *options = sender->options;
	uint64_t sent = sender->run->ledger.next_seq;
	int64_t last_ns =
		sender->run->first_ns + (sent ? (int64_t)sent - 1 : 0) * options->period_ns;
	int64_t now_ns = kpt_now(options->clock);
	int64_t end_ns = (last_ns > now_ns ? last_ns : now_ns) + options->linger_ns;
	int stops = kpt_stop_count();
	bool more = true;

	if (!sent)
		return;
	while (!talk_ledger_settled(&sender->run->ledger) && now_ns < end_ns &&
	       kpt_stop_count() == stops) {
		struct pollfd queue = { .fd = sender->fd };
		int64_t left_ns = end_ns - now_ns < KPT_NAP_NS ? end_ns - now_ns : KPT_NAP_NS;
		struct timespec nap = { .tv_nsec = (long)left_ns };

		if (!more)
			ppoll(&queue, 1, &nap, NULL);
		more = read_answer(sender);
		now_ns = kpt_now(options->clock);
	}
}

void talk_send(const struct talk_options *options, const struct kpt_interface *interface,
	       struct talk_run *run)
{
	static struct sender sender;
	struct talk_record *records;

	check_mtu(options, interface);
	sender.options = options;
	sender.run = run;
	sender.fd = open_socket(options, interface);
	ask_for_txtime(sender.fd, options);
	ask_for_stamps(sender.fd, options, interface);
	prepare_message(&sender, interface);
	records = calloc(options->record_count, sizeof(*records));
	if (!records)
		kpt_environment_error("no memory for %" PRIu64 " records; give a smaller --records",
				      options->record_count);
	/* Touched now, also where memory may not be locked, so that no frame waits for a page. */
	for (size_t i = 0; i < options->record_count * sizeof(*records); i += TOUCH_BYTES)
		((volatile char *)records)[i] = 0;
	talk_ledger_init(&run->ledger, records, options->record_count);
	run->ledger.stream_hash = kpt_stream_hash(options->stream);
	run->ledger.period_ns = options->period_ns;
	run->ledger.hw_offset_ns = options->stamp_offset_ns;
	run->ledger.use_hw = options->hw_stamps;
	run->ledger.want_hw = options->hw_stamps;
	run->ledger.want_sw = options->sw_stamps;
	become_punctual(options, run);
	talk_guard(options, interface);
	kpt_catch_signals();
	sender.clock_offset_ns = kpt_clock_offset(options->clock);
	run->first_ns = first_txtime(options);
	run->ledger.first_ns = run->first_ns;
	send_all(&sender);
	wait_for_answers(&sender);
	close(sender.fd);
}
