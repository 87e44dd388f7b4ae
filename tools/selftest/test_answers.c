/* SPDX-License-Identifier: BSD-3-Clause */
/* Error queue messages, composed as sock_recv_errqueue() and ip_recv_error() do. */
#include "../answers.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>

#include "../clocks.h"
#include "selftest.h"

enum { TXTIME_HIGH = 0x17, TXTIME_LOW = (int)0xfedcba98 };

/* struct message - a composed message and where its next control message goes */
struct message {
	struct msghdr header;
	_Alignas(struct cmsghdr) char control[512];
	uint8_t bytes[128];
	size_t length;
};

static void add_control(struct message *message, int level, int type, const void *data,
			size_t bytes)
{
	struct cmsghdr *control =
		(struct cmsghdr *)(message->control + message->header.msg_controllen);

	control->cmsg_level = level;
	control->cmsg_type = type;
	control->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(control), data, bytes);
	message->header.msg_controllen += CMSG_SPACE(bytes);
}

static void add_error(struct message *message, int level, int type, struct sock_extended_err error)
{
	add_control(message, level, type, &error, sizeof(error));
}

static void add_stamps(struct message *message, int64_t sw_ns, int64_t hw_ns)
{
	struct scm_timestamping64 stamps = { .ts = {
						     { .tv_sec = sw_ns / KPT_SECOND_NS,
						       .tv_nsec = sw_ns % KPT_SECOND_NS },
						     { .tv_sec = 0 },
						     { .tv_sec = hw_ns / KPT_SECOND_NS,
						       .tv_nsec = hw_ns % KPT_SECOND_NS },
					     } };

	add_control(message, SOL_SOCKET, SO_TIMESTAMPING_NEW, &stamps, sizeof(stamps));
}

static void begin(struct message *message)
{
	memset(message, 0, sizeof(*message));
	message->header.msg_control = message->control;
}

static void add_frame(struct message *message, size_t offset, uint64_t seq)
{
	struct kpt_payload payload = { .clock = CLOCK_TAI,
				       .stream_hash = kpt_stream_hash("a"),
				       .seq = seq };

	kpt_payload_write(message->bytes + offset, &payload);
	message->length = offset + KPT_PAYLOAD_BYTES;
}

static struct kpt_answer parse(struct message *message)
{
	return kpt_answer_parse(&message->header, message->bytes, message->length);
}

static const struct sock_extended_err sent = {
	.ee_errno = ENOMSG,
	.ee_origin = SO_EE_ORIGIN_TIMESTAMPING,
	.ee_info = SCM_TSTAMP_SND,
	.ee_data = 7,
};

static struct sock_extended_err complaint(uint8_t code)
{
	return (struct sock_extended_err){
		.ee_errno = code == SO_EE_CODE_TXTIME_MISSED ? ECANCELED : EINVAL,
		.ee_origin = SO_EE_ORIGIN_TXTIME,
		.ee_code = code,
		.ee_data = TXTIME_HIGH,
		.ee_info = (uint32_t)TXTIME_LOW,
	};
}

static void test_stamps(void)
{
	struct message message;
	struct kpt_answer answer;

	begin(&message);
	add_stamps(&message, 0, 5 * KPT_SECOND_NS + 8);
	add_error(&message, SOL_PACKET, PACKET_TX_TIMESTAMP, sent);
	add_frame(&message, 18, 42);
	answer = parse(&message);
	EXPECT_EQUAL(answer.kind, KPT_ANSWER_STAMP);
	EXPECT(answer.has_hw && !answer.has_sw);
	EXPECT_EQUAL(answer.hw_ns, 5 * KPT_SECOND_NS + 8);
	EXPECT_EQUAL(answer.key, 7);
	EXPECT(answer.has_payload);
	EXPECT_EQUAL(answer.payload.seq, 42);

	begin(&message);
	add_stamps(&message, 3 * KPT_SECOND_NS + 1, 0);
	add_error(&message, SOL_IP, IP_RECVERR, sent);
	answer = parse(&message);
	EXPECT_EQUAL(answer.kind, KPT_ANSWER_STAMP);
	EXPECT(answer.has_sw && !answer.has_hw && !answer.has_payload);
	EXPECT_EQUAL(answer.sw_ns, 3 * KPT_SECOND_NS + 1);
}

static void test_complaints(void)
{
	static const struct {
		int level;
		int type;
		size_t offset;
	} ways[] = { { SOL_PACKET, PACKET_TX_TIMESTAMP, 14 },
		     { SOL_IP, IP_RECVERR, 42 },
		     { SOL_IPV6, IPV6_RECVERR, 62 },
		     { SOL_IP, IP_RECVERR, 0 } };
	struct message message;
	struct kpt_answer answer;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		begin(&message);
		/* The kernel shows the frame's txtime as if it were a stamp. */
		add_stamps(&message, 9 * KPT_SECOND_NS, 0);
		add_error(&message, ways[i].level, ways[i].type,
			  complaint(SO_EE_CODE_TXTIME_MISSED));
		add_frame(&message, ways[i].offset, 11 + i);
		answer = parse(&message);
		EXPECT_EQUAL(answer.kind, KPT_ANSWER_MISSED);
		EXPECT(!answer.has_sw && !answer.has_hw && answer.has_payload);
		EXPECT_EQUAL(answer.payload.seq, 11 + i);
		EXPECT_EQUAL(answer.txtime_ns, INT64_C(0x17fedcba98));
	}
	begin(&message);
	add_error(&message, SOL_PACKET, PACKET_TX_TIMESTAMP,
		  complaint(SO_EE_CODE_TXTIME_INVALID_PARAM));
	EXPECT_EQUAL(parse(&message).kind, KPT_ANSWER_INVALID);
}

static void test_strangers(void)
{
	struct sock_extended_err scheduled = sent, refused = { .ee_errno = ECONNREFUSED,
							       .ee_origin = SO_EE_ORIGIN_ICMP };
	struct message message;

	begin(&message);
	EXPECT_EQUAL(parse(&message).kind, KPT_ANSWER_OTHER);
	scheduled.ee_info = SCM_TSTAMP_SCHED;
	add_stamps(&message, 1, 0);
	add_error(&message, SOL_PACKET, PACKET_TX_TIMESTAMP, scheduled);
	EXPECT_EQUAL(parse(&message).kind, KPT_ANSWER_OTHER);
	begin(&message);
	add_error(&message, SOL_IP, IP_RECVERR, refused);
	EXPECT_EQUAL(parse(&message).kind, KPT_ANSWER_OTHER);
	begin(&message);
	add_error(&message, SOL_PACKET, PACKET_TX_TIMESTAMP, sent);
	EXPECT_EQUAL(parse(&message).kind, KPT_ANSWER_OTHER);
	begin(&message);
	add_error(&message, SOL_PACKET, PACKET_TX_TIMESTAMP, complaint(99));
	EXPECT_EQUAL(parse(&message).kind, KPT_ANSWER_OTHER);
	/* Cut short: only part of a structure fitted. */
	begin(&message);
	add_control(&message, SOL_PACKET, PACKET_TX_TIMESTAMP, &sent, sizeof(sent) - 4);
	add_control(&message, SOL_SOCKET, SO_TIMESTAMPING_NEW, "stamp", 5);
	EXPECT_EQUAL(parse(&message).kind, KPT_ANSWER_OTHER);
}

void test_answers(void)
{
	test_stamps();
	test_complaints();
	test_strangers();
}
