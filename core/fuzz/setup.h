/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * How the fuzz target reads an input: SETUP_BYTES choose a configuration and a NIC, then every
 * RECORD_BYTES are one operation, so that a changed byte changes one choice and a record that is
 * added or taken away leaves all others as they are.
 */
#ifndef KPN_FUZZ_SETUP_H
#define KPN_FUZZ_SETUP_H

#include "fake_nic.h"
#include "keepon/pacer.h"

enum {
	SETUP_BYTES = 40,
	RECORD_BYTES = 6,
	FUZZ_PARTITION_SLOTS_MAX = 64,
	FUZZ_PLANE_WORDS = 4 * KPN_PARTITION_PLANES,
};

/** struct bytes - what is left of an input; beyond its end everything is 0 */
struct bytes {
	const u8 *at;
	const u8 *end;
};

static inline u32 take(struct bytes *bytes, u32 count)
{
	u32 value = 0;

	while (count--)
		value = value << 8 | (bytes->at != bytes->end ? *bytes->at++ : 0);
	return value;
}

static inline u32 take_in(struct bytes *bytes, u32 min, u32 max)
{
	u32 span = max - min + 1;

	return min + take(bytes, span > 0x100 ? 2 : 1) % span;
}

/**
 * struct setup - everything one input chooses before the first operation
 * @half: which of @partition, made from @others or @allowed, was switched to last
 * @calm: bits; the more there are, the fewer operations disturb clock, wire and NIC
 * @start_position_ps: wire position of the first slot; near 2^64 positions wrap soon
 */
struct setup {
	struct kpn_config config;
	struct fake_params params;
	struct kpn_nic_caps caps;
	u16 allowed[FUZZ_PARTITION_SLOTS_MAX];
	u16 others[FUZZ_PARTITION_SLOTS_MAX];
	struct kpn_partition partition[2];
	u64 planes[2][FUZZ_PLANE_WORDS];
	u32 calm;
	bool half;
	s64 start_time_ns;
	u64 start_position_ps;
	u64 slot_ps;
};

/** fuzz_choose() - read the configuration; nearly every input gives a valid one */
void fuzz_choose(struct setup *setup, struct bytes *bytes);

#endif
