// SPDX-License-Identifier: BSD-3-Clause
/*
 * Drives one pacer on the plainest backend there can be, so that callgrind counts the core and
 * little else. One operation is repeated; only while it runs are instructions collected. What is
 * counted of it is decided by bench_core.py.
 *
 *   core_cost INDEX idle BATCH COUNT PPB COUNT polls that each complete BATCH untouched slots,
 *   clock rate off by PPB core_cost INDEX insert 1 COUNT PPB   COUNT submissions of a scheduled
 *   frame into a free slot of the ring core_cost INDEX complete INSERTED COUNT 0
 *                                        COUNT polls that each complete INSERTED frames of a batch
 *                                        of 8
 *   core_cost INDEX place-PADDING BYTES COUNT BEFORE
 *                                        COUNT submissions of a frame of BYTES into slots whose
 *                                        last frame had BEFORE bytes
 *   core_cost INDEX sent-PADDING BYTES COUNT 0
 *                                        COUNT polls that each complete one frame of BYTES
 *   core_cost INDEX long-insert BUFFERS COUNT 0
 *   core_cost INDEX long-sent BUFFERS COUNT 0
 *                                        COUNT submissions of a frame of 1518 bytes into slots of
 *                                        105 bytes, in so many buffers at most, or COUNT polls that
 *                                        each complete one
 *   core_cost INDEX bytes RING_SLOTS 0 0 memory of a pacer, nothing collected
 *
 * INDEX is done or fetch: what moves the index of the NIC. PADDING is deferred or on-demand;
 * otherwise it is deferred.
 *
 * The last line on stdout is `operations N trims N bytes N`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

#include "keepon/pacer.h"

enum {
	SLOT_BYTES = 1230,      /* 10 us at 1 Gb/s */
	SHORT_SLOT_BYTES = 105, /* 1 us */
	LONG_BYTES = 1518,
	LONG_AHEAD_SLOTS = 82, /* between two polls */
	LONG_BATCH_SLOTS = 40, /* those of a frame, 36 at most */
	BYTE_PS = 8000,
	WIRE_OVERHEAD_BYTES = 20,
	PREAMBLE_BYTES = 8,
	PREAMBLE_NS = 64,
	RING_SLOTS_MAX = 4096,
	BUFFER_BYTES = 2048,
	FRAME_BYTES = 200,
	FRAME_BYTES_MAX = 1214, /* the slot less what it may be trimmed */
	RING_SLOTS = 256,
	FRAMES = 1024,
	RESTART_NS = 1000,
	PREFETCH_SLOTS = 4,
	FETCH_NS = PREFETCH_SLOTS * 10000,
	FETCH_SPREAD_NS = 600, /* slots may be trimmed by 16 bytes */
	WARM_UP_POLLS = 4096,
	INSERT_AHEAD_SLOTS = 64,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

/*
 * struct bench - backend and caller in one
 * @wire_ps: where slot @sent starts, by the lengths set so far
 * @trims_before: trims of the warm-up; @silent_before: polls of the warm-up that rang no doorbell,
 *	because a fetch index
 *	says little before the rates are known
 * @length_bytes: per descriptor
 */
struct bench {
	struct kpn_pacer *pacer;
	u64 now_ns;
	u64 wire_ps;
	u64 random;
	u64 outcomes;
	u64 wrong_outcomes;
	u64 trims_before;
	u64 silent_before;
	u8 padding;
	bool fetch;
	u32 slot_bytes;
	u32 sent;
	u32 ring_slots;
	u32 frame_idx;
	u32 length_bytes[RING_SLOTS_MAX];
	struct kpn_frame frames[FRAMES];
	u8 buffers[RING_SLOTS_MAX][BUFFER_BYTES];
};

static struct bench bench;
static const u8 payload[LONG_BYTES];

static u64 bench_cpu_ns(void *nic)
{
	(void)nic;
	return bench.now_ns;
}

static u32 bench_read_index(void *nic)
{
	(void)nic;
	return bench.fetch ? bench.sent + 1 + PREFETCH_SLOTS : bench.sent;
}

static void *bench_buffer(void *nic, u32 desc_idx)
{
	(void)nic;
	return bench.buffers[desc_idx];
}

static void bench_commit(void *nic, u32 desc_idx, u32 frame_bytes, u32 data_bytes,
			 u32 written_bytes)
{
	(void)nic;
	(void)data_bytes;
	(void)written_bytes;
	bench.length_bytes[desc_idx] = frame_bytes;
}

static void bench_commit_fragments(void *nic, u32 first_idx, const struct kpn_span *span,
				   u32 data_bytes)
{
	u32 from;
	u32 i;

	(void)nic;
	(void)data_bytes;
	/* as much less as advance() adds for a frame of its own */
	for (i = 0; i < span->fragments; i++)
		bench.length_bytes[(first_idx + i) % bench.ring_slots] =
			kpn_span_fragment(span, i, &from) - WIRE_OVERHEAD_BYTES +
			(i ? 0 : PREAMBLE_BYTES) +
			(i + 1 < span->fragments ? 0 : WIRE_OVERHEAD_BYTES - PREAMBLE_BYTES);
}

static void bench_set_length(void *nic, u32 desc_idx, u32 frame_bytes)
{
	(void)nic;
	bench.length_bytes[desc_idx] = frame_bytes;
}

static void bench_retire(void *nic, u32 desc_idx, u32 frame_bytes, u32 data_bytes)
{
	(void)nic;
	bench.length_bytes[desc_idx] = frame_bytes;
	memset(bench.buffers[desc_idx], 0, data_bytes);
}

static void bench_halt(void *nic)
{
	(void)nic;
}

static void bench_doorbell(void *nic, u32 tail_idx, u64 tail_seq)
{
	(void)nic;
	(void)tail_idx;
	(void)tail_seq;
}

static void collect(void)
{
	const struct kpn_frame *frame = kpn_pacer_take_ended(bench.pacer);

	for (; frame; frame = frame->next) {
		bench.outcomes++;
		bench.wrong_outcomes += frame->verdict != KPN_VERDICT_ON_TIME;
	}
}

static struct kpn_nic_caps caps = {
	.ring_slots_min = 8,
	.ring_slots_max = 4096,
	.ring_slots_multiple = 1,
	.reserved_slots = 1,
	.prefetch_slots_max = PREFETCH_SLOTS,
	.restart_ns_min = 500,
	.restart_ns_max = 2000,
	.start_quantum_bytes = 1,
	.placeholder_bytes_min = 64,
	.frame_bytes_max = 1522,
	.placeholder_kinds = 1u << KPN_PLACEHOLDER_BAD_FCS,
	.index_counts_done = true,
	.has_spare_buffers = true,
	.desc_persistent = true,
};

static const struct kpn_nic_ops nic_ops = {
	.cpu_ns = bench_cpu_ns,
	.read_index = bench_read_index,
	.buffer = bench_buffer,
	.commit = bench_commit,
	.commit_fragments = bench_commit_fragments,
	.retire = bench_retire,
	.set_length = bench_set_length,
	.doorbell = bench_doorbell,
	.halt = bench_halt,
};

static void use_fetch_index(void)
{
	bench.fetch = true;
	caps.index_counts_done = false;
	caps.index_to_wire_ns_min = FETCH_NS - FETCH_SPREAD_NS;
	caps.index_to_wire_ns_max = FETCH_NS + FETCH_SPREAD_NS + RESTART_NS;
}

/* Half the ring is posted, and a batch is at most half of that. */
static struct kpn_pacer *new_pacer(u32 batch_slots, u32 ring_slots)
{
	struct kpn_config config;
	struct kpn_pacer *pacer;
	void *memory;

	kpn_config_defaults(&config, &caps, 1000000000, bench.slot_bytes);
	config.ring_slots = ring_slots;
	if (bench.slot_bytes < FRAME_BYTES)
		config.frame_bytes_max = LONG_BYTES;
	config.batch_slots = batch_slots;
	config.depth_slots = ring_slots / 2;
	config.padding = bench.padding;
	config.budget_frames =
		2 * batch_slots > config.budget_frames ? 2 * batch_slots : config.budget_frames;
	memory = malloc(kpn_pacer_bytes(&config));
	pacer = memory ? kpn_pacer_init(memory, &config, &caps, &nic_ops, NULL, 1000000) : NULL;
	if (!pacer) {
		fprintf(stderr, "core_cost: no pacer with batch %" PRIu32 ", ring %" PRIu32 "\n",
			batch_slots, ring_slots);
		exit(EXIT_USAGE);
	}
	return pacer;
}

static u64 slot_ns(void)
{
	return (bench.slot_bytes + WIRE_OVERHEAD_BYTES) * BYTE_PS / 1000;
}

/*
 * The wire goes on by @slots, and the next poll comes at a random moment of the slot then sent:
 * every poll completes a whole batch and writes a doorbell, the dearest an idle poll can be. A
 * fetch index says less of the wire: by the spread of its limits, 1.6 us here, the lower bound
 * stays behind the earliest of the moments. There they are within a microsecond, so that every poll
 * sees the same slot in progress; were they more apart, some would be cheaper ones that complete
 * less and ring no doorbell.
 */
static void advance(u32 slots)
{
	u32 idx = bench.sent % bench.ring_slots;

	for (bench.sent += slots; slots; slots--) {
		bench.wire_ps += (u64)(bench.length_bytes[idx] + WIRE_OVERHEAD_BYTES) * BYTE_PS;
		if (++idx == bench.ring_slots)
			idx = 0;
	}
	bench.random = bench.random * 6364136223846793005ull + 1442695040888963407ull;
	bench.now_ns = RESTART_NS + bench.wire_ps / 1000 + 1;
	bench.now_ns += bench.fetch ? slot_ns() * 7 / 10 + (bench.random >> 32) % (slot_ns() / 10) :
				      (bench.random >> 32) % (slot_ns() * 9 / 10);
}

/* The start rings, too. */
static u64 silent_polls(const struct kpn_stats *stats)
{
	return stats->polls + 1 - stats->doorbells;
}

static void start(u32 batch_slots, s64 ppb)
{
	u32 polls;
	u32 desc;

	bench.ring_slots = 4 * batch_slots > RING_SLOTS ? 4 * batch_slots : RING_SLOTS;
	bench.random = 1;
	bench.pacer = new_pacer(batch_slots, bench.ring_slots);
	for (desc = 0; desc < bench.ring_slots; desc++)
		bench.length_bytes[desc] = bench.slot_bytes;
	kpn_pacer_start(bench.pacer, nic_ops.cpu_ns(NULL));
	if (kpn_pacer_adjfine(bench.pacer, ppb * 65536 / 1000))
		exit(EXIT_FAILED);
	for (polls = 0; polls < WARM_UP_POLLS; polls++) {
		advance(batch_slots);
		kpn_pacer_poll(bench.pacer);
		collect();
	}
	bench.trims_before = kpn_pacer_stats(bench.pacer)->trims;
	bench.silent_before = silent_polls(kpn_pacer_stats(bench.pacer));
}

/* A frame for the slot @ahead of the head; the instant is where that slot is planned to start. */
static struct kpn_frame *next_frame(u32 ahead, u32 frame_bytes)
{
	struct kpn_state state = kpn_pacer_state(bench.pacer, bench.now_ns);
	struct kpn_frame *frame = &bench.frames[bench.frame_idx++ % FRAMES];
	u64 net_slot = state.head_seq + ahead + state.base;

	*frame = (struct kpn_frame){
		.data = payload,
		.frame_bytes = (u16)frame_bytes,
		.flags = KPN_FRAME_TXTIME,
		.txtime_ns = (s64)(net_slot * slot_ns() + PREAMBLE_NS),
	};
	return frame;
}

static void run_idle(u32 batch_slots, u32 count, s64 ppb)
{
	start(batch_slots, ppb);
	for (; count; count--) {
		advance(batch_slots);
		CALLGRIND_TOGGLE_COLLECT;
		kpn_pacer_poll(bench.pacer);
		CALLGRIND_TOGGLE_COLLECT;
		collect();
	}
}

static void run_insert(u32 count, s64 ppb)
{
	u32 i;

	start(8, ppb);
	for (i = 0; i < count; i++) {
		/* eight slots a batch, the frames of one batch in changing order (C8) */
		struct kpn_frame *frame = next_frame(INSERT_AHEAD_SLOTS + i * 5 % 8, FRAME_BYTES);

		CALLGRIND_TOGGLE_COLLECT;
		kpn_pacer_submit(bench.pacer, frame);
		CALLGRIND_TOGGLE_COLLECT;
		if (i % 8 != 7)
			continue;
		advance(8);
		kpn_pacer_poll(bench.pacer);
		collect();
	}
}

/*
 * Frames in every slot of the ring, lap after lap; those of every other lap are collected. Returns
 * how many there were.
 */
static u64 run_place(u32 frame_bytes, u32 count, u32 before_bytes)
{
	u64 inserted = 0;

	start(8, 0);
	while (count) {
		u64 seq = kpn_pacer_state(bench.pacer, bench.now_ns).head_seq + INSERT_AHEAD_SLOTS +
			  inserted * 5 % 8;
		bool collected = seq / RING_SLOTS % 2;
		struct kpn_frame *frame = next_frame(INSERT_AHEAD_SLOTS + inserted * 5 % 8,
						     collected ? frame_bytes : before_bytes);

		/* the first two laps find buffers nobody has written to */
		collected = collected && inserted >= 2 * RING_SLOTS;
		if (collected)
			CALLGRIND_TOGGLE_COLLECT;
		kpn_pacer_submit(bench.pacer, frame);
		if (collected)
			CALLGRIND_TOGGLE_COLLECT;
		count -= collected;
		if (++inserted % 8)
			continue;
		advance(8);
		kpn_pacer_poll(bench.pacer);
		collect();
	}
	return inserted;
}

static void run_complete(u32 inserted, u32 count, u32 frame_bytes)
{
	u32 polls;
	u32 i;

	start(8, 0);
	for (polls = 0; polls < WARM_UP_POLLS + count; polls++) {
		for (i = 0; i < inserted; i++)
			kpn_pacer_submit(
				bench.pacer,
				next_frame(INSERT_AHEAD_SLOTS + i * (8 / inserted), frame_bytes));
		advance(8);
		if (polls >= WARM_UP_POLLS)
			CALLGRIND_TOGGLE_COLLECT;
		kpn_pacer_poll(bench.pacer);
		if (polls >= WARM_UP_POLLS)
			CALLGRIND_TOGGLE_COLLECT;
		collect();
	}
}

/* One long frame a batch; it is the submissions or the polls that are collected. */
static void run_long(u32 buffers, u32 count, bool inserts)
{
	u32 polls;

	bench.slot_bytes = SHORT_SLOT_BYTES;
	caps.fragments_max = buffers;
	start(LONG_BATCH_SLOTS, 0);
	for (polls = 0; polls < count; polls++) {
		struct kpn_frame *frame = next_frame(LONG_AHEAD_SLOTS, LONG_BYTES);

		if (inserts)
			CALLGRIND_TOGGLE_COLLECT;
		kpn_pacer_submit(bench.pacer, frame);
		if (inserts)
			CALLGRIND_TOGGLE_COLLECT;
		advance(LONG_BATCH_SLOTS);
		if (!inserts)
			CALLGRIND_TOGGLE_COLLECT;
		kpn_pacer_poll(bench.pacer);
		if (!inserts)
			CALLGRIND_TOGGLE_COLLECT;
		collect();
	}
}

/* What was measured must have been what was meant. */
static bool as_meant(const struct kpn_stats *stats, u64 inserted)
{
	return stats->underruns == 0 && stats->suspected_underruns == 0 && stats->slips == 0 &&
	       stats->index_errors == 0 && silent_polls(stats) == bench.silent_before &&
	       stats->submitted == inserted && bench.wrong_outcomes == 0 &&
	       stats->verdicts[KPN_VERDICT_ON_TIME] == kpn_stats_ended(stats) &&
	       bench.outcomes + 1024 > inserted;
}

/* What follows the dash. Return: enum kpn_padding, or -1 */
static int padding_of(const char *name)
{
	const char *dash = strchr(name, '-');

	if (dash && strcmp(dash, "-deferred") == 0)
		return KPN_PADDING_DEFERRED;
	return dash && strcmp(dash, "-on-demand") == 0 ? KPN_PADDING_ON_DEMAND : -1;
}

int main(int argc, char **argv)
{
	int padding;
	const struct kpn_stats *stats;
	u64 inserted = 0;
	u32 size;
	u32 count;
	s64 ppb;

	bool fetch = argc > 1 && strcmp(argv[1], "fetch") == 0;

	if (argc != 6 || (!fetch && strcmp(argv[1], "done") != 0)) {
		fprintf(stderr,
			"usage: core_cost done|fetch idle|insert|complete|place-PADDING|sent-PADDING|long-insert|long-sent|bytes SIZE COUNT PPB\n");
		return EXIT_USAGE;
	}
	bench.slot_bytes = SLOT_BYTES;
	if (fetch)
		use_fetch_index();
	argv++;
	size = (u32)strtoul(argv[2], NULL, 10);
	count = (u32)strtoul(argv[3], NULL, 10);
	ppb = strtol(argv[4], NULL, 10);
	if (strcmp(argv[1], "bytes") == 0) {
		struct kpn_config config;

		kpn_config_defaults(&config, &caps, 1000000000, SLOT_BYTES);
		config.ring_slots = size;
		printf("operations 0 trims 0 bytes %zu\n", kpn_pacer_bytes(&config));
		return 0;
	}
	padding = padding_of(argv[1]);
	if (padding >= 0)
		bench.padding = (u8)padding;
	if (strncmp(argv[1], "place-", 6) == 0 && padding >= 0 && size <= FRAME_BYTES_MAX &&
	    ppb <= FRAME_BYTES_MAX) {
		inserted = run_place(size, count, (u32)ppb);
	} else if (strncmp(argv[1], "sent-", 5) == 0 && padding >= 0 && size <= FRAME_BYTES_MAX) {
		run_complete(1, count, size);
		inserted = WARM_UP_POLLS + count;
	} else if (strncmp(argv[1], "long-", 5) == 0) {
		run_long(size, count, strcmp(argv[1], "long-insert") == 0);
		inserted = count;
	} else if (strcmp(argv[1], "idle") == 0) {
		run_idle(size, count, ppb);
	} else if (strcmp(argv[1], "insert") == 0) {
		run_insert(count, ppb);
		inserted = count;
	} else {
		run_complete(size, count, FRAME_BYTES);
		inserted = (u64)size * (WARM_UP_POLLS + count);
	}
	stats = kpn_pacer_stats(bench.pacer);
	if (!as_meant(stats, inserted)) {
		fprintf(stderr, "core_cost: the run was not what it should measure\n");
		return EXIT_FAILED;
	}
	printf("operations %" PRIu32 " trims %" PRIu64 " bytes 0\n", count,
	       stats->trims - bench.trims_before);
	return 0;
}
