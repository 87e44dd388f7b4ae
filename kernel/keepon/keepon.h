/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * keepon.ko inside. One struct keepon is one upper device; while its wire runs it has one struct keepon_engine, which holds the
 * pacer, the borrowed ring and the frames on their way.
 *
 *	link, setup	rtnetlink: attributes, what they mean, read-back
 *	dev, lower	life of the device and of the one beneath it
 *	engine, poll	the wire: start, stop, beat
 *	xmit, outcome	frames in, frames done
 *	receive		frames from the lower device
 *	dual		the receive ring as a second clock
 *	clock, phc, stamp, qdisc, ethtool, debug, trace
 *
 * Locking: RTNL for configuration and for starting and stopping; keepon.lock around every kpn_pacer_* call and everything marked
 * so below. The lock is raw and taken with interrupts off, since the beat is a hard timer interrupt, on PREEMPT_RT too. Nothing
 * of the network stack is called under it but marking queues.
 */
#ifndef KEEPON_H
#define KEEPON_H

#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/spinlock.h>

#include "keepon/dual.h"
#include "keepon/pacer.h"
#include "keepon_compat.h"
#include "keepon_native.h"
#include "uapi/keepon_link.h"

#define KEEPON_SLOT_BYTES_DEFAULT 1230 /* 10 us at 1 Gb/s (KeepON paper listing 4) */

/* Masks one attribute carries: two of them and what surrounds them fit the 64 KiB of a nested attribute. */
#define KEEPON_MASKS_MAX 16384

/* In a pair of IFLA_KEEPON_CLASSES: the class keeps what it has. */
#define KEEPON_CLASS_KEEP 0xff

/* The transmit ring has one, the receive ring another. */
enum { KEEPON_POLLERS = 2 };

struct keepon_dual;
struct keepon_engine;

/**
 * struct keepon_setup - what was asked for, attribute by attribute; everything else follows from it, rate and backend
 * @given: bit per IFLA_KEEPON_*: this one was asked for
 * @number: of those with one number
 * @classes: late policy and rounding per class; KEEPON_CLASS_KEEP where not asked for
 * @allowed: @allowed_count class masks, NULL if not asked for; kvmalloc
 */
struct keepon_setup {
	u32 given;
	u32 number[IFLA_KEEPON_MAX + 1];
	u8 classes[KEEPON_CLASS_COUNT][2];
	u16 *allowed;
	u32 allowed_count;
};

/**
 * struct keepon_plan - what a setup comes to on a certain lower device
 * @config: complete and valid; @config.allowed is @masks
 * @caps: of the backend
 * @masks: config.partition_slots class masks; kvmalloc
 * @clock: enum keepon_clock; @merge, @tau_ns: as chosen, 0 ns: what kpn_merge_tau_ns() says
 * @rx_caps: of the receive ring, with clock dual
 */
struct keepon_plan {
	struct kpn_config config;
	struct kpn_nic_caps caps;
	u16 *masks;
	u8 poll;
	u32 poll_cpu;
	u8 poll_fifo;
	u8 txtime;
	u8 clock;
	u8 merge;
	u32 tau_ns;
	u32 rx_poll_cpu;
	struct keepon_native_rx_caps rx_caps;
};

/* What is counted of a receive ring; X(name) */
#define KEEPON_DUAL_COUNTERS(X)                                               \
	X(frames)    /* taken out of it */                                    \
	X(missed)    /* found it full */                                      \
	X(readings)  /* of its index */                                       \
	X(stops)     /* the peer's wire was idle, or frames were lost */      \
	X(stamped)   /* frames given to the stack with a stamp */             \
	X(unstamped) /* and without: one of the wires may have been idle */   \
	X(tx_set)    /* published merge: the transmit clock lagged too far */ \
	X(rx_set)    /* and the receive clock */

struct keepon_dual_counters {
#define KEEPON_DUAL_COUNTER(name) u64 name;
	KEEPON_DUAL_COUNTERS(KEEPON_DUAL_COUNTER)
#undef KEEPON_DUAL_COUNTER
};

/**
 * struct keepon_frame - one frame between xmit and the end of its outcome
 * @next: in a free list or the list of outcomes
 * @txtime_ns: as its sender gave it, 0 without
 * @queued: counted in the byte queue limit of its queue
 */
struct keepon_frame {
	struct kpn_frame frame;
	struct keepon_frame *next;
	struct sk_buff *skb;
	struct kpn_time start;
	s64 txtime_ns;
	enum kpn_verdict verdict;
	bool queued;
};

/**
 * struct keepon - an upper device
 * @dev, @lower: itself and the device it sends through
 * @setup, @plan: what was asked for and what it comes to; RTNL
 * @engine: while the wire runs; written under RTNL and @lock
 * @down_clock: the PHC while it does not, on the CPU counter; @lock
 * @total, @dual_total: counters of earlier runs; @lock
 * @starts, @start_failures: of the wire; RTNL
 * @outcomes, @outcomes_end: frames that ended, first to last; @lock
 * @unsaid: bit per kpn_event nobody has been told of yet; @lock
 * @napi: hands outcomes back
 * @hwtstamp: what is stamped
 * @phc: NULL if it could not be registered
 * @debug: folder of faults on request; @stall_ns: by how much the next poll of each poller shall be late
 */
struct keepon {
	struct net_device *dev;
	struct net_device *lower;
	netdevice_tracker lower_tracker;
	struct keepon_setup setup;
	struct keepon_plan plan;

	raw_spinlock_t lock;
	struct keepon_engine *engine;
	struct kpn_clock down_clock;
	struct kpn_stats total;
	struct keepon_dual_counters dual_total;
	u64 starts;
	u64 start_failures;
	struct keepon_frame *outcomes;
	struct keepon_frame **outcomes_end;
	u32 unsaid;
	struct napi_struct napi;

	struct keepon_hwtstamp hwtstamp;
	struct ptp_clock_info phc_info;
	struct ptp_clock *phc;
	struct dentry *debug;
	u64 stall_ns[KEEPON_POLLERS];
};

/** struct keepon_poller - calls @beat again and again, from a timer or, if there is one, from a thread; @number: its own */
struct keepon_poller {
	struct keepon_engine *engine;
	u64 (*beat)(struct keepon_engine *engine);
	u32 number;
	struct hrtimer timer;
	struct task_struct *thread;
};

/**
 * struct keepon_engine - one run of the wire
 * @pacer: in @memory; keepon.lock
 * @driver, @native: whose ring, and the ring
 * @frames: pool; @free: unused ones of each class; keepon.lock
 * @held: frames of each class in the pacer or among the outcomes; keepon.lock
 * @held_max: at so many the queue of the class stops
 * @dual: the receive ring as a second clock, or NULL; keepon.lock
 * @poller: of the transmit ring; of the receive ring, if there is @dual
 */
struct keepon_engine {
	struct keepon *keepon;
	struct kpn_pacer *pacer;
	void *memory;
	const struct keepon_native_driver *driver;
	struct keepon_native native;
	struct keepon_frame *frames;
	struct keepon_frame *free[KPN_CLASS_COUNT];
	u32 held[KPN_CLASS_COUNT];
	u32 held_max;
	struct keepon_dual *dual;
	struct keepon_poller poller[KEEPON_POLLERS];
};

/* ---- lower.c: drivers that lend rings, and what happens to a lower device ---- */

/** keepon_native_get() - driver of @lower that lends a ring, its module held; NULL if it has none */
const struct keepon_native_driver *keepon_native_get(struct net_device *lower);
void keepon_native_put(const struct keepon_native_driver *driver);
/** keepon_lower_caps() - limits of the ring of @lower and its rate, 0 if unknown now; RTNL. Return: 0 or an error, with a sentence */
int keepon_lower_caps(struct net_device *lower, struct kpn_nic_caps *caps, u64 *rate_bps,
		      struct netlink_ext_ack *extack);
/** keepon_lower_rx_caps() - limits of its receive ring; RTNL. Return: 0 or an error, with a sentence */
int keepon_lower_rx_caps(struct net_device *lower, struct keepon_native_rx_caps *caps, struct netlink_ext_ack *extack);
int keepon_lower_event(struct notifier_block *block, unsigned long event, void *info);

/* ---- setup.c ---- */

/** keepon_say() - a sentence for the one who asked; lives until a few more have been said. RTNL */
void keepon_say(struct netlink_ext_ack *extack, const char *format, ...) __printf(2, 3);
extern const struct nla_policy keepon_policy[IFLA_KEEPON_MAX + 1];
void keepon_setup_init(struct keepon_setup *setup);
int keepon_setup_copy(struct keepon_setup *to, const struct keepon_setup *from);
/** keepon_setup_take() - lay attributes over a setup; after an error it is only good for keepon_setup_free() */
int keepon_setup_take(struct keepon_setup *setup, struct nlattr *data[], struct netlink_ext_ack *extack);
void keepon_setup_free(struct keepon_setup *setup);
/** keepon_plan_make() - work out a setup for a lower device; on error @plan is empty and @extack has field, value, range */
int keepon_plan_make(struct keepon_plan *plan, const struct keepon_setup *setup, struct net_device *lower,
		     struct netlink_ext_ack *extack);
void keepon_plan_free(struct keepon_plan *plan);
/** keepon_plan_frame_max() - longest real frame, FCS included */
u32 keepon_plan_frame_max(const struct keepon_plan *plan);

/* ---- link.c, dev.c ---- */

extern struct rtnl_link_ops keepon_link_ops;
void keepon_dellink(struct net_device *dev, struct list_head *head);
void keepon_dev_setup(struct net_device *dev);
/** keepon_dev_limits() - MTU range by the plan; returns the MTU that leaves room for one VLAN tag */
unsigned int keepon_dev_limits(struct keepon *keepon);
/** keepon_dev_refit() - the plan is another: limits, and an MTU that had its default, follow */
void keepon_dev_refit(struct keepon *keepon, unsigned int old_default_mtu);

/* ---- engine.c: one run of the wire ---- */

/** keepon_engine_begin() - start the wire if the upper device is up and the lower has a link. RTNL. Return: 0, also if it has to wait */
int keepon_engine_begin(struct keepon *keepon, struct netlink_ext_ack *extack);
/** keepon_engine_stop() - end every frame, stop the wire, give the ring back; the clock goes on. RTNL, sleeps, may be called twice */
void keepon_engine_stop(struct keepon *keepon);
/** keepon_engine_follow() - something about the lower device has changed: start, stop or start anew. RTNL */
void keepon_engine_follow(struct keepon *keepon);
/**
 * keepon_engine_replan() - run by another plan; RTNL
 * @plan: becomes keepon's and is empty then; on error it stays the caller's and the wire runs by the old one
 */
int keepon_engine_replan(struct keepon *keepon, struct keepon_plan *plan, struct netlink_ext_ack *extack);

/* ---- poll.c ---- */

/** keepon_poll_prepare() - all that can fail; keepon_poll_begin() after kpn_pacer_start(), keepon_poll_end() in any case */
int keepon_poll_prepare(struct keepon_engine *engine, struct netlink_ext_ack *extack);
void keepon_poll_begin(struct keepon_engine *engine);
void keepon_poll_end(struct keepon_engine *engine);

/* ---- clock.c: the PHC, whether a wire runs or not ---- */

void keepon_clock_init(struct keepon *keepon);
/** keepon_clock_read_locked() - PHC time now */
struct kpn_time keepon_clock_read_locked(struct keepon *keepon);
/** keepon_clock_at_locked() - PHC time at CPU time @cpu_ns, not before the last poll; a wire runs */
struct kpn_time keepon_clock_at_locked(const struct keepon_engine *engine, u64 cpu_ns);
/** keepon_clock_keep_locked() - from now on the clock runs on the CPU counter, as it stands and as fast as it did */
void keepon_clock_keep_locked(struct keepon *keepon);
s64 keepon_clock_scaled_ppm_locked(const struct keepon *keepon);
int keepon_clock_adjfine(struct keepon *keepon, s64 scaled_ppm);
int keepon_clock_adjtime(struct keepon *keepon, s64 delta_ns);
int keepon_clock_settime(struct keepon *keepon, struct kpn_time t);

/* ---- xmit.c, outcome.c, receive.c ---- */

netdev_tx_t keepon_xmit(struct sk_buff *skb, struct net_device *dev);
u16 keepon_select_queue(struct net_device *dev, struct sk_buff *skb, struct net_device *sb_dev);

extern const struct kpn_pacer_ops keepon_pacer_ops;
/** keepon_outcomes_kick() - after unlocking: have outcomes handed back if there are any */
void keepon_outcomes_kick(struct keepon *keepon);
/** keepon_outcomes_finish() - hand all back; BH off, one at a time. @budget: as in napi_consume_skb() */
void keepon_outcomes_finish(struct keepon *keepon, int budget);
int keepon_napi_poll(struct napi_struct *napi, int budget);
/** keepon_report() - tell the sender of a frame with a txtime that it will not be sent, if it asked for that */
void keepon_report(struct sk_buff *skb, enum kpn_verdict verdict, s64 txtime_ns);

rx_handler_result_t keepon_receive(struct sk_buff **pskb);

/* ---- dual.c: clock dual ---- */

/** keepon_dual_poll_ns() - usual time between two polls of the receive ring: a batch, were the peer's slots as long as ours */
u64 keepon_dual_poll_ns(const struct kpn_config *config);
/** keepon_dual_config() - by which bounds the receive ring is read; @plan has everything else */
void keepon_dual_config(const struct keepon_plan *plan, struct kpn_rx_config *config);
/** keepon_dual_claim() - with clock dual: claim the receive ring, before the wire starts; RTNL */
int keepon_dual_claim(struct keepon_engine *engine, struct netlink_ext_ack *extack);
/** keepon_dual_join_locked() - the pacer is there, if it is a dual clock they belong together */
void keepon_dual_join_locked(struct keepon_engine *engine);
/** keepon_dual_release() - give the receive ring back; nobody polls; RTNL, may be called without one */
void keepon_dual_release(struct keepon_engine *engine);
/** keepon_dual_beat_locked() - one poll of the receive ring. Return: ns until the next */
u64 keepon_dual_beat_locked(struct keepon_engine *engine);
/** keepon_dual_correct_locked() - after a poll of the transmit ring */
void keepon_dual_correct_locked(struct keepon_engine *engine);
/** keepon_dual_stamp_locked() - when the frame at @place was at the reference plane; 0: it cannot be told, which is counted */
ktime_t keepon_dual_stamp_locked(struct keepon_engine *engine, u64 place, u32 frame_bytes);
struct kpn_time keepon_dual_gettime(const struct keepon_dual *dual, u64 at_ns);
int keepon_dual_adjfine(struct keepon_dual *dual, s64 scaled_ppm);
int keepon_dual_adjtime(struct keepon_dual *dual, s64 delta_ns);
int keepon_dual_settime(struct keepon_dual *dual, struct kpn_time t);
/** keepon_dual_add_counters() - those of this run */
void keepon_dual_add_counters(struct keepon_dual_counters *sum, const struct keepon_engine *engine);
/** keepon_dual_knows() - the receive ring tells where the peer's wire is; @dual may be NULL */
bool keepon_dual_knows(const struct keepon_dual *dual);

/* ---- debug.c: faults on request ---- */

void keepon_debug_init(void);
void keepon_debug_exit(void);
void keepon_debug_add(struct keepon *keepon);
void keepon_debug_remove(struct keepon *keepon);

/* ---- stamp.c, phc.c, qdisc.c, ethtool.c ---- */

int keepon_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config);
int keepon_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config, struct netlink_ext_ack *extack);
/** keepon_stamp() - an instant as a stamp, to the nearest nanosecond */
ktime_t keepon_stamp(struct kpn_time t);
int keepon_phc_register(struct keepon *keepon);
void keepon_phc_unregister(struct keepon *keepon);
int keepon_setup_tc(struct net_device *dev, enum tc_setup_type type, void *type_data);
extern const struct ethtool_ops keepon_ethtool_ops;
int keepon_get_ts_info(struct net_device *dev, struct keepon_ts_info *info);

#endif
