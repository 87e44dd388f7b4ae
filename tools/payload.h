/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a test frame carries, so that listener and error queue can tell which one it is. Network
 * byte order, from the first byte of the Ethernet payload, or of the UDP payload; the rest of the
 * frame is zero:
 *
 *   0  u32  magic "KPNT"
 *   4  u8   version, 1
 *   5  u8   clock of both times: 11 CLOCK_TAI, 1 CLOCK_MONOTONIC
 *   6  u16  flags: bit 0, the frame was handed over with its txtime (SO_TXTIME)
 *   8  u32  stream: FNV-1a of the stream id
 *  12  u64  sequence number, from 0
 *  20  s64  txtime in ns: when it should leave
 *  28  s64  send time in ns: when it was handed to the kernel
 *  36  end
 */
#ifndef KPT_PAYLOAD_H
#define KPT_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* KPT_STREAM_DEFAULT - id of a stream nobody named */
#define KPT_STREAM_DEFAULT "keepon"

#define KPT_PAYLOAD_MAGIC 0x4b504e54u

enum {
	KPT_PAYLOAD_BYTES = 36,
	KPT_PAYLOAD_VERSION = 1,
	KPT_PAYLOAD_HAS_TXTIME = 1 << 0,
	KPT_PAYLOAD_SEARCH_BYTES = 80
};

/** struct kpt_payload - the fields above */
struct kpt_payload {
	uint8_t clock;
	uint16_t flags;
	uint32_t stream_hash;
	uint64_t seq;
	int64_t txtime_ns;
	int64_t sent_ns;
};

/** kpt_stream_hash() - FNV-1a, 32 bit, of a stream id */
uint32_t kpt_stream_hash(const char *id);

/** kpt_payload_write() - into @bytes, KPT_PAYLOAD_BYTES of them */
void kpt_payload_write(uint8_t *bytes, const struct kpt_payload *payload);

/**
 * kpt_payload_read() - from exactly @bytes; false if magic or version are others or @length is too
 * small
 */
bool kpt_payload_read(const uint8_t *bytes, size_t length, struct kpt_payload *payload);

/**
 * kpt_payload_find() - the payload header in a frame, whatever headers precede it
 *
 * The error queue returns a frame with or without its lower headers, as the layer that answered saw
 * it. Headers have even lengths, so only even places up to KPT_PAYLOAD_SEARCH_BYTES are looked at.
 *
 * Return: its offset, or -1.
 */
int kpt_payload_find(const uint8_t *bytes, size_t length, struct kpt_payload *payload);

#endif
