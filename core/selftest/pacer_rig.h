/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A pacer on the fake NIC, frames whose fate is followed from submission to the wire, and the
 * invariants that can be checked after every operation without knowing what a frame's slot ought to
 * be. Used by the fuzzer and, through a shim, by the exact model in Python. The first violation is
 * kept as a text and ends all checking.
 */
#ifndef KPN_PACER_RIG_H
#define KPN_PACER_RIG_H

#include "fake_nic.h"
#include "keepon/pacer.h"

enum { RIG_DATA_BYTES = 1536 };

/**
 * struct rig_frame - a frame and what became of it
 * @id: unique; its bytes follow from it
 * @order: of submission; @outcome_order: 0 while held
 * @placed_seq, @placed_base: of the last commit; @placements: commits so far
 * @wire_count: times it was on the wire; @wire_seq, @wire_position_ps: where
 * @astray: it was placed in, or taken back from, a slot the NIC had latched
 */
struct rig_frame {
	struct kpn_frame frame;
	u64 id;
	u64 order;
	u64 placed_seq;
	u64 placed_base;
	u64 wire_seq;
	u64 wire_position_ps;
	u32 placements;
	u32 wire_count;
	bool held;
	bool astray;
	u8 data[RIG_DATA_BYTES];
};

/**
 * struct rig_log - called as things happen; every member may be NULL. @frame is NULL for a
 * placeholder
 */
struct rig_log {
	void (*slot)(void *context, const struct fake_slot *slot, const struct rig_frame *frame);
	void (*commit)(void *context, const struct rig_frame *frame);
	void (*withdraw)(void *context, const struct rig_frame *frame);
	void (*outcome)(void *context, const struct rig_frame *frame, enum kpn_verdict verdict,
			struct kpn_time start);
	void (*event)(void *context, enum kpn_event event);
	void *context;
};

/** struct rig_table - class masks of @slots slots */
struct rig_table {
	const u16 *allowed;
	u64 slots;
};

/**
 * struct rig - @table: class masks in force, and those that come at @switch_net_slot;
 * @switch_tail_seq: what was posted when they were announced; @clock: the law before the call under
 *	way; @stores, @lengths, @rearmed: of the NIC before the call under way;
 * @calls: on the pacer, with time passing counted as one; after each all invariants held
 * @strayed: some frame was astray; @bent: a slot got another length after the NIC had latched it.
 *	Either takes an index that stood still while the wire went on, and was read, since the
 *	reset: nobody can know that before the stated time. What is not due to it must hold even so
 * @stalled: that time has passed
 */
struct rig {
	struct kpn_pacer *pacer;
	struct kpn_config config;
	struct fake_nic nic;
	struct rig_log log;
	struct rig_frame *frames;
	struct rig_frame **in_desc;
	u32 frame_count;
	u64 next_id;
	u64 held;
	u64 head_seq;
	u64 tail_seq;
	u64 fifo_order[KPN_CLASS_COUNT];
	u64 events[KPN_EVENT_COUNT];
	struct rig_table table[2];
	struct kpn_clock clock;
	u64 switch_net_slot;
	u64 switch_tail_seq;
	u64 stores;
	u64 lengths;
	u64 rearmed;
	u64 calls;
	u64 hash;
	u32 next_frame;
	u32 byte_ps;
	bool stopped;
	bool assumptions_hold;
	bool stalled;
	bool strayed;
	bool bent;
	const char *violation;
};

/** rig_bytes() - memory for frames, NIC and pacer */
size_t rig_bytes(const struct kpn_config *config, const struct fake_params *params,
		 u32 frame_count);

/**
 * rig_init() - NIC and pacer, not started
 * @params: sinks are filled in here
 * Return: false if the configuration is not valid for the NIC
 */
bool rig_init(struct rig *rig, void *memory, const struct kpn_config *config,
	      const struct kpn_nic_caps *caps, const struct fake_params *params, u32 frame_count,
	      s64 start_time_ns, const struct rig_log *log);

void rig_start(struct rig *rig);
void rig_stop(struct rig *rig);
void rig_poll(struct rig *rig);
void rig_advance(struct rig *rig, u64 span_ps);
/** rig_pause() - fake_nic_pause(); where the wire is promises nothing any more until the reset */
void rig_pause(struct rig *rig, u64 span_ps);

/**
 * rig_submit() - a new frame; @txtime_ns is used if @flags say so. Return: verdict, or -1 if too
 * many frames are held
 */
int rig_submit(struct rig *rig, u32 frame_bytes, u8 tc, u8 flags, s64 txtime_ns, u64 *id);

int rig_adjfine(struct rig *rig, s64 scaled_ppm);
int rig_adjtime(struct rig *rig, s64 delta_ns);
/** rig_set_partition() - kpn_pacer_set_partition(); @allowed: the masks @partition was made from */
int rig_set_partition(struct rig *rig, const struct kpn_partition *partition, const u16 *allowed,
		      u64 at_net_slot);
int rig_settime(struct rig *rig, struct kpn_time t);

/** rig_frame_by_id() - a frame still remembered, or NULL */
const struct rig_frame *rig_frame_by_id(const struct rig *rig, u64 id);

#endif
