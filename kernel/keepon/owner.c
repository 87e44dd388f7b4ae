// SPDX-License-Identifier: GPL-2.0-only
/* Callbacks from the driver of the lower device about its ring (struct keepon_native_owner). */
#include "keepon.h"

static void on_stop(void *owner)
{
	keepon_engine_stop(owner);
}

static void on_lost(void *owner)
{
	keepon_engine_lost(owner);
}

static void on_ready(void *owner)
{
	keepon_engine_follow(owner);
}

static void on_delayed(void *owner, u64 delay_ns, u32 frames)
{
	struct keepon *keepon = owner;
	unsigned long flags;
	bool runs;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	runs = keepon->engine;
	keepon->foreign_frames += frames;
	if (runs)
		kpn_pacer_delay(keepon->engine->pacer, delay_ns * 1000);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	if (runs)
		keepon_complete_soon(keepon);
}

const struct keepon_native_owner keepon_lower_owner = {
	.stop = on_stop,
	.lost = on_lost,
	.ready = on_ready,
	.delayed = on_delayed,
	.transmit = keepon_card_transmit,
	.received = keepon_card_received,
	.ts_info = keepon_card_ts_info,
	.hwtstamp_get = keepon_card_hwtstamp_get,
	.hwtstamp_set = keepon_card_hwtstamp_set,
};
