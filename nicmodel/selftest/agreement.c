/* SPDX-License-Identifier: BSD-3-Clause */
/* Random operations on the NIC and on the slow model: whatever happens, both say the same. */
#include <stdlib.h>

#include "selftest.h"

enum { ROUNDS = 2000, STEPS = 400 };

/* In half of the rounds fragments may be shorter than a slot can be: history_runs makes room. */
static bool tiny;
/* Frames of several descriptors in all rounds, with a good and with a bad FCS. */
static uint64_t put_together;
static uint64_t mixed;

static uint64_t random_state = 1;
static struct slow_nic slow;

static uint64_t draw(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
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
	params.clobbers = !params.persistent && draw(2);
	params.coherent = draw(2);
	params.seed = draw(1000000);
	params.frame_bytes_max = draw(2) ? 200 : BUFFER_BYTES;
	if (params.fifo_bytes)
		params.fifo_bytes += params.frame_bytes_max - 200;
	tiny = draw(2);
	params.history_runs = tiny ? 2048 : 0;
	return params;
}

static void compare_past(struct ring_nic *nic)
{
	const struct ring_nic_counters *counters = ring_nic_read_counters(nic);
	uint64_t frames = 0;
	uint64_t idle_ps = 0;
	uint64_t paused_ps = 0;
	uint64_t torn = 0;
	uint64_t stale = 0;
	uint64_t gap_ps = 0;
	uint64_t bad_alone = 0;
	uint64_t bad_together = 0;
	uint64_t k;

	for (k = 0; k < slow.latched; k++) {
		const struct slow_slot *slot = &slow.slot[k];

		if (k > 0)
			idle_ps += slot->ready_ps - slow.slot[k - 1].end_ps;
		if (k > 0)
			gap_ps += slot->start_ps - slow.slot[k - 1].end_ps;
		paused_ps += slot->start_ps - slot->ready_ps;
		if (slot->continues)
			continue;
		if (!slot->real) {
			bad_alone += slot->first == k;
			bad_together += slot->first < k;
			continue;
		}
		EXPECT(frames < seen.frames && seen.frame[frames].seq == slot->first);
		EXPECT(seen.frame[frames].start_ps == slow.slot[slot->first].start_ps);
		EXPECT(seen.frame[frames].desc_idx == slot->first % slow.params.ring_slots);
		EXPECT(seen.frame[frames].frame_bytes == slot->total &&
		       seen.frame[frames].slots == k - slot->first + 1);
		EXPECT(slot->digest == 0 || seen.digest[frames] == slot->digest);
		put_together += slot->first < k;
		EXPECT(seen.frame[frames].torn == slot->torn &&
		       seen.frame[frames].stale == slot->stale);
		torn += slot->torn;
		stale += slot->stale;
		frames++;
	}
	EXPECT(seen.frames == frames && counters->frames == frames);
	bad_together += slow.halted && slow.latched && slow.slot[slow.latched - 1].continues;
	mixed += bad_together;
	EXPECT(counters->placeholders == bad_alone && counters->mixed == bad_together);
	EXPECT(counters->idle_ps == idle_ps && counters->paused_ps == paused_ps &&
	       seen.idle_ps == gap_ps);
	EXPECT(counters->underruns <= seen.idles &&
	       seen.idles <= counters->underruns + counters->pauses);
	EXPECT(counters->halts == slow.halts && counters->clobbered == slow.clobbered);
	EXPECT(counters->torn == torn && counters->stale == stale);
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
		EXPECT(slow.slot[seq + alike].end_ps ==
		       slow.slot[seq + alike].start_ps + slot.pitch_ps);
		EXPECT(slow.slot[seq + alike].frame_bytes == slot.frame_bytes);
		EXPECT(slow.slot[seq + alike].continues == slot.continues);
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
	EXPECT(ring_nic_present(nic) == !slow.gone);
	if (slow.gone)
		now = slow.gone_ps;
	for (k = 0; k < slow.latched && slow.slot[k].end_ps <= now; k++)
		sent_ps += slow.slot[k].end_ps - slow.slot[k].start_ps;
	EXPECT(position.seq == k && ring_nic_completed(nic, now) == k);
	EXPECT(position.idle == (slow.gone || k >= slow.latched || slow.slot[k].start_ps > now));
	if (k < slow.latched && slow.slot[k].start_ps <= now) {
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

/*
 * The announced time is not after the start of the next frame, or of its last fragment if the first
 * is latched, and looking again at it never stands still.
 */
static void compare_next_frame(struct ring_nic *nic, uint64_t *now)
{
	uint64_t before;
	uint64_t latched; /* when it was announced */
	uint64_t when;
	int looks;

	ring_nic_advance(nic, *now);
	slow_advance(&slow, *now);
	before = seen.frames;
	latched = slow.latched;
	for (looks = 0; looks < 8 && ring_nic_next_frame(nic, &when) && seen.frames == before;
	     looks++) {
		EXPECT(when > *now);
		latched = slow.latched;
		*now = when;
		ring_nic_advance(nic, when);
		slow_advance(&slow, when);
	}
	if (seen.frames > before && looks) {
		const struct ring_nic_frame *frame = &seen.frame[before];
		uint64_t last = frame->seq + frame->slots - 1;

		EXPECT(slow.slot[frame->seq < latched ? last : frame->seq].start_ps >= *now);
	}
}

static uint8_t *slow_memory(uint32_t idx)
{
	return (slow.params.coherent ? buffers : device_buffers) + idx * BUFFER_BYTES;
}

/*
 * Some bytes are written, some of them (not coherent) written back. The buffer is one for both
 * models: time passes first.
 */
static void random_commit(struct ring_nic *nic, uint32_t idx, uint32_t bytes, uint64_t now)
{
	uint32_t written = draw(2) ? 60 : (uint32_t)draw(BUFFER_BYTES + 10);

	slow_advance(&slow, now);
	ring_nic_buffer(nic, idx, now)[draw(draw(2) ? 60 : BUFFER_BYTES)] = (uint8_t)draw(256);
	ring_nic_commit(nic, idx, bytes, 60, written, now);
	slow_commit(&slow, idx, bytes, 60, now);
}

static void random_retire(struct ring_nic *nic, uint32_t idx, uint32_t bytes, uint64_t now)
{
	uint32_t data_bytes = draw(2) ? 60 : (uint32_t)draw(BUFFER_BYTES + 10);
	uint32_t i;

	if (draw(2))
		bytes = NOMINAL_BYTES;
	slow_describe(&slow, idx, bytes, false, now);
	ring_nic_retire(nic, idx, bytes, data_bytes, now);
	for (i = 0; i < data_bytes && i < BUFFER_BYTES; i++)
		EXPECT(buffers[idx * BUFFER_BYTES + i] == 0 && slow_memory(idx)[i] == 0);
}

/* Lengths that were overwritten are said again before the hand-over, most of the time. */
static void random_rearm(struct ring_nic *nic, uint64_t now)
{
	uint32_t slots = slow.params.ring_slots;
	uint32_t idx;

	if (!slots)
		return;
	for (idx = 0; idx < slots; idx++) {
		if (slow.length[idx] == 0 && draw(40)) {
			uint32_t bytes = draw(2) ? NOMINAL_BYTES : 60 + (uint32_t)draw(150);

			if (slow.part[idx] != SLOW_ALONE)
				bytes += 24;
			ring_nic_set_length(nic, idx, bytes, now);
			slow_set_length(&slow, idx, bytes, now);
		}
	}
	ring_nic_rearm(nic, (uint32_t)(slow.latched % slots), slots, now);
	slow_rearm(&slow, (uint32_t)(slow.latched % slots), slots, now);
}

static void random_doorbell(struct ring_nic *nic, uint64_t now)
{
	uint32_t slots = slow.params.ring_slots;
	uint64_t tail;

	slow_advance(&slow, now);
	tail = slow.tail_seq + draw(8);
	if (draw(3) == 0 || tail > slow.latched + slots)
		tail = slow.latched + slots + (draw(20) == 0);
	if (draw(8))
		random_rearm(nic, now);
	ring_nic_doorbell(nic, tail, now);
	slow_doorbell(&slow, tail, now);
}

/* A while in which the NIC may fetch, and seldom a doorbell in the middle of a frame. */
static void between_stores(struct ring_nic *nic, uint64_t *now)
{
	*now += draw(3) ? draw(300000) : draw(2) * draw(4000000);
	if (draw(12) == 0)
		random_doorbell(nic, *now);
}

/* Descriptors from @first on become fragments, store by store, in one order or the other. */
static void random_fragments(struct ring_nic *nic, uint32_t first, uint32_t fragments,
			     uint64_t *now)
{
	uint32_t slots = slow.params.ring_slots;
	bool backwards = draw(4) == 0;
	uint32_t i;

	for (i = 0; i < fragments; i++) {
		uint32_t part = backwards ? fragments - 1 - i : i;
		uint32_t idx = (first + part) % slots;
		uint32_t bytes = tiny ? (uint32_t)draw(70) : 84 + (uint32_t)draw(draw(3) ? 4 : 180);
		bool last = (part == fragments - 1) != (draw(60) == 0);

		if (draw(8) ==
		    0) /* as a continuation that ends its frame it has the nominal pitch */
			bytes = NOMINAL_BYTES + RING_NIC_PREAMBLE_BYTES;

		slow_advance(&slow, *now);
		ring_nic_buffer(nic, idx, *now)[draw(60)] = (uint8_t)draw(256);
		ring_nic_commit_fragment(nic, idx, bytes, last, *now);
		slow_commit_fragment(&slow, idx, bytes, last, *now);
		between_stores(nic, now);
	}
}

/* A frame is written, most of the time right, and in half of the cases withdrawn later. */
static void random_run(struct ring_nic *nic, uint64_t *now)
{
	uint32_t slots = slow.params.ring_slots;
	uint32_t first = (uint32_t)((slow.latched + draw(draw(2) ? 4 : slots)) % slots);
	uint32_t fragments = 1 + (uint32_t)draw(tiny ? 6 : 3);
	uint32_t i;

	if (fragments > slots)
		fragments = slots;
	random_fragments(nic, first, fragments, now);
	if (draw(20) == 0) /* an FCS over others than these */
		fragments = 1 + (uint32_t)draw(slots);
	slow_advance(&slow, *now);
	ring_nic_buffer(nic, (first + fragments - 1) % slots, *now)[draw(60)] = (uint8_t)draw(256);
	ring_nic_seal(nic, first, fragments, *now);
	slow_seal(&slow, first, fragments, *now);
	between_stores(nic, now);
	if (draw(2))
		return;
	*now += draw(2) * draw(9000000);
	for (i = 0; i < fragments; i++) {
		random_retire(nic, (first + i) % slots, 64 + (uint32_t)draw(100), *now);
		between_stores(nic, now);
	}
}

/* The end of the NIC's life, and an index that stands still meanwhile: seldom. */
static void random_fault(struct ring_nic *nic, uint64_t now)
{
	switch (draw(200)) {
	case 0:
		ring_nic_halt(nic, now);
		slow_halt(&slow, now);
		break;
	case 1:
		ring_nic_remove(nic, now);
		slow_remove(&slow, now);
		break;
	default:
		ring_nic_advance(nic, now);
		slow_advance(&slow, now);
		slow_freeze_index(&slow, !slow.index_frozen && !draw(3));
		ring_nic_freeze_index(nic, slow.index_frozen);
	}
}

static void random_step(struct ring_nic *nic, uint64_t *now)
{
	uint32_t idx = (uint32_t)draw(slow.params.ring_slots);
	uint32_t bytes = 60 + (uint32_t)draw(150);
	uint64_t gap = draw(10);

	*now += gap < 3 ? 0 : gap < 8 ? draw(1000000) : draw(40000000);
	switch (draw(11)) {
	case 0: random_commit(nic, idx, bytes, *now); break;
	case 1: random_retire(nic, idx, bytes, *now); break;
	case 2:
		if (slow.part[idx] != SLOW_ALONE && !tiny)
			bytes += 24;
		ring_nic_set_length(nic, idx, bytes, *now);
		slow_set_length(&slow, idx, bytes, *now);
		break;
	/* a byte that may be committed changes in memory: torn if it comes before the latch */
	case 3:
		slow_advance(&slow, *now);
		ring_nic_buffer(nic, idx, *now)[draw(60)] ^= (uint8_t)draw(2);
		slow_memory(idx)[draw(60)] ^= (uint8_t)draw(2);
		break;
	case 4: compare_now(nic, *now); break;
	case 5: compare_next_frame(nic, now); break;
	case 6: random_fault(nic, *now); break;
	case 7:
	case 8: random_run(nic, now); break;
	default: random_doorbell(nic, *now);
	}
}

/*
 * In two out of three rounds the wire is paused now and then, also twice at once and before it ever
 * ran.
 */
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

void lazy_and_exact_models_agree(void)
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
	EXPECT(put_together > 5000 && mixed > 5000);
}
