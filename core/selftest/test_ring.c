/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ring: completed slots as in Figure 5 of the KeepON paper, and random histories against a list of
 * slots one by one.
 */
#include "keepon/ring.h"

#include "selftest.h"

#define SLOT_PS 10000000ull

enum { MEMORY_SLOTS = KPN_RING_SLOTS_MAX, STEPS = 3000 };

static struct kpn_slot memory[MEMORY_SLOTS];

/* Head to @to as `pacer` does it: over claimed slots and trims. Returns frames released. */
static u32 pass_all(struct kpn_ring *ring, u64 to)
{
	u32 released = 0;

	while (ring->head.seq != to) {
		u64 claimed = kpn_ring_next(ring, &ring->claimed, ring->head.seq, to);
		u64 trimmed = kpn_ring_next(ring, &ring->trimmed, ring->head.seq, to);
		u64 next = claimed < trimmed ? claimed : trimmed;
		u32 desc;
		s64 delta_ps;

		kpn_ring_skip(ring, &ring->head, next);
		if (next == to)
			break;
		desc = ring->head.desc;
		delta_ps = ring->slot[desc].delta_ps;
		if (next == claimed) {
			kpn_ring_release(ring, desc);
			released++;
		}
		kpn_ring_step(ring, &ring->head, delta_ps);
		if (delta_ps)
			kpn_ring_forget_delta(ring, desc);
	}
	if (ring->index_seq < to) {
		ring->index_seq = to;
		ring->index_ps = ring->head.ps;
	}
	if (ring->plan.seq < to)
		ring->plan = ring->head;
	return released;
}

static void post(struct kpn_ring *ring, u32 count)
{
	kpn_ring_skip(ring, &ring->tail, ring->tail.seq + count);
}

/*
 * A10, A19: indices start at 0 and at the batch; 2 -> 5 completes three slots; and the wrap of
 * twelve.
 */
static void test_figure_5(struct kpn_selftest *t)
{
	struct kpn_frame frame = { .slots = 1 };
	struct kpn_ring ring;

	kpn_ring_init(&ring, memory, 12, SLOT_PS);
	KPN_EXPECT_EQ(t, ring.head.seq, 0);
	post(&ring, 4);
	KPN_EXPECT_EQ(t, ring.tail.seq, 4);
	KPN_EXPECT_EQ(t, kpn_ring_desc(&ring, ring.tail.seq), 4);
	KPN_EXPECT_EQ(t, pass_all(&ring, 2), 0);
	post(&ring, 3);
	KPN_EXPECT_EQ(t, ring.head.desc, 2);
	kpn_ring_claim(&ring, 3, 3, &frame, false);
	KPN_EXPECT_EQ(t, pass_all(&ring, 5), 1);
	KPN_EXPECT_EQ(t, ring.head.seq, 5);
	KPN_EXPECT_EQ(t, ring.head.desc, 5);
	KPN_EXPECT_EQ(t, ring.head.ps, 5 * SLOT_PS);
	KPN_EXPECT_EQ(t, ring.claimed_count, 0);
	/* wrap-around: 10 -> 1 are three slots too */
	post(&ring, 10);
	KPN_EXPECT_EQ(t, ring.tail.desc, 5);
	pass_all(&ring, 10);
	kpn_ring_claim(&ring, 12, 0, &frame, true); /* descriptor 0 */
	KPN_EXPECT_EQ(t, kpn_ring_desc(&ring, 12), 0);
	KPN_EXPECT_EQ(t, kpn_ring_next(&ring, &ring.claimed, 10, 13), 12);
	KPN_EXPECT_EQ(t, kpn_ring_next(&ring, &ring.yielding, 10, 13), 12);
	KPN_EXPECT_EQ(t, ring.yielding_count, 1);
	KPN_EXPECT_EQ(t, pass_all(&ring, 13), 1);
	KPN_EXPECT_EQ(t, ring.head.desc, 1);
	KPN_EXPECT_EQ(t, ring.head.seq, 13);
	KPN_EXPECT_EQ(t, ring.head.ps, 13 * SLOT_PS);
	KPN_EXPECT_EQ(t, ring.yielding_count, 0);
}

/*
 * struct model - every slot of a lap by its sequence number modulo ring size; @head_ps was found by
 * adding up lengths
 */
struct model {
	u32 slots;
	u64 head_seq;
	u64 index_seq;
	u64 tail_seq;
	u64 head_ps;
	s64 delta_ps[KPN_RING_SLOTS_MAX];
	struct kpn_frame *frame[KPN_RING_SLOTS_MAX];
	bool yields[KPN_RING_SLOTS_MAX];
};

static u32 model_desc(const struct model *model, u64 seq)
{
	return (u32)(seq - kpn_div_u64(seq, model->slots) * model->slots);
}

static u64 model_length_ps(const struct model *model, u64 seq)
{
	return SLOT_PS + (u64)model->delta_ps[model_desc(model, seq)];
}

static u64 model_start_ps(const struct model *model, u64 seq)
{
	u64 start_ps = model->head_ps;
	u64 at;

	for (at = model->head_seq; at != seq; at++)
		start_ps += model_length_ps(model, at);
	return start_ps;
}

static void model_pass(struct model *model, u64 to)
{
	while (model->head_seq != to) {
		u32 desc = model_desc(model, model->head_seq);

		model->head_ps += model_length_ps(model, model->head_seq);
		model->delta_ps[desc] = 0;
		model->frame[desc] = NULL;
		model->yields[desc] = false;
		model->head_seq++;
	}
	if (model->index_seq < to)
		model->index_seq = to;
}

/* First slot in [from, to) with a frame, or with one that yields, or trimmed. */
static u64 model_next(const struct model *model, u64 from, u64 to, u32 what)
{
	for (; from != to; from++) {
		u32 desc = model_desc(model, from);

		if (what == 0 ? !!model->frame[desc] :
		    what == 1 ? model->yields[desc] :
				!!model->delta_ps[desc])
			break;
	}
	return from;
}

static bool look_at_sets(struct kpn_selftest *t, const struct kpn_ring *ring,
			 const struct model *model, u64 *seed)
{
	const struct kpn_bits *sets[] = { &ring->claimed, &ring->yielding, &ring->trimmed };
	u32 counts[] = { ring->claimed_count, ring->yielding_count, ring->trim_count };
	u64 from = model->head_seq + kpn_random_below(seed, model->slots);
	u64 to = from + kpn_random_below(seed, (u32)(model->head_seq + model->slots - from) + 1);
	u64 end = model->head_seq + model->slots;
	u64 first = end;
	bool good = true;
	u32 i;

	for (i = 0; i < 3; i++) {
		u32 count = 0;
		u64 at = model_next(model, model->head_seq, end, i);

		if (i != 1 && at < first)
			first = at;
		for (; at != end; at = model_next(model, at + 1, end, i))
			count++;
		good = KPN_EXPECT_EQ(t, counts[i], count) && good;
		good = KPN_EXPECT_EQ(t, kpn_ring_next(ring, sets[i], from, to),
				     model_next(model, from, to, i)) &&
		       good;
	}
	/* cursors skip without looking as far as this */
	good = KPN_EXPECT(t, first == end || ring->quiet_seq <= first) && good;
	good = KPN_EXPECT(t, kpn_ring_frame(ring, from) == model->frame[model_desc(model, from)]) &&
	       good;
	return good;
}

static bool look(struct kpn_selftest *t, const struct kpn_ring *ring, const struct model *model,
		 u64 *seed)
{
	u64 posted = model->tail_seq - model->head_seq;
	u64 seq = model->head_seq + kpn_random_below(seed, (u32)posted + 1);
	u64 start_ps = model_start_ps(model, seq);
	struct kpn_cursor at = kpn_ring_at(ring, seq);
	struct kpn_under_way slot = kpn_ring_seq_at(ring, start_ps);
	bool good;

	good = KPN_EXPECT_EQ(t, ring->head.ps, model->head_ps);
	good = KPN_EXPECT_EQ(t, ring->index_seq, model->index_seq) && good;
	/*
	 * moved by slots and deltas alone, never looked up: lengths before the index do not change
	 */
	good = KPN_EXPECT_EQ(t, ring->index_ps, model_start_ps(model, model->index_seq)) && good;
	good = KPN_EXPECT_EQ(t, kpn_ring_at(ring, ring->index_seq).ps, ring->index_ps) && good;
	/* planning does not look for trims from there on */
	good = KPN_EXPECT_EQ(t,
			     model_next(model,
					model->index_seq > ring->trimmed_end ? model->index_seq :
									       ring->trimmed_end,
					model->tail_seq > ring->trimmed_end ? model->tail_seq :
									      ring->trimmed_end,
					2),
			     model->tail_seq > ring->trimmed_end ? model->tail_seq :
								   ring->trimmed_end) &&
	       good;
	good = KPN_EXPECT_EQ(t, ring->tail.ps, model_start_ps(model, model->tail_seq)) && good;
	good = KPN_EXPECT_EQ(t, ring->head.desc, model_desc(model, model->head_seq)) && good;
	good = KPN_EXPECT_EQ(t, ring->tail.desc, model_desc(model, model->tail_seq)) && good;
	good = KPN_EXPECT_EQ(t, at.ps, start_ps) && good;
	good = KPN_EXPECT_EQ(t, at.desc, model_desc(model, seq)) && good;
	good = KPN_EXPECT_EQ(t, slot.seq, seq) && good;
	/* behind the tail nominal slots go on */
	good = KPN_EXPECT_EQ(t, slot.end_ps,
			     start_ps + (seq == model->tail_seq ? SLOT_PS :
								  model_length_ps(model, seq))) &&
	       good;
	if (seq != model->tail_seq) {
		u64 length_ps = model_length_ps(model, seq);

		good = KPN_EXPECT_EQ(t, kpn_ring_delta_ps(ring, seq), (s64)(length_ps - SLOT_PS)) &&
		       good;
		slot = kpn_ring_seq_at(ring, start_ps + length_ps - 1);
		good = KPN_EXPECT_EQ(t, slot.seq, seq) && good;
		good = KPN_EXPECT_EQ(t, slot.end_ps, start_ps + length_ps) && good;
	}
	return look_at_sets(t, ring, model, seed) && good;
}

/* A slot between index and tail gets another length, or its nominal one. */
static void change_length(struct kpn_ring *ring, struct model *model, u64 *seed)
{
	u32 changeable = (u32)(model->tail_seq - model->index_seq);
	s64 delta_ps = ((s64)kpn_random_below(seed, 33) - 16) * 8000;
	u64 seq;

	if (!changeable)
		return;
	seq = model->index_seq + kpn_random_below(seed, changeable);
	kpn_ring_set_delta(ring, seq, model_desc(model, seq), delta_ps);
	model->delta_ps[model_desc(model, seq)] = delta_ps;
}

static void claim(struct kpn_ring *ring, struct model *model, struct kpn_frame *frames, u64 seq,
		  u64 *seed)
{
	u32 desc = model_desc(model, seq);

	if (model->frame[desc])
		return;
	model->frame[desc] = &frames[desc];
	model->yields[desc] = kpn_random_below(seed, 2);
	kpn_ring_claim(ring, seq, desc, &frames[desc], model->yields[desc]);
}

static void move_index(struct kpn_ring *ring, struct model *model, u64 *seed)
{
	u32 moved = kpn_random_below(seed, (u32)(model->tail_seq - model->index_seq) + 1);

	/* as `reading` does it */
	ring->index_ps += moved * SLOT_PS +
			  kpn_ring_deltas_ps(ring, ring->index_seq, ring->index_seq + moved);
	ring->index_seq += moved;
	model->index_seq += moved;
	if (ring->plan.seq < ring->index_seq)
		ring->plan = kpn_ring_at(ring, ring->index_seq);
}

static void change(struct kpn_selftest *t, struct kpn_ring *ring, struct model *model,
		   struct kpn_frame *frames, u64 *seed)
{
	u64 seq = model->head_seq + kpn_random_below(seed, model->slots);
	u32 desc = model_desc(model, seq);
	u32 count;

	switch (kpn_random_below(seed, 7)) {
	case 0:
		count = kpn_random_below(
			seed, (u32)(model->head_seq + model->slots - model->tail_seq) + 1);
		post(ring, count);
		model->tail_seq += count;
		break;
	case 1: change_length(ring, model, seed); break;
	case 2: claim(ring, model, frames, seq, seed); break;
	case 3:
		if (!model->frame[desc])
			break;
		KPN_EXPECT(t, kpn_ring_release(ring, desc) == model->frame[desc]);
		model->frame[desc] = NULL;
		model->yields[desc] = false;
		break;
	case 4:
		if (!model->frame[desc])
			break;
		kpn_ring_unyield(ring, desc);
		model->yields[desc] = false;
		break;
	case 5: move_index(ring, model, seed); break;
	default:
		seq = model->head_seq +
		      kpn_random_below(seed, (u32)(model->tail_seq - model->head_seq) + 1);
		pass_all(ring, seq);
		model_pass(model, seq);
		break;
	}
}

static void random_history(struct kpn_selftest *t, u32 slots, u64 seed)
{
	static struct kpn_frame frames[KPN_RING_SLOTS_MAX];
	static struct model model;
	struct kpn_ring ring;
	u32 step;

	memset(&model, 0, sizeof(model));
	model.slots = slots;
	/* positions pass 2^64 on the way */
	model.head_ps = 0 - 40 * SLOT_PS;
	kpn_ring_init(&ring, memory, slots, SLOT_PS);
	ring.head.ps = ring.plan.ps = ring.tail.ps = ring.index_ps = model.head_ps;
	for (step = 0; step < STEPS; step++) {
		change(t, &ring, &model, frames, &seed);
		if (!look(t, &ring, &model, &seed))
			return;
	}
}

/*
 * Where the wire is among thousands of trimmed slots is asked for with every frame: it must not
 * take a look at each of them. Lengths of slots in whole words in between are made wrong, and not
 * missed.
 */
static void test_many_trims_are_passed_by_the_word(struct kpn_selftest *t, u32 slots)
{
	const u64 end = slots - 3;
	struct kpn_ring ring;
	u64 seq;

	kpn_ring_init(&ring, memory, slots, SLOT_PS);
	/* the head is in the middle of a word, and the ring begins again further on */
	post(&ring, slots / 2 + 5);
	pass_all(&ring, slots / 2 + 5);
	post(&ring, slots - 3);
	for (seq = ring.head.seq; seq < ring.tail.seq; seq++)
		kpn_ring_set_delta(&ring, seq, kpn_ring_desc(&ring, seq), -8000);
	for (seq = ring.head.seq + 64; seq + 128 < ring.tail.seq; seq++)
		memory[kpn_ring_desc(&ring, seq)].delta_ps = 12345;
	seq = ring.head.seq + end;
	KPN_EXPECT_EQ(t, kpn_ring_at(&ring, seq).ps, ring.head.ps + end * (SLOT_PS - 8000));
	KPN_EXPECT_EQ(t, kpn_ring_at(&ring, seq).ps, ring.tail.ps);
	KPN_EXPECT_EQ(t, kpn_ring_seq_at(&ring, ring.tail.ps - 1).seq, ring.tail.seq - 1);
	KPN_EXPECT_EQ(t, kpn_ring_seq_at(&ring, ring.tail.ps - 1).end_ps, ring.tail.ps);
	KPN_EXPECT_EQ(t, kpn_ring_seq_at(&ring, ring.tail.ps).seq, ring.tail.seq);
}

/*
 * Each member of a set is found from wherever one looks, at the edges of words and in the last word
 * of all.
 */
static void test_bits(struct kpn_selftest *t)
{
	static const u32 members[] = { 0, 1, 63, 64, 65, 127, 128, 640, 4031, 4032, 4095 };
	struct kpn_bits bits = { 0 };
	u32 i;
	u32 bit = 0;

	for (i = 0; i < KPN_COUNT_OF(members); i++)
		kpn_bits_set(&bits, members[i]);
	for (i = 0; i < KPN_COUNT_OF(members); i++) {
		for (; bit <= members[i]; bit++) {
			KPN_EXPECT_EQ(t, kpn_bits_next(&bits, bit, KPN_BITS_MAX), members[i]);
			KPN_EXPECT_EQ(t, kpn_bits_next(&bits, bit, members[i]), members[i]);
			KPN_EXPECT_EQ(t, kpn_bits_test(&bits, bit), bit == members[i]);
			KPN_EXPECT_EQ(t, kpn_bits_window(&bits, bit) & 1, bit == members[i]);
		}
	}
	KPN_EXPECT(t, kpn_bits_window(&bits, 1) == (1ull << 62 | 1ull << 63 | 1));
	KPN_EXPECT(t, kpn_bits_window(&bits, 4095) == 1);
	KPN_EXPECT(t, kpn_bits_window(&bits, 4031) == 3);
	for (i = 0; i < KPN_COUNT_OF(members); i++)
		kpn_bits_clear(&bits, members[i]);
	KPN_EXPECT(t, !bits.summary);
	KPN_EXPECT_EQ(t, kpn_bits_next(&bits, 0, KPN_BITS_MAX), KPN_BITS_MAX);
}

void kpn_test_ring(struct kpn_selftest *t)
{
	static const u32 sizes[] = { 8, 12, 63, 64, 65, 127, 128, 200, 4096 };
	struct kpn_ring ring;
	u32 i;

	test_bits(t);
	test_figure_5(t);
	for (i = 0; i < KPN_COUNT_OF(sizes); i++)
		random_history(t, sizes[i], 1000 + i);
	test_many_trims_are_passed_by_the_word(t, 4096);
	test_many_trims_are_passed_by_the_word(t, 4000);

	/* a position before the head is the head's */
	kpn_ring_init(&ring, memory, 16, SLOT_PS);
	ring.head.ps = ring.tail.ps = 0 - 3 * SLOT_PS;
	post(&ring, 8);
	KPN_EXPECT_EQ(t, kpn_ring_at(&ring, 5).ps, 2 * SLOT_PS);
	KPN_EXPECT_EQ(t, kpn_ring_seq_at(&ring, 2 * SLOT_PS + 1).seq, 5);
	KPN_EXPECT_EQ(t, kpn_ring_seq_at(&ring, 0 - 4 * SLOT_PS).seq, 0);

	/* state besides buffers: at most 64 bytes a descriptor */
	KPN_EXPECT(t, kpn_ring_bytes(4096) - kpn_ring_bytes(8) <= 64 * (4096 - 8));
}
