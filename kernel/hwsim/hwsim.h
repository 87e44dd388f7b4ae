/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual standard NICs joined by wires: what the rooms of keepon_hwsim.ko share.
 *
 * Three kinds of time, all u64 picoseconds: "true" time is CLOCK_MONOTONIC_RAW since the module was loaded; "local" time is that of
 * the oscillator of a NIC or bridge; the PHC ticks from local time. Everything on a wire is computed from
 * these, never from when the CPU came by: a timer that fires late delivers late, but stamps and wire times stay exact.
 *
 * Locks, outer first: hwsim_mutex (objects come and go) > RTNL > hwsim_link_lock > port lock > timebase lock. A port lock is never
 * held while a frame is delivered. Other ports' peers are reached under RCU.
 */
#ifndef KEEPON_HWSIM_H
#define KEEPON_HWSIM_H

#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include "keepon_compat.h"
#include "keepon_native.h"

#define HWSIM_NAME "keepon_hwsim"
#define HWSIM_NEVER_PS U64_MAX
/* Rates of a line: 2^-16 parts per billion, so that ppb and the PHC's scaled ppm are both whole numbers. */
#define HWSIM_RATE_ONE (65536ull * 1000000000ull)

enum {
	HWSIM_SEGMENTS = 8,
	HWSIM_QUEUES = 8,
	HWSIM_PORTS_MAX = 16,
	HWSIM_PREAMBLE_BYTES = 8,
	HWSIM_GAP_BYTES = 12,
	HWSIM_FCS_BYTES = 4,
	HWSIM_FRAME_BYTES_MIN = 64,
	HWSIM_FRAME_BYTES_MAX = 1522,
	HWSIM_PPB_MAX = 500000,
	HWSIM_HEAD_BYTES = 96,
	HWSIM_PAUSES_MAX = 64,
	HWSIM_INDEX_MODULUS = 65536, /* as the consumer index of Broadcom GENET */
};

/* ---- clock.c: piecewise linear clocks ---- */

/** struct hwsim_segment - from @x_ps on: y = @y_ps + (x - @x_ps) x (1 + @rate / HWSIM_RATE_ONE); @offset_ns is added to a PHC */
struct hwsim_segment {
	u64 x_ps;
	u64 y_ps;
	s64 rate;
	s64 offset_ns;
};

/** struct hwsim_line - the last segments; what happened before a change keeps its time */
struct hwsim_line {
	struct hwsim_segment segment[HWSIM_SEGMENTS];
	u32 last;
	u32 count;
};

/** struct hwsim_instant - PHC time: @ns and @ps (0-999) */
struct hwsim_instant {
	s64 ns;
	u32 ps;
};

/** struct hwsim_timebase - one oscillator and the PHC that ticks from it; ports may share it */
struct hwsim_timebase {
	struct kref ref;
	spinlock_t lock; /* both lines */
	struct hwsim_line oscillator;
	struct hwsim_line phc;
	s64 ppb;
	struct ptp_clock_info info;
	struct ptp_clock *ptp;
};

void hwsim_clock_init(void);
u64 hwsim_true_ps(void);
u64 hwsim_raw_ns(u64 true_ps, u32 *ps);
struct hwsim_timebase *hwsim_timebase_create(s64 ppb);
struct hwsim_timebase *hwsim_timebase_get(struct hwsim_timebase *tb);
void hwsim_timebase_put(struct hwsim_timebase *tb);
u64 hwsim_local_ps(struct hwsim_timebase *tb, u64 true_ps);
u64 hwsim_local_now_ps(struct hwsim_timebase *tb);
u64 hwsim_true_of_ps(struct hwsim_timebase *tb, u64 local_ps);
void hwsim_set_ppb(struct hwsim_timebase *tb, s64 ppb);
struct hwsim_instant hwsim_phc_at(struct hwsim_timebase *tb, u64 local_ps);
u64 hwsim_phc_to_local_ps(struct hwsim_timebase *tb, s64 phc_ns);
void hwsim_phc_set_rate(struct hwsim_timebase *tb, s64 rate);
void hwsim_phc_step(struct hwsim_timebase *tb, s64 delta_ns);

/* ---- phc.c ---- */
int hwsim_phc_register(struct hwsim_timebase *tb, const char *name);
void hwsim_phc_unregister(struct hwsim_timebase *tb);

/* ---- stats.c ---- */

/* Counters of a port, in the order ethtool shows them. Those marked L are computed when read, from the ring model. */
#define HWSIM_COUNTERS(X)                                                                        \
	X(tx_frames)        /* real frames that left whole, with a good FCS */                   \
	X(tx_bytes)         /* their bytes, FCS included */                                      \
	X(tx_torn)          /* left with bytes other than those committed */                     \
	X(tx_bad_fcs)       /* left with a wrong FCS: fault, or sent so by its sender */         \
	X(tx_lost)          /* vanished on the wire: fault */                                    \
	X(tx_cut)           /* met a link that was down */                                       \
	X(tx_placeholders)  /* L: left the ring */                                               \
	X(tx_dropped)       /* never reached the wire: ring lent, too long, no memory, closed */ \
	X(tx_queue_drops)   /* bridge: egress queue full */                                      \
	X(tx_late_launches) /* fetched after their launch time */                                \
	X(tx_interrupts)    /* transmit completions */                                           \
	X(tx_underruns)     /* L: wire idle between slots */                                     \
	X(tx_idle_ns)       /* L */                                                              \
	X(tx_halts)         /* L: fetches that met a descriptor not re-armed */                  \
	X(tx_bell_errors)   /* L */                                                              \
	X(tx_paused)        /* L: slots held back by PAUSE */                                    \
	X(tx_paused_ns)     /* L */                                                              \
	X(rx_frames)        /* passed the FCS check */                                           \
	X(rx_bytes)         /* */                                                                \
	X(rx_fcs_errors)    /* L: failed the FCS check, placeholders included */                 \
	X(rx_torn)          /* of these: torn */                                                 \
	X(rx_placeholders)  /* L: of these: placeholders with a bad FCS */                       \
	X(rx_control)       /* L: placeholders with a good FCS, discarded by address or type */  \
	X(rx_dropped)       /* no memory, or nobody to take it */                                \
	X(rx_missed)        /* L: found the lent receive ring full */                            \
	X(rx_missed_frames) /* of these: real ones with a good FCS, in no other counter */       \
	X(rx_reserved)      /* bridge: to addresses no bridge forwards */                        \
	X(fault_stalls)                                                                          \
	X(fault_drifts)                                                                          \
	X(fault_flaps)                                                                           \
	X(fault_pauses)

enum hwsim_counter {
#define HWSIM_COUNTER_ENUM(name) HWSIM_##name,
	HWSIM_COUNTERS(HWSIM_COUNTER_ENUM)
#undef HWSIM_COUNTER_ENUM
		HWSIM_COUNTER_COUNT,
};

extern const char *const hwsim_counter_name[HWSIM_COUNTER_COUNT];

struct hwsim_port;
struct seq_file;

void hwsim_stats_read(struct hwsim_port *port, u64 *values);
void hwsim_stats_show(struct seq_file *file, struct hwsim_port *port);

/* ---- wire.c: frames on a wire ---- */

enum hwsim_verdict { HWSIM_GOOD, HWSIM_TORN, HWSIM_BAD_FCS, HWSIM_LOST, HWSIM_CUT };

/** enum hwsim_heard - a frame and the receive ring of the far end: not yet, not in it, in it, found it full */
enum hwsim_heard { HWSIM_UNHEARD, HWSIM_PASSED, HWSIM_PLACED, HWSIM_MISSED };

/**
 * struct hwsim_frame - one real frame, from a transmit queue to the far end
 * @skb: its bytes without FCS, a copy of its own
 * @original: what the stack gave, until the frame's start; NULL for a ring or a bridge
 * @seq: frame number of the port, or slot of the ring since its reset
 * @life: which life of the ring
 * @ready_ps: local time from which it may start; @launch: @txtime_ns holds it back too
 * @start_ps: local, first bit of the preamble
 * @sfd_true_ps, @end_true_ps: at the sender's end of the wire: reference plane (first bit after the SFD), end of the last bit
 * @frame_bytes: with FCS
 * @fcs_error: by which bits the FCS on the wire differs from the right one; 0: it is right
 * @heard: enum hwsim_heard; @place: in the receive ring
 */
struct hwsim_frame {
	struct list_head list;
	struct sk_buff *skb;
	struct sk_buff *original;
	u64 seq;
	u64 place;
	u64 ready_ps;
	u64 start_ps;
	u64 sfd_true_ps;
	u64 end_true_ps;
	s64 txtime_ns;
	u32 frame_bytes;
	u32 byte_ps;
	u32 fcs_error;
	u32 life;
	u8 queue;
	u8 verdict;
	u8 heard;
	bool launch;
};

/** struct hwsim_arrival - true times of a frame at the receiver: reference plane and end of the last bit */
struct hwsim_arrival {
	u64 sfd_true_ps;
	u64 end_true_ps;
};

/**
 * struct hwsim_port_ops - what stands behind a port
 * @advance: let local time pass: what starts until then is given to hwsim_wire_send(); port locked
 * @gather: have everything delivered here that has arrived until now, so that advance() knows it; port not locked, softirq; NULL
 *	where nothing that arrives is sent on
 * @next: local time of the next thing to happen, HWSIM_NEVER_PS if none; port locked
 * @placeholders: how many have left wholly until local time; NULL if it has none; port locked
 * @started: a frame of a transmit queue starts; NULL or called with port locked
 * @finish: after the wire was served, port not locked, softirq; may be NULL
 * @receive: takes the frame; port not locked, softirq
 * @carrier: link came or went; port not locked, any context; may be NULL
 */
struct hwsim_port_ops {
	void (*gather)(struct hwsim_port *port);
	void (*advance)(struct hwsim_port *port, u64 local_ps);
	u64 (*next)(struct hwsim_port *port);
	u64 (*placeholders)(struct hwsim_port *port, u64 local_ps);
	void (*started)(struct hwsim_port *port, struct hwsim_frame *frame);
	void (*finish)(struct hwsim_port *port);
	void (*receive)(struct hwsim_port *port, struct hwsim_frame *frame, const struct hwsim_arrival *arrival);
	void (*carrier)(struct hwsim_port *port, bool up);
};

struct hwsim_record;
struct hwsim_capture;
struct hwsim_rx_ring;

/**
 * struct hwsim_port - one end of a wire
 * @open: administratively up; @claimed_kind: enum kpn_placeholder of its ring
 * @propagation_ps: of the wire; @rx_latency_ps: from the last bit to the stack; @flight_ps: propagation and the peer's latency
 * @up: the direction away from here carries frames; last down time is [@down_from_ps, @down_until_ps), true time
 * @flap_until_ps: true time, 0 if no flap is on
 * @air: frames that have been started or latched, by start
 * @placeholders_base: those before it never arrived or stand in the peer's counters already
 * @lose_next, @corrupt_next: faults still to be dealt out
 * @rx: the receive ring, if there is one to lend: what the peer sent
 * @hear_from_ps: local; what started before does not get into the peer's receive ring
 * @record: of what left; @capture: its device while that is up, else NULL
 */
struct hwsim_port {
	spinlock_t lock; /* the port lock of the order above */
	const struct hwsim_port_ops *ops;
	struct hwsim_timebase *tb;
	struct hwsim_port __rcu *peer;
	char name[IFNAMSIZ + 4];
	u64 flight_ps;
	u64 propagation_ps;
	u64 rx_latency_ps;
	u64 rate_bps;
	u32 byte_ps;
	bool open;
	bool up;
	bool dead;
	u8 placeholder_kind;
	u64 down_from_ps;
	u64 down_until_ps;
	u64 flap_until_ps;
	struct list_head air;
	struct hrtimer timer;
	u64 armed_ps;
	u64 placeholders_base;
	u64 sent_seq;
	u32 lose_next;
	u32 corrupt_next;
	struct hwsim_rx_ring *rx;
	u64 hear_from_ps;
	struct hwsim_record *record;
	struct hwsim_capture *capture;
	atomic64_t counter[HWSIM_COUNTER_COUNT];
};

static inline void hwsim_count(struct hwsim_port *port, enum hwsim_counter counter, u64 value)
{
	atomic64_add(value, &port->counter[counter]);
}

void hwsim_port_init(struct hwsim_port *port, const struct hwsim_port_ops *ops, struct hwsim_timebase *tb,
		     u64 rate_bps);
void hwsim_port_kick(struct hwsim_port *port);
void hwsim_port_serve(struct hwsim_port *port);
void hwsim_port_close(struct hwsim_port *port);
void hwsim_wire_send(struct hwsim_port *port, struct hwsim_frame *frame);
u64 hwsim_frame_end_ps(const struct hwsim_frame *frame);
struct hwsim_frame *hwsim_frame_create(struct sk_buff *from, const u8 *data, u32 data_bytes);
void hwsim_frame_free(struct hwsim_frame *frame);

/* ---- link.c: which ports are joined, and whether the wire carries ---- */
int hwsim_link(struct hwsim_port *a, struct hwsim_port *b, u64 propagation_ps);
void hwsim_unlink(struct hwsim_port *port);
void hwsim_link_refresh(struct hwsim_port *port);
void hwsim_link_flap(struct hwsim_port *port, u64 duration_ps);
void hwsim_link_flap_over(struct hwsim_port *port);
void hwsim_link_settle(struct hwsim_port *port);
u64 hwsim_link_placeholders(struct hwsim_port *port, u8 *kind);

/* ---- mac.c: transmit queues and the decision which frame is next ---- */

/**
 * struct hwsim_mac - transmit queues of one port
 * @coming: frames that enter their queue when they are ready, by that time; what finds @queue_frames waiting is dropped
 * @strict: lowest queue number first; otherwise each in turn
 * @free_ps: local time from which the wire is free, gap included; @hold_ps: nothing starts before
 */
struct hwsim_mac {
	struct list_head queue[HWSIM_QUEUES];
	u32 waiting[HWSIM_QUEUES];
	struct list_head coming;
	u32 queue_frames;
	u32 turn;
	bool strict;
	u64 free_ps;
	u64 hold_ps;
};

void hwsim_mac_init(struct hwsim_mac *mac, bool strict);
void hwsim_mac_add(struct hwsim_mac *mac, struct hwsim_frame *frame);
void hwsim_mac_add_by_time(struct hwsim_mac *mac, struct hwsim_frame *frame);
u64 hwsim_mac_launch_ps(struct hwsim_port *port, const struct hwsim_frame *frame);
u64 hwsim_mac_next(struct hwsim_port *port, struct hwsim_mac *mac);
void hwsim_mac_advance(struct hwsim_port *port, struct hwsim_mac *mac, u64 local_ps);
void hwsim_mac_hold(struct hwsim_mac *mac, u64 from_ps, u64 duration_ps);
void hwsim_mac_take_all(struct hwsim_mac *mac, struct list_head *frames);

/* ---- record.c: what the wire saw ---- */
int hwsim_record_start(struct hwsim_port *port, u32 entries);
void hwsim_record_stop(struct hwsim_port *port);
void hwsim_record_frame(struct hwsim_port *port, const struct hwsim_frame *frame);
void hwsim_record_run(struct hwsim_port *port, u64 seq, u64 count, u64 start_local_ps, u64 pitch_ps, u32 frame_bytes);
void hwsim_record_mark(struct hwsim_port *port, const char *what, u64 count);
extern const struct file_operations hwsim_record_file;

/* ---- capture.c: the record as a network device ---- */
struct hwsim_nic;

int hwsim_capture_start(struct hwsim_nic *nic, u32 records, const char *name);
void hwsim_capture_stop(struct hwsim_nic *nic);
void hwsim_capture_frame(struct hwsim_capture *capture, const struct hwsim_frame *frame, u64 sfd_ps);
void hwsim_capture_run(struct hwsim_capture *capture, u64 count, u64 sfd_ps, u64 pitch_ps, u32 frame_bytes);
void hwsim_capture_forgotten(struct hwsim_capture *capture, u64 count);

/* ---- nic.c, transmit.c, ethtool.c ---- */

enum hwsim_mode { HWSIM_MODE_RING, HWSIM_MODE_ORDINARY, HWSIM_MODE_LAUNCHTIME };

/** struct hwsim_nic_params - as given to the control file; names and units as there */
struct hwsim_nic_params {
	u8 mode;
	u8 index_fetch;
	bool persistent;
	bool strict;
	u32 queues;
	u32 tx_ring;
	u32 prefetch;
	u32 claim_prefetch; /* what the ring's limits say instead; smaller is a lie */
	u32 fifo_bytes;
	u32 fetch_ns;
	u32 restart_ns_min;
	u32 restart_ns_max;
	u32 index_lag_ns_min;
	u32 index_lag_ns_max;
	u32 index_read_ns;
	u32 rx_ring;
	u32 rx_lag_ns_min;
	u32 rx_lag_ns_max;
	u32 coalesce_us;
	u32 coalesce_frames;
	u64 seed;
};

/** struct hwsim_node - a named object; @port: its first one */
struct hwsim_node {
	struct list_head list;
	char name[IFNAMSIZ];
	struct dentry *folder;
	struct net_device *dev; /* NULL: a bridge */
	struct hwsim_bridge *bridge;
};

struct hwsim_ring;

/**
 * struct hwsim_nic - private area of a net_device
 * @done: the stack's skbs whose frames have started, until the transmit interrupt; struct hwsim_done in their cb
 * @unfinished: per queue, skbs between xmit and transmit interrupt
 * @irq_ps: local time of the transmit interrupt
 * @launch_queues: bit per queue with etf offload
 * @claimed: the ring is lent; @ring: from the first claim on
 * @capture: its device, up or down, or NULL; hwsim_mutex
 */
struct hwsim_nic {
	struct hwsim_node node;
	struct hwsim_nic_params params;
	struct hwsim_port port;
	struct hwsim_mac mac;
	struct net_device *dev;
	struct sk_buff_head done;
	u32 unfinished[HWSIM_QUEUES];
	u64 irq_ps;
	u32 launch_queues;
	struct keepon_hwtstamp hwtstamp;
	bool claimed;
	struct hwsim_ring *ring;
	struct hwsim_capture *capture;
};

static inline struct hwsim_nic *hwsim_nic_of(struct hwsim_port *port)
{
	return container_of(port, struct hwsim_nic, port);
}

int hwsim_nic_create(const char *name, const struct hwsim_nic_params *params, u64 rate_bps, u32 rx_ns,
		     struct hwsim_timebase *tb, const u8 *mac, struct hwsim_nic **result);
void hwsim_nic_destroy(struct hwsim_nic *nic);
bool hwsim_nic_is(const struct net_device *dev);

netdev_tx_t hwsim_transmit(struct sk_buff *skb, struct net_device *dev);
void hwsim_transmit_started(struct hwsim_port *port, struct hwsim_frame *frame);
void hwsim_transmit_finish(struct hwsim_port *port);
void hwsim_transmit_flush(struct hwsim_nic *nic);
bool hwsim_transmit_drain(struct hwsim_nic *nic);
extern const struct ethtool_ops hwsim_ethtool_ops;
int hwsim_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config);
int hwsim_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config, struct netlink_ext_ack *extack);

/* ---- ring.c, native.c, ring_caps.c: the ring NIC of nicmodel/ ---- */
bool hwsim_ring_runs(const struct hwsim_nic *nic);
void hwsim_ring_advance(struct hwsim_nic *nic, u64 local_ps);
u64 hwsim_ring_next(struct hwsim_nic *nic);
u64 hwsim_ring_placeholders(struct hwsim_nic *nic, u64 local_ps);
void hwsim_ring_counters(struct hwsim_nic *nic, u64 *values);
void hwsim_ring_record(struct hwsim_nic *nic, u64 end_seq);
void hwsim_ring_record_now(struct hwsim_nic *nic);
void hwsim_ring_record_from_now(struct hwsim_nic *nic);
void hwsim_ring_recorded(struct hwsim_nic *nic, const struct hwsim_frame *frame);
int hwsim_ring_pause(struct hwsim_nic *nic, u64 duration_ps);
void hwsim_ring_abandon(struct hwsim_nic *nic);
void hwsim_ring_fini(struct hwsim_nic *nic);
void hwsim_ring_caps(const struct hwsim_nic *nic, struct kpn_nic_caps *caps);

/* ---- rx_ring.c, rx_native.c: the receive ring ---- */
int hwsim_rx_init(struct hwsim_nic *nic);
void hwsim_rx_fini(struct hwsim_nic *nic);
void hwsim_rx_hear(struct hwsim_port *port, u64 until_ps);
void hwsim_rx_pass(struct hwsim_port *port, u64 before_ps);
void hwsim_rx_unplug(struct hwsim_port *port);
bool hwsim_rx_deliver(struct hwsim_port *port, const struct hwsim_frame *frame, struct sk_buff *skb);
u64 hwsim_rx_missed(struct hwsim_port *port);
int hwsim_rx_query(struct net_device *dev, struct keepon_native_rx_caps *caps);
int hwsim_rx_claim(struct net_device *dev, struct keepon_native_rx *native);
void hwsim_rx_release(struct net_device *dev, struct keepon_native_rx *native);

/* ---- bridge.c ---- */
struct hwsim_bridge;

int hwsim_bridge_create(const char *name, u32 ports, u64 processing_ps, u64 rate_bps, s64 ppb, u32 queue_frames,
			struct hwsim_bridge **result);
void hwsim_bridge_destroy(struct hwsim_bridge *bridge);
struct hwsim_port *hwsim_bridge_port(struct hwsim_bridge *bridge, u32 port);
u32 hwsim_bridge_ports(const struct hwsim_bridge *bridge);

/* ---- fault.c ---- */
extern const struct file_operations hwsim_fault_file;

/* ---- arguments.c: one command line ---- */

enum { HWSIM_WORDS_MAX = 28 };

/** struct hwsim_words - a command split at blanks: @word without "=", and key=value pairs */
struct hwsim_words {
	const char *where;
	u32 count;
	u32 pairs;
	char *word[HWSIM_WORDS_MAX];
	char *key[HWSIM_WORDS_MAX];
	char *value[HWSIM_WORDS_MAX];
	bool used[HWSIM_WORDS_MAX];
};

int hwsim_words_split(struct hwsim_words *words, const char *where, char *line);
const char *hwsim_words_text(struct hwsim_words *words, const char *key);
int hwsim_words_number(struct hwsim_words *words, const char *key, s64 min, s64 max, s64 *value);
int hwsim_words_range(struct hwsim_words *words, const char *key, s64 max, u32 *low, u32 *high);
int hwsim_words_choice(struct hwsim_words *words, const char *key, const char *const *names, u8 *value);
int hwsim_words_all_used(struct hwsim_words *words);
int hwsim_number(const char *where, const char *key, const char *text, s64 min, s64 max, s64 *value);
ssize_t hwsim_lines(const char __user *from, size_t bytes, int (*command)(void *context, char *line), void *context);

/* ---- main.c, control.c ---- */
extern struct mutex hwsim_mutex;
extern struct dentry *hwsim_folder;

struct dentry *hwsim_control_init(void);
void hwsim_control_fini(void);

#endif
