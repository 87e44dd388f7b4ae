/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What stands behind the fake NIC of fake_nic.h: its descriptors, their buffers as the CPU wrote
 * them, as they were at the commit and as the device sees them, and its source of chance. For the
 * files of the fake NIC alone: fake_nic.c, which is the NIC by itself, and fake_nic_ops.c, its side
 * towards a driver.
 */
#ifndef KPN_FAKE_NIC_RING_H
#define KPN_FAKE_NIC_RING_H

#include "fake_nic.h"

/**
 * struct fake_desc - a descriptor and the slot it was last latched for
 * @bytes, @data_bytes, @real, @armed: as the CPU left them
 * @fragment: part of a frame, that goes on in the next descriptor if @more
 * @touched: its buffer was handed out since it was last seen to be zero
 * @seq, @start_ps, @end_ps, @pass_ps, @position_ps: of the last latch; @latched: there was one
 * @bell_ps, @restart_ps: of the doorbell that covered its next slot
 */
struct fake_desc {
	u64 seq;
	u64 start_ps;
	u64 end_ps;
	u64 pass_ps;
	u64 position_ps;
	u64 bell_ps;
	u64 restart_ps;
	u32 bytes;
	u32 data_bytes;
	bool real;
	bool fragment;
	bool more;
	bool armed;
	bool touched;
	bool latched;
};

/** fake_draw() - a number from @min to @max */
static inline u64 fake_draw(struct fake_nic *nic, u64 min, u64 max)
{
	u64 span = max - min + 1;
	u64 value;

	nic->random ^= nic->random << 13;
	nic->random ^= nic->random >> 7;
	nic->random ^= nic->random << 17;
	value = nic->random >> 16;
	/* limits themselves are drawn often: that is where bounds break */
	if (nic->random % 8 == 0)
		return min;
	if (nic->random % 8 == 1)
		return max;
	return min + (value - kpn_div_u64(value, span) * span);
}

static inline u32 fake_stride(const struct fake_nic *nic)
{
	return (nic->params.buffer_bytes + 7) & ~7u;
}

static inline u8 *fake_buffer_of(const struct fake_nic *nic, u32 idx)
{
	return nic->buffers + (size_t)idx * fake_stride(nic);
}

static inline u8 *fake_committed_of(const struct fake_nic *nic, u32 idx)
{
	return nic->committed + (size_t)idx * fake_stride(nic);
}

static inline u8 *fake_device_of(const struct fake_nic *nic, u32 idx)
{
	return nic->device + (size_t)idx * fake_stride(nic);
}

static inline bool fake_all_zero(const u8 *data, u32 from, u32 to)
{
	u8 any = 0;

	for (; from < to; from++)
		any |= data[from];
	return !any;
}

/** fake_fcs() - FCS of a frame whose sender computes it */
u32 fake_fcs(const u8 *data, u32 bytes);

/** fake_run() - latch everything due until now */
void fake_run(struct fake_nic *nic);

#endif
