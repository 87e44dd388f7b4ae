// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least byte queue limit of a transmit queue.
 *
 * DQL raises such a limit when a queue ran empty before more frames could follow, since the wire
 * was idle then. Here a frame waits in the ring for all that was fetched before it, so few frames
 * never let a queue run empty: each is completed when the next ones are in flight. The limit would
 * stay below the bytes in flight, and frames would wait for each other while slots of their class
 * stay empty.
 */
#include <linux/bitops.h>
#include <linux/rtnetlink.h>

#include "keepon.h"

/* Most slots of class @tc among any @window consecutive slots. */
static u32 slots_within(const struct kpn_partition *partition, u32 tc, u32 window)
{
	const u64 *plane = partition->planes + (size_t)tc * partition->plane_words;
	u32 slots = partition->plane_slots;
	u64 open = 0;
	u32 i;

	for (i = 0; i < slots / KPN_WORD_BITS; i++)
		open += hweight64(plane[i]);
	if (slots % KPN_WORD_BITS)
		open += hweight64(plane[i] & (BIT_ULL(slots % KPN_WORD_BITS) - 1));
	return min_t(u64, open * DIV_ROUND_UP(window, slots), window);
}

void keepon_queue_limits(struct keepon *keepon)
{
	const struct keepon_engine *engine = keepon->engine;
	const struct kpn_partition *used[2];
	unsigned long flags;
	u32 window;
	u32 tc;

	ASSERT_RTNL();
	if (!engine)
		return;
	raw_spin_lock_irqsave(&keepon->lock, flags);
	used[0] = kpn_pacer_partition(engine->pacer, false);
	used[1] = kpn_pacer_partition(engine->pacer, true);
	/*
	 * From xmit to the slot, and to the poll that completes the frame: two batches, if a poll
	 * is late.
	 */
	window = kpn_pacer_lead_slots(engine->pacer) + 2 * engine->config.batch_slots;
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	/* Only holders of RTNL free tables. */
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		u32 slots = slots_within(used[0], tc, window);

		if (used[1])
			slots = max(slots, slots_within(used[1], tc, window));
		netdev_queue_set_dql_min_limit(netdev_get_tx_queue(keepon->dev, tc),
					       slots * engine->config.slot_bytes);
		if (keepon_has_card(engine) && tc == keepon_queue_of_rest(keepon->dev))
			keepon_card_limit(keepon, slots * engine->config.slot_bytes);
	}
}
