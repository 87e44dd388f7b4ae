// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lending the receive ring: the rest of struct keepon_native_driver. The index counts late;
 * descriptors are given back as they are taken.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "ring.h"
#include "rx_ring.h"

/* Lags are drawn in whole ns, and a CPU reads its clock in whole ns. */
enum { CLOCK_STEP_NS = 1 };

/** hwsim_rx_lent() - an owner has claimed it; RTNL held */
bool hwsim_rx_lent(const struct hwsim_nic *nic)
{
	return nic->port.rx && nic->port.rx->runs;
}

/** hwsim_rx_query() - limits of the receive ring; RTNL held */
int hwsim_rx_query(struct net_device *dev, struct keepon_native_rx_caps *caps)
{
	struct hwsim_nic *nic = hwsim_nic_is(dev) ? netdev_priv(dev) : NULL;
	u32 lag_ns_min;

	if (!nic || !nic->port.rx || nic->port.removed)
		return -EOPNOTSUPP;
	/* The stack may see a frame before the index would have counted it; then it counts. */
	lag_ns_min = min_t(u64, nic->params.rx_lag_ns_min, div_u64(nic->port.rx_latency_ps, 1000));
	*caps = (struct keepon_native_rx_caps){
		.index_modulus = HWSIM_INDEX_MODULUS,
		.lag_ns_min = lag_ns_min > CLOCK_STEP_NS ? lag_ns_min - CLOCK_STEP_NS : 0,
		.lag_ns_max = nic->params.rx_lag_ns_max + CLOCK_STEP_NS,
		.frame_bytes_max = HWSIM_FRAME_BYTES_MAX,
	};
	return 0;
}

/*
 * Let the wire of the locked sender be as it is, or soon will be, at @true_ps. What a bridge
 * forwards has to be gathered first, which cannot be done here: it stands in the air when its timer
 * has come. Return: the sender's time of what reaches the receiver then.
 */
static u64 advance_sender(struct hwsim_port *sender, u64 true_ps)
{
	if (!sender->ops->gather)
		sender->ops->advance(sender, hwsim_local_ps(sender->tb, true_ps));
	return hwsim_local_ps(sender->tb, true_ps - sender->propagation_ps);
}

/* Frames ended until @until_ps, of those held. */
static u32 ended(const struct hwsim_rx_ring *rx, u64 until_ps)
{
	u32 frames = 0;
	u32 i;

	for (i = 0; i < rx->run_count; i++) {
		const struct hwsim_rx_run *run = hwsim_rx_run_at(rx, i);
		u64 count;

		if (run->end_ps > until_ps)
			break;
		count = div64_u64(until_ps - run->end_ps, run->pitch_ps) + 1;
		if (count < run->frames)
			return frames + (u32)count;
		frames += run->frames;
	}
	return frames;
}

static u64 show(struct hwsim_rx_ring *rx, u32 frames)
{
	rx->shown = max3(rx->shown, rx->due, rx->arrived - rx->held + frames);
	return rx->shown;
}

/* Of a locked sender, at @true_ps. */
static u64 index_at(struct hwsim_nic *nic, struct hwsim_port *sender, u64 true_ps)
{
	const struct hwsim_nic_params *p = &nic->params;
	struct hwsim_rx_ring *rx = nic->port.rx;
	u64 arrived_ps = advance_sender(sender, true_ps);
	u64 counted_ps = arrived_ps;
	u64 index;

	if (p->rx_lag_ns_max) {
		u64 lag_ps = 1000 *
			     hwsim_draw(~(p->seed + rx->draws), p->rx_lag_ns_min, p->rx_lag_ns_max);

		counted_ps = hwsim_local_ps(sender->tb, true_ps - sender->propagation_ps - lag_ps);
	}
	hwsim_rx_collect(sender, arrived_ps);
	raw_spin_lock(&rx->lock);
	index = show(rx, ended(rx, counted_ps));
	raw_spin_unlock(&rx->lock);
	return index;
}

static u32 op_read_index(void *context)
{
	struct hwsim_nic *nic = context;
	struct hwsim_rx_ring *rx = nic->port.rx;
	struct hwsim_port *sender;
	struct hwsim_read read;
	unsigned long flags;
	u64 index;

	rcu_read_lock();
	sender = rcu_dereference(nic->port.peer);
	if (sender) {
		raw_spin_lock_irqsave(&sender->lock, flags);
		read = hwsim_read_begin(nic, (nic->params.seed ^ ++rx->draws) << 1);
		index = index_at(nic, sender, read.sample_ps);
		hwsim_wait_until(read.sample_ps);
		if (!list_empty(&sender->air))
			hwsim_port_kick(sender);
		raw_spin_unlock_irqrestore(&sender->lock, flags);
	} else {
		raw_spin_lock_irqsave(&rx->lock, flags);
		read = hwsim_read_begin(nic, ++rx->draws);
		index = show(rx, 0);
		raw_spin_unlock_irqrestore(&rx->lock, flags);
	}
	rcu_read_unlock();
	hwsim_wait_until(read.until_ps);
	return READ_ONCE(nic->port.removed) ? KPN_INDEX_GONE : (u32)(index % HWSIM_INDEX_MODULUS);
}

static u32 op_take(void *context, u32 frames_max, u32 *frame_bytes)
{
	struct hwsim_nic *nic = context;
	struct hwsim_rx_ring *rx = nic->port.rx;
	struct hwsim_rx_run *run;
	unsigned long flags;
	u32 frames = 0;

	raw_spin_lock_irqsave(&rx->lock, flags);
	if (rx->run_count) {
		run = hwsim_rx_run_at(rx, 0);
		frames = (u32)min3((u64)frames_max, (u64)run->frames,
				   rx->shown - (rx->arrived - rx->held));
		*frame_bytes = run->frame_bytes;
		run->end_ps += frames * run->pitch_ps;
		run->frames -= frames;
		rx->held -= frames;
		if (!run->frames) {
			rx->run_first = rx->run_first + 1 < rx->room ? rx->run_first + 1 : 0;
			rx->run_count--;
		}
	}
	raw_spin_unlock_irqrestore(&rx->lock, flags);
	return frames;
}

static u64 op_missed(void *context)
{
	struct hwsim_nic *nic = context;

	return hwsim_rx_missed(&nic->port);
}

static const struct keepon_native_rx_ops rx_ops = {
	.read_index = op_read_index,
	.take = op_take,
	.missed = op_missed,
};

/*
 * hwsim_rx_claim() - from now on every frame that begins to arrive takes a descriptor; RTNL held,
 * may sleep
 */
int hwsim_rx_claim(struct net_device *dev, struct keepon_native_rx *native)
{
	struct hwsim_nic *nic = hwsim_nic_is(dev) ? netdev_priv(dev) : NULL;
	struct hwsim_rx_ring *rx = nic ? nic->port.rx : NULL;
	struct hwsim_port *sender;
	struct hwsim_rx_run *runs;
	unsigned long flags;

	if (!rx || nic->port.removed)
		return -EOPNOTSUPP;
	if (rx->runs)
		return -EBUSY;
	runs = kvcalloc(rx->room, sizeof(*runs), GFP_KERNEL);
	if (!runs)
		return -ENOMEM;
	rcu_read_lock();
	sender = rcu_dereference(nic->port.peer);
	if (sender) {
		raw_spin_lock_irqsave(&sender->lock, flags);
		hwsim_rx_skip(sender, advance_sender(sender, hwsim_true_ps()));
		raw_spin_lock(&rx->lock);
		rx->runs = runs;
		raw_spin_unlock(&rx->lock);
		raw_spin_unlock_irqrestore(&sender->lock, flags);
	} else {
		raw_spin_lock_irqsave(&rx->lock, flags);
		rx->runs = runs;
		raw_spin_unlock_irqrestore(&rx->lock, flags);
	}
	rcu_read_unlock();
	native->ops = &rx_ops;
	native->nic = nic;
	native->place = rx->arrived;
	return 0;
}

/** hwsim_rx_release() - RTNL held, may sleep */
void hwsim_rx_release(struct net_device *dev, struct keepon_native_rx *native)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	struct hwsim_rx_ring *rx = nic->port.rx;
	struct hwsim_rx_run *runs;
	unsigned long flags;

	raw_spin_lock_irqsave(&rx->lock, flags);
	runs = rx->runs;
	rx->runs = NULL;
	rx->run_first = 0;
	rx->run_count = 0;
	rx->held = 0;
	rx->shown = rx->arrived;
	raw_spin_unlock_irqrestore(&rx->lock, flags);
	WARN_ON(!runs);
	kvfree(runs);
	native->ops = NULL;
	native->nic = NULL;
}

/** hwsim_rx_init() - the receive ring of @nic, if it has one to lend; -ENOMEM */
int hwsim_rx_init(struct hwsim_nic *nic)
{
	if (!nic->params.rx_ring)
		return 0;
	nic->port.rx = kzalloc(sizeof(*nic->port.rx), GFP_KERNEL);
	if (!nic->port.rx)
		return -ENOMEM;
	raw_spin_lock_init(&nic->port.rx->lock);
	nic->port.rx->room = nic->params.rx_ring;
	return 0;
}

/** hwsim_rx_fini() - nobody delivers to @nic any more */
void hwsim_rx_fini(struct hwsim_nic *nic)
{
	if (!nic->port.rx)
		return;
	if (WARN_ON(nic->port.rx->runs))
		kvfree(nic->port.rx->runs);
	kfree(nic->port.rx);
	nic->port.rx = NULL;
}
