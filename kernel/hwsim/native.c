// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lending the ring: struct keepon_native_driver. Claim, reset and release wait for the wire, as a
 * driver does.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "record.h"
#include "ring.h"
#include "rx_ring.h"

enum {
	HISTORY_RUNS = 1024,
	POOL_FRAMES_MIN = 1024,
	RESET_WAIT_MS = 100,
	BUFFER_BYTES = ALIGN(HWSIM_FRAME_BYTES_MAX + KPN_WIRE_OVERHEAD_BYTES, 64),
};

static struct hwsim_nic *lender(struct net_device *dev)
{
	struct hwsim_nic *nic = hwsim_nic_is(dev) ? netdev_priv(dev) : NULL;

	return nic && nic->params.mode == HWSIM_MODE_RING ? nic : NULL;
}

static bool native_owns(const struct net_device *dev)
{
	return hwsim_nic_is(dev);
}

static int native_query(struct net_device *dev, u32 slot_bytes, struct keepon_native_caps *caps,
			const char **why)
{
	struct hwsim_nic *nic = lender(dev);

	if (!nic || nic->port.removed) {
		if (why)
			*why = nic ? "the NIC was removed; say `insert` in hwsim's control file" :
				     "the NIC is in another mode; create it with mode=ring";
		return -EOPNOTSUPP;
	}
	*caps = (struct keepon_native_caps){
		.claims = KEEPON_CLAIM_PACED | KEEPON_CLAIM_TX_STAMPS | KEEPON_CLAIM_PHC |
			  KEEPON_CLAIM_BAD_FCS,
		.context = KEEPON_CONTEXT_HARDIRQ,
	};
	hwsim_ring_caps(nic, slot_bytes, &caps->nic);
	return 0;
}

/** hwsim_ring_remove() - the NIC is gone: what had not left wholly is cut */
void hwsim_ring_remove(struct hwsim_nic *nic)
{
	struct hwsim_visit visit = hwsim_ring_enter(nic);
	struct hwsim_frame *frame;
	struct hwsim_frame *next;

	nic->port.removed = true;
	if (visit.model) {
		ring_nic_remove(visit.model, visit.local_ps);
		list_for_each_entry_safe(frame, next, &nic->port.air, list)
		{
			if (hwsim_frame_end_ps(frame) <= visit.local_ps)
				continue;
			list_move_tail(&frame->list, &nic->port.dropped);
			nic->ring->cut_frames++;
			hwsim_count(&nic->port, HWSIM_tx_cut, 1);
		}
	}
	hwsim_ring_leave(nic, &visit, false);
}

static bool on_wire(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;
	struct ring_nic_slot last;
	u64 latched = ring_nic_latched(ring->model);

	if (!list_empty(&nic->port.air) &&
	    list_last_entry(&nic->port.air, struct hwsim_frame, list)->life == ring->life)
		return true;
	return latched && ring_nic_find_slot(ring->model, latched - 1, &last) &&
	       last.start_ps + last.pitch_ps > hwsim_local_now_ps(nic->port.tb);
}

/*
 * What was latched leaves; what is posted beyond was never fetched, and a NIC that is reset forgets
 * it, and so what PAUSE holds up for longer than RESET_WAIT_MS. Then the model is no more and the
 * wire idle. May sleep.
 */
static void stop_model(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;
	unsigned long end = jiffies + msecs_to_jiffies(RESET_WAIT_MS);
	unsigned long flags;
	u64 left;

	hwsim_ring_halt(nic);
	raw_spin_lock_irqsave(&nic->port.lock, flags);
	while (ring->model && on_wire(nic) && time_before(jiffies, end)) {
		hwsim_port_kick(&nic->port);
		raw_spin_unlock_irqrestore(&nic->port.lock, flags);
		usleep_range(50, 100);
		raw_spin_lock_irqsave(&nic->port.lock, flags);
	}
	if (ring->model) {
		hwsim_rx_collect(&nic->port, hwsim_local_now_ps(nic->port.tb));
		if (nic->port.record) {
			left = hwsim_ring_left(ring, hwsim_local_now_ps(nic->port.tb));
			hwsim_ring_record(nic, left);
			hwsim_record_mark(&nic->port, "reset", left);
		}
		ring->gone.placeholders =
			hwsim_ring_placeholders(nic, hwsim_local_now_ps(nic->port.tb));
		hwsim_ring_add_counters(&ring->gone, ring_nic_read_counters(ring->model));
	}
	ring->model = NULL;
	nic->mac.free_ps = max(nic->mac.free_ps, hwsim_local_now_ps(nic->port.tb));
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
}

static size_t buffers_bytes(const struct ring_nic_params *params)
{
	return array_size(params->ring_slots, params->buffer_stride);
}

static void native_reset(struct net_device *dev, struct keepon_native *native)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	struct hwsim_ring *ring = nic->ring;
	struct ring_nic *model;
	unsigned long flags;
	u32 idx;

	stop_model(nic); /* from here on nobody looks at the ring */
	memset(ring->buffers, 0, buffers_bytes(&ring->params));
	if (ring->device_buffers)
		memset(ring->device_buffers, 0, buffers_bytes(&ring->params));
	for (idx = 0; idx < ring->params.ring_slots; idx++)
		ring->shadow[idx] = (u16)ring->params.nominal_bytes;
	ring->params.seed = nic->params.seed + ring->life + 1;
	model = ring_nic_init(ring->memory, &ring->params);
	raw_spin_lock_irqsave(&nic->port.lock, flags);
	ring->life++;
	ring->halted = false;
	ring->pause_count = 0;
	ring->recorded_seq = 0;
	ring->rx_seq = 0;
	ring->cut_frames = 0;
	ring->store_count = 0;
	ring->model = model;
	if (nic->port.removed)
		ring_nic_remove(model, hwsim_local_now_ps(nic->port.tb));
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
}

static void set_params(struct hwsim_nic *nic, const struct keepon_native_setup *setup)
{
	const struct hwsim_nic_params *p = &nic->params;

	nic->ring->params = (struct ring_nic_params){
		.ring_slots = setup->ring_slots,
		.nominal_bytes = setup->slot_bytes,
		.frame_bytes_min = HWSIM_FRAME_BYTES_MIN,
		.frame_bytes_max = HWSIM_FRAME_BYTES_MAX,
		.prefetch_slots = p->prefetch,
		.fifo_bytes = p->fifo_bytes,
		.byte_time_ps = nic->port.byte_ps,
		.fetch_ps = p->fetch_ns * 1000ull,
		.restart_ps_min = p->restart_ns_min * 1000ull,
		.restart_ps_max = p->restart_ns_max * 1000ull,
		.index_lag_ps_min = p->index_lag_ns_min * 1000ull,
		.index_lag_ps_max = p->index_lag_ns_max * 1000ull,
		.index = p->index_fetch ? RING_NIC_INDEX_FETCH : RING_NIC_INDEX_DONE,
		.persistent = p->persistent,
		.clobbers = p->clobbers,
		.coherent = p->coherent,
		.history_runs = HISTORY_RUNS,
		.seed = p->seed,
		.buffer_stride = BUFFER_BYTES,
		.sink_frame = hwsim_ring_sink,
		.sink = nic,
	};
}

static void free_memory(struct hwsim_ring *ring)
{
	kvfree(ring->memory);
	vfree(ring->buffers);
	vfree(ring->device_buffers);
	kvfree(ring->shadow);
	ring->memory = NULL;
	ring->buffers = NULL;
	ring->device_buffers = NULL;
	ring->shadow = NULL;
}

static int allocate(struct hwsim_nic *nic, const struct keepon_native_setup *setup)
{
	struct hwsim_ring *ring = nic->ring;
	const char *problem;

	set_params(nic, setup);
	ring->buffers = vzalloc(buffers_bytes(&ring->params));
	if (!ring->params.coherent)
		ring->device_buffers = vzalloc(buffers_bytes(&ring->params));
	ring->shadow = kvcalloc(setup->ring_slots, sizeof(*ring->shadow), GFP_KERNEL);
	ring->params.buffers = ring->buffers;
	ring->params.device_buffers = ring->device_buffers;
	if (!ring->buffers || !ring->shadow || (!ring->params.coherent && !ring->device_buffers))
		goto no_memory;
	problem = ring_nic_problem(&ring->params);
	if (problem) {
		netdev_err(nic->dev, "no ring for keepon: %s\n", problem);
		free_memory(ring);
		return -EINVAL;
	}
	ring->memory = kvzalloc(ring_nic_bytes(&ring->params), GFP_KERNEL);
	if (!ring->memory)
		goto no_memory;
	return 0;

no_memory:
	free_memory(ring);
	return -ENOMEM;
}

/*
 * The port's timer fills it up again, about once for each frame; if it comes late, a ring's worth
 * is missing.
 */
static void fill_pool(struct hwsim_nic *nic, u32 ring_slots)
{
	hwsim_pool_resize(&nic->pool, &nic->port.lock,
			  max_t(u32, ring_slots, POOL_FRAMES_MIN) + nic->params.prefetch + 1);
	hwsim_pool_refill(&nic->pool, &nic->port.lock, GFP_KERNEL);
}

static void set_claimed(struct hwsim_nic *nic, bool claimed)
{
	unsigned long flags;

	netif_tx_lock_bh(nic->dev);
	raw_spin_lock_irqsave(&nic->port.lock, flags);
	nic->claimed = claimed;
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	netif_tx_unlock_bh(nic->dev);
}

static int native_claim(struct net_device *dev, const struct keepon_native_setup *setup,
			struct keepon_native *native)
{
	struct hwsim_nic *nic = lender(dev);
	int err;

	if (!nic || nic->port.removed)
		return -EOPNOTSUPP;
	if (nic->claimed)
		return -EBUSY;
	if (setup->buffer_bytes > BUFFER_BYTES || setup->placeholder >= KPN_PLACEHOLDER_COUNT)
		return -EINVAL;
	if (!nic->ring)
		nic->ring = kzalloc(sizeof(*nic->ring), GFP_KERNEL);
	if (!nic->ring)
		return -ENOMEM;
	err = allocate(nic, setup);
	if (err)
		return err;
	set_claimed(nic, true);
	if (!hwsim_transmit_drain(nic))
		netdev_warn(
			dev,
			"frames still waiting after 200 ms were dropped for the new owner of the ring\n");
	hwsim_link_settle(&nic->port);
	nic->port.placeholder_kind = setup->placeholder;
	fill_pool(nic, setup->ring_slots);
	native->ops = &hwsim_ring_ops;
	native->nic = nic;
	return 0;
}

static void native_release(struct net_device *dev, struct keepon_native *native)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	if (WARN_ON(!nic->claimed))
		return;
	stop_model(nic);
	free_memory(nic->ring);
	hwsim_pool_resize(&nic->pool, &nic->port.lock, 0);
	set_claimed(nic, false);
	netif_tx_wake_all_queues(dev);
	native->ops = NULL;
	native->nic = NULL;
}

/*
 * hwsim_ring_fini() - the NIC goes away; a ring still lent is taken from an owner that missed
 * NETDEV_UNREGISTER
 */
void hwsim_ring_fini(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;
	unsigned long flags;

	if (!ring)
		return;
	WARN_ON(nic->claimed);
	stop_model(nic);
	raw_spin_lock_irqsave(&nic->port.lock, flags);
	nic->ring = NULL;
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	hwsim_pool_resize(&nic->pool, &nic->port.lock, 0);
	free_memory(ring);
	kfree(ring);
}

struct keepon_native_driver hwsim_native = {
	.name = HWSIM_NAME,
	.module = THIS_MODULE,
	.owns = native_owns,
	.query = native_query,
	.claim = native_claim,
	.reset = native_reset,
	.release = native_release,
	.query_rx = hwsim_rx_query,
	.claim_rx = hwsim_rx_claim,
	.release_rx = hwsim_rx_release,
};
