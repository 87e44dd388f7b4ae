/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What the core asks of a network interface with a descriptor ring: a few stores, one index, and honest
 * limits. Implemented by glue (simulator, kernel backends); the core never touches a register itself.
 */
#ifndef KPN_NIC_OPS_H
#define KPN_NIC_OPS_H

#include "kpn_platform.h"

/** enum kpn_placeholder - how a placeholder dies at the first hop (docs/model.md) */
enum kpn_placeholder {
	KPN_PLACEHOLDER_BAD_FCS,          /* discarded by the FCS check; may be overwritten in place */
	KPN_PLACEHOLDER_MAC_CONTROL,      /* MAC-control frame with an unassigned opcode */
	KPN_PLACEHOLDER_RESERVED_ADDRESS, /* destination a bridge must not forward */
	KPN_PLACEHOLDER_COUNT,
};

/**
 * struct kpn_nic_caps - limits of one backend; constant while a pacer uses it
 * @ring_slots_min, @ring_slots_max, @ring_slots_multiple: ring sizes it can have
 * @reserved_slots: descriptors that must stay unposted (often 1): max_posted = ring_slots - reserved_slots
 * @prefetch_slots_max: frames beyond the one on the wire that may already have been fetched (prefetch and
 *	FIFO together); they can no longer be changed
 * @index_counts_done: true: the index passes a frame when its last bit has left; false: when it was fetched
 * @index_to_wire_ns_min, @index_to_wire_ns_max: time from the index passing a frame to the wire event it
 *	announces; for a fetch index the frame's first bit (positive), for a done index its end (zero
 *	or negative: minus the lag)
 * @index_modulus: the index counts modulo this; at least ring_slots, 0 means 2^32
 * @restart_ns_min, @restart_ns_max: from a doorbell on an idle wire to the first bit
 * @start_quantum_bytes: granularity of frame lengths (1 where any length can be sent)
 * @placeholder_bytes_min: shortest placeholder frame that is sent unpadded, FCS included
 * @frame_bytes_max: longest frame it can send, FCS included
 * @placeholder_kinds: bit per enum kpn_placeholder
 * @has_spare_buffers: every descriptor owns a second buffer and the switch is one store; needed where
 *	kpn_config_spare_buffers() says so: for placeholders that must not be overwritten in place or send old bytes
 * @desc_persistent: descriptors keep their contents; false: each must be re-armed before every use
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
	u32 start_quantum_bytes;
	u32 placeholder_bytes_min;
	u32 frame_bytes_max;
	u32 placeholder_kinds;
	bool index_counts_done;
	bool has_spare_buffers;
	bool desc_persistent;
};

/**
 * struct kpn_nic_ops - the backend of one ring; every call gets the context given to kpn_pacer_init()
 * @cpu_ns: monotonic CPU counter in ns, never stepped, not disciplined (CLOCK_MONOTONIC_RAW)
 * @read_index: progress of the NIC, modulo caps.index_modulus; may take a microsecond of bus time
 * @buffer: payload buffer of a descriptor: slot + trim bytes, mapped for the life of the pacer, zeroed
 *	at start; the spare buffer where kpn_config_spare_buffers() says so. Asked for before every write, so
 *	that a modelled NIC can fetch what it has fetched by now
 * @commit: make the slot real: @frame_bytes long with a good FCS, of which @data_bytes (FCS excluded) were
 *	just written to the buffer and the rest is zero. Order: write back the data, barrier, then one
 *	store of commit width, so that the NIC never fetches half a frame (C19)
 * @restore: make the slot a placeholder of @frame_bytes again, by one store
 * @set_length: change the length of a slot, placeholder or real, by one store (an FCS kept in the buffer
 *	is recomputed by the backend before it)
 * @rearm: hand @count descriptors from @first_idx (wrapping) to the NIC; only without desc_persistent
 * @doorbell: everything before @tail_idx may be sent; the only call that writes a NIC register. @tail_seq is
 *	the same position as a sequence number
 *
 * All are called under the caller's serialisation of the pacer, must not sleep and must not call back.
 */
struct kpn_nic_ops {
	u64 (*cpu_ns)(void *nic);
	u32 (*read_index)(void *nic);
	void *(*buffer)(void *nic, u32 desc_idx);
	void (*commit)(void *nic, u32 desc_idx, u32 frame_bytes, u32 data_bytes);
	void (*restore)(void *nic, u32 desc_idx, u32 frame_bytes);
	void (*set_length)(void *nic, u32 desc_idx, u32 frame_bytes);
	void (*rearm)(void *nic, u32 first_idx, u32 count);
	void (*doorbell)(void *nic, u32 tail_idx, u64 tail_seq);
};

#endif
