/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One message of a socket's error queue: a transmit stamp, or what the kernel says about a txtime.
 * Sources: Linux Documentation/networking/timestamping.rst, uapi linux/errqueue.h.
 */
#ifndef KPT_ANSWERS_H
#define KPT_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "payload.h"

enum kpt_answer_kind {
	KPT_ANSWER_OTHER, /* nothing a sender asked for, or malformed */
	KPT_ANSWER_STAMP,
	KPT_ANSWER_MISSED,  /* SO_EE_CODE_TXTIME_MISSED */
	KPT_ANSWER_INVALID, /* SO_EE_CODE_TXTIME_INVALID_PARAM */
};

/**
 * struct kpt_answer - the message
 * @has_payload, @payload: the frame it is about, if the message shows it
 * @key: counter of frames with stamps (SOF_TIMESTAMPING_OPT_ID), stamps only
 * @txtime_ns: txtime it complains of, errors only
 * @hw_ns: NIC's clock, if @has_hw
 * @sw_ns: CLOCK_REALTIME, if @has_sw
 */
struct kpt_answer {
	enum kpt_answer_kind kind;
	bool has_payload;
	bool has_hw;
	bool has_sw;
	uint32_t key;
	struct kpt_payload payload;
	int64_t txtime_ns;
	int64_t hw_ns;
	int64_t sw_ns;
};

/**
 * kpt_answer_parse() - what recvmsg(MSG_ERRQUEUE) filled in: control messages of @message, @length
 * bytes of a frame
 */
struct kpt_answer kpt_answer_parse(struct msghdr *message, const uint8_t *bytes, size_t length);

#endif
