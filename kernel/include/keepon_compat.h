/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All differences between the kernels Keepon builds on (6.1 to 7.3); no other file asks for a
 * version.
 */
#ifndef KEEPON_COMPAT_H
#define KEEPON_COMPAT_H

#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <net/rtnetlink.h>
#include <net/sock.h>

/* ---- hardware time stamping: an ioctl until 6.5, two operations since 6.6 ---- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)

#define keepon_hwtstamp kernel_hwtstamp_config

/* KEEPON_HWTSTAMP_IOCTL - what KEEPON_HWTSTAMP_OPS needs, once per file that uses it */
#define KEEPON_HWTSTAMP_IOCTL(get, set, otherwise)
/*
 * KEEPON_HWTSTAMP_OPS - members of struct net_device_ops: int get(dev, config), int set(dev,
 * config, extack), and ndo_eth_ioctl for all other requests
 */
#define KEEPON_HWTSTAMP_OPS(get, set, otherwise) \
	.ndo_hwtstamp_get = (get), .ndo_hwtstamp_set = (set), .ndo_eth_ioctl = (otherwise)

#else

struct keepon_hwtstamp {
	int flags;
	int tx_type;
	int rx_filter;
};

static inline int keepon_hwtstamp_to_user(struct ifreq *ifr, const struct keepon_hwtstamp *config)
{
	struct hwtstamp_config user = {
		.flags = config->flags,
		.tx_type = config->tx_type,
		.rx_filter = config->rx_filter,
	};

	return copy_to_user(ifr->ifr_data, &user, sizeof(user)) ? -EFAULT : 0;
}

static inline int keepon_hwtstamp_from_user(struct ifreq *ifr, struct keepon_hwtstamp *config)
{
	struct hwtstamp_config user;

	if (copy_from_user(&user, ifr->ifr_data, sizeof(user)))
		return -EFAULT;
	config->flags = user.flags;
	config->tx_type = user.tx_type;
	config->rx_filter = user.rx_filter;
	return 0;
}

#define KEEPON_HWTSTAMP_IOCTL(get, set, otherwise)                                           \
	static int keepon_hwtstamp_ioctl(struct net_device *dev, struct ifreq *ifr, int cmd) \
	{                                                                                    \
		struct keepon_hwtstamp config = {};                                          \
		int error = 0;                                                               \
                                                                                             \
		if (cmd != SIOCGHWTSTAMP && cmd != SIOCSHWTSTAMP)                            \
			return otherwise(dev, ifr, cmd);                                     \
		if (cmd == SIOCGHWTSTAMP)                                                    \
			error = get(dev, &config);                                           \
		if (cmd == SIOCSHWTSTAMP)                                                    \
			error = keepon_hwtstamp_from_user(ifr, &config);                     \
		if (cmd == SIOCSHWTSTAMP && !error)                                          \
			error = set(dev, &config, NULL);                                     \
		return error ?: keepon_hwtstamp_to_user(ifr, &config);                       \
	}
#define KEEPON_HWTSTAMP_OPS(get, set, otherwise) .ndo_eth_ioctl = keepon_hwtstamp_ioctl

#endif

/** keepon_no_ioctl() - for a device without further ioctls */
static inline int keepon_no_ioctl(struct net_device *dev, struct ifreq *ifr, int cmd)
{
	return -EOPNOTSUPP;
}

/* ---- a device without IPv6 of its own: until 6.2 it has to look like a port of a bond ---- */

static inline void keepon_no_addrconf(struct net_device *dev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	dev->priv_flags |= IFF_NO_ADDRCONF;
#else
	dev->flags |= IFF_SLAVE;
#endif
}

/* ---- ethtool_ops.get_ts_info ---- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define keepon_ts_info kernel_ethtool_ts_info
#else
#define keepon_ts_info ethtool_ts_info
#endif

/* ---- energy-efficient Ethernet: modes in 32 bits until 6.8, as a bitmap since 6.9 ---- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define keepon_eee ethtool_keee
#else
#define keepon_eee ethtool_eee
#endif

/** keepon_eee_support() - EEE is supported at 100 Mb/s, or at 1 Gb/s */
static inline void keepon_eee_support(struct keepon_eee *eee, bool at_100)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	__set_bit(at_100 ? ETHTOOL_LINK_MODE_100baseT_Full_BIT :
			   ETHTOOL_LINK_MODE_1000baseT_Full_BIT,
		  eee->supported);
#else
	eee->supported = at_100 ? SUPPORTED_100baseT_Full : SUPPORTED_1000baseT_Full;
#endif
}

/* ---- skb->tstamp: 6.1 marks only monotonic delivery times (TCP), 6.12 names the clock ---- */

/**
 * keepon_skb_is_tai() - whether nothing in @skb contradicts CLOCK_TAI, given that its socket chose
 * it
 */
static inline bool keepon_skb_is_tai(const struct sk_buff *skb)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	return skb->tstamp_type == SKB_CLOCK_TAI;
#else
	return !skb->mono_delivery_time;
#endif
}

/**
 * keepon_skb_txtime() - whether skb->tstamp is a delivery time in CLOCK_TAI
 *
 * 6.1 cannot distinguish TAI from a time of reception; there the socket must have set SO_TXTIME
 * with that clock.
 */
static inline bool keepon_skb_txtime(const struct sk_buff *skb)
{
	const struct sock *sk = skb->sk;
	bool full = sk && sk_fullsock(sk);

	if (!skb->tstamp || (full && !sock_flag(sk, SOCK_TXTIME)))
		return false;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	return skb->tstamp_type == SKB_CLOCK_TAI;
#else
	return full && !skb->mono_delivery_time && sk->sk_clockid == CLOCK_TAI;
#endif
}

/* ---- taprio offload: 6.1 sets and ends, without extack; 6.12 also asks for counters ---- */

/* enum keepon_taprio_ask - kind of a request */
enum keepon_taprio_ask {
	KEEPON_TAPRIO_SET,
	KEEPON_TAPRIO_END,
	KEEPON_TAPRIO_STATS,
	KEEPON_TAPRIO_QUEUE_STATS,
	KEEPON_TAPRIO_OTHER,
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)

static inline enum keepon_taprio_ask
keepon_taprio_asks(const struct tc_taprio_qopt_offload *offload)
{
	switch (offload->cmd) {
	case TAPRIO_CMD_REPLACE: return KEEPON_TAPRIO_SET;
	case TAPRIO_CMD_DESTROY: return KEEPON_TAPRIO_END;
	case TAPRIO_CMD_STATS: return KEEPON_TAPRIO_STATS;
	case TAPRIO_CMD_QUEUE_STATS: return KEEPON_TAPRIO_QUEUE_STATS;
	default: return KEEPON_TAPRIO_OTHER;
	}
}

/* KEEPON_TAPRIO_SET only; NULL: this kernel passes no extack. */
static inline struct netlink_ext_ack *
keepon_taprio_extack(const struct tc_taprio_qopt_offload *offload)
{
	return offload->extack;
}

/** keepon_taprio_preemptible() - bit per preemptible traffic class */
static inline unsigned long keepon_taprio_preemptible(const struct tc_taprio_qopt_offload *offload)
{
	return offload->mqprio.preemptible_tcs;
}

/** keepon_taprio_queue() - KEEPON_TAPRIO_QUEUE_STATS only */
static inline int keepon_taprio_queue(const struct tc_taprio_qopt_offload *offload)
{
	return offload->queue_stats.queue;
}

static inline void keepon_taprio_tell(struct tc_taprio_qopt_offload *offload, u64 window_drops,
				      u64 tx_overruns)
{
	struct tc_taprio_qopt_stats *stats =
		offload->cmd == TAPRIO_CMD_STATS ? &offload->stats : &offload->queue_stats.stats;

	stats->window_drops = window_drops;
	stats->tx_overruns = tx_overruns;
}

#else

static inline enum keepon_taprio_ask
keepon_taprio_asks(const struct tc_taprio_qopt_offload *offload)
{
	return offload->enable ? KEEPON_TAPRIO_SET : KEEPON_TAPRIO_END;
}

static inline struct netlink_ext_ack *
keepon_taprio_extack(const struct tc_taprio_qopt_offload *offload)
{
	return NULL;
}

static inline unsigned long keepon_taprio_preemptible(const struct tc_taprio_qopt_offload *offload)
{
	return 0;
}

static inline int keepon_taprio_queue(const struct tc_taprio_qopt_offload *offload)
{
	return -1;
}

static inline void keepon_taprio_tell(struct tc_taprio_qopt_offload *offload, u64 window_drops,
				      u64 tx_overruns)
{
}

#endif

/* Gate masks are per queue: until 6.2 for every driver, since 6.3 for a driver that asks for it. */
static inline void keepon_taprio_caps(struct tc_taprio_caps *caps)
{
	caps->supports_queue_max_sdu = true;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	caps->gate_mask_per_txq = true;
#endif
}

/* ---- mqprio offload: 6.1 has neither extack nor preemptible classes ---- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)

/* NULL: this kernel passes no extack. */
static inline struct netlink_ext_ack *
keepon_mqprio_extack(const struct tc_mqprio_qopt_offload *offload)
{
	return offload->extack;
}

static inline unsigned long keepon_mqprio_preemptible(const struct tc_mqprio_qopt_offload *offload)
{
	return offload->preemptible_tcs;
}

#else

static inline struct netlink_ext_ack *
keepon_mqprio_extack(const struct tc_mqprio_qopt_offload *offload)
{
	return NULL;
}

static inline unsigned long keepon_mqprio_preemptible(const struct tc_mqprio_qopt_offload *offload)
{
	return 0;
}

#endif

/* ---- GSO segments ---- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#include <net/gso.h>
#endif

/* ---- the one interrupt line of a PCI device ---- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define KEEPON_PCI_IRQ_INTX PCI_IRQ_INTX
#else
#define KEEPON_PCI_IRQ_INTX PCI_IRQ_LEGACY
#endif

/* ---- remove of a platform device: returned an error until 6.10, which the kernel ignored ---- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define keepon_removed void
#define KEEPON_REMOVED
#else
#define keepon_removed int
#define KEEPON_REMOVED 0
#endif

/* ---- unaligned access ---- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* ---- headers split off from others ---- */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/hex.h> /* bin2hex() and mac_pton() */
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#include <net/netdev_lock.h> /* netdev_lockdep_set_classes() */
#endif

/*
 * ---- timers: init and function set separately until 6.12, together since 6.13, only so since 6.15
 * ----
 */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define keepon_hrtimer_setup hrtimer_setup
#else
static inline void keepon_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *),
					clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* ---- rtnl_link_ops.newlink: its arguments are members of a structure since 6.15 ---- */

/*
 * KEEPON_NEWLINK - defines @name for the operation, which calls int make(lower_net, dev, tb, data,
 * extack)
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define KEEPON_NEWLINK(name, make)                                                                 \
	static int name(struct net_device *dev, struct rtnl_newlink_params *params,                \
			struct netlink_ext_ack *extack)                                            \
	{                                                                                          \
		return make(rtnl_newlink_link_net(params), dev, params->tb, params->data, extack); \
	}
#else
#define KEEPON_NEWLINK(name, make)                                                          \
	static int name(struct net *lower_net, struct net_device *dev, struct nlattr *tb[], \
			struct nlattr *data[], struct netlink_ext_ack *extack)              \
	{                                                                                   \
		return make(lower_net, dev, tb, data, extack);                              \
	}
#endif

/* ---- several clocks at one instant: all of them until 7.1, one and the raw one since 7.2 ---- */

/** keepon_real_less_raw_ns() - CLOCK_REALTIME less CLOCK_MONOTONIC_RAW */
static inline s64 keepon_real_less_raw_ns(void)
{
	struct system_time_snapshot now;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
	ktime_get_snapshot_id(CLOCK_REALTIME, &now);
	return ktime_to_ns(ktime_sub(now.systime, now.monoraw));
#else
	ktime_get_snapshot(&now);
	return ktime_to_ns(ktime_sub(now.real, now.raw));
#endif
}

#endif
