// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receive ring lent to keepon.ko (`clock dual`; KeepON paper section 4.2, appendix A.3). With
 * the filters of FCS and address off every frame on the wire takes a descriptor, and the producer
 * index counts them. NAPI goes on as ever and waits for nobody: it writes down how long each frame
 * was before its buffer goes back, and who borrows the ring reads it there, or, where NAPI has not
 * been yet, in the status block.
 */
#include <linux/bitfield.h>

#include "genet.h"
#include "keepon/wire.h"

enum {
	/*
	 * Chosen, not measured: the frame goes through the buffers and over the bus before the
	 * index counts it, and the index may move only at the end of the gap.
	 */
	INDEX_LAG_NS_MAX = 3000,
	/* of the log, NAPI may be in the middle of writing so many again */
	LOG_MARGIN = GENET_SLOTS,
};

/* ---- operations; serialised, any context ---- */

static u32 rx_read_index(void *context)
{
	struct genet_nic *nic = context;
	u32 index = genet_rx_index(nic);
	u32 discarded = READ_ONCE(nic->discarded);

	if (index == ~0u)
		return KPN_INDEX_GONE;
	nic->rx_missed += discarded - nic->rx_discarded;
	nic->rx_discarded = discarded;
	return index & RING_INDEX;
}

/* How many frames NAPI has seen from @place on, negative if it has not seen that. */
static s32 seen_since(const struct genet_nic *nic, u64 place)
{
	/* what was seen has its length in the log */
	return (s32)(smp_load_acquire(&nic->rx_seen) - (u32)place);
}

/* Length on the wire of a frame that the index has shown; 0 if nobody knows any more. */
static u32 length_at(struct genet_nic *nic, u64 place)
{
	s32 seen = seen_since(nic, place);
	u32 bytes;

	if (seen <= 0) {
		bytes = genet_rx_wire_bytes(nic, place % GENET_SLOTS);
		/* read before it is known that the buffer had not gone back meanwhile */
		smp_rmb();
		seen = seen_since(nic, place);
		if (seen <= 0)
			return bytes;
	}
	return seen > GENET_RX_LOG - LOG_MARGIN ? 0 : READ_ONCE(nic->rx_log[place % GENET_RX_LOG]);
}

static u32 rx_take(void *context, u32 frames_max, u32 *frame_bytes)
{
	struct genet_nic *nic = context;
	u32 bytes = length_at(nic, nic->rx_taken);
	u32 frames = 1;

	while (frames < frames_max && length_at(nic, nic->rx_taken + frames) == bytes)
		frames++;
	nic->rx_taken += frames;
	if (!bytes) {
		/* an owner that takes so late learns that it does not know where the wire is */
		nic->rx_missed += frames;
		bytes = KPN_FRAME_BYTES_MIN;
	}
	*frame_bytes = bytes;
	return frames;
}

static u64 rx_missed(void *context)
{
	struct genet_nic *nic = context;

	return nic->rx_missed;
}

static const struct keepon_native_rx_ops rx_ops = {
	.read_index = rx_read_index,
	.take = rx_take,
	.missed = rx_missed,
};

/* ---- lending ---- */

int genet_query_rx(struct net_device *dev, struct keepon_native_rx_caps *caps)
{
	*caps = (struct keepon_native_rx_caps){
		.index_modulus = RING_INDEX + 1,
		.lag_ns_max = INDEX_LAG_NS_MAX,
		.frame_bytes_max = CARD_FRAME_BYTES_MAX,
	};
	return 0;
}

/*
 * NAPI is off meanwhile, so that what it has seen is a number. Return: place of the next frame to
 * come
 */
static u64 set_lent(struct genet_nic *nic, bool lent)
{
	u32 index;
	u64 place;

	napi_disable(&nic->card.napi);
	nic->rx_lent = lent;
	genet_open_filters(nic);
	index = genet_rx_index(nic);
	nic->rx_discarded = READ_ONCE(nic->discarded);
	place = nic->rx_place + (u16)(index - (u32)nic->rx_place);
	napi_enable(&nic->card.napi);
	/* what came meanwhile */
	card_poll_now(&nic->card);
	return place;
}

int genet_claim_rx(struct net_device *dev, struct keepon_native_rx *native)
{
	struct genet_nic *nic = netdev_priv(dev);

	if (nic->rx_lent)
		return -EBUSY;
	if (!nic->card.up)
		return -ENETDOWN;
	nic->rx_taken = set_lent(nic, true);
	native->ops = &rx_ops;
	native->nic = nic;
	native->place = nic->rx_taken;
	return 0;
}

void genet_release_rx(struct net_device *dev, struct keepon_native_rx *native)
{
	set_lent(netdev_priv(dev), false);
	native->ops = NULL;
	native->nic = NULL;
}
