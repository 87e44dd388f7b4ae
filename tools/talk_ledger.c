/* SPDX-License-Identifier: BSD-3-Clause */
/* What became of every frame; see talk_ledger.h. */
#include "talk_ledger.h"

#include <stddef.h>

void talk_ledger_init(struct talk_ledger *ledger, struct talk_record *records, uint64_t capacity)
{
	*ledger = (struct talk_ledger){ .records = records, .capacity = capacity };
}

uint64_t talk_ledger_oldest(const struct talk_ledger *ledger)
{
	return ledger->next_seq > ledger->capacity ? ledger->next_seq - ledger->capacity : 0;
}

struct talk_record *talk_ledger_at(const struct talk_ledger *ledger, uint64_t seq)
{
	if (seq >= ledger->next_seq || seq < talk_ledger_oldest(ledger))
		return NULL;
	return &ledger->records[seq % ledger->capacity];
}

bool talk_ledger_stamp(const struct talk_ledger *ledger, const struct talk_record *record,
		       int64_t *stamp_ns)
{
	*stamp_ns = ledger->use_hw ? record->hw_ns : record->sw_ns;
	return ledger->use_hw ? record->has_hw : record->has_sw;
}

static void count(const struct talk_ledger *ledger, const struct talk_record *record,
		  struct talk_counters *counters)
{
	int64_t stamp_ns;
	bool stamped = talk_ledger_stamp(ledger, record, &stamp_ns);

	switch ((enum talk_error)record->error) {
	case TALK_ERROR_NONE: *(stamped ? &counters->stamped : &counters->unanswered) += 1; return;
	case TALK_ERROR_MISSED: counters->missed++; break;
	case TALK_ERROR_INVALID: counters->invalid++; break;
	case TALK_ERROR_REFUSED: counters->refused++; break;
	}
	counters->stamped_and_error += stamped;
}

static bool settled(const struct talk_ledger *ledger, const struct talk_record *record)
{
	return record->error != TALK_ERROR_NONE ||
	       ((ledger->want_hw || ledger->want_sw) && (!ledger->want_hw || record->has_hw) &&
		(!ledger->want_sw || record->has_sw));
}

struct talk_record *talk_ledger_add(struct talk_ledger *ledger)
{
	struct talk_record *record = &ledger->records[ledger->next_seq % ledger->capacity];

	if (ledger->next_seq >= ledger->capacity) {
		count(ledger, record, &ledger->retired);
		ledger->answered -= settled(ledger, record);
	}
	*record = (struct talk_record){ .error = TALK_ERROR_NONE };
	ledger->next_seq++;
	return record;
}

void talk_ledger_refuse(struct talk_ledger *ledger, struct talk_record *record, int error)
{
	ledger->answered += !settled(ledger, record);
	record->error = TALK_ERROR_REFUSED;
	record->refusal = (int16_t)error;
	ledger->sends_failed = true;
}

/*
 * By the frame itself; by the txtime an error names; by the counter of stamps while every send
 * counted.
 */
static struct talk_record *find(const struct talk_ledger *ledger, const struct kpt_answer *answer)
{
	int64_t distance_ns;

	if (answer->has_payload)
		return answer->payload.stream_hash == ledger->stream_hash ?
			       talk_ledger_at(ledger, answer->payload.seq) :
			       NULL;
	if (answer->kind == KPT_ANSWER_MISSED || answer->kind == KPT_ANSWER_INVALID) {
		distance_ns = answer->txtime_ns - ledger->first_ns;
		if (distance_ns < 0 || distance_ns % ledger->period_ns)
			return NULL;
		return talk_ledger_at(ledger, (uint64_t)(distance_ns / ledger->period_ns));
	}
	/* The key has 32 bits: the newest frame with these low bits is meant. */
	if (ledger->sends_failed || !ledger->next_seq)
		return NULL;
	return talk_ledger_at(ledger,
			      ledger->next_seq - 1 -
				      (uint32_t)((uint32_t)(ledger->next_seq - 1) - answer->key));
}

static bool enter_stamps(const struct talk_ledger *ledger, struct talk_record *record,
			 const struct kpt_answer *answer, int64_t clock_offset_ns)
{
	bool new_hw = answer->has_hw && !record->has_hw;
	bool new_sw = answer->has_sw && !record->has_sw;

	if (new_hw) {
		record->has_hw = true;
		record->hw_ns = answer->hw_ns + ledger->hw_offset_ns;
	}
	if (new_sw) {
		record->has_sw = true;
		record->sw_ns = answer->sw_ns + clock_offset_ns;
	}
	return new_hw || new_sw;
}

bool talk_ledger_answer(struct talk_ledger *ledger, const struct kpt_answer *answer,
			int64_t clock_offset_ns)
{
	struct talk_record *record;
	bool was_settled, news = false;

	if (answer->kind == KPT_ANSWER_OTHER)
		return false;
	record = find(ledger, answer);
	if (!record)
		return false;
	was_settled = settled(ledger, record);
	if (answer->kind == KPT_ANSWER_STAMP) {
		news = enter_stamps(ledger, record, answer, clock_offset_ns);
	} else if (record->error == TALK_ERROR_NONE || record->error == TALK_ERROR_REFUSED) {
		/* A queueing discipline may refuse a frame and report why: the reason says more. */
		record->error =
			answer->kind == KPT_ANSWER_MISSED ? TALK_ERROR_MISSED : TALK_ERROR_INVALID;
		news = true;
	}
	ledger->answered += !was_settled && settled(ledger, record);
	return news;
}

bool talk_ledger_settled(const struct talk_ledger *ledger)
{
	return ledger->answered == ledger->next_seq - talk_ledger_oldest(ledger);
}

struct talk_counters talk_ledger_count(const struct talk_ledger *ledger)
{
	struct talk_counters counters = ledger->retired;

	for (uint64_t seq = talk_ledger_oldest(ledger); seq < ledger->next_seq; seq++)
		count(ledger, &ledger->records[seq % ledger->capacity], &counters);
	counters.submitted = ledger->next_seq;
	return counters;
}
