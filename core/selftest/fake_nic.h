/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * An exact ring NIC and its wire for tests of the core, as hostile as its stated limits allow:
 * descriptors are latched as early as they may be, and every late or torn write is seen.
 * Freestanding, all instants whole picoseconds of the NIC's oscillator. It knows no pacer and
 * shares nothing with the NIC model of the simulator.
 *
 *	latch  F(k) = max(E(k - 1 - prefetch), bell(k))      what stands in memory then is sent
 *	start  S(k) = max(E(k - 1), bell(k) + restart)
 *	end    E(k) = S(k) + (frame bytes + 20) byte times
 */
#ifndef KPN_FAKE_NIC_H
#define KPN_FAKE_NIC_H

#include "keepon/nic_ops.h"

enum { FAKE_FRAME_BYTES = 2048 };

/** enum fake_fault - what a core must never cause; bits */
enum fake_fault {
	FAKE_LATE_COMMIT = 1 << 0, /* a frame was written into a slot latched before */
	FAKE_LATE_LENGTH = 1 << 1, /* length or kind of a slot latched before was changed */
	FAKE_TORN = 1 << 2,        /* bytes changed between commit and latch */
	FAKE_DIRTY = 1 << 3,   /* bytes that belong to no frame, in padding or in a placeholder */
	FAKE_CUT = 1 << 4,     /* slot shorter than the frame in it */
	FAKE_LENGTH = 1 << 5,  /* length the NIC cannot send */
	FAKE_UNARMED = 1 << 6, /* write-back descriptor posted without being re-armed */
	FAKE_BELL =
		1
		/* doorbell backwards, beyond what may be posted, or index and sequence disagree */
		<< 7,
	FAKE_IDX = 1 << 8,     /* descriptor outside the ring */
	FAKE_STALE = 1 << 9,   /* bytes written and not written back were fetched */
	FAKE_HALTED = 1 << 10, /* a doorbell after the halt */
	FAKE_MIXED = 1 << 11,  /* old and new descriptors made one frame, with a bad FCS */
	FAKE_SPLIT = 1 << 12,  /* a tail between two buffers of a frame */
	FAKE_SEALED = 1 << 13, /* a fragment was retired and those behind it still had an FCS */
};

/**
 * struct fake_slot - one slot as latched; of a frame in several buffers the last, as the first of
 * them
 * @latch_ps, @start_ps: instants; @position_ps: wire time of all slots before it
 * @frame_bytes: with FCS; @data_bytes: of a real frame, without; @data: valid during the call
 */
struct fake_slot {
	u64 seq;
	u64 latch_ps;
	u64 start_ps;
	u64 position_ps;
	const u8 *data;
	u32 frame_bytes;
	u32 data_bytes;
	bool real;
};

/**
 * struct fake_params - constant for the life of a NIC
 * @buffer_bytes: of every descriptor; slot and greatest lengthening
 * @prefetch_slots: frames latched beyond the one on the wire
 * @fragments_max: buffers of a frame, as its limits say; 0: one
 * @long_bytes: wire bytes of the longest frame, if it is longer than a slot
 * @index_lag_ps_min, @index_lag_ps_max: from latch or end of a slot to the index showing it, drawn
 *	per slot
 * @restart_ps_min, @restart_ps_max: drawn per doorbell
 * @read_ps: duration of an index read; the index is sampled at an instant drawn from it
 * @call_ps: time every other call takes before it has its effect
 * @index_modulus: 0 for 2^32
 * @cpu_start_ns: CPU counter at instant 0; @cpu_tick_ps: its resolution, 0 for 1 ns
 * @coherent: the NIC sees what the CPU writes; otherwise only what commit and retire write back
 * @spare: there are second buffers; @apart: frames are written to them, and placeholders are sent
 *	from the others
 * @sink_slot: every slot, in order; @sink_commit: seq a commit is meant for; @sink_restore: a slot
 *	becomes a placeholder; @late: after the NIC had latched it
 */
struct fake_params {
	u32 ring_slots;
	u32 reserved_slots;
	u32 slot_bytes;
	u32 buffer_bytes;
	u32 frame_bytes_min;
	u32 frame_bytes_max;
	u32 byte_ps;
	u32 prefetch_slots;
	u32 fragments_max;
	u32 long_bytes;
	u32 index_modulus;
	u64 index_lag_ps_min;
	u64 index_lag_ps_max;
	u64 restart_ps_min;
	u64 restart_ps_max;
	u64 read_ps;
	u64 call_ps;
	u64 cpu_start_ns;
	u64 cpu_tick_ps;
	u64 seed;
	bool coherent;
	bool index_counts_done;
	bool persistent;
	bool spare;
	bool apart;
	void (*sink_slot)(void *sink, const struct fake_slot *slot);
	void (*sink_commit)(void *sink, u64 seq, u32 desc_idx, const u8 *data, u32 data_bytes,
			    bool late);
	void (*sink_restore)(void *sink, u32 desc_idx, bool late);
	void *sink;
};

struct fake_desc;

/**
 * struct fake_nic - readable by tests
 * @now_ps: the present; @cpu_ps, @cpu_rest: CPU counter then, in ps and 10^-12 ps
 * @drift_ppt: CPU time per NIC time minus one, 10^-12; @drift_goal_ppt, @ramp_ppt: where it goes,
 *	by how much every FAKE_RAMP_PS
 * @fetch_seq: next to latch; @wire_seq: on the wire or next to be; @passed_seq: what the index
 *	shows
 * @read_seq: what the last index read returned
 * @stores, @lengths, @rearmed: descriptors made real or placeholders, given a length, handed over
 *	again, so far
 * @gone: the NIC cannot be read, and does nothing; @frozen: its index stands still; @misread: it
 *	was read while it stood still though the NIC had gone on; @halted
 * @whole, @frame: of the frame that is being fetched in several buffers
 * @pause_ps: until when the wire stands still between two frames
 * @faults: enum fake_fault of all time
 */
struct fake_nic {
	struct fake_params params;
	struct fake_desc *desc;
	u8 *buffers;
	u8 *committed;
	u8 *device;
	u64 now_ps;
	u64 cpu_ps;
	u64 cpu_rest;
	s64 drift_ppt;
	s64 drift_goal_ppt;
	u64 ramp_ppt;
	u64 ramp_ps;
	u64 fetch_seq;
	u64 wire_seq;
	u64 passed_seq;
	u64 read_seq;
	u64 tail_seq;
	u64 end_ps;
	u64 position_ps;
	u64 random;
	struct fake_slot whole;
	u64 index_reads;
	u64 bells;
	u64 stores;
	u64 lengths;
	u64 rearmed;
	bool gone;
	u64 pause_ps;
	bool frozen;
	bool misread;
	bool halted;
	u32 fetch_idx;
	u32 wire_idx;
	u32 passed_idx;
	u32 read_idx;
	u32 tail_idx;
	u32 faults;
	u32 joined; /* buffers of the frame being fetched so far */
	u8 frame[FAKE_FRAME_BYTES];
};

#define FAKE_RAMP_PS 20000000ull

extern const struct kpn_nic_ops fake_nic_ops;

size_t fake_nic_bytes(const struct fake_params *params);

/** fake_nic_init() - @memory: fake_nic_bytes(), aligned to 8 */
void fake_nic_init(struct fake_nic *nic, void *memory, const struct fake_params *params);

/**
 * fake_nic_caps() - what the NIC honestly says of itself
 * @drift_ppb_max: latencies are given in CPU time, so they are widened by this
 * @shortest_bytes, @longest_bytes: frames a slot may have
 */
struct kpn_nic_caps fake_nic_caps(const struct fake_params *params, u32 drift_ppb_max,
				  u32 shortest_bytes, u32 longest_bytes, u32 quantum_bytes);

/** fake_nic_advance() - let @span_ps pass */
void fake_nic_advance(struct fake_nic *nic, u64 span_ps);

/**
 * fake_nic_pause() - no frame starts for @span_ps after the one on the wire, as for a received
 * PAUSE frame; nothing if the wire is paused already
 */
void fake_nic_pause(struct fake_nic *nic, u64 span_ps);

/**
 * fake_nic_drift() - let the CPU counter go to @drift_ppb against the NIC, no faster than
 * @wander_ppb_per_s; 0: at once
 */
void fake_nic_drift(struct fake_nic *nic, s32 drift_ppb, u32 wander_ppb_per_s);

/** fake_nic_position() - wire time sent until now, idle time left out */
u64 fake_nic_position(const struct fake_nic *nic);

/** fake_nic_cpu_ns() - the CPU counter, read without taking time */
u64 fake_nic_cpu_ns(const struct fake_nic *nic);

/** fake_nic_idle() - whether nothing is on the wire */
bool fake_nic_idle(const struct fake_nic *nic);

#endif
