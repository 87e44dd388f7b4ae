/* SPDX-License-Identifier: GPL-2.0-only */
/* mac.c: transmit queues and the decision which frame is next. */
#ifndef KEEPON_HWSIM_MAC_H
#define KEEPON_HWSIM_MAC_H

#include "wire.h"

/**
 * struct hwsim_mac - transmit queues of one port
 * @coming: frames that enter their queue when they are ready, by that time; what finds
 * @queue_frames waiting is dropped
 * @strict: lowest queue number first; otherwise each in turn
 * @free_ps: local time from which the wire is free, gap included; @hold_ps: nothing starts before
 * @wake_ps: that a wire which was idle takes to wake up
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
	u64 wake_ps;
};

void hwsim_mac_init(struct hwsim_mac *mac, bool strict);
void hwsim_mac_add(struct hwsim_mac *mac, struct hwsim_frame *frame);
void hwsim_mac_add_by_time(struct hwsim_mac *mac, struct hwsim_frame *frame);
u64 hwsim_mac_launch_ps(struct hwsim_port *port, const struct hwsim_frame *frame);
u64 hwsim_mac_next(struct hwsim_port *port, struct hwsim_mac *mac);
void hwsim_mac_advance(struct hwsim_port *port, struct hwsim_mac *mac, u64 local_ps);
void hwsim_mac_hold(struct hwsim_mac *mac, u64 from_ps, u64 duration_ps);
void hwsim_mac_take_all(struct hwsim_mac *mac, struct list_head *frames);

#endif
