/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same NIC, one slot at a time and nothing forgotten: the equations of ring_nic.h as they stand
 * there. It shares no code with the model; only the drawn values (lag, restart) are taken from its
 * description.
 */
#ifndef NICMODEL_SLOW_NIC_H
#define NICMODEL_SLOW_NIC_H

#include "nicmodel/ring_nic.h"

enum { SLOW_SEQ_MAX = 40000, SLOW_PAUSES_MAX = 8 };

struct slow_slot {
	uint64_t bell_ps;
	uint64_t bell_start_ps;
	uint64_t latch_ps;
	uint64_t ready_ps;
	uint64_t start_ps;
	uint64_t end_ps;
	uint32_t frame_bytes;
	bool real;
	bool torn;
	bool stale;
};

struct slow_nic {
	struct ring_nic_params params;
	struct slow_slot slot[SLOW_SEQ_MAX];
	uint64_t latched;
	uint64_t tail_seq;
	uint64_t now_ps;
	uint64_t halts;
	uint64_t clobbered;
	uint64_t bell_errors;
	bool unarmed;
	bool halted;
	bool gone;
	uint64_t gone_ps;
	bool index_frozen;
	uint64_t frozen_index;
	uint32_t length[RING_NIC_SLOTS_MAX]; /* 0: overwritten */
	uint32_t data_bytes[RING_NIC_SLOTS_MAX];
	uint8_t committed[RING_NIC_SLOTS_MAX][256]; /* in the NIC's memory */
	uint8_t meant[RING_NIC_SLOTS_MAX][256];     /* in the CPU's buffer */
	bool real[RING_NIC_SLOTS_MAX];
	bool armed[RING_NIC_SLOTS_MAX];
	struct ring_nic_pause pause[SLOW_PAUSES_MAX];
	uint32_t pauses;
	bool pause_over[SLOW_PAUSES_MAX];
};

void slow_init(struct slow_nic *slow, const struct ring_nic_params *params);
void slow_advance(struct slow_nic *slow, uint64_t now_ps);
void slow_commit(struct slow_nic *slow, uint32_t idx, uint32_t frame_bytes, uint32_t data_bytes,
		 uint64_t now_ps);
void slow_halt(struct slow_nic *slow, uint64_t now_ps);
void slow_remove(struct slow_nic *slow, uint64_t now_ps);
void slow_freeze_index(struct slow_nic *slow, bool frozen);
void slow_describe(struct slow_nic *slow, uint32_t idx, uint32_t frame_bytes, bool real,
		   uint64_t now_ps);
void slow_rearm(struct slow_nic *slow, uint32_t first, uint32_t count, uint64_t now_ps);
void slow_doorbell(struct slow_nic *slow, uint64_t tail_seq, uint64_t now_ps);
uint64_t slow_index(struct slow_nic *slow, uint64_t now_ps);
uint64_t slow_draw(uint64_t seed, uint64_t value, uint64_t min, uint64_t max);

#endif
