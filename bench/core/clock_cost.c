// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads and feeds the clock in each of its modes, so that callgrind counts the core and little
 * else.
 *
 *   clock_cost read MODE COUNT FRAMES      COUNT readings of the PHC
 *   clock_cost observe MODE COUNT FRAMES   COUNT readings of an index
 *   clock_cost stamp MODE COUNT FRAMES     COUNT stamps of received frames; dual and published only
 *
 * MODE: 0 counter, 1 interpolated, 2 dual, 3 published (dual by the paper's merge). FRAMES: slots
 * between two readings of the index. In modes 2 and 3 the reading observed is that of the receive
 * ring; the transmit ring is read as in 1 and 0.
 *
 * The last line on stdout is `operations N trims N bytes N`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "keepon/dual.h"
#include "keepon/wire.h"

enum {
	SLOT_BYTES = 1230, /* 10 us at 1 Gb/s */
	SLOT_NS = 10000,
	BYTE_PS = 8000,
	RING_SLOTS = 1024,
	RESTART_NS = 1000,
	BATCH_SLOTS = 8,
	WARM_UP_POLLS = 20000,
	MODES = 4,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

enum { COUNTER, INTERPOLATED, DUAL, PUBLISHED };

static struct {
	struct kpn_pacer *pacer;
	struct kpn_rx rx;
	struct kpn_dual dual;
	u64 now_ns;
	u64 sent;
	u64 random;
	u64 position_ps;
} bench;

static u64 bench_cpu_ns(void *nic)
{
	(void)nic;
	return bench.now_ns;
}

static u32 bench_read_index(void *nic)
{
	(void)nic;
	return (u32)bench.sent;
}

static void bench_set_length(void *nic, u32 desc_idx, u32 frame_bytes)
{
	(void)nic;
	(void)desc_idx;
	(void)frame_bytes;
}

static void bench_doorbell(void *nic, u32 tail_idx, u64 tail_seq)
{
	(void)nic;
	(void)tail_idx;
	(void)tail_seq;
}

static const struct kpn_nic_caps caps = {
	.ring_slots_min = 8,
	.ring_slots_max = 4096,
	.ring_slots_multiple = 1,
	.reserved_slots = 1,
	.prefetch_slots_max = 4,
	.restart_ns_min = 500,
	.restart_ns_max = 2000,
	.start_quantum_bytes = 1,
	.placeholder_bytes_min = 64,
	.frame_bytes_max = 1522,
	.placeholder_kinds = 1u << KPN_PLACEHOLDER_BAD_FCS,
	.index_counts_done = true,
	.desc_persistent = true,
};

static const struct kpn_nic_ops nic_ops = {
	.cpu_ns = bench_cpu_ns,
	.read_index = bench_read_index,
	.set_length = bench_set_length,
	.doorbell = bench_doorbell,
};

/* The wires go on by @slots, to a random moment of the slot then sent. */
static void advance(u32 slots)
{
	bench.sent += slots;
	bench.random = bench.random * 6364136223846793005ull + 1442695040888963407ull;
	bench.now_ns = RESTART_NS + bench.sent * SLOT_NS + 1 + (bench.random >> 32) % 9000;
}

/* The peer's frames have the length of the slots here and end when these do. */
static void take(u32 slots)
{
	for (; slots; slots--)
		bench.position_ps = kpn_rx_take(&bench.rx, SLOT_BYTES);
}

static void start(u32 mode, u32 slots)
{
	struct kpn_rx_config rx_config = {
		.rate_bps = 1000000000,
		.drift_ppb_max = 100000,
		.wander_ppb_per_s_max = 100,
		.poll_ns = (u64)slots * SLOT_NS,
		.frame_bytes_max = SLOT_BYTES,
	};
	struct kpn_config config;
	void *memory;
	u32 polls;

	kpn_config_defaults(&config, &caps, 1000000000, SLOT_BYTES);
	config.ring_slots = RING_SLOTS;
	config.batch_slots = slots;
	config.budget_frames = KPN_BUDGET_FRAMES_MAX;
	config.depth_slots = RING_SLOTS / 2;
	config.clock_read =
		mode == COUNTER || mode == PUBLISHED ? KPN_CLOCK_COUNTER : KPN_CLOCK_INTERPOLATED;
	memory = malloc(kpn_pacer_bytes(&config));
	bench.pacer =
		memory ? kpn_pacer_init(memory, &config, &caps, &nic_ops, NULL, 1000000) : NULL;
	if (!bench.pacer || kpn_rx_problem(&rx_config))
		exit(EXIT_USAGE);
	bench.random = 1;
	kpn_rx_init(&bench.rx, &rx_config);
	kpn_dual_init(&bench.dual, bench.pacer, &bench.rx,
		      mode == PUBLISHED ? KPN_MERGE_PUBLISHED : KPN_MERGE_STRIP,
		      kpn_merge_tau_ns(&config));
	kpn_pacer_start(bench.pacer, nic_ops.cpu_ns(NULL));
	for (polls = 0; polls < WARM_UP_POLLS; polls++) {
		advance(slots);
		kpn_pacer_poll(bench.pacer);
		take(slots);
		kpn_rx_observe(&bench.rx, bench.now_ns, bench.now_ns);
		kpn_dual_correct(&bench.dual, bench.now_ns);
	}
}

static void read_clock(u32 mode)
{
	if (mode <= INTERPOLATED)
		kpn_pacer_gettime(bench.pacer, bench.now_ns + 1000);
	else
		kpn_dual_gettime(&bench.dual, bench.now_ns + 1000);
}

static void run(const char *operation, u32 mode, u32 count, u32 slots)
{
	bool reads = strcmp(operation, "read") == 0;
	bool stamps = strcmp(operation, "stamp") == 0;
	bool observes = !reads && !stamps;

	for (; count; count--) {
		advance(slots);
		if (observes && mode <= INTERPOLATED)
			CALLGRIND_TOGGLE_COLLECT;
		kpn_pacer_poll(bench.pacer);
		if (observes && mode <= INTERPOLATED)
			CALLGRIND_TOGGLE_COLLECT;
		if (observes && mode > INTERPOLATED)
			CALLGRIND_TOGGLE_COLLECT;
		take(slots);
		kpn_rx_observe(&bench.rx, bench.now_ns, bench.now_ns);
		if (mode == PUBLISHED)
			kpn_dual_correct(&bench.dual, bench.now_ns);
		if (observes && mode > INTERPOLATED)
			CALLGRIND_TOGGLE_COLLECT;
		if (!observes)
			CALLGRIND_TOGGLE_COLLECT;
		if (reads)
			read_clock(mode);
		else if (stamps)
			kpn_dual_stamp(&bench.dual, bench.position_ps, bench.now_ns + 1);
		if (!observes)
			CALLGRIND_TOGGLE_COLLECT;
	}
}

/* What was measured must have been what was meant. */
static bool as_meant(u32 count)
{
	const struct kpn_stats *stats = kpn_pacer_stats(bench.pacer);

	return !stats->underruns && !stats->suspected_underruns && !stats->slips &&
	       !stats->index_errors && !bench.rx.stops &&
	       bench.rx.readings == WARM_UP_POLLS + (u64)count &&
	       stats->polls == bench.rx.readings && !bench.dual.tx_set && !bench.dual.rx_set &&
	       kpn_dual_stamp(&bench.dual, bench.position_ps, bench.now_ns + 1).valid;
}

int main(int argc, char **argv)
{
	u32 mode = argc == 5 ? (u32)strtoul(argv[2], NULL, 10) : MODES;
	u32 slots;
	u32 count;

	if (mode >= MODES) {
		fprintf(stderr, "usage: clock_cost read|observe|stamp MODE COUNT FRAMES\n");
		return EXIT_USAGE;
	}
	count = (u32)strtoul(argv[3], NULL, 10);
	slots = (u32)strtoul(argv[4], NULL, 10);
	start(mode, slots);
	run(argv[1], mode, count, slots);
	if (!as_meant(count)) {
		fprintf(stderr, "clock_cost: the run was not what it should measure\n");
		return EXIT_FAILED;
	}
	printf("operations %" PRIu32 " trims 0 bytes 0\n", count);
	return 0;
}
