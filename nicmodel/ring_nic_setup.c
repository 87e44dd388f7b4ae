/* SPDX-License-Identifier: BSD-3-Clause */
/* Which parameters a ring NIC can have, the memory it needs, and its beginning. */
#include "ring_nic_private.h"

const char *ring_nic_problem(const struct ring_nic_params *params)
{
	if (params->ring_slots < RING_NIC_SLOTS_MIN || params->ring_slots > RING_NIC_SLOTS_MAX)
		return "ring_slots is not within 2-4096";
	if (params->frame_bytes_max > RING_NIC_FRAME_BYTES_MAX ||
	    params->frame_bytes_min > params->frame_bytes_max ||
	    params->frame_bytes_min <= RING_NIC_FCS_BYTES)
		return "frame_bytes_min-frame_bytes_max is not within 5-16384";
	if (params->nominal_bytes < params->frame_bytes_min ||
	    params->nominal_bytes > params->frame_bytes_max)
		return "nominal_bytes is not within frame_bytes_min-frame_bytes_max";
	if (params->prefetch_slots > RING_NIC_PREFETCH_MAX)
		return "prefetch_slots is above 1024";
	if (params->fifo_bytes && params->fifo_bytes < params->frame_bytes_max)
		return "fifo_bytes does not hold one largest frame";
	if (!params->byte_time_ps)
		return "byte_time_ps is 0";
	if (!params->fetch_ps)
		return "fetch_ps is 0: a fetch would come before the write that asks for it";
	if (params->restart_ps_min > params->restart_ps_max ||
	    params->restart_ps_min < params->fetch_ps || params->restart_ps_max >> 32)
		return "restart_ps_min-restart_ps_max is not within fetch_ps-4 ms";
	if (params->index_lag_ps_min > params->index_lag_ps_max || params->index_lag_ps_max >> 32)
		return "index_lag_ps_min-index_lag_ps_max is not within 0-4 ms";
	if (params->index > RING_NIC_INDEX_FETCH)
		return "index is no enum ring_nic_index";
	if (params->clobbers && params->persistent)
		return "clobbers is for descriptors that are not persistent";
	if (!params->coherent && !params->device_buffers)
		return "device_buffers are missing: memory is not coherent";
	if (!params->buffers ||
	    params->buffer_stride + RING_NIC_FCS_BYTES < params->frame_bytes_max)
		return "buffers do not hold a largest frame";
	if (!params->sink_frame)
		return "sink_frame is missing";
	return NULL;
}

/*
 * Doorbells not used up: each raised the tail, so there are at most as many as slots, and one being
 * added.
 */
static uint64_t bell_slots(const struct ring_nic_params *params)
{
	uint64_t slots = 4;

	while (slots < params->ring_slots + 2ull)
		slots *= 2;
	return slots;
}

static size_t state_bytes(void)
{
	return (sizeof(struct ring_nic) + 7) / 8 * 8;
}

size_t ring_nic_bytes(const struct ring_nic_params *params)
{
	return state_bytes() + ring_nic_history_slots(params) * sizeof(struct ring_nic_run) +
	       bell_slots(params) * sizeof(struct ring_nic_bell) +
	       params->ring_slots * sizeof(struct ring_nic_desc) +
	       2 * (size_t)params->frame_bytes_max;
}

struct ring_nic *ring_nic_init(void *memory, const struct ring_nic_params *params)
{
	struct ring_nic *nic = memory;
	uint64_t longest;
	uint32_t idx;

	if (ring_nic_problem(params))
		return NULL;
	memset(memory, 0, ring_nic_bytes(params));
	nic->params = *params;
	nic->run_mask = ring_nic_history_slots(params) - 1;
	nic->bell_mask = bell_slots(params) - 1;
	nic->runs = (struct ring_nic_run *)((uint8_t *)memory + state_bytes());
	nic->bells = (struct ring_nic_bell *)(nic->runs + nic->run_mask + 1);
	nic->desc = (struct ring_nic_desc *)(nic->bells + nic->bell_mask + 1);
	nic->collected = (uint8_t *)(nic->desc + params->ring_slots);
	nic->sealed = nic->collected + params->frame_bytes_max;
	nic->nominal_pitch_ps = ring_nic_pitch_ps(params, params->nominal_bytes);
	nic->gone_ps = RING_NIC_NEVER_PS;
	longest = (params->prefetch_slots + 1ull) * params->frame_bytes_max;
	nic->fifo_limited = params->fifo_bytes && params->fifo_bytes < longest;
	for (idx = 0; idx < params->ring_slots; idx++)
		nic->desc[idx].frame_bytes = (uint16_t)params->nominal_bytes;
	return nic;
}
