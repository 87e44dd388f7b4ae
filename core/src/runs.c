// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* A ring of runs, the oldest of which makes room for the next. */
#include "keepon/runs.h"

#include "keepon/wire.h"

void kpn_runs_take(struct kpn_runs *runs, u64 place, u32 frames, u32 frame_bytes, u64 position_ps)
{
	struct kpn_run *last = &runs->run[runs->last];

	if (!runs->count || last->frame_bytes != frame_bytes) {
		runs->last = (runs->last + 1) % KPN_RUNS_MAX;
		runs->count += runs->count < KPN_RUNS_MAX;
		last = &runs->run[runs->last];
		*last = (struct kpn_run){ .place = place,
					  .position_ps = position_ps,
					  .frame_bytes = frame_bytes };
	}
	last->frames += frames;
}

/* The last run that begins at or before @place; there is one. */
static const struct kpn_run *run_with(const struct kpn_runs *runs, u64 place)
{
	u32 age_min = 0;
	u32 age_max = runs->count - 1;

	while (age_min < age_max) {
		u32 age = (age_min + age_max) / 2;

		if (runs->run[(runs->last - age) % KPN_RUNS_MAX].place <= place)
			age_max = age;
		else
			age_min = age + 1;
	}
	return &runs->run[(runs->last - age_min) % KPN_RUNS_MAX];
}

bool kpn_runs_find(const struct kpn_runs *runs, u64 place, u32 frame_bytes, u32 byte_ps,
		   u64 *position_ps)
{
	const struct kpn_run *run;

	if (!runs->count)
		return false;
	run = run_with(runs, place);
	if (place < run->place || place - run->place >= run->frames ||
	    run->frame_bytes != frame_bytes)
		return false;
	*position_ps =
		run->position_ps + (place - run->place) * kpn_wire_bytes(frame_bytes) * byte_ps;
	return true;
}
