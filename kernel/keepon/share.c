// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many frames with a txtime one socket may have waiting. Senders decide how long frames wait,
 * so without a bound one sender could fill the pool, and all others of its class would wait for its
 * txtimes.
 *
 * A socket may have as many frames waiting as records are free (dynamic thresholds: Choudhury and
 * Hahne, IEEE/ACM Transactions on Networking 6(2), 1998): alone half the records, two sockets a
 * third each, and some are left for the next sender. The last quarter of the pool is for best
 * effort, which never waits for a txtime.
 */
#include <linux/hash.h>

#include "keepon.h"

struct keepon_sender *keepon_share_find_locked(struct keepon_share *share, const struct sock *sk)
{
	struct keepon_sender *way = share->senders[hash_ptr(sk, KEEPON_SHARE_SET_BITS)];
	struct keepon_sender *sender = NULL;
	u32 i;

	for (i = 0; i < KEEPON_SHARE_WAYS; i++) {
		if (way[i].waiting && way[i].sk == sk)
			return &way[i];
		if (!way[i].waiting && !sender)
			sender = &way[i];
	}
	/* More senders than ways: all of the others share the last way. */
	return sender ?: &way[KEEPON_SHARE_WAYS - 1];
}

void keepon_share_end_locked(struct keepon_engine *engine, struct keepon_frame *frame)
{
	if (!frame->sender)
		return;
	frame->sender->waiting--;
	engine->shares[frame->frame.tc].waiting--;
	frame->sender = NULL;
}
