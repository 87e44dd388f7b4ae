// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run on a lent ring. Nothing is judged here: each reading is kept with its time. The ring is
 * followed by reading its index as fast as can be, with interrupts on; the time since the
 * reading before shows that one came late.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>

#include "hwcheck.h"
#include "keepon/wire.h"

enum {
	RING_SLOTS = 256,
	POST_SLOTS = 8,
	TICKS = 1000,
	IDLE_US = 2000,
	RESTART_NS_MAX = 50 * NSEC_PER_MSEC,
	STREAM_NS = 150 * NSEC_PER_MSEC,
	STREAM_SLOTS = 200,
	STILL_NS_MAX = 200 * NSEC_PER_MSEC,
	TRIALS_EACH = 3,
	TRIAL_TYPE = 0x88b5,      /* IEEE Std 802: local experimental */
	TRIAL_MAGIC = 0x6877636b, /* "hwck" */
	TRIAL_BYTES = 60,
	FRAGMENT_BYTES = 64,
	MIXTURE_NUMBER = 1 << 16, /* beyond those of trials */
};

static u64 now(struct hwcheck *h)
{
	return h->native.ops->cpu_ns(h->native.nic);
}

static u32 desc(const struct hwcheck *h, u64 slot)
{
	u32 idx;

	div_u64_rem(slot, h->ring_slots, &idx);
	return idx;
}

/* Until everything before @tail may be sent. Return: just before the doorbell */
static u64 post(struct hwcheck *h, u64 tail)
{
	u64 bell_ns;

	if (!h->caps.nic.desc_persistent)
		h->native.ops->rearm(h->native.nic, desc(h, h->tail), (u32)(tail - h->tail));
	h->tail = tail;
	bell_ns = now(h);
	h->native.ops->doorbell(h->native.nic, desc(h, tail), tail);
	return bell_ns;
}

/*
 * One reading.
 * @moved: by how many slots
 * Return: 0, or -ENODEV if the NIC is gone or its index is none of those posted
 */
static int look(struct hwcheck *h, u32 *moved)
{
	u32 modulus = h->caps.nic.index_modulus ?: KPN_INDEX_MODULUS_MAX;
	u64 before_ns = h->asked_ns;
	u32 index;

	h->asked_ns = now(h);
	index = h->native.ops->read_index(h->native.nic);
	h->read_ns = now(h);
	if (index >= modulus)
		return -ENODEV;
	*moved = index >= h->index ? index - h->index : index + modulus - h->index;
	if (*moved > h->tail - h->head)
		return -ENODEV;
	h->index = index;
	h->head += *moved;
	if (*moved && h->sampling && h->samples < HWCHECK_SAMPLES)
		h->sample[h->samples++] = (struct hwcheck_sample){
			.at_ns = h->read_ns,
			.since_ns = h->read_ns - before_ns,
			.index = h->head,
		};
	return 0;
}

static void find_tick(struct hwcheck *h)
{
	u64 last_ns = now(h);
	u32 i;

	h->tick_ns = 0;
	for (i = 0; i < TICKS; i++) {
		u64 next_ns = now(h);

		h->still += next_ns == last_ns;
		if (next_ns != last_ns && (!h->tick_ns || next_ns - last_ns < h->tick_ns))
			h->tick_ns = next_ns - last_ns;
		last_ns = next_ns;
	}
}

/* A slot alone on an idle wire, again and again. */
static int restart(struct hwcheck *h)
{
	u32 i;

	for (i = 0; i < HWCHECK_RESTARTS; i++) {
		struct hwcheck_restart *restart = &h->restart[i];
		u32 moved = 0;
		int error;

		restart->bell_ns = post(h, h->tail + 1);
		while (!moved) {
			error = look(h, &moved);
			if (!error && h->read_ns - restart->bell_ns > RESTART_NS_MAX)
				error = -ETIMEDOUT;
			if (error)
				return error;
			cond_resched();
		}
		restart->moved_ns = h->read_ns;
		h->restarts++;
		usleep_range(IDLE_US, IDLE_US + 500);
	}
	return 0;
}

/* Keeps the ring full until the index is at @slot. */
static int follow(struct hwcheck *h, u64 slot)
{
	u32 posted_max = h->ring_slots - h->caps.nic.reserved_slots;
	u64 moved_ns = now(h);

	while (h->head < slot) {
		u32 moved = 0;
		int error = look(h, &moved);

		if (error)
			return error;
		if (moved)
			moved_ns = h->read_ns;
		else if (h->read_ns - moved_ns > STILL_NS_MAX)
			return -ETIMEDOUT;
		if (h->head + posted_max >= h->tail + POST_SLOTS)
			post(h, h->head + posted_max);
		cond_resched();
	}
	return 0;
}

static int stream(struct hwcheck *h)
{
	u64 slot_ps = (u64)kpn_wire_bytes(h->slot_bytes) * kpn_byte_time_ps(h->rate_bps);
	u64 slots = max_t(u64, div64_u64(STREAM_NS * 1000ull, slot_ps), STREAM_SLOTS);

	h->stream_slot = h->tail;
	h->sampling = true;
	h->begun_ns = post(h, h->head + h->ring_slots - h->caps.nic.reserved_slots);
	return follow(h, h->stream_slot + slots);
}

static void write_frame(struct hwcheck *h, u8 *frame, u32 number)
{
	struct ethhdr *header = (struct ethhdr *)frame;
	__be32 payload[] = { htonl(TRIAL_MAGIC), htonl(number) };

	eth_broadcast_addr(header->h_dest);
	ether_addr_copy(header->h_source, h->dev->dev_addr);
	header->h_proto = htons(TRIAL_TYPE);
	memcpy(header + 1, payload, sizeof(payload));
}

/*
 * Always the slot the index stands at: it can still be written, or is on the wire, as the index
 * tells of fetching or of what has left. If of fetching, what is behind is of interest, too.
 */
static u64 nearest(const struct hwcheck *h)
{
	u64 back = h->caps.nic.index_counts_done ? 1 : max(h->caps.nic.prefetch_slots_max, 1u);

	return h->head + 1 - min(back, h->head);
}

/* Slots from the index on that are beyond what may have been fetched, if the driver says so. */
static u32 furthest_slots(const struct hwcheck *h)
{
	return min_t(u32, h->ring_slots / 2, 2 * h->caps.nic.prefetch_slots_max + 16);
}

/*
 * Slots after which one has left, if the index is of fetched frames, too; it is far from coming
 * round.
 */
static u32 late_slots(const struct hwcheck *h)
{
	return min_t(u32, h->caps.nic.prefetch_slots_max, h->ring_slots / 4);
}

/*
 * Frames into slots ever further from the wire: which of them arrive tells how far ahead slots
 * are fetched. Each is a placeholder again before it comes round.
 */
static int try_slots(struct hwcheck *h)
{
	u32 furthest = furthest_slots(h);
	u32 trials = min_t(u32, TRIALS_EACH * furthest, HWCHECK_TRIALS);

	for (h->trials = 0; h->trials < trials; h->trials++) {
		struct hwcheck_trial *trial = &h->trial[h->trials];
		u32 moved;
		int error = look(h, &moved);
		u32 idx;

		if (error)
			return error;
		trial->index = h->head;
		trial->slot = nearest(h) + h->trials % furthest;
		idx = desc(h, trial->slot);
		write_frame(h, h->native.ops->buffer(h->native.nic, idx), h->trials);
		h->native.ops->commit(h->native.nic, idx, h->slot_bytes, TRIAL_BYTES, TRIAL_BYTES);
		trial->at_ns = now(h);
		error = look(h, &moved);
		trial->after = h->head;
		if (error)
			return error;
		error = follow(h, trial->slot + 2 + late_slots(h));
		if (error)
			return error;
		h->native.ops->retire(h->native.nic, idx, h->slot_bytes, TRIAL_BYTES);
	}
	return 0;
}

/*
 * A frame in fragments, of which those not in @fresh are placeholders again before the NIC has come
 * there: what it finds if it fetches between two stores, or looks at a descriptor twice. The bytes
 * stay, as each fragment begins like a frame of its own.
 */
static int mix(struct hwcheck *h, u32 number, u32 fresh)
{
	const struct kpn_span span = {
		.slots = HWCHECK_FRAGMENTS,
		.fragments = HWCHECK_FRAGMENTS,
		.frame_bytes = HWCHECK_FRAGMENTS * FRAGMENT_BYTES,
		.fragment_bytes = FRAGMENT_BYTES,
	};
	const struct kpn_nic_ops *ops = h->native.ops;
	void *nic = h->native.nic;
	u64 slot = h->head + furthest_slots(h);
	int error;
	u32 i;

	for (i = 0; i < HWCHECK_FRAGMENTS; i++)
		write_frame(h, ops->buffer(nic, desc(h, slot + i)), number + i);
	ops->commit_fragments(nic, desc(h, slot), &span, span.frame_bytes - KPN_FCS_BYTES);
	for (i = 0; i < HWCHECK_FRAGMENTS; i++) {
		if (!(fresh & BIT(i)))
			ops->retire(nic, desc(h, slot + i), h->slot_bytes, 0);
	}
	h->mixture[h->mixtures++] = (struct hwcheck_mixture){ .number = number, .fresh = fresh };
	error = follow(h, slot + HWCHECK_FRAGMENTS + 1 + late_slots(h));
	for (i = HWCHECK_FRAGMENTS; !error && i--;)
		ops->retire(nic, desc(h, slot + i), h->slot_bytes, FRAGMENT_BYTES);
	return error;
}

/* All mixtures of old and new descriptors, that of new ones alone among them. */
static int mix_fragments(struct hwcheck *h)
{
	const struct kpn_nic_caps *nic = &h->caps.nic;
	u32 posted = h->ring_slots - nic->reserved_slots - POST_SLOTS;
	u32 furthest = furthest_slots(h);
	int error = 0;
	u32 i;

	if (nic->fragments_max < HWCHECK_FRAGMENTS || furthest <= nic->prefetch_slots_max ||
	    furthest + HWCHECK_FRAGMENTS > posted ||
	    !(nic->placeholder_kinds & BIT(KPN_PLACEHOLDER_BAD_FCS)))
		return 0;
	/* fragments are shorter than slots */
	h->sampling = false;
	for (i = 0; !error && i < HWCHECK_MIXTURES; i++)
		error = mix(h, MIXTURE_NUMBER + i * HWCHECK_FRAGMENTS,
			    1 + i % ((1 << HWCHECK_FRAGMENTS) - 1));
	return error;
}

static int claim(struct hwcheck *h)
{
	const struct kpn_nic_caps *nic = &h->caps.nic;
	struct keepon_native_setup setup = {
		.slot_bytes = h->slot_bytes,
		.buffer_bytes = h->slot_bytes,
		.placeholder = KPN_PLACEHOLDER_BAD_FCS,
	};

	while (setup.placeholder < KPN_PLACEHOLDER_COUNT &&
	       !(nic->placeholder_kinds & BIT(setup.placeholder)))
		setup.placeholder++;
	/* only placeholders with a bad FCS may be written over in place */
	setup.spare_buffers = nic->has_spare_buffers;
	h->ring_slots = clamp_t(u32, RING_SLOTS, nic->ring_slots_min, nic->ring_slots_max);
	h->ring_slots -= h->ring_slots % max_t(u32, nic->ring_slots_multiple, 1);
	setup.ring_slots = h->ring_slots;
	return h->driver->claim(h->dev, &setup, &h->native);
}

int hwcheck_run(struct hwcheck *h)
{
	int error = claim(h);

	if (error)
		return error;
	h->driver->reset(h->dev, &h->native);
	find_tick(h);
	h->asked_ns = now(h);
	error = restart(h) ?: stream(h) ?: try_slots(h) ?: mix_fragments(h);
	h->native.ops->halt(h->native.nic);
	h->driver->reset(h->dev, &h->native);
	h->driver->release(h->dev, &h->native);
	return error;
}
