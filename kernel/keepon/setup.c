// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the attributes of a link to a complete configuration, made from the setup, the backend and
 * the link rate each time the wire starts, so that a link that comes back with another rate gets
 * suitable defaults. First every number gets its default, some of which follow from other
 * attributes; then the attributes replace the defaults.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "keepon.h"
#include "keepon/wire.h"

/*
 * Rate for checking a configuration while the lower device has no carrier; checked again once it
 * has.
 */
#define RATE_BPS_ASSUMED 1000000000ull

/*
 * Interrupts stay off for a millisecond and more at times (loading a module is enough), so more is
 * posted than the core's default: posted slots can still be replaced. With more than this, a clock
 * adjustment, which plans all of them again, would take too long.
 */
#define KEEPON_POSTED_NS_DEFAULT 2560000ull
#define KEEPON_DEPTH_SLOTS_LEAST 256

/*
 * 1, 5 and 10 us at 1 Gb/s. The shortest has the least possible padding if frames may have
 * fragments; otherwise every other slot of a long frame is a placeholder, which costs too much.
 */
static const u32 slot_bytes_usual[] = { 105, 605, KEEPON_SLOT_BYTES_PUBLISHED };

/* Least budget of a call; it grows with longer batches and need not shrink with short ones. */
#define KEEPON_BUDGET_FRAMES_LEAST 32

/*
 * Default time between two polls. At 1 Gb/s a quarter of the depth is shorter. On slower links
 * longer intervals would save hardly any interrupts, and frames should not wait longer for
 * completion.
 */
#define KEEPON_POLL_NS_DEFAULT NSEC_PER_MSEC

/*
 * Most polls a second by depth, four to a depth. At 3000 instructions each, interrupt included,
 * they leave two thirds of a CPU of 500 million instructions a second, and the wire is busy while a
 * poll waits for a longest frame. A batch may require more, up to what the backend sustains.
 */
#define KEEPON_POLLS_MAX 50000

void keepon_plan_free(struct keepon_plan *plan)
{
	kvfree(plan->masks);
	memset(plan, 0, sizeof(*plan));
}

u32 keepon_row_slots(const u16 *masks, u32 slots, u32 tc)
{
	u32 most = tc < KPN_CLASS_COUNT ? kpn_masks_row_max(masks, slots, tc) : 0;
	bool any = !most;

	for (tc = 0; any && tc < KPN_CLASS_COUNT; tc++)
		most = max(most, kpn_masks_row_max(masks, slots, tc));
	return most;
}

/*
 * A batch whose polls the backend sustains, with part of each period kept free: by default half of
 * it in paper mode, so that the batch is twice as long.
 */
static u32 least_batch(const struct kpn_config *config, const struct keepon_setup *setup,
		       const struct kpn_nic_caps *caps)
{
	bool halved = config->mode == KPN_MODE_PAPER &&
		      !(setup->given & BIT_ULL(IFLA_KEEPON_POLL_OVERHEAD_NS));
	u32 least =
		kpn_config_batch_least(caps, config->rate_bps, config->slot_bytes,
				       keepon_setup_number(setup, IFLA_KEEPON_POLL_OVERHEAD_NS, 0));

	return max(config->batch_slots, halved ? 2 * least : least);
}

/*
 * An interrupt costs several times as much as the poll in it, so there are few of them. Polls post
 * once a batch is free: with a quarter of the depth, at least half of it is posted when a poll
 * comes. Paper mode posts nothing beyond the batch, and a receive ring of small frames is full
 * sooner.
 */
static u32 default_batch(const struct kpn_config *config, const struct keepon_setup *setup,
			 u32 depth, u32 least)
{
	u64 slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * kpn_byte_time_ps(config->rate_bps);
	u64 clock = keepon_setup_number(setup, IFLA_KEEPON_CLOCK, config->clock_read);
	u32 batch = least;

	if (config->mode != KPN_MODE_PAPER && clock != KEEPON_CLOCK_DUAL && slot_ps) {
		u64 poll_slots = div64_u64(KEEPON_POLL_NS_DEFAULT * 1000, slot_ps);

		batch = max_t(u32, batch, min_t(u64, depth / 4, poll_slots));
	}
	return min(batch, depth);
}

/*
 * Slots fetched ahead, and those of a restart, must be posted at every poll, or the wire is
 * suspected to be idle; three quarters of the depth always are.
 */
static u32 depth_usual(const struct kpn_config *config, const struct kpn_nic_caps *caps)
{
	u64 slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * kpn_byte_time_ps(config->rate_bps);
	u64 least = KEEPON_DEPTH_SLOTS_LEAST;
	u64 posted = caps->prefetch_slots_max;

	if (slot_ps) {
		least = max(least, div64_u64(KEEPON_POSTED_NS_DEFAULT * 1000, slot_ps));
		posted += div64_u64(caps->restart_ns_max * 1000ull, slot_ps) + 1;
	}
	return clamp_t(u64, posted + posted / 3, min_t(u64, least, caps->ring_slots_max),
		       caps->ring_slots_max);
}

/* Descriptors of a ring that are not posted, so that neither tail nor head divides a frame. */
static u32 spare_slots(u32 frame_slots)
{
	return 2 * (frame_slots - 1);
}

/* The core's default, or a power of two with room for (nearly) the usual depth. */
static u32 default_ring_slots(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			      u32 depth, u32 frame_slots)
{
	u32 room = depth - depth / 16 + spare_slots(frame_slots) + caps->reserved_slots;

	if (config->mode == KPN_MODE_PAPER)
		return config->ring_slots;
	return clamp_t(u32, roundup_pow_of_two(room), config->ring_slots, caps->ring_slots_max);
}

/*
 * Most slots to post in a ring with room for frames of @frame_slots; if no ring is deep enough for
 * the longest frames, for the longest that fit.
 */
static u32 deepest(const struct kpn_nic_caps *caps, u32 posted_max, u32 frame_slots)
{
	u32 room =
		posted_max > caps->prefetch_slots_max ? posted_max - caps->prefetch_slots_max : 0;

	return posted_max - spare_slots(clamp_t(u32, room / 3, 1, frame_slots));
}

/*
 * Ring, depth and batch depend on each other: those not given follow from the others.
 * @frame_slots: of the longest frame
 */
static void default_ring(struct kpn_config *config, const struct keepon_setup *setup,
			 const struct kpn_nic_caps *caps, u32 frame_slots)
{
	u32 least = least_batch(config, setup, caps);
	u32 batch = keepon_setup_number(setup, IFLA_KEEPON_BATCH_SLOTS, least);
	u32 usual = depth_usual(config, caps);
	u32 posted_max;
	u32 depth;

	config->ring_slots =
		keepon_setup_number(setup, IFLA_KEEPON_RING_SLOTS,
				    default_ring_slots(config, caps, usual, frame_slots));
	posted_max = config->ring_slots > caps->reserved_slots ?
			     config->ring_slots - caps->reserved_slots :
			     1;
	depth = min(batch, posted_max);
	if (config->mode != KPN_MODE_PAPER)
		depth = max_t(u64, depth,
			      min_t(u64, max3((u64)usual, 4ull * batch, (u64)config->depth_slots),
				    deepest(caps, posted_max, frame_slots)));
	depth = keepon_setup_number(setup, IFLA_KEEPON_DEPTH_SLOTS, depth);
	/* A value that was given stays as it is, to be refused by its name. */
	if (!(setup->given & BIT_ULL(IFLA_KEEPON_BATCH_SLOTS)))
		batch = default_batch(config, setup, depth, least);
	config->batch_slots = batch;
	config->depth_slots = depth;
	config->budget_frames = clamp_t(u32, max(2 * batch, frame_slots),
					KEEPON_BUDGET_FRAMES_LEAST, KPN_BUDGET_FRAMES_MAX);
}

static void set_classes(struct kpn_config *config, const struct keepon_setup *setup)
{
	u32 tc;

	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		if (config->mode == KPN_MODE_PAPER)
			config->classes[tc].rounding = KPN_ROUND_FLOOR;
		if (setup->classes[tc][0] != KEEPON_CLASS_KEEP)
			config->classes[tc].late = setup->classes[tc][0];
		if (setup->classes[tc][1] != KEEPON_CLASS_KEEP)
			config->classes[tc].rounding = setup->classes[tc][1];
	}
}

/* Set the class masks of the plan, whose numbers are set: whole repetitions of the masks given. */
static int set_masks(struct keepon_plan *plan, const struct keepon_setup *setup,
		     struct netlink_ext_ack *extack)
{
	struct kpn_config *config = &plan->config;
	u32 slots = config->partition_slots;
	u32 tc;
	u32 i;

	config->allowed = NULL;
	/* Out of range: kpn_config_validate() reports it without reading the masks. */
	if (!slots || slots > KPN_PARTITION_SLOTS_MAX)
		return 0;
	if (setup->allowed && slots % setup->allowed_count) {
		keepon_explain(
			extack,
			"partition_slots %u is no multiple of the %u class masks given; repeat them as a whole",
			slots, setup->allowed_count);
		return -EINVAL;
	}
	plan->masks = kvmalloc_array(slots, sizeof(u16), GFP_KERNEL_ACCOUNT);
	if (!plan->masks)
		return -ENOMEM;
	for (i = 0; i < slots; i++) {
		plan->masks[i] = setup->allowed ? setup->allowed[i % setup->allowed_count] : 0xffff;
		for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++)
			plan->class_slots[tc] += plan->masks[i] >> tc & 1;
	}
	config->allowed = plan->masks;
	return 0;
}

static int check_cpu(struct netlink_ext_ack *extack, const char *name, u32 cpu)
{
	if (cpu < nr_cpu_ids && cpu_online(cpu))
		return 0;
	return keepon_refuse(extack, name, cpu, nr_cpu_ids - 1, "choose a CPU that is online");
}

/* How the pacer reads its clock; a dual clock reads the transmit ring as its merge needs it. */
static int set_clock_read(struct keepon_plan *plan, struct netlink_ext_ack *extack)
{
	struct kpn_config *config = &plan->config;

	config->clock_read = plan->clock;
	if (plan->clock != KEEPON_CLOCK_DUAL)
		return 0;
	config->clock_read =
		plan->merge == KPN_MERGE_PUBLISHED ? KPN_CLOCK_COUNTER : KPN_CLOCK_INTERPOLATED;
	if (config->mode == KPN_MODE_PAPER && plan->merge != KPN_MERGE_PUBLISHED) {
		keepon_explain(
			extack,
			"merge strip: paper mode reads its clocks as counters; choose merge published");
		return -EINVAL;
	}
	return 0;
}

/*
 * With a dual clock two pollers share the CPU's caches; padding on demand keeps both from touching
 * buffers (KeepON paper section A.3).
 */
static void set_padding(struct keepon_plan *plan)
{
	if (plan->config.padding != KEEPON_PADDING_AUTO)
		return;
	plan->config.padding = plan->clock == KEEPON_CLOCK_DUAL && plan->caps.has_spare_buffers ?
				       KPN_PADDING_ON_DEMAND :
				       KPN_PADDING_DEFERRED;
}

/*
 * In paper mode only one batch is posted, so a poll a batch after the last is too late: half of it
 * is kept for timer and poll. Otherwise the slots posted beyond the batch cover that.
 */
static u32 default_overhead_ns(const struct kpn_config *config)
{
	u64 slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * kpn_byte_time_ps(config->rate_bps);

	if (config->mode != KPN_MODE_PAPER)
		return config->poll_overhead_ns;
	return min_t(u64, div_u64(slot_ps * config->batch_slots, 2000), U32_MAX);
}

static int check_receive_ring(struct keepon_plan *plan, struct net_device *lower,
			      struct netlink_ext_ack *extack)
{
	struct kpn_rx_config config;
	const char *problem;
	int error;

	if (plan->clock != KEEPON_CLOCK_DUAL)
		return 0;
	error = keepon_lower_rx_caps(lower, &plan->rx_caps, extack);
	if (error)
		return error;
	keepon_dual_config(plan, &config);
	problem = kpn_rx_problem(&config);
	if (!problem)
		return 0;
	keepon_explain(
		extack,
		"clock dual: %s for the receive ring of %s; choose a smaller batch or another clock",
		problem, lower->name);
	return -EINVAL;
}

/* The backend decides whether polls may run in interrupts. */
static int check_context(const struct keepon_plan *plan, const struct net_device *lower,
			 struct netlink_ext_ack *extack)
{
	if (plan->context == KEEPON_CONTEXT_HARDIRQ || plan->poll == KEEPON_POLL_THREAD)
		return 0;
	keepon_explain(
		extack,
		"poll hrtimer: the ring of %s cannot be served in interrupts; choose poll thread",
		lower->name);
	return -EINVAL;
}

/* As long as the masks given; in paper mode as long as the ring, if the masks divide it. */
static u32 default_partition(const struct keepon_plan *plan, const struct keepon_setup *setup)
{
	u32 slots = setup->allowed ? setup->allowed_count : 1;

	return plan->config.mode == KPN_MODE_PAPER && plan->config.ring_slots % slots == 0 ?
		       plan->config.ring_slots :
		       slots;
}

/* The longest frame given, or the backend's; in paper mode no frame takes several slots. */
static u32 longest_frame(const struct keepon_plan *plan, const struct keepon_setup *setup)
{
	u32 most = min_t(u32, plan->caps.frame_bytes_max, KPN_FRAME_BYTES_MAX);

	if (plan->config.mode == KPN_MODE_PAPER)
		most = 0;
	return keepon_setup_number(setup, IFLA_KEEPON_FRAME_BYTES, most);
}

/* Slots of the longest frame, ignoring any lack of room; options are not validated yet. */
static u32 longest_frame_slots(const struct keepon_plan *plan, const struct keepon_setup *setup)
{
	struct keepon_plan asked = *plan;

	asked.config.padding = KEEPON_PADDING_AUTO;
	keepon_setup_lay(setup, &asked, NULL);
	set_padding(&asked);
	return clamp_t(
		u32,
		kpn_config_frame_slots(&asked.config, &asked.caps, longest_frame(&asked, setup)), 1,
		KPN_SPAN_SLOTS_MAX);
}

static void set_defaults(struct keepon_plan *plan, const struct keepon_setup *setup, u64 rate_bps,
			 u32 slot_bytes)
{
	struct kpn_config *config = &plan->config;
	bool paper;

	kpn_config_defaults(
		config, &plan->caps, rate_bps ?: RATE_BPS_ASSUMED,
		keepon_setup_number(setup, IFLA_KEEPON_SLOT_BYTES,
				    min_t(u32, slot_bytes, plan->caps.frame_bytes_max)));
	config->mode = keepon_setup_number(setup, IFLA_KEEPON_MODE, config->mode);
	paper = config->mode == KPN_MODE_PAPER;
	default_ring(config, setup, &plan->caps, longest_frame_slots(plan, setup));
	config->partition_slots = default_partition(plan, setup);
	config->padding = KEEPON_PADDING_AUTO;
	config->poll_overhead_ns = default_overhead_ns(config);
	plan->poll = KEEPON_POLL_HRTIMER;
	plan->rx_poll_cpu = keepon_setup_number(setup, IFLA_KEEPON_POLL_CPU, plan->poll_cpu);
	plan->txtime = KEEPON_TXTIME_PHC;
	plan->clock = paper ? KPN_CLOCK_COUNTER : config->clock_read;
	plan->merge = paper ? KPN_MERGE_PUBLISHED : KPN_MERGE_STRIP;
}

/* A given depth may take more polls than the default, but not all of a CPU. */
static int check_polls(const struct keepon_plan *plan, const struct keepon_setup *setup,
		       struct netlink_ext_ack *extack)
{
	const struct kpn_config *config = &plan->config;
	u64 slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * kpn_byte_time_ps(config->rate_bps);
	u64 depth_ps = config->depth_slots * slot_ps;
	u64 asked = BIT_ULL(IFLA_KEEPON_DEPTH_SLOTS) | BIT_ULL(IFLA_KEEPON_RING_SLOTS);

	if (config->mode == KPN_MODE_PAPER || !(setup->given & asked) ||
	    setup->given & BIT_ULL(IFLA_KEEPON_BATCH_SLOTS) ||
	    depth_ps * KEEPON_POLLS_MAX >= 4 * PSEC_PER_SEC)
		return 0;
	keepon_explain(
		extack,
		"depth_slots %u makes %llu polls a second, and %u are the most; a depth of %llu is enough, or longer slots are",
		config->depth_slots, div64_u64(4 * PSEC_PER_SEC, depth_ps), KEEPON_POLLS_MAX,
		DIV64_U64_ROUND_UP(4 * PSEC_PER_SEC / KEEPON_POLLS_MAX, slot_ps));
	return -EINVAL;
}

static int work_out(struct keepon_plan *plan, const struct keepon_setup *setup, u64 rate_bps,
		    u32 slot_bytes, struct netlink_ext_ack *extack)
{
	struct kpn_config *config = &plan->config;
	struct kpn_problem problem;
	bool wrong;
	int error;

	set_defaults(plan, setup, rate_bps, slot_bytes);
	error = keepon_setup_lay(setup, plan, extack);
	if (!error)
		error = check_cpu(extack, "poll_cpu", plan->poll_cpu);
	if (!error)
		error = check_cpu(extack, "rx_poll_cpu", plan->rx_poll_cpu);
	if (!error)
		error = set_clock_read(plan, extack);
	if (!error)
		error = set_masks(plan, setup, extack);
	if (error)
		return error;
	set_padding(plan);
	set_classes(config, setup);
	config->frame_bytes_max = longest_frame(plan, setup);
	wrong = kpn_config_validate(config, &plan->caps, &problem, 1);
	/* a default frame_bytes_max is the longest for which there is room */
	if (wrong && !strcmp(problem.field, "frame_bytes_max") &&
	    !(setup->given & BIT_ULL(IFLA_KEEPON_FRAME_BYTES))) {
		config->frame_bytes_max = problem.max;
		wrong = kpn_config_validate(config, &plan->caps, &problem, 1);
	}
	if (wrong) {
		keepon_explain(extack, "%s %llu (allowed: %llu to %llu): %s.", problem.field,
			       problem.value, problem.min, problem.max, problem.reason);
		return -EINVAL;
	}
	plan->frame_max = kpn_config_frame_bytes_max(
		config, &plan->caps, keepon_row_slots(plan->masks, config->partition_slots, 0));
	plan->frame_max_any = kpn_config_frame_bytes_max(
		config, &plan->caps,
		keepon_row_slots(plan->masks, config->partition_slots, KPN_CLASS_COUNT));
	return check_polls(plan, setup, extack);
}

bool keepon_setup_counts_slots(const struct keepon_setup *setup)
{
	u64 counted = BIT_ULL(IFLA_KEEPON_RING_SLOTS) | BIT_ULL(IFLA_KEEPON_BATCH_SLOTS) |
		      BIT_ULL(IFLA_KEEPON_DEPTH_SLOTS) | BIT_ULL(IFLA_KEEPON_PARTITION_SLOTS);

	return setup->given & counted || setup->allowed;
}

/*
 * Other modes use the published slots; slot counts that were given should last equally long on any
 * card; and where each slot is a packet of another driver, short ones cost too much.
 */
static bool wants_published_slots(const struct keepon_setup *setup)
{
	return setup->counts_slots ||
	       keepon_setup_number(setup, IFLA_KEEPON_BACKEND, 0) == KEEPON_BACKEND_GENERIC ||
	       keepon_setup_number(setup, IFLA_KEEPON_MODE, 0) == KPN_MODE_PAPER ||
	       keepon_setup_number(setup, IFLA_KEEPON_CLOCK, 0) == KEEPON_CLOCK_DUAL;
}

/* Whether a ring of such slots lasts 2.56 ms, and frames of several slots do not waste the wire. */
static bool slots_suit(const struct kpn_nic_caps *caps, u64 rate_bps, u32 slot_bytes)
{
	u64 slot_ps = (u64)kpn_wire_bytes(slot_bytes) * kpn_byte_time_ps(rate_bps);

	if (slot_bytes == slot_bytes_usual[0] && caps->fragments_max <= 1)
		return false;
	return caps->ring_slots_max * slot_ps >= KEEPON_POSTED_NS_DEFAULT * 1000;
}

/* Limits of the card at the slot length given, or at the shortest usual one that suits it. */
static int choose_slots(struct keepon_plan *plan, const struct keepon_setup *setup,
			struct net_device *lower, u64 *rate_bps, u32 *slot_bytes,
			struct netlink_ext_ack *extack)
{
	u32 last = ARRAY_SIZE(slot_bytes_usual) - 1;
	bool given = setup->given & BIT_ULL(IFLA_KEEPON_SLOT_BYTES);
	u32 i = given || wants_published_slots(setup) ? last : 0;
	int error;

	for (;; i++) {
		struct keepon_native_caps caps = {};
		u32 bytes = keepon_setup_number(setup, IFLA_KEEPON_SLOT_BYTES, slot_bytes_usual[i]);

		*slot_bytes = clamp_t(u32, bytes, KPN_FRAME_BYTES_MIN, KPN_FRAME_BYTES_MAX);
		error = keepon_lower_caps(lower, plan, *slot_bytes, &caps, rate_bps, extack);
		plan->caps = caps.nic;
		plan->claims = caps.claims;
		plan->context = caps.context;
		if (error || i == last ||
		    slots_suit(&plan->caps, *rate_bps ?: RATE_BPS_ASSUMED, *slot_bytes))
			return error;
	}
}

int keepon_plan_make(struct keepon_plan *plan, const struct keepon_setup *setup,
		     struct net_device *lower, struct netlink_ext_ack *extack)
{
	u32 slot_bytes;
	u64 rate_bps = 0;
	int error;

	memset(plan, 0, sizeof(*plan));
	plan->backend = keepon_setup_number(setup, IFLA_KEEPON_BACKEND, KEEPON_BACKEND_NATIVE);
	plan->force = keepon_setup_number(setup, IFLA_KEEPON_FORCE, 0);
	error = choose_slots(plan, setup, lower, &rate_bps, &slot_bytes, extack);
	if (!error)
		error = work_out(plan, setup, rate_bps, slot_bytes, extack) ?:
				check_context(plan, lower, extack)          ?:
				check_receive_ring(plan, lower, extack);
	if (error)
		keepon_plan_free(plan);
	return error;
}
