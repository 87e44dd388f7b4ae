/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Internals of keepon.ko. One struct keepon is one upper device; while its wire runs it has one
 * struct keepon_engine, which holds the pacer, the borrowed ring and the frames on their way.
 *
 *	link, attributes, setup		rtnetlink: attributes, what they mean, read-back (setup.h)
 *	table		class tables by generic netlink (setup.h)
 *	dev, mtu	life cycle of the device
 *	lower, owner, events		the device below: its driver's ring, callbacks, events
 *	engine, poll	the wire: start, stop, polls
 *	card		frames that the device below sends itself
 *	xmit, share, complete		frames in, waiting frames per socket, frames done
 *	queue		least byte queue limits
 *	receive		frames from the lower device
 *	dual		the receive ring as a second clock
 *	gates, bridge, partitions, schedule, taprio	gate lists as class tables (taprio.h)
 *	credit		shaped classes: cbs, rates of mqprio
 *	clock, phc, stamp, qdisc, ethtool, debug, trace, say
 *
 * A file calls only files in lower layers (LAYERS in scripts/check_arrows.py).
 *
 * Locking: RTNL for configuration and for starting and stopping; keepon.lock around every
 * kpn_pacer_* call and every function below that says so. The lock is raw and taken with interrupts
 * off, since polls come from a hard timer interrupt, on PREEMPT_RT too. Under it the only calls
 * into the network stack start and stop queues.
 */
#ifndef KEEPON_H
#define KEEPON_H

#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/pkt_sched.h>
#include <net/rtnetlink.h>

#include "keepon/dual.h"
#include "keepon/pacer.h"
#include "keepon_compat.h"
#include "keepon_native.h"
#include "setup.h"
#include "taprio.h"

/* One for the transmit ring, one for the receive ring. */
enum { KEEPON_POLLERS = 2 };

struct keepon_dual;
struct keepon_engine;
struct nf_hook_ops;

/* Counters of a receive ring; X(name) */
#define KEEPON_DUAL_COUNTERS(X)                                               \
	X(frames)    /* taken out of the ring */                              \
	X(missed)    /* arrived while the ring was full */                    \
	X(readings)  /* of the index */                                       \
	X(stops)     /* the peer's wire was idle, or frames were lost */      \
	X(stamped)   /* frames given to the stack with a timestamp */         \
	X(unstamped) /* frames without one: a wire may have been idle */      \
	X(tx_set)    /* published merge: the transmit clock lagged too far */ \
	X(rx_set)    /* the same of the receive clock */

struct keepon_dual_counters {
#define KEEPON_DUAL_COUNTER(name) u64 name;
	KEEPON_DUAL_COUNTERS(KEEPON_DUAL_COUNTER)
#undef KEEPON_DUAL_COUNTER
};

/**
 * struct keepon_frame - one frame between xmit and its completion
 * @next: in a free list
 * @txtime_ns: as given by the sender, 0 without
 * @deadline_ns: PHC time by which it must have left, 0 without
 * @sender: its sender's count, NULL without a txtime
 * @queue: its transmit queue, of the link or the card; @queued: counted in that queue's byte queue
 *	limit
 */
struct keepon_frame {
	struct kpn_frame frame;
	struct keepon_frame *next;
	struct sk_buff *skb;
	s64 txtime_ns;
	s64 deadline_ns;
	struct keepon_sender *sender;
	struct netdev_queue *queue;
	bool queued;
};

enum {
	KEEPON_SHARE_SET_BITS = 4,
	KEEPON_SHARE_SETS = 1 << KEEPON_SHARE_SET_BITS,
	KEEPON_SHARE_WAYS = 4
};

/** struct keepon_sender - number of waiting frames with a txtime from @sk; 0: not in use */
struct keepon_sender {
	const struct sock *sk;
	u32 waiting;
};

/**
 * struct keepon_share - the same for a whole class; a hash finds the set of a socket; @last: sender
 * of the last frame, often of the next one, too
 */
struct keepon_share {
	u32 waiting;
	struct keepon_sender *last;
	struct keepon_sender senders[KEEPON_SHARE_SETS][KEEPON_SHARE_WAYS];
};

/**
 * struct keepon_credit - credit of a queue
 * @idle_slope_bps: 0: it is not shaped; @high_bytes: hiCredit, of cbs
 * @is_rate: a max_rate of mqprio
 */
struct keepon_credit {
	u64 idle_slope_bps;
	u32 high_bytes;
	bool is_rate;
};

/** struct keepon_promise - bytes a second that @queues of a traffic class have for themselves */
struct keepon_promise {
	u16 queues;
	u64 rate;
};

/**
 * struct keepon - an upper device
 * @dev, @lower: itself and the device it sends through
 * @setup, @plan: the attributes given, and the resulting configuration; RTNL
 * @receives_all: frames received by the lower device belong to this one
 * @hook: at the egress of the lower device, NULL if there is none; RTNL
 * @engine: non-NULL while the wire runs; written under RTNL and @lock
 * @down_clock: the PHC while no wire runs, on the CPU counter, which read @down_ns at its anchor;
 *	@down_clock_version: changes when the clock is set; @lock
 * @total, @dual_total: counters of earlier runs, and frames refused before a pacer has seen them;
 *	@lock
 * @foreign_frames: frames sent through the device below by others; @lock
 * @late_ns: by class, greatest delay of a frame beyond its txtime, at most U32_MAX; NAPI only
 * @starts, @start_failures: of the wire; RTNL
 * @napi: completes frames that ended
 * @restart: starts the wire again after the NIC was lost; @restarts: how often, RTNL; @lost: the NIC
 *	was lost and its ring is not stopped yet
 * @taprio: gates, which replace the class table of the plan
 * @credit: by queue, written under @lock, too; @promises: by traffic class; RTNL
 * @etf_queues: queues with an offloaded etf; @lock
 * @hwtstamp: timestamps switched on
 * @phc: NULL if it could not be registered
 * @debug: folder of fault injection; @stall_ns: delay of the next poll, by poller
 */
struct keepon {
	struct net_device *dev;
	struct net_device *lower;
	netdevice_tracker lower_tracker;
	struct keepon_setup setup;
	struct keepon_plan plan;
	bool receives_all;
	struct nf_hook_ops *hook;

	raw_spinlock_t lock;
	struct keepon_engine *engine;
	struct kpn_clock down_clock;
	u64 down_ns;
	u64 down_clock_version;
	struct kpn_stats total;
	struct keepon_dual_counters dual_total;
	u64 foreign_frames;
	u32 late_ns[KEEPON_CLASS_COUNT];
	u64 starts;
	u64 start_failures;
	struct napi_struct napi;
	struct delayed_work restart;
	u64 restarts;
	bool lost;

	struct keepon_taprio taprio;
	struct keepon_credit credit[KEEPON_CLASS_COUNT];
	struct keepon_promise promises[KEEPON_CLASS_COUNT];
	u16 etf_queues;
	struct keepon_hwtstamp hwtstamp;
	struct ptp_clock_info phc_info;
	struct ptp_clock *phc;
	struct dentry *debug;
	u64 stall_ns[KEEPON_POLLERS];
};

/**
 * struct keepon_poller - calls @poll again and again, from a timer or, if there is one, from a
 * thread; @number: index in keepon_engine.poller
 */
struct keepon_poller {
	struct keepon_engine *engine;
	u64 (*poll)(struct keepon_engine *engine, bool *completed);
	u32 number;
	struct hrtimer timer;
	struct task_struct *thread;
};

/**
 * struct keepon_engine - one run of the wire
 * @pacer: in @memory; keepon.lock
 * @config: config of the plan, with the class table the run begins with
 * @driver, @native: the lending driver, and its ring
 * @frames: pool of each class; @free: unused frames; keepon.lock
 * @held: frames of each class in the pacer or being completed; keepon.lock
 * @held_max: with so many the queue of the class stops; @timed_max: most of them with a txtime
 * @ended: frames that ended and are to be completed; NAPI only
 * @shares: frames with a txtime by class and socket; keepon.lock
 * @dual: the receive ring as a second clock, or NULL; keepon.lock
 * @poller: of the transmit ring; with @dual also of the receive ring
 */
struct keepon_engine {
	struct keepon *keepon;
	struct kpn_config config;
	struct kpn_pacer *pacer;
	void *memory;
	struct keepon_native_driver *driver;
	struct keepon_native native;
	struct keepon_frame *frames[KPN_CLASS_COUNT];
	struct keepon_frame *free[KPN_CLASS_COUNT];
	u32 held[KPN_CLASS_COUNT];
	u32 held_max;
	u32 timed_max;
	struct kpn_frame *ended;
	struct keepon_share *shares;
	struct keepon_dual *dual;
	struct keepon_poller poller[KEEPON_POLLERS];
};

static inline bool keepon_is(const struct net_device *dev)
{
	return dev->rtnl_link_ops && !strcmp(dev->rtnl_link_ops->kind, KEEPON_LINK_KIND);
}

/** keepon_has_card() - the card's own transmit path leads here while the wire runs */
static inline bool keepon_has_card(const struct keepon_engine *engine)
{
	return !engine->driver->any_driver;
}

/** keepon_engine_lost() - the NIC is dead: stop soon, try a start a second later; any context */
static inline void keepon_engine_lost(struct keepon *keepon)
{
	WRITE_ONCE(keepon->lost, true);
	mod_delayed_work(system_wq, &keepon->restart, 0);
}

/* ---- say.c ---- */

/** keepon_explain() - a sentence for the caller; valid until a few more are given. RTNL */
void keepon_explain(struct netlink_ext_ack *extack, const char *format, ...) __printf(2, 3);
/** keepon_refuse() - "NAME VALUE is not within 0 to MAX: REMEDY." Return: -EINVAL */
int keepon_refuse(struct netlink_ext_ack *extack, const char *name, u64 value, u64 max,
		  const char *remedy);
/**
 * keepon_qdisc_say() - pass the sentence of a request to @to, or log it if the stack passes no
 * extack
 */
void keepon_qdisc_say(const struct net_device *dev, const char *qdisc, struct netlink_ext_ack *to,
		      const struct netlink_ext_ack *extack);

/* ---- mtu.c ---- */

/**
 * keepon_dev_limits() - set the MTU range by the plan and the gates. Return: the lower device's
 * MTU, or the greatest that leaves room for one VLAN tag
 */
unsigned int keepon_dev_limits(struct keepon *keepon);
/** keepon_dev_refit() - after a change of plan: adapt limits, and an MTU that had its default */
void keepon_dev_refit(struct keepon *keepon, unsigned int old_default_mtu);

/* ---- lower.c: what the driver of the lower device lends ---- */

/**
 * keepon_lower_caps() - limits of the ring of @lower for slots of @slot_bytes, and its rate, 0 if
 * unknown now; RTNL
 * @plan: only backend and force are read
 *
 * Return: 0 or an error, with a sentence.
 */
int keepon_lower_caps(struct net_device *lower, const struct keepon_plan *plan, u32 slot_bytes,
		      struct keepon_native_caps *caps, u64 *rate_bps,
		      struct netlink_ext_ack *extack);
/** keepon_lower_name() - name of the driver of @dev, "" if it has none */
void keepon_lower_name(struct net_device *dev, char *name, size_t room);
/** keepon_lower_rx_caps() - limits of its receive ring; RTNL. Return: 0 or an error, explained */
int keepon_lower_rx_caps(struct net_device *lower, struct keepon_native_rx_caps *caps,
			 struct netlink_ext_ack *extack);
/** keepon_upper_of() - the link on @lower, or NULL; RTNL */
struct keepon *keepon_upper_of(struct net_device *lower);

/* ---- card.c: the lower device's own frames; all but the hook under RTNL ---- */

/**
 * keepon_card_share() - for a new link: take frames of the card. Return: 0, perhaps with a
 * sentence, or an error
 */
int keepon_card_share(struct keepon *keepon, struct netlink_ext_ack *extack);
/** keepon_card_hook(), keepon_card_unhook() - in the card's namespace, perhaps another one */
int keepon_card_hook(struct keepon *keepon);
void keepon_card_unhook(struct keepon *keepon);
/** keepon_card_warn() - a sentence if class 0 has no room for frames of the card */
void keepon_card_warn(const struct keepon *keepon, struct netlink_ext_ack *extack);
/** keepon_card_limit() - least byte queue limit of the card's queues; ring claimed, as below */
void keepon_card_limit(struct keepon *keepon, u32 bytes);
/** keepon_card_wake() - the class that priority 0 maps to has room */
void keepon_card_wake(struct keepon *keepon);
/** keepon_card_stop() - no frame of the card is in flight; stop its queues until they are woken */
void keepon_card_stop(struct keepon *keepon);
/* As in struct keepon_native_owner. */
int keepon_card_ts_info(void *owner, struct keepon_ts_info *info);
int keepon_card_hwtstamp_get(void *owner, struct keepon_hwtstamp *config);
int keepon_card_hwtstamp_set(void *owner, struct keepon_hwtstamp *config,
			     struct netlink_ext_ack *extack);

/* ---- link.c, dev.c, owner.c, events.c ---- */

extern struct rtnl_link_ops keepon_link_ops;
void keepon_dellink(struct net_device *dev, struct list_head *head);
void keepon_dev_setup(struct net_device *dev);
/** keepon_lower_owner - callbacks for the driver of the lower device */
extern const struct keepon_native_owner keepon_lower_owner;
/** keepon_lower_event() - notifier for events of the lower device */
int keepon_lower_event(struct notifier_block *block, unsigned long event, void *info);

/* ---- engine.c: one run of the wire ---- */

/**
 * keepon_engine_begin() - start the wire if the upper device is up and the lower has a carrier.
 * RTNL. Return: 0, also if the start has to wait
 */
int keepon_engine_begin(struct keepon *keepon, struct netlink_ext_ack *extack);
/**
 * keepon_engine_stop() - end every frame, stop the wire, give the ring back; the PHC runs on.
 * RTNL, sleeps, may be called twice
 */
void keepon_engine_stop(struct keepon *keepon);
/**
 * keepon_engine_restart() - restart a wire that runs; if it does not start, log why and retry every
 * second; RTNL
 */
void keepon_engine_restart(struct keepon *keepon);
/** keepon_engine_restart_work() - work of keepon.restart */
void keepon_engine_restart_work(struct work_struct *work);
/** keepon_engine_follow() - the lower device has changed: start, stop or restart. RTNL */
void keepon_engine_follow(struct keepon *keepon);
/**
 * keepon_engine_replan() - run by another plan; RTNL
 * @plan: becomes keepon's and is empty then; on error it stays the caller's and the wire runs by
 *	the old one
 */
int keepon_engine_replan(struct keepon *keepon, struct keepon_plan *plan,
			 struct netlink_ext_ack *extack);

/* ---- poll.c ---- */

/**
 * keepon_poll_prepare() - all steps that can fail; keepon_poll_begin() after kpn_pacer_start(),
 * keepon_poll_end() in any case
 */
int keepon_poll_prepare(struct keepon_engine *engine, struct netlink_ext_ack *extack);
void keepon_poll_begin(struct keepon_engine *engine);
void keepon_poll_end(struct keepon_engine *engine);

/* ---- clock.c: the PHC, with or without a wire ---- */

void keepon_clock_init(struct keepon *keepon);
/** keepon_clock_read_locked() - PHC time now */
struct kpn_time keepon_clock_read_locked(struct keepon *keepon);
/** keepon_clock_at_locked() - PHC time at CPU time @cpu_ns, not before the last poll; wire up */
struct kpn_time keepon_clock_at_locked(const struct keepon_engine *engine, u64 cpu_ns);
/** keepon_clock_keep_locked() - the clock continues on the CPU counter, with its rate */
void keepon_clock_keep_locked(struct keepon *keepon);
s64 keepon_clock_scaled_ppm_locked(const struct keepon *keepon);
/* A step of the clock may have to move gate lists, too: the PHC's callbacks do that. */
int keepon_clock_adjfine_locked(struct keepon *keepon, s64 scaled_ppm);
int keepon_clock_adjtime_locked(struct keepon *keepon, s64 delta_ns);
int keepon_clock_settime_locked(struct keepon *keepon, struct kpn_time t);

/* ---- xmit.c, share.c, queue.c, complete.c, receive.c ---- */

netdev_tx_t keepon_xmit(struct sk_buff *skb, struct net_device *dev);
u16 keepon_select_queue(struct net_device *dev, struct sk_buff *skb, struct net_device *sb_dev);
/** keepon_card_transmit() - as in struct keepon_native_owner */
netdev_tx_t keepon_card_transmit(void *owner, struct sk_buff *skb, struct net_device *dev);

/**
 * keepon_queue_limits() - raise byte queue limits to what keeps a class's slots full; RTNL, after a
 * start of the wire and whenever the table in force or to come may have changed
 */
void keepon_queue_limits(struct keepon *keepon);
/** keepon_complete_soon() - have NAPI complete frames and report events of a poll; no lock held */
void keepon_complete_soon(struct keepon *keepon);
/** keepon_complete_list() - complete frames whose run is over; BH off */
void keepon_complete_list(struct keepon *keepon, struct kpn_frame *list);
/** keepon_share_find_locked() - count of @sk if it is not the last sender */
struct keepon_sender *keepon_share_find_locked(struct keepon_share *share, const struct sock *sk);

/**
 * keepon_share_locked() - count for a frame of @sk with a txtime; NULL: the socket's share is used
 * up
 */
static inline struct keepon_sender *keepon_share_locked(struct keepon_engine *engine, u16 tc,
							const struct sock *sk)
{
	struct keepon_share *share = &engine->shares[tc];
	struct keepon_sender *sender = share->last;

	/* Most often the last sender; one whose frames have all left may have lost its place. */
	if (unlikely(!sender || sender->sk != sk || !sender->waiting))
		sender = keepon_share_find_locked(share, sk);
	if (sender->waiting >= engine->timed_max - share->waiting)
		return NULL;
	sender->sk = sk;
	share->last = sender;
	return sender;
}

/** keepon_share_add_locked() - a frame of @sender waits from now on */
static inline void keepon_share_add_locked(struct keepon_engine *engine,
					   struct keepon_sender *sender, u16 tc)
{
	sender->waiting++;
	engine->shares[tc].waiting++;
}

/** keepon_share_end_locked() - that frame has ended */
void keepon_share_end_locked(struct keepon_engine *engine, struct keepon_frame *frame);

int keepon_napi_poll(struct napi_struct *napi, int budget);
/**
 * keepon_report() - report to the sender of a frame with a txtime, if it asked for that, that the
 * frame will not be sent
 */
void keepon_report(struct sk_buff *skb, enum kpn_verdict verdict, s64 txtime_ns);
/**
 * keepon_say_oversize() - log, rate-limited, that a frame of @bytes, FCS included, is longer than
 * class @tc can send, the longest it can, and the options that would allow more
 */
void keepon_say_oversize(struct keepon *keepon, u32 bytes, u16 tc);

rx_handler_result_t keepon_receive(struct sk_buff **pskb);
/** keepon_card_received() - as in struct keepon_native_owner */
void keepon_card_received(void *owner, struct sk_buff *skb);

/* ---- dual.c: clock dual ---- */

/**
 * keepon_dual_poll_ns() - usual time between two polls of the receive ring: a batch, assuming that
 * the peer's slots are as long as ours
 */
u64 keepon_dual_poll_ns(const struct kpn_config *config);
/** keepon_dual_config() - bounds for the receive ring, from @plan */
void keepon_dual_config(const struct keepon_plan *plan, struct kpn_rx_config *config);
/** keepon_dual_claim() - with clock dual: claim the receive ring, before the wire starts; RTNL */
int keepon_dual_claim(struct keepon_engine *engine, struct netlink_ext_ack *extack);
/** keepon_dual_join_locked() - with clock dual: join the receive ring to the new pacer */
void keepon_dual_join_locked(struct keepon_engine *engine);
/** keepon_dual_release() - give the receive ring back, if there is one; no poller runs; RTNL */
void keepon_dual_release(struct keepon_engine *engine);
/** keepon_dual_poll_locked() - one poll of the receive ring. Return: ns until the next */
u64 keepon_dual_poll_locked(struct keepon_engine *engine, bool *completed);
/** keepon_dual_correct_locked() - after a poll of the transmit ring */
void keepon_dual_correct_locked(struct keepon_engine *engine);
/**
 * keepon_dual_reach_locked() - one beat towards the frame at @place, for which the driver was
 * faster than the polls
 * @fresh: false at first; true: a new reading was begun for this frame
 *
 * Return: whether the frame was taken, or further calls will not find it. The caller may release
 * the lock between calls, so that interrupts are off for one beat only.
 */
bool keepon_dual_reach_locked(struct keepon_engine *engine, u64 place, bool *fresh);
/**
 * keepon_dual_stamp_locked() - when the frame at @place was at the reference plane; 0: unknown,
 * which is counted
 */
ktime_t keepon_dual_stamp_locked(struct keepon_engine *engine, u64 place, u32 frame_bytes);
struct kpn_time keepon_dual_gettime(const struct keepon_dual *dual, u64 at_ns);
int keepon_dual_adjfine(struct keepon_dual *dual, s64 scaled_ppm);
int keepon_dual_adjtime(struct keepon_dual *dual, s64 delta_ns);
int keepon_dual_settime(struct keepon_dual *dual, struct kpn_time t);
void keepon_dual_add_counters(struct keepon_dual_counters *sum, const struct keepon_engine *engine);
/** keepon_dual_knows() - whether the position of the peer's wire is known; @dual may be NULL */
bool keepon_dual_knows(const struct keepon_dual *dual);

/* ---- debug.c: fault injection ---- */

void keepon_debug_init(void);
void keepon_debug_exit(void);
void keepon_debug_add(struct keepon *keepon);
void keepon_debug_remove(struct keepon *keepon);

/* ---- credit.c; all under RTNL ---- */

/** keepon_credit_cbs() - a request of qdisc cbs. Return: 0 or an error, explained in the log */
int keepon_credit_cbs(struct keepon *keepon, const struct tc_cbs_qopt_offload *cbs);
/**
 * keepon_credit_check_rates() - whether rates of mqprio, whose queues are valid, are possible.
 * Return: 0 or an error, with a sentence
 */
int keepon_credit_check_rates(const struct keepon *keepon,
			      const struct tc_mqprio_qopt_offload *offload,
			      struct netlink_ext_ack *extack);
/** keepon_credit_set_rates() - put these rates in place of earlier ones */
void keepon_credit_set_rates(struct keepon *keepon, const struct tc_mqprio_qopt_offload *offload);
/**
 * keepon_credit_check() - whether another plan keeps the rates of mqprio. Return: 0 or an error,
 * with a sentence
 */
int keepon_credit_check(const struct keepon *keepon, const struct keepon_plan *plan,
			struct netlink_ext_ack *extack);
/** keepon_credit_join_locked() - a wire has started: pass the credits to the pacer */
void keepon_credit_join_locked(struct keepon *keepon);

/* ---- stamp.c, phc.c, qdisc.c, ethtool.c ---- */

int keepon_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config);
int keepon_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config,
			struct netlink_ext_ack *extack);
/** keepon_stamp() - an instant as a stamp, to the nearest nanosecond */
ktime_t keepon_stamp(struct kpn_time t);
/** keepon_stamp_limit() - at the start of a wire: switch off stamps that it cannot give */
void keepon_stamp_limit(struct keepon *keepon);
int keepon_phc_register(struct keepon *keepon);
void keepon_phc_unregister(struct keepon *keepon);
int keepon_setup_tc(struct net_device *dev, enum tc_setup_type type, void *type_data);
extern const struct ethtool_ops keepon_ethtool_ops;
int keepon_get_ts_info(struct net_device *dev, struct keepon_ts_info *info);

#endif
