// SPDX-License-Identifier: GPL-2.0-only
/*
 * A gate list of taprio becomes class masks by slot. A list that does not fit the slots is refused
 * in one sentence with the nearest values that fit.
 */
#include <linux/math64.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "keepon.h"
#include "keepon/wire.h"

/*
 * Limits of the search for values that fit: cycles tried, and visits of entries. The refused caller
 * holds RTNL during the search.
 */
enum { CYCLES_TRIED_MAX = 1 << 17, ENTRIES_TRIED_MAX = 1 << 23 };

static u64 slot_ps_of(const struct keepon_plan *plan, u32 slot_bytes)
{
	return (u64)kpn_wire_bytes(slot_bytes) * kpn_byte_time_ps(plan->config.rate_bps);
}

static u64 common_divisor(u64 a, u64 b)
{
	while (b) {
		u64 rest;

		div64_u64_rem(a, b, &rest);
		a = b;
		b = rest;
	}
	return a;
}

/* Slots after which slots and cycles begin together again. */
static u64 period_slots(u64 cycle_ns, u64 slot_ps)
{
	u64 cycle_ps = cycle_ns * 1000;

	return div64_u64(cycle_ps, common_divisor(cycle_ps, slot_ps));
}

static bool comes_round(u64 cycle_ns, u64 slot_ps)
{
	return cycle_ns && period_slots(cycle_ns, slot_ps) <= KPN_PARTITION_SLOTS_MAX;
}

/* ---- from the request ---- */

static int check_request(const struct tc_taprio_qopt_offload *offload,
			 struct netlink_ext_ack *extack)
{
	size_t i;

	if (!offload->num_entries || offload->num_entries > KPN_GCL_ENTRIES_MAX) {
		keepon_explain(extack,
			       "%zu sched-entries are not within 1 to %u; join some of them",
			       offload->num_entries, KPN_GCL_ENTRIES_MAX);
		return -EINVAL;
	}
	if (offload->base_time > KPN_TIME_NS_MAX) {
		keepon_explain(extack, "base-time %lld is beyond %lld; give one the PHC reaches",
			       offload->base_time, KPN_TIME_NS_MAX);
		return -EINVAL;
	}
	if (!offload->cycle_time || offload->cycle_time > INT_MAX) {
		keepon_explain(extack, "cycle-time %llu is not within 1 to %d; repeat it sooner",
			       offload->cycle_time, INT_MAX);
		return -EINVAL;
	}
	if (keepon_taprio_preemptible(offload)) {
		keepon_explain(extack,
			       "fp P: frame preemption is not supported; make every class express");
		return -EOPNOTSUPP;
	}
	for (i = 0; i < offload->num_entries; i++) {
		if (offload->entries[i].command == TC_TAPRIO_CMD_SET_GATES &&
		    offload->entries[i].interval)
			continue;
		keepon_explain(
			extack,
			"sched-entry %zu: only S with an interval is carried out, not H or R; nothing is preempted here",
			i + 1);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Take entries until the cycle is full; the last one lasts until its end. */
static void take_entries(struct keepon_gates *gates, const struct tc_taprio_qopt_offload *offload)
{
	u32 left_ns = gates->cycle_ns;
	size_t i;

	for (i = 0; i < offload->num_entries; i++) {
		u32 interval_ns = offload->entries[i].interval;

		gates->entries[i] = (struct kpn_gcl_entry){
			.gates = offload->entries[i].gate_mask,
			.interval_ns = interval_ns,
		};
		if (!left_ns)
			continue;
		gates->entry_count = i + 1;
		gates->last_ns = interval_ns;
		if (i + 1 == offload->num_entries || interval_ns > left_ns)
			interval_ns = left_ns;
		gates->entries[i].interval_ns = interval_ns;
		left_ns -= interval_ns;
	}
	gates->given_count = offload->num_entries;
}

struct keepon_gates *keepon_gates_make(const struct tc_taprio_qopt_offload *offload,
				       struct netlink_ext_ack *extack)
{
	struct keepon_gates *gates;
	int error = check_request(offload, extack);
	s32 phase_ns;

	if (error)
		return ERR_PTR(error);
	gates = kvzalloc(struct_size(gates, entries, offload->num_entries), GFP_KERNEL_ACCOUNT);
	if (!gates)
		return ERR_PTR(-ENOMEM);
	gates->cycle_ns = offload->cycle_time;
	gates->extension_ns = offload->cycle_time_extension;
	gates->base_ns = offload->base_time;
	if (gates->base_ns < 0) {
		div_s64_rem(gates->base_ns, gates->cycle_ns, &phase_ns);
		gates->base_ns = phase_ns < 0 ? phase_ns + (s64)gates->cycle_ns : phase_ns;
	}
	take_entries(gates, offload);
	return gates;
}

void keepon_gates_free(struct keepon_gates *gates)
{
	if (!gates)
		return;
	kvfree(gates->masks);
	kvfree(gates);
}

s64 keepon_gates_start_ns(const struct keepon_gates *gates, s64 earliest_ns)
{
	u64 cycles;

	if (gates->base_ns >= earliest_ns)
		return gates->base_ns;
	cycles = div_u64(earliest_ns - gates->base_ns, gates->cycle_ns) + 1;
	return gates->base_ns + (s64)(cycles * gates->cycle_ns);
}

/* ---- to class masks ---- */

/* Return: bit per class whose gate opens, but never for a whole slot; negative errors. */
static int compile_into(const struct keepon_gates *gates, u64 slot_ps, u16 *masks, u32 *slots)
{
	const struct kpn_gcl gcl = {
		.base_ns = gates->base_ns,
		.entry_count = gates->entry_count,
		.entries = gates->entries,
	};
	struct kpn_gcl_report report;
	u16 missing = 0;
	u32 i;

	if (kpn_gcl_compile(&gcl, slot_ps, masks, KPN_PARTITION_SLOTS_MAX, &report))
		return -ERANGE;
	*slots = report.partition_slots;
	for (i = 0; i < gates->entry_count; i++)
		missing |= gates->entries[i].gates;
	for (i = 0; i < *slots; i++)
		missing &= ~masks[i];
	return missing;
}

/* ---- values that would fit ---- */

/*
 * struct trial - a list with other slots or another cycle
 * @gates: the list; @cycle_ns, @slot_ps: the values tried
 * @base_ps: its base time within the cycle; @step_ps: relative to the cycle, slots begin at all
 *	multiples of it, less @base_ps
 */
struct trial {
	const struct keepon_gates *gates;
	u64 slot_ps;
	u64 step_ps;
	u64 base_ps;
	u32 cycle_ns;
};

/*
 * struct search - state of many trials
 * @entries_left: visits of entries still allowed
 * @queue: queue without a slot in the last trial: most often it has none in the next one either
 */
struct search {
	u32 entries_left;
	u32 queue;
};

static struct trial trial_of(const struct keepon_gates *gates, u32 cycle_ns, u64 slot_ps)
{
	struct trial trial = { .gates = gates, .slot_ps = slot_ps, .cycle_ns = cycle_ns };
	u32 base_ns;

	div_u64_rem(gates->base_ns, cycle_ns, &base_ns);
	trial.base_ps = base_ns * 1000ull;
	trial.step_ps = common_divisor(cycle_ns * 1000ull, slot_ps);
	return trial;
}

/* How long an entry lasts that begins at @at_ns of the cycle: the last one until the end. */
static u32 lasts_ns(const struct trial *trial, u32 i, u32 at_ns)
{
	const struct keepon_gates *gates = trial->gates;
	u32 ns = i + 1 == gates->entry_count ? gates->last_ns : gates->entries[i].interval_ns;
	u32 left_ns = trial->cycle_ns - at_ns;

	return i + 1 == gates->given_count ? left_ns : min(ns, left_ns);
}

/* Whether any slot is ever within a window. */
static bool holds_slot(const struct trial *trial, u64 start_ns, u64 length_ns)
{
	u64 rest_ps;

	div64_u64_rem(start_ns * 1000 + trial->base_ps, trial->step_ps, &rest_ps);
	if (rest_ps)
		rest_ps = trial->step_ps - rest_ps;
	return rest_ps + trial->slot_ps <= length_ns * 1000;
}

/*
 * Whether a class whose gate opens at all has a slot; false, too, when the visits are used up. Two
 * rounds, since a window may continue over the end.
 */
static bool has_slot(const struct trial *trial, u32 queue, u32 *entries_left)
{
	u64 begin_ns = 0;
	u64 open_ns = 0;
	bool opens = false;
	u32 round;
	u32 i;

	for (round = 0; round < 2; round++) {
		u32 at_ns = 0;

		for (i = 0; i < trial->gates->given_count && at_ns < trial->cycle_ns; i++) {
			u32 ns = lasts_ns(trial, i, at_ns);

			if (!*entries_left)
				return false;
			--*entries_left;
			if (trial->gates->entries[i].gates >> queue & 1) {
				opens = true;
				if (!open_ns)
					begin_ns = (u64)round * trial->cycle_ns + at_ns;
				open_ns += ns;
				if (open_ns >= trial->cycle_ns ||
				    holds_slot(trial, begin_ns, open_ns))
					return true;
			} else {
				open_ns = 0;
			}
			at_ns += ns;
		}
	}
	return !opens;
}

static bool all_have_slots(const struct trial *trial, struct search *search)
{
	u32 i;

	for (i = 0; i < KEEPON_CLASS_COUNT; i++) {
		if (!has_slot(trial, search->queue, &search->entries_left))
			return false;
		search->queue = (search->queue + 1) % KEEPON_CLASS_COUNT;
	}
	return true;
}

/* The nearest slot size with which every window of the list holds a slot, or 0. */
static u32 nearest_slot_bytes(const struct keepon_gates *gates, const struct keepon_plan *plan)
{
	u32 most = min_t(u32, plan->caps.frame_bytes_max, KPN_FRAME_BYTES_MAX);
	struct search search = { .entries_left = ENTRIES_TRIED_MAX };
	u32 bytes = plan->config.slot_bytes;
	u32 distance;
	u32 side;

	for (distance = 1; distance < KPN_FRAME_BYTES_MAX && search.entries_left; distance++) {
		for (side = 0; side < 2; side++) {
			u32 other = side ? bytes + distance : bytes - distance;
			struct trial trial;

			if (other < KPN_FRAME_BYTES_MIN || other > most)
				continue;
			trial = trial_of(gates, gates->cycle_ns, slot_ps_of(plan, other));
			if (comes_round(gates->cycle_ns, trial.slot_ps) &&
			    all_have_slots(&trial, &search))
				return other;
		}
		cond_resched();
	}
	return 0;
}

/*
 * The nearest cycle that repeats within KPN_PARTITION_SLOTS_MAX slots and whose windows all hold
 * slots, or 0.
 */
static u32 nearest_cycle_ns(const struct keepon_gates *gates, u64 slot_ps)
{
	struct search search = { .entries_left = ENTRIES_TRIED_MAX };
	u32 distance;
	u32 side;

	for (distance = 1; distance < CYCLES_TRIED_MAX && search.entries_left; distance++) {
		for (side = 0; side < 2; side++) {
			s64 cycle_ns =
				(s64)gates->cycle_ns + (side ? (s64)distance : -(s64)distance);
			struct trial trial;

			if (cycle_ns < 1 || cycle_ns > INT_MAX || !comes_round(cycle_ns, slot_ps))
				continue;
			trial = trial_of(gates, cycle_ns, slot_ps);
			if (all_have_slots(&trial, &search))
				return cycle_ns;
		}
		cond_resched();
	}
	return 0;
}

static int explain_cycle(const struct keepon_gates *gates, const struct keepon_plan *plan,
			 struct netlink_ext_ack *extack)
{
	u64 slot_ps = slot_ps_of(plan, plan->config.slot_bytes);
	u32 cycle_ns = nearest_cycle_ns(gates, slot_ps);
	u32 bytes = nearest_slot_bytes(gates, plan);
	u64 slot_ns = div_u64(slot_ps, 1000);

	if (bytes && cycle_ns)
		keepon_explain(
			extack,
			"cycle-time %u ns and slots of %llu ns begin together only after more than %u slots; the nearest that fit are cycle-time %u, or slot_bytes %u of the link",
			gates->cycle_ns, slot_ns, KPN_PARTITION_SLOTS_MAX, cycle_ns, bytes);
	else if (bytes)
		keepon_explain(
			extack,
			"cycle-time %u ns and slots of %llu ns begin together only after more than %u slots; the nearest that fits is slot_bytes %u of the link",
			gates->cycle_ns, slot_ns, KPN_PARTITION_SLOTS_MAX, bytes);
	else if (cycle_ns)
		keepon_explain(
			extack,
			"cycle-time %u ns and slots of %llu ns begin together only after more than %u slots; the nearest that fits is cycle-time %u",
			gates->cycle_ns, slot_ns, KPN_PARTITION_SLOTS_MAX, cycle_ns);
	else
		keepon_explain(
			extack,
			"cycle-time %u ns and slots of %llu ns begin together only after more than %u slots; a cycle of whole slots fits, with windows of %llu ns",
			gates->cycle_ns, slot_ns, KPN_PARTITION_SLOTS_MAX, 2 * slot_ns);
	return -EINVAL;
}

u32 keepon_queue_of_rest(const struct net_device *dev)
{
	return dev->num_tc ? dev->tc_to_txq[netdev_get_prio_tc_map(dev, 0)].offset : 0;
}

/* The stack's traffic class of a queue, or the queue itself. */
static u32 traffic_class_of(const struct net_device *dev, u32 queue)
{
	int tc;

	for (tc = 0; tc < dev->num_tc; tc++) {
		if (queue - dev->tc_to_txq[tc].offset < dev->tc_to_txq[tc].count)
			return tc;
	}
	return queue;
}

static int explain_window(const struct keepon_gates *gates, const struct keepon_plan *plan, u32 tc,
			  struct netlink_ext_ack *extack)
{
	u64 slot_ns = div_u64(slot_ps_of(plan, plan->config.slot_bytes), 1000);
	u32 bytes = nearest_slot_bytes(gates, plan);

	if (bytes)
		keepon_explain(
			extack,
			"no window of traffic class %u holds a whole slot of %llu ns; the nearest that fits is slot_bytes %u of the link with the same cycle-time %u",
			tc, slot_ns, bytes, gates->cycle_ns);
	else
		keepon_explain(
			extack,
			"no window of traffic class %u holds a whole slot of %llu ns; one of %llu ns always does, with the same cycle-time %u",
			tc, slot_ns, 2 * slot_ns, gates->cycle_ns);
	return -EINVAL;
}

/* Check the slots that the extension of the last cycle may take. */
static int check_extension(const struct keepon_gates *gates, u64 slot_ps,
			   struct netlink_ext_ack *extack)
{
	u64 most_ns = div_u64(KEEPON_EXTENSION_SLOTS_MAX * slot_ps, 1000);

	if (gates->extension_ns <= most_ns)
		return 0;
	keepon_explain(extack,
		       "cycle-time-extension %llu ns is beyond %llu ns, %u slots; shorten it",
		       gates->extension_ns, most_ns, KEEPON_EXTENSION_SLOTS_MAX);
	return -EINVAL;
}

/* Return: the masks, of *@slots slots, or an error, with a sentence */
static u16 *compile(const struct keepon_gates *gates, const struct keepon_plan *plan,
		    const struct net_device *dev, u32 *slots, struct netlink_ext_ack *extack)
{
	u64 slot_ps = slot_ps_of(plan, plan->config.slot_bytes);
	u16 *room = kvmalloc_array(KPN_PARTITION_SLOTS_MAX, sizeof(*room), GFP_KERNEL_ACCOUNT);
	u16 *masks = NULL;
	int missing;
	int error = check_extension(gates, slot_ps, extack);

	if (!room || error) {
		kvfree(room);
		return ERR_PTR(error ?: -ENOMEM);
	}
	missing = compile_into(gates, slot_ps, room, slots);
	if (missing < 0) {
		error = explain_cycle(gates, plan, extack);
	} else if (missing) {
		error = explain_window(gates, plan, traffic_class_of(dev, __ffs(missing)), extack);
	} else {
		masks = kvmalloc_array(*slots, sizeof(*masks), GFP_KERNEL_ACCOUNT);
		error = masks ? 0 : -ENOMEM;
	}
	if (!error)
		memcpy(masks, room, *slots * sizeof(*masks));
	kvfree(room);
	return error ? ERR_PTR(error) : masks;
}

/* Return: as compile(), if the plan is valid with the masks */
static u16 *suited(const struct keepon_gates *gates, const struct keepon_plan *plan,
		   const struct net_device *dev, u32 *slots, struct netlink_ext_ack *extack)
{
	struct kpn_config config = plan->config;
	struct kpn_problem problem;
	u16 *masks;

	if (config.mode != KPN_MODE_PHASE_LOCKED) {
		keepon_explain(
			extack,
			"mode paper: its slots follow no clock, so gates cannot; choose mode phase-locked");
		return ERR_PTR(-EOPNOTSUPP);
	}
	masks = compile(gates, plan, dev, slots, extack);
	if (IS_ERR(masks))
		return masks;
	config.allowed = masks;
	config.partition_slots = *slots;
	if (!kpn_config_validate(&config, &plan->caps, &problem, 1))
		return masks;
	keepon_explain(extack, "with this gate list %s %llu (allowed: %llu to %llu): %s.",
		       problem.field, problem.value, problem.min, problem.max, problem.reason);
	kvfree(masks);
	return ERR_PTR(-EINVAL);
}

int keepon_gates_suit(struct keepon_gates *gates, const struct keepon_plan *plan,
		      const struct net_device *dev, struct netlink_ext_ack *extack)
{
	u32 slots;
	u16 *masks = suited(gates, plan, dev, &slots, extack);

	if (IS_ERR(masks))
		return PTR_ERR(masks);
	kvfree(gates->masks);
	gates->masks = masks;
	gates->slots = slots;
	gates->frame_max = kpn_config_frame_bytes_max(
		&plan->config, &plan->caps,
		keepon_row_slots(masks, slots, keepon_queue_of_rest(dev)));
	return 0;
}

int keepon_gates_check(const struct keepon_gates *gates, const struct keepon_plan *plan,
		       const struct net_device *dev, struct netlink_ext_ack *extack)
{
	u32 slots;
	u16 *masks = suited(gates, plan, dev, &slots, extack);

	if (IS_ERR(masks))
		return PTR_ERR(masks);
	kvfree(masks);
	return 0;
}
