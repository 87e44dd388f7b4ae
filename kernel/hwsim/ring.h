/* SPDX-License-Identifier: GPL-2.0-only */
/* ring.c, ring_ops.c, native.c, ring_caps.c: the ring NIC of nicmodel/, at work and lent. */
#ifndef KEEPON_HWSIM_RING_H
#define KEEPON_HWSIM_RING_H

#include "nicmodel/ring_nic.h"

#include "nic.h"

enum {
	HWSIM_PAUSES_MAX = 64,
	HWSIM_STORES_MAX = 2 * KPN_SPAN_SLOTS_MAX,
};

enum hwsim_store_kind {
	HWSIM_STORE_FRAME,
	HWSIM_STORE_FRAGMENT,
	HWSIM_STORE_FCS,
	HWSIM_STORE_PLACEHOLDER,
	HWSIM_STORE_LENGTH,
};

/**
 * struct hwsim_store - what the owner of a ring has stored, in the words of its kpn_nic_ops
 * @true_ps: when
 * @shadow: length that a NIC which overwrites it is given again
 */
struct hwsim_store {
	u64 true_ps;
	u16 idx;
	u16 bytes;
	u16 shadow;
	u16 data_bytes;
	u16 written_bytes;
	u16 fragments;
	u8 kind;
	bool last;
};

/**
 * struct hwsim_ring - a lent ring
 * @model: NULL before the first reset and after the claim
 * @memory: of the model, from claim to release
 * @buffers: of the frames, from claim to release
 * @device_buffers: what the NIC finds in memory, if buffers are not coherent
 * @shadow: lengths of the descriptors as they were last described, for a NIC that overwrites them
 * @params: of the model
 * @gone: counters of earlier lives, of placeholders those that left
 * @pauses: announced to the model, which keeps the pointer
 * @pause_count: of them
 * @life: counts resets
 * @halted: since the last reset
 * @cut_frames: of this life, that did not leave because the NIC was removed
 * @recorded_seq: slots before it stand in the wire record
 * @rx_seq: slots before it stand in the receive ring of the far end, or did not get there
 * @draws: reads of the index so far
 * @stores: those that the model has not taken yet, oldest first; @store_count of them
 */
struct hwsim_ring {
	struct ring_nic *model;
	void *memory;
	u8 *buffers;
	u8 *device_buffers;
	u16 *shadow;
	struct ring_nic_params params;
	struct ring_nic_counters gone;
	struct ring_nic_pause pauses[HWSIM_PAUSES_MAX];
	u32 pause_count;
	u32 life;
	bool halted;
	u64 cut_frames;
	u64 recorded_seq;
	u64 rx_seq;
	u64 draws;
	struct hwsim_store stores[HWSIM_STORES_MAX];
	u32 store_count;
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

/**
 * struct hwsim_read - true times of a read of a register: when it is sampled, when the CPU has the
 * value
 */
struct hwsim_read {
	u64 sample_ps;
	u64 until_ps;
};

extern const struct kpn_nic_ops hwsim_ring_ops;
extern struct keepon_native_driver hwsim_native;

u64 hwsim_draw(u64 value, u64 min, u64 max);
struct hwsim_read hwsim_read_begin(const struct hwsim_nic *nic, u64 value);
void hwsim_wait_until(u64 true_ps);
void hwsim_ring_sink(void *sink, const struct ring_nic_frame *slot);
void hwsim_ring_add_counters(struct ring_nic_counters *sum, const struct ring_nic_counters *add);
bool hwsim_ring_runs(const struct hwsim_nic *nic);
void hwsim_ring_take_stores(struct hwsim_nic *nic);
void hwsim_ring_advance(struct hwsim_nic *nic, u64 local_ps);
u64 hwsim_ring_next(struct hwsim_nic *nic);
u64 hwsim_ring_frame(const struct hwsim_ring *ring, u64 seq, u64 end_seq,
		     struct ring_nic_slot *frame);
u64 hwsim_ring_left(const struct hwsim_ring *ring, u64 local_ps);
u64 hwsim_ring_placeholders(struct hwsim_nic *nic, u64 local_ps);
void hwsim_ring_counters(struct hwsim_nic *nic, u64 *values);
int hwsim_ring_pause(struct hwsim_nic *nic, u64 duration_ps);
void hwsim_ring_halt(struct hwsim_nic *nic);
void hwsim_ring_remove(struct hwsim_nic *nic);
int hwsim_ring_freeze_index(struct hwsim_nic *nic, bool frozen);
void hwsim_ring_fini(struct hwsim_nic *nic);
void hwsim_ring_caps(const struct hwsim_nic *nic, u32 slot_bytes, struct kpn_nic_caps *caps);

struct hwsim_visit hwsim_ring_enter(struct hwsim_nic *nic);
void hwsim_ring_leave(struct hwsim_nic *nic, const struct hwsim_visit *visit, bool kick);

#endif
