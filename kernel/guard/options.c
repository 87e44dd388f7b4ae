// SPDX-License-Identifier: GPL-2.0-only
/* Options of qdisc "guard" as netlink has them, each refused in one sentence; its counters. */
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <net/netlink.h>

#include "guard.h"
#include "keepon/wire.h"
#include "uapi/keepon_guard.h"

static const struct nla_policy guard_policy[TCA_GUARD_MAX + 1] = {
	[TCA_GUARD_RATE] = { .type = NLA_U64 },
	[TCA_GUARD_MTU] = { .type = NLA_U32 },
	[TCA_GUARD_FUDGE_NS] = { .type = NLA_U32 },
	[TCA_GUARD_TOLERANCE_NS] = { .type = NLA_U32 },
	[TCA_GUARD_LIMIT] = { .type = NLA_U32 },
	[TCA_GUARD_LATE] = { .type = NLA_U8 },
	[TCA_GUARD_WINDOW_NS] = { .type = NLA_REJECT },
	[TCA_GUARD_NOTICE_NS] = { .type = NLA_REJECT },
	[TCA_GUARD_RATE_USED] = { .type = NLA_REJECT },
	[TCA_GUARD_MTU_USED] = { .type = NLA_REJECT },
};

enum { LIMIT_FRAMES_MAX = 65536 };

static int refuse(struct netlink_ext_ack *extack, struct nlattr *attribute, const char *why)
{
	NL_SET_BAD_ATTR(extack, attribute);
	if (extack)
		extack->_msg = why;
	return -ERANGE;
}

static int check(struct nlattr *const *tb, const struct guard_options *options,
		 struct netlink_ext_ack *extack)
{
	if (options->mtu_bytes && (options->mtu_bytes < KPN_FRAME_BYTES_MIN ||
				   options->mtu_bytes > KPN_GUARD_MTU_BYTES_MAX))
		return refuse(
			extack, tb[TCA_GUARD_MTU],
			"guard: mtu must be 64 to 65535 bytes with FCS, or 0 for the device's");
	if (options->rate_bps && !kpn_byte_time_ps(options->rate_bps))
		return refuse(extack, tb[TCA_GUARD_RATE],
			      "guard: rate must be that of an Ethernet, 10 Mbit to 100 Gbit, or 0");
	if (options->fudge_ns > KPN_GUARD_FUDGE_NS_MAX)
		return refuse(extack, tb[TCA_GUARD_FUDGE_NS],
			      "guard: fudge must be 0 to 1000000000 ns");
	if (options->tolerance_ns > KPN_GUARD_FUDGE_NS_MAX)
		return refuse(extack, tb[TCA_GUARD_TOLERANCE_NS],
			      "guard: tolerance must be 0 to 1000000000 ns");
	if (!options->limit_frames || options->limit_frames > LIMIT_FRAMES_MAX)
		return refuse(extack, tb[TCA_GUARD_LIMIT],
			      "guard: limit must be 1 to 65536 frames");
	if (options->late != KPN_GUARD_LATE_DROP && options->late != KPN_GUARD_LATE_SEND)
		return refuse(extack, tb[TCA_GUARD_LATE],
			      "guard: late must be 0, drop, or 1, send");
	return 0;
}

int guard_parse(struct guard_options *options, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_GUARD_MAX + 1];
	int error = nla_parse_nested(tb, TCA_GUARD_MAX, opt, guard_policy, extack);

	if (error)
		return error;
	if (tb[TCA_GUARD_RATE])
		options->rate_bps = nla_get_u64(tb[TCA_GUARD_RATE]);
	if (tb[TCA_GUARD_MTU])
		options->mtu_bytes = nla_get_u32(tb[TCA_GUARD_MTU]);
	if (tb[TCA_GUARD_FUDGE_NS])
		options->fudge_ns = nla_get_u32(tb[TCA_GUARD_FUDGE_NS]);
	if (tb[TCA_GUARD_TOLERANCE_NS])
		options->tolerance_ns = nla_get_u32(tb[TCA_GUARD_TOLERANCE_NS]);
	if (tb[TCA_GUARD_LIMIT])
		options->limit_frames = nla_get_u32(tb[TCA_GUARD_LIMIT]);
	if (tb[TCA_GUARD_LATE])
		options->late = nla_get_u8(tb[TCA_GUARD_LATE]);
	return check(tb, options, extack);
}

/* 0: the link does not say. */
static u64 link_rate_bps(struct net_device *dev)
{
	struct ethtool_link_ksettings settings;

	if (__ethtool_get_link_ksettings(dev, &settings) ||
	    settings.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return settings.base.speed * 1000000ull;
}

int guard_apply(struct Qdisc *sch, const struct guard_options *options,
		struct netlink_ext_ack *extack)
{
	struct net_device *dev = qdisc_dev(sch);
	struct guard_sched *q = qdisc_priv(sch);
	struct kpn_guard_config config = {
		.rate_bps = options->rate_bps ?: link_rate_bps(dev),
		.mtu_bytes = options->mtu_bytes ?:
				     dev->mtu + dev->hard_header_len + VLAN_HLEN + ETH_FCS_LEN,
		.fudge_ns = options->fudge_ns,
		.tolerance_ns = options->tolerance_ns,
		.late = options->late,
	};
	int error;

	if (!config.rate_bps) {
		NL_SET_ERR_MSG(
			extack,
			"guard: the link does not say how fast it is; set it up, or add rate");
		return -EINVAL;
	}
	config.mtu_bytes =
		clamp_t(u32, config.mtu_bytes, KPN_FRAME_BYTES_MIN, KPN_GUARD_MTU_BYTES_MAX);
	sch_tree_lock(sch);
	error = kpn_guard_configure(&q->guard, &config);
	if (!error)
		q->options = *options;
	sch_tree_unlock(sch);
	if (error) {
		NL_SET_ERR_MSG(extack, "guard: the link's rate is none of an Ethernet; add rate");
		return error;
	}
	/* What waits may go sooner now, or must wait longer. */
	if (dev->flags & IFF_UP)
		__netif_schedule(qdisc_root_sleeping(sch));
	return 0;
}

int guard_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct guard_sched *q = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, TCA_GUARD_RATE, q->options.rate_bps, TCA_GUARD_PAD) ||
	    nla_put_u32(skb, TCA_GUARD_MTU, q->options.mtu_bytes) ||
	    nla_put_u32(skb, TCA_GUARD_FUDGE_NS, q->options.fudge_ns) ||
	    nla_put_u32(skb, TCA_GUARD_TOLERANCE_NS, q->options.tolerance_ns) ||
	    nla_put_u32(skb, TCA_GUARD_LIMIT, q->options.limit_frames) ||
	    nla_put_u8(skb, TCA_GUARD_LATE, (u8)q->options.late) ||
	    nla_put_u32(skb, TCA_GUARD_WINDOW_NS, kpn_guard_window_ns(&q->guard)) ||
	    nla_put_u64_64bit(skb, TCA_GUARD_NOTICE_NS, kpn_guard_notice_ns(&q->guard),
			      TCA_GUARD_PAD) ||
	    nla_put_u64_64bit(skb, TCA_GUARD_RATE_USED, q->guard.config.rate_bps, TCA_GUARD_PAD) ||
	    nla_put_u32(skb, TCA_GUARD_MTU_USED, q->guard.config.mtu_bytes)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

int guard_dump_stats(struct Qdisc *sch, struct gnet_dump *dump)
{
	struct guard_sched *q = qdisc_priv(sch);
	struct tc_guard_xstats stats;

	sch_tree_lock(sch);
	stats = (struct tc_guard_xstats){
		.timed = q->guard.timed,
		.late_sent = q->guard.late_sent,
		.late = q->guard.late,
		.wrong = q->wrong,
		.others = q->guard.others,
		.squeezed = q->guard.squeezed,
		.short_notice = q->guard.short_notice,
		.held_ns = q->guard.held_ns,
		.timed_waiting = q->timed_count,
		.others_waiting = q->others.qlen,
	};
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(dump, &stats, sizeof(stats));
}
