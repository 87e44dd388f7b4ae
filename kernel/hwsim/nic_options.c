// SPDX-License-Identifier: GPL-2.0-only
/* Options of `nic` in the control file (docs/hwsim.md): defaults, ranges, contradictions. */
#include <linux/etherdevice.h>
#include <linux/math64.h>

#include "control.h"
#include "nic.h"

/* NICs made since loading: seeds differ. */
static u32 nic_count;

/** struct number - an option that is a number; @at: its u32 in struct hwsim_nic_params */
struct number {
	const char *key;
	u32 min;
	u32 max;
	size_t at;
};

#define NUMBER(name, min, max)                                           \
	{                                                                \
#name, min, max, offsetof(struct hwsim_nic_params, name) \
	}

static const struct number numbers[] = {
	NUMBER(queues, 1, HWSIM_QUEUES),  NUMBER(tx_ring, HWSIM_TX_RING_MIN, HWSIM_TX_RING_MAX),
	NUMBER(claim_prefetch, 0, 1024),  NUMBER(fifo_bytes, 0, 1 << 24),
	NUMBER(fetch_ns, 1, 1000000),     NUMBER(index_read_ns, 0, 100000),
	NUMBER(rx_ring, 0, 4096),         NUMBER(coalesce_us, 0, 1000000),
	NUMBER(coalesce_frames, 1, 4096), NUMBER(rx_ns, 0, 1000000),
	NUMBER(eee_wake_ns, 0, 1000000),  NUMBER(fragments, 1, KPN_SPAN_SLOTS_MAX),
};

/** struct flag - an option that is 0 or 1; @at: its bool in struct hwsim_nic_params */
struct flag {
	const char *key;
	size_t at;
};

#define FLAG(name)                                             \
	{                                                      \
#name, offsetof(struct hwsim_nic_params, name) \
	}

static const struct flag flags[] = {
	FLAG(persistent), FLAG(clobbers), FLAG(rearm_shadow), FLAG(coherent), FLAG(flow_control),
};

static int take_numbers(struct hwsim_words *words, struct hwsim_nic_params *p)
{
	u32 i;
	int err = hwsim_words_u32(words, "prefetch", 0, 1024, &p->prefetch);

	p->claim_prefetch = p->prefetch;
	for (i = 0; !err && i < ARRAY_SIZE(numbers); i++)
		err = hwsim_words_u32(words, numbers[i].key, numbers[i].min, numbers[i].max,
				      (u32 *)((char *)p + numbers[i].at));
	if (!err)
		err = hwsim_words_range(words, "restart_ns", 4000000, &p->restart_ns_min,
					&p->restart_ns_max);
	if (!err)
		err = hwsim_words_range(words, "index_lag_ns", 4000000, &p->index_lag_ns_min,
					&p->index_lag_ns_max);
	if (!err)
		err = hwsim_words_range(words, "rx_lag_ns", 900000, &p->rx_lag_ns_min,
					&p->rx_lag_ns_max);
	return err;
}

static int take_flags(struct hwsim_words *words, struct hwsim_nic_params *p)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < ARRAY_SIZE(flags); i++) {
		bool *flag = (bool *)((char *)p + flags[i].at);
		u32 value = *flag;

		err = hwsim_words_u32(words, flags[i].key, 0, 1, &value);
		*flag = value;
	}
	return err;
}

static int take_choices(struct hwsim_words *words, struct hwsim_nic_params *p)
{
	static const char *const modes[] = { "ring", "ordinary", "launchtime", NULL };
	static const char *const indices[] = { "done", "fetch", NULL };
	static const char *const policies[] = { "turns", "strict", NULL };
	static const char *const ticks[] = { "1", "18.5", NULL };
	int err = hwsim_words_choice(words, "mode", modes, &p->mode);

	p->strict = p->mode == HWSIM_MODE_LAUNCHTIME; /* queue 0 first, as the i210 does */
	if (!err)
		err = hwsim_words_choice(words, "index", indices, &p->index_fetch);
	if (!err)
		err = hwsim_words_choice(words, "policy", policies, &p->strict);
	if (!err)
		err = hwsim_words_choice(words, "cpu_tick_ns", ticks, &p->cpu_ticks_coarse);
	return err;
}

static int contradiction(const struct hwsim_words *words, const struct hwsim_nic_params *p)
{
	if (p->restart_ns_min < p->fetch_ns) {
		complain(
			words->where,
			"restart_ns=%u is shorter than fetch_ns=%u; a frame cannot start unfetched",
			p->restart_ns_min, p->fetch_ns);
		return -EINVAL;
	}
	if (p->fifo_bytes && p->fifo_bytes < HWSIM_FRAME_BYTES_MAX) {
		complain(words->where,
			 "fifo_bytes=%u holds no longest frame; use 0 (no limit) or at least %d",
			 p->fifo_bytes, HWSIM_FRAME_BYTES_MAX);
		return -EINVAL;
	}
	if (p->clobbers && p->persistent) {
		complain(
			words->where,
			"clobbers=1 needs descriptors that are written back; say persistent=0, too");
		return -EINVAL;
	}
	return 0;
}

/** hwsim_words_rate() - rate_bps=, of which a byte lasts whole picoseconds */
int hwsim_words_rate(struct hwsim_words *words, u64 *rate_bps)
{
	s64 rate = 1000000000;
	int err = hwsim_words_number(words, "rate_bps", 10000000, 100000000000ll, &rate);

	if (!err && 8000000000000ull % rate) {
		complain(
			words->where,
			"rate_bps=%lld has no byte time of whole picoseconds; use a divisor of 8e12",
			rate);
		return -EINVAL;
	}
	*rate_bps = rate;
	return err;
}

/* From the seed: a locally administered address, different for every seed. */
static int address_of(struct hwsim_words *words, u64 seed, u8 *mac)
{
	const char *text = hwsim_words_text(words, "mac");
	u64 mixed = (seed ^ seed >> 31) * 0x9e3779b97f4a7c15ull;

	mac[0] = 0x02;
	mac[1] = 0x4b; /* "K" */
	mac[2] = (u8)(mixed >> 56);
	mac[3] = (u8)(mixed >> 48);
	mac[4] = (u8)(seed >> 8);
	mac[5] = (u8)seed;
	if (text && (!mac_pton(text, mac) || !is_valid_ether_addr(mac))) {
		complain(words->where, "mac=%s is no unicast address like 02:00:00:00:00:01", text);
		return -EINVAL;
	}
	return 0;
}

/** hwsim_nic_options() - all of @words that describe a NIC; -EINVAL after a sentence in the log */
int hwsim_nic_options(struct hwsim_words *words, struct hwsim_nic_params *p)
{
	s64 seed = ++nic_count;
	int err;

	*p = (struct hwsim_nic_params){
		.persistent = true,
		.rearm_shadow = true,
		.coherent = true,
		.queues = 4,
		.fragments = 1,
		.tx_ring = 256,
		.prefetch = 4,
		.fetch_ns = 800,
		.restart_ns_min = 1000,
		.restart_ns_max = 2000,
		.rx_ring = 1024,
		.coalesce_us = 50,
		.coalesce_frames = 8,
		.rx_ns = 500,
	};
	err = take_choices(words, p);
	if (!err)
		err = take_numbers(words, p);
	if (!err)
		err = take_flags(words, p);
	if (!err)
		err = hwsim_words_number(words, "seed", 0, S64_MAX, &seed);
	p->seed = seed;
	if (!err)
		err = contradiction(words, p);
	if (!err)
		err = hwsim_words_rate(words, &p->rate_bps);
	if (!err)
		err = address_of(words, p->seed, p->mac);
	return err;
}
