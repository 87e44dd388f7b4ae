/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ring: completed slots as in Figure 5 of the KeepON paper, and random histories against a list of slots one by one. */
#include "keepon/ring.h"

#include "selftest.h"

#define SLOT_PS 10000000ull

enum { MEMORY_SLOTS = KPN_RING_SLOTS_MAX, STEPS = 3000 };

static u64 memory[MEMORY_SLOTS * (sizeof(struct kpn_trim) + sizeof(struct kpn_slot)) / sizeof(u64)];

/* Head to @to as `pacer` does it: over claimed slots and trims. Returns frames released. */
static u32 pass_all(struct kpn_ring *ring, u64 to)
{
	u32 released = 0;
	u32 desc;

	for (;;) {
		u64 claimed = kpn_ring_next_claimed(ring, ring->head_seq, to);

		while (kpn_ring_pass(ring, claimed, &desc))
			;
		if (claimed == to)
			return released;
		kpn_ring_release(ring, kpn_ring_desc(ring, claimed));
		released++;
	}
}

/* A10, A19: indices start at 0 and at the batch; 2 -> 5 completes three slots; and the wrap of twelve. */
static void test_figure_5(struct kpn_selftest *t)
{
	struct kpn_frame frame;
	struct kpn_ring ring;

	kpn_ring_init(&ring, memory, 12, SLOT_PS);
	KPN_EXPECT_EQ(t, ring.head_seq, 0);
	kpn_ring_post(&ring, 4);
	KPN_EXPECT_EQ(t, ring.tail_seq, 4);
	KPN_EXPECT_EQ(t, kpn_ring_desc(&ring, ring.tail_seq), 4);
	KPN_EXPECT_EQ(t, pass_all(&ring, 2), 0);
	kpn_ring_post(&ring, 3);
	KPN_EXPECT_EQ(t, kpn_ring_desc(&ring, ring.head_seq), 2);
	kpn_ring_claim(&ring, 3, 3, &frame);
	KPN_EXPECT_EQ(t, pass_all(&ring, 5), 1);
	KPN_EXPECT_EQ(t, ring.head_seq, 5);
	KPN_EXPECT_EQ(t, kpn_ring_desc(&ring, ring.head_seq), 5);
	KPN_EXPECT_EQ(t, ring.head_ps, 5 * SLOT_PS);
	KPN_EXPECT_EQ(t, ring.claimed_count, 0);
	/* wrap-around: 10 -> 1 are three slots too */
	kpn_ring_post(&ring, 10);
	KPN_EXPECT_EQ(t, kpn_ring_desc(&ring, ring.tail_seq), 5);
	pass_all(&ring, 10);
	kpn_ring_claim(&ring, 12, 0, &frame); /* descriptor 0 */
	KPN_EXPECT_EQ(t, kpn_ring_desc(&ring, 12), 0);
	KPN_EXPECT_EQ(t, kpn_ring_next_claimed(&ring, 10, 13), 12);
	KPN_EXPECT_EQ(t, pass_all(&ring, 13), 1);
	KPN_EXPECT_EQ(t, kpn_ring_desc(&ring, ring.head_seq), 1);
	KPN_EXPECT_EQ(t, ring.head_seq, 13);
	KPN_EXPECT_EQ(t, ring.head_ps, 13 * SLOT_PS);
}

/*
 * struct model - every slot of a lap by its sequence number modulo ring size; @start_ps of the head and of the slot
 * before it are kept as they were found by adding up lengths
 */
struct model {
	u32 slots;
	u64 head_seq;
	u64 tail_seq;
	u64 head_ps;
	s64 delta_ps[KPN_RING_SLOTS_MAX];
	struct kpn_frame *frame[KPN_RING_SLOTS_MAX];
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

static void model_post(struct model *model, s64 delta_ps)
{
	model->delta_ps[model_desc(model, model->tail_seq)] = delta_ps;
	model->tail_seq++;
}

static void model_pass(struct model *model, u64 to)
{
	while (model->head_seq != to) {
		model->head_ps += model_length_ps(model, model->head_seq);
		model->delta_ps[model_desc(model, model->head_seq)] = 0;
		model->frame[model_desc(model, model->head_seq)] = NULL;
		model->head_seq++;
	}
}

static u64 model_next_claimed(const struct model *model, u64 from, u64 to)
{
	while (from != to && !model->frame[model_desc(model, from)])
		from++;
	return from;
}

static bool look(struct kpn_selftest *t, const struct kpn_ring *ring, const struct model *model, u64 *seed)
{
	u64 posted = model->tail_seq - model->head_seq;
	u64 seq = model->head_seq + kpn_random_below(seed, (u32)posted + 1);
	u64 from = model->head_seq + kpn_random_below(seed, model->slots);
	u64 to = from + kpn_random_below(seed, (u32)(model->head_seq + model->slots - from) + 1);
	u64 start_ps = model_start_ps(model, seq);
	u64 end_ps;
	bool good;

	good = KPN_EXPECT_EQ(t, ring->head_ps, model->head_ps);
	good = KPN_EXPECT_EQ(t, ring->tail_ps, model_start_ps(model, model->tail_seq)) && good;
	good = KPN_EXPECT_EQ(t, kpn_ring_desc(ring, ring->head_seq), model_desc(model, model->head_seq)) && good;
	good = KPN_EXPECT_EQ(t, kpn_ring_desc(ring, ring->tail_seq), model_desc(model, model->tail_seq)) && good;
	good = KPN_EXPECT_EQ(t, kpn_ring_start_ps(ring, seq), start_ps) && good;
	good = KPN_EXPECT_EQ(t, kpn_ring_seq_at(ring, start_ps, &end_ps), seq) && good;
	/* behind the tail nominal slots go on */
	good = KPN_EXPECT_EQ(t, end_ps, start_ps + (seq == model->tail_seq ? SLOT_PS : model_length_ps(model, seq))) &&
	       good;
	good = KPN_EXPECT_EQ(t, kpn_ring_next_claimed(ring, from, to), model_next_claimed(model, from, to)) && good;
	good = KPN_EXPECT(t, kpn_ring_frame(ring, from) == model->frame[model_desc(model, from)]) && good;
	if (seq != model->tail_seq) {
		u64 length_ps = model_length_ps(model, seq);

		good = KPN_EXPECT_EQ(t, kpn_ring_delta_ps(ring, seq), (s64)(length_ps - SLOT_PS)) && good;
		good = KPN_EXPECT_EQ(t, kpn_ring_seq_at(ring, start_ps + length_ps - 1, &end_ps), seq) && good;
	}
	return good;
}

static void take_trims_back(struct kpn_selftest *t, struct kpn_ring *ring, struct model *model, u64 from)
{
	struct kpn_trim trim;

	/* what pacer does before it plans slots from here on anew */
	while (kpn_ring_retract_trim(ring, from, &trim)) {
		KPN_EXPECT_EQ(t, trim.delta_ps, model->delta_ps[model_desc(model, trim.seq)]);
		model->delta_ps[model_desc(model, trim.seq)] = 0;
		ring->tail_ps -= (u64)trim.delta_ps;
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
	kpn_ring_init(&ring, memory, slots, SLOT_PS);
	for (step = 0; step < STEPS; step++) {
		u64 room = model.head_seq + slots - model.tail_seq;
		u64 seq = model.head_seq + kpn_random_below(&seed, slots);
		u32 desc = model_desc(&model, seq);
		u32 count;

		switch (kpn_random_below(&seed, 6)) {
		case 0:
			count = kpn_random_below(&seed, (u32)room + 1);
			kpn_ring_post(&ring, count);
			for (; count; count--)
				model_post(&model, 0);
			break;
		case 1:
			if (!room)
				break;
			model_post(&model, (kpn_random_below(&seed, 2) ? 1 : -1) *
						   (s64)(1 + kpn_random_below(&seed, 16)) * 8000);
			kpn_ring_post_trimmed(&ring, (s64)(model_length_ps(&model, model.tail_seq - 1) - SLOT_PS));
			break;
		case 2:
			if (model.frame[desc])
				break;
			model.frame[desc] = &frames[desc];
			kpn_ring_claim(&ring, seq, desc, &frames[desc]);
			break;
		case 3:
			if (!model.frame[desc])
				break;
			KPN_EXPECT(t, kpn_ring_release(&ring, model_desc(&model, seq)) == model.frame[desc]);
			model.frame[desc] = NULL;
			break;
		case 4:
			take_trims_back(t, &ring, &model,
					model.head_seq +
						kpn_random_below(&seed, (u32)(model.tail_seq - model.head_seq) + 1));
			break;
		default:
			seq = model.head_seq + kpn_random_below(&seed, (u32)(model.tail_seq - model.head_seq) + 1);
			pass_all(&ring, seq);
			model_pass(&model, seq);
			break;
		}
		if (!look(t, &ring, &model, &seed))
			return;
	}
}

void kpn_test_ring(struct kpn_selftest *t)
{
	static const u32 sizes[] = { 8, 12, 63, 64, 65, 127, 128, 200, 4096 };
	struct kpn_ring ring;
	u64 end_ps;
	u32 i;

	test_figure_5(t);
	for (i = 0; i < KPN_COUNT_OF(sizes); i++)
		random_history(t, sizes[i], 1000 + i);

	/* positions wrap modulo 2^64; a position before the head is the head's */
	kpn_ring_init(&ring, memory, 16, SLOT_PS);
	ring.head_ps = ring.tail_ps = 0 - 3 * SLOT_PS;
	kpn_ring_post(&ring, 8);
	KPN_EXPECT_EQ(t, kpn_ring_start_ps(&ring, 5), 2 * SLOT_PS);
	KPN_EXPECT_EQ(t, kpn_ring_seq_at(&ring, 2 * SLOT_PS + 1, &end_ps), 5);
	KPN_EXPECT_EQ(t, kpn_ring_seq_at(&ring, 0 - 4 * SLOT_PS, &end_ps), 0);

	/* state besides buffers: at most 64 bytes a descriptor */
	KPN_EXPECT(t, kpn_ring_bytes(4096) - kpn_ring_bytes(8) <= 64 * (4096 - 8));
}
