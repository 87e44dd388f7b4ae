// SPDX-License-Identifier: GPL-2.0-only
/*
 * Credit of queues: qdisc cbs with `offload 1`, and the rates of mqprio with `shaper bw_rlimit`.
 * The core does the shaping; this file takes the requests and checks that they are possible. A rate
 * counts the slots a frame takes, preamble and gap included.
 */
#include <linux/math64.h>
#include <linux/rtnetlink.h>

#include "keepon.h"
#include "keepon/wire.h"

enum { KBPS = 1000, BITS = 8 };

/* The class table in force, or the one to come. */
static const u16 *masks_of(const struct keepon *keepon, u32 *slots)
{
	const struct keepon_gates *gates = keepon->taprio.next ?: keepon->taprio.now;

	*slots = gates ? gates->slots : keepon->plan.config.partition_slots;
	return gates ? gates->masks : keepon->plan.config.allowed;
}

/* Longest distance in slots between slots of a queue; 0: it has none. */
static u32 gap_slots(const struct keepon *keepon, u32 queue)
{
	u32 slots;
	const u16 *masks = masks_of(keepon, &slots);

	return kpn_masks_gap_max(masks, slots, 1 << queue);
}

static u32 wire_bytes(const struct keepon *keepon)
{
	return kpn_wire_bytes(keepon->plan.config.slot_bytes);
}

static u64 high_bytes_for(const struct keepon *keepon, u32 queue, u64 idle_slope_bps)
{
	return kpn_credit_high_bytes(keepon->plan.config.rate_bps, wire_bytes(keepon),
				     idle_slope_bps, gap_slots(keepon, queue));
}

static void apply_locked(struct keepon *keepon, u32 queue)
{
	const struct keepon_credit *credit = &keepon->credit[queue];
	u64 rate_bps = keepon->plan.config.rate_bps;
	u64 high_bytes = credit->high_bytes;

	if (!keepon->engine)
		return;
	/* a rate comes without a hicredit: save up no more than the rate needs */
	if (credit->is_rate)
		high_bytes = high_bytes_for(keepon, queue, credit->idle_slope_bps);
	kpn_pacer_set_credit(keepon->engine->pacer, queue, min(credit->idle_slope_bps, rate_bps),
			     min_t(u64, high_bytes, U32_MAX));
}

static void set(struct keepon *keepon, u32 queue, const struct keepon_credit *credit)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	keepon->credit[queue] = *credit;
	apply_locked(keepon, queue);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
}

void keepon_credit_join_locked(struct keepon *keepon)
{
	u32 queue;

	for (queue = 0; queue < KEEPON_CLASS_COUNT; queue++) {
		if (keepon->credit[queue].idle_slope_bps)
			apply_locked(keepon, queue);
	}
}

/* ---- cbs ---- */

static u64 other_slopes_bps(const struct keepon *keepon, u32 queue)
{
	u64 sum_bps = 0;
	u32 other;

	for (other = 0; other < KEEPON_CLASS_COUNT; other++) {
		if (other != queue)
			sum_bps += keepon->credit[other].idle_slope_bps;
	}
	return sum_bps;
}

static int check_slopes(const struct keepon *keepon, const struct tc_cbs_qopt_offload *cbs,
			struct netlink_ext_ack *extack)
{
	s64 port_kbps = div_u64(keepon->plan.config.rate_bps, KBPS);
	s64 others_kbps = div_u64(other_slopes_bps(keepon, cbs->queue) + KBPS - 1, KBPS);

	if (cbs->idleslope < 1 || cbs->idleslope > port_kbps) {
		keepon_explain(
			extack,
			"idleslope %d kbit/s is not within 1 to %lld, the link's rate; give the class its share of it",
			cbs->idleslope, port_kbps);
		return -EINVAL;
	}
	if (cbs->sendslope != cbs->idleslope - port_kbps) {
		keepon_explain(
			extack,
			"sendslope %d kbit/s does not go with idleslope %d on a link of %lld; give idleslope - port rate, %lld",
			cbs->sendslope, cbs->idleslope, port_kbps, cbs->idleslope - port_kbps);
		return -EINVAL;
	}
	if (others_kbps >= port_kbps) {
		keepon_explain(
			extack,
			"other queues have %lld kbit/s of the link's %lld, which leaves none for idleslope %d; lower an idleslope or a max_rate of theirs",
			others_kbps, port_kbps, cbs->idleslope);
		return -EINVAL;
	}
	if (cbs->idleslope + others_kbps > port_kbps) {
		keepon_explain(
			extack,
			"idleslope %d kbit/s and %lld of other queues are more than the link's %lld; give %lld or less",
			cbs->idleslope, others_kbps, port_kbps, port_kbps - others_kbps);
		return -EINVAL;
	}
	return 0;
}

static int check_credits(const struct keepon *keepon, const struct tc_cbs_qopt_offload *cbs,
			 struct netlink_ext_ack *extack)
{
	u32 gap = gap_slots(keepon, cbs->queue);
	u64 high = high_bytes_for(keepon, cbs->queue, (u64)cbs->idleslope * KBPS);
	s64 port_kbps = div_u64(keepon->plan.config.rate_bps, KBPS);
	s64 low =
		-(s64)div64_u64((u64)wire_bytes(keepon) * (port_kbps - cbs->idleslope), port_kbps);

	if (!gap && (keepon->taprio.next || keepon->taprio.now)) {
		keepon_explain(
			extack,
			"queue %d has no slots, so there is nothing to shape: no window of taprio is open to it; give it one",
			cbs->queue);
		return -EINVAL;
	}
	if (!gap) {
		keepon_explain(
			extack,
			"queue %d has no slots, so there is nothing to shape; give the link class %d slots",
			cbs->queue, cbs->queue);
		return -EINVAL;
	}
	if (cbs->hicredit < 0 || cbs->hicredit < high) {
		keepon_explain(
			extack,
			"hicredit %d bytes is less than idleslope %d brings while queue %d waits for a slot, up to %llu ns; give %llu or more",
			cbs->hicredit, cbs->idleslope, cbs->queue, keepon_slots_to_ns(keepon, gap),
			high);
		return -EINVAL;
	}
	if (cbs->locredit > low) {
		keepon_explain(
			extack,
			"locredit %d bytes cuts off what a slot of %u bytes on the wire takes away; give %lld or less",
			cbs->locredit, wire_bytes(keepon), low);
		return -EINVAL;
	}
	return 0;
}

/* Check the min_rate of mqprio for a traffic class whose only queue this is. */
static int check_promise(const struct keepon *keepon, const struct tc_cbs_qopt_offload *cbs,
			 struct netlink_ext_ack *extack)
{
	int tc;

	for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++) {
		const struct keepon_promise *promise = &keepon->promises[tc];

		if (promise->queues != 1 << cbs->queue ||
		    promise->rate * BITS <= (u64)cbs->idleslope * KBPS)
			continue;
		keepon_explain(
			extack,
			"idleslope %d kbit/s is less than the min_rate of mqprio for queue %d, %llu bytes/s; give more, or lower that",
			cbs->idleslope, cbs->queue, promise->rate);
		return -EINVAL;
	}
	return 0;
}

static int check_cbs(const struct keepon *keepon, const struct tc_cbs_qopt_offload *cbs,
		     struct netlink_ext_ack *extack)
{
	if (keepon->credit[cbs->queue].is_rate) {
		keepon_explain(extack,
			       "queue %d is held to a max_rate of mqprio; leave out one of the two",
			       cbs->queue);
		return -EBUSY;
	}
	return check_slopes(keepon, cbs, extack)          ?:
		       check_credits(keepon, cbs, extack) ?:
							    check_promise(keepon, cbs, extack);
}

int keepon_credit_cbs(struct keepon *keepon, const struct tc_cbs_qopt_offload *cbs)
{
	struct netlink_ext_ack extack = {};
	struct keepon_credit credit = {};
	int error;

	if (cbs->queue < 0 || cbs->queue >= KEEPON_CLASS_COUNT)
		return -EINVAL;
	if (cbs->enable) {
		error = check_cbs(keepon, cbs, &extack);
		if (error) {
			keepon_qdisc_say(keepon->dev, "cbs", NULL, &extack);
			return error;
		}
		credit.idle_slope_bps = (u64)cbs->idleslope * KBPS;
		credit.high_bytes = cbs->hicredit;
	} else if (keepon->credit[cbs->queue].is_rate) {
		return 0; /* the end of a cbs that was refused */
	}
	set(keepon, cbs->queue, &credit);
	return 0;
}

/* ---- mqprio ---- */

/* Rate of the slots that are open to these queues alone. */
static u64 own_rate_bps(const struct kpn_config *config, u16 queues)
{
	u32 own = 0;
	u32 i;

	for (i = 0; i < config->partition_slots; i++)
		own += config->allowed[i] && !(config->allowed[i] & ~queues);
	return div_u64(config->rate_bps * own, config->partition_slots);
}

static u16 queues_of(const struct tc_mqprio_qopt *qopt, int tc)
{
	return GENMASK(qopt->offset[tc] + qopt->count[tc] - 1, qopt->offset[tc]);
}

static int check_max_rate(const struct keepon *keepon, const struct tc_mqprio_qopt_offload *offload,
			  int tc, struct netlink_ext_ack *extack)
{
	u64 port_rate = div_u64(keepon->plan.config.rate_bps, BITS);
	u64 rate = offload->max_rate[tc];

	if (rate > port_rate || rate * BITS < KPN_IDLE_SLOPE_BPS_MIN) {
		keepon_explain(
			extack,
			"max_rate %llu bytes/s of traffic class %d is not within %d to %llu, the link's rate; 0: any",
			rate, tc, KPN_IDLE_SLOPE_BPS_MIN / BITS, port_rate);
		return -EINVAL;
	}
	if (offload->qopt.count[tc] != 1) {
		keepon_explain(
			extack,
			"max_rate of traffic class %d with %u queues: each queue has a credit of its own; give the class one, as 1@%u",
			tc, offload->qopt.count[tc], offload->qopt.offset[tc]);
		return -EOPNOTSUPP;
	}
	if (gap_slots(keepon, offload->qopt.offset[tc]))
		return 0;
	keepon_explain(
		extack,
		"max_rate of traffic class %d: its queue has no slots; give the link class %u slots",
		tc, offload->qopt.offset[tc]);
	return -EINVAL;
}

static int check_min_rate(const struct kpn_config *config, u16 queues, u64 rate,
			  struct netlink_ext_ack *extack)
{
	u64 own_rate = div_u64(own_rate_bps(config, queues), BITS);
	u32 queue = (u32)__ffs(queues); /* its type differs between architectures */

	if (rate <= own_rate)
		return 0;
	keepon_explain(
		extack,
		"min_rate %llu bytes/s of queue %u: slots it shares with no other class bring %llu; give that or less, or the link class %u slots of its own",
		rate, queue, own_rate, queue);
	return -EINVAL;
}

static int check_both_rates(const struct tc_mqprio_qopt_offload *offload, int tc,
			    struct netlink_ext_ack *extack)
{
	if (!(offload->flags & TC_MQPRIO_F_MIN_RATE) ||
	    offload->min_rate[tc] <= offload->max_rate[tc])
		return 0;
	keepon_explain(
		extack,
		"min_rate %llu bytes/s of traffic class %d is more than its max_rate %llu; give that or less",
		offload->min_rate[tc], tc, offload->max_rate[tc]);
	return -EINVAL;
}

int keepon_credit_check_rates(const struct keepon *keepon,
			      const struct tc_mqprio_qopt_offload *offload,
			      struct netlink_ext_ack *extack)
{
	int error = 0;
	int tc;

	for (tc = 0; tc < offload->qopt.num_tc && !error; tc++) {
		if (offload->flags & TC_MQPRIO_F_MAX_RATE && offload->max_rate[tc])
			error = check_max_rate(keepon, offload, tc, extack) ?:
					check_both_rates(offload, tc, extack);
		if (!error && offload->flags & TC_MQPRIO_F_MIN_RATE)
			error = check_min_rate(&keepon->plan.config, queues_of(&offload->qopt, tc),
					       offload->min_rate[tc], extack);
	}
	return error;
}

void keepon_credit_set_rates(struct keepon *keepon, const struct tc_mqprio_qopt_offload *offload)
{
	u32 queue;
	int tc;

	for (queue = 0; queue < KEEPON_CLASS_COUNT; queue++) {
		if (keepon->credit[queue].is_rate)
			set(keepon, queue, &(struct keepon_credit){});
	}
	memset(keepon->promises, 0, sizeof(keepon->promises));
	for (tc = 0; tc < offload->qopt.num_tc; tc++) {
		struct keepon_credit credit = { .is_rate = true };

		if (offload->flags & TC_MQPRIO_F_MIN_RATE) {
			keepon->promises[tc].queues = queues_of(&offload->qopt, tc);
			keepon->promises[tc].rate = offload->min_rate[tc];
		}
		if (!(offload->flags & TC_MQPRIO_F_MAX_RATE) || !offload->max_rate[tc])
			continue;
		credit.idle_slope_bps = offload->max_rate[tc] * BITS;
		set(keepon, offload->qopt.offset[tc], &credit);
	}
}

int keepon_credit_check(const struct keepon *keepon, const struct keepon_plan *plan,
			struct netlink_ext_ack *extack)
{
	int error = 0;
	u32 tc;

	for (tc = 0; tc < KEEPON_CLASS_COUNT && !error; tc++) {
		if (keepon->promises[tc].rate)
			error = check_min_rate(&plan->config, keepon->promises[tc].queues,
					       keepon->promises[tc].rate, extack);
	}
	return error;
}
