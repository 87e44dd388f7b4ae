/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A validation in progress, and how a rule reports a wrong field. */
#ifndef KPN_CHECK_H
#define KPN_CHECK_H

#include "kpn_caps.h"

/**
 * struct check - a validation in progress
 * @paper, @locked: the mode; both false for an invalid mode, @locked also for an invalid trim
 *	policy
 * @slot_ok ... @trims_ok: fields found valid so far, for the rules that rest on them
 * @slot_ps: slot time, 0 if rate or slot length are wrong
 * @least_slots: least slots between two polls; 0: any, or the slots are invalid
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

/** kpn_refuse() - report field @field as wrong; @range is its allowed range */
void kpn_refuse(struct check *check, const char *field, u64 value, struct limits range,
		const char *reason);

/** kpn_require() - refuse @value outside @range. Return: whether it is within */
bool kpn_require(struct check *check, const char *field, u64 value, struct limits range,
		 const char *reason);

/**
 * kpn_require_narrowed() - the same for a range that other fields have narrowed to @now: @now is
 * reported, with the reason that fits the value
 */
bool kpn_require_narrowed(struct check *check, const char *field, u64 value, struct limits range,
			  const char *reason, struct limits now, const char *reason_now);

#endif
