// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the core itself says one call does at most, for a link over a NIC of keepon_hwsim with the
 * default parameters:
 *
 *	core_limits PERSISTENT RATE_BPS SLOT_BYTES RING BATCH DEPTH DUAL
 *
 * The limits of the NIC are written down here again, by docs/hwsim.md. Prints one line per limit,
 * named as netlink attributes are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "keepon/pacer.h"
#include "keepon/rx.h"

enum { ARGUMENTS = 7, PREFETCH = 4, RESTART_NS_MIN = 1000, RESTART_NS_MAX = 2000 };

static u64 cpu_ns(void *nic)
{
	(void)nic;
	return 0;
}

/* 65535 quanta of 64 bytes, and the thousandth by which oscillators may differ. */
static u32 pause_ns_max(u64 rate_bps)
{
	u64 ns = 65535ull * 64 * (8000000000000ull / rate_bps) / 1000;

	return (u32)(ns + ns / 1000 + 1);
}

/* A poll of the receive ring comes a batch after the last. */
static u32 rx_frames(const struct kpn_config *config)
{
	struct kpn_rx_config rx_config = {
		.rate_bps = config->rate_bps,
		.poll_ns = config->batch_slots * (config->slot_bytes + 20ull) *
			   (8000000000000ull / config->rate_bps) / 1000,
		.frame_bytes_max = 1522,
	};
	struct kpn_rx rx;

	kpn_rx_init(&rx, &rx_config);
	return kpn_rx_beat_limits(&rx).frames;
}

int main(int argc, char **argv)
{
	const struct kpn_nic_ops nic_ops = { .cpu_ns = cpu_ns };
	struct kpn_nic_caps caps = {
		.ring_slots_min = 8,
		.ring_slots_max = 4096,
		.ring_slots_multiple = 1,
		.reserved_slots = 1,
		.prefetch_slots_max = PREFETCH,
		.index_counts_done = true,
		.restart_ns_min = RESTART_NS_MIN,
		.restart_ns_max = RESTART_NS_MAX + RESTART_NS_MAX / 1000 + 1,
		.poll_ns_min = 5000,
		.start_quantum_bytes = 1,
		.placeholder_bytes_min = 64,
		.frame_bytes_max = 1522,
		.placeholder_kinds = 1 << KPN_PLACEHOLDER_BAD_FCS,
	};
	struct kpn_config config;
	struct kpn_limits limits;
	struct kpn_pacer *pacer;
	u64 number[ARGUMENTS];
	int i;

	if (argc != ARGUMENTS + 1)
		return 2;
	for (i = 0; i < ARGUMENTS; i++)
		number[i] = strtoull(argv[i + 1], NULL, 10);
	caps.desc_persistent = number[0];
	caps.pause_ns_max = pause_ns_max(number[1]);
	kpn_config_defaults(&config, &caps, number[1], (u32)number[2]);
	config.ring_slots = (u32)number[3];
	config.batch_slots = (u32)number[4];
	config.depth_slots = (u32)number[5];
	config.frame_bytes_max = 1522;
	/* As keepon.ko has it; there is no option for it. */
	config.budget_frames = config.batch_slots > 16 ? 2 * config.batch_slots : 32;
	pacer = kpn_pacer_init(malloc(kpn_pacer_bytes(&config)), &config, &caps, &nic_ops, NULL, 0);
	if (!pacer)
		return 1;
	limits = kpn_pacer_limits(pacer);
	printf("limit_frames %" PRIu32 "\nlimit_trims %" PRIu32 "\n", limits.frames, limits.trims);
	printf("limit_rearms %" PRIu32 "\nlimit_words %" PRIu32 "\n", limits.rearms, limits.words);
	printf("limit_stall_ns %" PRIu64 "\n", limits.stall_ns);
	printf("limit_rx_frames %" PRIu32 "\n", number[6] ? rx_frames(&config) : 0);
	return 0;
}
