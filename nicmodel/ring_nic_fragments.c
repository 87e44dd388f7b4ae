/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes in memory, and frames put together from those of several descriptors. */
#include "ring_nic_private.h"

uint32_t ring_nic_first_stale(const struct ring_nic *nic, uint32_t idx)
{
	const uint8_t *cpu = ring_nic_cpu_memory(nic, idx);
	const uint8_t *device = ring_nic_memory(nic, idx);
	uint32_t i = 0;

	for (; i + sizeof(uint64_t) <= nic->params.buffer_stride; i += (uint32_t)sizeof(uint64_t)) {
		uint64_t a;
		uint64_t b;

		__builtin_memcpy(&a, cpu + i, sizeof(a));
		__builtin_memcpy(&b, device + i, sizeof(b));
		if (a != b)
			break;
	}
	for (; i < nic->params.buffer_stride; i++) {
		if (cpu[i] != device[i])
			return i;
	}
	return RING_NIC_FRESH;
}

/* Four independent lanes: the multiplications overlap. Any change of a byte changes its lane. */
uint64_t ring_nic_data_sum(const uint8_t *data, uint32_t bytes)
{
	uint64_t lane[4] = { 1, 2, 3, 4 };
	uint64_t word[4];
	uint32_t i;

	for (; bytes >= sizeof(word); data += sizeof(word), bytes -= (uint32_t)sizeof(word)) {
		__builtin_memcpy(word, data,
				 sizeof(word)); /* four loads, even in a freestanding build */
		for (i = 0; i < 4; i++)
			lane[i] = (lane[i] ^ word[i]) * 0x9e3779b97f4a7c15ull;
	}
	memset(word, 0, sizeof(word));
	memcpy(word, data, bytes);
	for (i = 0; i < 4; i++)
		lane[i] = (lane[i] ^ word[i]) * 0x9e3779b97f4a7c15ull;
	return lane[0] ^ lane[1] >> 1 ^ lane[2] >> 2 ^ lane[3] >> 3;
}

static void report(struct ring_nic *nic)
{
	nic->frame.frame_bytes = (uint32_t)nic->part_bytes;
	nic->counters.frames++;
	nic->counters.frame_bytes += nic->part_bytes;
	nic->counters.stale += nic->frame.stale;
	nic->params.sink_frame(nic->params.sink, &nic->frame);
}

void ring_nic_latch_part(struct ring_nic *nic, uint64_t latch_ps, uint64_t start_ps, bool late)
{
	uint32_t idx = nic->fetch_idx;
	const struct ring_nic_desc *desc = &nic->desc[idx];
	bool fragment = ring_nic_bit_test(&nic->fragment, idx);
	bool continued = ring_nic_bit_test(&nic->continued, idx);
	bool first = !nic->inside;
	uint64_t end = (first ? 0 : nic->part_bytes) + desc->frame_bytes;

	if (first) {
		nic->frame = (struct ring_nic_frame){
			.seq = nic->fetch_seq,
			.start_ps = start_ps,
			.data = nic->collected,
			.desc_idx = idx,
		};
		nic->spoilt = false;
	} else {
		nic->spoilt |= late;
	}
	if (fragment && end <= nic->params.frame_bytes_max)
		memcpy(nic->collected + end - desc->frame_bytes, ring_nic_memory(nic, idx),
		       desc->frame_bytes);
	nic->part_bytes = end;
	nic->frame.slots++;
	nic->frame.stale |=
		desc->stale_at + (uint64_t)(continued ? 0 : RING_NIC_FCS_BYTES) < desc->frame_bytes;
	nic->inside = continued;
	ring_nic_push(nic, &(struct ring_nic_run){
				   .count = 1,
				   .start_ps = start_ps,
				   .pitch_ps = ring_nic_part_ps(&nic->params, desc->frame_bytes,
								first, continued),
				   .latch_ps = latch_ps,
				   .frame_bytes = desc->frame_bytes,
				   .continues = continued,
			   });
	if (continued)
		return;
	if (fragment && ring_nic_bit_test(&nic->real, idx) && !nic->spoilt &&
	    end == desc->data_bytes &&
	    ring_nic_data_sum(nic->collected, desc->data_bytes) == desc->sum)
		report(nic);
	else if (first)
		nic->counters.placeholders++;
	else
		nic->counters.mixed++;
}
