/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading error queue messages; see answers.h. */
#include "answers.h"

#include <linux/errqueue.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>

#include "clocks.h"

static bool is_extended_error(const struct cmsghdr *control)
{
	return (control->cmsg_level == SOL_PACKET && control->cmsg_type == PACKET_TX_TIMESTAMP) ||
	       (control->cmsg_level == SOL_IP && control->cmsg_type == IP_RECVERR) ||
	       (control->cmsg_level == SOL_IPV6 && control->cmsg_type == IPV6_RECVERR);
}

static bool read_stamp(const struct __kernel_timespec *time, int64_t *time_ns)
{
	*time_ns = time->tv_sec * KPT_SECOND_NS + time->tv_nsec;
	return *time_ns != 0;
}

struct kpt_answer kpt_answer_parse(struct msghdr *message, const uint8_t *bytes, size_t length)
{
	struct kpt_answer answer = { .kind = KPT_ANSWER_OTHER };
	struct sock_extended_err error = { .ee_origin = SO_EE_ORIGIN_NONE };
	struct scm_timestamping64 stamps = { .ts = { { .tv_sec = 0 } } };

	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
	     control = CMSG_NXTHDR(message, control)) {
		if (is_extended_error(control) && control->cmsg_len >= CMSG_LEN(sizeof(error)))
			memcpy(&error, CMSG_DATA(control), sizeof(error));
		if (control->cmsg_level == SOL_SOCKET &&
		    control->cmsg_type == SO_TIMESTAMPING_NEW &&
		    control->cmsg_len >= CMSG_LEN(sizeof(stamps)))
			memcpy(&stamps, CMSG_DATA(control), sizeof(stamps));
	}
	answer.has_payload = kpt_payload_find(bytes, length, &answer.payload) >= 0;
	if (error.ee_origin == SO_EE_ORIGIN_TXTIME) {
		/*
		 * The frame's txtime may show up as a software stamp beside this; it never left, so
		 * that is none.
		 */
		if (error.ee_code == SO_EE_CODE_TXTIME_MISSED)
			answer.kind = KPT_ANSWER_MISSED;
		else if (error.ee_code == SO_EE_CODE_TXTIME_INVALID_PARAM)
			answer.kind = KPT_ANSWER_INVALID;
		answer.txtime_ns = (int64_t)((uint64_t)error.ee_data << 32 | error.ee_info);
	} else if (error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING &&
		   error.ee_info == SCM_TSTAMP_SND) {
		answer.key = error.ee_data;
		answer.has_sw = read_stamp(&stamps.ts[0], &answer.sw_ns);
		answer.has_hw = read_stamp(&stamps.ts[2], &answer.hw_ns);
		if (answer.has_sw || answer.has_hw)
			answer.kind = KPT_ANSWER_STAMP;
	}
	return answer;
}
