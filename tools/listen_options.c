/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line of keepon-listen; see listen.h. */
#include "listen.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "clocks.h"
#include "payload.h"

enum { ETHERTYPE_MIN = 0x0600, ETHERTYPE_MAX = 0xffff };

#define DURATION_MAX_NS (365 * 86400 * KPT_SECOND_NS)
#define COUNT_MAX INT64_C(1000000000000)
#define RECORDS_MAX INT64_C(10000000)
#define RECORDS_ENDLESS UINT64_C(262144)

static const char *const help =
	"usage: keepon-listen IFACE [options]\n"
	"\n"
	"Receive the frames of keepon-talk, tagged or not, raw or UDP: stamps, delay, distance, what is missing.\n"
	"Times are whole numbers of ns, or have us, ms or s behind them.\n"
	"\n"
	"  --count N         end after N frames, 0: never (0)\n"
	"  --duration TIME   end after this time (never)\n"
	"  --stream ID       only this stream; repeatable (every stream)\n"
	"  --ethertype TYPE  only frames of this EtherType, behind a tag if there is one (any)\n"
	"  --sw-stamps       software stamps even if the NIC stamps every received frame\n"
	"  --records N       keep the last N frames (count, at most 10000000; endless: 262144)\n"
	"  --deltas          print the time between frames, one line each\n"
	"  --json FILE       write the result, schema keepon.listen/1; -: standard output\n"
	"  --pcap FILE       write the frames, pcap with nanoseconds, times as in the result\n"
	"  --help, --version\n"
	"\n"
	"exit code: 0 all frames met; 1 frames lost, duplicate, reordered or fewer than --count; 2 usage;\n"
	"3 environment; 130 Ctrl-C (the result so far is written)\n";

enum option_value {
	OPTION_COUNT = 256,
	OPTION_DURATION,
	OPTION_STREAM,
	OPTION_ETHERTYPE,
	OPTION_SW_STAMPS,
	OPTION_RECORDS,
	OPTION_DELTAS,
	OPTION_JSON,
	OPTION_PCAP,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_END,
};

static const struct option long_options[] = {
	{ "count", required_argument, NULL, OPTION_COUNT },
	{ "duration", required_argument, NULL, OPTION_DURATION },
	{ "stream", required_argument, NULL, OPTION_STREAM },
	{ "ethertype", required_argument, NULL, OPTION_ETHERTYPE },
	{ "sw-stamps", no_argument, NULL, OPTION_SW_STAMPS },
	{ "records", required_argument, NULL, OPTION_RECORDS },
	{ "deltas", no_argument, NULL, OPTION_DELTAS },
	{ "json", required_argument, NULL, OPTION_JSON },
	{ "pcap", required_argument, NULL, OPTION_PCAP },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static void add_stream(struct listen_options *options, const char *name, const char *text)
{
	if (options->stream_count == LISTEN_STREAMS_MAX)
		kpt_usage_error("%s is given more than %d times; give fewer", name,
				LISTEN_STREAMS_MAX);
	for (size_t i = 0; i < options->stream_count; i++)
		if (kpt_stream_hash(options->streams[i]) == kpt_stream_hash(text))
			kpt_usage_error(
				"%s %s and %s look alike in a frame; give one of them or rename it",
				name, options->streams[i], text);
	options->streams[options->stream_count++] = kpt_stream_id(name, text);
}

static void read_option(struct listen_options *options, int value, const char *name,
			const char *text)
{
	switch (value) {
	case OPTION_COUNT:
		options->count = (uint64_t)kpt_integer(name, text, 0, COUNT_MAX, "frames");
		break;
	case OPTION_DURATION:
		options->duration_ns = kpt_time(name, text, KPT_MILLISECOND_NS, DURATION_MAX_NS);
		break;
	case OPTION_STREAM: add_stream(options, name, text); break;
	case OPTION_ETHERTYPE:
		options->ethertype = (int)kpt_integer(name, text, ETHERTYPE_MIN, ETHERTYPE_MAX,
						      "(0x0600...0xffff)");
		break;
	case OPTION_SW_STAMPS: options->sw_stamps = true; break;
	case OPTION_RECORDS:
		options->record_count = (uint64_t)kpt_integer(name, text, 1, RECORDS_MAX, "frames");
		break;
	case OPTION_DELTAS: options->deltas = true; break;
	case OPTION_JSON: options->json = text; break;
	case OPTION_PCAP: options->pcap = text; break;
	default: break;
	}
}

void listen_options_read(struct listen_options *options, int argc, char **argv)
{
	bool given[OPTION_END - OPTION_COUNT + 1] = { false };
	int found, place = -1;

	*options = (struct listen_options){ .ethertype = LISTEN_ANY_ETHERTYPE };
	opterr = 0;
	while ((found = getopt_long(argc, argv, ":", long_options, &place)) != -1) {
		char name[32];

		if (found == '?' || found == ':')
			kpt_option_error(found, argv);
		if (found == OPTION_HELP) {
			fputs(help, stdout);
			exit(fflush(stdout) ? KPT_EXIT_ENVIRONMENT : KPT_EXIT_MET);
		}
		if (found == OPTION_VERSION)
			kpt_print_version();
		snprintf(name, sizeof(name), "--%s", long_options[place].name);
		if (given[found - OPTION_COUNT] && found != OPTION_STREAM)
			kpt_usage_error("%s is given twice; give it once", name);
		given[found - OPTION_COUNT] = true;
		read_option(options, found, name, optarg);
	}
	if (optind == argc)
		kpt_usage_error(
			"no interface is named; give it as the first argument, see keepon-listen --help");
	options->interface = argv[optind++];
	if (optind < argc)
		kpt_usage_error("argument %s is not known; give one interface and options",
				argv[optind]);
	if (options->json && options->pcap && !strcmp(options->json, options->pcap))
		kpt_usage_error("--json and --pcap name the same file %s; give two", options->json);
	if (options->deltas && ((options->json && !strcmp(options->json, "-")) ||
				(options->pcap && !strcmp(options->pcap, "-"))))
		kpt_usage_error(
			"--deltas prints on standard output, where - sends a file; give that file a name");
	if (!options->record_count)
		options->record_count = options->count ? options->count : RECORDS_ENDLESS;
	if (options->record_count > (uint64_t)RECORDS_MAX)
		options->record_count = RECORDS_MAX;
}
