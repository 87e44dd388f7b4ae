/* SPDX-License-Identifier: GPL-2.0-only */
/* What ring.c (the ring at work) and native.c (lending it) share. */
#ifndef KEEPON_HWSIM_RING_H
#define KEEPON_HWSIM_RING_H

#include "nicmodel/ring_nic.h"

#include "hwsim.h"

/**
 * struct hwsim_ring - a lent ring
 * @model: NULL before the first reset and after the claim
 * @memory: of the model, from claim to release
 * @buffers: of the frames, from claim to release
 * @params: of the model
 * @gone: counters of earlier lives
 * @pauses: announced to the model, which keeps the pointer
 * @pause_count: of them
 * @life: counts resets
 * @frozen: fetches no more: what was latched still leaves
 * @recorded_seq: slots before it stand in the wire record
 * @heard_seq: slots before it stand in the receive ring of the far end, or did not get there
 * @draws: reads of the index so far
 */
struct hwsim_ring {
	struct ring_nic *model;
	void *memory;
	u8 *buffers;
	struct ring_nic_params params;
	struct ring_nic_counters gone;
	struct ring_nic_pause pauses[HWSIM_PAUSES_MAX];
	u32 pause_count;
	u32 life;
	bool frozen;
	u64 recorded_seq;
	u64 heard_seq;
	u64 draws;
};

/**
 * struct hwsim_visit - a call from the driver, with the port locked
 * @model: NULL if the ring does not run
 * @local_ps: the NIC's time of the call
 */
struct hwsim_visit {
	struct ring_nic *model;
	u64 local_ps;
	unsigned long flags;
};

/** struct hwsim_read - true times of a read of a register: when it is sampled, when the CPU has the value */
struct hwsim_read {
	u64 sample_ps;
	u64 until_ps;
};

extern const struct kpn_nic_ops hwsim_ring_ops;

u64 hwsim_draw(u64 value, u64 min, u64 max);
struct hwsim_read hwsim_read_begin(const struct hwsim_nic *nic, u64 value);
void hwsim_wait_until(u64 true_ps);
void hwsim_ring_sink(void *sink, const struct ring_nic_frame *slot);
void hwsim_ring_add_counters(struct ring_nic_counters *sum, const struct ring_nic_counters *add);
struct hwsim_visit hwsim_ring_enter(struct hwsim_nic *nic);
void hwsim_ring_leave(struct hwsim_nic *nic, const struct hwsim_visit *visit, bool kick);

#endif
