// SPDX-License-Identifier: GPL-2.0-only
/*
 * When slots have left: when their frames came back. On a device that does not pace, and that
 * the user insists on, each slot takes its time on the CPU's counter as well. It then leaves up to
 * a window early, but clock and index agree, and the CPU has time for others.
 */
#include <linux/ktime.h>

#include "generic.h"

static u64 now_ps(void)
{
	return ktime_get_raw_fast_ns() * 1000;
}

static u64 slot_ps(const struct generic_pump *pump, u64 seq)
{
	return kpn_wire_bytes(pump->slots[generic_idx(pump, seq)].frame_bytes) * pump->byte_ps;
}

u32 generic_pump_done(const struct generic_pump *pump)
{
	u32 packets = pump->flight ? (u32)atomic_read(&pump->flight->done) : 0;

	/* the end of a packet is stored before the count that includes it */
	smp_rmb();
	return pump->ends ? READ_ONCE(pump->ends[(packets - 1) & pump->ends_mask]) : packets;
}

u32 generic_pace_left_locked(struct generic_pump *pump)
{
	u32 done = generic_pump_done(pump);
	u64 now;

	if (!pump->paced_here)
		return done;
	now = now_ps();
	while ((u32)pump->left != done) {
		u64 end_ps = pump->left_ps + slot_ps(pump, pump->left);

		if ((s64)(end_ps - now) > 0)
			break;
		pump->left_ps = end_ps;
		pump->left++;
	}
	return (u32)pump->left;
}

void generic_pace_begin_locked(struct generic_pump *pump)
{
	if (pump->paced_here)
		pump->left_ps = now_ps();
}
