/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A standard ring NIC and its wire: descriptors, a tail register, DMA fetches that latch descriptor
 * and bytes, a FIFO of bounded depth, a lagging index. It knows nothing of who drives it and
 * nothing of true time: every instant is in picoseconds of the NIC's own oscillator ("local ps"),
 * never decreasing from call to call.
 *
 * For slot k, with E the end of a slot on the wire (gap included), D the doorbell that first
 * covered it:
 *
 *	room  R(k) = E(j), j = k - prefetch - 1, or later where FIFO bytes are short
 *	latch L(k) = max(R(k), D(k)) + fetch            what stands in memory at L(k) is sent
 *	start T(k) = max(E(k - 1), L(k), D(k) + restart), held back by pauses (struct ring_nic_pause)
 *	end   E(k) = T(k) + (preamble + frame + gap) bytes
 *
 *	wire   |..k-3..|..k-2..|..k-1..|...k...|      prefetch 2
 *	               ^R(k) ^L(k)     ^T(k)
 *
 * So k - j - 1 frames at most stand between the one on the wire and the memory. A write at exactly
 * L(k) comes too late. The MAC inserts the FCS over the bytes it fetched. A frame fetched while its
 * bytes change leaves torn, with a good FCS: nothing on the wire tells it from the frame that was
 * meant. Placeholders have a bad FCS whatever their bytes.
 *
 * A frame may be made of several descriptors, fragments, of which the last one ends it (end of
 * packet). Each is a slot of the equations above, but only the first has a preamble and only the
 * last a gap: what is latched behind a fragment that ends no frame continues that frame, whatever
 * it is, and pauses wait for the end. The CPU computes the FCS of such a frame and writes it into
 * the last fragment (ring_nic_seal()). It is good if the bytes that were latched are as many as and
 * the same as those it was computed over and the MAC did not run dry: T(k) = E(k - 1) inside the
 * frame. An insertion of the MAC does not mend it: what a whole frame behind a fragment makes has a
 * bad FCS, as on NICs that take "insert FCS" from the first descriptor.
 *
 * Cost follows frames, odd lengths and calls; runs of nominal placeholders are advanced in closed
 * form. Sources: descriptor rings with head and tail register (Intel 82574 datasheet section 7.2;
 * Broadcom GENET as in Linux bcmgenet), launch of DMA reads when the packet buffer has room for a
 * largest frame.
 */
#ifndef NICMODEL_RING_NIC_H
#define NICMODEL_RING_NIC_H

#include "nicmodel/platform.h"
#include "nicmodel/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	RING_NIC_FCS_BYTES = 4,
	RING_NIC_SLOTS_MIN = 2,
	RING_NIC_SLOTS_MAX = 4096,
	RING_NIC_PREFETCH_MAX = 1024,
	RING_NIC_FRAME_BYTES_MAX = 16384,
};

/** enum ring_nic_index - what moves the index register */
enum ring_nic_index {
	RING_NIC_INDEX_DONE,  /* the end of a slot on the wire, gap included */
	RING_NIC_INDEX_FETCH, /* the latch of a descriptor */
};

/**
 * struct ring_nic_frame - a real frame on its way to the wire; reported at the latch of its last
 * descriptor, so usually before @start_ps, later if it has more descriptors than are prefetched
 * @seq: slots sent before it since the start
 * @slots: it takes, one for each of its descriptors
 * @desc_idx: its first descriptor
 * @start_ps: first bit of the preamble
 * @frame_bytes: with FCS, without preamble
 * @data: the bytes latched, FCS excluded (@frame_bytes - 4); valid during the call only
 * @torn: its data bytes changed in the NIC's memory after the commit; never with fragments, whose FCS
 *	is bad then
 * @stale: the NIC's memory did not hold what the CPU's buffer held at the commit: not written back;
 *	of any fragment
 *
 * The FCS is that of @data. @torn and @stale are known to nobody on the wire: for accounting only.
 */
struct ring_nic_frame {
	uint64_t seq;
	uint64_t start_ps;
	const uint8_t *data;
	uint32_t desc_idx;
	uint32_t slots;
	uint32_t frame_bytes;
	bool torn;
	bool stale;
};

/**
 * struct ring_nic_params - constant for the life of a NIC
 * @ring_slots: descriptors, 2-4096
 * @nominal_bytes: length of the placeholders the ring starts with, FCS included
 * @frame_bytes_min: shortest frame of one descriptor it sends; shorter lengths are raised to it
 * @frame_bytes_max: longest; what fragments make beyond that has a bad FCS
 * @prefetch_slots: frames beyond the one on the wire that may have been fetched, 0-1024
 * @fifo_bytes: frame bytes the FIFO holds, the one on the wire included; a fetch starts when
 * @frame_bytes_max fit; 0: no limit
 * @byte_time_ps: of the wire
 * @fetch_ps: from room (or doorbell) to latch, not 0
 * @restart_ps_min, @restart_ps_max: from doorbell to the first bit if nothing else is waited for,
 *	drawn per
 *	doorbell; at least @fetch_ps
 * @index_lag_ps_min, @index_lag_ps_max: from the event to the index showing it, drawn per slot;
 *	below 2^32
 * @index: enum ring_nic_index
 * @persistent: descriptors may be sent again and again; false: each must be re-armed before every
 *	use
 * @clobbers: only if not persistent: the NIC overwrites the length of a descriptor when it has
 *	fetched it.
 *	Whoever drives it says the length again, from a copy of its own, before it re-arms: ring_nic_set_length()
 * @history_runs: least number of runs of equal slots remembered behind the wire; 0: as many as the
 *	index needs if no fragment but the last of a frame is shorter than a slot of @frame_bytes_min
 * @seed: of the drawn values
 * @coherent: the NIC fetches from @buffers; false: from @device_buffers, which the CPU's stores
 *	reach when they are
 *	written back: by ring_nic_commit() and ring_nic_retire(), and only the bytes these name
 * @buffers: ring_slots buffers, @buffer_stride bytes apart, zeroed by the caller, alive as long as
 *	the NIC
 * @device_buffers: as @buffers, if not @coherent: what stands in memory behind the CPU's cache
 * @sink_frame: called for each real frame at its latch
 * @sink_idle: called for each idle time of the wire before a frame, the first one excluded; may be
 *	NULL
 * @sink: given to both
 */
struct ring_nic_params {
	uint32_t ring_slots;
	uint32_t nominal_bytes;
	uint32_t frame_bytes_min;
	uint32_t frame_bytes_max;
	uint32_t prefetch_slots;
	uint32_t fifo_bytes;
	uint32_t byte_time_ps;
	uint64_t fetch_ps;
	uint64_t restart_ps_min;
	uint64_t restart_ps_max;
	uint64_t index_lag_ps_min;
	uint64_t index_lag_ps_max;
	uint8_t index;
	bool persistent;
	bool clobbers;
	bool coherent;
	uint32_t history_runs;
	uint64_t seed;
	uint8_t *buffers;
	uint8_t *device_buffers;
	size_t buffer_stride;
	void (*sink_frame)(void *sink, const struct ring_nic_frame *frame);
	void (*sink_idle)(void *sink, uint64_t start_ps, uint64_t end_ps);
	void *sink;
};

/**
 * struct ring_nic_counters - since init, as of the last latch
 * @placeholders: descriptors latched that were a frame of their own with a bad FCS: placeholders
 *	and last fragments latched alone
 * @mixed: frames of several descriptors with a bad FCS; so is one that ring_nic_halt() cuts, even
 *	behind its first fragment
 * @frames: with a good FCS; @frame_bytes: in these
 * @idle_ps, @underruns: idle wire between slots that no pause held back, and how often
 * @paused_ps, @pauses: by how much pauses held slots back, and how many slots
 * @halts: fetches that met a descriptor not re-armed; nothing more is fetched until the next
 *	doorbell
 * @clobbered: fetches that met a descriptor re-armed without its length; as @halts
 * @torn: real frames whose bytes changed after their commit
 * @stale: real frames whose bytes were not written back at their commit
 * @bell_errors: doorbells that went backwards or beyond the ring, ignored
 *
 * A receiver that counts frames with a bad FCS has counted @placeholders + @mixed when all that was
 * latched has left. Those shorter than 64 bytes or longer than it takes it may count elsewhere.
 * Without fragments @placeholders + @frames are the slots latched.
 */
struct ring_nic_counters {
	uint64_t placeholders;
	uint64_t mixed;
	uint64_t frames;
	uint64_t frame_bytes;
	uint64_t idle_ps;
	uint64_t underruns;
	uint64_t paused_ps;
	uint64_t pauses;
	uint64_t halts;
	uint64_t clobbered;
	uint64_t torn;
	uint64_t stale;
	uint64_t bell_errors;
};

/**
 * struct ring_nic_position - where the wire is
 * @seq: slot on the wire, or next to come while idle
 * @offset_ps: since its start
 * @sent_ps: wire time of everything sent so far, idle time excluded
 */
struct ring_nic_position {
	uint64_t seq;
	uint64_t offset_ps;
	uint64_t sent_ps;
	bool idle;
};

/**
 * struct ring_nic_slot - one slot of the recent past; @sent_ps as in ring_nic_position, at its
 * start
 * @frame_bytes: in its descriptor; @continues: the next slot goes on with the same frame
 *
 * @alike: at least so many slots, from this one on, follow each other without a gap at this pitch,
 *	all with these bytes, and all or none continue
 */
struct ring_nic_slot {
	uint64_t start_ps;
	uint64_t latch_ps;
	uint64_t sent_ps;
	uint64_t pitch_ps;
	uint64_t alike;
	uint32_t frame_bytes;
	bool continues;
};

struct ring_nic;

/** ring_nic_problem() - NULL if @params are usable, else the first wrong thing, as a phrase */
const char *ring_nic_problem(const struct ring_nic_params *params);

/** ring_nic_bytes() - memory one NIC needs, aligned to 8; @params have no problem */
size_t ring_nic_bytes(const struct ring_nic_params *params);

/**
 * ring_nic_init() - all descriptors nominal placeholders, nothing posted, wire idle; NULL if there
 * is a problem
 */
struct ring_nic *ring_nic_init(void *memory, const struct ring_nic_params *params);

/** ring_nic_buffer() - buffer of a descriptor as the CPU sees it at @now_ps */
uint8_t *ring_nic_buffer(struct ring_nic *nic, uint32_t desc_idx, uint64_t now_ps);

/**
 * ring_nic_commit() - descriptor becomes a real frame
 * @frame_bytes: its length with FCS
 * @data_bytes: bytes of it by which torn frames are recognised
 * @written_bytes: from the buffer's first byte on, written back before that if memory is not
 *	coherent
 */
void ring_nic_commit(struct ring_nic *nic, uint32_t desc_idx, uint32_t frame_bytes,
		     uint32_t data_bytes, uint32_t written_bytes, uint64_t now_ps);

/**
 * ring_nic_commit_fragment() - descriptor becomes a part of a frame, without a good FCS until
 * ring_nic_seal()
 * @bytes: of the frame that are in its buffer, 1 to buffer_stride and no more than frame_bytes_max;
 *	written back before if memory is not coherent
 * @last: the frame ends in it (end of packet)
 */
void ring_nic_commit_fragment(struct ring_nic *nic, uint32_t desc_idx, uint32_t bytes, bool last,
			      uint64_t now_ps);

/**
 * ring_nic_seal() - the FCS over @fragments descriptors from @first_idx on (wrapping) stands in the
 * last of them
 *
 * The last 4 bytes of that fragment are written back if memory is not coherent; the FCS is that of
 * the bytes that then stand in the NIC's memory. Whatever is done to that descriptor afterwards
 * takes the FCS away. No effect if it is no last fragment of 4 bytes or more; a bad FCS if all are
 * together longer than frame_bytes_max or the length of one has been overwritten.
 */
void ring_nic_seal(struct ring_nic *nic, uint32_t first_idx, uint32_t fragments, uint64_t now_ps);

/**
 * ring_nic_retire() - descriptor becomes a placeholder; then @data_bytes of its buffer are zeroed
 * and written back
 */
void ring_nic_retire(struct ring_nic *nic, uint32_t desc_idx, uint32_t frame_bytes,
		     uint32_t data_bytes, uint64_t now_ps);

/** ring_nic_set_length() - descriptor keeps its kind and changes its length */
void ring_nic_set_length(struct ring_nic *nic, uint32_t desc_idx, uint32_t frame_bytes,
			 uint64_t now_ps);

/**
 * ring_nic_rearm() - hand @count descriptors from @first_idx (wrapping) to the NIC again; no effect
 * if persistent
 */
void ring_nic_rearm(struct ring_nic *nic, uint32_t first_idx, uint32_t count, uint64_t now_ps);

/** ring_nic_doorbell() - slots before @tail_seq may be sent */
void ring_nic_doorbell(struct ring_nic *nic, uint64_t tail_seq, uint64_t now_ps);

/**
 * ring_nic_halt() - nothing is fetched any more; what was latched leaves whole, a frame of which
 * fragments are missing with a bad FCS, and doorbells have no effect
 *
 * Until the next ring_nic_init(). Descriptors and buffers may be changed; everything stays
 * readable.
 */
void ring_nic_halt(struct ring_nic *nic, uint64_t now_ps);

/**
 * ring_nic_remove() - the card is gone: nothing is fetched any more, nothing leaves any more
 *
 * Index, position and what is completed stay as they were at @now_ps. Whoever was given frames by
 * sink_frame drops those that end after @now_ps: they were cut or never began. Until the next
 * ring_nic_init().
 */
void ring_nic_remove(struct ring_nic *nic, uint64_t now_ps);

/** ring_nic_present() - false once it was removed: every register reads as all ones */
bool ring_nic_present(const struct ring_nic *nic);

/**
 * ring_nic_freeze_index() - a fault: from the last call's time on the index stands still while the
 * wire goes on
 */
void ring_nic_freeze_index(struct ring_nic *nic, bool frozen);

/**
 * ring_nic_set_pauses() - say beforehand when the peer pauses the wire
 * @pauses: @count of them, sorted by at_ps, alive as long as the NIC; those of an earlier call come
 *	first, unchanged
 *
 * A pause announced after a slot was latched that it should hold back only holds back later ones.
 */
void ring_nic_set_pauses(struct ring_nic *nic, const struct ring_nic_pause *pauses, size_t count);

/** ring_nic_index() - slots the index register has passed since the start, as read at @now_ps */
uint64_t ring_nic_index(struct ring_nic *nic, uint64_t now_ps);

/** ring_nic_advance() - let time pass; reports every frame latched until @now_ps */
void ring_nic_advance(struct ring_nic *nic, uint64_t now_ps);

/**
 * ring_nic_next_frame() - when to look again for the next committed and posted frame
 * @when_ps: not after its start as long as nothing is written and never in the past; if fragments of
 *	it have been latched, not after the start of its last one
 *
 * Return: false if no real frame waits to be fetched; one of fragments is real once it is sealed.
 */
bool ring_nic_next_frame(const struct ring_nic *nic, uint64_t *when_ps);

/** ring_nic_locate() - where the wire is at @now_ps */
struct ring_nic_position ring_nic_locate(struct ring_nic *nic, uint64_t now_ps);

/** ring_nic_find_slot() - times of slot @seq; false if it was not latched yet or is forgotten */
bool ring_nic_find_slot(const struct ring_nic *nic, uint64_t seq, struct ring_nic_slot *slot);

/**
 * ring_nic_completed() - slots whose end, gap included, is not after @at_ps; within the remembered
 * past
 */
uint64_t ring_nic_completed(const struct ring_nic *nic, uint64_t at_ps);

/** ring_nic_latched() - slots latched so far */
uint64_t ring_nic_latched(const struct ring_nic *nic);

const struct ring_nic_counters *ring_nic_read_counters(const struct ring_nic *nic);

#ifdef __cplusplus
}
#endif

#endif
