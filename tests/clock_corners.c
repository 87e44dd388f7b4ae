// SPDX-License-Identifier: BSD-3-Clause
/*
 * Asks the core's clock law at instants that a test gives, one per line:
 *   anchor_ps start_ns scaled_ppm span_ps steps
 * The clock starts at start_ns at anchor_ps with that adjustment and is anchored again after each of
 * `steps` spans but the last. Answers: ns frac position, the time after the last span and the wire
 * position that the law gives for it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "keepon/clock.h"

int main(void)
{
	uint64_t anchor_ps;
	uint64_t span_ps;
	uint64_t steps;
	int64_t start_ns;
	int64_t scaled_ppm;

	while (scanf("%" SCNu64 " %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64, &anchor_ps,
		     &start_ns, &scaled_ppm, &span_ps, &steps) == 5) {
		struct kpn_clock clock;
		struct kpn_time time;
		u64 position_ps = anchor_ps;
		uint64_t step;

		kpn_clock_init(&clock, position_ps, (struct kpn_time){ start_ns, 0 });
		if (kpn_clock_adjfine(&clock, scaled_ppm, position_ps))
			return 1;
		for (step = 1; step < steps; step++) {
			position_ps += span_ps;
			kpn_clock_reanchor(&clock, position_ps);
		}
		position_ps += span_ps;
		time = kpn_clock_at(&clock, position_ps);
		printf("%" PRId64 " %" PRIu32 " %" PRIu64 "\n", (int64_t)time.ns, time.frac,
		       (uint64_t)kpn_clock_position_at(&clock, time));
	}
	return 0;
}
