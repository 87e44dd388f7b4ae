/* SPDX-License-Identifier: BSD-3-Clause */
/* What keepon-listen tells at the end: tables for people, JSON (keepon.listen/1) for programs. */
#include "listen.h"

#include <inttypes.h>
#include <stdlib.h>

#include "clocks.h"

/* struct figures - statistics of one stream, of the frames on record */
struct figures {
	struct kpt_summary distance;
	struct kpt_summary delay;
};

static uint64_t oldest(const struct listen_run *run)
{
	return run->received > run->capacity ? run->received - run->capacity : 0;
}

static const struct listen_record *record_at(const struct listen_run *run, uint64_t index)
{
	return &run->records[index % run->capacity];
}

/*
 * Distances are between frames that arrived one after the other; one without stamp breaks the
 * chain.
 */
static struct figures summarise(const struct listen_run *run, size_t stream)
{
	struct figures figures;
	bool has_last = false;
	int64_t last_ns = 0;
	size_t count = 0;

	for (uint64_t i = oldest(run); i < run->received; i++) {
		const struct listen_record *record = record_at(run, i);

		if (record->stream != stream)
			continue;
		if (has_last && record->has_rx)
			run->scratch[count++] = record->rx_stamp_ns - last_ns;
		has_last = record->has_rx;
		last_ns = record->rx_stamp_ns;
	}
	figures.distance = kpt_summarise(run->scratch, count);
	count = 0;
	for (uint64_t i = oldest(run); i < run->received; i++) {
		const struct listen_record *record = record_at(run, i);

		if (record->stream == stream && record->has_rx && record->in_tai)
			run->scratch[count++] = record->rx_stamp_ns - record->txtime_ns;
	}
	figures.delay = kpt_summarise(run->scratch, count);
	return figures;
}

static void write_stream_name(FILE *file, const struct listen_stream *stream, bool quoted)
{
	if (stream->id)
		fprintf(file, quoted ? "\"%s\"" : "%s", stream->id);
	else
		fprintf(file, quoted ? "\"0x%08" PRIx32 "\"" : "0x%08" PRIx32, stream->hash);
}

static void write_table(const struct listen_stream *stream, const struct figures *figures,
			bool hw_stamps, FILE *file)
{
	const struct listen_sequence *sequence = &stream->sequence;

	fputs("stream ", file);
	write_stream_name(file, stream, false);
	fprintf(file,
		": received %" PRIu64 ", lost %" PRIu64 ", duplicate %" PRIu64
		", reordered %" PRIu64,
		stream->received, listen_sequence_lost(sequence), sequence->duplicates,
		sequence->reordered);
	if (sequence->distinct)
		fprintf(file, ", sequence %" PRIu64 "...%" PRIu64, sequence->lowest,
			sequence->highest);
	if (sequence->beyond_window)
		fprintf(file, ", %" PRIu64 " too far behind to tell", sequence->beyond_window);
	if (stream->without_stamp)
		fprintf(file, ", %" PRIu64 " without stamp", stream->without_stamp);
	fputc('\n', file);
	kpt_table_head(file);
	kpt_table_row(file, "between frames", &figures->distance);
	kpt_table_row(file, "stamp - txtime", &figures->delay);
	/*
	 * A virtual link inside one namespace leaves the txtime where the software stamp belongs.
	 */
	if (figures->delay.count && !hw_stamps && !figures->delay.min && !figures->delay.max)
		fputs("The stamps are the txtimes themselves; listen in another network namespace.\n",
		      file);
}

static void write_deltas(const struct listen_run *run, FILE *file)
{
	int64_t last_ns = 0;
	bool has_last = false;

	for (uint64_t i = oldest(run); i < run->received; i++) {
		const struct listen_record *record = record_at(run, i);
		int64_t delta_ns = has_last ? record->rx_stamp_ns - last_ns : 0;
		uint64_t size_ns = (uint64_t)(delta_ns < 0 ? -delta_ns : delta_ns);
		uint64_t seconds = size_ns / (uint64_t)KPT_SECOND_NS;

		if (!record->has_rx) {
			fprintf(file, "without stamp       %" PRIu64 "\n", record->seq);
			continue;
		}
		fprintf(file, "%s%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ".%09" PRIu64 "  ",
			delta_ns < 0 ? "-" : "", seconds / 3600, seconds / 60 % 60, seconds % 60,
			size_ns % (uint64_t)KPT_SECOND_NS);
		write_stream_name(file, &run->streams[record->stream], false);
		fprintf(file, " %" PRIu64 "\n", record->seq);
		last_ns = record->rx_stamp_ns;
		has_last = true;
	}
}

static void write_stream(const struct listen_stream *stream, const struct figures *figures,
			 FILE *file)
{
	const struct listen_sequence *sequence = &stream->sequence;
	bool any = sequence->distinct > 0;

	fputs("    {\"stream\": ", file);
	write_stream_name(file, stream, true);
	fprintf(file,
		", \"stream_hash\": %" PRIu32 ", \"received\": %" PRIu64 ", \"lost\": %" PRIu64
		", \"duplicates\": %" PRIu64 ", \"reordered\": %" PRIu64
		", \"beyond_window\": %" PRIu64 ", \"without_stamp\": %" PRIu64,
		stream->hash, stream->received, listen_sequence_lost(sequence),
		sequence->duplicates, sequence->reordered, sequence->beyond_window,
		stream->without_stamp);
	fputs(", \"first_seq\": ", file);
	kpt_json_time(file, any, (int64_t)sequence->lowest);
	fputs(", \"last_seq\": ", file);
	kpt_json_time(file, any, (int64_t)sequence->highest);
	fputs(",\n     \"statistics\": {", file);
	kpt_json_summary(file, "interarrival_ns", &figures->distance);
	fputs(", ", file);
	kpt_json_summary(file, "delay_ns", &figures->delay);
	fputs("}}", file);
}

static void write_frame(const struct listen_run *run, uint64_t index, FILE *file)
{
	const struct listen_record *record = record_at(run, index);

	fprintf(file, "    {\"seq\": %" PRIu64 ", \"stream\": ", record->seq);
	write_stream_name(file, &run->streams[record->stream], true);
	fputs(", \"rx_stamp_ns\": ", file);
	kpt_json_time(file, record->has_rx, record->rx_stamp_ns);
	fputs(", \"sw_stamp_ns\": ", file);
	kpt_json_time(file, record->has_sw, record->sw_stamp_ns);
	fprintf(file,
		", \"txtime_ns\": %" PRId64 ", \"sent_ns\": %" PRId64 ", \"frame_bytes\": %" PRId32
		", \"vid\": ",
		record->txtime_ns, record->sent_ns, record->frame_bytes);
	kpt_json_time(file, record->vid != LISTEN_NO_VLAN, record->vid);
	fputs(", \"pcp\": ", file);
	kpt_json_time(file, record->vid != LISTEN_NO_VLAN, record->pcp);
	fputs(index + 1 < run->received ? "},\n" : "}\n", file);
}

static void begin_json(const struct listen_options *options, const struct listen_run *run,
		       FILE *file)
{
	fputs("{\n  \"schema\": \"keepon.listen/1\",\n  \"interface\": ", file);
	kpt_json_string(file, options->interface);
	fprintf(file,
		",\n  \"stamp_source\": \"%s\",\n  \"interrupted\": %s,\n  \"settings\": {\"count\": %" PRIu64
		", \"duration_ns\": %" PRId64 ", \"record_count\": %" PRIu64 "},\n",
		run->hw_stamps ? "hardware" : "software", kpt_stopped() ? "true" : "false",
		options->count, options->duration_ns, options->record_count);
	fprintf(file,
		"  \"counters\": {\"received\": %" PRIu64 ", \"dropped_by_socket\": %" PRIu64
		", \"other_streams\": %" PRIu64 "},\n  \"streams\": [\n",
		run->received, run->dropped, run->other_streams);
}

static void end_json(const struct listen_run *run, FILE *file)
{
	fputs("  ],\n  \"frames\": [\n", file);
	for (uint64_t i = oldest(run); i < run->received; i++)
		write_frame(run, i, file);
	fputs("  ]\n}\n", file);
}

static bool is_complete(const struct listen_run *run)
{
	bool complete = run->received && !run->ended_early && !run->dropped && !run->other_streams;

	for (size_t i = 0; i < run->stream_count; i++) {
		const struct listen_sequence *sequence = &run->streams[i].sequence;

		complete &= run->streams[i].received && !listen_sequence_lost(sequence) &&
			    !sequence->duplicates && !sequence->reordered &&
			    !sequence->beyond_window;
	}
	return complete;
}

int listen_report(const struct listen_options *options, const struct listen_run *run, FILE *table,
		  FILE *json)
{
	if (options->deltas)
		write_deltas(run, table);
	fprintf(table, "%s: received %" PRIu64 " frames of %zu streams, %s stamps\n",
		options->interface, run->received, run->stream_count,
		run->hw_stamps ? "hardware" : "software");
	if (run->dropped)
		fprintf(table, "arrived, but the socket had no room: %" PRIu64 "\n", run->dropped);
	if (run->other_streams)
		fprintf(table, "of streams beyond the first %d: %" PRIu64 "\n", LISTEN_STREAMS_MAX,
			run->other_streams);
	if (oldest(run))
		fprintf(table, "statistics of the last %" PRIu64 " frames\n", run->capacity);
	if (json)
		begin_json(options, run, json);
	for (size_t i = 0; i < run->stream_count; i++) {
		struct figures figures = summarise(run, i);

		write_table(&run->streams[i], &figures, run->hw_stamps, table);
		if (json) {
			write_stream(&run->streams[i], &figures, json);
			fputs(i + 1 < run->stream_count ? ",\n" : "\n", json);
		}
	}
	if (json)
		end_json(run, json);
	if (kpt_stopped())
		return KPT_EXIT_SIGNAL + kpt_stopped();
	return is_complete(run) ? KPT_EXIT_MET : KPT_EXIT_MISSED;
}
