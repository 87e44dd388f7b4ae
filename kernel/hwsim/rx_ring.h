/* SPDX-License-Identifier: GPL-2.0-only */
/* rx_ring.c, rx_native.c: the receive ring of a NIC, what arrives in it and how it is lent. */
#ifndef KEEPON_HWSIM_RX_RING_H
#define KEEPON_HWSIM_RX_RING_H

#include "nic.h"

/**
 * struct hwsim_rx_run - equally long frames back to back; the last bit of the first ended at
 * @end_ps, sender's time
 */
struct hwsim_rx_run {
	u64 end_ps;
	u64 pitch_ps;
	u32 frames;
	u32 frame_bytes;
};

/**
 * struct hwsim_rx_ring - frames in the order of arrival; everything under @lock, which is taken
 * last
 * @runs: @run_count of them from @run_first on, wrapping at @room; NULL while the ring is not lent
 * @room: frames it holds
 * @held: frames in @runs
 * @arrived: frames ever held: the place of the next one
 * @shown: of these the index has counted so many
 * @due: and so many whatever its lag: the stack was given the frame, or the wire it came by is gone
 * @missed: frames that found it full
 * @draws: reads of the index so far
 */
struct hwsim_rx_ring {
	raw_spinlock_t lock; /* everything below */
	struct hwsim_rx_run *runs;
	u32 room;
	u32 run_first;
	u32 run_count;
	u32 held;
	u64 arrived;
	u64 shown;
	u64 due;
	u64 missed;
	u64 draws;
};

static inline struct hwsim_rx_run *hwsim_rx_run_at(const struct hwsim_rx_ring *rx, u32 number)
{
	u32 at = rx->run_first + number;

	return &rx->runs[at < rx->room ? at : at - rx->room];
}

int hwsim_rx_init(struct hwsim_nic *nic);
void hwsim_rx_fini(struct hwsim_nic *nic);
void hwsim_rx_collect(struct hwsim_port *port, u64 until_ps);
void hwsim_rx_skip(struct hwsim_port *port, u64 before_ps);
void hwsim_rx_unplug(struct hwsim_port *port);
bool hwsim_rx_deliver(struct hwsim_port *port, const struct hwsim_frame *frame, bool *lent,
		      u64 *place);
u64 hwsim_rx_missed(struct hwsim_port *port);
bool hwsim_rx_lent(const struct hwsim_nic *nic);
int hwsim_rx_query(struct net_device *dev, struct keepon_native_rx_caps *caps);
int hwsim_rx_claim(struct net_device *dev, struct keepon_native_rx *native);
void hwsim_rx_release(struct net_device *dev, struct keepon_native_rx *native);

#endif
