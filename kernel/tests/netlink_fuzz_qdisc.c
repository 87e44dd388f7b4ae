// SPDX-License-Identifier: GPL-2.0-only
/* Requests about queueing disciplines: those that ask the device. */
#include <linux/pkt_sched.h>
#include <string.h>
#include <time.h>

#include "netlink_fuzz.h"

enum {
	ROOT = 0x01000000, /* 100:, of all but etf and cbs, which are below it */
	CLASSES = 16,
	ENTRIES_MAX = 40,
	FULL_OFFLOAD = 2,
	/* Where the kernel itself opens gates, a timer fires at each; shorter ones leave no time. */
	SOFTWARE_INTERVAL_NS = 500000,
};

static struct tc_mqprio_qopt draw_classes(void)
{
	struct tc_mqprio_qopt classes;
	uint32_t i;

	memset(&classes, 0, sizeof(classes));
	classes.num_tc = (uint8_t)(draw(8) ? 1 + draw(8) : draw(256));
	classes.hw = (uint8_t)(draw(8) ? draw(2) : draw(256));
	for (i = 0; i <= TC_QOPT_BITMASK; i++)
		classes.prio_tc_map[i] = (uint8_t)(classes.num_tc ? i % classes.num_tc : 0);
	if (!draw(8))
		classes.prio_tc_map[draw(TC_QOPT_BITMASK + 1)] = (uint8_t)draw(256);
	for (i = 0; i < TC_QOPT_MAX_QUEUE && i < classes.num_tc; i++) {
		classes.count[i] = 1;
		classes.offset[i] = (uint16_t)i;
	}
	if (!draw(4))
		classes.count[draw(TC_QOPT_MAX_QUEUE)] = (uint16_t)odd(draw(20));
	if (!draw(4))
		classes.offset[draw(TC_QOPT_MAX_QUEUE)] = (uint16_t)odd(draw(20));
	return classes;
}

static void put_mqprio(void)
{
	struct tc_mqprio_qopt classes = draw_classes();
	uint16_t word = (uint16_t)draw(3);
	uint64_t rate = odd(1000000);
	struct rtattr *options;
	struct rtattr *rates;

	/* The structure is no attribute of its own, and what else there is follows it. */
	options = put(TCA_OPTIONS, &classes, draw(16) ? sizeof(classes) : draw(sizeof(classes)));
	if (!draw(3)) {
		put_drawn(TCA_MQPRIO_MODE, &word, sizeof(word));
		put_drawn(TCA_MQPRIO_SHAPER, &word, sizeof(word));
		rates = put(TCA_MQPRIO_MIN_RATE64 | NLA_F_NESTED, NULL, 0);
		put_drawn(TCA_MQPRIO_MIN_RATE64, &rate, sizeof(rate));
		close_nest(rates);
	}
	close_nest(options);
}

static void put_entries(uint32_t flags)
{
	struct rtattr *list = put(TCA_TAPRIO_ATTR_SCHED_ENTRY_LIST | NLA_F_NESTED, NULL, 0);
	uint32_t count = draw(16) ? 1 + draw(4) : draw(ENTRIES_MAX);

	while (count--) {
		struct rtattr *entry = put(TCA_TAPRIO_SCHED_ENTRY | NLA_F_NESTED, NULL, 0);
		uint8_t command = (uint8_t)(draw(16) ? 0 : draw(256));
		uint32_t gates = (uint32_t)odd(1 + draw(255));
		uint32_t interval_ns = 10000 * (1 + draw(50));

		if (!(flags & FULL_OFFLOAD))
			interval_ns = SOFTWARE_INTERVAL_NS * (1 + draw(4));
		else if (!draw(16))
			interval_ns = (uint32_t)odd(draw(1000000));
		put_drawn(TCA_TAPRIO_SCHED_ENTRY_CMD, &command, sizeof(command));
		put_drawn(TCA_TAPRIO_SCHED_ENTRY_GATE_MASK, &gates, sizeof(gates));
		put_drawn(TCA_TAPRIO_SCHED_ENTRY_INTERVAL, &interval_ns, sizeof(interval_ns));
		close_nest(entry);
	}
	close_nest(list);
}

static void put_taprio(void)
{
	struct rtattr *options = put(TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	struct tc_mqprio_qopt classes = draw_classes();
	uint32_t flags = draw(4) ? FULL_OFFLOAD : draw(4) ? draw(4) : (uint32_t)odd(0);
	int32_t clock = draw(8) ? CLOCK_TAI : (int32_t)odd(draw(12));
	int64_t base_ns = (int64_t)odd(draw(1000000000));
	int64_t cycle_ns = (int64_t)odd(10000 * (1 + draw(100)));
	uint32_t delay_ns = (uint32_t)odd(draw(1000000));

	if (draw(8))
		put_drawn(TCA_TAPRIO_ATTR_PRIOMAP, &classes, sizeof(classes));
	put_entries(flags);
	put_drawn(TCA_TAPRIO_ATTR_SCHED_BASE_TIME, &base_ns, sizeof(base_ns));
	/* As with intervals. */
	if (flags & FULL_OFFLOAD && !draw(3))
		put_drawn(TCA_TAPRIO_ATTR_SCHED_CYCLE_TIME, &cycle_ns, sizeof(cycle_ns));
	if (!draw(4))
		put_drawn(TCA_TAPRIO_ATTR_SCHED_CYCLE_TIME_EXTENSION, &cycle_ns, sizeof(cycle_ns));
	if (!(flags & FULL_OFFLOAD) || !draw(8))
		put_drawn(TCA_TAPRIO_ATTR_SCHED_CLOCKID, &clock, sizeof(clock));
	if (flags)
		put_drawn(TCA_TAPRIO_ATTR_FLAGS, &flags, sizeof(flags));
	if (!draw(8))
		put_drawn(TCA_TAPRIO_ATTR_TXTIME_DELAY, &delay_ns, sizeof(delay_ns));
	close_nest(options);
}

static void put_etf(void)
{
	struct rtattr *options = put(TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	struct tc_etf_qopt etf = {
		.delta = (int32_t)odd(draw(1000000)),
		.clockid = draw(4) ? CLOCK_TAI : (int32_t)odd(draw(12)),
		.flags = draw(8) ? draw(8) : (uint32_t)odd(0),
	};

	put_drawn(TCA_ETF_PARMS, &etf, sizeof(etf));
	close_nest(options);
}

static void put_cbs(void)
{
	struct rtattr *options = put(TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	struct tc_cbs_qopt cbs = {
		.offload = (uint8_t)(draw(8) ? draw(2) : draw(256)),
		.hicredit = (int32_t)odd(draw(2000)),
		.locredit = -(int32_t)odd(draw(2000)),
		.idleslope = (int32_t)odd(draw(100000)),
		.sendslope = -(int32_t)odd(draw(1000000)),
	};

	put_drawn(TCA_CBS_PARMS, &cbs, sizeof(cbs));
	close_nest(options);
}

void build_qdisc(int index)
{
	static const struct {
		const char *kind;
		void (*put)(void);
		bool below;
	} kinds[] = {
		{ "mqprio", put_mqprio, false }, { "taprio", put_taprio, false },
		{ "taprio", put_taprio, false }, { "etf", put_etf, true },
		{ "cbs", put_cbs, true },
	};
	uint32_t chosen = draw(sizeof(kinds) / sizeof(kinds[0]));
	uint16_t type = draw(12) ? RTM_NEWQDISC : RTM_DELQDISC;
	uint16_t flags = type == RTM_DELQDISC ? 0 :
			 draw(8)              ? NLM_F_CREATE | NLM_F_REPLACE :
						(uint16_t)(draw(16) << 8);
	struct tcmsg *qdisc = begin(type, NLM_F_ACK | flags, sizeof(*qdisc));
	const char *kind = kinds[chosen].kind;

	qdisc->tcm_ifindex = index;
	qdisc->tcm_parent = kinds[chosen].below ? ROOT + 1 + draw(CLASSES) : TC_H_ROOT;
	qdisc->tcm_handle = kinds[chosen].below ? 0 : ROOT;
	if (!draw(16))
		qdisc->tcm_parent = (uint32_t)odd(ROOT + draw(70000));
	if (!draw(16))
		qdisc->tcm_handle = (uint32_t)odd(ROOT);
	if (type == RTM_DELQDISC)
		return;
	put_drawn(TCA_KIND, kind, (uint32_t)strlen(kind) + 1);
	kinds[chosen].put();
}
