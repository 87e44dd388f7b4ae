/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers of frames, equally long, mapped for their life. Frames are written to or copied out of
 * them: none is ever mapped again.
 */
#ifndef KEEPON_CARD_BUFFERS_H
#define KEEPON_CARD_BUFFERS_H

#include <linux/dma-mapping.h>
#include <linux/string.h>

enum { CARD_BUFFER_BYTES = 2048, CARD_CHUNK = 16 };

/** struct card_chunk - CARD_CHUNK buffers one after the other */
struct card_chunk {
	void *start;
	dma_addr_t dma;
};

/**
 * struct card_buffers - @count buffers in chunks
 * @device: who reaches them
 * @direction: of its accesses
 */
struct card_buffers {
	struct card_chunk *chunk;
	struct device *device;
	u32 count;
	enum dma_data_direction direction;
};

/** card_buffers_alloc() - @count of them, zero. -ENOMEM, also if they cannot be mapped; sleeps */
int card_buffers_alloc(struct card_buffers *buffers, struct device *device, u32 count,
		       enum dma_data_direction direction);
/** card_buffers_free() - nothing if there are none */
void card_buffers_free(struct card_buffers *buffers);

/* Where in its chunk a buffer is. */
static inline u32 card_buffer_at(u32 idx)
{
	return idx % CARD_CHUNK * CARD_BUFFER_BYTES;
}

static inline void *card_buffer(const struct card_buffers *buffers, u32 idx)
{
	return buffers->chunk[idx / CARD_CHUNK].start + card_buffer_at(idx);
}

static inline dma_addr_t card_buffer_dma(const struct card_buffers *buffers, u32 idx)
{
	return buffers->chunk[idx / CARD_CHUNK].dma + card_buffer_at(idx);
}

/** card_buffer_give() - so many bytes of a buffer are the device's to read, or to write */
static inline void card_buffer_give(const struct card_buffers *buffers, u32 idx, u32 from,
				    u32 bytes)
{
	dma_sync_single_for_device(buffers->device, card_buffer_dma(buffers, idx) + from, bytes,
				   buffers->direction);
}

/** card_buffer_take() - what the device has written is seen */
static inline void card_buffer_take(const struct card_buffers *buffers, u32 idx, u32 from,
				    u32 bytes)
{
	dma_sync_single_for_cpu(buffers->device, card_buffer_dma(buffers, idx) + from, bytes,
				buffers->direction);
}

/** card_buffer_zero() - its first bytes are, for the device, too */
static inline void card_buffer_zero(const struct card_buffers *buffers, u32 idx, u32 bytes)
{
	const struct card_chunk *chunk = &buffers->chunk[idx / CARD_CHUNK];

	memset(chunk->start + card_buffer_at(idx), 0, bytes);
	dma_sync_single_for_device(buffers->device, chunk->dma + card_buffer_at(idx), bytes,
				   buffers->direction);
}

#endif
