// SPDX-License-Identifier: GPL-2.0-only
/*
 * `clock dual`: the receive ring as a second clock (KeepON paper section 4.2). The peer keeps its
 * wire saturated, too; the lower driver lends its receive ring with the FCS filter off, so that
 * every frame is counted, placeholders included. This file takes the frames out of the ring; a
 * frame that reaches the stack is stamped by its place among all that arrived. The driver still
 * delivers it, once.
 */
#include <linux/slab.h>

#include "keepon.h"
#include "keepon/runs.h"
#include "keepon/wire.h"
#include "trace.h"

/**
 * struct keepon_dual - one run of the second clock; keepon.lock
 * @native: the claimed ring
 * @rx: position of the peer's wire
 * @merge: both rings
 * @counters: of this run, but for those of @rx and @merge
 * @place: of the next frame to be taken
 * @index: of the ring, as of the last reading
 * @missed: count of the driver, as of the last reading
 * @poll_ns: time to the next poll,
 * @dither_ns: less up to this
 * @random: state of the dither
 * @runs: positions of the latest frames
 */
struct keepon_dual {
	struct keepon_native_rx native;
	struct kpn_rx rx;
	struct kpn_dual merge;
	struct keepon_dual_counters counters;
	u64 place;
	u32 index;
	u64 missed;
	u64 poll_ns;
	u64 dither_ns;
	u32 random;
	struct kpn_runs runs;
};

u64 keepon_dual_poll_ns(const struct kpn_config *config)
{
	u64 slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * kpn_byte_time_ps(config->rate_bps);

	return max_t(u64, div_u64(slot_ps * config->batch_slots, 1000), 1);
}

void keepon_dual_config(const struct keepon_plan *plan, struct kpn_rx_config *config)
{
	const struct kpn_config *tx = &plan->config;

	*config = (struct kpn_rx_config){
		.rate_bps = tx->rate_bps,
		/* The stated bound is for one NIC against the CPU; the peer's NIC adds another. */
		.drift_ppb_max = min_t(u64, 2ull * tx->drift_ppb_max, 1000000),
		.wander_ppb_per_s_max = min_t(u64, 2ull * tx->wander_ppb_per_s_max, 1000000),
		.poll_ns = keepon_dual_poll_ns(tx),
		.lag_ns_min = plan->rx_caps.lag_ns_min,
		.lag_ns_max = plan->rx_caps.lag_ns_max,
		.frame_bytes_max = plan->rx_caps.frame_bytes_max,
		.cpu_tick_ns = plan->caps.cpu_tick_ns,
	};
}

int keepon_dual_claim(struct keepon_engine *engine, struct netlink_ext_ack *extack)
{
	struct net_device *lower = engine->keepon->lower;
	const struct keepon_plan *plan = &engine->keepon->plan;
	struct kpn_rx_config config;
	struct keepon_dual *dual;
	int error;

	if (plan->clock != KEEPON_CLOCK_DUAL)
		return 0;
	dual = kvzalloc(sizeof(*dual), GFP_KERNEL);
	if (!dual)
		return -ENOMEM;
	error = engine->driver->claim_rx(lower, &dual->native);
	if (error) {
		keepon_explain(
			extack,
			"cannot claim the receive ring of %s (error %d); see who else uses it",
			lower->name, error);
		kvfree(dual);
		return error;
	}
	keepon_dual_config(plan, &config);
	kpn_rx_init(&dual->rx, &config);
	dual->place = dual->native.place;
	dual->index = (u32)dual->place;
	if (plan->rx_caps.index_modulus)
		div_u64_rem(dual->place, plan->rx_caps.index_modulus, &dual->index);
	dual->missed = dual->native.ops->missed(dual->native.nic);
	dual->poll_ns = config.poll_ns;
	if (plan->config.dither)
		dual->dither_ns =
			min(div_u64(config.poll_ns, plan->config.batch_slots), config.poll_ns / 2);
	dual->random = 0x9e3779b9;
	engine->dual = dual;
	return 0;
}

void keepon_dual_join_locked(struct keepon_engine *engine)
{
	struct keepon_plan *plan = &engine->keepon->plan;

	plan->rx_limits = (struct kpn_rx_limits){};
	if (!engine->dual)
		return;
	plan->rx_limits = kpn_rx_beat_limits(&engine->dual->rx);
	kpn_dual_init(&engine->dual->merge, engine->pacer, &engine->dual->rx, plan->merge,
		      plan->tau_ns ?: kpn_merge_tau_ns(&plan->config));
}

void keepon_dual_release(struct keepon_engine *engine)
{
	if (!engine->dual)
		return;
	engine->driver->release_rx(engine->keepon->lower, &engine->dual->native);
	kvfree(engine->dual);
	engine->dual = NULL;
}

/* ---- the ring ---- */

static u64 cpu_ns(const struct keepon_engine *engine)
{
	return engine->native.ops->cpu_ns(engine->native.nic);
}

/* Frames of one length: remember their positions, which follow from the first. */
static void take(struct keepon_dual *dual, u32 frames, u32 frame_bytes)
{
	kpn_runs_take(&dual->runs, dual->place, frames, frame_bytes,
		      dual->rx.head_ps + dual->rx.sfd_ps);
	dual->place += frames;
	dual->counters.frames += frames;
	while (frames--)
		kpn_rx_take(&dual->rx, frame_bytes);
}

/* One reading of the index. A ring that is gone shows no more frames. */
static void read_index_locked(struct keepon_engine *engine)
{
	const u32 modulus = engine->keepon->plan.rx_caps.index_modulus;
	struct keepon_dual *dual = engine->dual;
	u64 before_ns = cpu_ns(engine);
	u32 index = dual->native.ops->read_index(dual->native.nic);
	u64 after_ns = cpu_ns(engine);
	/* 2^32 wraps by itself. */
	u32 come = index >= dual->index ? index - dual->index : index - dual->index + modulus;

	if (index == KPN_INDEX_GONE || (modulus && index >= modulus))
		return;
	dual->index = index;
	kpn_rx_show(&dual->rx, come, before_ns, after_ns);
}

/*
 * One beat: take the frames left of the last reading, or else of a new one, within the budget.
 * Frames are missed while the ring is full, so after those it showed.
 */
static void observe_locked(struct keepon_engine *engine)
{
	struct keepon_dual *dual = engine->dual;
	u64 missed;
	u32 due;

	if (!dual->rx.left)
		read_index_locked(engine);
	due = kpn_rx_due(&dual->rx);
	while (due) {
		u32 frame_bytes;
		u32 frames = dual->native.ops->take(dual->native.nic, due, &frame_bytes);

		if (WARN_ON_ONCE(!frames || frames > due)) {
			dual->rx.left = 0;
			break;
		}
		take(dual, frames, frame_bytes);
		due -= frames;
	}
	missed = dual->native.ops->missed(dual->native.nic);
	if (unlikely(missed != dual->missed)) {
		dual->counters.missed += missed - dual->missed;
		dual->missed = missed;
		kpn_rx_lost(&dual->rx);
	}
	if (kpn_rx_conclude(&dual->rx))
		kpn_dual_correct(&dual->merge, cpu_ns(engine));
}

/* xorshift32 (Marsaglia, 2003): readings should meet every phase of the peer's slots. */
static u64 dithered_ns(struct keepon_dual *dual)
{
	dual->random ^= dual->random << 13;
	dual->random ^= dual->random >> 17;
	dual->random ^= dual->random << 5;
	return dual->poll_ns - mul_u64_u32_shr(dual->dither_ns, dual->random, 32);
}

u64 keepon_dual_poll_locked(struct keepon_engine *engine, bool *completed)
{
	observe_locked(engine);
	return dithered_ns(engine->dual);
}

/* ---- timestamps ---- */

bool keepon_dual_reach_locked(struct keepon_engine *engine, u64 place, bool *fresh)
{
	struct keepon_dual *dual = engine->dual;

	if (place == KEEPON_NO_PLACE || place < dual->place)
		return true;
	if (!dual->rx.left) {
		if (*fresh)
			return true;
		*fresh = true;
	}
	observe_locked(engine);
	return place < dual->place;
}

ktime_t keepon_dual_stamp_locked(struct keepon_engine *engine, u64 place, u32 frame_bytes)
{
	struct keepon_dual *dual = engine->dual;
	struct kpn_rx_stamp stamp = {};
	u64 position_ps;
	bool found = kpn_runs_find(&dual->runs, place, frame_bytes, dual->rx.byte_ps, &position_ps);

	if (found)
		stamp = kpn_dual_stamp(&dual->merge, position_ps, cpu_ns(engine));
	trace_keepon_arrival(engine->keepon->dev, found ? place : KEEPON_NO_PLACE, &stamp);
	if (!stamp.valid) {
		dual->counters.unstamped++;
		return 0;
	}
	dual->counters.stamped++;
	return keepon_stamp(stamp.time);
}

/* ---- the merged clock, used in place of the pacer's ---- */

struct kpn_time keepon_dual_gettime(const struct keepon_dual *dual, u64 at_ns)
{
	return kpn_dual_gettime(&dual->merge, at_ns);
}

int keepon_dual_adjfine(struct keepon_dual *dual, s64 scaled_ppm)
{
	return kpn_dual_adjfine(&dual->merge, scaled_ppm);
}

int keepon_dual_adjtime(struct keepon_dual *dual, s64 delta_ns)
{
	return kpn_dual_adjtime(&dual->merge, delta_ns);
}

int keepon_dual_settime(struct keepon_dual *dual, struct kpn_time t)
{
	return kpn_dual_settime(&dual->merge, t);
}

void keepon_dual_correct_locked(struct keepon_engine *engine)
{
	kpn_dual_correct(&engine->dual->merge, cpu_ns(engine));
}

void keepon_dual_add_counters(struct keepon_dual_counters *sum, const struct keepon_engine *engine)
{
	const struct keepon_dual *dual = engine->dual;

	if (!dual)
		return;
	sum->frames += dual->counters.frames;
	sum->missed += dual->counters.missed;
	sum->readings += dual->rx.readings;
	sum->stops += dual->rx.stops;
	sum->stamped += dual->counters.stamped;
	sum->unstamped += dual->counters.unstamped;
	sum->tx_set += dual->merge.tx_set;
	sum->rx_set += dual->merge.rx_set;
}

bool keepon_dual_knows(const struct keepon_dual *dual)
{
	return dual && dual->rx.strip.valid;
}
