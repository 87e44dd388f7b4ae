/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * insert: which slot a txtime gets and who may have it. Paper mode on a ring of 32 slots of 10 us
 * with batches of 8 unless said otherwise, so that every number is the paper's: slot k starts at k
 * x 10 us.
 */
#include "exact_nic.h"

#define SLOT_NS 10000ll
#define START_NS 1000000ll /* PHC time of slot 0 */

enum { RING = 32, BATCH = 8 };

static struct exact_nic nic;

/* The wire at slot 4, polled there: head 4, window [12, 36). */
static void start_at_slot_4(u32 batch_slots)
{
	exact_nic_paper(&nic, RING, batch_slots);
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
}

static s64 slot_time(s64 slot)
{
	return START_NS + slot * SLOT_NS;
}

static enum kpn_verdict submit(struct kpn_frame *frame, u8 tag, u8 tc, s64 txtime_ns)
{
	*frame = exact_frame(tag, 200, tc, txtime_ns);
	return kpn_pacer_submit(nic.pacer, frame);
}

struct time_vector {
	int line;
	s64 txtime_ns;
	enum kpn_verdict verdict;
	u64 seq; /* of a pending frame */
};

/* C1, C3: index = ((t - offset) / period) mod N within [c + batch, c + N); c = 4. */
static const struct time_vector time_vectors[] = {
	/* c + batch - 1 is refused to its last nanosecond, c + batch accepted from its first */
	{ __LINE__, START_NS + 11 * SLOT_NS, KPN_VERDICT_LATE, 0 },
	{ __LINE__, START_NS + 12 * SLOT_NS - 1, KPN_VERDICT_LATE, 0 },
	{ __LINE__, START_NS + 12 * SLOT_NS, KPN_VERDICT_PENDING, 12 },
	{ __LINE__, START_NS + 13 * SLOT_NS - 1, KPN_VERDICT_PENDING, 12 },
	{ __LINE__, START_NS + 13 * SLOT_NS, KPN_VERDICT_PENDING, 13 },
	{ __LINE__, START_NS + 20 * SLOT_NS + 5000, KPN_VERDICT_PENDING, 20 },
	/* wrap: slot 32 is descriptor 0 */
	{ __LINE__, START_NS + 31 * SLOT_NS, KPN_VERDICT_PENDING, 31 },
	{ __LINE__, START_NS + 32 * SLOT_NS, KPN_VERDICT_PENDING, 32 },
	/* c + N - 1 accepted, c + N refused */
	{ __LINE__, START_NS + 35 * SLOT_NS, KPN_VERDICT_PENDING, 35 },
	{ __LINE__, START_NS + 36 * SLOT_NS - 1, KPN_VERDICT_PENDING, 35 },
	{ __LINE__, START_NS + 36 * SLOT_NS, KPN_VERDICT_TOO_EARLY, 0 },
	/* early by whole rings: the same descriptor, another lap */
	{ __LINE__, START_NS + (12 + RING) * SLOT_NS, KPN_VERDICT_TOO_EARLY, 0 },
	{ __LINE__, START_NS + (20 + 1000 * RING) * SLOT_NS, KPN_VERDICT_TOO_EARLY, 0 },
	{ __LINE__, 4000000000000000000ll, KPN_VERDICT_TOO_EARLY, 0 },
	/* past: the present slot, before the start, long ago */
	{ __LINE__, START_NS + 4 * SLOT_NS, KPN_VERDICT_LATE, 0 },
	{ __LINE__, START_NS, KPN_VERDICT_LATE, 0 },
	{ __LINE__, START_NS - 1, KPN_VERDICT_LATE, 0 },
	{ __LINE__, START_NS + (20 - RING) * SLOT_NS, KPN_VERDICT_LATE, 0 },
	{ __LINE__, 0, KPN_VERDICT_LATE, 0 },
};

static void test_slot_of_a_txtime(struct kpn_selftest *t)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(time_vectors); i++) {
		const struct time_vector *vector = &time_vectors[i];
		struct kpn_frame frame;

		start_at_slot_4(BATCH);
		KPN_EXPECT_EQ_AT(t, vector->line, submit(&frame, 1, 0, vector->txtime_ns),
				 vector->verdict);
		if (vector->verdict != KPN_VERDICT_PENDING) {
			KPN_EXPECT_EQ_AT(t, vector->line, nic.commits, 0);
			KPN_EXPECT_EQ_AT(t, vector->line,
					 kpn_pacer_stats(nic.pacer)->verdicts[vector->verdict], 1);
			continue;
		}
		exact_nic_run(&nic, (RING + 4) * SLOT_NS);
		KPN_EXPECT_EQ_AT(t, vector->line, nic.log_count, 1);
		KPN_EXPECT_EQ_AT(t, vector->line, nic.log[0].seq, vector->seq);
		KPN_EXPECT_EQ_AT(t, vector->line, nic.log[0].intact, true);
		KPN_EXPECT_EQ_AT(t, vector->line, nic.outcomes[KPN_VERDICT_ON_TIME], 1);
		KPN_EXPECT_EQ_AT(t, vector->line, nic.unsafe_writes, 0);
	}
}

/*
 * The prototype checked against the head of the last poll: after a late poll it wrote into slots
 * already sent.
 */
static void test_window_moves_with_the_wire_not_with_the_poll(struct kpn_selftest *t)
{
	struct kpn_frame frame;

	start_at_slot_4(BATCH);
	exact_nic_go(&nic, 3 * SLOT_NS); /* the wire is at slot 7, no poll */
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(14)), KPN_VERDICT_LATE);
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(15)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, kpn_pacer_window(nic.pacer, nic.now_ns).first_seq, 15);
	KPN_EXPECT_EQ(t, kpn_pacer_window(nic.pacer, nic.now_ns).end_seq, 36);
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
}

/* C4: L_min = batch x slot time before the slot, to the slot in which the call falls. */
static void test_minimum_lead(struct kpn_selftest *t)
{
	struct kpn_frame frame;

	start_at_slot_4(BATCH);   /* 1 us into slot 4 */
	exact_nic_go(&nic, 8000); /* 0.2 us of reading, 0.5 us of unknown restart: slot 4 still */
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(12)), KPN_VERDICT_PENDING);
	start_at_slot_4(BATCH);
	exact_nic_go(&nic, 9500);
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(12)), KPN_VERDICT_LATE);
}

/*
 * The copy takes so long that the slot is gone: it stays a placeholder, and what was copied is gone
 * again.
 */
static void test_slot_lost_while_copying_stays_a_placeholder(struct kpn_selftest *t)
{
	struct kpn_frame frame;
	u32 desc;
	u32 i;

	start_at_slot_4(BATCH);
	nic.copy_ns = 2 * SLOT_NS;
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(12)), KPN_VERDICT_LATE);
	KPN_EXPECT_EQ(t, nic.commits, 0);
	desc = 12 % RING;
	for (i = 0; i < 1230; i++)
		KPN_EXPECT_EQ(t, nic.buffers[desc][i], 0);
	nic.copy_ns = 0;
	KPN_EXPECT_EQ(t, submit(&frame, 2, 0, slot_time(20)), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 40 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
	KPN_EXPECT_EQ(t, nic.log_count, 1);
	KPN_EXPECT_EQ(t, nic.log[0].seq, 20);
}

/* C2, C28: check 1 is the last defence against two frames for one slot. */
static void test_second_frame_for_a_slot_is_refused(struct kpn_selftest *t)
{
	struct kpn_frame first;
	struct kpn_frame second;

	start_at_slot_4(BATCH);
	KPN_EXPECT_EQ(t, submit(&first, 1, 0, slot_time(20)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(&second, 2, 0, slot_time(20) + 9999), KPN_VERDICT_OCCUPIED);
	KPN_EXPECT_EQ(t, nic.commits, 1);
	exact_nic_run(&nic, 40 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 1);
	KPN_EXPECT_EQ(t, nic.log[0].tag, 1);
}

/* C5, C7: class 1 may use even slots only; every refusal has a verdict and a counter of its own. */
static void test_slot_of_another_class_is_refused(struct kpn_selftest *t)
{
	static u16 masks[RING];
	struct kpn_frame frame;
	u32 i;

	for (i = 0; i < RING; i++)
		masks[i] = i % 2 ? 1 << 0 : 1 << 1;
	exact_nic_paper(&nic, RING, BATCH);
	nic.config.allowed = masks;
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(20)), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(&frame, 1, 1, slot_time(21)), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(&frame, 1, 5, slot_time(21)), KPN_VERDICT_NOT_ALLOWED);
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(21)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, kpn_pacer_stats(nic.pacer)->verdicts[KPN_VERDICT_NOT_ALLOWED], 3);
	/* C18: best effort of class 1 is placed in its own slots, past a nearer one of class 0 */
	KPN_EXPECT_EQ(t, submit(&frame, 2, 1, -1), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 40 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 2);
	KPN_EXPECT_EQ(t, nic.log[0].seq % 2, 0);
	KPN_EXPECT_EQ(t, nic.log[0].tag, 2);
	KPN_EXPECT_EQ(t, nic.log[1].seq, 21);
}

/* C8, Figure 5: submitted 8, 4, 5 they leave 4, 5, 8 - twelve later, to be within the window. */
static void test_later_submission_with_earlier_time_leaves_first(struct kpn_selftest *t)
{
	static const u8 slots[] = { 20, 16, 17 };
	struct kpn_frame frames[3];
	u32 i;

	start_at_slot_4(BATCH);
	for (i = 0; i < 3; i++)
		KPN_EXPECT_EQ(t, submit(&frames[i], (u8)(slots[i] - 12), 0, slot_time(slots[i])),
			      KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 40 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 3);
	KPN_EXPECT_EQ(t, nic.log[0].tag, 4);
	KPN_EXPECT_EQ(t, nic.log[1].tag, 5);
	KPN_EXPECT_EQ(t, nic.log[2].tag, 8);
	KPN_EXPECT_EQ(t, nic.log[1].start_ps - nic.log[0].start_ps, 10000000);
	KPN_EXPECT_EQ(t, nic.log[2].start_ps - nic.log[1].start_ps, 30000000);
}

/*
 * C6, C13: a short frame after a long one in the same descriptor: full slot on the wire, nothing of
 * the long one.
 */
static void test_no_byte_of_an_earlier_frame_is_sent_again(struct kpn_selftest *t)
{
	struct kpn_frame frame = exact_frame(9, 1230, 0, slot_time(20));
	u32 i;

	start_at_slot_4(BATCH);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 30 * SLOT_NS);
	frame = exact_frame(3, 64, 0, slot_time(20 + RING));
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 30 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 2);
	for (i = 0; i < 2; i++) {
		KPN_EXPECT_EQ(t, nic.log[i].intact, true);
		KPN_EXPECT_EQ(t, nic.log[i].frame_bytes, 1230);
	}
	KPN_EXPECT_EQ(t, nic.log[1].seq - nic.log[0].seq, RING);
	/* and once completed, the buffer is all zero */
	for (i = 0; i < EXACT_BUFFER_BYTES; i++) {
		if (!KPN_EXPECT_EQ(t, nic.buffers[20][i], 0))
			break;
	}
}

/* C16: strict never sends late, whatever the reason. */
static void test_strict_drops(struct kpn_selftest *t)
{
	struct kpn_frame frames[3];

	start_at_slot_4(BATCH);
	KPN_EXPECT_EQ(t, submit(&frames[0], 1, 0, slot_time(20)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, submit(&frames[1], 2, 0, slot_time(20)), KPN_VERDICT_OCCUPIED);
	KPN_EXPECT_EQ(t, submit(&frames[2], 3, 0, slot_time(5)), KPN_VERDICT_LATE);
	exact_nic_run(&nic, 80 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 1);
	KPN_EXPECT_EQ(t, kpn_pacer_stats(nic.pacer)->submitted, 3);
	KPN_EXPECT_EQ(t, kpn_stats_ended(kpn_pacer_stats(nic.pacer)), 3);
}

/*
 * C24, P10: too long for a slot is refused, the longest that fits is sent whole; malformed frames
 * are distinguished.
 */
static void test_oversize_and_malformed(struct kpn_selftest *t)
{
	struct kpn_frame frame;

	start_at_slot_4(BATCH);
	frame = exact_frame(1, 1231, 0, slot_time(20));
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_OVERSIZE);
	frame = exact_frame(1, 1230, 0, slot_time(20));
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_PENDING);
	frame = exact_frame(1, 17, 0, slot_time(21));
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_INVALID);
	frame = exact_frame(1, 200, KPN_CLASS_COUNT, slot_time(21));
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_INVALID);
	frame = exact_frame(1, 200, 0, slot_time(21));
	frame.txtime_ns = -1;
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_INVALID);
	KPN_EXPECT_EQ(t, nic.commits, 1);
	/*
	 * phase-locked, every slot may be trimmed: the longest real frame is a slot less the trim
	 */
	exact_nic_prepare(&nic);
	exact_nic_start(&nic, START_NS);
	frame = exact_frame(1, 1223, 0, -1);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_OVERSIZE);
	frame = exact_frame(1, 1222, 0, -1);
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_PENDING);
}

/*
 * C26, F1-F3: early frames fail at the ring, wait in the pre-buffer where there is one, and leave
 * sorted.
 */
static void test_early_frames_wait_and_leave_in_txtime_order(struct kpn_selftest *t)
{
	static const u8 slots[] = { 90, 50, 70, 60, 80 };
	struct kpn_frame frames[6];
	u32 i;

	exact_nic_paper(&nic, RING, BATCH);
	nic.config.prebuffer_frames = 5;
	exact_nic_start(&nic, START_NS);
	exact_nic_poll(&nic, 500 + 4 * SLOT_NS + 1000);
	for (i = 0; i < 5; i++)
		KPN_EXPECT_EQ(t, submit(&frames[i], slots[i] / 10, 0, slot_time(slots[i])),
			      KPN_VERDICT_PENDING);
	/* bounded: the sixth of the class has no room, one of another class has */
	KPN_EXPECT_EQ(t, submit(&frames[5], 1, 0, slot_time(100)), KPN_VERDICT_NO_ROOM);
	KPN_EXPECT_EQ(t, kpn_pacer_stats(nic.pacer)->prebuffered, 5);
	KPN_EXPECT_EQ(t, kpn_pacer_state(nic.pacer, nic.now_ns).pending, 5);
	KPN_EXPECT_EQ(t, nic.commits, 0);
	exact_nic_run(&nic, 120 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 5);
	for (i = 0; i < 5; i++) {
		KPN_EXPECT_EQ(t, nic.log[i].tag, 5 + i);
		KPN_EXPECT_EQ(t, nic.log[i].seq, 50 + 10 * i);
	}
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 5);
}

/*
 * C29: a slot that was sent but not polled belongs to nobody: its txtime is past, its next lap
 * beyond the window.
 */
static void test_sent_slot_is_not_free_before_the_poll(struct kpn_selftest *t)
{
	struct kpn_frame frame;

	start_at_slot_4(BATCH);
	exact_nic_go(&nic, 4 * SLOT_NS); /* slots 4-7 were sent, the poll has not come */
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(5)), KPN_VERDICT_LATE);
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(5 + RING)), KPN_VERDICT_TOO_EARLY);
	exact_nic_poll(&nic, 0);
	KPN_EXPECT_EQ(t, submit(&frame, 1, 0, slot_time(5 + RING)), KPN_VERDICT_PENDING);
	KPN_EXPECT_EQ(t, nic.unsafe_writes, 0);
}

/* A27, C21: submit reads no index and rings no doorbell. */
static void test_submit_touches_no_register(struct kpn_selftest *t)
{
	struct kpn_frame frames[4];
	u32 doorbells;
	u32 reads;

	start_at_slot_4(BATCH);
	doorbells = nic.doorbells;
	reads = nic.index_reads;
	submit(&frames[0], 1, 0, slot_time(20));
	submit(&frames[1], 2, 0, slot_time(2));
	submit(&frames[2], 3, 0, slot_time(90));
	submit(&frames[3], 4, 0, -1);
	KPN_EXPECT_EQ(t, nic.commits, 2);
	KPN_EXPECT_EQ(t, nic.doorbells, doorbells);
	KPN_EXPECT_EQ(t, nic.index_reads, reads);
}

/* IEEE 802.3 clause 3.2.9, bit by bit, lowest bit first. */
static u32 crc_bit(u32 state, u32 bit)
{
	return state >> 1 ^ ((state ^ bit) & 1 ? 0xedb88320u : 0);
}

static u32 crc_bytes(u32 state, const u8 *data, u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes * 8; i++)
		state = crc_bit(state, data[i / 8] >> i % 8 & 1);
	return state;
}

/*
 * The four bytes that lead from one register state to another: run backwards, each step's feedback
 * is in its top bit.
 */
static void crc_bridge(u32 from, u32 to, u8 *bytes)
{
	u32 feedback = 0;
	u32 i;

	for (i = 0; i < 32; i++) {
		u32 fed = to >> 31;

		to = (to ^ (fed ? 0xedb88320u : 0)) << 1;
		feedback = feedback << 1 | fed;
	}
	/* a bit is its feedback and the lowest bit of the state it meets */
	memset(bytes, 0, 4);
	for (i = 0; i < 32; i++) {
		u32 bit = (from ^ feedback >> i) & 1;

		bytes[i / 8] |= (u8)(bit << i % 8);
		from = crc_bit(from, bit);
	}
}

/*
 * A24, P3: the prototype took "FCS field = 0" for "placeholder". Here a frame is what was
 * committed, so one whose true FCS is 0 is sent and completed like any other.
 */
static void test_frame_whose_fcs_is_zero_is_sent(struct kpn_selftest *t)
{
	static u8 data[60];
	struct kpn_frame frame;

	/* the FCS is the complement of the register, which starts as all ones */
	memset(data, 0x5a, sizeof(data));
	crc_bridge(crc_bytes(0xffffffff, data, 56), 0xffffffff, &data[56]);
	KPN_EXPECT_EQ(t, crc_bytes(0xffffffff, (const u8 *)"123456789", 9), (u32)~0xcbf43926);
	KPN_EXPECT_EQ(t, (u32)~crc_bytes(0xffffffff, data, sizeof(data)), 0);

	start_at_slot_4(BATCH);
	frame = (struct kpn_frame){ .data = data,
				    .frame_bytes = 64,
				    .flags = KPN_FRAME_TXTIME,
				    .txtime_ns = slot_time(20) };
	KPN_EXPECT_EQ(t, kpn_pacer_submit(nic.pacer, &frame), KPN_VERDICT_PENDING);
	exact_nic_run(&nic, 40 * SLOT_NS);
	KPN_EXPECT_EQ(t, nic.log_count, 1);
	KPN_EXPECT_EQ(t, nic.log[0].seq, 20);
	KPN_EXPECT_EQ(t, nic.outcomes[KPN_VERDICT_ON_TIME], 1);
	KPN_EXPECT(t, nic.last_outcome == &frame);
}

void kpn_test_insert(struct kpn_selftest *t)
{
	test_slot_of_a_txtime(t);
	test_window_moves_with_the_wire_not_with_the_poll(t);
	test_minimum_lead(t);
	test_slot_lost_while_copying_stays_a_placeholder(t);
	test_second_frame_for_a_slot_is_refused(t);
	test_slot_of_another_class_is_refused(t);
	test_later_submission_with_earlier_time_leaves_first(t);
	test_no_byte_of_an_earlier_frame_is_sent_again(t);
	test_strict_drops(t);
	test_oversize_and_malformed(t);
	test_early_frames_wait_and_leave_in_txtime_order(t);
	test_sent_slot_is_not_free_before_the_poll(t);
	test_submit_touches_no_register(t);
	test_frame_whose_fcs_is_zero_is_sent(t);
}
