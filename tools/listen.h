/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keepon-listen, the parts and what they share. In the order of a run: options, receive (socket,
 * stamps, frames), sequence (what is missing), capture (pcap), report.
 */
#ifndef KPT_LISTEN_H
#define KPT_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interface.h"
#include "listen_sequence.h"
#include "output.h"

enum {
	LISTEN_STREAMS_MAX = 64,
	LISTEN_FRAME_BYTES_MAX = 9728,
	LISTEN_ANY_ETHERTYPE = -1,
	LISTEN_NO_VLAN = -1
};

/**
 * struct listen_options - what was asked for
 * @count: test frames to wait for, 0: until the end of @duration_ns or a signal
 * @duration_ns: 0: no limit
 * @streams: ids; none: every stream
 */
struct listen_options {
	const char *interface;
	const char *json;
	const char *pcap;
	uint64_t count;
	uint64_t record_count;
	int64_t duration_ns;
	int ethertype;
	bool sw_stamps;
	bool deltas;
	size_t stream_count;
	const char *streams[LISTEN_STREAMS_MAX];
};

/** listen_options_read() - from the command line; ends the program on --help and on errors */
void listen_options_read(struct listen_options *options, int argc, char **argv);

/**
 * struct listen_record - one test frame
 * @rx_stamp_ns: of the source in use, valid if @has_rx
 * @sw_stamp_ns: CLOCK_TAI, valid if @has_sw
 * @stream: index into the streams of the run
 * @frame_bytes: on the wire, tag and FCS included
 */
struct listen_record {
	uint64_t seq;
	int64_t rx_stamp_ns;
	int64_t sw_stamp_ns;
	int64_t txtime_ns;
	int64_t sent_ns;
	int32_t frame_bytes;
	int16_t vid;
	uint8_t pcp;
	uint8_t stream;
	bool has_rx;
	bool has_sw;
	bool in_tai;
};

/** struct listen_stream - @id: NULL if only the hash is known */
struct listen_stream {
	const char *id;
	uint32_t hash;
	uint64_t received;
	uint64_t without_stamp;
	struct listen_sequence sequence;
};

/**
 * struct listen_run - what happened
 * @records: ring of the last @capacity of @received frames
 * @scratch: room for @capacity values, for the statistics
 * @dropped: frames the socket had no room for; they were on the wire
 * @other_streams: frames of streams beyond LISTEN_STREAMS_MAX
 * @ended_early: the duration was over before the count
 */
struct listen_run {
	struct listen_record *records;
	int64_t *scratch;
	uint64_t capacity;
	uint64_t received;
	uint64_t dropped;
	uint64_t other_streams;
	size_t stream_count;
	struct listen_stream streams[LISTEN_STREAMS_MAX];
	bool hw_stamps;
	bool ended_early;
};

/**
 * listen_receive() - until count, duration or a signal; frames also go to @capture if that is not
 * NULL
 */
void listen_receive(const struct listen_options *options, const struct kpt_interface *interface,
		    struct listen_run *run, FILE *capture);

/** listen_capture_begin() - pcap file header: Ethernet, nanoseconds, no FCS */
void listen_capture_begin(FILE *file);

/**
 * listen_capture_frame() - one frame
 * @tag: the four bytes of a tag the kernel took out, NULL if none; they go back in
 */
void listen_capture_frame(FILE *file, int64_t time_ns, const uint8_t *frame, size_t bytes,
			  const uint8_t *tag);

/**
 * listen_report() - tables on @table, JSON into @json if that is not NULL; returns the exit code
 */
int listen_report(const struct listen_options *options, const struct listen_run *run, FILE *table,
		  FILE *json);

#endif
