/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A ring NIC for vector tests: exact to the picosecond, no FIFO, no lag, done index unless the caps
 * say otherwise. It sends what lies in the buffers when it fetches a slot, counts every call, and
 * notices each store into a slot it has fetched already. Rates, faults and times are set by the
 * test; random NICs are the affair of other tests.
 */
#ifndef KPN_SELFTEST_EXACT_NIC_H
#define KPN_SELFTEST_EXACT_NIC_H

#include "keepon/pacer.h"

#include "selftest.h"

enum {
	EXACT_RING_SLOTS_MAX = 256,
	EXACT_BUFFER_BYTES = 1600,
	EXACT_TAGS = 64,
	EXACT_LOG_MAX = 512,
	EXACT_MEMORY_BYTES = 1 << 17,
};

/**
 * struct exact_sent - a real frame on the wire
 * @seq: slot; @start_ps: CPU time of the slot's start
 * @tag: first byte of the frame
 * @intact: every byte of the data is the tag (the tests send such frames), every byte after it zero
 */
struct exact_sent {
	u64 seq;
	u64 start_ps;
	u32 frame_bytes;
	u8 tag;
	bool intact;
};

/**
 * struct exact_nic - NIC, wire and what the caller of a pacer would keep
 * @now_ns: CPU time; the tests move it
 * @poll_ns: time between polls of exact_nic_run(); 0: what the pacer asks for
 * @read_ns: duration of one index read; the index is taken in the middle
 * @cpu_read_ns: duration of one reading of the CPU counter
 * @copy_ns: time that passes when the core asks for a buffer, as if writing it took that long
 * @store_ns: time that passes before a descriptor store takes effect, as if the CPU were held up
 *	there
 * @late_store_ns: the same before the next store, once
 * @rearm_ns: duration of one call of rearm
 * @bell_ns: the same before the next doorbell, once
 * @after_read_ns: the same after the next reading of the index, once
 * @lag_ns: a done index shows so much late, less than a slot
 * @ppb: how much faster the wire is than the CPU counter
 * @gone: the index cannot be read; @frozen: it stays @frozen_index while the wire goes on
 * @halted: fetches no more; @written_bytes, @zeroed_bytes: as commits and retires said
 * @index_lie: added to every reading of the index
 * @head_seq, @tail_seq: slot on the wire; end of what may be sent
 * @fetch_seq: end of what has been fetched, as far ahead of the wire as the limits allow
 * @head_start_ps: CPU time at which the slot on the wire started; valid unless @idle
 * @head_wire_ps: wire position of that start; @ended_ps: CPU time at which the slot before ended
 * @unsafe_writes: stores into slots that had been fetched
 * @restores: slots with a frame that became placeholders
 * @lengths: lengths set, of frames or placeholders
 * @memory: of the pacer; @own unless a test needs more
 * @outcomes, @verdict_of, @last_outcome, @last_start: what the pacer reported, counted and by the
 *	frame's tag
 */
struct exact_nic {
	struct kpn_nic_caps caps;
	struct kpn_config config;
	struct kpn_pacer *pacer;
	u64 now_ns;
	u64 poll_ns;
	u64 read_ns;
	u64 cpu_read_ns;
	u64 copy_ns;
	u64 store_ns;
	u64 late_store_ns;
	u64 rearm_ns;
	u64 bell_ns;
	u64 after_read_ns;
	u64 lag_ns;
	s32 ppb;
	u32 index_lie;
	u32 byte_ps;
	u64 head_seq;
	u64 tail_seq;
	u64 fetch_seq;
	u64 head_start_ps;
	u64 head_wire_ps;
	u64 ended_ps;
	bool idle;
	bool halted;
	bool gone;
	bool frozen;
	u32 frozen_index;

	u32 doorbells;
	u32 index_reads;
	u32 buffer_calls;
	u32 commits;
	u32 restores;
	u32 lengths;
	u64 written_bytes;
	u64 zeroed_bytes;
	u32 rearmed;
	u32 unsafe_writes;
	u64 idle_starts;

	u32 events[KPN_EVENT_COUNT];
	u32 outcomes[KPN_VERDICT_COUNT];
	u8 verdict_of[EXACT_TAGS];
	struct kpn_frame *last_outcome;
	struct kpn_time last_start;

	u32 log_count;
	struct exact_sent log[EXACT_LOG_MAX];
	struct exact_sent fetched[EXACT_RING_SLOTS_MAX];
	u32 fetched_bytes[EXACT_RING_SLOTS_MAX]; /* the length a slot had then */

	u32 length_bytes[EXACT_RING_SLOTS_MAX];
	u32 data_bytes[EXACT_RING_SLOTS_MAX]; /* 0: placeholder */
	u8 buffers[EXACT_RING_SLOTS_MAX][EXACT_BUFFER_BYTES];
	u64 *memory;
	size_t memory_bytes;
	u64 own[EXACT_MEMORY_BYTES / sizeof(u64)];
};

/**
 * exact_nic_prepare() - default limits and configuration: 1 Gb/s, 1230 B (10 us), ring 64, batch 4,
 * depth 16
 */
void exact_nic_prepare(struct exact_nic *nic);

/**
 * exact_nic_paper() - the same in paper mode, polled every slot: depth = batch = @batch_slots, no
 * pre-buffer
 */
void exact_nic_paper(struct exact_nic *nic, u32 ring_slots, u32 batch_slots);

/**
 * exact_nic_start() - a pacer for nic->config, started at PHC time @start_ns; false if the
 * configuration is refused
 */
bool exact_nic_start(struct exact_nic *nic, s64 start_ns);

/** exact_nic_go() - let time pass without a poll */
void exact_nic_go(struct exact_nic *nic, u64 ns);

/** exact_nic_poll() - let time pass, then poll */
void exact_nic_poll(struct exact_nic *nic, u64 ns);

/** exact_nic_run() - let at least this much time pass, polling */
void exact_nic_run(struct exact_nic *nic, u64 ns);

/**
 * exact_nic_collect() - take outcomes and events from the pacer; after calls on it that are not
 * made here
 */
void exact_nic_collect(struct exact_nic *nic);

/** exact_nic_stop() - stop the pacer and end all frames */
void exact_nic_stop(struct exact_nic *nic);

/** exact_nic_position() - wire position now, exact */
u64 exact_nic_position(const struct exact_nic *nic);

/**
 * exact_frame() - a frame of @frame_bytes filled with @tag; without txtime if @txtime_ns is
 * negative
 */
struct kpn_frame exact_frame(u8 tag, u16 frame_bytes, u8 tc, s64 txtime_ns);

/**
 * exact_expect_on_time() - frames reported on time started where their txtimes ask for, by no more
 * than
 * @bounds promise; @at: which round this is. Return: how many they were.
 */
u32 exact_expect_on_time(struct kpn_selftest *t, int at, const struct kpn_frame *frames, u32 count,
			 struct kpn_bounds bounds);

#endif
