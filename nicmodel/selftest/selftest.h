/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the ring NIC share: counting, a NIC, and what its sinks saw. */
#ifndef NICMODEL_SELFTEST_H
#define NICMODEL_SELFTEST_H

#include <stdio.h>

#include "slow_nic.h"

enum { BUFFER_BYTES = 256, NOMINAL_BYTES = 100 };

#define EXPECT(condition)                                                              \
	do {                                                                           \
		if (condition) {                                                       \
			passed++;                                                      \
		} else if (failed++ < 50) {                                            \
			printf("%s:%d: round %d: %s\n", __FILE__, __LINE__, now_round, \
			       #condition);                                            \
		}                                                                      \
	} while (0)

/* What the sinks saw since make(). */
struct seen {
	struct ring_nic_frame frame[SLOW_SEQ_MAX];
	uint8_t first_byte[SLOW_SEQ_MAX];
	uint64_t digest[SLOW_SEQ_MAX];
	uint64_t frames;
	uint64_t idle_ps;
	uint64_t idles;
};

extern uint64_t passed;
extern uint64_t failed;
extern int now_round;
extern uint8_t buffers[RING_NIC_SLOTS_MAX * BUFFER_BYTES];
extern uint8_t device_buffers[RING_NIC_SLOTS_MAX * BUFFER_BYTES];
extern struct seen seen;

struct ring_nic_params base_params(void);

/* A NIC with zeroed buffers of which nothing was seen yet; to be freed. */
struct ring_nic *make(const struct ring_nic_params *params);

void lazy_and_exact_models_agree(void);
void frames_of_fragments(void);

#endif
