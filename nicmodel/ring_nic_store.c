/* SPDX-License-Identifier: BSD-3-Clause */
/* What the CPU stores into descriptors and buffers, each at its time. */
#include "ring_nic_private.h"

/* Of a set of which no summary is kept. */
static void bit_put(struct ring_nic_bits *bits, uint32_t idx, bool value)
{
	uint64_t *word = &bits->word[idx / 64];
	uint64_t mask = (uint64_t)1 << idx % 64;

	*word = value ? *word | mask : *word & ~mask;
}

static void bit_assign(struct ring_nic_bits *bits, uint32_t idx, bool value)
{
	const uint64_t *word = &bits->word[idx / 64];
	uint64_t mask = (uint64_t)1 << idx / 64;

	bit_put(bits, idx, value);
	bits->summary = *word ? bits->summary | mask : bits->summary & ~mask;
}

/* A length out of range becomes the nearest within; a seal is gone. */
static void describe(struct ring_nic *nic, uint32_t idx, uint32_t frame_bytes,
		     enum ring_nic_kind kind)
{
	bool fragment = kind >= RING_NIC_CONTINUED;
	uint64_t min = fragment ? 1 : nic->params.frame_bytes_min;
	uint64_t bytes = ring_nic_min(ring_nic_max(frame_bytes, min), nic->params.frame_bytes_max);

	if (fragment)
		bytes = ring_nic_min(bytes, nic->params.buffer_stride);
	nic->desc[idx].frame_bytes = (uint16_t)bytes;
	bit_put(&nic->blank, idx, false);
	bit_put(&nic->fragment, idx, fragment);
	bit_put(&nic->continued, idx, kind == RING_NIC_CONTINUED);
	bit_assign(&nic->real, idx, kind == RING_NIC_WHOLE || kind == RING_NIC_SEALED);
	bit_assign(&nic->special, idx,
		   kind != RING_NIC_PLACEHOLDER || bytes != nic->params.nominal_bytes);
}

uint8_t *ring_nic_buffer(struct ring_nic *nic, uint32_t desc_idx, uint64_t now_ps)
{
	ring_nic_advance(nic, now_ps);
	return ring_nic_cpu_memory(nic, desc_idx);
}

void ring_nic_commit(struct ring_nic *nic, uint32_t desc_idx, uint32_t frame_bytes,
		     uint32_t data_bytes, uint32_t written_bytes, uint64_t now_ps)
{
	struct ring_nic_desc *desc = &nic->desc[desc_idx];

	ring_nic_advance(nic, now_ps);
	data_bytes = (uint32_t)ring_nic_min(data_bytes, nic->params.buffer_stride);
	written_bytes = (uint32_t)ring_nic_min(written_bytes, nic->params.buffer_stride);
	if (!nic->params.coherent)
		memcpy(ring_nic_memory(nic, desc_idx), ring_nic_cpu_memory(nic, desc_idx),
		       written_bytes);
	desc->data_bytes = (uint16_t)data_bytes;
	desc->sum = ring_nic_data_sum(ring_nic_memory(nic, desc_idx), data_bytes);
	desc->stale_at =
		nic->params.coherent ? RING_NIC_FRESH : ring_nic_first_stale(nic, desc_idx);
	describe(nic, desc_idx, frame_bytes, RING_NIC_WHOLE);
}

void ring_nic_retire(struct ring_nic *nic, uint32_t desc_idx, uint32_t frame_bytes,
		     uint32_t data_bytes, uint64_t now_ps)
{
	ring_nic_advance(nic, now_ps);
	describe(nic, desc_idx, frame_bytes, RING_NIC_PLACEHOLDER);
	data_bytes = (uint32_t)ring_nic_min(data_bytes, nic->params.buffer_stride);
	memset(ring_nic_cpu_memory(nic, desc_idx), 0, data_bytes);
	if (!nic->params.coherent)
		memset(ring_nic_memory(nic, desc_idx), 0, data_bytes);
}

void ring_nic_set_length(struct ring_nic *nic, uint32_t desc_idx, uint32_t frame_bytes,
			 uint64_t now_ps)
{
	enum ring_nic_kind kind;

	ring_nic_advance(nic, now_ps);
	if (ring_nic_bit_test(&nic->fragment, desc_idx))
		kind = ring_nic_bit_test(&nic->continued, desc_idx) ? RING_NIC_CONTINUED :
								      RING_NIC_LAST;
	else
		kind = ring_nic_bit_test(&nic->real, desc_idx) ? RING_NIC_WHOLE :
								 RING_NIC_PLACEHOLDER;
	describe(nic, desc_idx, frame_bytes, kind);
}

void ring_nic_commit_fragment(struct ring_nic *nic, uint32_t desc_idx, uint32_t bytes, bool last,
			      uint64_t now_ps)
{
	struct ring_nic_desc *desc = &nic->desc[desc_idx];

	ring_nic_advance(nic, now_ps);
	describe(nic, desc_idx, bytes, last ? RING_NIC_LAST : RING_NIC_CONTINUED);
	if (!nic->params.coherent)
		memcpy(ring_nic_memory(nic, desc_idx), ring_nic_cpu_memory(nic, desc_idx),
		       desc->frame_bytes);
	desc->stale_at =
		nic->params.coherent ? RING_NIC_FRESH : ring_nic_first_stale(nic, desc_idx);
}

void ring_nic_seal(struct ring_nic *nic, uint32_t first_idx, uint32_t fragments, uint64_t now_ps)
{
	uint32_t last_idx = first_idx + fragments - 1;
	struct ring_nic_desc *last;
	uint32_t idx = first_idx;
	uint32_t total = 0;

	ring_nic_advance(nic, now_ps);
	if (!fragments || fragments > nic->params.ring_slots)
		return;
	if (last_idx >= nic->params.ring_slots)
		last_idx -= nic->params.ring_slots;
	last = &nic->desc[last_idx];
	if (!ring_nic_bit_test(&nic->fragment, last_idx) ||
	    ring_nic_bit_test(&nic->continued, last_idx) ||
	    ring_nic_bit_test(&nic->blank, last_idx) || last->frame_bytes < RING_NIC_FCS_BYTES)
		return;
	describe(nic, last_idx, last->frame_bytes, RING_NIC_LAST);
	if (!nic->params.coherent) {
		uint32_t fcs_at = last->frame_bytes - (uint32_t)RING_NIC_FCS_BYTES;

		memcpy(ring_nic_memory(nic, last_idx) + fcs_at,
		       ring_nic_cpu_memory(nic, last_idx) + fcs_at, RING_NIC_FCS_BYTES);
	}
	while (fragments--) {
		uint32_t bytes = nic->desc[idx].frame_bytes;

		if (bytes > nic->params.buffer_stride ||
		    total + bytes > nic->params.frame_bytes_max ||
		    ring_nic_bit_test(&nic->blank, idx))
			return;
		memcpy(nic->sealed + total, ring_nic_memory(nic, idx), bytes);
		total += bytes;
		if (++idx == nic->params.ring_slots)
			idx = 0;
	}
	last->sum = ring_nic_data_sum(nic->sealed, total);
	last->data_bytes = (uint16_t)total;
	describe(nic, last_idx, last->frame_bytes, RING_NIC_SEALED);
}
