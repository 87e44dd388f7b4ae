/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * defaults: what they are, and that they are valid wherever anything is: at every rate, for slots
 * of every length, whatever interval polls must keep.
 */
#include "keepon/config.h"

#include "keepon/wire.h"

#include "limited_backend.h"
#include "selftest.h"

/* Slot 0 is open to no class, so that it can be trimmed. */
static const u16 masks[8] = { 0, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff };

static void test_defaults_values(struct kpn_selftest *t)
{
	struct kpn_nic_caps caps = backend;
	struct kpn_config config;
	u32 tc;

	kpn_config_defaults(&config, &caps, 1000000000, 1230);
	KPN_EXPECT_EQ(t, config.rate_bps, 1000000000);
	KPN_EXPECT_EQ(t, config.slot_bytes, 1230);
	KPN_EXPECT_EQ(t, config.ring_slots, 256);
	KPN_EXPECT_EQ(t, config.partition_slots, 1);
	KPN_EXPECT_EQ(t, config.allowed[0], 0xffff);
	KPN_EXPECT_EQ(t, config.batch_slots, 8);
	KPN_EXPECT_EQ(t, config.depth_slots, 64);
	KPN_EXPECT_EQ(t, config.trim_down_bytes, 8);
	KPN_EXPECT_EQ(t, config.trim_up_bytes, 8);
	KPN_EXPECT_EQ(t, config.prebuffer_frames, 256);
	KPN_EXPECT_EQ(t, config.budget_frames, 32);
	KPN_EXPECT_EQ(t, config.horizon_ns, 10000000000ull);
	KPN_EXPECT_EQ(t, config.tolerance_ns, 8);
	KPN_EXPECT_EQ(t, config.drift_ppb_max, 200000);
	KPN_EXPECT_EQ(t, config.wander_ppb_per_s_max, 1000);
	KPN_EXPECT_EQ(t, config.poll_overhead_ns, 0);
	KPN_EXPECT_EQ(t, config.seed, 1);
	KPN_EXPECT_EQ(t, config.mode, KPN_MODE_PHASE_LOCKED);
	KPN_EXPECT_EQ(t, config.clock_read, KPN_CLOCK_INTERPOLATED);
	KPN_EXPECT_EQ(t, config.placeholder, KPN_PLACEHOLDER_BAD_FCS);
	KPN_EXPECT_EQ(t, config.trim, KPN_TRIM_ANY);
	KPN_EXPECT_EQ(t, config.padding, KPN_PADDING_DEFERRED);
	KPN_EXPECT(t, config.dither);
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		KPN_EXPECT_EQ(t, config.classes[tc].late, KPN_LATE_STRICT);
		KPN_EXPECT_EQ(t, config.classes[tc].rounding, KPN_ROUND_UP);
	}

	/* short slots: less trim, then only reserved slots are trimmed */
	kpn_config_defaults(&config, &caps, 2500000000ull, 70);
	KPN_EXPECT_EQ(t, config.trim_down_bytes, 6);
	KPN_EXPECT_EQ(t, config.trim, KPN_TRIM_ANY);
	KPN_EXPECT_EQ(t, config.tolerance_ns, 4); /* 3.2 ns */
	kpn_config_defaults(&config, &caps, 2500000000ull, 64);
	KPN_EXPECT_EQ(t, config.trim, KPN_TRIM_RESERVED);
	KPN_EXPECT_EQ(t, config.trim_down_bytes, 8);
	/* a quantum of 5, and no frame longer than the slot */
	caps.start_quantum_bytes = 5;
	caps.frame_bytes_max = 1232;
	kpn_config_defaults(&config, &caps, 1000000000, 1230);
	KPN_EXPECT_EQ(t, config.trim_down_bytes, 5);
	KPN_EXPECT_EQ(t, config.trim_up_bytes, 0);
	/* a coarse quantum */
	caps.start_quantum_bytes = 32;
	kpn_config_defaults(&config, &caps, 1000000000, 1000);
	KPN_EXPECT_EQ(t, config.trim_down_bytes, 32);
	KPN_EXPECT_EQ(t, config.trim_up_bytes, 32);
	/* byte times below a nanosecond */
	caps = backend;
	kpn_config_defaults(&config, &caps, 100000000000ull, 1230);
	KPN_EXPECT_EQ(t, config.tolerance_ns, 1);
	/* rings as near to 256 as the backend has them, and little posted in a small one */
	caps.ring_slots_multiple = 100;
	kpn_config_defaults(&config, &caps, 1000000000, 1230);
	KPN_EXPECT_EQ(t, config.ring_slots, 300);
	caps.ring_slots_multiple = 110;
	kpn_config_defaults(&config, &caps, 1000000000, 1230);
	KPN_EXPECT_EQ(t, config.ring_slots, 220);
	caps = backend;
	caps.ring_slots_max = 16;
	kpn_config_defaults(&config, &caps, 1000000000, 1230);
	KPN_EXPECT_EQ(t, config.ring_slots, 16);
	KPN_EXPECT_EQ(t, config.depth_slots, 15);
	KPN_EXPECT_EQ(t, config.batch_slots, 8);
	caps.prefetch_slots_max = 12;
	kpn_config_defaults(&config, &caps, 1000000000, 1230);
	KPN_EXPECT_EQ(t, config.depth_slots, 15);
	KPN_EXPECT_EQ(t, config.batch_slots, 8);
	caps = backend;
	caps.ring_slots_min = 512;
	kpn_config_defaults(&config, &caps, 1000000000, 1230);
	KPN_EXPECT_EQ(t, config.ring_slots, 512);
	/* a backend without bad-FCS placeholders */
	caps.placeholder_kinds = 1u << KPN_PLACEHOLDER_RESERVED_ADDRESS;
	kpn_config_defaults(&config, &caps, 1000000000, 1230);
	KPN_EXPECT_EQ(t, config.placeholder, KPN_PLACEHOLDER_RESERVED_ADDRESS);
}

/*
 * Defaults are valid for every rate and length; where only reserved slots can be trimmed, once
 * there is one.
 */
static void test_defaults_valid(struct kpn_selftest *t)
{
	static const u64 rates[] = {
		10000000,       100000000,      1000000000,     2500000000ull,  5000000000ull,
		10000000000ull, 25000000000ull, 40000000000ull, 50000000000ull, 100000000000ull,
	};
	static const u32 quanta[] = { 1, 2, 8 };
	u32 rate;
	u32 quantum;
	u32 slot_bytes;

	for (rate = 0; rate < KPN_COUNT_OF(rates); rate++) {
		for (quantum = 0; quantum < KPN_COUNT_OF(quanta); quantum++) {
			for (slot_bytes = 64; slot_bytes <= 1522; slot_bytes++) {
				struct kpn_nic_caps caps = backend;
				struct kpn_problem problem = { 0 };
				struct kpn_config config;

				caps.start_quantum_bytes = quanta[quantum];
				kpn_config_defaults(&config, &caps, rates[rate], slot_bytes);
				KPN_EXPECT_EQ(t, config.trim == KPN_TRIM_RESERVED,
					      slot_bytes < 64 + quanta[quantum]);
				if (config.trim == KPN_TRIM_RESERVED) {
					KPN_EXPECT_EQ(
						t, kpn_config_validate(&config, &caps, &problem, 1),
						1);
					KPN_EXPECT_TEXT(t, problem.field, "allowed");
					config.allowed = masks;
				}
				KPN_EXPECT_EQ(t, kpn_config_validate(&config, &caps, &problem, 1),
					      0);
			}
		}
	}
}

/*
 * Whatever interval polls must keep: the defaults have a batch that does, as short as that allows,
 * wherever a ring of the backend has room for one. Otherwise it is the slots that are too short.
 */
static void defaults_sustain_polls(struct kpn_selftest *t, const struct kpn_nic_caps *caps,
				   u64 rate_bps, u32 slot_bytes)
{
	u64 slot_ps = (u64)kpn_byte_time_ps(rate_bps) * kpn_wire_bytes(slot_bytes);
	u64 posted = caps->ring_slots_max / caps->ring_slots_multiple * caps->ring_slots_multiple -
		     caps->reserved_slots;
	u64 poll_ps = (u64)caps->poll_ns_min * 1000;
	struct kpn_problem problem = { 0 };
	struct kpn_config config;
	u32 count;

	kpn_config_defaults(&config, caps, rate_bps, slot_bytes);
	if (config.trim == KPN_TRIM_RESERVED)
		config.allowed = masks;
	config.partition_slots = config.trim == KPN_TRIM_RESERVED ? 8 : 1;
	count = kpn_config_validate(&config, caps, &problem, 1);
	if (posted * slot_ps < poll_ps) {
		KPN_EXPECT_EQ(t, count, 1);
		KPN_EXPECT_TEXT(t, problem.field, "slot_bytes");
		return;
	}
	/* four slots beside the shortest interval between polls, and 1 % that trims can take */
	if (posted * slot_ps * 99 <
	    100 * ((poll_ps > 200000 ? poll_ps : 200000) + 4 * ((slot_ps + 999) / 1000 * 1000))) {
		KPN_EXPECT_EQ(t, count, 1);
		KPN_EXPECT_TEXT(t, problem.field, "slot_bytes");
		return;
	}
	KPN_EXPECT_EQ(t, count, 0);
	KPN_EXPECT(t, config.batch_slots * slot_ps >= poll_ps);
	KPN_EXPECT(t, config.batch_slots == 8 || (config.batch_slots - 1) * slot_ps < poll_ps);
	KPN_EXPECT(t, config.depth_slots >= 4 * config.batch_slots ||
			      config.depth_slots == config.ring_slots - caps->reserved_slots);
	KPN_EXPECT_EQ(t, kpn_config_batch_least(caps, rate_bps, slot_bytes, 0),
		      poll_ps ? (poll_ps + slot_ps - 1) / slot_ps : 1);
}

static void test_defaults_sustain_polls(struct kpn_selftest *t)
{
	static const u64 rates[] = {
		10000000,       100000000,      1000000000,     2500000000ull,  5000000000ull,
		10000000000ull, 25000000000ull, 40000000000ull, 50000000000ull, 100000000000ull,
	};
	static const u32 poll_ns[] = { 0, 1, 999, 5000, 12345, 50000, 100000, 1000000, 10000000 };
	static const u32 rings[][2] = { { 4096, 1 }, { 1024, 8 }, { 72, 8 }, { 300, 100 } };
	u32 rate;
	u32 poll;
	u32 ring;
	u32 slot_bytes;

	for (rate = 0; rate < KPN_COUNT_OF(rates); rate++) {
		for (poll = 0; poll < KPN_COUNT_OF(poll_ns); poll++) {
			for (ring = 0; ring < KPN_COUNT_OF(rings); ring++) {
				struct kpn_nic_caps caps = backend;

				caps.poll_ns_min = poll_ns[poll];
				caps.ring_slots_max = rings[ring][0];
				caps.ring_slots_multiple = rings[ring][1];
				for (slot_bytes = 64; slot_bytes <= 1522; slot_bytes += 27)
					defaults_sustain_polls(t, &caps, rates[rate], slot_bytes);
			}
		}
	}
}

void kpn_test_defaults(struct kpn_selftest *t)
{
	test_defaults_values(t);
	test_defaults_valid(t);
	test_defaults_sustain_polls(t);
}
