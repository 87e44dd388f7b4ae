/* SPDX-License-Identifier: BSD-3-Clause */
/* What keepon-talk tells at the end: table for people, JSON (keepon.talk/1) for programs. */
#include "talk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clocks.h"

/* FOREIGN_CLOCK_NS - stamps further than this from txtime belong to another time scale */
#define FOREIGN_CLOCK_NS KPT_SECOND_NS

/* struct figures - statistics of the frames on record */
struct figures {
	struct kpt_summary deviation;
	struct kpt_summary handover;
};

static const char *const error_names[] = {
	[TALK_ERROR_MISSED] = "missed",
	[TALK_ERROR_INVALID] = "invalid",
	[TALK_ERROR_REFUSED] = "refused",
};

static struct figures summarise(const struct talk_ledger *ledger)
{
	uint64_t oldest = talk_ledger_oldest(ledger);
	int64_t *values = malloc((ledger->next_seq - oldest + 1) * sizeof(*values));
	struct figures figures;
	size_t count = 0;

	if (!values)
		kpt_environment_error("no memory for the statistics; give a smaller --records");
	for (uint64_t seq = oldest; seq < ledger->next_seq; seq++) {
		const struct talk_record *record = talk_ledger_at(ledger, seq);
		int64_t stamp_ns;

		if (record->error == TALK_ERROR_NONE &&
		    talk_ledger_stamp(ledger, record, &stamp_ns))
			values[count++] = stamp_ns - record->txtime_ns;
	}
	figures.deviation = kpt_summarise(values, count);
	count = 0;
	for (uint64_t seq = oldest; seq < ledger->next_seq; seq++) {
		const struct talk_record *record = talk_ledger_at(ledger, seq);

		values[count++] = record->submitted_ns - record->planned_ns;
	}
	figures.handover = kpt_summarise(values, count);
	free(values);
	return figures;
}

static const char *stamp_source(const struct talk_options *options)
{
	if (options->hw_stamps)
		return "hardware";
	return options->sw_stamps ? "software" : "none";
}

static void write_table(const struct talk_options *options, const struct talk_run *run,
			const struct talk_counters *counters, const struct figures *figures,
			FILE *file)
{
	fprintf(file,
		"%s: stream %s, %d bytes every %" PRId64 " ns, handed over %" PRId64
		" ns ahead, %s, stamps: %s\n",
		options->interface, options->stream, options->frame_bytes, options->period_ns,
		options->advance_ns, options->with_txtime ? "with txtime" : "without txtime",
		stamp_source(options));
	fprintf(file,
		"submitted %" PRIu64 " = stamped %" PRIu64 " + missed %" PRIu64
		" + invalid %" PRIu64 " + refused %" PRIu64 " + unanswered %" PRIu64 "\n",
		counters->submitted, counters->stamped, counters->missed, counters->invalid,
		counters->refused, counters->unanswered);
	if (run->last_refusal)
		fprintf(file, "last refusal: %s\n", strerror(run->last_refusal));
	if (run->ignored_answers)
		fprintf(file, "answers that belong to no frame on record: %" PRIu64 "\n",
			run->ignored_answers);
	if (talk_ledger_oldest(&run->ledger))
		fprintf(file, "statistics of the last %" PRIu64 " frames\n", run->ledger.capacity);
	kpt_table_head(file);
	kpt_table_row(file, "stamp - txtime", &figures->deviation);
	kpt_table_row(file, "hand-over - planned", &figures->handover);
	if (options->hw_stamps && figures->deviation.count &&
	    llabs(figures->deviation.p50) > FOREIGN_CLOCK_NS)
		fprintf(file,
			"The NIC's clock does not run in CLOCK_%s; discipline it, or see --stamp-offset.\n",
			options->clock == CLOCK_TAI ? "TAI" : "MONOTONIC");
}

static void write_settings(const struct talk_options *options, const struct talk_run *run,
			   FILE *file)
{
	fprintf(file,
		"  \"settings\": {\"period_ns\": %" PRId64 ", \"advance_ns\": %" PRId64
		", \"count\": %" PRIu64,
		options->period_ns, options->advance_ns, options->count);
	fprintf(file, ", \"frame_bytes\": %d, \"priority\": %d, \"vid\": ", options->frame_bytes,
		options->priority);
	kpt_json_time(file, options->vid != TALK_NO_VLAN, options->vid);
	fputs(", \"pcp\": ", file);
	kpt_json_time(file, options->vid != TALK_NO_VLAN, options->pcp);
	fprintf(file,
		", \"clock\": \"%s\", \"txtime\": %s, \"deadline\": %s, \"report_errors\": %s, \"udp\": %s",
		kpt_clock_name(options->clock), options->with_txtime ? "true" : "false",
		options->deadline ? "true" : "false", options->report_errors ? "true" : "false",
		options->udp ? "true" : "false");
	fprintf(file,
		", \"fifo_priority\": %d, \"memory_locked\": %s, \"stamp_offset_ns\": %" PRId64
		", \"record_count\": %" PRIu64 "},\n",
		options->fifo_priority, run->memory_locked ? "true" : "false",
		options->stamp_offset_ns, options->record_count);
}

static void write_frame(const struct talk_ledger *ledger, uint64_t seq, FILE *file)
{
	const struct talk_record *record = talk_ledger_at(ledger, seq);
	int64_t stamp_ns;
	bool stamped = talk_ledger_stamp(ledger, record, &stamp_ns);

	fprintf(file,
		"    {\"seq\": %" PRIu64 ", \"txtime_ns\": %" PRId64 ", \"submitted_ns\": %" PRId64,
		seq, record->txtime_ns, record->submitted_ns);
	fputs(", \"tx_stamp_ns\": ", file);
	kpt_json_time(file, stamped, stamp_ns);
	fputs(", \"sw_stamp_ns\": ", file);
	kpt_json_time(file, record->has_sw, record->sw_ns);
	fputs(", \"error\": ", file);
	if (record->error == TALK_ERROR_NONE)
		fputs("null", file);
	else
		kpt_json_string(file, error_names[record->error]);
	fputs(", \"errno\": ", file);
	kpt_json_time(file, record->refusal != 0, record->refusal);
	fputs(seq + 1 < ledger->next_seq ? "},\n" : "}\n", file);
}

static void write_json(const struct talk_options *options, const struct talk_run *run,
		       const struct talk_counters *counters, const struct figures *figures,
		       FILE *file)
{
	fputs("{\n  \"schema\": \"keepon.talk/1\",\n  \"interface\": ", file);
	kpt_json_string(file, options->interface);
	fputs(",\n  \"stream\": ", file);
	kpt_json_string(file, options->stream);
	fprintf(file,
		",\n  \"stream_hash\": %" PRIu32
		",\n  \"interrupted\": %s,\n  \"stamp_source\": \"%s\",\n",
		run->ledger.stream_hash, kpt_stopped() ? "true" : "false", stamp_source(options));
	write_settings(options, run, file);
	fprintf(file, "  \"first_txtime_ns\": %" PRId64 ",\n", run->first_ns);
	fprintf(file,
		"  \"counters\": {\"submitted\": %" PRIu64 ", \"stamped\": %" PRIu64
		", \"missed\": %" PRIu64 ", \"invalid\": %" PRIu64 ", \"refused\": %" PRIu64
		", \"unanswered\": %" PRIu64 ", \"stamped_and_error\": %" PRIu64
		", \"ignored_answers\": %" PRIu64 "},\n",
		counters->submitted, counters->stamped, counters->missed, counters->invalid,
		counters->refused, counters->unanswered, counters->stamped_and_error,
		run->ignored_answers);
	fputs("  \"statistics\": {", file);
	kpt_json_summary(file, "deviation_ns", &figures->deviation);
	fputs(", ", file);
	kpt_json_summary(file, "handover_late_ns", &figures->handover);
	fputs("},\n  \"frames\": [\n", file);
	for (uint64_t seq = talk_ledger_oldest(&run->ledger); seq < run->ledger.next_seq; seq++)
		write_frame(&run->ledger, seq, file);
	fputs("  ]\n}\n", file);
}

int talk_report(const struct talk_options *options, struct talk_run *run, FILE *table, FILE *json)
{
	struct talk_counters counters = talk_ledger_count(&run->ledger);
	struct figures figures = summarise(&run->ledger);
	bool wanted_stamps = options->hw_stamps || options->sw_stamps;

	write_table(options, run, &counters, &figures, table);
	if (json)
		write_json(options, run, &counters, &figures, json);
	if (kpt_stopped())
		return KPT_EXIT_SIGNAL + kpt_stopped();
	if (counters.missed || counters.invalid || counters.refused ||
	    (wanted_stamps && counters.unanswered))
		return KPT_EXIT_MISSED;
	return KPT_EXIT_MET;
}
