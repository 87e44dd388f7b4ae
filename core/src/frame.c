/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Names of the verdicts, and which of them mean "was on the wire". Other files decide who gets
 * which verdict.
 */
#include "keepon/frame.h"

/*
 * Written out because the preprocessor cannot change case; a self-test compares it with the list in
 * the header.
 */
/* clang-format off */
static const char *const verdict_names[] = {
	[KPN_VERDICT_ON_TIME] = "on_time",
	[KPN_VERDICT_MOVED] = "moved",
	[KPN_VERDICT_BEST_EFFORT] = "best_effort",
	[KPN_VERDICT_SENT_STALE] = "sent_stale",
	[KPN_VERDICT_IN_DOUBT] = "in_doubt",
	[KPN_VERDICT_LATE] = "late",
	[KPN_VERDICT_TOO_EARLY] = "too_early",
	[KPN_VERDICT_OCCUPIED] = "occupied",
	[KPN_VERDICT_NOT_ALLOWED] = "not_allowed",
	[KPN_VERDICT_OVERSIZE] = "oversize",
	[KPN_VERDICT_NO_SLOT] = "no_slot",
	[KPN_VERDICT_NO_ROOM] = "no_room",
	[KPN_VERDICT_STEPPED] = "stepped",
	[KPN_VERDICT_UNSYNCHRONISED] = "unsynchronised",
	[KPN_VERDICT_UNLOCKED] = "unlocked",
	[KPN_VERDICT_INVALID] = "invalid",
	[KPN_VERDICT_FLUSHED] = "flushed",
	[KPN_VERDICT_PENDING] = "pending",
};
/* clang-format on */

_Static_assert(sizeof(verdict_names) / sizeof(verdict_names[0]) == KPN_VERDICT_COUNT + 1,
	       "one name each");

const char *kpn_verdict_name(enum kpn_verdict verdict)
{
	KPN_ASSERT((u32)verdict <= KPN_VERDICT_PENDING);
	if ((u32)verdict > KPN_VERDICT_PENDING)
		return "unknown";
	return verdict_names[verdict];
}

bool kpn_verdict_is_sent(enum kpn_verdict verdict)
{
	static const bool sent[] = {
#define KPN_VERDICT_SENT(name, sent, text) [KPN_VERDICT_##name] = (sent),
		KPN_VERDICTS(KPN_VERDICT_SENT)
#undef KPN_VERDICT_SENT
	};

	/* a pending frame was not sent yet */
	return (u32)verdict < KPN_VERDICT_COUNT && sent[verdict];
}
