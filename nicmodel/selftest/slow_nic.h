/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same NIC, one slot at a time and nothing forgotten: the equations of ring_nic.h as they stand
 * there. It shares no code with the model; only the drawn values (lag, restart) are taken from its
 * description.
 */
#ifndef NICMODEL_SLOW_NIC_H
#define NICMODEL_SLOW_NIC_H

#include "nicmodel/ring_nic.h"

enum { SLOW_SEQ_MAX = 40000, SLOW_PAUSES_MAX = 8, SLOW_FRAME_MAX = 256 };

enum slow_part { SLOW_ALONE, SLOW_GOES_ON, SLOW_ENDS };

struct slow_slot {
	uint64_t bell_ps;
	uint64_t bell_start_ps;
	uint64_t latch_ps;
	uint64_t ready_ps;
	uint64_t start_ps;
	uint64_t end_ps;
	uint64_t first;  /* slot its frame began with */
	uint64_t total;  /* bytes of its frame up to and with it */
	uint64_t digest; /* of the data of a frame of fragments, in its last slot */
	uint32_t frame_bytes;
	bool continues;
	bool late;
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
	uint8_t committed[RING_NIC_SLOTS_MAX][256];         /* in the NIC's memory */
	uint8_t meant[RING_NIC_SLOTS_MAX][256];             /* in the CPU's buffer */
	uint8_t part[RING_NIC_SLOTS_MAX];                   /* enum slow_part */
	uint8_t summed[RING_NIC_SLOTS_MAX][SLOW_FRAME_MAX]; /* what the FCS in it is of */
	uint32_t summed_bytes[RING_NIC_SLOTS_MAX];          /* 0: no FCS in it */
	uint8_t under_way[SLOW_FRAME_MAX];                  /* of the frame being latched */
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
void slow_set_length(struct slow_nic *slow, uint32_t idx, uint32_t bytes, uint64_t now_ps);
void slow_commit_fragment(struct slow_nic *slow, uint32_t idx, uint32_t bytes, bool last,
			  uint64_t now_ps);
void slow_seal(struct slow_nic *slow, uint32_t first, uint32_t fragments, uint64_t now_ps);
uint64_t slow_digest(const uint8_t *data, uint32_t bytes);
void slow_rearm(struct slow_nic *slow, uint32_t first, uint32_t count, uint64_t now_ps);
void slow_doorbell(struct slow_nic *slow, uint64_t tail_seq, uint64_t now_ps);
uint64_t slow_index(struct slow_nic *slow, uint64_t now_ps);
uint64_t slow_draw(uint64_t seed, uint64_t value, uint64_t min, uint64_t max);

#endif
