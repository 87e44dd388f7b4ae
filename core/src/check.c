// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* How a validation rule reports a wrong field. */
#include "kpn_check.h"

void kpn_refuse(struct check *check, const char *field, u64 value, struct limits range,
		const char *reason)
{
	if (check->count < check->room) {
		check->problems[check->count] = (struct kpn_problem){
			.field = field,
			.value = value,
			.min = range.min,
			.max = range.max,
			.reason = reason,
		};
	}
	check->count++;
}

bool kpn_require(struct check *check, const char *field, u64 value, struct limits range,
		 const char *reason)
{
	if (within(value, range))
		return true;
	kpn_refuse(check, field, value, range, reason);
	return false;
}

bool kpn_require_narrowed(struct check *check, const char *field, u64 value, struct limits range,
			  const char *reason, struct limits now, const char *reason_now)
{
	return kpn_require(check, field, value, now, within(value, range) ? reason_now : reason);
}
