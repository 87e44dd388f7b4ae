// SPDX-License-Identifier: BSD-3-Clause
/*
 * The logs of a shim: slots as latched, frames put into slots and taken out of them, outcomes; one
 * array of records each, read and cleared by Python after every operation.
 */
#include <stdlib.h>

#include "shim.h"

static void *add_record(struct records *records, size_t bytes)
{
	if (records->count == records->room) {
		records->room = records->room ? 2 * records->room : 256;
		records->data = realloc(records->data, records->room * bytes);
		if (!records->data)
			abort();
	}
	return (char *)records->data + bytes * records->count++;
}

static void log_slot(void *context, const struct fake_slot *slot, const struct rig_frame *frame)
{
	struct shim *shim = context;
	struct slot_record *record = add_record(&shim->slots, sizeof(*record));

	*record =
		(struct slot_record){ slot->seq,         slot->latch_ps,    slot->start_ps,
				      slot->position_ps, slot->frame_bytes, frame ? frame->id : 0 };
}

static void log_commit(void *context, const struct rig_frame *frame)
{
	struct shim *shim = context;
	struct commit_record *record = add_record(&shim->commits, sizeof(*record));

	*record = (struct commit_record){ frame->id, frame->placed_seq, frame->placed_base, 1 };
}

static void log_withdraw(void *context, const struct rig_frame *frame)
{
	struct shim *shim = context;
	struct commit_record *record = add_record(&shim->commits, sizeof(*record));

	*record = (struct commit_record){ frame->id, frame->placed_seq, frame->placed_base, 0 };
}

static void log_outcome(void *context, const struct rig_frame *frame, enum kpn_verdict verdict,
			struct kpn_time start)
{
	struct shim *shim = context;
	struct outcome_record *record = add_record(&shim->outcomes, sizeof(*record));

	*record = (struct outcome_record){ frame->id,         verdict,         start.ns,
					   start.frac,        frame->wire_seq, frame->placed_seq,
					   frame->placed_base };
}

struct rig_log shim_log(struct shim *shim)
{
	return (struct rig_log){
		.slot = log_slot,
		.commit = log_commit,
		.withdraw = log_withdraw,
		.outcome = log_outcome,
		.context = shim,
	};
}

const char *shim_verdict_names(void)
{
#define SHIM_VERDICT_NAME(name, sent, text) #name " "
	return KPN_VERDICTS(SHIM_VERDICT_NAME) "PENDING ";
}

size_t shim_slots(struct shim *shim, const struct slot_record **records)
{
	*records = shim->slots.data;
	return shim->slots.count;
}

size_t shim_commits(struct shim *shim, const struct commit_record **records)
{
	*records = shim->commits.data;
	return shim->commits.count;
}

size_t shim_outcomes(struct shim *shim, const struct outcome_record **records)
{
	*records = shim->outcomes.data;
	return shim->outcomes.count;
}

void shim_clear(struct shim *shim)
{
	shim->slots.count = 0;
	shim->commits.count = 0;
	shim->outcomes.count = 0;
}
