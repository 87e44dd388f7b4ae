/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keepon-talk, the parts and what they share. In the order of a run: options (what was asked for),
 * guard (clocks agree), send (socket, frames, time), answers (what the error queue says), ledger
 * (what became of every frame), report.
 */
#ifndef KPT_TALK_H
#define KPT_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "interface.h"
#include "output.h"
#include "talk_ledger.h"

enum { TALK_DELAYS_MAX = 256, TALK_FRAME_BYTES_MAX = 9728, TALK_NO_VLAN = -1, TALK_VID_MAX = 4094 };

/** struct talk_delay - hand frame @seq over @delay_ns late */
struct talk_delay {
	uint64_t seq;
	int64_t delay_ns;
};

/**
 * struct talk_options - what was asked for, checked as far as it can be without the interface
 * @count: frames, 0: until a signal
 * @record_count: frames whose fate is kept
 * @base_ns: time of the grid, in @clock; after now if @base_is_relative, or after the second three
 *	from now if @base_is_second
 * @clock_limit_ns: how far the interface's clock may be from @clock, 0: as far as it likes
 * @clock_wait_ns: how long to wait until it is near enough
 * @frame_bytes: tag and FCS included
 * @vid: TALK_NO_VLAN: no tag
 * @fifo_priority: 0: leave the scheduling policy alone
 * @delays: ascending
 */
struct talk_options {
	const char *interface;
	const char *stream;
	const char *json;
	uint64_t count;
	uint64_t record_count;
	int64_t period_ns;
	int64_t base_ns;
	int64_t offset_ns;
	int64_t advance_ns;
	int64_t linger_ns;
	int64_t stamp_offset_ns;
	int64_t clock_limit_ns;
	int64_t clock_wait_ns;
	clockid_t clock;
	int frame_bytes;
	int priority;
	int vid;
	int pcp;
	int ethertype;
	int fifo_priority;
	bool base_is_relative;
	bool base_is_second;
	bool with_txtime;
	bool deadline;
	bool report_errors;
	bool hw_stamps;
	bool sw_stamps;
	bool udp;
	uint8_t destination[KPT_MAC_BYTES];
	struct sockaddr_storage peer;
	socklen_t peer_bytes;
	size_t delay_count;
	struct talk_delay delays[TALK_DELAYS_MAX];
};

/** talk_options_read() - from the command line; ends the program on --help and on errors */
void talk_options_read(struct talk_options *options, int argc, char **argv);

/**
 * struct talk_run - what happened
 * @first_ns: txtime of frame 0
 * @memory_locked: mlockall() was permitted
 * @ignored_answers: error queue messages that belong to no frame on record, or that say nothing new
 * @last_refusal: errno of the last frame the kernel did not take
 */
struct talk_run {
	struct talk_ledger ledger;
	int64_t first_ns;
	uint64_t ignored_answers;
	int last_refusal;
	bool memory_locked;
};

/**
 * talk_guard() - wait until the interface's clock is as near to the clock of the txtimes as was
 * asked for; otherwise ends with an environment error that says by how much it is not
 */
void talk_guard(const struct talk_options *options, const struct kpt_interface *interface);

/** talk_send() - open the socket, send every frame, wait for the answers */
void talk_send(const struct talk_options *options, const struct kpt_interface *interface,
	       struct talk_run *run);

/** talk_header_bytes() - bytes of a frame before the payload, FCS not included */
int talk_header_bytes(const struct talk_options *options);

/** talk_report() - table on @table, JSON into @json if that is not NULL; returns the exit code */
int talk_report(const struct talk_options *options, struct talk_run *run, FILE *table, FILE *json);

#endif
