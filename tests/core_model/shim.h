/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pacer rig as a shared library for ctypes: parameters and reports are arrays of 64-bit numbers
 * whose names the library itself lists, logs are arrays of records. Nothing is decided here. A rig
 * is made in shim_create.c, its logs are kept in shim_records.c, shim_report.c tells how it stands,
 * and shim.c has what is done to it.
 */
#ifndef CORE_MODEL_SHIM_H
#define CORE_MODEL_SHIM_H

#include "rig_restart.h"

struct slot_record {
	u64 seq;
	u64 latch_ps;
	u64 start_ps;
	u64 position_ps;
	u64 frame_bytes;
	u64 frame_id; /* 0 for a placeholder */
};

/* a frame was put into a slot or taken out of it again, in the order of happening */
struct commit_record {
	u64 frame_id;
	u64 seq;
	u64 base;
	u64 placed;
};

struct outcome_record {
	u64 frame_id;
	u64 verdict;
	s64 start_ns;
	u64 start_frac;
	u64 wire_seq;
	u64 placed_seq;
	u64 placed_base;
};

struct records {
	void *data;
	size_t count;
	size_t room;
};

/*
 * tables of a partition that was switched to; one is in use while another is prepared, the third is
 * refused
 */
struct table {
	struct kpn_partition partition;
	u64 *planes;
	u16 *allowed;
};

struct shim {
	struct rig rig;
	struct table tables[3];
	struct kpn_nic_caps caps;
	struct records slots;
	struct records commits;
	struct records outcomes;
	void *memory;
};

/** shim_log() - the rig's log that fills the records of @shim */
struct rig_log shim_log(struct shim *shim);

/* What Python calls. */
const char *shim_param_names(void);
const char *shim_report_names(void);
const char *shim_verdict_names(void);
struct shim *shim_create(const s64 *params, const u16 *allowed, const u8 *late, const u8 *rounding,
			 char *problem, size_t problem_bytes);
void shim_destroy(struct shim *shim);
void shim_report(struct shim *shim, u64 *values);
struct rig *shim_rig(struct shim *shim);
size_t shim_slots(struct shim *shim, const struct slot_record **records);
size_t shim_commits(struct shim *shim, const struct commit_record **records);
size_t shim_outcomes(struct shim *shim, const struct outcome_record **records);
u64 shim_used_bytes(struct shim *shim, u32 desc_idx);
void shim_clear(struct shim *shim);
const char *shim_violation(const struct shim *shim);
bool shim_reset(struct shim *shim, s64 start_time_ns);
void shim_start(struct shim *shim);
void shim_violate_assumptions(struct shim *shim);
void shim_drift(struct shim *shim, s32 drift_ppb, u32 wander_ppb_per_s);
u64 shim_poll_interval_ps(struct shim *shim);
int shim_settime(struct shim *shim, s64 ns, u32 frac);
void shim_clock_at(struct shim *shim, u64 position_ps, u64 *values);
u64 shim_position_at(struct shim *shim, s64 ns, u32 frac);
void shim_bounds(struct shim *shim, u32 rate_ppb, u32 rate_change_ppb, u64 *values);
u64 shim_hash(const struct shim *shim);
int shim_set_partition(struct shim *shim, const u16 *allowed, u32 slots, u64 at_net_slot);
int shim_set_credit(struct shim *shim, u8 tc, u64 idle_slope_bps, u32 high_bytes);
void shim_fail(struct shim *shim, bool gone);

#endif
