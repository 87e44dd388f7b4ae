// SPDX-License-Identifier: GPL-2.0-only
/*
 * One run of the wire, from claiming the lower device's ring to giving it back. The ring is claimed
 * only while the wire runs: with the upper device down, or without a carrier, the lower one is an
 * ordinary NIC and its driver may be unloaded.
 */
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "keepon.h"

enum { START_TRIES = 8 };

/*
 * Large allocations whose size a user configures: charged to the user, may fail, and must not
 * invoke the OOM killer.
 */
#define KEEPON_GFP (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static void free_engine(struct keepon_engine *engine)
{
	u32 tc;

	for (tc = 0; tc < KPN_CLASS_COUNT; tc++)
		kvfree(engine->frames[tc]);
	kvfree(engine->shares);
	kvfree(engine->memory);
	kfree(engine);
}

/*
 * As many frames of each class as its pre-buffer holds: the queue stops before the core has to
 * refuse one. Clearing all takes ms: between classes other links' polling threads get the CPU.
 */
static int make_pool(struct keepon_engine *engine, const struct kpn_config *config)
{
	u32 tc;
	u32 i;

	engine->held_max = config->prebuffer_frames ?: config->ring_slots;
	/* A quarter, if held_max > 1, is for best effort, which never waits for a txtime. */
	engine->timed_max = max(engine->held_max - DIV_ROUND_UP(engine->held_max, 4), 1u);
	engine->shares =
		kvmalloc_array(KPN_CLASS_COUNT, sizeof(*engine->shares), KEEPON_GFP | __GFP_ZERO);
	if (!engine->shares)
		return -ENOMEM;
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		struct keepon_frame *frame =
			kvmalloc_array(engine->held_max, sizeof(*frame), KEEPON_GFP | __GFP_ZERO);

		if (!frame)
			return -ENOMEM;
		engine->frames[tc] = frame;
		for (i = 0; i < engine->held_max; i++, frame++) {
			frame->next = engine->free[tc];
			engine->free[tc] = frame;
		}
		cond_resched();
	}
	return 0;
}

static struct keepon_engine *make_engine(struct keepon *keepon, struct netlink_ext_ack *extack)
{
	struct keepon_engine *engine = kzalloc(sizeof(*engine), GFP_KERNEL);
	const struct kpn_config *config = &engine->config;
	int error;

	if (!engine)
		return ERR_PTR(-ENOMEM);
	engine->keepon = keepon;
	error = keepon_taprio_prepare(keepon, &engine->config, extack);
	if (error) {
		free_engine(engine);
		return ERR_PTR(error);
	}
	error = -ENOMEM;
	engine->memory = kvmalloc(kpn_pacer_bytes(config), KEEPON_GFP);
	if (engine->memory)
		error = make_pool(engine, config);
	if (error)
		keepon_explain(extack,
			       "there is no memory for %u frames of each class; reduce prebuffer",
			       config->prebuffer_frames);
	else
		error = keepon_poll_prepare(engine, extack);
	if (error) {
		free_engine(engine);
		return ERR_PTR(error);
	}
	return engine;
}

static void give_back(struct keepon_engine *engine)
{
	struct keepon *keepon = engine->keepon;

	keepon_dual_release(engine);
	engine->driver->reset(keepon->lower, &engine->native);
	engine->driver->release(keepon->lower, &engine->native);
	keepon_native_put(engine->driver);
}

static int claim(struct keepon_engine *engine, struct netlink_ext_ack *extack)
{
	struct keepon *keepon = engine->keepon;
	const struct kpn_config *config = &keepon->plan.config;
	/* Paper mode does not trim. */
	u32 trim_bytes = config->mode == KPN_MODE_PHASE_LOCKED ? config->trim_up_bytes : 0;
	/* between two fragments there is neither preamble nor gap */
	u32 fragment_bytes = keepon->plan.caps.fragments_max > 1 ? KPN_WIRE_OVERHEAD_BYTES : 0;
	struct keepon_native_setup setup = {
		.ring_slots = config->ring_slots,
		.slot_bytes = config->slot_bytes,
		.buffer_bytes = max(config->slot_bytes + trim_bytes + fragment_bytes,
				    config->frame_bytes_max),
		.placeholder = config->placeholder,
		.spare_buffers = kpn_config_spare_buffers(config),
	};
	int error;

	engine->driver =
		keepon_native_get(keepon->lower, keepon->plan.backend == KEEPON_BACKEND_GENERIC);
	if (!engine->driver) {
		keepon_explain(extack, "the driver of %s has no descriptor ring to lend",
			       keepon->lower->name);
		return -EOPNOTSUPP;
	}
	error = engine->driver->claim(keepon->lower, &setup, &engine->native);
	if (error) {
		keepon_explain(extack,
			       "the ring of %s is not free (error %d); see who else uses it",
			       keepon->lower->name, error);
		keepon_native_put(engine->driver);
		return error;
	}
	engine->driver->reset(keepon->lower, &engine->native);
	if (keepon_has_card(engine))
		keepon_card_stop(keepon);
	error = keepon_dual_claim(engine, extack);
	if (error)
		give_back(engine);
	return error;
}

/*
 * Making the pacer takes long, so it is done without the lock; the clock that gave its start time
 * may be set meanwhile.
 */
static int make_pacer(struct keepon_engine *engine, u64 *since_ns, u64 *version)
{
	struct keepon *keepon = engine->keepon;
	const struct keepon_plan *plan = &keepon->plan;
	u32 restart_ns = plan->caps.restart_ns_min / 2 + plan->caps.restart_ns_max / 2;
	unsigned long flags;
	s64 start_ns;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	*since_ns = engine->native.ops->cpu_ns(engine->native.nic);
	*version = keepon->down_clock_version;
	start_ns = keepon_clock_read_locked(keepon).ns + restart_ns;
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	engine->pacer = kpn_pacer_init(engine->memory, &engine->config, &plan->caps,
				       engine->native.ops, engine->native.nic, start_ns);
	return engine->pacer ? 0 : -EINVAL;
}

/*
 * Give the pacer the frequency that the PHC had while the wire was down, as far as the trims of
 * this plan can follow. Return: false if they cannot.
 */
static bool take_rate(struct keepon_engine *engine, s64 scaled_ppm)
{
	s64 most = kpn_pacer_scaled_ppm_max(engine->pacer);

	kpn_pacer_adjfine(engine->pacer, clamp(scaled_ppm, -most, most));
	return scaled_ppm >= -most && scaled_ppm <= most;
}

/*
 * Start the wire; until the first poll it lives on the slots posted here. Setting the clock while
 * the pacer is made means another try; their number is limited, as RTNL is held.
 */
static int start_wire(struct keepon_engine *engine)
{
	struct keepon *keepon = engine->keepon;
	bool followed = true;
	bool started = false;
	int tries = START_TRIES;
	s64 scaled_ppm = 0;

	while (!started) {
		unsigned long flags;
		u64 since_ns;
		u64 version;
		int error;

		if (!tries--) {
			netdev_warn(keepon->dev,
				    "the clock was set %d times while the wire started\n",
				    START_TRIES);
			return -EBUSY;
		}
		error = make_pacer(engine, &since_ns, &version);
		if (error)
			return error;
		raw_spin_lock_irqsave(&keepon->lock, flags);
		started = version == keepon->down_clock_version;
		if (started) {
			scaled_ppm = keepon_clock_scaled_ppm_locked(keepon);
			kpn_pacer_start(engine->pacer, since_ns);
			WRITE_ONCE(keepon->phc_info.max_adj, kpn_pacer_rate_ppb_max(engine->pacer));
			if (scaled_ppm)
				followed = take_rate(engine, scaled_ppm);
			keepon_dual_join_locked(engine);
			keepon->engine = engine;
			keepon_taprio_join_locked(keepon);
			keepon_credit_join_locked(keepon);
		}
		raw_spin_unlock_irqrestore(&keepon->lock, flags);
	}
	if (!followed)
		netdev_warn(keepon->dev,
			    "the clock's rate was beyond what the trims follow; it is %d ppb now\n",
			    scaled_ppm < 0 ? -keepon->phc_info.max_adj : keepon->phc_info.max_adj);
	return 0;
}

static int start(struct keepon *keepon, struct netlink_ext_ack *extack)
{
	struct keepon_engine *engine = make_engine(keepon, extack);
	int error;

	if (IS_ERR(engine)) {
		keepon->start_failures++;
		return PTR_ERR(engine);
	}
	error = claim(engine, extack);
	if (error)
		goto free;
	error = start_wire(engine);
	if (error)
		goto give_back;
	keepon->plan.limits = kpn_pacer_limits(engine->pacer);
	keepon_stamp_limit(keepon);
	keepon_poll_begin(engine);
	keepon->starts++;
	napi_enable(&keepon->napi);
	keepon_queue_limits(keepon);
	netif_carrier_on(keepon->dev);
	netif_tx_wake_all_queues(keepon->dev);
	if (keepon_has_card(engine))
		keepon_card_wake(keepon);
	return 0;
give_back:
	give_back(engine);
free:
	keepon_poll_end(engine);
	free_engine(engine);
	keepon->start_failures++;
	return error;
}

static void add_stats(struct kpn_stats *total, const struct kpn_stats *run)
{
	u32 i;

#define ADD(name, text) total->name += run->name;
	KPN_COUNTERS(ADD)
#undef ADD
	for (i = 0; i < KPN_VERDICT_COUNT; i++)
		total->verdicts[i] += run->verdicts[i];
}

/* End the frames of the stopped pacer, a limited number at a time. No other context sees them. */
static void drain(struct keepon_engine *engine)
{
	bool more = true;

	while (more) {
		more = kpn_pacer_drain(engine->pacer);
		local_bh_disable();
		keepon_complete_list(engine->keepon, kpn_pacer_take_ended(engine->pacer));
		local_bh_enable();
		cond_resched();
	}
}

/* The device's totals have the run's counters; add the frames that ended since. */
static void add_ends(struct keepon *keepon, const struct kpn_stats *before,
		     const struct kpn_stats *after)
{
	unsigned long flags;
	u32 i;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	for (i = 0; i < KPN_VERDICT_COUNT; i++)
		keepon->total.verdicts[i] += after->verdicts[i] - before->verdicts[i];
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
}

void keepon_engine_stop(struct keepon *keepon)
{
	struct keepon_engine *engine = keepon->engine;
	struct kpn_stats stats;
	unsigned long flags;
	u32 tc;

	ASSERT_RTNL();
	if (!engine)
		return;
	netif_carrier_off(keepon->dev);
	netif_tx_disable(keepon->dev);
	keepon_poll_end(engine);
	napi_disable(&keepon->napi);
	/*
	 * A poll that saw the carrier just before it dropped may have woken queues. Stop all of
	 * them, or the next start finds nothing to wake in queues that only BQL has stopped.
	 */
	netif_tx_stop_all_queues(keepon->dev);

	raw_spin_lock_irqsave(&keepon->lock, flags);
	keepon_clock_keep_locked(keepon);
	keepon_taprio_leave_locked(keepon);
	kpn_pacer_stop(engine->pacer);
	stats = *kpn_pacer_stats(engine->pacer);
	add_stats(&keepon->total, &stats);
	keepon_dual_add_counters(&keepon->dual_total, engine);
	keepon->engine = NULL;
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	/* A loss of this ring must not stop the next one. */
	WRITE_ONCE(keepon->lost, false);

	local_bh_disable();
	keepon_complete_list(keepon, engine->ended);
	local_bh_enable();
	drain(engine);
	add_ends(keepon, &stats, kpn_pacer_stats(engine->pacer));
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++)
		netdev_tx_reset_queue(netdev_get_tx_queue(keepon->dev, tc));
	if (keepon_has_card(engine))
		keepon_card_stop(keepon);
	give_back(engine);
	free_engine(engine);
	keepon_taprio_stopped(keepon);
}

/* Whether devices and carrier allow a wire to run. */
static bool wanted(const struct keepon *keepon)
{
	return netif_running(keepon->dev) && netif_running(keepon->lower) &&
	       netif_carrier_ok(keepon->lower);
}

/* Rate and limits may have changed: make the plan again from the setup. */
static int renew_plan(struct keepon *keepon, struct netlink_ext_ack *extack)
{
	struct keepon_plan plan;
	int error = keepon_plan_make(&plan, &keepon->setup, keepon->lower, extack);

	if (error)
		return error;
	keepon_plan_free(&keepon->plan);
	keepon->plan = plan;
	return 0;
}

int keepon_engine_begin(struct keepon *keepon, struct netlink_ext_ack *extack)
{
	unsigned int default_mtu = keepon_dev_limits(keepon);
	int error;

	ASSERT_RTNL();
	if (keepon->engine)
		return 0;
	netif_carrier_off(keepon->dev);
	if (!wanted(keepon))
		return 0;
	error = renew_plan(keepon, extack);
	if (error) {
		keepon->start_failures++;
		return error;
	}
	error = start(keepon, extack);
	keepon_dev_refit(keepon, default_mtu);
	return error;
}

/* Whether limits or rate of the lower device differ from those the wire runs with. */
static bool outdated(struct keepon *keepon)
{
	struct keepon_native_rx_caps rx_caps;
	struct keepon_native_caps caps;
	u64 rate_bps;

	if (keepon_lower_caps(keepon->lower, &keepon->plan, keepon->plan.config.slot_bytes, &caps,
			      &rate_bps, NULL) ||
	    rate_bps != keepon->plan.config.rate_bps ||
	    memcmp(&caps.nic, &keepon->plan.caps, sizeof(caps.nic)))
		return true;
	return keepon->plan.clock == KEEPON_CLOCK_DUAL &&
	       (keepon_lower_rx_caps(keepon->lower, &rx_caps, NULL) ||
		memcmp(&rx_caps, &keepon->plan.rx_caps, sizeof(rx_caps)));
}

static int begin_or_say_why(struct keepon *keepon)
{
	struct netlink_ext_ack extack = {};
	int error = keepon_engine_begin(keepon, &extack);

	if (error)
		netdev_err(keepon->dev, "cannot start on %s (error %d): %s\n", keepon->lower->name,
			   error, extack._msg ?: "no details");
	return error;
}

void keepon_engine_follow(struct keepon *keepon)
{
	if (keepon->engine && (!wanted(keepon) || outdated(keepon)))
		keepon_engine_stop(keepon);
	begin_or_say_why(keepon);
}

/* A card may come back by itself, or stay paused for ever; a look every second is enough. */
#define RESTART_DELAY HZ

void keepon_engine_restart(struct keepon *keepon)
{
	if (!keepon->engine)
		return;
	keepon_engine_stop(keepon);
	if (begin_or_say_why(keepon))
		schedule_delayed_work(&keepon->restart, RESTART_DELAY);
}

void keepon_engine_restart_work(struct work_struct *work)
{
	struct keepon *keepon = container_of(to_delayed_work(work), struct keepon, restart);

	/* A deletion of the device waits for this work while it holds RTNL. */
	if (!rtnl_trylock()) {
		schedule_delayed_work(&keepon->restart, 1);
		return;
	}
	if (READ_ONCE(keepon->lost)) {
		WRITE_ONCE(keepon->lost, false);
		keepon_engine_stop(keepon);
		schedule_delayed_work(&keepon->restart, RESTART_DELAY);
	} else if (!keepon->engine && wanted(keepon)) {
		keepon->restarts++;
		if (keepon_engine_begin(keepon, NULL))
			schedule_delayed_work(&keepon->restart, RESTART_DELAY);
	}
	rtnl_unlock();
}

int keepon_engine_replan(struct keepon *keepon, struct keepon_plan *plan,
			 struct netlink_ext_ack *extack)
{
	bool ran = keepon->engine;
	int error = 0;

	ASSERT_RTNL();
	keepon_engine_stop(keepon);
	swap(keepon->plan, *plan);
	if (ran)
		error = start(keepon, extack);
	if (error) {
		swap(keepon->plan, *plan);
		if (start(keepon, NULL))
			netdev_err(keepon->dev,
				   "cannot restart as configured before; set it down and up\n");
		return error;
	}
	keepon_plan_free(plan);
	return 0;
}
