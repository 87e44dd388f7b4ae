// SPDX-License-Identifier: GPL-2.0-only
/* Frames and where their memory comes from: the allocator, or a pool where it must not be asked. */
#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "frame.h"

static struct hwsim_frame *allocate(u32 data_bytes, gfp_t gfp)
{
	struct hwsim_frame *frame;

	return kmalloc(struct_size(frame, data, max_t(u32, data_bytes, ETH_ZLEN)), gfp);
}

/* Everything but the data, and that padded to 60 bytes. */
static void clear(struct hwsim_frame *frame, u32 data_bytes)
{
	memset(frame, 0, offsetof(struct hwsim_frame, data));
	frame->data_bytes = max_t(u32, data_bytes, ETH_ZLEN);
	frame->frame_bytes = frame->data_bytes + HWSIM_FCS_BYTES;
	memset(frame->data + data_bytes, 0, frame->data_bytes - data_bytes);
}

/*
 * hwsim_frame_create() - a frame of @data_bytes (padded to 60) from an skb or from memory
 * @from: the skb, or NULL
 * @data: else these bytes
 * @data_bytes: without FCS
 *
 * No port is locked. Return: NULL without memory.
 */
struct hwsim_frame *hwsim_frame_create(const struct sk_buff *from, const u8 *data, u32 data_bytes)
{
	struct hwsim_frame *frame = allocate(data_bytes, GFP_ATOMIC);

	if (!frame)
		return NULL;
	clear(frame, data_bytes);
	if (!from) {
		memcpy(frame->data, data, data_bytes);
	} else if (skb_copy_bits(from, 0, frame->data, data_bytes)) {
		kfree(frame);
		return NULL;
	}
	return frame;
}

/** hwsim_frame_skb() - its bytes without FCS for a stack; NULL without memory; no port is locked */
struct sk_buff *hwsim_frame_skb(const struct hwsim_frame *frame)
{
	struct sk_buff *skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + frame->data_bytes, GFP_ATOMIC);

	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_data(skb, frame->data, frame->data_bytes);
	return skb;
}

/** hwsim_frame_end_ps() - local time of the end of its last bit; the gap follows */
u64 hwsim_frame_end_ps(const struct hwsim_frame *frame)
{
	return frame->start_ps + (u64)(HWSIM_PREAMBLE_BYTES + frame->frame_bytes) * frame->byte_ps;
}

/** hwsim_frame_free() - no port is locked */
void hwsim_frame_free(struct hwsim_frame *frame)
{
	dev_kfree_skb_any(frame->original);
	kfree(frame);
}

/** hwsim_frames_free() - a whole list; no port is locked */
void hwsim_frames_free(struct list_head *frames)
{
	struct hwsim_frame *frame;
	struct hwsim_frame *next;

	list_for_each_entry_safe(frame, next, frames, list) hwsim_frame_free(frame);
	INIT_LIST_HEAD(frames);
}

void hwsim_pool_init(struct hwsim_pool *pool)
{
	INIT_LIST_HEAD(&pool->free);
}

/** hwsim_pool_resize() - @size frames from the next refill on; @lock of the port is not held */
void hwsim_pool_resize(struct hwsim_pool *pool, raw_spinlock_t *lock, u32 size)
{
	unsigned long flags;
	LIST_HEAD(surplus);

	raw_spin_lock_irqsave(lock, flags);
	pool->size = size;
	for (; pool->count > size; pool->count--)
		list_move(pool->free.next, &surplus);
	raw_spin_unlock_irqrestore(lock, flags);
	hwsim_frames_free(&surplus);
}

static u32 missing(const struct hwsim_pool *pool)
{
	return READ_ONCE(pool->size) - min(READ_ONCE(pool->size), READ_ONCE(pool->count));
}

/** hwsim_pool_refill() - as many as wanted, or as memory allows; @lock of the port is not held */
void hwsim_pool_refill(struct hwsim_pool *pool, raw_spinlock_t *lock, gfp_t gfp)
{
	u32 wanted = missing(pool);
	struct hwsim_frame *frame;
	unsigned long flags;
	LIST_HEAD(fresh);

	for (; wanted; wanted--) {
		frame = allocate(HWSIM_FRAME_BYTES_MAX, gfp);
		if (!frame)
			break;
		frame->original = NULL;
		list_add(&frame->list, &fresh);
	}
	if (list_empty(&fresh))
		return;
	raw_spin_lock_irqsave(lock, flags);
	for (; missing(pool) && !list_empty(&fresh); pool->count++)
		list_move(fresh.next, &pool->free);
	raw_spin_unlock_irqrestore(lock, flags);
	hwsim_frames_free(&fresh);
}

/*
 * hwsim_pool_take() - a frame with a copy of @data; NULL if there is none; port locked, any context
 */
struct hwsim_frame *hwsim_pool_take(struct hwsim_pool *pool, const u8 *data, u32 data_bytes)
{
	struct hwsim_frame *frame = list_first_entry_or_null(&pool->free, struct hwsim_frame, list);

	if (!frame)
		return NULL;
	list_del(&frame->list);
	pool->count--;
	clear(frame, data_bytes);
	memcpy(frame->data, data, data_bytes);
	return frame;
}
