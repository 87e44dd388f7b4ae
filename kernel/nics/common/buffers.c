// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the kernel, mapped: where the device cannot reach it, or with swiotlb=force,
 * it has copies, and bytes that a driver forgets to give never arrive.
 */
#include <linux/slab.h>

#include "buffers.h"

enum { CHUNK_BYTES = CARD_CHUNK * CARD_BUFFER_BYTES };

static bool chunk_alloc(const struct card_buffers *buffers, struct card_chunk *chunk)
{
	chunk->start = kzalloc(CHUNK_BYTES, GFP_KERNEL);
	if (!chunk->start)
		return false;
	chunk->dma = dma_map_single(buffers->device, chunk->start, CHUNK_BYTES, buffers->direction);
	if (!dma_mapping_error(buffers->device, chunk->dma))
		return true;
	kfree(chunk->start);
	chunk->start = NULL;
	return false;
}

int card_buffers_alloc(struct card_buffers *buffers, struct device *device, u32 count,
		       enum dma_data_direction direction)
{
	u32 chunks = DIV_ROUND_UP(count, CARD_CHUNK);
	u32 i;

	*buffers = (struct card_buffers){
		.chunk = kcalloc(chunks, sizeof(*buffers->chunk), GFP_KERNEL),
		.device = device,
		.count = count,
		.direction = direction,
	};
	if (!buffers->chunk)
		return -ENOMEM;
	for (i = 0; i < chunks; i++) {
		if (!chunk_alloc(buffers, &buffers->chunk[i])) {
			card_buffers_free(buffers);
			return -ENOMEM;
		}
	}
	return 0;
}

void card_buffers_free(struct card_buffers *buffers)
{
	u32 i;

	for (i = 0; buffers->chunk && i * CARD_CHUNK < buffers->count; i++) {
		struct card_chunk *chunk = &buffers->chunk[i];

		if (!chunk->start)
			break;
		dma_unmap_single(buffers->device, chunk->dma, CHUNK_BYTES, buffers->direction);
		kfree(chunk->start);
	}
	kfree(buffers->chunk);
	buffers->chunk = NULL;
}
