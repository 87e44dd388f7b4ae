/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line of keepon-talk; see talk.h. */
#include "talk.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "clocks.h"
#include "payload.h"

enum {
	FRAME_BYTES_MIN = 64,
	FRAME_BYTES_DEFAULT = 100,
	FCS_BYTES = 4,
	/*
	 * First priority that both maps of the published examples give to tc 0; Example 2 names it
	 * for tc 0.
	 */
	PRIORITY_DEFAULT = 8,
	PRIORITY_MAX = 15,
	PCP_MAX = 7,
	FIFO_MAX = 99,
	ETHERTYPE_MIN = 0x0600,
	ETHERTYPE_DEFAULT = 0x88b5, /* IEEE 802 local experimental 1 */
	ETHERTYPE_TAG = 0x8100,
	ETHERTYPE_MAX = 0xffff,
};

#define PERIOD_DEFAULT_NS (1 * KPT_MILLISECOND_NS)
#define PERIOD_MIN_NS INT64_C(1000)
#define PERIOD_MAX_NS (3600 * KPT_SECOND_NS)
#define ADVANCE_DEFAULT_NS INT64_C(200000)
#define ADVANCE_MAX_NS (60 * KPT_SECOND_NS)
#define LINGER_DEFAULT_NS (500 * KPT_MILLISECOND_NS)
#define COUNT_MAX INT64_C(1000000000000)
#define RECORDS_MAX INT64_C(10000000)
#define RECORDS_ENDLESS UINT64_C(262144)

static const char *const help =
	"usage: keepon-talk IFACE [options]\n"
	"       keepon-talk IFACE --cyclic [PERIOD [ADVANCE [SIZE [PRIORITY [NS [PCP [VLAN]]]]]]] [options]\n"
	"\n"
	"Send one stream of frames, each with the time it should leave (SO_TXTIME), and tell what became of each.\n"
	"Times are whole numbers of ns, or have us, ms or s behind them.\n"
	"\n"
	"when\n"
	"  --period TIME        distance of frames (1ms)\n"
	"  --base-time TIME     time of the grid in the clock; now+TIME counts from now. A grid in the past is\n"
	"                       continued from its first point that can be reached (0)\n"
	"  --offset TIME        added to the base time: phase within the period (0)\n"
	"  --advance TIME       wake up and hand over this long before txtime (200us; 0 with --no-txtime)\n"
	"  --count N            frames to send, 0: until Ctrl-C (0)\n"
	"  --clock tai|monotonic   clock of base time and txtime (tai)\n"
	"  --clock-limit TIME   send nothing while the interface's clock is farther than this from the clock\n"
	"  --clock-wait TIME    wait this long until it is nearer (0)\n"
	"  --no-txtime          plain sends, timed by sleeping alone\n"
	"  --deadline           txtime is a deadline (SOF_TXTIME_DEADLINE_MODE)\n"
	"  --delay K=TIME       hand frame K over this much late, for fault tests; repeatable (also --late-after)\n"
	"what\n"
	"  --size BYTES         frame length, tag and FCS included (100)\n"
	"  --dst MAC            destination (03:00:4b:50:4e:01)\n"
	"  --ethertype TYPE     EtherType of the payload (0x88b5)\n"
	"  --vlan VID, --pcp P  insert an 802.1Q tag; either one is enough, the other is 0\n"
	"  --udp HOST:PORT      UDP to a numeric address, [HOST]:PORT for IPv6, instead of raw frames\n"
	"  --stream ID          name of the stream in the frames (keepon)\n"
	"  --priority P         SO_PRIORITY, which mqprio maps to a class, 0...15 (8)\n"
	"how\n"
	"  --fifo PRIO          SCHED_FIFO with this priority, 1...99\n"
	"  --hw-stamps          ask for hardware transmit stamps\n"
	"  --sw-stamps          ask for software transmit stamps\n"
	"  --stamp-offset TIME  add to hardware stamps, for a PHC that does not run in the clock (0)\n"
	"  --no-report-errors   do not ask why frames were dropped (--report-errors is the default)\n"
	"  --linger TIME        wait this long for answers after the last txtime (500ms)\n"
	"  --records N          keep the last N frames (count, at most 10000000; endless: 262144)\n"
	"  --json FILE          write the result, schema keepon.talk/1; -: standard output\n"
	"  --help, --version\n"
	"\n"
	"--cyclic takes the arguments of the published sender in its order: period and advance in ns, size in\n"
	"bytes without FCS, priority, ns of the second at which the first frame is due (0), PCP and VLAN id.\n"
	"That second is the third from now, unless --base-time is given. What is left out has the default above;\n"
	"without both PCP and VLAN the frames carry no tag.\n"
	"\n"
	"exit code: 0 all frames met; 1 errors, or a stamp that was asked for is missing; 2 usage;\n"
	"3 environment; 130 Ctrl-C (the result so far is written)\n";

enum option_value {
	OPTION_PERIOD = 256,
	OPTION_BASE_TIME,
	OPTION_OFFSET,
	OPTION_ADVANCE,
	OPTION_COUNT,
	OPTION_CLOCK,
	OPTION_CLOCK_LIMIT,
	OPTION_CLOCK_WAIT,
	OPTION_NO_TXTIME,
	OPTION_DEADLINE,
	OPTION_DELAY,
	OPTION_SIZE,
	OPTION_DST,
	OPTION_ETHERTYPE,
	OPTION_VLAN,
	OPTION_PCP,
	OPTION_UDP,
	OPTION_STREAM,
	OPTION_PRIORITY,
	OPTION_FIFO,
	OPTION_HW_STAMPS,
	OPTION_SW_STAMPS,
	OPTION_STAMP_OFFSET,
	OPTION_REPORT_ERRORS,
	OPTION_NO_REPORT_ERRORS,
	OPTION_LINGER,
	OPTION_RECORDS,
	OPTION_JSON,
	OPTION_CYCLIC,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_END,
};

static const struct option long_options[] = {
	{ "period", required_argument, NULL, OPTION_PERIOD },
	{ "base-time", required_argument, NULL, OPTION_BASE_TIME },
	{ "offset", required_argument, NULL, OPTION_OFFSET },
	{ "advance", required_argument, NULL, OPTION_ADVANCE },
	{ "count", required_argument, NULL, OPTION_COUNT },
	{ "clock", required_argument, NULL, OPTION_CLOCK },
	{ "clock-limit", required_argument, NULL, OPTION_CLOCK_LIMIT },
	{ "clock-wait", required_argument, NULL, OPTION_CLOCK_WAIT },
	{ "no-txtime", no_argument, NULL, OPTION_NO_TXTIME },
	{ "deadline", no_argument, NULL, OPTION_DEADLINE },
	{ "delay", required_argument, NULL, OPTION_DELAY },
	{ "late-after", required_argument, NULL, OPTION_DELAY },
	{ "size", required_argument, NULL, OPTION_SIZE },
	{ "dst", required_argument, NULL, OPTION_DST },
	{ "ethertype", required_argument, NULL, OPTION_ETHERTYPE },
	{ "vlan", required_argument, NULL, OPTION_VLAN },
	{ "pcp", required_argument, NULL, OPTION_PCP },
	{ "udp", required_argument, NULL, OPTION_UDP },
	{ "stream", required_argument, NULL, OPTION_STREAM },
	{ "priority", required_argument, NULL, OPTION_PRIORITY },
	{ "fifo", required_argument, NULL, OPTION_FIFO },
	{ "hw-stamps", no_argument, NULL, OPTION_HW_STAMPS },
	{ "sw-stamps", no_argument, NULL, OPTION_SW_STAMPS },
	{ "stamp-offset", required_argument, NULL, OPTION_STAMP_OFFSET },
	{ "report-errors", no_argument, NULL, OPTION_REPORT_ERRORS },
	{ "no-report-errors", no_argument, NULL, OPTION_NO_REPORT_ERRORS },
	{ "linger", required_argument, NULL, OPTION_LINGER },
	{ "records", required_argument, NULL, OPTION_RECORDS },
	{ "json", required_argument, NULL, OPTION_JSON },
	{ "cyclic", no_argument, NULL, OPTION_CYCLIC },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

/*
 * The published sender's arguments in order; an argument has the meaning of an option, but for the
 * range of some. Source: KeepON artifact, Examples 1-3 and its sender.
 */
static const struct {
	int value;
	const char *option;
	const char *name;
} cyclic_arguments[] = {
	{ OPTION_PERIOD, "--period", "--cyclic PERIOD" },
	{ OPTION_ADVANCE, "--advance", "--cyclic ADVANCE" },
	{ OPTION_SIZE, "--size", "--cyclic SIZE" },
	{ OPTION_PRIORITY, "--priority", "--cyclic PRIORITY" },
	{ OPTION_OFFSET, "--offset", "--cyclic NS" },
	{ OPTION_PCP, "--pcp", "--cyclic PCP" },
	{ OPTION_VLAN, "--vlan", "--cyclic VLAN" },
};

enum { CYCLIC_ARGUMENTS = sizeof(cyclic_arguments) / sizeof(cyclic_arguments[0]) };

static void read_base_time(struct talk_options *options, const char *name, const char *text)
{
	options->base_is_relative = !strncmp(text, "now+", 4);
	options->base_ns =
		kpt_time(name, text + (options->base_is_relative ? 4 : 0), 0, KPT_TIME_MAX_NS);
}

static void read_clock(struct talk_options *options, const char *name, const char *text)
{
	if (!strcmp(text, "tai"))
		options->clock = CLOCK_TAI;
	else if (!strcmp(text, "monotonic"))
		options->clock = CLOCK_MONOTONIC;
	else
		kpt_usage_error("%s %s is not a clock; give tai or monotonic", name, text);
}

static void read_delay(struct talk_options *options, const char *name, const char *text)
{
	struct talk_delay delay;
	size_t place = options->delay_count;

	if (!kpt_read_delay(text, &delay.seq, &delay.delay_ns))
		kpt_usage_error("%s %s is not FRAME=TIME; give for example 17=350us", name, text);
	if (options->delay_count == TALK_DELAYS_MAX)
		kpt_usage_error("%s is given more than %d times; give fewer", name,
				TALK_DELAYS_MAX);
	while (place && options->delays[place - 1].seq >= delay.seq) {
		if (options->delays[place - 1].seq == delay.seq)
			kpt_usage_error("%s names frame %" PRIu64 " twice; give it once", name,
					delay.seq);
		options->delays[place] = options->delays[place - 1];
		place--;
	}
	options->delays[place] = delay;
	options->delay_count++;
}

static void read_peer(struct talk_options *options, const char *name, const char *text)
{
	const char *colon = strrchr(text, ':');
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&options->peer;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&options->peer;
	char host[INET6_ADDRSTRLEN] = "";
	bool brackets = text[0] == '[' && colon && colon > text && colon[-1] == ']';
	size_t length = colon ? (size_t)(colon - text) - (brackets ? 2 : 0) : 0;
	uint16_t port;

	if (!colon || !length || length >= sizeof(host))
		kpt_usage_error(
			"%s %s is not HOST:PORT; give for example 192.0.2.1:5000 or [2001:db8::1]:5000",
			name, text);
	memcpy(host, text + brackets, length);
	port = htons((uint16_t)kpt_integer("--udp, PORT", colon + 1, 1, 65535, ""));
	options->udp = true;
	if (!brackets && inet_pton(AF_INET, host, &ipv4->sin_addr) == 1) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = port;
		options->peer_bytes = sizeof(*ipv4);
	} else if (brackets && inet_pton(AF_INET6, host, &ipv6->sin6_addr) == 1) {
		ipv6->sin6_family = AF_INET6;
		ipv6->sin6_port = port;
		options->peer_bytes = sizeof(*ipv6);
	} else {
		kpt_usage_error(
			"%s: %s is not a numeric address; give for example 192.0.2.1:5000 or [2001:db8::1]:5000",
			name, host);
	}
}

static void read_option(struct talk_options *options, int value, const char *name, const char *text)
{
	switch (value) {
	case OPTION_PERIOD:
		options->period_ns = kpt_time(name, text, PERIOD_MIN_NS, PERIOD_MAX_NS);
		break;
	case OPTION_BASE_TIME: read_base_time(options, name, text); break;
	case OPTION_OFFSET: options->offset_ns = kpt_time(name, text, 0, PERIOD_MAX_NS); break;
	case OPTION_ADVANCE: options->advance_ns = kpt_time(name, text, 0, ADVANCE_MAX_NS); break;
	case OPTION_COUNT:
		options->count = (uint64_t)kpt_integer(name, text, 0, COUNT_MAX, "frames");
		break;
	case OPTION_CLOCK: read_clock(options, name, text); break;
	case OPTION_CLOCK_LIMIT:
		options->clock_limit_ns = kpt_time(name, text, 1, PERIOD_MAX_NS);
		break;
	case OPTION_CLOCK_WAIT:
		options->clock_wait_ns = kpt_time(name, text, 0, PERIOD_MAX_NS);
		break;
	case OPTION_NO_TXTIME: options->with_txtime = false; break;
	case OPTION_DEADLINE: options->deadline = true; break;
	case OPTION_DELAY: read_delay(options, name, text); break;
	case OPTION_SIZE:
		options->frame_bytes = (int)kpt_integer(name, text, FRAME_BYTES_MIN,
							TALK_FRAME_BYTES_MAX, "bytes");
		break;
	case OPTION_DST:
		if (!kpt_read_mac(text, options->destination))
			kpt_usage_error(
				"%s %s is not a MAC address; give for example 03:00:4b:50:4e:01",
				name, text);
		break;
	case OPTION_ETHERTYPE:
		options->ethertype = (int)kpt_integer(name, text, ETHERTYPE_MIN, ETHERTYPE_MAX,
						      "(0x0600...0xffff)");
		if (options->ethertype == ETHERTYPE_TAG)
			kpt_usage_error("%s %s is the type of a VLAN tag; use --vlan and --pcp",
					name, text);
		break;
	case OPTION_VLAN: options->vid = (int)kpt_integer(name, text, 0, TALK_VID_MAX, ""); break;
	case OPTION_PCP: options->pcp = (int)kpt_integer(name, text, 0, PCP_MAX, ""); break;
	case OPTION_UDP: read_peer(options, name, text); break;
	case OPTION_STREAM: options->stream = kpt_stream_id(name, text); break;
	case OPTION_PRIORITY:
		options->priority = (int)kpt_integer(name, text, 0, PRIORITY_MAX, "");
		break;
	case OPTION_FIFO:
		options->fifo_priority = (int)kpt_integer(name, text, 1, FIFO_MAX, "");
		break;
	case OPTION_HW_STAMPS: options->hw_stamps = true; break;
	case OPTION_SW_STAMPS: options->sw_stamps = true; break;
	case OPTION_STAMP_OFFSET:
		options->stamp_offset_ns = kpt_time(name, text, -KPT_TIME_MAX_NS, KPT_TIME_MAX_NS);
		break;
	case OPTION_REPORT_ERRORS: options->report_errors = true; break;
	case OPTION_NO_REPORT_ERRORS: options->report_errors = false; break;
	case OPTION_LINGER: options->linger_ns = kpt_time(name, text, 0, ADVANCE_MAX_NS); break;
	case OPTION_RECORDS:
		options->record_count = (uint64_t)kpt_integer(name, text, 1, RECORDS_MAX, "frames");
		break;
	case OPTION_JSON: options->json = text; break;
	default: break;
	}
}

static void read_cyclic_argument(struct talk_options *options, int value, const char *name,
				 const char *text)
{
	switch (value) {
	case OPTION_SIZE:
		options->frame_bytes =
			(int)kpt_integer(name, text, FRAME_BYTES_MIN - FCS_BYTES,
					 TALK_FRAME_BYTES_MAX - FCS_BYTES, "bytes without FCS") +
			FCS_BYTES;
		break;
	case OPTION_OFFSET:
		options->offset_ns = kpt_integer(name, text, 0, KPT_SECOND_NS - 1, "ns");
		break;
	default: read_option(options, value, name, text);
	}
}

static void read_cyclic(struct talk_options *options, bool *given, int count, char **arguments)
{
	if (count > CYCLIC_ARGUMENTS)
		kpt_usage_error("--cyclic with %d arguments; give at most %d", count,
				CYCLIC_ARGUMENTS);
	for (int i = 0; i < count; i++) {
		int value = cyclic_arguments[i].value;

		if (given[value - OPTION_PERIOD])
			kpt_usage_error("%s is given by --cyclic and by itself; give it once",
					cyclic_arguments[i].option);
		given[value - OPTION_PERIOD] = true;
		read_cyclic_argument(options, value, cyclic_arguments[i].name, arguments[i]);
	}
	/* Without a VLAN id the published sender makes no use of the PCP either. */
	if (count && cyclic_arguments[count - 1].value == OPTION_PCP) {
		given[OPTION_PCP - OPTION_PERIOD] = given[OPTION_VLAN - OPTION_PERIOD];
		options->pcp = given[OPTION_VLAN - OPTION_PERIOD] ? options->pcp : 0;
	}
	options->base_is_second = !given[OPTION_BASE_TIME - OPTION_PERIOD];
}

/* What only shows when all options are known. */
static void complete(struct talk_options *options, const bool *given)
{
	int min;

	if (!options->with_txtime) {
		if (options->deadline)
			kpt_usage_error(
				"--deadline says what a txtime means, --no-txtime gives none; drop one of them");
		if (!given[OPTION_ADVANCE - OPTION_PERIOD])
			options->advance_ns = 0;
	}
	if (given[OPTION_PCP - OPTION_PERIOD] && options->vid == TALK_NO_VLAN)
		options->vid = 0;
	if (options->udp && options->vid != TALK_NO_VLAN)
		kpt_usage_error(
			"--udp cannot insert a tag; send through a VLAN interface (ip link add ... type vlan), or raw");
	if (options->udp &&
	    (given[OPTION_DST - OPTION_PERIOD] || given[OPTION_ETHERTYPE - OPTION_PERIOD]))
		kpt_usage_error("--dst and --ethertype are for raw frames; drop them or --udp");
	if (given[OPTION_STAMP_OFFSET - OPTION_PERIOD] && !options->hw_stamps)
		kpt_usage_error("--stamp-offset is added to hardware stamps; give --hw-stamps too");
	if (options->clock_wait_ns && !options->clock_limit_ns)
		kpt_usage_error("--clock-wait waits for --clock-limit; give that too");
	min = talk_header_bytes(options) + KPT_PAYLOAD_BYTES + FCS_BYTES;
	if (options->frame_bytes < min)
		kpt_usage_error(
			"--size %d leaves no room for headers and the %d bytes of a test frame; give at least %d",
			options->frame_bytes, KPT_PAYLOAD_BYTES, min);
	if (!options->record_count)
		options->record_count = options->count ? options->count : RECORDS_ENDLESS;
	if (options->record_count > (uint64_t)RECORDS_MAX)
		options->record_count = RECORDS_MAX;
	for (size_t i = 0; options->count && i < options->delay_count; i++)
		if (options->delays[i].seq >= options->count)
			kpt_usage_error("--delay %" PRIu64 "=...: frames are 0...%" PRIu64
					"; name one of them",
					options->delays[i].seq, options->count - 1);
}

void talk_options_read(struct talk_options *options, int argc, char **argv)
{
	static const uint8_t group[KPT_MAC_BYTES] = { 0x03, 0x00, 0x4b, 0x50, 0x4e, 0x01 };
	bool given[OPTION_END - OPTION_PERIOD + 1] = { false };
	bool cyclic = false;
	int found, place = -1;

	*options = (struct talk_options){
		.stream = KPT_STREAM_DEFAULT,
		.period_ns = PERIOD_DEFAULT_NS,
		.advance_ns = ADVANCE_DEFAULT_NS,
		.linger_ns = LINGER_DEFAULT_NS,
		.clock = CLOCK_TAI,
		.frame_bytes = FRAME_BYTES_DEFAULT,
		.priority = PRIORITY_DEFAULT,
		.vid = TALK_NO_VLAN,
		.ethertype = ETHERTYPE_DEFAULT,
		.with_txtime = true,
		.report_errors = true,
	};
	memcpy(options->destination, group, sizeof(group));
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
		if (found == OPTION_CYCLIC)
			cyclic = true;
		snprintf(name, sizeof(name), "--%s", long_options[place].name);
		if (given[found - OPTION_PERIOD] && found != OPTION_DELAY)
			kpt_usage_error("%s is given twice; give it once", name);
		given[found - OPTION_PERIOD] = true;
		read_option(options, found, name, optarg);
	}
	if (optind == argc)
		kpt_usage_error(
			"no interface is named; give it as the first argument, see keepon-talk --help");
	options->interface = argv[optind++];
	if (!cyclic && optind < argc)
		kpt_usage_error("argument %s is not known; positional arguments need --cyclic",
				argv[optind]);
	if (cyclic)
		read_cyclic(options, given, argc - optind, argv + optind);
	complete(options, given);
}
