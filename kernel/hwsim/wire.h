/* SPDX-License-Identifier: GPL-2.0-only */
/* port.c, link.c, wire.c, stats.c: ports, and frames on the wires between them. */
#ifndef KEEPON_HWSIM_WIRE_H
#define KEEPON_HWSIM_WIRE_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "clock.h"
#include "frame.h"

/*
 * Counters of a port, in the order ethtool shows them. Those marked L are computed when read, from
 * the ring model.
 */
#define HWSIM_COUNTERS(X)                                                                        \
	X(tx_frames)        /* real frames that left whole, with a good FCS */                   \
	X(tx_bytes)         /* their bytes, FCS included */                                      \
	X(tx_torn)          /* of these: with bytes other than those committed */                \
	X(tx_bad_fcs)       /* left with a wrong FCS: fault, or sent so by its sender */         \
	X(tx_lost)          /* vanished on the wire: fault */                                    \
	X(tx_cut)           /* met a link that was down */                                       \
	X(tx_unseen)        /* L: left the ring, and there was no memory to carry it further */  \
	X(tx_placeholders)  /* L: left the ring */                                               \
	X(tx_dropped)       /* never reached the wire: ring lent, too long, no memory, closed */ \
	X(tx_queue_drops)   /* bridge: egress queue full */                                      \
	X(tx_late_launches) /* fetched after their launch time */                                \
	X(tx_interrupts)    /* transmit completions */                                           \
	X(tx_underruns)     /* L: wire idle between slots */                                     \
	X(tx_idle_ns)       /* L */                                                              \
	X(tx_halts)         /* L: fetches that met a descriptor not re-armed */                  \
	X(tx_clobbered)     /* L: fetches that met a descriptor re-armed without its length */   \
	X(tx_stale)         /* L: of tx_frames: with bytes that were not written back */         \
	X(tx_bell_errors)   /* L */                                                              \
	X(tx_paused)        /* L: slots held back by PAUSE */                                    \
	X(tx_paused_ns)     /* L */                                                              \
	X(rx_frames)        /* passed the FCS check */                                           \
	X(rx_bytes)         /* */                                                                \
	X(rx_torn)          /* of rx_frames: torn */                                             \
	X(rx_fcs_errors)    /* L: failed the FCS check, placeholders included */                 \
	X(rx_placeholders)  /* L: of these: placeholders with a bad FCS */                       \
	X(rx_control)       /* L: placeholders with a good FCS, discarded by address or type */  \
	X(rx_pauses)        /* of rx_frames: PAUSE that was obeyed, for the MAC alone */         \
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

/**
 * struct hwsim_arrival - true times of a frame at the receiver: reference plane and end of the last
 * bit
 */
struct hwsim_arrival {
	u64 sfd_true_ps;
	u64 end_true_ps;
};

/**
 * struct hwsim_port_ops - what stands behind a port
 * @advance: let local time pass: what starts until then is given to hwsim_port_send(); port locked
 * @gather: have everything delivered here that has arrived until now, so that advance() knows it;
 *	port not locked, softirq; NULL
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
	void (*receive)(struct hwsim_port *port, struct hwsim_frame *frame,
			const struct hwsim_arrival *arrival);
	void (*carrier)(struct hwsim_port *port, bool up);
};

struct hwsim_record;
struct hwsim_capture;
struct hwsim_rx_ring;

/**
 * struct hwsim_port - one end of a wire
 * @open: administratively up; @removed: the NIC is not in its socket any more
 * @placeholder_kind: enum kpn_placeholder of its ring
 * @propagation_ps: of the wire; @rx_latency_ps: from the last bit to the stack; @flight_ps:
 *	propagation and the peer's latency
 * @up: the direction away from here carries frames; last down time is [@down_from_ps,
 * @down_until_ps), true time
 * @flap_until_ps: true time, 0 if no flap is on
 * @air: frames that have been started or latched, by start
 * @dropped: frames that found their queue full, until they are freed without the lock
 * @placeholders_base: those before it never arrived or stand in the peer's counters already
 * @lose_next, @corrupt_next: faults still to be dealt out
 * @rx: the receive ring, if there is one to lend: what the peer sent
 * @rx_from_ps: local; what started before does not get into the peer's receive ring
 * @record: of what left; @capture: its device while that is up, else NULL
 */
struct hwsim_port {
	raw_spinlock_t lock; /* the port lock of hwsim.h */
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
	bool removed;
	bool up;
	bool dead;
	u8 placeholder_kind;
	u64 down_from_ps;
	u64 down_until_ps;
	u64 flap_until_ps;
	struct list_head air;
	struct list_head dropped;
	struct hrtimer timer;
	struct irq_work kick;
	u64 armed_ps;
	u64 placeholders_base;
	u64 sent_seq;
	u32 lose_next;
	u32 corrupt_next;
	struct hwsim_rx_ring *rx;
	u64 rx_from_ps;
	struct hwsim_record *record;
	struct hwsim_capture *capture;
	atomic64_t counter[HWSIM_COUNTER_COUNT];
};

static inline void hwsim_count(struct hwsim_port *port, enum hwsim_counter counter, u64 value)
{
	atomic64_add(value, &port->counter[counter]);
}

/* ---- port.c: what all may ask of a port ---- */
u64 hwsim_port_arrival_ps(const struct hwsim_port *port, const struct hwsim_frame *frame);
void hwsim_port_send(struct hwsim_port *port, struct hwsim_frame *frame);
void hwsim_port_kick(struct hwsim_port *port);
void hwsim_port_kick_soon(struct hwsim_port *port);

/* ---- wire.c: time passes on it ---- */
void hwsim_port_init(struct hwsim_port *port, const struct hwsim_port_ops *ops,
		     struct hwsim_timebase *tb, u64 rate_bps);
void hwsim_port_serve(struct hwsim_port *port);
void hwsim_port_close(struct hwsim_port *port);

/* ---- link.c: which ports are joined, and whether the wire carries ---- */
int hwsim_link(struct hwsim_port *a, struct hwsim_port *b, u64 propagation_ps);
void hwsim_unlink(struct hwsim_port *port);
void hwsim_link_refresh(struct hwsim_port *port);
void hwsim_link_flap(struct hwsim_port *port, u64 duration_ps);
void hwsim_link_flap_over(struct hwsim_port *port);
void hwsim_link_settle(struct hwsim_port *port);
u64 hwsim_link_placeholders(struct hwsim_port *port, u8 *kind);

#endif
