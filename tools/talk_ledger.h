/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What became of every frame handed over: submitted = stamped + missed + invalid + refused +
 * unanswered, at all times. An endless run keeps the last records only; frames pushed out are
 * counted as what they were by then.
 */
#ifndef KPT_TALK_LEDGER_H
#define KPT_TALK_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "answers.h"

enum talk_error { TALK_ERROR_NONE, TALK_ERROR_MISSED, TALK_ERROR_INVALID, TALK_ERROR_REFUSED };

/**
 * struct talk_record - one frame
 * @planned_ns: when it should have been handed over
 * @submitted_ns: when it was
 * @hw_ns, @sw_ns: stamps in the clock of the run, valid if @has_hw, @has_sw
 * @refusal: errno of sendmsg(), 0 if it took the frame
 */
struct talk_record {
	int64_t txtime_ns;
	int64_t planned_ns;
	int64_t submitted_ns;
	int64_t hw_ns;
	int64_t sw_ns;
	int16_t refusal;
	uint8_t error;
	bool has_hw;
	bool has_sw;
};

/** struct talk_counters - frames by fate; @stamped_and_error are among the errors */
struct talk_counters {
	uint64_t submitted;
	uint64_t stamped;
	uint64_t missed;
	uint64_t invalid;
	uint64_t refused;
	uint64_t unanswered;
	uint64_t stamped_and_error;
};

/**
 * struct talk_ledger - records of frames @next_seq - @capacity ... @next_seq - 1
 * @use_hw: which of the two stamps is the frame's
 * @period_ns: distance of txtimes, by which an error message that shows no frame is still matched
 * @stream_hash: only its frames are ours
 * @sends_failed: an OPT_ID key no longer tells the frame
 */
struct talk_ledger {
	struct talk_record *records;
	uint64_t capacity;
	uint64_t next_seq;
	uint64_t answered;
	struct talk_counters retired;
	int64_t first_ns;
	int64_t period_ns;
	int64_t hw_offset_ns;
	uint32_t stream_hash;
	bool use_hw;
	bool want_hw;
	bool want_sw;
	bool sends_failed;
};

/** talk_ledger_init() - @records: caller's, @capacity of them, zero */
void talk_ledger_init(struct talk_ledger *ledger, struct talk_record *records, uint64_t capacity);

/** talk_ledger_add() - the next frame; its record is valid until @capacity more are added */
struct talk_record *talk_ledger_add(struct talk_ledger *ledger);

/** talk_ledger_refuse() - the kernel did not take the frame just added */
void talk_ledger_refuse(struct talk_ledger *ledger, struct talk_record *record, int error);

/**
 * talk_ledger_answer() - enter an answer
 * @clock_offset_ns: from CLOCK_REALTIME to the clock of the run
 *
 * Return: false if it belongs to no frame on record or says nothing new.
 */
bool talk_ledger_answer(struct talk_ledger *ledger, const struct kpt_answer *answer,
			int64_t clock_offset_ns);

/**
 * talk_ledger_settled() - every frame on record has an error or all the stamps that were asked for
 */
bool talk_ledger_settled(const struct talk_ledger *ledger);

/** talk_ledger_oldest() - first sequence number still on record */
uint64_t talk_ledger_oldest(const struct talk_ledger *ledger);

/** talk_ledger_at() - record of @seq, or NULL if it is not on record */
struct talk_record *talk_ledger_at(const struct talk_ledger *ledger, uint64_t seq);

/** talk_ledger_stamp() - the frame's stamp; false if there is none */
bool talk_ledger_stamp(const struct talk_ledger *ledger, const struct talk_record *record,
		       int64_t *stamp_ns);

/** talk_ledger_count() - all frames by fate */
struct talk_counters talk_ledger_count(const struct talk_ledger *ledger);

#endif
