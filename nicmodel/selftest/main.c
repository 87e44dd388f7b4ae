/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the ring NIC: random operations against the slow model, and vectors named by symptom. Prints one line
 * per failure and 'N passed, N failed'; exit code 1 if anything failed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "slow_nic.h"

enum { BUFFER_BYTES = 256, NOMINAL_BYTES = 100, ROUNDS = 2000, STEPS = 400 };

static uint64_t passed;
static uint64_t failed;

#define EXPECT(condition)                                                                           \
	do {                                                                                        \
		if (condition) {                                                                    \
			passed++;                                                                   \
		} else if (failed++ < 50) {                                                         \
			printf("%s:%d: round %d: %s\n", __FILE__, __LINE__, now_round, #condition); \
		}                                                                                   \
	} while (0)

static int now_round;
static uint64_t random_state = 1;
static uint8_t buffers[RING_NIC_SLOTS_MAX * BUFFER_BYTES];
static struct slow_nic slow;

static uint64_t draw(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

/* What the sinks saw, compared with the slow model at the end of a round. */
struct seen {
	struct ring_nic_frame frame[SLOW_SEQ_MAX];
	uint64_t frames;
	uint64_t idle_ps;
	uint64_t idles;
};

static struct seen seen;

static void on_frame(void *sink, const struct ring_nic_frame *frame)
{
	struct seen *s = sink;

	s->frame[s->frames++] = *frame;
}

static void on_idle(void *sink, uint64_t start_ps, uint64_t end_ps)
{
	struct seen *s = sink;

	s->idles++;
	s->idle_ps += end_ps - start_ps;
}

static struct ring_nic_params base_params(void)
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
		.seed = 1,
		.buffers = buffers,
		.buffer_stride = BUFFER_BYTES,
		.sink_frame = on_frame,
		.sink_idle = on_idle,
		.sink = &seen,
	};
}

static struct ring_nic *make(const struct ring_nic_params *params)
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
	return nic;
}

static struct ring_nic_params random_params(void)
{
	struct ring_nic_params params = base_params();

	params.ring_slots = 2 + (uint32_t)draw(draw(2) ? 20 : 200);
	params.prefetch_slots = (uint32_t)draw(draw(2) ? 4 : 40);
	params.fifo_bytes = draw(3) ? 0 : 200 + (uint32_t)draw(1500);
	params.fetch_ps = 1 + draw(draw(2) ? 900000 : 9000000);
	params.restart_ps_min = params.fetch_ps + draw(1000000);
	params.restart_ps_max = params.restart_ps_min + draw(3) * 700000;
	params.index = (uint8_t)draw(2);
	params.index_lag_ps_min = draw(2) * draw(2000000);
	params.index_lag_ps_max = params.index_lag_ps_min + draw(2) * draw(4000000);
	params.persistent = draw(2);
	params.seed = draw(1000000);
	return params;
}

static void compare_past(struct ring_nic *nic)
{
	const struct ring_nic_counters *counters = ring_nic_read_counters(nic);
	uint64_t frames = 0;
	uint64_t idle_ps = 0;
	uint64_t paused_ps = 0;
	uint64_t torn = 0;
	uint64_t gap_ps = 0;
	uint64_t k;

	for (k = 0; k < slow.latched; k++) {
		const struct slow_slot *slot = &slow.slot[k];

		if (k > 0)
			idle_ps += slot->ready_ps - slow.slot[k - 1].end_ps;
		if (k > 0)
			gap_ps += slot->start_ps - slow.slot[k - 1].end_ps;
		paused_ps += slot->start_ps - slot->ready_ps;
		if (!slot->real)
			continue;
		EXPECT(frames < seen.frames && seen.frame[frames].seq == k);
		EXPECT(seen.frame[frames].start_ps == slot->start_ps);
		EXPECT(seen.frame[frames].frame_bytes == slot->frame_bytes);
		EXPECT(seen.frame[frames].torn == slot->torn);
		torn += slot->torn;
		frames++;
	}
	EXPECT(seen.frames == frames && counters->frames == frames);
	EXPECT(counters->placeholders == slow.latched - frames);
	EXPECT(counters->idle_ps == idle_ps && counters->paused_ps == paused_ps && seen.idle_ps == gap_ps);
	EXPECT(counters->underruns <= seen.idles && seen.idles <= counters->underruns + counters->pauses);
	EXPECT(counters->halts == slow.halts && counters->torn == torn);
	EXPECT(counters->bell_errors == slow.bell_errors);
}

/* A slot of the past, if it is not forgotten, and those it says are like it. */
static void compare_slot(const struct ring_nic *nic, uint64_t seq)
{
	struct ring_nic_slot slot;
	uint64_t alike;

	if (seq >= slow.latched || !ring_nic_find_slot(nic, seq, &slot))
		return;
	EXPECT(slot.latch_ps == slow.slot[seq].latch_ps);
	EXPECT(slot.alike >= 1 && seq + slot.alike <= slow.latched);
	for (alike = 0; alike < slot.alike; alike++) {
		EXPECT(slow.slot[seq + alike].start_ps == slot.start_ps + alike * slot.pitch_ps);
		EXPECT(slow.slot[seq + alike].end_ps == slow.slot[seq + alike].start_ps + slot.pitch_ps);
	}
}

/* The wire as the slow model has it at its present time. */
static void compare_now(struct ring_nic *nic, uint64_t now)
{
	struct ring_nic_position position = ring_nic_locate(nic, now);
	struct ring_nic_slot slot;
	uint64_t sent_ps = 0;
	uint64_t k;

	slow_advance(&slow, now);
	EXPECT(ring_nic_latched(nic) == slow.latched);
	EXPECT(ring_nic_index(nic, now) == slow_index(&slow, now));
	for (k = 0; k < slow.latched && slow.slot[k].end_ps <= now; k++)
		sent_ps += slow.slot[k].end_ps - slow.slot[k].start_ps;
	EXPECT(position.seq == k && ring_nic_completed(nic, now) == k);
	EXPECT(position.idle == (k >= slow.latched || slow.slot[k].start_ps > now));
	if (!position.idle) {
		EXPECT(position.offset_ps == now - slow.slot[k].start_ps);
		sent_ps += position.offset_ps;
	}
	EXPECT(position.sent_ps == sent_ps);
	compare_slot(nic, slow.latched - 1);
	compare_slot(nic, slow.latched - 1 - draw(64));
	if (slow.latched > 0)
		EXPECT(ring_nic_find_slot(nic, slow.latched - 1, &slot) && slot.alike == 1);
	EXPECT(!ring_nic_find_slot(nic, slow.latched, &slot));
}

/* The announced time is not after the start of the next frame, and looking again at it never stands still. */
static void compare_next_frame(struct ring_nic *nic, uint64_t *now)
{
	uint64_t before;
	uint64_t when;
	int looks;

	ring_nic_advance(nic, *now);
	slow_advance(&slow, *now);
	before = seen.frames;
	for (looks = 0; looks < 8 && ring_nic_next_frame(nic, &when) && seen.frames == before; looks++) {
		EXPECT(when > *now);
		*now = when;
		ring_nic_advance(nic, when);
		slow_advance(&slow, when);
	}
	if (seen.frames > before && looks)
		EXPECT(seen.frame[before].start_ps >= *now);
}

static void random_step(struct ring_nic *nic, uint64_t *now)
{
	uint32_t slots = slow.params.ring_slots;
	uint32_t idx = (uint32_t)draw(slots);
	uint32_t bytes = 60 + (uint32_t)draw(150);
	uint64_t gap = draw(10);
	uint64_t tail;

	*now += gap < 3 ? 0 : gap < 8 ? draw(1000000) : draw(40000000);
	switch (draw(8)) {
	case 0:
		slow_advance(&slow, *now);
		ring_nic_buffer(nic, idx, *now)[draw(60)] = (uint8_t)draw(256);
		ring_nic_commit(nic, idx, bytes, 60, *now);
		slow_commit(&slow, idx, bytes, 60, *now);
		break;
	case 1:
		if (draw(2))
			bytes = NOMINAL_BYTES;
		ring_nic_restore(nic, idx, bytes, *now);
		slow_describe(&slow, idx, bytes, false, *now);
		break;
	case 2:
		ring_nic_set_length(nic, idx, bytes, *now);
		slow_advance(&slow, *now);
		slow_describe(&slow, idx, bytes, slow.real[idx], *now);
		break;
	case 3: /* a store into a buffer that may be committed: torn if it comes before the latch */
		slow_advance(&slow, *now);
		ring_nic_buffer(nic, idx, *now)[draw(60)] ^= (uint8_t)draw(2);
		break;
	case 4: compare_now(nic, *now); break;
	case 5: compare_next_frame(nic, now); break;
	default:
		slow_advance(&slow, *now);
		tail = slow.tail_seq + draw(8);
		if (draw(3) == 0 || tail > slow.latched + slots)
			tail = slow.latched + slots + (draw(20) == 0);
		if (draw(8)) {
			ring_nic_rearm(nic, (uint32_t)(slow.latched % slots), slots, *now);
			slow_rearm(&slow, (uint32_t)(slow.latched % slots), slots, *now);
		}
		ring_nic_doorbell(nic, tail, *now);
		slow_doorbell(&slow, tail, *now);
	}
}

/* In two out of three rounds the wire is paused now and then, also twice at once and before it ever ran. */
static void random_pauses(struct ring_nic *nic)
{
	uint64_t at_ps = draw(2) * draw(100000000);
	uint32_t i;

	slow.pauses = draw(3) ? (uint32_t)draw(SLOW_PAUSES_MAX) : 0;
	for (i = 0; i < slow.pauses; i++) {
		slow.pause[i].at_ps = at_ps;
		slow.pause[i].idle_ps = draw(draw(2) ? 2000000 : 200000000);
		at_ps += draw(3) * draw(300000000);
	}
	ring_nic_set_pauses(nic, slow.pause, slow.pauses);
}

static void lazy_and_exact_models_agree(void)
{
	int step;

	for (now_round = 0; now_round < ROUNDS; now_round++) {
		struct ring_nic_params params = random_params();
		struct ring_nic *nic = make(&params);
		uint64_t now = 0;

		slow_init(&slow, &params);
		random_pauses(nic);
		for (step = 0; step < STEPS && slow.tail_seq + 300 < SLOW_SEQ_MAX; step++)
			random_step(nic, &now);
		now += 1000000000;
		compare_now(nic, now);
		compare_past(nic);
		free(nic);
	}
	now_round = 0;
}

static void commit_after_the_latch_sends_the_placeholder(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);

	ring_nic_doorbell(nic, 16, 1000);
	/* Slot 0 is latched at 501000. */
	ring_nic_commit(nic, 0, NOMINAL_BYTES, 60, 501000);
	ring_nic_commit(nic, 20, NOMINAL_BYTES, 60, 501000);
	ring_nic_advance(nic, 40000000);
	EXPECT(seen.frames == 0 && ring_nic_read_counters(nic)->placeholders == 16);
	free(nic);

	nic = make(&params);
	ring_nic_doorbell(nic, 16, 1000);
	ring_nic_commit(nic, 0, NOMINAL_BYTES, 60, 500999);
	ring_nic_advance(nic, 40000000);
	EXPECT(seen.frames == 1 && seen.frame[0].start_ps == 2001000 && !seen.frame[0].torn);
	free(nic);
}

static void commit_before_the_data_is_a_torn_frame(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);

	ring_nic_doorbell(nic, 16, 0);
	ring_nic_commit(nic, 8, NOMINAL_BYTES, 60, 1000);
	memset(ring_nic_buffer(nic, 8, 1000), 0x5a, 60);
	ring_nic_advance(nic, 40000000);
	EXPECT(seen.frames == 1 && seen.frame[0].torn && ring_nic_read_counters(nic)->torn == 1);
	free(nic);
}

static void frame_not_restored_is_sent_again_after_a_lap(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic = make(&params);

	ring_nic_commit(nic, 5, NOMINAL_BYTES, 60, 0);
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

static void starved_prefetch_leaves_gaps(void)
{
	struct ring_nic_params params = base_params();
	struct ring_nic *nic;

	/* No prefetch: every frame waits for its fetch. */
	params.prefetch_slots = 0;
	nic = make(&params);
	ring_nic_doorbell(nic, 11, 0);
	ring_nic_advance(nic, 100000000);
	EXPECT(ring_nic_read_counters(nic)->underruns == 10 && ring_nic_read_counters(nic)->idle_ps == 10 * 500000);
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
	ring_nic_commit(nic, 5, NOMINAL_BYTES, 60, 0);
	ring_nic_commit(nic, 6, NOMINAL_BYTES, 60, 0);
	ring_nic_doorbell(nic, 16, 0);
	EXPECT(ring_nic_index(nic, start_ps + 6999999) == 6);
	EXPECT(ring_nic_latched(nic) == 11 && ring_nic_locate(nic, start_ps + 6999999).idle);
	EXPECT(ring_nic_locate(nic, start_ps + 6999999).sent_ps == 960000 * 6);
	EXPECT(!ring_nic_locate(nic, start_ps + 7000000).idle);
	EXPECT(seen.frames == 2 && seen.frame[0].start_ps == start_ps - 960000);
	EXPECT(seen.frame[1].start_ps == start_ps + 7000000);
	ring_nic_advance(nic, 40000000);
	EXPECT(ring_nic_read_counters(nic)->pauses == 1 && ring_nic_read_counters(nic)->paused_ps == 7000000);
	EXPECT(ring_nic_read_counters(nic)->underruns == 0 && seen.idle_ps == 7000000);
	free(nic);

	/* At the very start of slot 6 it still comes in time. */
	pause.at_ps = start_ps;
	nic = make(&params);
	ring_nic_set_pauses(nic, &pause, 1);
	ring_nic_doorbell(nic, 16, 0);
	EXPECT(ring_nic_index(nic, start_ps + 7000000 + 959999) == 6 && ring_nic_index(nic, start_ps + 7960000) == 7);
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
	ring_nic_commit(nic, 0, NOMINAL_BYTES, 60, 0);
	ring_nic_doorbell(nic, 16, 0);
	ring_nic_advance(nic, 10000000);
	EXPECT(seen.frames == 1 && seen.frame[0].start_ps == expected && expected >= 2000000 && expected <= 3000000);
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
	frame_not_restored_is_sent_again_after_a_lap();
	descriptor_not_rearmed_stops_the_wire();
	starved_prefetch_leaves_gaps();
	pause_holds_back_the_slot_after_the_one_on_the_wire();
	drawn_values_are_as_described();
	unusable_parameters_are_refused();
	long_silence_is_one_step();
	lazy_and_exact_models_agree();
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
	return failed != 0;
}
