/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual standard NICs joined by wires: what all rooms of keepon_hwsim.ko share. Each room has a
 * header of its own name.
 *
 * Three kinds of time, all u64 picoseconds: "true" time is CLOCK_MONOTONIC_RAW since the module was
 * loaded; "local" time is that of the oscillator of a NIC or bridge; the PHC ticks from local time.
 * Everything on a wire is computed from these, never from when the CPU came by: a timer that fires
 * late delivers late, but stamps and wire times stay exact.
 *
 * Locks, outer first: hwsim_mutex (objects come and go) > RTNL > link lock > port lock > receive
 * ring lock, timebase lock. The last three are raw: a ring that is lent is served under its owner's
 * raw lock, in hard interrupt context, on PREEMPT_RT too. So nothing is allocated, freed or
 * delivered under them; frames of a ring come from a pool that the port's timer fills again, in
 * softirq. Other ports' peers are reached under RCU.
 */
#ifndef KEEPON_HWSIM_H
#define KEEPON_HWSIM_H

#include <linux/types.h>

#define HWSIM_NAME "keepon_hwsim"
#define HWSIM_NEVER_PS U64_MAX

enum {
	HWSIM_QUEUES = 8,
	HWSIM_PORTS_MAX = 16,
	HWSIM_PREAMBLE_BYTES = 8,
	HWSIM_GAP_BYTES = 12,
	HWSIM_FCS_BYTES = 4,
	HWSIM_FRAME_BYTES_MIN = 64,
	HWSIM_FRAME_BYTES_MAX = 1522,
	HWSIM_INDEX_MODULUS = 65536, /* as the consumer index of Broadcom GENET */
};

#endif
