/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Where the latest frames arrived, as runs of equally long frames: one entry describes a run. A
 * peer whose clock is not steered sends slots of one length for as long as it runs, so a run may
 * last as long.
 */
#ifndef KPN_RUNS_H
#define KPN_RUNS_H

#include "kpn_platform.h"

enum { KPN_RUNS_MAX = 1024 };

/**
 * struct kpn_run - equally long frames that arrived one after the other
 * @place: number of the first among all that arrived
 * @frames: how many
 * @position_ps: reference plane of the first on the peer's wire, modulo 2^64
 * @frame_bytes: of each, FCS included
 */
struct kpn_run {
	u64 place;
	u64 frames;
	u64 position_ps;
	u32 frame_bytes;
};

/**
 * struct kpn_runs - the latest runs; all zero: none yet
 * @count: runs remembered; @last: index in @run of the youngest
 */
struct kpn_runs {
	u32 count;
	u32 last;
	struct kpn_run run[KPN_RUNS_MAX];
};

/**
 * kpn_runs_take() - @frames of @frame_bytes each have arrived, right after those of the last call
 * @place: of the first; @position_ps: of its reference plane
 */
void kpn_runs_take(struct kpn_runs *runs, u64 place, u32 frames, u32 frame_bytes, u64 position_ps);

/**
 * kpn_runs_find() - position of the frame at @place
 * @position_ps: receives the position of its reference plane
 *
 * Return: false if the frame is not remembered, or has another length.
 */
bool kpn_runs_find(const struct kpn_runs *runs, u64 place, u32 frame_bytes, u32 byte_ps,
		   u64 *position_ps);

#endif
