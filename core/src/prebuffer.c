/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Binary heap by (txtime, order of submission) and two queues per class, linked through the frames
 * themselves (KeepON paper section 5.2). Other files decide when a frame moves on to the ring.
 */
#include "keepon/prebuffer.h"

static bool sooner(const struct kpn_heap_entry *a, const struct kpn_heap_entry *b)
{
	return a->txtime_ns < b->txtime_ns || (a->txtime_ns == b->txtime_ns && a->order < b->order);
}

/* Put @entry where the hole at @idx belongs, moving the hole towards the root. */
static void sift_up(struct kpn_heap_entry *heap, u32 idx, struct kpn_heap_entry entry)
{
	while (idx) {
		u32 parent = (idx - 1) / 2;

		if (!sooner(&entry, &heap[parent]))
			break;
		heap[idx] = heap[parent];
		idx = parent;
	}
	heap[idx] = entry;
}

/* The same from the root towards the leaves; the heap has @count entries, the hole included. */
static void sift_down(struct kpn_heap_entry *heap, u32 count, struct kpn_heap_entry entry)
{
	u32 idx = 0;

	for (;;) {
		u32 child = 2 * idx + 1;

		if (child >= count)
			break;
		if (child + 1 < count && sooner(&heap[child + 1], &heap[child]))
			child++;
		if (!sooner(&heap[child], &entry))
			break;
		heap[idx] = heap[child];
		idx = child;
	}
	heap[idx] = entry;
}

size_t kpn_prebuffer_bytes(u32 frames_max, u32 returned_max)
{
	return ((size_t)KPN_CLASS_COUNT * frames_max + returned_max) *
	       sizeof(struct kpn_heap_entry);
}

void kpn_prebuffer_init(struct kpn_prebuffer *prebuffer, void *memory, u32 frames_max,
			u32 returned_max)
{
	memset(prebuffer, 0, sizeof(*prebuffer));
	prebuffer->heap = memory;
	prebuffer->frames_max = frames_max;
	prebuffer->heap_room = KPN_CLASS_COUNT * frames_max + returned_max;
}

bool kpn_prebuffer_return(struct kpn_prebuffer *prebuffer, struct kpn_frame *frame)
{
	struct kpn_heap_entry entry = {
		.txtime_ns = frame->txtime_ns,
		.order = prebuffer->order++,
		.frame = frame,
	};

	if (prebuffer->heap_count >= prebuffer->heap_room)
		return false;
	prebuffer->scheduled_count[frame->tc]++;
	frame->next = NULL;
	sift_up(prebuffer->heap, prebuffer->heap_count++, entry);
	return true;
}

bool kpn_prebuffer_schedule(struct kpn_prebuffer *prebuffer, struct kpn_frame *frame)
{
	KPN_ASSERT(frame->tc < KPN_CLASS_COUNT);
	if (frame->tc >= KPN_CLASS_COUNT ||
	    prebuffer->scheduled_count[frame->tc] >= prebuffer->frames_max)
		return false;
	return kpn_prebuffer_return(prebuffer, frame);
}

struct kpn_frame *kpn_prebuffer_take_earliest(struct kpn_prebuffer *prebuffer)
{
	struct kpn_frame *frame;

	KPN_ASSERT(prebuffer->heap_count);
	if (!prebuffer->heap_count)
		return NULL;
	frame = prebuffer->heap[0].frame;
	prebuffer->heap_count--;
	if (prebuffer->heap_count)
		sift_down(prebuffer->heap, prebuffer->heap_count,
			  prebuffer->heap[prebuffer->heap_count]);
	prebuffer->scheduled_count[frame->tc]--;
	return frame;
}

/* A frame of no class gets a number beyond all queues. */
static u8 queue_of(const struct kpn_frame *frame)
{
	if (frame->tc >= KPN_CLASS_COUNT)
		return KPN_QUEUE_COUNT;
	return frame->tc + (frame->flags & KPN_FRAME_TXTIME ? KPN_QUEUE_SCHEDULED : 0);
}

bool kpn_prebuffer_append(struct kpn_prebuffer *prebuffer, struct kpn_frame *frame)
{
	u8 queue = queue_of(frame);

	KPN_ASSERT(queue < KPN_QUEUE_COUNT);
	if (queue >= KPN_QUEUE_COUNT || prebuffer->queue_count[queue] >= prebuffer->frames_max)
		return false;
	frame->next = NULL;
	if (prebuffer->first[queue])
		prebuffer->last[queue]->next = frame;
	else
		prebuffer->first[queue] = frame;
	prebuffer->last[queue] = frame;
	prebuffer->queue_count[queue]++;
	prebuffer->backlog |= 1u << queue;
	return true;
}

void kpn_prebuffer_put_back(struct kpn_prebuffer *prebuffer, struct kpn_frame *frame)
{
	u8 queue = queue_of(frame);

	KPN_ASSERT(queue < KPN_QUEUE_COUNT);
	if (queue >= KPN_QUEUE_COUNT)
		return;
	frame->next = prebuffer->first[queue];
	if (!frame->next)
		prebuffer->last[queue] = frame;
	prebuffer->first[queue] = frame;
	prebuffer->queue_count[queue]++;
	prebuffer->backlog |= 1u << queue;
}

struct kpn_frame *kpn_prebuffer_take_first(struct kpn_prebuffer *prebuffer, u8 queue)
{
	struct kpn_frame *frame;

	KPN_ASSERT(queue < KPN_QUEUE_COUNT && prebuffer->first[queue]);
	if (queue >= KPN_QUEUE_COUNT || !prebuffer->first[queue])
		return NULL;
	frame = prebuffer->first[queue];
	prebuffer->first[queue] = frame->next;
	if (!frame->next) {
		prebuffer->last[queue] = NULL;
		prebuffer->backlog &= ~(1u << queue);
	}
	prebuffer->queue_count[queue]--;
	frame->next = NULL;
	return frame;
}

u32 kpn_prebuffer_count(const struct kpn_prebuffer *prebuffer)
{
	u32 count = prebuffer->heap_count;
	u32 queue;

	for (queue = 0; queue < KPN_QUEUE_COUNT; queue++)
		count += prebuffer->queue_count[queue];
	return count;
}
