/* SPDX-License-Identifier: GPL-2.0-only */
/* frame.c: a real frame, from a transmit queue or a ring to the far end. */
#ifndef KEEPON_HWSIM_FRAME_H
#define KEEPON_HWSIM_FRAME_H

#include <linux/list.h>
#include <linux/skbuff.h>

#include "hwsim.h"

/**
 * enum hwsim_verdict - how it left; a torn one has a good FCS, over bytes never committed together
 */
enum hwsim_verdict { HWSIM_GOOD, HWSIM_TORN, HWSIM_BAD_FCS, HWSIM_LOST, HWSIM_CUT };

/**
 * enum hwsim_rx_state - is it in the receive ring of the far end: not yet, no, yes, no: it was full
 */
enum hwsim_rx_state { HWSIM_RX_PENDING, HWSIM_RX_SKIPPED, HWSIM_RX_PLACED, HWSIM_RX_MISSED };

/**
 * struct hwsim_frame - one real frame
 * @original: what the stack gave, until the frame's start; NULL for a ring or a bridge
 * @seq: frame number of the port, or slot of the ring since its reset
 * @life: which life of the ring; 0: not of a ring
 * @slots: it takes in the ring
 * @ready_ps: local time from which it may start; @launch: @txtime_ns holds it back too
 * @start_ps: local, first bit of the preamble
 * @sfd_true_ps, @end_true_ps: at the sender's end of the wire: reference plane (first bit after the
 *	SFD), end of the last bit
 * @frame_bytes: with FCS; @data_bytes: without
 * @fcs_error: by which bits the FCS on the wire differs from the right one; 0: it is right
 * @verdict: enum hwsim_verdict
 * @rx_state: enum hwsim_rx_state; @place: in the receive ring
 * @data: its bytes without FCS
 */
struct hwsim_frame {
	struct list_head list;
	struct sk_buff *original;
	u64 seq;
	u64 place;
	u64 ready_ps;
	u64 start_ps;
	u64 sfd_true_ps;
	u64 end_true_ps;
	s64 txtime_ns;
	u32 frame_bytes;
	u32 data_bytes;
	u32 byte_ps;
	u32 fcs_error;
	u32 life;
	u32 slots;
	u8 queue;
	u8 verdict;
	u8 rx_state;
	bool launch;
	u8 data[];
};

/**
 * struct hwsim_pool - @count empty frames of @size wanted, for where nothing can be allocated; port
 * lock
 */
struct hwsim_pool {
	struct list_head free;
	u32 count;
	u32 size;
};

struct hwsim_frame *hwsim_frame_create(const struct sk_buff *from, const u8 *data, u32 data_bytes);
struct sk_buff *hwsim_frame_skb(const struct hwsim_frame *frame);
u64 hwsim_frame_end_ps(const struct hwsim_frame *frame);
void hwsim_frame_free(struct hwsim_frame *frame);
void hwsim_frames_free(struct list_head *frames);

void hwsim_pool_init(struct hwsim_pool *pool);
void hwsim_pool_resize(struct hwsim_pool *pool, raw_spinlock_t *lock, u32 size);
void hwsim_pool_refill(struct hwsim_pool *pool, raw_spinlock_t *lock, gfp_t gfp);
struct hwsim_frame *hwsim_pool_take(struct hwsim_pool *pool, const u8 *data, u32 data_bytes);

#endif
