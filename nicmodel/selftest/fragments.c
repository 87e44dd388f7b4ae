/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of several descriptors, with numbers by hand. Slots of 84 bytes on the wire, 672 ns, from
 * 2 us on; a frame of three takes slots 8, 9 and 10 of a ring of 10: descriptors 8, 9 and 0.
 */
#include <stdlib.h>

#include "selftest.h"

enum {
	PARTS = 3,
	FIRST_IDX = 8,
	SLOT_PS = 672000,
	START_PS = 2000000 + FIRST_IDX * SLOT_PS,
	/* latch of slot 8: the end of slot 3 and a fetch; then one slot after the other */
	LATCH_PS = 2000000 + 4 * SLOT_PS + 500000,
	/* slots 0 to 4 are latched, the first of them from descriptor 0 */
	EARLY_PS = 600000,
	TAIL = 16,
	END_PS = 40000000,
};

/* 8 bytes of preamble, 84 + 84 + 64 of the frame and 12 of gap are three slots. */
static const uint32_t part_bytes[PARTS] = { 84, 84, 64 };
static const uint64_t part_start_ps[PARTS + 1] = { START_PS, START_PS + 736000, START_PS + 1408000,
						   START_PS + 2016000 };
static uint8_t frame_data[232];

static struct ring_nic_params slot_params(bool coherent)
{
	struct ring_nic_params params = base_params();

	params.ring_slots = 10;
	params.nominal_bytes = 64;
	params.frame_bytes_max = BUFFER_BYTES;
	params.coherent = coherent;
	return params;
}

static uint32_t index_of(uint32_t part)
{
	return (FIRST_IDX + part) % 10;
}

/* The frame's stores in their order: a fragment each, then the FCS. */
static void commit_store(struct ring_nic *nic, uint32_t store, uint64_t now)
{
	uint32_t at = 84 * store;

	if (store < PARTS) {
		uint32_t fcs = store == PARTS - 1 ? RING_NIC_FCS_BYTES : 0;

		memcpy(ring_nic_buffer(nic, index_of(store), now), frame_data + at,
		       part_bytes[store] - fcs);
		ring_nic_commit_fragment(nic, index_of(store), part_bytes[store],
					 store == PARTS - 1, now);
	} else {
		memset(ring_nic_buffer(nic, index_of(PARTS - 1), now) + 60, 0xfc, 4);
		ring_nic_seal(nic, FIRST_IDX, PARTS, now);
	}
}

static void commit_all(struct ring_nic *nic, uint64_t now)
{
	uint32_t store;

	for (store = 0; store <= PARTS; store++)
		commit_store(nic, store, now);
}

/* What ring slots allow at once, and the rest just before slot 8 is latched: no gap comes of it. */
static void post(struct ring_nic *nic)
{
	ring_nic_doorbell(nic, TAIL, LATCH_PS - 2);
}

static struct ring_nic *make_posted(bool coherent)
{
	struct ring_nic_params params = slot_params(coherent);
	struct ring_nic *nic = make(&params);
	uint32_t i;

	for (i = 0; i < sizeof(frame_data); i++)
		frame_data[i] = (uint8_t)(i * 7 + 1);
	ring_nic_doorbell(nic, 10, 0);
	return nic;
}

static void expect_counters(const struct ring_nic *nic, uint64_t frames, uint64_t placeholders,
			    uint64_t mixed)
{
	const struct ring_nic_counters *counters = ring_nic_read_counters(nic);

	EXPECT(seen.frames == frames && counters->frames == frames);
	EXPECT(counters->placeholders == placeholders);
	EXPECT(counters->mixed == mixed);
	EXPECT(counters->torn == 0 && counters->stale == 0);
}

/* What slots 8 to 15 make of a good frame, or of a mixture, where nothing is late. */
static void expect_grid(const struct ring_nic *nic)
{
	struct ring_nic_slot slot;

	EXPECT(ring_nic_find_slot(nic, FIRST_IDX, &slot) && slot.start_ps == START_PS);
	EXPECT(ring_nic_find_slot(nic, FIRST_IDX + PARTS, &slot));
	EXPECT(slot.start_ps == START_PS + PARTS * SLOT_PS && !slot.continues);
	EXPECT(ring_nic_read_counters(nic)->underruns == 0);
}

static void expect_whole_frame(void)
{
	EXPECT(seen.frame[0].seq == FIRST_IDX && seen.frame[0].desc_idx == FIRST_IDX);
	EXPECT(seen.frame[0].slots == PARTS && seen.frame[0].frame_bytes == 232);
	EXPECT(seen.frame[0].start_ps == START_PS);
	EXPECT(!seen.frame[0].torn && !seen.frame[0].stale);
	EXPECT(seen.digest[0] == slow_digest(frame_data, 228));
}

static void good_frame_has_one_preamble_and_one_gap(void)
{
	struct ring_nic *nic = make_posted(true);
	struct ring_nic_slot slot;
	uint32_t part;

	commit_all(nic, EARLY_PS);
	post(nic);
	ring_nic_advance(nic, END_PS);
	expect_counters(nic, 1, TAIL - PARTS, 0);
	EXPECT(ring_nic_read_counters(nic)->frame_bytes == 232);
	expect_whole_frame();
	expect_grid(nic);
	for (part = 0; part < PARTS; part++) {
		EXPECT(ring_nic_find_slot(nic, FIRST_IDX + part, &slot));
		EXPECT(slot.start_ps == part_start_ps[part] &&
		       slot.pitch_ps == part_start_ps[part + 1] - part_start_ps[part]);
		EXPECT(slot.frame_bytes == part_bytes[part]);
		EXPECT(slot.continues == (part < PARTS - 1));
		EXPECT(slot.latch_ps == LATCH_PS + (uint64_t)part * SLOT_PS);
	}
	EXPECT(ring_nic_completed(nic, part_start_ps[1] - 1) == FIRST_IDX &&
	       ring_nic_completed(nic, part_start_ps[1]) == FIRST_IDX + 1);
	free(nic);
}

/* A moment before the latch of slot 8, between two latches, or after that of slot 10. */
static uint64_t moment(uint32_t latched)
{
	return latched ? LATCH_PS + (uint64_t)(latched - 1) * SLOT_PS + 1000 + latched :
			 LATCH_PS - 1;
}

/*
 * Store i of a commit (withdrawal) is made when @latched[i] of the three were latched: any mixture
 * that a NIC can see, 35 (20) of them. What is on the wire follows from which of the two first
 * descriptors were fragments at their latch.
 */
static void check_mixture(const uint32_t *latched, bool withdraw, bool coherent)
{
	struct ring_nic *nic = make_posted(coherent);
	bool first = withdraw ? latched[0] >= 1 : latched[0] < 1;
	bool second = withdraw ? latched[1] >= 2 : latched[1] < 2;
	bool good =
		first && second && (withdraw ? latched[2] >= 3 : latched[2] < 3 && latched[3] < 3);
	uint32_t store;

	if (withdraw)
		commit_all(nic, EARLY_PS);
	post(nic);
	for (store = 0; store < (withdraw ? PARTS : PARTS + 1); store++) {
		if (withdraw)
			ring_nic_retire(nic, index_of(store), 64, 84, moment(latched[store]));
		else
			commit_store(nic, store, moment(latched[store]));
	}
	EXPECT(memcmp(device_buffers, buffers, coherent ? 0 : sizeof(buffers)) == 0);
	ring_nic_advance(nic, END_PS);
	expect_counters(nic, good,
			TAIL - (first && second ? 3 :
				first || second ? 2 :
						  0),
			(first || second) && !good);
	expect_grid(nic);
	if (good)
		expect_whole_frame();
	free(nic);
}

static void every_mixture_has_a_bad_fcs_and_lasts_as_long(void)
{
	uint32_t latched[PARTS + 1];
	uint32_t i;

	for (i = 0; i < 4 * 4 * 4 * 4; i++) {
		latched[0] = i / 64;
		latched[1] = i / 16 % 4;
		latched[2] = i / 4 % 4;
		latched[3] = i % 4;
		if (latched[0] > latched[1] || latched[1] > latched[2])
			continue;
		if (latched[2] <= latched[3]) {
			check_mixture(latched, false, true);
			check_mixture(latched, false, false);
		}
		if (latched[3] == 3) {
			check_mixture(latched, true, true);
			check_mixture(latched, true, false);
		}
	}
}

static void fcs_before_the_last_fragment_is_none(void)
{
	struct ring_nic *nic = make_posted(true);

	commit_store(nic, 0, EARLY_PS);
	commit_store(nic, 1, EARLY_PS);
	commit_store(nic, 3, EARLY_PS);
	commit_store(nic, 2, EARLY_PS);
	post(nic);
	ring_nic_advance(nic, END_PS);
	expect_counters(nic, 0, TAIL - PARTS, 1);
	free(nic);
}

enum change {
	BYTE_FIRST,
	BYTE_INNER,
	BYTE_FCS,
	LENGTH_INNER,
	LENGTH_LAST,
	LAST_AGAIN,
	OTHER_RANGE,
	SHORT_LAST,
	WHOLE_LAST,
	SEALED_AGAIN,
	CHANGES,
};

/* Whatever is done to a sealed frame takes its FCS away; only a new one mends it. */
static void changed_frame_is_bad_until_sealed_again(void)
{
	enum change change;

	for (change = BYTE_FIRST; change < CHANGES; change++) {
		struct ring_nic *nic = make_posted(true);
		uint32_t last = index_of(PARTS - 1);

		commit_all(nic, EARLY_PS);
		switch (change) {
		case BYTE_FIRST: ring_nic_buffer(nic, FIRST_IDX, EARLY_PS)[0] ^= 1; break;
		case BYTE_INNER: ring_nic_buffer(nic, FIRST_IDX + 1, EARLY_PS)[83] ^= 1; break;
		case BYTE_FCS: ring_nic_buffer(nic, last, EARLY_PS)[63] ^= 1; break;
		case LENGTH_INNER: ring_nic_set_length(nic, FIRST_IDX + 1, 83, EARLY_PS); break;
		case LENGTH_LAST: ring_nic_set_length(nic, last, 64, EARLY_PS); break;
		case LAST_AGAIN: ring_nic_commit_fragment(nic, last, 64, true, EARLY_PS); break;
		case OTHER_RANGE: ring_nic_seal(nic, FIRST_IDX + 1, PARTS - 1, EARLY_PS); break;
		case SHORT_LAST:
			ring_nic_commit_fragment(nic, last, 3, true, EARLY_PS);
			ring_nic_seal(nic, FIRST_IDX, PARTS, EARLY_PS);
			break;
		case WHOLE_LAST:
			ring_nic_commit(nic, last, 64, 60, 60, EARLY_PS);
			ring_nic_seal(nic, FIRST_IDX, PARTS, EARLY_PS);
			break;
		default:
			ring_nic_commit_fragment(nic, last, 64, true, EARLY_PS);
			ring_nic_seal(nic, FIRST_IDX, PARTS, EARLY_PS);
		}
		post(nic);
		ring_nic_advance(nic, END_PS);
		expect_counters(nic, change == SEALED_AGAIN, TAIL - PARTS, change != SEALED_AGAIN);
		free(nic);
	}
}

static void one_fragment_is_an_ordinary_slot(void)
{
	uint8_t changed;

	for (changed = 0; changed < 2; changed++) {
		struct ring_nic *nic = make_posted(true);

		memcpy(ring_nic_buffer(nic, 9, EARLY_PS), frame_data, 60);
		ring_nic_commit_fragment(nic, 9, 64, true, EARLY_PS);
		ring_nic_seal(nic, 9, 1, EARLY_PS);
		ring_nic_buffer(nic, 9, EARLY_PS)[0] ^= changed;
		post(nic);
		ring_nic_advance(nic, END_PS);
		expect_counters(nic, !changed, TAIL - !changed, 0);
		expect_grid(nic);
		if (!changed) {
			EXPECT(seen.frame[0].start_ps == START_PS + SLOT_PS);
			EXPECT(seen.frame[0].slots == 1 && seen.frame[0].frame_bytes == 64);
			EXPECT(seen.digest[0] == slow_digest(frame_data, 60));
		}
		free(nic);
	}
}

/* Slot 8 ends at START_PS + 736 ns; 2 us before that the doorbell for slot 9 is just in time. */
static void doorbell_inside_a_frame_may_come_too_late(void)
{
	uint64_t late;

	for (late = 0; late < 2; late++) {
		struct ring_nic_params params = slot_params(true);
		struct ring_nic *nic = make(&params);

		ring_nic_doorbell(nic, FIRST_IDX + 1, 0);
		commit_all(nic, EARLY_PS);
		ring_nic_doorbell(nic, TAIL, START_PS + 736000 - 2000000 + late);
		ring_nic_advance(nic, END_PS);
		expect_counters(nic, !late, TAIL - PARTS, late);
		EXPECT(ring_nic_read_counters(nic)->underruns == late &&
		       ring_nic_read_counters(nic)->idle_ps == late && seen.idle_ps == late);
		free(nic);
	}
}

static void pause_waits_for_the_end_of_the_frame(void)
{
	struct ring_nic_pause pause = { .at_ps = START_PS + 736000, .idle_ps = 1000000 };
	struct ring_nic *nic = make_posted(true);
	struct ring_nic_slot slot;

	ring_nic_set_pauses(nic, &pause, 1);
	commit_all(nic, EARLY_PS);
	post(nic);
	ring_nic_advance(nic, END_PS);
	expect_counters(nic, 1, TAIL - PARTS, 0);
	expect_whole_frame();
	EXPECT(ring_nic_find_slot(nic, 10, &slot) && slot.start_ps == part_start_ps[2]);
	EXPECT(ring_nic_find_slot(nic, 11, &slot) && slot.start_ps == part_start_ps[3] + 1000000);
	EXPECT(ring_nic_read_counters(nic)->pauses == 1 &&
	       ring_nic_read_counters(nic)->underruns == 0);
	free(nic);
}

static void halt_inside_a_frame_cuts_it(void)
{
	uint32_t latched;

	for (latched = 0; latched <= PARTS; latched++) {
		bool cut = latched == 1 || latched == 2;
		struct ring_nic *nic = make_posted(true);
		uint64_t when;

		commit_all(nic, EARLY_PS);
		post(nic);
		ring_nic_halt(nic, moment(latched));
		ring_nic_halt(nic, END_PS);
		ring_nic_remove(nic, END_PS);
		expect_counters(nic, latched == PARTS, FIRST_IDX, cut);
		EXPECT(!ring_nic_next_frame(nic, &when));
		EXPECT(ring_nic_completed(nic, END_PS) == FIRST_IDX + latched);
		free(nic);
	}
}

/* First to its start, then, if not all of it has been latched, to the start of its last part. */
static void announced_until_it_is_reported(void)
{
	struct ring_nic *nic = make_posted(true);
	uint64_t when;

	commit_store(nic, 0, EARLY_PS);
	commit_store(nic, 1, EARLY_PS);
	commit_store(nic, 2, EARLY_PS);
	EXPECT(!ring_nic_next_frame(nic, &when));
	commit_store(nic, 3, EARLY_PS);
	EXPECT(!ring_nic_next_frame(nic, &when)); /* it ends in slot 10, which is not posted */
	post(nic);
	EXPECT(ring_nic_next_frame(nic, &when) && when == START_PS);
	ring_nic_advance(nic, moment(1));
	EXPECT(ring_nic_next_frame(nic, &when) && when == part_start_ps[2]);
	ring_nic_advance(nic, moment(2));
	EXPECT(ring_nic_next_frame(nic, &when) && when > moment(2) && when <= part_start_ps[2]);
	ring_nic_advance(nic, moment(3));
	EXPECT(!ring_nic_next_frame(nic, &when) && seen.frames == 1);
	free(nic);
}

/* More bytes than the longest frame, and fragments without end, lap after lap. */
static void frame_longer_than_the_longest_is_bad(void)
{
	struct ring_nic_params params = slot_params(true);
	uint64_t now = 0;
	uint64_t tail = 10;
	struct ring_nic *nic;
	uint32_t idx;

	params.frame_bytes_max = 231;
	nic = make(&params);
	ring_nic_doorbell(nic, 10, 0);
	commit_all(nic, EARLY_PS);
	post(nic);
	ring_nic_advance(nic, END_PS);
	expect_counters(nic, 0, TAIL - PARTS, 1);
	free(nic);

	nic = make(&params);
	for (idx = 0; idx < 10; idx++)
		ring_nic_commit_fragment(nic, idx, idx == 9 ? 1000 : 200, false, 0);
	for (; tail <= 1000; tail += 10, now += 30000000)
		ring_nic_doorbell(nic, tail, now);
	ring_nic_retire(nic, 0, 64, 0, now);
	ring_nic_doorbell(nic, 1001, now);
	ring_nic_advance(nic, now + END_PS);
	EXPECT(ring_nic_latched(nic) == 1001);
	expect_counters(nic, 0, 0, 1);
	free(nic);
}

void frames_of_fragments(void)
{
	good_frame_has_one_preamble_and_one_gap();
	every_mixture_has_a_bad_fcs_and_lasts_as_long();
	fcs_before_the_last_fragment_is_none();
	changed_frame_is_bad_until_sealed_again();
	one_fragment_is_an_ordinary_slot();
	doorbell_inside_a_frame_may_come_too_late();
	pause_waits_for_the_end_of_the_frame();
	halt_inside_a_frame_cuts_it();
	announced_until_it_is_reported();
	frame_longer_than_the_longest_is_bad();
}
