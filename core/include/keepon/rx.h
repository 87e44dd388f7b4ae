/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The receive ring as a clock (KeepON paper section 4.2, D7-D16). A peer that keeps its wire
 * saturated sends a ruler: every frame, placeholders included, is a mark whose place on the peer's
 * wire is known to the byte. The index of the receive ring says where that wire is now, as on the
 * transmit side: a strip (`observe`). This file knows neither PHC time nor the transmit ring.
 *
 * The driver walks its receive ring anyway, to drop placeholders. After a long pause the ring is
 * full, and the time for one walk would have no bound. So the driver walks in beats. A beat reads
 * the index and calls kpn_rx_show() unless frames are left; then it calls kpn_rx_take() for at most
 * kpn_rx_due() frames, in the order of arrival, and then kpn_rx_conclude(). A caller without time
 * limit takes all frames of a reading at once and calls kpn_rx_observe(). A NIC that drops frames
 * with a bad FCS by itself cannot be such a clock (D14, D15).
 */
#ifndef KPN_RX_H
#define KPN_RX_H

#include "keepon/observe.h"

/**
 * struct kpn_rx_config - how far the readings can be trusted
 * @rate_bps: link rate; must divide 8e12
 * @drift_ppb_max: bound on |CPU rate / rate of the peer's NIC - 1|, at most 1e6
 * @wander_ppb_per_s_max: bound on the change of that rate, at most 1e6
 * @poll_ns: usual time between two readings
 * @lag_ns_min, @lag_ns_max: from the last bit of a frame until the index counts the frame, in CPU
 *	time; 0 to 1e6, in this order
 * @cpu_tick_ns: resolution of the CPU counter, rounded up, as in struct kpn_nic_caps; 0 means 1
 * @frame_bytes_max: longest frame the peer sends, FCS included; a peer silent for longer has
 *	stopped
 */
struct kpn_rx_config {
	u64 rate_bps;
	u32 drift_ppb_max;
	u32 wander_ppb_per_s_max;
	u64 poll_ns;
	u32 lag_ns_min;
	u32 lag_ns_max;
	u32 cpu_tick_ns;
	u32 frame_bytes_max;
};

/**
 * struct kpn_rx - the peer's wire as seen by the receive ring
 * @strip: position of that wire; invalid before the first frame, and from a stop until the next
 *	frame
 * @head_ps: where the next frame to be received starts, modulo 2^64
 * @head_seq: frames received
 * @steady_ps: since this position the peer's wire cannot have been idle; at most 2^60 before the
 *	head
 * @readings: readings of the index; @stops: of those, contradicted by an idle wire or lost frames
 * @first_end_ps: end of the first frame taken since the last reading
 * @open_ns: CPU time at which the frame after those of the last reading had not ended
 * @taken: frames taken since the last reading
 * @left: frames of the last reading still to be taken; @before_ns, @after_ns: CPU time around it
 * @budget_frames: frames that one beat may take
 * @gap: frames are missing among or after those of this reading
 */
struct kpn_rx {
	struct kpn_strip strip;
	u64 head_ps;
	u64 head_seq;
	u64 steady_ps;
	u64 readings;
	u64 stops;
	u64 first_end_ps;
	u64 open_ns;
	u64 taken;
	u64 left;
	u64 before_ns;
	u64 after_ns;
	u64 lag_lower_ps;
	u64 longest_ps;
	u32 lag_ns_max;
	u32 byte_ps;
	u32 gap_ps;
	u32 sfd_ps;
	u32 budget_frames;
	bool gap;
};

/**
 * kpn_rx_problem() - the first field of @config outside its range, as text that names the field;
 * NULL if there is none
 */
const char *kpn_rx_problem(const struct kpn_rx_config *config);

/** kpn_rx_init() - nothing received yet; @config is valid */
void kpn_rx_init(struct kpn_rx *rx, const struct kpn_rx_config *config);

/**
 * kpn_rx_take() - the next frame of the ring
 * @frame_bytes: as on the wire, FCS included
 *
 * Return: position of its reference plane on the peer's wire, which kpn_dual_stamp() turns into PHC
 * time.
 */
static inline u64 kpn_rx_take(struct kpn_rx *rx, u32 frame_bytes)
{
	u64 start_ps = rx->head_ps;

	rx->head_ps = start_ps + (u64)rx->sfd_ps + (u64)frame_bytes * rx->byte_ps + rx->gap_ps;
	rx->head_seq++;
	rx->left -= rx->left > 0;
	if (!rx->taken++)
		rx->first_end_ps = rx->head_ps - rx->gap_ps;
	return start_ps + rx->sfd_ps;
}

/**
 * kpn_rx_observe() - the frames taken since the last call are the frames of one reading of the
 * index
 * @before_ns, @after_ns: CPU time before and after the reading of the index
 *
 * Return: true; false if the reading contradicts earlier ones: the peer's wire was idle, frames are
 * missing, or a stated bound is wrong. The contradiction is counted, and the strip begins again with
 * this reading.
 */
bool kpn_rx_observe(struct kpn_rx *rx, u64 before_ns, u64 after_ns);

/**
 * struct kpn_rx_limits - the most work of one beat, whatever arrived; computed from the
 * configuration. The next beats do the rest
 * @frames: twice the frames that can arrive between two beats, so that the rest never grows
 */
struct kpn_rx_limits {
	u32 frames;
};

struct kpn_rx_limits kpn_rx_beat_limits(const struct kpn_rx *rx);

/**
 * kpn_rx_show() - a reading of the index shows @frames that were not taken yet; no frames of the
 * last reading are left
 * @before_ns, @after_ns: CPU time before and after the reading
 */
void kpn_rx_show(struct kpn_rx *rx, u64 frames, u64 before_ns, u64 after_ns);

/** kpn_rx_due() - number of the frames shown that this beat has to take */
u32 kpn_rx_due(const struct kpn_rx *rx);

/**
 * kpn_rx_lost() - frames were lost for lack of room in the ring: some are missing among or after
 * those shown
 */
void kpn_rx_lost(struct kpn_rx *rx);

/**
 * kpn_rx_conclude() - the end of a beat
 *
 * A reading is observed when the last of its frames is taken: only then is it known where the next
 * frame begins. Return: whether that has happened.
 */
bool kpn_rx_conclude(struct kpn_rx *rx);

#endif
