// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the wire take its time? The driver is kept full of placeholders, and each that comes back is
 * noted. A wire gives them back as fast as its rate allows; a device that only copies them, or lets
 * go of them before they have left, is much faster.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "generic.h"

enum {
	/* Long enough for a hundredth of it to be more than interrupts are late. */
	MEASURED_NS = 40 * NSEC_PER_MSEC,
	FRAMES_MIN = 64,
	/* With the driver: more than it gives back at once. */
	WINDOW_NS = 2 * NSEC_PER_MSEC,
	WINDOW_MIN = 16,
	WINDOW_MAX = 1024,
	/* A wire half as fast as it says is waited for; then its frames are to come back. */
	PATIENCE = 2,
	BACK_MS = 200,
	/* More than a controller's memory takes to leave, at any rate but the slowest. */
	FIFO_US = 5000,
};

static void begin(struct generic_meter *meter, u64 slot_ps, u32 frames)
{
	*meter = (struct generic_meter){
		.slot_ps = slot_ps,
		.frames = frames,
		.early_ns = { S64_MAX, S64_MAX, S64_MAX, S64_MAX },
		.late_ns = S64_MIN,
	};
	raw_spin_lock_init(&meter->lock);
}

/* One stream, until all of it is back or it takes too long. Return: 0 or -ENOMEM */
static int send(struct generic_pump *pump, struct generic_meter *meter)
{
	u64 line_us = div_u64(meter->frames * meter->slot_ps, 1000000);
	int error = generic_pump_begin(pump, meter);
	u64 end_ns;

	if (error)
		return error;
	/* the tasklet runs when they are enabled */
	local_bh_disable();
	pump->tail = meter->frames;
	meter->begun_ns = ktime_get_raw_fast_ns();
	end_ns = meter->begun_ns + (PATIENCE * line_us + 1000 * BACK_MS) * 1000;
	generic_pump_kick(pump);
	local_bh_enable();
	while (generic_pump_done(pump) < meter->frames && ktime_get_raw_fast_ns() < end_ns) {
		usleep_range(1000, 2000);
		/* it may have been out of memory, or refused */
		generic_pump_kick(pump);
	}
	generic_pump_wait(pump, BACK_MS);
	generic_pump_end(pump);
	/* what came back early leaves now */
	fsleep(FIFO_US);
	return 0;
}

/*
 * Frames come back in bursts, as interrupts are late. The earliest of a quarter has waited for
 * none, so from the second quarter to the last its distance from the wire tells the pace.
 */
static void evaluate(const struct generic_meter *meter, struct generic_measured *measured)
{
	s64 early_ns = S64_MAX;
	u32 i;

	measured->frames = meter->frames / 2;
	measured->back = meter->count;
	measured->line_ns = div_u64(measured->frames * meter->slot_ps, 1000);
	if (meter->count < meter->frames)
		return;
	for (i = 0; i < GENERIC_QUARTERS; i++)
		early_ns = min(early_ns, meter->early_ns[i]);
	measured->taken_ns =
		measured->line_ns + meter->early_ns[GENERIC_QUARTERS - 1] - meter->early_ns[1];
	measured->late_ns = max(meter->late_ns, 0ll);
	measured->early_ns = max(-early_ns, 0ll);
}

int generic_measure(struct net_device *dev, u32 slot_bytes, u64 rate_bps,
		    struct generic_measured *measured)
{
	u64 slot_ps = generic_slot_ps(slot_bytes, rate_bps);
	u32 frames = max_t(u32, div64_u64(MEASURED_NS * 1000ull, slot_ps), FRAMES_MIN);
	struct generic_meter *meter = kmalloc(sizeof(*meter), GFP_KERNEL);
	struct generic_pump *pump =
		generic_pump_make(dev, generic_placeholder(dev), slot_bytes, rate_bps);
	int error = -ENOMEM;

	if (!meter || !pump)
		goto free;
	*measured = (struct generic_measured){ .slot_bytes = slot_bytes, .rate_bps = rate_bps };
	pump->window =
		clamp_t(u64, div64_u64(WINDOW_NS * 1000ull, slot_ps), WINDOW_MIN, WINDOW_MAX);
	begin(meter, slot_ps, 1);
	error = send(pump, meter);
	if (error)
		goto free;
	if (meter->count)
		measured->alone_ns = meter->last_ns - meter->begun_ns;
	begin(meter, slot_ps, frames);
	error = send(pump, meter);
	if (!error)
		evaluate(meter, measured);
free:
	generic_pump_free(pump);
	kfree(meter);
	return error;
}
