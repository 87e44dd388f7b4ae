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
	/* So long that a slot is a small part of what a link bears, if it is none of 10 Mb/s. */
	MEASURED_NS = 500 * NSEC_PER_MSEC,
	/* What only copies, or is a tenth off, is found out before it costs the CPU so long. */
	GLANCE_NS = 20 * NSEC_PER_MSEC,
	FAR_OFF = 10,
	FRAMES_MIN = 64,
	/* The pace is that from the second part to the last. */
	PACE_PARTS = GENERIC_PARTS - 2,
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
	u32 i;

	*meter = (struct generic_meter){
		.slot_ps = slot_ps,
		.frames = frames,
		.late_ns = S64_MIN,
	};
	for (i = 0; i < GENERIC_PARTS; i++)
		meter->early_ns[i] = S64_MAX;
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
 * How far the earliest frames of the parts are from a line through the second and the last. Each
 * was held up by less than a slot, or the one behind it had been back too; by how much may change
 * with the pace of the clock that interrupts come by, along the line and unseen.
 */
static u64 unsure_ns(const struct generic_meter *meter)
{
	s64 slope_ns = meter->early_ns[GENERIC_PARTS - 1] - meter->early_ns[1];
	s64 least_ns = 0;
	s64 most_ns = 0;
	u32 i;

	for (i = 2; i < GENERIC_PARTS - 1; i++) {
		s64 off_ns = meter->early_ns[i] - meter->early_ns[1] -
			     div_s64(slope_ns * (i - 1), PACE_PARTS);

		least_ns = min(least_ns, off_ns);
		most_ns = max(most_ns, off_ns);
	}
	/* a wire that stood still just before the last part is 13/14 of that off the line */
	return (u64)(most_ns - least_ns) * 9 / 8 + div_u64(meter->slot_ps, 1000);
}

/*
 * Frames come back in bursts, as interrupts are late. The earliest of a part has waited for
 * none, so from the second part to the last its distance from the wire tells the pace.
 */
static void evaluate(const struct generic_meter *meter, struct generic_measured *measured)
{
	s64 early_ns = min(meter->early_ns[0], meter->early_ns[1]);

	measured->frames = meter->frames / GENERIC_PARTS * PACE_PARTS;
	measured->back = meter->count;
	measured->line_ns = div_u64(measured->frames * meter->slot_ps, 1000);
	if (meter->count < meter->frames)
		return;
	measured->taken_ns =
		measured->line_ns + meter->early_ns[GENERIC_PARTS - 1] - meter->early_ns[1];
	measured->unsure_ns = unsure_ns(meter);
	measured->late_ns = max(meter->late_ns, 0ll);
	measured->early_ns = max(-early_ns, 0ll);
}

static bool is_far_off(const struct generic_measured *measured)
{
	u64 off_ns = measured->taken_ns > measured->line_ns ?
			     measured->taken_ns - measured->line_ns :
			     measured->line_ns - measured->taken_ns;

	return !measured->taken_ns || off_ns > measured->line_ns / FAR_OFF + measured->unsure_ns;
}

/* A glance, and a long look at what stands it. Return: 0 or -ENOMEM */
static int look(struct generic_pump *pump, struct generic_meter *meter, u64 slot_ps,
		struct generic_measured *measured)
{
	static const u64 length_ns[] = { GLANCE_NS, MEASURED_NS };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(length_ns); i++) {
		u64 frames = max_t(u64, div64_u64(length_ns[i] * 1000, slot_ps), FRAMES_MIN);
		int error;

		measured->taken_ns = 0;
		begin(meter, slot_ps, roundup((u32)frames, GENERIC_PARTS));
		error = send(pump, meter);
		if (error)
			return error;
		evaluate(meter, measured);
		if (is_far_off(measured))
			break;
	}
	return 0;
}

int generic_measure(struct net_device *dev, u32 slot_bytes, u64 rate_bps,
		    struct generic_measured *measured)
{
	u64 slot_ps = generic_slot_ps(slot_bytes, rate_bps);
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
	error = look(pump, meter, slot_ps, measured);
free:
	generic_pump_free(pump);
	kfree(meter);
	return error;
}
