/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* One validation under way, and how a rule says that a field is wrong. */
#ifndef KPN_CHECK_H
#define KPN_CHECK_H

#include "kpn_caps.h"

/**
 * struct check - one validation under way
 * @paper, @locked: the mode; both false if it is wrong itself, @locked also if the trim policy is
 * @slot_ok ... @trims_ok: fields found right so far, for the rules that rest on them
 * @slot_ps: slot time, 0 if rate or slot length are wrong
 * @least_slots: that must be between two polls, 0: any, or slots are wrong
 */
struct check {
	const struct kpn_config *config;
	const struct kpn_nic_caps *caps;
	struct kpn_problem *problems;
	u32 room;
	u32 count;
	bool paper;
	bool locked;
	bool slot_ok;
	bool ring_ok;
	bool batch_ok;
	bool depth_ok;
	bool trims_ok;
	u64 slot_ps;
	u64 least_slots;
};

/** kpn_refuse() - field @field is wrong; @range is what it may be */
void kpn_refuse(struct check *check, const char *field, u64 value, struct limits range,
		const char *reason);

/** kpn_require() - refuse @value unless it is within @range. Return: whether it is */
bool kpn_require(struct check *check, const char *field, u64 value, struct limits range,
		 const char *reason);

/**
 * kpn_require_narrowed() - the same for a range that other fields have narrowed to @now: always
 * stated as it is now, with the reason that fits the value
 */
bool kpn_require_narrowed(struct check *check, const char *field, u64 value, struct limits range,
			  const char *reason, struct limits now, const char *reason_now);

#endif
