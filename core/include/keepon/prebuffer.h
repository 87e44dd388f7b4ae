/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Frames that wait before the ring: scheduled ones in a heap by txtime (earliest first, ties in
 * order of submission), and two queues per class in order of arrival: scheduled frames that lost
 * their own slot and wait for another, and best effort. Each is bounded per class; this file owns
 * no memory (KeepON paper section 5.2).
 */
#ifndef KPN_PREBUFFER_H
#define KPN_PREBUFFER_H

#include "keepon/config.h"
#include "keepon/frame.h"

/**
 * queues: best effort of class tc is number tc, frames with a txtime are number KPN_QUEUE_SCHEDULED
 * + tc
 */
enum {
	KPN_QUEUE_SCHEDULED = KPN_CLASS_COUNT,
	KPN_QUEUE_COUNT = 2 * KPN_CLASS_COUNT,
};

/** struct kpn_heap_entry - the key is by the pointer, so that sifting stays within the array */
struct kpn_heap_entry {
	s64 txtime_ns;
	u64 order;
	struct kpn_frame *frame;
};

/** struct kpn_prebuffer - counts are frames held; @backlog has a bit per non-empty queue */
struct kpn_prebuffer {
	struct kpn_heap_entry *heap;
	u32 heap_count;
	u32 heap_room;
	u32 frames_max;
	u32 backlog;
	u64 order;
	struct kpn_frame *first[KPN_QUEUE_COUNT];
	struct kpn_frame *last[KPN_QUEUE_COUNT];
	u32 queue_count[KPN_QUEUE_COUNT];
	u32 scheduled_count[KPN_CLASS_COUNT];
};

/**
 * kpn_prebuffer_bytes() - memory for the heap; @frames_max per class, @returned_max by
 * kpn_prebuffer_return()
 */
size_t kpn_prebuffer_bytes(u32 frames_max, u32 returned_max);

/** kpn_prebuffer_init() - empty, in memory of kpn_prebuffer_bytes() for the same numbers */
void kpn_prebuffer_init(struct kpn_prebuffer *prebuffer, void *memory, u32 frames_max,
			u32 returned_max);

/** kpn_prebuffer_schedule() - hold a scheduled frame; false if its class is full */
bool kpn_prebuffer_schedule(struct kpn_prebuffer *prebuffer, struct kpn_frame *frame);

/**
 * kpn_prebuffer_return() - hold a scheduled frame that was in the ring, even if its class is full;
 * false if the heap is full
 */
bool kpn_prebuffer_return(struct kpn_prebuffer *prebuffer, struct kpn_frame *frame);

/** kpn_prebuffer_earliest() - scheduled frame with the earliest txtime, or NULL */
static inline struct kpn_frame *kpn_prebuffer_earliest(const struct kpn_prebuffer *prebuffer)
{
	return prebuffer->heap_count ? prebuffer->heap[0].frame : NULL;
}

/** kpn_prebuffer_take_earliest() - remove and return that frame; the heap is not empty */
struct kpn_frame *kpn_prebuffer_take_earliest(struct kpn_prebuffer *prebuffer);

/** kpn_prebuffer_append() - make a frame the last of its queue; false if the queue is full */
bool kpn_prebuffer_append(struct kpn_prebuffer *prebuffer, struct kpn_frame *frame);

/**
 * kpn_prebuffer_put_back() - make a frame the first of its queue again; never refused, since the
 * frame was counted before
 */
void kpn_prebuffer_put_back(struct kpn_prebuffer *prebuffer, struct kpn_frame *frame);

/** kpn_prebuffer_take_first() - remove and return the first frame of a non-empty queue */
struct kpn_frame *kpn_prebuffer_take_first(struct kpn_prebuffer *prebuffer, u8 queue);

/** kpn_prebuffer_count() - frames held, all classes */
u32 kpn_prebuffer_count(const struct kpn_prebuffer *prebuffer);

#endif
