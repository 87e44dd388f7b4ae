/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The rig's device taken down and up again, as a driver does it (ndo_stop, ndo_open):
 * kpn_pacer_stop(); the NIC is halted and reset, wherever it is; kpn_pacer_init() on the same
 * memory with the time of day carried over; kpn_pacer_start(). Time, oscillators and the ids of
 * frames go on, so that whatever returned from before would be seen.
 */
#ifndef KPN_RIG_RESTART_H
#define KPN_RIG_RESTART_H

#include "pacer_rig.h"

/**
 * rig_reset() - NIC and pacer of a stopped rig as new; not started
 * @caps: as given to rig_init()
 * @start_time_ns: PHC time of the first slot
 *
 * Frames are forgotten; a byte of one that reaches the wire later is a byte of no frame. Return:
 * false if the pacer refused.
 */
static inline bool rig_reset(struct rig *rig, const struct kpn_nic_caps *caps, s64 start_time_ns)
{
	const struct rig last = *rig;

	if (!rig_init(rig, last.frames, &last.config, caps, &last.nic.params, last.frame_count,
		      start_time_ns, &last.log))
		return false;
	rig->nic.now_ps = last.nic.now_ps;
	rig->nic.cpu_ps = last.nic.cpu_ps;
	rig->nic.cpu_rest = last.nic.cpu_rest;
	rig->nic.drift_ppt = last.nic.drift_ppt;
	rig->nic.drift_goal_ppt = last.nic.drift_goal_ppt;
	rig->nic.ramp_ppt = last.nic.ramp_ppt;
	rig->nic.ramp_ps = last.nic.ramp_ps;
	rig->nic.random = last.nic.random;
	memcpy(rig->fifo_order, last.fifo_order, sizeof(rig->fifo_order));
	memcpy(rig->events, last.events, sizeof(rig->events));
	rig->next_id = last.next_id;
	rig->hash = last.hash;
	rig->calls = last.calls;
	rig->stopped = true;
	rig->assumptions_hold = last.assumptions_hold;
	rig->violation = last.violation;
	if (!rig->violation && last.held)
		rig->violation = "frames are held while the device is reset";
	return true;
}

/** rig_start_again() - rig_start(), also after rig_reset() */
static inline void rig_start_again(struct rig *rig)
{
	rig->stopped = false;
	rig_start(rig);
}

#endif
