/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * keepon_hwcheck.ko: what a lent ring does, as bare readings; `keepon hwcheck` draws conclusions.
 *
 *	main	the file in debugfs: one line starts a run, reading it gives the last one's records
 *	run	the run: restarts, a stream, frames written ever nearer to the wire, mixtures of
 *		fragments and placeholders
 */
#ifndef KEEPON_HWCHECK_H
#define KEEPON_HWCHECK_H

#include <linux/netdevice.h>

#include "keepon_native.h"

enum {
	HWCHECK_SAMPLES = 32768,
	HWCHECK_TRIALS = 512,
	HWCHECK_RESTARTS = 16,
	HWCHECK_FRAGMENTS = 4,
	HWCHECK_ROUNDS = 3, /* of all mixtures */
	HWCHECK_MIXTURES = HWCHECK_ROUNDS * ((1 << HWCHECK_FRAGMENTS) - 1),
};

/**
 * struct hwcheck_restart - a doorbell on an idle wire, and when the index was first seen to move
 */
struct hwcheck_restart {
	u64 bell_ns;
	u64 moved_ns;
};

/**
 * struct hwcheck_sample - a reading that found the index moved: when it was over, and how long
 * after the one before had begun: the index moved in that time
 */
struct hwcheck_sample {
	u64 at_ns;
	u64 since_ns;
	u64 index;
};

/** struct hwcheck_trial - a frame: when its commit had returned, index before and after, slot */
struct hwcheck_trial {
	u64 at_ns;
	u64 index;
	u64 slot;
	u64 after;
};

/**
 * struct hwcheck_mixture - descriptors of a frame in HWCHECK_FRAGMENTS
 * @number: in the frame; each fragment begins as a frame whose number is as much greater
 * @fresh: bit i: descriptor i is that of a fragment; the others are placeholders
 */
struct hwcheck_mixture {
	u32 number;
	u32 fresh;
};

/**
 * struct hwcheck - one run
 * @dev, @driver, @native, @caps: the ring and what its driver says
 * @ring_slots, @slot_bytes: of it
 * @head, @tail: index and end of what is posted, counted on
 * @asked_ns, @read_ns: begin and end of the last reading
 * @index: as it was read
 * @tick_ns: least step of the CPU's counter; @still: readings in a row that were equal
 * @begun_ns: doorbell of the stream; @sampling: slots last as long as they say, and are noted
 * @stream_slot: first slot of the stream
 */
struct hwcheck {
	struct net_device *dev;
	struct keepon_native_driver *driver;
	struct keepon_native native;
	struct keepon_native_caps caps;
	u32 ring_slots;
	u32 slot_bytes;
	u64 rate_bps;
	u64 head;
	u64 tail;
	u64 asked_ns;
	u64 read_ns;
	u32 index;
	u64 tick_ns;
	u32 still;
	u64 begun_ns;
	bool sampling;
	u64 stream_slot;
	u32 restarts;
	u32 samples;
	u32 trials;
	u32 mixtures;
	struct hwcheck_restart restart[HWCHECK_RESTARTS];
	struct hwcheck_sample sample[HWCHECK_SAMPLES];
	struct hwcheck_trial trial[HWCHECK_TRIALS];
	struct hwcheck_mixture mixture[HWCHECK_MIXTURES];
};

/** hwcheck_run() - claim, run, give back; RTNL, sleeps for seconds. Return: 0 or an error */
int hwcheck_run(struct hwcheck *h);

#endif
