// SPDX-License-Identifier: GPL-2.0-only
/* Lending the ring: struct keepon_native_driver. Claim, reset and release wait for the wire, as a driver does. */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ring.h"

enum { HISTORY_RUNS = 1024 };

static struct hwsim_nic *lender(struct net_device *dev)
{
	struct hwsim_nic *nic = hwsim_nic_is(dev) ? netdev_priv(dev) : NULL;

	return nic && nic->params.mode == HWSIM_MODE_RING ? nic : NULL;
}

static int native_query(struct net_device *dev, struct kpn_nic_caps *caps)
{
	struct hwsim_nic *nic = lender(dev);

	if (!nic)
		return -EOPNOTSUPP;
	hwsim_ring_caps(nic, caps);
	return 0;
}

/** hwsim_ring_abandon() - the NIC fetches no more, whatever the owner of the ring still asks for; until the next reset */
void hwsim_ring_abandon(struct hwsim_nic *nic)
{
	struct hwsim_visit visit = hwsim_ring_enter(nic);

	if (visit.model)
		ring_nic_advance(visit.model, visit.local_ps);
	if (nic->ring)
		nic->ring->frozen = true;
	hwsim_ring_leave(nic, &visit, false);
}

static bool on_wire(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;
	struct ring_nic_slot last;
	struct hwsim_frame *frame;
	u64 latched = ring_nic_latched(ring->model);

	list_for_each_entry(frame, &nic->port.air, list)
	{
		if (frame->life == ring->life)
			return true;
	}
	return latched && ring_nic_find_slot(ring->model, latched - 1, &last) &&
	       last.start_ps + last.pitch_ps > hwsim_local_now_ps(nic->port.tb);
}

/*
 * What was latched leaves; what is posted beyond was never fetched, and a NIC that is reset forgets it. Then the model is
 * no more and the wire idle. May sleep.
 */
static void stop_model(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;
	unsigned long flags;

	hwsim_ring_abandon(nic);
	spin_lock_irqsave(&nic->port.lock, flags);
	while (ring->model && on_wire(nic)) {
		hwsim_port_kick(&nic->port);
		spin_unlock_irqrestore(&nic->port.lock, flags);
		usleep_range(50, 100);
		spin_lock_irqsave(&nic->port.lock, flags);
	}
	if (ring->model) {
		hwsim_rx_hear(&nic->port, hwsim_local_now_ps(nic->port.tb));
		if (nic->port.record) {
			hwsim_ring_record(nic, ring_nic_latched(ring->model));
			hwsim_record_mark(&nic->port, "reset", ring_nic_latched(ring->model));
		}
		hwsim_ring_add_counters(&ring->gone, ring_nic_read_counters(ring->model));
	}
	ring->model = NULL;
	nic->mac.free_ps = max(nic->mac.free_ps, hwsim_local_now_ps(nic->port.tb));
	spin_unlock_irqrestore(&nic->port.lock, flags);
}

static void native_reset(struct net_device *dev, struct keepon_native *native)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	struct hwsim_ring *ring = nic->ring;
	unsigned long flags;

	stop_model(nic);
	memset(ring->buffers, 0, ring->params.ring_slots * ring->params.buffer_stride);
	spin_lock_irqsave(&nic->port.lock, flags);
	ring->pause_count = 0;
	ring->recorded_seq = 0;
	ring->heard_seq = 0;
	ring->life++;
	ring->params.seed = nic->params.seed + ring->life;
	ring->model = ring_nic_init(ring->memory, &ring->params);
	ring->frozen = false;
	spin_unlock_irqrestore(&nic->port.lock, flags);
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
		.history_runs = HISTORY_RUNS,
		.seed = p->seed,
		.buffer_stride = round_up(HWSIM_FRAME_BYTES_MAX, 64),
		.sink_frame = hwsim_ring_sink,
		.sink = nic,
	};
}

static void free_memory(struct hwsim_ring *ring)
{
	kvfree(ring->memory);
	vfree(ring->buffers);
	ring->memory = NULL;
	ring->buffers = NULL;
}

static int allocate(struct hwsim_nic *nic, const struct keepon_native_setup *setup)
{
	struct hwsim_ring *ring = nic->ring;
	const char *problem;

	set_params(nic, setup);
	ring->buffers = vzalloc(array_size(setup->ring_slots, ring->params.buffer_stride));
	ring->params.buffers = ring->buffers;
	if (!ring->buffers)
		return -ENOMEM;
	problem = ring_nic_problem(&ring->params);
	if (problem) {
		netdev_err(nic->dev, "no ring for keepon: %s\n", problem);
		free_memory(ring);
		return -EINVAL;
	}
	ring->memory = kvzalloc(ring_nic_bytes(&ring->params), GFP_KERNEL);
	if (!ring->memory) {
		free_memory(ring);
		return -ENOMEM;
	}
	return 0;
}

static int native_claim(struct net_device *dev, const struct keepon_native_setup *setup, struct keepon_native *native)
{
	struct hwsim_nic *nic = lender(dev);
	unsigned long flags;
	int err;

	if (!nic)
		return -EOPNOTSUPP;
	if (nic->claimed)
		return -EBUSY;
	if (setup->buffer_bytes > HWSIM_FRAME_BYTES_MAX || setup->placeholder >= KPN_PLACEHOLDER_COUNT)
		return -EINVAL;
	if (!nic->ring)
		nic->ring = kzalloc(sizeof(*nic->ring), GFP_KERNEL);
	if (!nic->ring)
		return -ENOMEM;
	err = allocate(nic, setup);
	if (err)
		return err;
	spin_lock_irqsave(&nic->port.lock, flags);
	nic->claimed = true;
	spin_unlock_irqrestore(&nic->port.lock, flags);
	if (!hwsim_transmit_drain(nic))
		netdev_warn(dev, "frames still waiting after 200 ms were dropped for the new owner of the ring\n");
	hwsim_link_settle(&nic->port);
	nic->port.placeholder_kind = setup->placeholder;
	native->ops = &hwsim_ring_ops;
	native->nic = nic;
	return 0;
}

static void native_release(struct net_device *dev, struct keepon_native *native)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	unsigned long flags;

	if (WARN_ON(!nic->claimed))
		return;
	stop_model(nic);
	free_memory(nic->ring);
	spin_lock_irqsave(&nic->port.lock, flags);
	nic->claimed = false;
	spin_unlock_irqrestore(&nic->port.lock, flags);
	native->ops = NULL;
	native->nic = NULL;
}

/** hwsim_ring_fini() - the NIC goes away; a ring still lent is taken from an owner that missed NETDEV_UNREGISTER */
void hwsim_ring_fini(struct hwsim_nic *nic)
{
	if (!nic->ring)
		return;
	WARN_ON(nic->claimed);
	stop_model(nic);
	free_memory(nic->ring);
	kfree(nic->ring);
	nic->ring = NULL;
}

/** hwsim_ring_pause() - the peer sends PAUSE now; -ENODEV without a running ring, -ENOSPC after too many; any context */
int hwsim_ring_pause(struct hwsim_nic *nic, u64 duration_ps)
{
	struct hwsim_visit visit = hwsim_ring_enter(nic);
	struct hwsim_ring *ring = nic->ring;
	int err = 0;

	if (!visit.model) {
		err = -ENODEV;
	} else if (ring->pause_count == HWSIM_PAUSES_MAX) {
		err = -ENOSPC;
	} else {
		ring_nic_advance(visit.model, visit.local_ps);
		ring->pauses[ring->pause_count++] = (struct ring_nic_pause){ visit.local_ps, duration_ps };
		ring_nic_set_pauses(visit.model, ring->pauses, ring->pause_count);
	}
	hwsim_ring_leave(nic, &visit, true);
	return err;
}

const struct keepon_native_driver keepon_hwsim_native = {
	.name = HWSIM_NAME,
	.query = native_query,
	.claim = native_claim,
	.reset = native_reset,
	.release = native_release,
	.query_rx = hwsim_rx_query,
	.claim_rx = hwsim_rx_claim,
	.release_rx = hwsim_rx_release,
};
EXPORT_SYMBOL_GPL(keepon_hwsim_native);
