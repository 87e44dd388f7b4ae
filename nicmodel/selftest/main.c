/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the ring NIC: vectors named by symptom, and the random operations of agreement.c. Prints
 * one line per failure and 'N passed, N failed'; exit code 1 if anything failed.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "selftest.h"

uint64_t passed;
uint64_t failed;
int now_round;
uint8_t buffers[RING_NIC_SLOTS_MAX * BUFFER_BYTES];
uint8_t device_buffers[RING_NIC_SLOTS_MAX * BUFFER_BYTES];
struct seen seen;

static void on_frame(void *sink, const struct ring_nic_frame *frame)
{
	struct seen *s = sink;

	s->first_byte[s->frames] = frame->data[0];
	s->digest[s->frames] = slow_digest(frame->data, frame->frame_bytes - RING_NIC_FCS_BYTES);
	s->frame[s->frames++] = *frame;
}

static void on_idle(void *sink, uint64_t start_ps, uint64_t end_ps)
{
	struct seen *s = sink;

	s->idles++;
	s->idle_ps += end_ps - start_ps;
}

struct ring_nic_params base_params(void)
{
	return (struct ring_nic_params){
		.ring_slots = 32,
		.nominal_bytes = NOMINAL_BYTES,
		.frame_bytes_min = 64,
		.frame_bytes_max = 200,
		.prefetch_slots = 4,
		.byte_time_ps = 8000,
		.fetch_ps = 500000,
		.restart_ps_min = 2000000,
		.restart_ps_max = 2000000,
		.persistent = true,
		.coherent = true,
		.seed = 1,
		.buffers = buffers,
		.device_buffers = device_buffers,
		.buffer_stride = BUFFER_BYTES,
		.sink_frame = on_frame,
		.sink_idle = on_idle,
		.sink = &seen,
	};
}

struct ring_nic *make(const struct ring_nic_params *params)
{
	struct ring_nic *nic = ring_nic_init(malloc(ring_nic_bytes(params)), params);

	if (!nic) {
		printf("parameters refused: %s\n", ring_nic_problem(params));
		exit(1);
	}
	seen.frames = 0;
	seen.idles = 0;
	seen.idle_ps = 0;
	memset(buffers, 0, sizeof(buffers));
	memset(device_buffers, 0, sizeof(device_buffers));
	return nic;
}

static void commit_after_the_latch_sends_the_placeholder(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);

	ring_nic_doorbell(nic, 16, 1000);
	/* Slot 0 is latched at 501000. */
	ring_nic_commit(nic, 0, NOMINAL_BYTES, 60, 60, 501000);
	ring_nic_commit(nic, 20, NOMINAL_BYTES, 60, 60, 501000);
	ring_nic_advance(nic, 40000000);
	EXPECT(seen.frames == 0 && ring_nic_read_counters(nic)->placeholders == 16);
	free(nic);

	nic = make(&params);
	ring_nic_doorbell(nic, 16, 1000);
	ring_nic_commit(nic, 0, NOMINAL_BYTES, 60, 60, 500999);
	ring_nic_advance(nic, 40000000);
	EXPECT(seen.frames == 1 && seen.frame[0].start_ps == 2001000 && !seen.frame[0].torn);
	free(nic);
}

static void commit_before_the_data_is_a_torn_frame(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);

	ring_nic_doorbell(nic, 16, 0);
	ring_nic_commit(nic, 8, NOMINAL_BYTES, 60, 60, 1000);
	memset(ring_nic_buffer(nic, 8, 1000), 0x5a, 60);
	ring_nic_advance(nic, 40000000);
	EXPECT(seen.frames == 1 && seen.frame[0].torn && ring_nic_read_counters(nic)->torn == 1);
	free(nic);
}

/*
 * The old order of a stop: bytes go while the descriptor is still real. The MAC makes a good FCS
 * for what it fetches.
 */
static void buffer_zeroed_under_a_real_descriptor_leaves_as_a_frame(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);

	memset(ring_nic_buffer(nic, 8, 0), 0x5a, 60);
	ring_nic_commit(nic, 8, NOMINAL_BYTES, 60, 60, 0);
	ring_nic_doorbell(nic, 16, 0);
	memset(ring_nic_buffer(nic, 8, 1000), 0, 30);
	ring_nic_advance(nic, 40000000);
	EXPECT(seen.frames == 1 && seen.frame[0].torn && seen.first_byte[0] == 0);
	free(nic);
}

static void retired_slot_is_a_placeholder_before_its_bytes_go(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		params.coherent = i == 0;
		nic = make(&params);
		memset(ring_nic_buffer(nic, 8, 0), 0x5a, 80);
		ring_nic_commit(nic, 8, NOMINAL_BYTES, 60, 80, 0);
		ring_nic_doorbell(nic, 16, 0);
		ring_nic_retire(nic, 8, NOMINAL_BYTES, 70, 1000);
		ring_nic_advance(nic, 40000000);
		EXPECT(seen.frames == 0 && ring_nic_read_counters(nic)->torn == 0);
		EXPECT(buffers[8 * BUFFER_BYTES] == 0 && buffers[8 * BUFFER_BYTES + 69] == 0);
		EXPECT(buffers[8 * BUFFER_BYTES + 70] == 0x5a);
		EXPECT(memcmp(i ? device_buffers : buffers, buffers, sizeof(buffers)) == 0);
		free(nic);
	}
}

static void bytes_not_written_back_leave_as_they_were(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic;

	/*
	 * Wiped by the CPU alone after a longer frame: the padding of the next one shows the old
	 * bytes.
	 */
	params.coherent = false;
	nic = make(&params);
	memset(ring_nic_buffer(nic, 8, 0), 0x5a, 90);
	ring_nic_commit(nic, 8, NOMINAL_BYTES, 90, 90, 0);
	memset(ring_nic_buffer(nic, 8, 0), 0, 90);
	memset(ring_nic_buffer(nic, 8, 0), 0x11, 60);
	ring_nic_commit(nic, 8, NOMINAL_BYTES, 60, 60, 0);
	/*
	 * A whole frame forgotten, one written back as it should be, and one that ends before what
	 * was forgotten.
	 */
	memset(ring_nic_buffer(nic, 9, 0), 0x22, 60);
	ring_nic_commit(nic, 9, NOMINAL_BYTES, 60, 0, 0);
	memset(ring_nic_buffer(nic, 10, 0), 0x33, 60);
	ring_nic_commit(nic, 10, NOMINAL_BYTES, 60, 60, 0);
	memset(ring_nic_buffer(nic, 11, 0), 0x44, 150);
	ring_nic_commit(nic, 11, 154, 80, 80, 0);
	ring_nic_set_length(nic, 11, 84, 0);
	/* A store after the commit stays in the cache: neither torn nor stale. */
	memset(ring_nic_buffer(nic, 10, 0), 0, 60);
	ring_nic_doorbell(nic, 16, 0);
	ring_nic_advance(nic, 40000000);
	EXPECT(seen.frames == 4 && ring_nic_read_counters(nic)->stale == 2 &&
	       ring_nic_read_counters(nic)->torn == 0);
	EXPECT(seen.frame[0].stale && device_buffers[8 * BUFFER_BYTES + 60] == 0x5a);
	EXPECT(seen.frame[1].stale && seen.first_byte[1] == 0);
	EXPECT(!seen.frame[2].stale && seen.first_byte[2] == 0x33);
	EXPECT(!seen.frame[3].stale);
	free(nic);
}

static void frame_not_retired_is_sent_again_after_a_lap(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);

	ring_nic_commit(nic, 5, NOMINAL_BYTES, 60, 60, 0);
	ring_nic_doorbell(nic, 32, 0);
	ring_nic_advance(nic, 50000000);
	ring_nic_doorbell(nic, 64, 50000000);
	ring_nic_advance(nic, 100000000);
	EXPECT(seen.frames == 2 && seen.frame[1].seq == 37);
	free(nic);
}

static void descriptor_not_rearmed_stops_the_wire(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic;

	params.persistent = false;
	nic = make(&params);
	ring_nic_rearm(nic, 0, 8, 0);
	ring_nic_doorbell(nic, 16, 0);
	EXPECT(ring_nic_index(nic, 100000000) == 8);
	EXPECT(ring_nic_read_counters(nic)->halts == 1);
	ring_nic_rearm(nic, 8, 8, 100000000);
	EXPECT(ring_nic_index(nic, 200000000) == 8);
	ring_nic_doorbell(nic, 16, 200000000);
	EXPECT(ring_nic_index(nic, 300000000) == 16);
	EXPECT(ring_nic_read_counters(nic)->underruns == 1);
	free(nic);
}

static void length_forgotten_at_rearm_stops_the_wire(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic;
	uint32_t idx;

	params.persistent = false;
	params.clobbers = true;
	nic = make(&params);
	ring_nic_rearm(nic, 0, 32, 0);
	ring_nic_doorbell(nic, 32, 0);
	EXPECT(ring_nic_index(nic, 100000000) == 32);
	/*
	 * The second lap: eight lengths are said again, one by a commit, one by a retire; the rest
	 * is forgotten.
	 */
	for (idx = 0; idx < 6; idx++)
		ring_nic_set_length(nic, idx, NOMINAL_BYTES, 100000000);
	ring_nic_commit(nic, 6, NOMINAL_BYTES, 60, 60, 100000000);
	ring_nic_retire(nic, 7, NOMINAL_BYTES, 60, 100000000);
	ring_nic_rearm(nic, 0, 16, 100000000);
	ring_nic_doorbell(nic, 48, 100000000);
	EXPECT(ring_nic_index(nic, 200000000) == 40 && seen.frames == 1);
	EXPECT(ring_nic_read_counters(nic)->clobbered == 1 &&
	       ring_nic_read_counters(nic)->halts == 0);
	for (idx = 8; idx < 16; idx++)
		ring_nic_set_length(nic, idx, NOMINAL_BYTES, 200000000);
	ring_nic_doorbell(nic, 48, 200000000);
	EXPECT(ring_nic_index(nic, 300000000) == 48 &&
	       ring_nic_read_counters(nic)->placeholders == 47);
	free(nic);
}

static void halted_nic_sends_what_it_has_fetched(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);
	uint64_t when;

	/* Slots of 960 ns from 2 us on: in slot 5, slots 6 to 9 have been fetched. */
	memset(ring_nic_buffer(nic, 9, 0), 0x5a, 60);
	ring_nic_commit(nic, 9, NOMINAL_BYTES, 60, 60, 0);
	ring_nic_commit(nic, 10, NOMINAL_BYTES, 60, 60, 0);
	ring_nic_doorbell(nic, 16, 0);
	ring_nic_halt(nic, 2000000 + 960000 * 5 + 600000);
	memset(ring_nic_buffer(nic, 9, 2000000 + 960000 * 5 + 600000), 0, 60);
	ring_nic_doorbell(nic, 30, 8000000);
	EXPECT(!ring_nic_next_frame(nic, &when));
	EXPECT(ring_nic_index(nic, 2000000 + 960000 * 10 - 1) == 9 &&
	       ring_nic_index(nic, 2000000 + 960000 * 10) == 10);
	EXPECT(ring_nic_index(nic, 100000000) == 10 && ring_nic_locate(nic, 100000000).idle);
	EXPECT(seen.frames == 1 && seen.frame[0].seq == 9 && !seen.frame[0].torn &&
	       seen.first_byte[0] == 0x5a);
	EXPECT(ring_nic_present(nic) && ring_nic_read_counters(nic)->bell_errors == 0);
	free(nic);
}

static void removed_nic_is_not_one_that_stands_still(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);
	uint64_t gone_ps = 2000000 + 960000 * 5 + 600000;

	ring_nic_doorbell(nic, 16, 0);
	EXPECT(ring_nic_index(nic, gone_ps) == 5 && ring_nic_present(nic));
	ring_nic_remove(nic, gone_ps);
	ring_nic_commit(nic, 12, NOMINAL_BYTES, 60, 60, gone_ps);
	ring_nic_doorbell(nic, 30, gone_ps + 1000);
	EXPECT(ring_nic_index(nic, 100000000) == 5 && !ring_nic_present(nic) && seen.frames == 0);
	/* The frame under way was cut, those behind it never began. */
	EXPECT(ring_nic_completed(nic, 100000000) == 5 && ring_nic_locate(nic, 100000000).idle);
	EXPECT(ring_nic_locate(nic, 100000000).sent_ps == 960000 * 5 + 600000);
	free(nic);
}

static void frozen_index_says_nothing_of_the_wire(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);

	ring_nic_doorbell(nic, 16, 0);
	EXPECT(ring_nic_index(nic, 2000000 + 960000 * 5) == 5);
	ring_nic_freeze_index(nic, true);
	EXPECT(ring_nic_index(nic, 2000000 + 960000 * 9) == 5 && ring_nic_present(nic));
	ring_nic_freeze_index(nic, true);
	EXPECT(ring_nic_locate(nic, 2000000 + 960000 * 9).seq == 9);
	EXPECT(ring_nic_index(nic, 2000000 + 960000 * 10) == 5);
	ring_nic_freeze_index(nic, false);
	EXPECT(ring_nic_index(nic, 2000000 + 960000 * 11) == 11);
	free(nic);
}

static void starved_prefetch_leaves_gaps(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic;

	/* No prefetch: every frame waits for its fetch. */
	params.prefetch_slots = 0;
	nic = make(&params);
	ring_nic_doorbell(nic, 11, 0);
	ring_nic_advance(nic, 100000000);
	EXPECT(ring_nic_read_counters(nic)->underruns == 10 &&
	       ring_nic_read_counters(nic)->idle_ps == 10 * 500000);
	free(nic);
}

static void pause_holds_back_the_slot_after_the_one_on_the_wire(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic_pause pause = { .at_ps = 2000000 + 960000 * 5 + 1, .idle_ps = 7000000 };
	uint64_t start_ps = 2000000 + 960000 * 6;
	struct ring_nic *nic;

	/* Slots of 960 ns from 2 us on; slot 5 is on the wire, 6 to 9 have been fetched. */
	nic = make(&params);
	ring_nic_set_pauses(nic, &pause, 1);
	ring_nic_commit(nic, 5, NOMINAL_BYTES, 60, 60, 0);
	ring_nic_commit(nic, 6, NOMINAL_BYTES, 60, 60, 0);
	ring_nic_doorbell(nic, 16, 0);
	EXPECT(ring_nic_index(nic, start_ps + 6999999) == 6);
	EXPECT(ring_nic_latched(nic) == 11 && ring_nic_locate(nic, start_ps + 6999999).idle);
	EXPECT(ring_nic_locate(nic, start_ps + 6999999).sent_ps == 960000 * 6);
	EXPECT(!ring_nic_locate(nic, start_ps + 7000000).idle);
	EXPECT(seen.frames == 2 && seen.frame[0].start_ps == start_ps - 960000);
	EXPECT(seen.frame[1].start_ps == start_ps + 7000000);
	ring_nic_advance(nic, 40000000);
	EXPECT(ring_nic_read_counters(nic)->pauses == 1 &&
	       ring_nic_read_counters(nic)->paused_ps == 7000000);
	EXPECT(ring_nic_read_counters(nic)->underruns == 0 && seen.idle_ps == 7000000);
	free(nic);

	/* At the very start of slot 6 it still comes in time. */
	pause.at_ps = start_ps;
	nic = make(&params);
	ring_nic_set_pauses(nic, &pause, 1);
	ring_nic_doorbell(nic, 16, 0);
	EXPECT(ring_nic_index(nic, start_ps + 7000000 + 959999) == 6 &&
	       ring_nic_index(nic, start_ps + 7960000) == 7);
	free(nic);
}

static void drawn_values_are_as_described(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic;
	uint64_t expected = slow_draw(77, ~(uint64_t)16, 2000000, 3000000);

	params.seed = 77;
	params.restart_ps_max = 3000000;
	nic = make(&params);
	ring_nic_commit(nic, 0, NOMINAL_BYTES, 60, 60, 0);
	ring_nic_doorbell(nic, 16, 0);
	ring_nic_advance(nic, 10000000);
	EXPECT(seen.frames == 1 && seen.frame[0].start_ps == expected && expected >= 2000000 &&
	       expected <= 3000000);
	free(nic);
}

static void unusable_parameters_are_refused(void)
{
	struct ring_nic_params good = base_params();
	struct ring_nic_params bad;

	EXPECT(!ring_nic_problem(&good));
#define EXPECT_REFUSED(change)                  \
	do {                                    \
		bad = good;                     \
		bad.change;                     \
		EXPECT(ring_nic_problem(&bad)); \
	} while (0)
	EXPECT_REFUSED(ring_slots = 1);
	EXPECT_REFUSED(ring_slots = 4097);
	EXPECT_REFUSED(nominal_bytes = 201);
	EXPECT_REFUSED(frame_bytes_min = 4);
	EXPECT_REFUSED(prefetch_slots = 1025);
	EXPECT_REFUSED(fifo_bytes = 199);
	EXPECT_REFUSED(byte_time_ps = 0);
	EXPECT_REFUSED(fetch_ps = 0);
	EXPECT_REFUSED(restart_ps_min = 499999);
	EXPECT_REFUSED(restart_ps_max = 1999999);
	EXPECT_REFUSED(index_lag_ps_min = 1);
	EXPECT_REFUSED(index = 2);
	EXPECT_REFUSED(clobbers = true);
	good.coherent = false;
	EXPECT(!ring_nic_problem(&good));
	EXPECT_REFUSED(device_buffers = NULL);
	EXPECT_REFUSED(buffer_stride = 195);
	EXPECT_REFUSED(sink_frame = NULL);
}

/* A day of nominal placeholders in one call: the cost must not depend on their number. */
static void long_silence_is_one_step(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic;
	uint64_t day_ps = 86400ull * 1000000000000ull;
	uint64_t now = 0;
	uint64_t tail = 4096;

	params.ring_slots = 4096;
	nic = make(&params);
	ring_nic_doorbell(nic, tail, now);
	while (now < day_ps / 86400) {
		now += 3000000000ull;
		tail += 3000000000ull / ((NOMINAL_BYTES + 20) * 8000);
		ring_nic_doorbell(nic, tail, now);
	}
	EXPECT(ring_nic_read_counters(nic)->underruns == 0);
	EXPECT(ring_nic_index(nic, now) == (now - 2000000) / ((NOMINAL_BYTES + 20) * 8000));
	free(nic);
}

int main(void)
{
	commit_after_the_latch_sends_the_placeholder();
	commit_before_the_data_is_a_torn_frame();
	buffer_zeroed_under_a_real_descriptor_leaves_as_a_frame();
	retired_slot_is_a_placeholder_before_its_bytes_go();
	bytes_not_written_back_leave_as_they_were();
	frame_not_retired_is_sent_again_after_a_lap();
	descriptor_not_rearmed_stops_the_wire();
	length_forgotten_at_rearm_stops_the_wire();
	halted_nic_sends_what_it_has_fetched();
	removed_nic_is_not_one_that_stands_still();
	frozen_index_says_nothing_of_the_wire();
	starved_prefetch_leaves_gaps();
	pause_holds_back_the_slot_after_the_one_on_the_wire();
	drawn_values_are_as_described();
	unusable_parameters_are_refused();
	long_silence_is_one_step();
	frames_of_fragments();
	lazy_and_exact_models_agree();
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
	return failed != 0;
}
