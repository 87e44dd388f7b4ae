// SPDX-License-Identifier: GPL-2.0-only
/* What the owner of a lent ring does to it: struct kpn_nic_ops. */
#include "record.h"
#include "ring.h"

/*
 * Slots of differing lengths cost the CPU something each, and it is the one that must feed the
 * ring: few at a time.
 */
enum { RECORD_BEHIND_SLOTS = 64 };

/* in the shadow: no length */
enum { AS_WRITTEN = 0 };

/* A counter of 54 MHz steps every 18.5 ns. */
static u64 op_cpu_ns(void *context)
{
	const struct hwsim_nic *nic = context;
	u64 ns = ktime_get_raw_ns();

	return nic->params.cpu_ticks_coarse ? div_u64(ns * 2, 37) * 37 / 2 : ns;
}

/** hwsim_draw() - a number in [min, max] that @value determines; max - min below 2^32 */
u64 hwsim_draw(u64 value, u64 min, u64 max)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return min + ((value >> 32) * (max - min + 1) >> 32);
}

/*
 * hwsim_read_begin() - a register is sampled somewhere within the bus transaction, and the CPU
 * waits for all of it
 * @nic: whose register it is
 * @value: fresh for each read
 *
 * What the model costs the CPU is no part of that: the sample is worked out in advance, with the
 * port locked until its moment has come.
 */
struct hwsim_read hwsim_read_begin(const struct hwsim_nic *nic, u64 value)
{
	u64 now_ps = hwsim_true_ps();
	u64 draw_ns =
		nic->params.index_read_ns ? hwsim_draw(value, 0, nic->params.index_read_ns) : 0;

	return (struct hwsim_read){ now_ps + draw_ns * 1000,
				    now_ps + nic->params.index_read_ns * 1000ull };
}

/** hwsim_wait_until() - the CPU does nothing until @true_ps */
void hwsim_wait_until(u64 true_ps)
{
	while (hwsim_true_ps() < true_ps)
		cpu_relax();
}

/* The CPU's clock is read with the instruction stream in order, so before and after the sample. */
static u32 op_read_index(void *context)
{
	struct hwsim_nic *nic = context;
	struct hwsim_read read;
	unsigned long flags;
	u64 index = 0;

	raw_spin_lock_irqsave(&nic->port.lock, flags);
	if (hwsim_ring_runs(nic))
		hwsim_ring_take_stores(nic);
	read = hwsim_read_begin(nic, nic->params.seed + ++nic->ring->draws);
	if (hwsim_ring_runs(nic))
		index = ring_nic_index(nic->ring->model,
				       hwsim_local_ps(nic->port.tb, read.sample_ps));
	index = nic->port.removed ? KPN_INDEX_GONE : index % HWSIM_INDEX_MODULUS;
	hwsim_wait_until(read.sample_ps);
	if (!list_empty(&nic->port.air))
		hwsim_port_kick(&nic->port);
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	hwsim_wait_until(read.until_ps);
	return (u32)index;
}

static void *op_buffer(void *context, u32 desc_idx)
{
	struct hwsim_nic *nic = context;
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model)
		ring_nic_buffer(visit.model, desc_idx, visit.local_ps);
	hwsim_ring_leave(nic, &visit, false);
	return nic->ring->buffers + desc_idx * nic->ring->params.buffer_stride;
}

/*
 * A store takes the CPU as long as on a card, some tens of nanoseconds: what the NIC makes of it is
 * worked out when interrupts are on again, or when it is looked at.
 */
static void store_now(struct hwsim_nic *nic, struct hwsim_store store)
{
	struct hwsim_ring *ring = nic->ring;
	unsigned long flags;

	raw_spin_lock_irqsave(&nic->port.lock, flags);
	if (hwsim_ring_runs(nic)) {
		if (ring->store_count == HWSIM_STORES_MAX)
			hwsim_ring_take_stores(nic);
		store.true_ps = hwsim_true_ps();
		ring->stores[ring->store_count++] = store;
		hwsim_port_kick_soon(&nic->port);
	}
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	smp_mb(); /* the caller's next reading of the clock is later than the store */
}

static void op_commit(void *context, u32 desc_idx, u32 frame_bytes, u32 data_bytes,
		      u32 written_bytes)
{
	const struct hwsim_store store = {
		.kind = HWSIM_STORE_FRAME,
		.idx = (u16)desc_idx,
		.bytes = (u16)frame_bytes,
		.shadow = (u16)frame_bytes,
		.data_bytes = (u16)data_bytes,
		.written_bytes = (u16)written_bytes,
	};

	store_now(context, store);
}

/* The NIC fetches between any two stores. */
static void op_commit_fragments(void *context, u32 first_idx, const struct kpn_span *span,
				u32 data_bytes)
{
	struct hwsim_nic *nic = context;
	struct hwsim_store store = { .kind = HWSIM_STORE_FRAGMENT, .shadow = AS_WRITTEN };
	u32 from;
	u32 i;

	for (i = 0; i < span->fragments; i++) {
		store.idx = (u16)((first_idx + i) % nic->ring->params.ring_slots);
		store.bytes = (u16)kpn_span_fragment(span, i, &from);
		store.last = i + 1 == span->fragments;
		store_now(nic, store);
	}
	store.kind = HWSIM_STORE_FCS;
	store.idx = (u16)first_idx;
	store.fragments = (u16)span->fragments;
	store_now(nic, store);
}

static void op_retire(void *context, u32 desc_idx, u32 frame_bytes, u32 data_bytes)
{
	const struct hwsim_store store = {
		.kind = HWSIM_STORE_PLACEHOLDER,
		.idx = (u16)desc_idx,
		.bytes = (u16)frame_bytes,
		.shadow = (u16)frame_bytes,
		.data_bytes = (u16)data_bytes,
	};

	store_now(context, store);
}

static void op_set_length(void *context, u32 desc_idx, u32 frame_bytes)
{
	const struct hwsim_store store = {
		.kind = HWSIM_STORE_LENGTH,
		.idx = (u16)desc_idx,
		.bytes = (u16)frame_bytes,
		.shadow = (u16)frame_bytes,
	};

	store_now(context, store);
}

/*
 * What a NIC that overwrites lengths has left of a descriptor is described again, from the copy; but
 * not a fragment, which is newer than that and would lose the FCS over all of them.
 */
static void describe_again(struct hwsim_ring *ring, u32 first_idx, u32 count, u64 local_ps)
{
	u32 idx = first_idx;

	for (; count; count--) {
		if (ring->shadow[idx] != AS_WRITTEN)
			ring_nic_set_length(ring->model, idx, ring->shadow[idx], local_ps);
		if (++idx == ring->params.ring_slots)
			idx = 0;
	}
}

static void op_rearm(void *context, u32 first_idx, u32 count)
{
	struct hwsim_nic *nic = context;
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model) {
		if (nic->params.clobbers && nic->params.rearm_shadow)
			describe_again(nic->ring, first_idx, count, visit.local_ps);
		ring_nic_rearm(visit.model, first_idx, count, visit.local_ps);
	}
	hwsim_ring_leave(nic, &visit, false);
}

static void op_doorbell(void *context, u32 tail_idx, u64 tail_seq)
{
	struct hwsim_nic *nic = context;
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model) {
		ring_nic_doorbell(visit.model, tail_seq, visit.local_ps);
		if (nic->port.record &&
		    ring_nic_latched(visit.model) - nic->ring->recorded_seq > RECORD_BEHIND_SLOTS)
			hwsim_ring_record_now(nic);
	}
	hwsim_ring_leave(nic, &visit, true);
}

static void op_halt(void *context)
{
	hwsim_ring_halt(context);
}

const struct kpn_nic_ops hwsim_ring_ops = {
	.cpu_ns = op_cpu_ns,
	.read_index = op_read_index,
	.buffer = op_buffer,
	.commit = op_commit,
	.commit_fragments = op_commit_fragments,
	.retire = op_retire,
	.set_length = op_set_length,
	.rearm = op_rearm,
	.doorbell = op_doorbell,
	.halt = op_halt,
};
