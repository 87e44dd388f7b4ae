/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Two rings, one clock (KeepON paper section 4.2): the transmit ring (`pacer`) and the receive ring
 * (`rx`) of a NIC whose peer keeps its wire saturated, too. Two ways to merge them:
 *
 * KPN_MERGE_PUBLISHED, the paper's (D10, D11): two staircases, whose readings are averaged; a clock
 * that lags by more than 2 tau is set to the other one. Two crystals drive the clocks under one
 * rate adjustment, so the clocks diverge at the difference of the rates and are pulled together in
 * steps: that is why this merge converges slowly (docs/time.md).
 *
 * KPN_MERGE_STRIP, ours: the time is that of the transmit ring's strip. The receive ring does not
 * vote on the time. It says where on the peer's wire a received frame was, and both strips together
 * say where the own wire was at that moment. There are no steps to converge from.
 */
#ifndef KPN_DUAL_H
#define KPN_DUAL_H

#include "keepon/pacer.h"
#include "keepon/rx.h"

enum kpn_merge {
	KPN_MERGE_STRIP,
	KPN_MERGE_PUBLISHED,
};

/**
 * kpn_merge_tau_ns() - default of tau (D30): the lag of a staircase, at most a batch and the slot
 * on the wire; rounded up
 */
u64 kpn_merge_tau_ns(const struct kpn_config *config);

/**
 * kpn_merge_published() - the paper's merged time of two readings (D10, D11)
 * @tau_ns: worst-case lag of either
 *
 * With a divergence above 2 tau: the greater reading. Otherwise [max + min(tx + tau, rx + tau)] /
 * 2, which is the mean plus tau / 2; so the result jumps by tau / 2 where the divergence passes 2
 * tau. Half a 2^-32 ns is rounded down.
 */
struct kpn_time kpn_merge_published(struct kpn_time tx, struct kpn_time rx, u64 tau_ns);

/**
 * struct kpn_dual - both rings; the caller serialises calls on either and on this
 * @rx_clock: published merge: the law of the second clock
 * @tau_ns: published merge
 * @tx_set, @rx_set: how often a lagging clock was set to the leading one
 * @merge: enum kpn_merge
 * @started: the second clock was set to the first
 */
struct kpn_dual {
	struct kpn_pacer *pacer;
	struct kpn_rx *rx;
	struct kpn_clock rx_clock;
	u64 tau_ns;
	u64 tx_set;
	u64 rx_set;
	u8 merge;
	bool started;
};

/**
 * kpn_dual_init() - both rings exist; the second clock starts with the first frame received
 * @pacer: reads its clock as KPN_CLOCK_INTERPOLATED for KPN_MERGE_STRIP, as KPN_CLOCK_COUNTER for
 *	KPN_MERGE_PUBLISHED
 * @tau_ns: kpn_merge_tau_ns() or chosen, 1 to 1e9
 */
void kpn_dual_init(struct kpn_dual *dual, struct kpn_pacer *pacer, struct kpn_rx *rx,
		   enum kpn_merge merge, u64 tau_ns);

/** kpn_dual_gettime() - merged time at CPU time @cpu_ns, not before the last poll; read-only */
struct kpn_time kpn_dual_gettime(const struct kpn_dual *dual, u64 cpu_ns);

/**
 * kpn_dual_correct() - published merge: set a clock that lags too far to the other one
 *
 * Call it after every poll of either ring, but not while frames shown by the receive ring are still
 * to be taken.
 */
void kpn_dual_correct(struct kpn_dual *dual, u64 cpu_ns);

/**
 * struct kpn_rx_stamp - when a received frame was at the reference plane
 * @time: PHC time, by the law now in force
 * @error_ps: greatest error of @time; 0 for the published merge, which does not know it
 * @valid: false while the position of either wire is unknown, while the own wire may be idle
 *	because polls have stopped, and for frames from before the last possible idle time of either
 *	wire
 */
struct kpn_rx_stamp {
	struct kpn_time time;
	u64 error_ps;
	bool valid;
};

/**
 * kpn_dual_stamp() - PHC time of a received frame
 * @position_ps: what kpn_rx_take() returned for it
 * @cpu_ns: now, not before the last poll of either ring, and at most half a second after the frame
 */
struct kpn_rx_stamp kpn_dual_stamp(const struct kpn_dual *dual, u64 position_ps, u64 cpu_ns);

/** kpn_dual_adjfine() - kpn_pacer_adjfine() for both clocks */
int kpn_dual_adjfine(struct kpn_dual *dual, s64 scaled_ppm);

/** kpn_dual_adjtime() - kpn_pacer_adjtime() for both clocks */
int kpn_dual_adjtime(struct kpn_dual *dual, s64 delta_ns);

/** kpn_dual_settime() - set the merged time to @t */
int kpn_dual_settime(struct kpn_dual *dual, struct kpn_time t);

#endif
