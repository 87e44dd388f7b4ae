/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * keepon.ko inside. One struct keepon is one upper device; while its wire runs it has one struct
 * keepon_engine, which holds the pacer, the borrowed ring and the frames on their way.
 *
 *	link, attributes, setup		rtnetlink: attributes, what they mean, read-back (setup.h)
 *	table		class tables by generic netlink (setup.h)
 *	dev, mtu	life of the device
 *	lower, owner, events		the device beneath: what its driver lends and says, what happens to it
 *	engine, poll	the wire: start, stop, beat
 *	card		the device beneath goes on sending
 *	xmit, share, outcome		frames in, who may have how many waiting, frames done
 *	queue		least byte queue limits
 *	receive		frames from the lower device
 *	dual		the receive ring as a second clock
 *	gates, bridge, partitions, schedule, taprio	gate lists as class tables (taprio.h)
 *	credit		shaped classes: cbs, rates of mqprio
 *	clock, phc, stamp, qdisc, ethtool, debug, trace, say
 *
 * A file calls those on lower floors only (FLOORS in scripts/check_arrows.py).
 *
 * Locking: RTNL for configuration and for starting and stopping; keepon.lock around every
 * kpn_pacer_* call and everything marked so below. The lock is raw and taken with interrupts off,
 * since the beat is a hard timer interrupt, on PREEMPT_RT too. Nothing of the network stack is
 * called under it but marking queues.
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

/* The transmit ring has one, the receive ring another. */
enum { KEEPON_POLLERS = 2 };

struct keepon_dual;
struct keepon_engine;
struct nf_hook_ops;

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
 * struct keepon_frame - one frame between xmit and its completion
 * @next: in a free list
 * @txtime_ns: as its sender gave it, 0 without
 * @deadline_ns: PHC time at which it must have left at the latest, 0 without
 * @sender: where it is counted, NULL without a txtime
 * @queue: transmit queue that it came by, of the link or the card; @queued: counted in the byte
 *	queue limit of that
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

/** struct keepon_sender - how many frames with a txtime @sk has waiting; none: not in use */
struct keepon_sender {
	const struct sock *sk;
	u32 waiting;
};

/**
 * struct keepon_share - the same of a whole class; a socket has its place in one of the sets, found
 * by its hash; @last: of the last frame taken, which the next one's often is, too
 */
struct keepon_share {
	u32 waiting;
	struct keepon_sender *last;
	struct keepon_sender senders[KEEPON_SHARE_SETS][KEEPON_SHARE_WAYS];
};

/**
 * struct keepon_credit - of a queue
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
 * @setup, @plan: what was asked for and what it comes to; RTNL
 * @receives_all: what the lower device receives is ours
 * @hook: at the egress of the lower device, NULL if there is none; RTNL
 * @engine: while the wire runs; written under RTNL and @lock
 * @down_clock: the PHC while it does not, on the CPU counter, which read @down_ns at its anchor;
 *	@down_clock_version: changes when it is set; @lock
 * @total, @dual_total: counters of earlier runs, and frames refused before a pacer has seen them;
 * @lock
 * @foreign_frames: others sent through the device below; @lock
 * @late_ns: by class, how much later than its txtime a frame left at worst; at most U32_MAX; NAPI's
 * @starts, @start_failures: of the wire; RTNL
 * @napi: completes frames that ended
 * @restart: starts the wire anew after the NIC was lost; @restarts: how often, RTNL; @lost: it was,
 *	and nobody has stopped yet
 * @taprio: gates instead of the class table of the plan
 * @credit: by queue, written under @lock, too; @promises: by traffic class; RTNL
 * @etf_queues: with an offloaded etf above; @lock
 * @hwtstamp: what is stamped
 * @phc: NULL if it could not be registered
 * @debug: folder of faults on request; @stall_ns: by how much the next poll of each poller shall be
 *	late
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
 * struct keepon_poller - calls @beat again and again, from a timer or, if there is one, from a
 * thread; @number: its own
 */
struct keepon_poller {
	struct keepon_engine *engine;
	u64 (*beat)(struct keepon_engine *engine, bool *news);
	u32 number;
	struct hrtimer timer;
	struct task_struct *thread;
};

/**
 * struct keepon_engine - one run of the wire
 * @pacer: in @memory; keepon.lock
 * @config: that of the plan, with the class table it begins with
 * @driver, @native: whose ring, and the ring
 * @frames: pool of each class; @free: unused ones; keepon.lock
 * @held: frames of each class in the pacer or among the outcomes; keepon.lock
 * @held_max: at so many the queue of the class stops; @timed_max: so many of them with a txtime
 * @ended: frames that ended and are to be completed; NAPI's
 * @shares: frames with a txtime by class and socket; keepon.lock
 * @dual: the receive ring as a second clock, or NULL; keepon.lock
 * @poller: of the transmit ring; of the receive ring, if there is @dual
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

/** keepon_is() - @dev is a link of ours */
static inline bool keepon_is(const struct net_device *dev)
{
	return dev->rtnl_link_ops && !strcmp(dev->rtnl_link_ops->kind, KEEPON_LINK_KIND);
}

/** keepon_has_card() - the card's own transmit path leads here while the wire runs */
static inline bool keepon_has_card(const struct keepon_engine *engine)
{
	return !engine->driver->any_driver;
}

/**
 * keepon_engine_lost() - the NIC is dead: stop soon, and try to start a second later; any context
 */
static inline void keepon_engine_lost(struct keepon *keepon)
{
	WRITE_ONCE(keepon->lost, true);
	mod_delayed_work(system_wq, &keepon->restart, 0);
}

/* ---- say.c ---- */

/**
 * keepon_explain() - a sentence for the one who asked; lives until a few more are given. RTNL
 */
void keepon_explain(struct netlink_ext_ack *extack, const char *format, ...) __printf(2, 3);
/** keepon_refuse() - "NAME VALUE is not within 0 to MAX: REMEDY." Return: -EINVAL */
int keepon_refuse(struct netlink_ext_ack *extack, const char *name, u64 value, u64 max,
		  const char *remedy);
/** keepon_qdisc_say() - the sentence of a request to @to, or to the log where the stack has no way */
void keepon_qdisc_say(const struct net_device *dev, const char *qdisc, struct netlink_ext_ack *to,
		      const struct netlink_ext_ack *extack);

/* ---- mtu.c ---- */

/**
 * keepon_dev_limits() - MTU range by the plan and the gates; returns that of the lower device, or
 * the greatest that leaves room for one VLAN tag
 */
unsigned int keepon_dev_limits(struct keepon *keepon);
/** keepon_dev_refit() - the plan is another: limits, and an MTU that had its default, follow */
void keepon_dev_refit(struct keepon *keepon, unsigned int old_default_mtu);

/* ---- lower.c: what the driver of the lower device lends ---- */

/**
 * keepon_lower_caps() - limits of the ring of @lower for slots of @slot_bytes, and its rate, 0 if
 * unknown now; RTNL
 * @plan: of which backend and force are there
 *
 * Return: 0 or an error, with a sentence.
 */
int keepon_lower_caps(struct net_device *lower, const struct keepon_plan *plan, u32 slot_bytes,
		      struct keepon_native_caps *caps, u64 *rate_bps,
		      struct netlink_ext_ack *extack);
/** keepon_lower_name() - name of the driver of @dev, "" if it says none */
void keepon_lower_name(struct net_device *dev, char *name, size_t room);
/**
 * keepon_lower_rx_caps() - limits of its receive ring; RTNL. Return: 0 or an error, with a sentence
 */
int keepon_lower_rx_caps(struct net_device *lower, struct keepon_native_rx_caps *caps,
			 struct netlink_ext_ack *extack);
/** keepon_upper_of() - the link on @lower, or NULL; RTNL */
struct keepon *keepon_upper_of(struct net_device *lower);

/* ---- card.c: the lower device goes on sending; all but the hook under RTNL ---- */

/**
 * keepon_card_share() - a link is made: frames of the card come to it. Return: 0, perhaps with a
 * sentence, or an error
 */
int keepon_card_share(struct keepon *keepon, struct netlink_ext_ack *extack);
/** keepon_card_hook(), keepon_card_unhook() - where the card is, which may be another namespace */
int keepon_card_hook(struct keepon *keepon);
void keepon_card_unhook(struct keepon *keepon);
/** keepon_card_warn() - a sentence if class 0 has no room for what the card may send */
void keepon_card_warn(const struct keepon *keepon, struct netlink_ext_ack *extack);
/** keepon_card_limit() - the least byte queue limit of its queues; its ring is claimed, as below */
void keepon_card_limit(struct keepon *keepon, u32 bytes);
/** keepon_card_wake() - the class that priority 0 leads to has room */
void keepon_card_wake(struct keepon *keepon);
/** keepon_card_stop() - none of its frames is under way; the queues wait until they are woken */
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
/** keepon_lower_owner - what the driver of the lower device says of its ring */
extern const struct keepon_native_owner keepon_lower_owner;
/** keepon_lower_event() - what happens to the lower device; of a notifier */
int keepon_lower_event(struct notifier_block *block, unsigned long event, void *info);

/* ---- engine.c: one run of the wire ---- */

/**
 * keepon_engine_begin() - start the wire if the upper device is up and the lower has a link. RTNL.
 * Return: 0, also if it has to wait
 */
int keepon_engine_begin(struct keepon *keepon, struct netlink_ext_ack *extack);
/**
 * keepon_engine_stop() - end every frame, stop the wire, give the ring back; the clock goes on.
 * RTNL, sleeps, may be called twice
 */
void keepon_engine_stop(struct keepon *keepon);
/**
 * keepon_engine_anew() - stop and start a wire that runs; if it does not start, say why and try
 * again every second; RTNL
 */
void keepon_engine_anew(struct keepon *keepon);
/** keepon_engine_restart() - work of keepon.restart */
void keepon_engine_restart(struct work_struct *work);
/**
 * keepon_engine_follow() - something about the lower device has changed: start, stop or start anew.
 * RTNL
 */
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
 * keepon_poll_prepare() - all that can fail; keepon_poll_begin() after kpn_pacer_start(),
 * keepon_poll_end() in any case
 */
int keepon_poll_prepare(struct keepon_engine *engine, struct netlink_ext_ack *extack);
void keepon_poll_begin(struct keepon_engine *engine);
void keepon_poll_end(struct keepon_engine *engine);

/* ---- clock.c: the PHC, whether a wire runs or not ---- */

void keepon_clock_init(struct keepon *keepon);
/** keepon_clock_read_locked() - PHC time now */
struct kpn_time keepon_clock_read_locked(struct keepon *keepon);
/**
 * keepon_clock_at_locked() - PHC time at CPU time @cpu_ns, not before the last poll; a wire runs
 */
struct kpn_time keepon_clock_at_locked(const struct keepon_engine *engine, u64 cpu_ns);
/**
 * keepon_clock_keep_locked() - from now on the clock runs on the CPU counter, as it stands and as
 * fast as it did
 */
void keepon_clock_keep_locked(struct keepon *keepon);
s64 keepon_clock_scaled_ppm_locked(const struct keepon *keepon);
/* A step of it may have to move gate lists, too: the PHC's callbacks see to that. */
int keepon_clock_adjfine_locked(struct keepon *keepon, s64 scaled_ppm);
int keepon_clock_adjtime_locked(struct keepon *keepon, s64 delta_ns);
int keepon_clock_settime_locked(struct keepon *keepon, struct kpn_time t);

/* ---- xmit.c, share.c, queue.c, outcome.c, receive.c ---- */

netdev_tx_t keepon_xmit(struct sk_buff *skb, struct net_device *dev);
u16 keepon_select_queue(struct net_device *dev, struct sk_buff *skb, struct net_device *sb_dev);
/** keepon_card_transmit() - as in struct keepon_native_owner */
netdev_tx_t keepon_card_transmit(void *owner, struct sk_buff *skb, struct net_device *dev);

/**
 * keepon_queue_limits() - no byte queue limit is below what keeps a class's slots full; RTNL, after
 * a start of the wire and whenever the table in force or to come may be another one
 */
void keepon_queue_limits(struct keepon *keepon);
/**
 * keepon_complete_soon() - a poll has news: have NAPI complete frames and tell of events; no lock
 * held
 */
void keepon_complete_soon(struct keepon *keepon);
/** keepon_complete_list() - complete frames whose run is over; BH off */
void keepon_complete_list(struct keepon *keepon, struct kpn_frame *list);
/** keepon_share_find_locked() - where frames of @sk are counted, of others than the last sender */
struct keepon_sender *keepon_share_find_locked(struct keepon_share *share, const struct sock *sk);

/**
 * keepon_share_locked() - where a frame of @sk with a txtime is counted; NULL: the socket has its
 * share waiting already
 */
static inline struct keepon_sender *keepon_share_locked(struct keepon_engine *engine, u16 tc,
							const struct sock *sk)
{
	struct keepon_share *share = &engine->shares[tc];
	struct keepon_sender *sender = share->last;

	/* Most often the same sender as before; one whose frames have all left may lose its place. */
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

/** keepon_share_end_locked() - it has ended */
void keepon_share_end_locked(struct keepon_engine *engine, struct keepon_frame *frame);

int keepon_napi_poll(struct napi_struct *napi, int budget);
/**
 * keepon_report() - tell the sender of a frame with a txtime that it will not be sent, if it asked
 * for that
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
 * keepon_dual_poll_ns() - usual time between two polls of the receive ring: a batch, were the
 * peer's slots as long as ours
 */
u64 keepon_dual_poll_ns(const struct kpn_config *config);
/** keepon_dual_config() - by which bounds the receive ring is read; @plan has everything else */
void keepon_dual_config(const struct keepon_plan *plan, struct kpn_rx_config *config);
/** keepon_dual_claim() - with clock dual: claim the receive ring, before the wire starts; RTNL */
int keepon_dual_claim(struct keepon_engine *engine, struct netlink_ext_ack *extack);
/** keepon_dual_join_locked() - the pacer is there, if it is a dual clock they belong together */
void keepon_dual_join_locked(struct keepon_engine *engine);
/**
 * keepon_dual_release() - give the receive ring back; nobody polls; RTNL, may be called without one
 */
void keepon_dual_release(struct keepon_engine *engine);
/** keepon_dual_beat_locked() - one poll of the receive ring. Return: ns until the next */
u64 keepon_dual_beat_locked(struct keepon_engine *engine, bool *news);
/** keepon_dual_correct_locked() - after a poll of the transmit ring */
void keepon_dual_correct_locked(struct keepon_engine *engine);
/**
 * keepon_dual_reach_locked() - the driver was faster than the polls: one beat towards the frame at
 * @place
 * @fresh: false at first; a new reading was begun for this frame
 *
 * Return: whether it was taken, or will not be found by further calls. In between the lock may be
 * released, so that interrupts are off for one beat only.
 */
bool keepon_dual_reach_locked(struct keepon_engine *engine, u64 place, bool *fresh);
/**
 * keepon_dual_stamp_locked() - when the frame at @place was at the reference plane; 0: it cannot be
 * told, which is counted
 */
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

/* ---- credit.c; all under RTNL ---- */

/** keepon_credit_cbs() - a request of qdisc cbs. Return: 0 or an error, with a sentence in the log */
int keepon_credit_cbs(struct keepon *keepon, const struct tc_cbs_qopt_offload *cbs);
/**
 * keepon_credit_check_rates() - whether rates of mqprio, whose queues are right, can be had. Return:
 * 0 or an error, with a sentence
 */
int keepon_credit_check_rates(const struct keepon *keepon,
			      const struct tc_mqprio_qopt_offload *offload,
			      struct netlink_ext_ack *extack);
/** keepon_credit_set_rates() - they hold from now on, instead of others */
void keepon_credit_set_rates(struct keepon *keepon, const struct tc_mqprio_qopt_offload *offload);
/**
 * keepon_credit_check() - whether another plan keeps what mqprio was promised. Return: 0 or an
 * error, with a sentence
 */
int keepon_credit_check(const struct keepon *keepon, const struct keepon_plan *plan,
			struct netlink_ext_ack *extack);
/** keepon_credit_join_locked() - a wire has started: the pacer learns of credits */
void keepon_credit_join_locked(struct keepon *keepon);

/* ---- stamp.c, phc.c, qdisc.c, ethtool.c ---- */

int keepon_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config);
int keepon_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config,
			struct netlink_ext_ack *extack);
/** keepon_stamp() - an instant as a stamp, to the nearest nanosecond */
ktime_t keepon_stamp(struct kpn_time t);
/** keepon_stamp_limit() - a wire starts: what was switched on of stamps it cannot give is off */
void keepon_stamp_limit(struct keepon *keepon);
int keepon_phc_register(struct keepon *keepon);
void keepon_phc_unregister(struct keepon *keepon);
int keepon_setup_tc(struct net_device *dev, enum tc_setup_type type, void *type_data);
extern const struct ethtool_ops keepon_ethtool_ops;
int keepon_get_ts_info(struct net_device *dev, struct keepon_ts_info *info);

#endif
