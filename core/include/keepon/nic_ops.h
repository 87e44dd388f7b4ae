/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the core needs from a network interface with a descriptor ring (contract version 3): a few
 * stores, one index, limits that hold, and the order in which stores become visible. Glue
 * (simulator, kernel backends) implements it; the core never accesses a register.
 *
 * The backend keeps two orders:
 * - The NIC sees the buffer of a descriptor as the descriptor describes it. Bytes are written back
 *   (non-coherent DMA) and ordered (dma_wmb) before the store that makes a slot real, and a slot is
 *   a placeholder for the NIC before its bytes change again.
 * - A reading of cpu_ns() after a store is later than the store: commit and retire end with a full
 *   barrier, because that reading tells the core whether the store came in time.
 */
#ifndef KPN_NIC_OPS_H
#define KPN_NIC_OPS_H

#include "keepon/span.h"

/** enum kpn_placeholder - why the first hop drops a placeholder (docs/model.md) */
enum kpn_placeholder {
	KPN_PLACEHOLDER_BAD_FCS,     /* discarded by the FCS check; may be overwritten in place */
	KPN_PLACEHOLDER_MAC_CONTROL, /* MAC-control frame with an unassigned opcode */
	KPN_PLACEHOLDER_RESERVED_ADDRESS, /* destination a bridge must not forward */
	KPN_PLACEHOLDER_COUNT,
};

/* What read_index() returns when the NIC cannot be read: removed, in D3, in reset. */
#define KPN_INDEX_GONE 0xffffffffu

/* Greatest index_modulus: no reading equals KPN_INDEX_GONE. */
#define KPN_INDEX_MODULUS_MAX 0x80000000u

/**
 * struct kpn_nic_caps - limits of one backend; constant while a pacer uses it
 * @ring_slots_min, @ring_slots_max, @ring_slots_multiple: possible ring sizes
 * @reserved_slots: descriptors that must stay unposted (often 1); max_posted = ring - reserved
 * @prefetch_slots_max: frames after the one on the wire that the NIC may already have fetched
 *	(prefetch and FIFO together, at the slot length the limits were asked for); they can no
 *	longer be changed
 * @index_counts_done: true: the index passes a frame when its last bit has left; false: when the
 *	NIC has fetched it
 * @index_to_wire_ns_min, @index_to_wire_ns_max: time from the index passing a frame to the wire
 *	event that this announces: for a fetch index the first bit of the frame (positive), for a
 *	done index its end (zero or negative: minus the lag)
 * @index_modulus: the index counts modulo this; ring_slots to KPN_INDEX_MODULUS_MAX; 0 means the
 *	latter. A reading that is not below it means that the NIC cannot be read
 * @restart_ns_min, @restart_ns_max: from a doorbell on an idle wire to the first bit
 * @pause_ns_max: longest time the wire may legitimately stand still (received PAUSE frames, EEE);
 *	0: never. An index that stands still for longer counts as a dead NIC (kpn_pacer_limits())
 * @store_ns_max: how long a store may still be under way to the NIC after commit or retire has
 *	returned: 0 for descriptors in memory, a bus transit for descriptors in registers
 * @store_cpu_ns: CPU time of commit, retire or set_length for one slot of a frame of several, on a
 *	slow CPU, with the copy and the FCS of a fragment; 0: 200, for descriptors in memory
 *	(chosen)
 * @cpu_tick_ns: resolution of cpu_ns(), rounded up: a reading t was taken in [t, t + tick); 1 to
 *	1000, 0 means 1 (a Raspberry Pi 4 counts 18.5 ns: 19)
 * @poll_ns_min: least poll interval that the host sustains, 0: any
 * @start_quantum_bytes: granularity of frame lengths (1 where any length can be sent)
 * @placeholder_bytes_min: shortest placeholder frame that is sent unpadded, FCS included
 * @frame_bytes_max: longest frame the NIC can send, FCS included
 * @fragments_max: buffers per frame, if the NIC is proven to take end of packet from the last
 *	descriptor alone and to append no FCS of its own; 0 means 1
 * @placeholder_kinds: bit per enum kpn_placeholder
 * @has_spare_buffers: every descriptor has a second buffer, and one store switches between the two;
 *	needed where kpn_config_spare_buffers() is true: for placeholders that must not be
 *	overwritten in place or send old bytes
 * @desc_persistent: descriptors keep their contents and are sent again every lap. False: the NIC
 *	writes them back, and rearm must hand over each one before every use
 */
struct kpn_nic_caps {
	u32 ring_slots_min;
	u32 ring_slots_max;
	u32 ring_slots_multiple;
	u32 reserved_slots;
	u32 prefetch_slots_max;
	u32 index_modulus;
	s32 index_to_wire_ns_min;
	s32 index_to_wire_ns_max;
	u32 restart_ns_min;
	u32 restart_ns_max;
	u32 pause_ns_max;
	u32 store_ns_max;
	u32 store_cpu_ns;
	u32 cpu_tick_ns;
	u32 poll_ns_min;
	u32 start_quantum_bytes;
	u32 placeholder_bytes_min;
	u32 frame_bytes_max;
	u32 fragments_max;
	u32 placeholder_kinds;
	bool index_counts_done;
	bool has_spare_buffers;
	bool desc_persistent;
};

/**
 * struct kpn_nic_ops - the backend of one ring; every call gets the context given to
 * kpn_pacer_init()
 * @cpu_ns: monotonic CPU counter in ns (CLOCK_MONOTONIC_RAW), rounded down, never stepped, not
 *	disciplined, below 2^63 (292 years): the one counter that does not wrap
 * @read_index: progress of the NIC, modulo caps.index_modulus, or KPN_INDEX_GONE; may take a
 *	microsecond of bus time. The core reads the CPU counter before and after: the value must be
 *	sampled in between and not be reordered with those readings. A backend whose NIC may miss a
 *	doorbell repeats the doorbell here
 * @buffer: frame buffer of a descriptor, the spare one where kpn_config_spare_buffers() is true:
 *	slot + trim bytes, 20 more where frames have fragments, and config.frame_bytes_max at least;
 *	mapped for the life of the pacer, zero after the reset. Called before every write, so that a
 *	modelled NIC first fetches all descriptors that are due by now
 * @commit: make the slot real: @frame_bytes long on the wire with a good FCS over @data_bytes of
 *	data (FCS excluded) and zeros. The first @written_bytes (at least @data_bytes) of the buffer
 *	were written since it was last written back. Order: own FCS into the buffer if the NIC adds
 *	none, write all of that back, barrier, ONE store of commit width, full barrier. The NIC
 *	never fetches half a frame (C19)
 * @commit_fragments: make @span->fragments descriptors from @first_idx on (wrapping) one frame;
 *	only where @fragments_max allows more than one. Fragment i has kpn_span_fragment() bytes in
 *	the buffer of its descriptor, the frame has @data_bytes of data and zeros. Order: write
 *	back, barrier, descriptors from the first to the last, end of packet in the last alone, none
 *	with an FCS inserted; barrier; then the FCS over all of it, computed by the backend, into
 *	the last four bytes of the last buffer, written back, full barrier. A frame fetched before
 *	that has a bad FCS. A second call for the same frame with another @span->frame_bytes changes
 *	only the length of the last fragment
 * @retire: make the slot a placeholder of @frame_bytes by ONE store, full barrier; then zero the
 *	first @data_bytes of its frame buffer (and an FCS kept there) and write them back. With
 *	@data_bytes 0 the buffer stays as it is. If the slot is a placeholder already, only bytes
 *	are zeroed
 * @set_length: change the length of a slot, placeholder or real, but no fragment, by ONE store;
 *	before the store, an FCS kept in the buffer is moved, computed again, written back and
 *	ordered
 * @rearm: hand @count descriptors from @first_idx (wrapping) to the NIC again, as they were last
 *	described; only without desc_persistent. A NIC that overwrites length or address on
 *	write-back needs a copy of them (the re-arm shadow), from which this call restores them.
 *	Takes effect at the next doorbell. A backend that hands frames to another driver's transmit
 *	function prepares them here and sends them at the doorbell, @count at once
 * @doorbell: everything before @tail_idx, which is never within a frame, may be sent; all earlier
 *	stores to memory are ordered before the doorbell. The only call that writes a NIC register.
 *	@tail_seq is the same position as a sequence number
 * @halt: when it returns, the NIC fetches nothing until the next reset of the ring; a frame on the
 *	wire leaves whole or is cut with a bad FCS. Must work on a NIC that is gone
 *
 * All are called under the caller's serialisation of the pacer, must not sleep and must not call
 * back. Their cost is bounded: rearm by @count, retire by @data_bytes, commit_fragments by the
 * frame, the rest by a constant.
 */
struct kpn_nic_ops {
	u64 (*cpu_ns)(void *nic);
	u32 (*read_index)(void *nic);
	void *(*buffer)(void *nic, u32 desc_idx);
	void (*commit)(void *nic, u32 desc_idx, u32 frame_bytes, u32 data_bytes, u32 written_bytes);
	void (*commit_fragments)(void *nic, u32 first_idx, const struct kpn_span *span,
				 u32 data_bytes);
	void (*retire)(void *nic, u32 desc_idx, u32 frame_bytes, u32 data_bytes);
	void (*set_length)(void *nic, u32 desc_idx, u32 frame_bytes);
	void (*rearm)(void *nic, u32 first_idx, u32 count);
	void (*doorbell)(void *nic, u32 tail_idx, u64 tail_seq);
	void (*halt)(void *nic);
};

#endif
