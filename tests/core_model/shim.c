// SPDX-License-Identifier: BSD-3-Clause
/* What is done to the rig of a shim, and what may be asked beside the report. */
#include <stdlib.h>

#include "shim.h"

struct rig *shim_rig(struct shim *shim)
{
	return &shim->rig;
}

const char *shim_violation(const struct shim *shim)
{
	return shim->rig.violation;
}

u64 shim_hash(const struct shim *shim)
{
	return shim->rig.hash;
}

/*
 * Bytes of the buffer a frame of descriptor @desc_idx is written to, up to the last that is not
 * zero.
 */
u64 shim_used_bytes(struct shim *shim, u32 desc_idx)
{
	const struct fake_params *params = &shim->rig.nic.params;
	const u8 *buffer =
		shim->rig.nic.buffers + (size_t)desc_idx * ((params->buffer_bytes + 7) & ~7u);
	u64 used = params->buffer_bytes;

	while (used && !buffer[used - 1])
		used--;
	return used;
}

/* NIC and pacer as new, not started; false if the pacer refuses. */
bool shim_reset(struct shim *shim, s64 start_time_ns)
{
	return rig_reset(&shim->rig, &shim->caps, start_time_ns);
}

void shim_start(struct shim *shim)
{
	rig_start_again(&shim->rig);
}

void shim_violate_assumptions(struct shim *shim)
{
	shim->rig.assumptions_hold = false;
}

void shim_drift(struct shim *shim, s32 drift_ppb, u32 wander_ppb_per_s)
{
	fake_nic_drift(&shim->rig.nic, drift_ppb, wander_ppb_per_s);
}

/* Another partition from a slot on; the tables stay until they are replaced in turn. */
int shim_set_partition(struct shim *shim, const u16 *allowed, u32 slots, u64 at_net_slot)
{
	/* while a switch is still to come two tables are in use, of three */
	struct table *table = shim->tables;

	while (table->allowed && (table->allowed == shim->rig.table[0].allowed ||
				  table->allowed == shim->rig.table[1].allowed))
		table++;
	free(table->planes);
	free(table->allowed);
	table->planes = malloc(kpn_partition_bytes(slots));
	table->allowed = malloc(slots * sizeof(*allowed));
	if (!table->planes || !table->allowed)
		abort();
	memcpy(table->allowed, allowed, slots * sizeof(*allowed));
	kpn_partition_init(&table->partition, table->planes, allowed, slots);
	return rig_set_partition(&shim->rig, &table->partition, table->allowed, at_net_slot);
}

int shim_set_credit(struct shim *shim, u8 tc, u64 idle_slope_bps, u32 high_bytes)
{
	return kpn_pacer_set_credit(shim->rig.pacer, tc, idle_slope_bps, high_bytes);
}

/* The card is pulled, or its index stands still from now on. */
void shim_fail(struct shim *shim, bool gone)
{
	shim->rig.nic.gone = gone;
	shim->rig.nic.frozen = !gone;
	shim->rig.assumptions_hold = false;
}

/* Time until the next poll by the rule of the pacer, as NIC time at equal rates. */
u64 shim_poll_interval_ps(struct shim *shim)
{
	return kpn_pacer_poll_interval_ns(shim->rig.pacer) * 1000;
}

int shim_settime(struct shim *shim, s64 ns, u32 frac)
{
	return rig_settime(&shim->rig, (struct kpn_time){ ns, frac });
}

void shim_clock_at(struct shim *shim, u64 position_ps, u64 *values)
{
	struct kpn_time t = kpn_clock_at(kpn_pacer_clock(shim->rig.pacer), position_ps);

	values[0] = (u64)t.ns;
	values[1] = t.frac;
}

u64 shim_position_at(struct shim *shim, s64 ns, u32 frac)
{
	return kpn_clock_position_at(kpn_pacer_clock(shim->rig.pacer),
				     (struct kpn_time){ ns, frac });
}

void shim_bounds(struct shim *shim, u32 rate_ppb, u32 rate_change_ppb, u64 *values)
{
	struct kpn_bounds bounds = kpn_pacer_bounds(shim->rig.pacer, rate_ppb, rate_change_ppb);

	values[0] = bounds.boundary_error_ps;
	values[1] = bounds.span_ns;
	values[2] = bounds.lock_ns;
	values[3] = bounds.lock_slots;
}
