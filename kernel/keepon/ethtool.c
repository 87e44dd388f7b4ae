// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output of ethtool: every counter of the core over all runs, the state of the clock, and the link
 * below.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>

#include "keepon.h"

/*
 * State of the present run; zero without one. X(name, expression); engine, state and bounds are in
 * scope.
 */
#define STATES(X)                                            \
	X(pending, state.pending)                            \
	X(synchronised, state.synchronised)                  \
	X(head_valid, state.head_valid)                      \
	X(rx_ring_valid, keepon_dual_knows(engine->dual))    \
	X(clock_error_ps, state.clock_error_ps)              \
	X(net_slot_base, state.base)                         \
	X(head_seq, state.head_seq)                          \
	X(lock_seq, state.lock_seq)                          \
	X(lead_slots, kpn_pacer_lead_slots(engine->pacer))   \
	X(frame_slots_max, frame_slots_max(engine))          \
	X(bound_boundary_error_ps, bounds.boundary_error_ps) \
	X(bound_span_ns, bounds.span_ns)                     \
	X(bound_lock_ns, bounds.lock_ns)

enum {
#define ONE(name, expression) +1
	STATE_COUNT = 0 STATES(ONE),
#undef ONE
#define ONE(name) +1
	DUAL_COUNT = 0 KEEPON_DUAL_COUNTERS(ONE),
#undef ONE
	START_COUNT = 3,
	STAT_COUNT = KPN_COUNTER_COUNT + KPN_VERDICT_COUNT + START_COUNT + DUAL_COUNT +
		     KEEPON_CLASS_COUNT + STATE_COUNT,
};

static int get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? STAT_COUNT : -EOPNOTSUPP;
}

static void get_strings(struct net_device *dev, u32 set, u8 *data)
{
	u32 i;

	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < KPN_COUNTER_COUNT; i++)
		ethtool_sprintf(&data, "%s", kpn_stats_name(i));
	for (i = 0; i < KPN_VERDICT_COUNT; i++)
		ethtool_sprintf(&data, "verdict_%s", kpn_verdict_name(i));
	ethtool_sprintf(&data, "starts");
	ethtool_sprintf(&data, "start_failures");
	ethtool_sprintf(&data, "foreign_frames");
#define SAY(name) ethtool_sprintf(&data, "rx_ring_" #name);
	KEEPON_DUAL_COUNTERS(SAY)
#undef SAY
	for (i = 0; i < KEEPON_CLASS_COUNT; i++)
		ethtool_sprintf(&data, "class_%u_late_ns", i);
#define SAY(name, expression) ethtool_sprintf(&data, #name);
	STATES(SAY)
#undef SAY
}

/* Slots of the longest frame; 1 if no frame is longer than a slot. */
static u32 frame_slots_max(const struct keepon_engine *engine)
{
	return kpn_pacer_frame_slots(engine->pacer, engine->config.frame_bytes_max) ?: 1;
}

static void put_states_locked(const struct keepon *keepon, u64 *data)
{
	const struct keepon_engine *engine = keepon->engine;
	struct kpn_bounds bounds = {};
	struct kpn_state state;

	if (!engine) {
		memset(data, 0, STATE_COUNT * sizeof(*data));
		return;
	}
	state = kpn_pacer_state(engine->pacer, engine->native.ops->cpu_ns(engine->native.nic));
	if (keepon->plan.config.mode == KPN_MODE_PHASE_LOCKED)
		bounds = kpn_pacer_bounds(engine->pacer, keepon->plan.config.drift_ppb_max, 0);
#define PUT(name, expression) *data++ = (expression);
	STATES(PUT)
#undef PUT
}

static void get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct keepon *keepon = netdev_priv(dev);
	struct keepon_dual_counters dual;
	const struct kpn_stats *run = NULL;
	unsigned long flags;
	u32 i;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	if (keepon->engine)
		run = kpn_pacer_stats(keepon->engine->pacer);
	for (i = 0; i < KPN_COUNTER_COUNT; i++)
		*data++ = kpn_stats_value(&keepon->total, i) + (run ? kpn_stats_value(run, i) : 0);
	for (i = 0; i < KPN_VERDICT_COUNT; i++)
		*data++ = keepon->total.verdicts[i] + (run ? run->verdicts[i] : 0);
	*data++ = keepon->starts;
	*data++ = keepon->start_failures;
	*data++ = keepon->foreign_frames;
	dual = keepon->dual_total;
	if (keepon->engine)
		keepon_dual_add_counters(&dual, keepon->engine);
#define PUT(name) *data++ = dual.name;
	KEEPON_DUAL_COUNTERS(PUT)
#undef PUT
	for (i = 0; i < KEEPON_CLASS_COUNT; i++)
		*data++ = READ_ONCE(keepon->late_ns[i]);
	put_states_locked(keepon, data);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
}

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct keepon *keepon = netdev_priv(dev);

	strscpy(info->driver, KEEPON_LINK_KIND, sizeof(info->driver));
	strscpy(info->bus_info, keepon->lower->name, sizeof(info->bus_info));
}

static int get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	struct keepon *keepon = netdev_priv(dev);

	return __ethtool_get_link_ksettings(keepon->lower, settings);
}

const struct ethtool_ops keepon_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = get_link_ksettings,
	.get_ts_info = keepon_get_ts_info,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_ethtool_stats,
};
