/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * prebuffer: heap and queues against a plain list that is searched from end to end, by random
 * operations.
 */
#include "keepon/prebuffer.h"

#include "selftest.h"

#define TIME_NS_MAX 0x7fffffffffffffffll
#define TIME_NS_MIN (-TIME_NS_MAX - 1)

enum { FRAMES = 96, FRAMES_MAX = 5, RANDOM_STEPS = 60000 };

/*
 * struct model - held frames in the order they would leave a queue; @scheduled tells those in the
 * heap apart
 */
struct model {
	struct kpn_frame *held[FRAMES];
	bool scheduled[FRAMES];
	u32 count;
};

static void model_insert(struct model *model, u32 at, struct kpn_frame *frame, bool scheduled)
{
	u32 i;

	for (i = model->count++; i > at; i--) {
		model->held[i] = model->held[i - 1];
		model->scheduled[i] = model->scheduled[i - 1];
	}
	model->held[at] = frame;
	model->scheduled[at] = scheduled;
}

static void model_remove(struct model *model, u32 at)
{
	u32 i;

	for (i = at; i + 1 < model->count; i++) {
		model->held[i] = model->held[i + 1];
		model->scheduled[i] = model->scheduled[i + 1];
	}
	model->count--;
}

static u8 queue_of(const struct kpn_frame *frame)
{
	return frame->tc + (frame->flags & KPN_FRAME_TXTIME ? 16 : 0);
}

static u32 model_scheduled(const struct model *model, u8 tc)
{
	u32 count = 0;
	u32 i;

	for (i = 0; i < model->count; i++)
		count += model->scheduled[i] && model->held[i]->tc == tc;
	return count;
}

static u32 model_queued(const struct model *model, u8 queue)
{
	u32 count = 0;
	u32 i;

	for (i = 0; i < model->count; i++)
		count += !model->scheduled[i] && queue_of(model->held[i]) == queue;
	return count;
}

/*
 * Position of the scheduled frame with the earliest txtime, the first submitted of equals; count if
 * none.
 */
static u32 model_earliest(const struct model *model)
{
	u32 best = model->count;
	u32 i;

	for (i = 0; i < model->count; i++) {
		if (!model->scheduled[i])
			continue;
		if (best == model->count ||
		    model->held[i]->txtime_ns < model->held[best]->txtime_ns)
			best = i;
	}
	return best;
}

static u32 model_first(const struct model *model, u8 queue)
{
	u32 i;

	for (i = 0; i < model->count; i++) {
		if (!model->scheduled[i] && queue_of(model->held[i]) == queue)
			break;
	}
	return i;
}

static struct kpn_frame *frame_at(const struct model *model, u32 at)
{
	return at < model->count ? model->held[at] : NULL;
}

/* A frame that is not held, with a new class and txtime; few txtimes, so that ties are common. */
static struct kpn_frame *fresh_frame(const struct model *model, struct kpn_frame *frames, u64 *seed)
{
	u32 start = kpn_random_below(seed, FRAMES);
	u32 offset;
	u32 i;

	for (offset = 0; offset < FRAMES; offset++) {
		struct kpn_frame *frame = &frames[(start + offset) % FRAMES];

		for (i = 0; i < model->count && model->held[i] != frame; i++)
			;
		if (i < model->count)
			continue;
		frame->tc =
			(u8)(kpn_random_below(seed, 2) ? 15 :
							 kpn_random_below(seed, KPN_CLASS_COUNT));
		frame->flags = (u8)kpn_random_below(seed, 2) ? KPN_FRAME_TXTIME : 0;
		frame->txtime_ns = (s64)kpn_random_below(seed, 20) - 5;
		return frame;
	}
	return NULL;
}

static void expect_same(struct kpn_selftest *t, const struct kpn_prebuffer *prebuffer,
			const struct model *model)
{
	u32 backlog = 0;
	bool counts_equal = true;
	u8 queue;
	u8 tc;

	for (queue = 0; queue < 32; queue++) {
		u32 queued = model_queued(model, queue);

		backlog |= queued ? 1u << queue : 0;
		counts_equal = counts_equal && prebuffer->queue_count[queue] == queued;
	}
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++)
		counts_equal = counts_equal &&
			       prebuffer->scheduled_count[tc] == model_scheduled(model, tc);
	KPN_EXPECT(t, counts_equal);
	KPN_EXPECT_EQ(t, prebuffer->backlog, backlog);
	KPN_EXPECT_EQ(t, kpn_prebuffer_count(prebuffer), model->count);
	KPN_EXPECT(t, kpn_prebuffer_earliest(prebuffer) == frame_at(model, model_earliest(model)));
}

static void random_step(struct kpn_selftest *t, struct kpn_prebuffer *prebuffer,
			struct model *model, struct kpn_frame *frames, u64 *seed)
{
	struct kpn_frame *frame = fresh_frame(model, frames, seed);
	u8 queue = (u8)(kpn_random_below(seed, 2) ? 31 : kpn_random_below(seed, 32));
	u32 at;

	switch (kpn_random_below(seed, 5)) {
	case 0:
		if (!frame)
			break;
		if (KPN_EXPECT_EQ(t, kpn_prebuffer_schedule(prebuffer, frame),
				  model_scheduled(model, frame->tc) < FRAMES_MAX) &&
		    model_scheduled(model, frame->tc) < FRAMES_MAX)
			model_insert(model, model->count, frame, true);
		break;
	case 1:
		if (!frame)
			break;
		if (KPN_EXPECT_EQ(t, kpn_prebuffer_append(prebuffer, frame),
				  model_queued(model, queue_of(frame)) < FRAMES_MAX) &&
		    model_queued(model, queue_of(frame)) < FRAMES_MAX)
			model_insert(model, model->count, frame, false);
		break;
	case 2:
		at = model_earliest(model);
		if (at == model->count)
			break;
		KPN_EXPECT(t, kpn_prebuffer_take_earliest(prebuffer) == model->held[at]);
		model_remove(model, at);
		break;
	case 3:
		at = model_first(model, queue);
		if (at == model->count)
			break;
		KPN_EXPECT(t, kpn_prebuffer_take_first(prebuffer, queue) == model->held[at]);
		KPN_EXPECT(t, !model->held[at]->next);
		model_remove(model, at);
		break;
	default:
		/* taken for a slot that turned out to be gone: back to the front */
		at = model_first(model, queue);
		if (at == model->count)
			break;
		frame = kpn_prebuffer_take_first(prebuffer, queue);
		KPN_EXPECT(t, frame == model->held[at]);
		model_remove(model, at);
		kpn_prebuffer_put_back(prebuffer, frame);
		model_insert(model, 0, frame, false);
		break;
	}
}

static void test_against_model(struct kpn_selftest *t)
{
	static struct kpn_heap_entry heap[KPN_CLASS_COUNT * FRAMES_MAX];
	static struct kpn_frame frames[FRAMES];
	static struct model model;
	struct kpn_prebuffer prebuffer;
	u64 seed = 0x4ea9;
	u32 step;

	memset(frames, 0, sizeof(frames));
	memset(&model, 0, sizeof(model));
	kpn_prebuffer_init(&prebuffer, heap, FRAMES_MAX, 0);
	KPN_EXPECT_EQ(t, kpn_prebuffer_bytes(FRAMES_MAX, 0), sizeof(heap));
	for (step = 0; step < RANDOM_STEPS; step++) {
		random_step(t, &prebuffer, &model, frames, &seed);
		expect_same(t, &prebuffer, &model);
	}
	while (model_earliest(&model) < model.count) {
		u32 at = model_earliest(&model);

		KPN_EXPECT(t, kpn_prebuffer_take_earliest(&prebuffer) == model.held[at]);
		model_remove(&model, at);
	}
	expect_same(t, &prebuffer, &model);
}

/* Every heap place in use: all classes at their limit, in and out sorted. */
static void test_full(struct kpn_selftest *t)
{
	static struct kpn_heap_entry heap[KPN_CLASS_COUNT * FRAMES_MAX];
	static struct kpn_frame frames[KPN_CLASS_COUNT * FRAMES_MAX];
	struct kpn_frame extra = { .txtime_ns = TIME_NS_MIN };
	struct kpn_prebuffer prebuffer;
	s64 before_ns = TIME_NS_MIN;
	u64 seed = 0xf011;
	u32 i;

	kpn_prebuffer_init(&prebuffer, heap, FRAMES_MAX, 0);
	for (i = 0; i < KPN_COUNT_OF(frames); i++) {
		frames[i].tc = (u8)(i % KPN_CLASS_COUNT);
		frames[i].txtime_ns = (s64)kpn_random(&seed);
		KPN_EXPECT(t, kpn_prebuffer_schedule(&prebuffer, &frames[i]));
	}
	for (extra.tc = 0; extra.tc < KPN_CLASS_COUNT; extra.tc++)
		KPN_EXPECT(t, !kpn_prebuffer_schedule(&prebuffer, &extra));
	KPN_EXPECT_EQ(t, kpn_prebuffer_count(&prebuffer), KPN_COUNT_OF(frames));
	for (i = 0; i < KPN_COUNT_OF(frames); i++) {
		const struct kpn_frame *frame = kpn_prebuffer_take_earliest(&prebuffer);

		KPN_EXPECT(t, frame && frame->txtime_ns >= before_ns);
		before_ns = frame ? frame->txtime_ns : before_ns;
	}
	KPN_EXPECT(t, !kpn_prebuffer_earliest(&prebuffer));
	KPN_EXPECT_EQ(t, kpn_prebuffer_count(&prebuffer), 0);
}

static void test_edges(struct kpn_selftest *t)
{
	struct kpn_heap_entry heap[KPN_CLASS_COUNT];
	struct kpn_frame a = { .tc = 3, .txtime_ns = TIME_NS_MAX };
	struct kpn_frame b = { .tc = 3, .txtime_ns = TIME_NS_MIN };
	struct kpn_prebuffer prebuffer;

	/* room for none: nothing is held, and no memory is touched */
	KPN_EXPECT_EQ(t, kpn_prebuffer_bytes(0, 0), 0);
	kpn_prebuffer_init(&prebuffer, NULL, 0, 0);
	KPN_EXPECT(t, !kpn_prebuffer_schedule(&prebuffer, &a));
	KPN_EXPECT(t, !kpn_prebuffer_append(&prebuffer, &a));
	KPN_EXPECT(t, !kpn_prebuffer_earliest(&prebuffer));
	KPN_EXPECT_EQ(t, kpn_prebuffer_count(&prebuffer), 0);

	/* the largest allowed: 16 classes of 65536 frames */
	KPN_EXPECT_EQ(t, kpn_prebuffer_bytes(KPN_PREBUFFER_FRAMES_MAX, 0), sizeof(heap[0]) << 20);
	/* and what a whole ring of frames that a step takes back needs beside them */
	KPN_EXPECT_EQ(t, kpn_prebuffer_bytes(2, 4096), (32 + 4096) * sizeof(heap[0]));

	/*
	 * room for one a class: heap and queues are bounded each for itself, and put_back is never
	 * refused
	 */
	kpn_prebuffer_init(&prebuffer, heap, 1, 0);
	KPN_EXPECT(t, kpn_prebuffer_schedule(&prebuffer, &a));
	KPN_EXPECT(t, !kpn_prebuffer_schedule(&prebuffer, &b));
	b.tc = 4;
	KPN_EXPECT(t, kpn_prebuffer_schedule(&prebuffer, &b));
	KPN_EXPECT(t, kpn_prebuffer_take_earliest(&prebuffer) == &b);
	b.tc = 3;
	KPN_EXPECT(t, kpn_prebuffer_append(&prebuffer, &b));
	KPN_EXPECT(t, kpn_prebuffer_take_first(&prebuffer, 3) == &b);
	KPN_EXPECT(t, kpn_prebuffer_take_earliest(&prebuffer) == &a);
	KPN_EXPECT(t, kpn_prebuffer_append(&prebuffer, &a));
	kpn_prebuffer_put_back(&prebuffer, &b);
	KPN_EXPECT_EQ(t, prebuffer.queue_count[3], 2);
	KPN_EXPECT(t, kpn_prebuffer_take_first(&prebuffer, 3) == &b);
	KPN_EXPECT_EQ(t, prebuffer.backlog, 1u << 3);
	KPN_EXPECT(t, kpn_prebuffer_take_first(&prebuffer, 3) == &a);
	KPN_EXPECT_EQ(t, prebuffer.backlog, 0);
	kpn_prebuffer_put_back(&prebuffer, &a);
	KPN_EXPECT(t, kpn_prebuffer_take_first(&prebuffer, 3) == &a);

	/* a frame with a txtime has a queue of its own, which best effort does not fill */
	b.flags = KPN_FRAME_TXTIME;
	KPN_EXPECT(t, kpn_prebuffer_append(&prebuffer, &a));
	KPN_EXPECT(t, kpn_prebuffer_append(&prebuffer, &b));
	KPN_EXPECT_EQ(t, prebuffer.backlog, 1u << 3 | 1u << 19);
	KPN_EXPECT(t, kpn_prebuffer_take_first(&prebuffer, 19) == &b);
	KPN_EXPECT(t, kpn_prebuffer_take_first(&prebuffer, 3) == &a);
}

/*
 * A class at its limit takes back what was in the ring all the same, in the order of txtimes; new
 * ones wait for room.
 */
static void test_returned_frames_find_room_in_a_full_class(struct kpn_selftest *t)
{
	static struct kpn_heap_entry heap[KPN_CLASS_COUNT + 3];
	static struct kpn_frame frames[5];
	static const s64 order[] = { 1, 0, 3, 2 };
	struct kpn_prebuffer prebuffer;
	u32 i;

	kpn_prebuffer_init(&prebuffer, heap, 1, 3);
	for (i = 0; i < KPN_COUNT_OF(frames); i++)
		frames[i] = (struct kpn_frame){
			.tc = 2, .txtime_ns = 100 + (i == 1 ? -50 : 10 * (s64)(i % 3 == 2))
		};
	KPN_EXPECT(t, kpn_prebuffer_schedule(&prebuffer, &frames[0]));
	for (i = 1; i < 4; i++)
		KPN_EXPECT(t, kpn_prebuffer_return(&prebuffer, &frames[i]));
	KPN_EXPECT_EQ(t, kpn_prebuffer_count(&prebuffer), 4);
	KPN_EXPECT(t, !kpn_prebuffer_schedule(&prebuffer, &frames[4]));
	for (i = 0; i < 4; i++)
		KPN_EXPECT(t, kpn_prebuffer_take_earliest(&prebuffer) == &frames[order[i]]);
	KPN_EXPECT(t, kpn_prebuffer_schedule(&prebuffer, &frames[4]));
}

/* The heap has room for so many frames and not one more, by any call. */
static void test_a_full_heap_refuses(struct kpn_selftest *t)
{
	struct kpn_heap_entry heap[KPN_CLASS_COUNT + 2];
	static struct kpn_frame frames[KPN_CLASS_COUNT + 3];
	struct kpn_prebuffer prebuffer;
	u32 i;

	memset(heap, 0, sizeof(heap));
	kpn_prebuffer_init(&prebuffer, heap, 1, 1);
	for (i = 0; i < KPN_COUNT_OF(frames); i++)
		frames[i].tc = (u8)(i % 2);
	for (i = 0; i < KPN_CLASS_COUNT + 1; i++)
		KPN_EXPECT(t, kpn_prebuffer_return(&prebuffer, &frames[i]));
	KPN_EXPECT(t, !kpn_prebuffer_return(&prebuffer, &frames[i]));
	frames[i].tc = 2;
	KPN_EXPECT(t, !kpn_prebuffer_schedule(&prebuffer, &frames[i]));
	KPN_EXPECT_EQ(t, kpn_prebuffer_count(&prebuffer), KPN_CLASS_COUNT + 1);
	KPN_EXPECT(t, !heap[KPN_CLASS_COUNT + 1].frame);
}

void kpn_test_prebuffer(struct kpn_selftest *t)
{
	test_returned_frames_find_room_in_a_full_class(t);
	test_a_full_heap_refuses(t);
	test_edges(t);
	test_full(t);
	test_against_model(t);
}
