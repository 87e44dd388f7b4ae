// SPDX-License-Identifier: GPL-2.0-only
/*
 * From attributes to a complete configuration. What was asked for is kept as it came (struct keepon_setup); everything else is
 * worked out from it, the backend and the link rate each time the wire starts, so a link that comes back with
 * another rate gets defaults that suit it.
 */
#include <linux/slab.h>
#include <net/netlink.h>

#include "keepon.h"
#include "keepon/wire.h"

/* Rate for the check of a configuration while the lower device has no link; checked again when it has. */
#define RATE_BPS_ASSUMED 1000000000ull

/*
 * Interrupts stay off for a millisecond and more at times (loading a module is enough), so more is posted than the core
 * would by itself: what is posted can still be replaced. More than this would make each clock adjustment, which plans all of
 * it anew, too long.
 */
#define KEEPON_DEPTH_SLOTS_DEFAULT 256

const struct nla_policy keepon_policy[IFLA_KEEPON_MAX + 1] = {
	[IFLA_KEEPON_MODE] = { .type = NLA_U8 },
	[IFLA_KEEPON_SLOT_BYTES] = { .type = NLA_U32 },
	[IFLA_KEEPON_RING_SLOTS] = { .type = NLA_U32 },
	[IFLA_KEEPON_BATCH_SLOTS] = { .type = NLA_U32 },
	[IFLA_KEEPON_DEPTH_SLOTS] = { .type = NLA_U32 },
	[IFLA_KEEPON_PARTITION_SLOTS] = { .type = NLA_U32 },
	[IFLA_KEEPON_ALLOWED] = { .type = NLA_BINARY },
	[IFLA_KEEPON_CLASSES] = { .type = NLA_BINARY },
	[IFLA_KEEPON_PREBUFFER] = { .type = NLA_U32 },
	[IFLA_KEEPON_CLOCK] = { .type = NLA_U8 },
	[IFLA_KEEPON_PLACEHOLDER] = { .type = NLA_U8 },
	[IFLA_KEEPON_TRIM] = { .type = NLA_U8 },
	[IFLA_KEEPON_TRIM_DOWN_BYTES] = { .type = NLA_U32 },
	[IFLA_KEEPON_TRIM_UP_BYTES] = { .type = NLA_U32 },
	[IFLA_KEEPON_TOLERANCE_NS] = { .type = NLA_U32 },
	[IFLA_KEEPON_DRIFT_PPB] = { .type = NLA_U32 },
	[IFLA_KEEPON_WANDER_PPB] = { .type = NLA_U32 },
	[IFLA_KEEPON_POLL_OVERHEAD_NS] = { .type = NLA_U32 },
	[IFLA_KEEPON_DITHER] = { .type = NLA_U8 },
	[IFLA_KEEPON_POLL] = { .type = NLA_U8 },
	[IFLA_KEEPON_POLL_CPU] = { .type = NLA_U32 },
	[IFLA_KEEPON_POLL_FIFO] = { .type = NLA_U8 },
	[IFLA_KEEPON_TXTIME] = { .type = NLA_U8 },
	[IFLA_KEEPON_MERGE] = { .type = NLA_U8 },
	[IFLA_KEEPON_TAU_NS] = { .type = NLA_U32 },
	[IFLA_KEEPON_RX_POLL_CPU] = { .type = NLA_U32 },
	[IFLA_KEEPON_PADDING] = { .type = NLA_U8 },
};

/*
 * The kernel's own buffer for a formatted sentence holds 80 characters and is not in 6.1. An answer is copied shortly after RTNL
 * is released; several buffers in turn keep it from being overwritten by then.
 */
void keepon_say(struct netlink_ext_ack *extack, const char *format, ...)
{
	static char sentences[8][256];
	static unsigned int next;
	char *sentence;
	va_list args;

	ASSERT_RTNL();
	if (!extack)
		return;
	sentence = sentences[next++ % ARRAY_SIZE(sentences)];
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentences[0]), format, args);
	va_end(args);
	extack->_msg = sentence;
}

/* ---- struct keepon_setup ---- */

static bool given(const struct keepon_setup *setup, int attribute)
{
	return setup->given >> attribute & 1;
}

void keepon_setup_init(struct keepon_setup *setup)
{
	memset(setup, 0, sizeof(*setup));
	memset(setup->classes, KEEPON_CLASS_KEEP, sizeof(setup->classes));
}

void keepon_setup_free(struct keepon_setup *setup)
{
	kvfree(setup->allowed);
	keepon_setup_init(setup);
}

static int set_masks(struct keepon_setup *setup, const u16 *masks, u32 count)
{
	u16 *copy = kvmalloc_array(count, sizeof(*copy), GFP_KERNEL);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, masks, count * sizeof(*copy));
	kvfree(setup->allowed);
	setup->allowed = copy;
	setup->allowed_count = count;
	return 0;
}

int keepon_setup_copy(struct keepon_setup *to, const struct keepon_setup *from)
{
	*to = *from;
	to->allowed = NULL;
	return from->allowed ? set_masks(to, from->allowed, from->allowed_count) : 0;
}

/* A new table comes with its own length, unless the same message says more. */
static int take_allowed(struct keepon_setup *setup, struct nlattr *data[], struct netlink_ext_ack *extack)
{
	const struct nlattr *attribute = data[IFLA_KEEPON_ALLOWED];
	u32 bytes = nla_len(attribute);

	if (!bytes || bytes % sizeof(u16) || bytes > KEEPON_MASKS_MAX * sizeof(u16)) {
		keepon_say(
			extack,
			"allowed: %u bytes are no table of 1 to %u masks of 2 bytes; give the shortest part that repeats",
			bytes, KEEPON_MASKS_MAX);
		return -EINVAL;
	}
	if (!data[IFLA_KEEPON_PARTITION_SLOTS])
		setup->given &= ~BIT(IFLA_KEEPON_PARTITION_SLOTS);
	setup->given |= BIT(IFLA_KEEPON_ALLOWED);
	return set_masks(setup, nla_data(attribute), bytes / sizeof(u16));
}

static int take_classes(struct keepon_setup *setup, const struct nlattr *attribute, struct netlink_ext_ack *extack)
{
	const u8 *from = nla_data(attribute);
	u8 *to = &setup->classes[0][0];
	u32 i;

	if (nla_len(attribute) != sizeof(setup->classes)) {
		keepon_say(extack, "classes: %u bytes are not %u pairs of late policy and rounding", nla_len(attribute),
			   KEEPON_CLASS_COUNT);
		return -EINVAL;
	}
	for (i = 0; i < sizeof(setup->classes); i++) {
		if (from[i] != KEEPON_CLASS_KEEP)
			to[i] = from[i];
	}
	setup->given |= BIT(IFLA_KEEPON_CLASSES);
	return 0;
}

int keepon_setup_take(struct keepon_setup *setup, struct nlattr *data[], struct netlink_ext_ack *extack)
{
	int attribute;

	if (!data)
		return 0;
	for (attribute = 1; attribute <= IFLA_KEEPON_MAX; attribute++) {
		int error = 0;

		if (!data[attribute])
			continue;
		switch (attribute) {
		case IFLA_KEEPON_RATE_BPS:
		case IFLA_KEEPON_BACKEND:
			keepon_say(extack, "%s follows from the lower device and cannot be set; leave it out",
				   attribute == IFLA_KEEPON_BACKEND ? "backend" : "rate");
			error = -EINVAL;
			break;
		case IFLA_KEEPON_ALLOWED: error = take_allowed(setup, data, extack); break;
		case IFLA_KEEPON_CLASSES: error = take_classes(setup, data[attribute], extack); break;
		default:
			if (keepon_policy[attribute].type == NLA_UNSPEC)
				break;
			setup->number[attribute] = keepon_policy[attribute].type == NLA_U8 ?
							   nla_get_u8(data[attribute]) :
							   nla_get_u32(data[attribute]);
			setup->given |= BIT(attribute);
		}
		if (error)
			return error;
	}
	return 0;
}

/* ---- struct keepon_plan ---- */

void keepon_plan_free(struct keepon_plan *plan)
{
	kvfree(plan->masks);
	memset(plan, 0, sizeof(*plan));
}

u32 keepon_plan_frame_max(const struct keepon_plan *plan)
{
	const struct kpn_config *config = &plan->config;

	if (config->mode == KPN_MODE_PHASE_LOCKED && config->trim == KPN_TRIM_ANY)
		return config->slot_bytes - config->trim_down_bytes;
	return config->slot_bytes;
}

/* The value asked for, or what it is otherwise. */
static u32 choose(const struct keepon_setup *setup, int attribute, u32 otherwise)
{
	return given(setup, attribute) ? setup->number[attribute] : otherwise;
}

/* Ring, depth and batch depend on each other: where only some are given the others follow. */
static void choose_ring(struct kpn_config *config, const struct keepon_setup *setup, const struct kpn_nic_caps *caps)
{
	u32 batch = choose(setup, IFLA_KEEPON_BATCH_SLOTS, config->batch_slots);
	u32 posted_max;
	u32 depth;

	config->ring_slots = choose(setup, IFLA_KEEPON_RING_SLOTS, config->ring_slots);
	posted_max = config->ring_slots > caps->reserved_slots ? config->ring_slots - caps->reserved_slots : 1;
	depth = batch;
	if (config->mode != KPN_MODE_PAPER)
		depth = min_t(u64, max_t(u64, KEEPON_DEPTH_SLOTS_DEFAULT, 4ull * batch), posted_max);
	depth = choose(setup, IFLA_KEEPON_DEPTH_SLOTS, depth);
	if (!given(setup, IFLA_KEEPON_BATCH_SLOTS))
		batch = min(batch, depth);
	config->batch_slots = batch;
	config->depth_slots = depth;
}

static void choose_classes(struct kpn_config *config, const struct keepon_setup *setup)
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

static int choose_masks(struct keepon_plan *plan, const struct keepon_setup *setup, struct netlink_ext_ack *extack)
{
	struct kpn_config *config = &plan->config;
	u32 slots = setup->allowed ? setup->allowed_count : 1;
	u32 i;

	if (config->mode == KPN_MODE_PAPER && config->ring_slots % slots == 0)
		slots = config->ring_slots;
	slots = choose(setup, IFLA_KEEPON_PARTITION_SLOTS, slots);
	config->partition_slots = slots;
	config->allowed = NULL;
	/* Out of range: kpn_config_validate() says so, and does not look at the masks. */
	if (!slots || slots > KPN_PARTITION_SLOTS_MAX)
		return 0;
	if (setup->allowed && slots % setup->allowed_count) {
		keepon_say(extack,
			   "partition_slots %u is no multiple of the %u class masks given; repeat them as a whole",
			   slots, setup->allowed_count);
		return -EINVAL;
	}
	plan->masks = kvmalloc_array(slots, sizeof(u16), GFP_KERNEL);
	if (!plan->masks)
		return -ENOMEM;
	for (i = 0; i < slots; i++)
		plan->masks[i] = setup->allowed ? setup->allowed[i % setup->allowed_count] : 0xffff;
	config->allowed = plan->masks;
	return 0;
}

static int refuse(struct netlink_ext_ack *extack, const char *field, u32 value, u32 max, const char *reason)
{
	keepon_say(extack, "%s %u is not within 0 to %u: %s.", field, value, max, reason);
	return -EINVAL;
}

/* What the core knows nothing of. */
static int choose_polling(struct keepon_plan *plan, const struct keepon_setup *setup, struct netlink_ext_ack *extack)
{
	u32 poll = choose(setup, IFLA_KEEPON_POLL, KEEPON_POLL_HRTIMER);
	u32 cpu = choose(setup, IFLA_KEEPON_POLL_CPU, 0);
	u32 fifo = choose(setup, IFLA_KEEPON_POLL_FIFO, 0);
	u32 txtime = choose(setup, IFLA_KEEPON_TXTIME, KEEPON_TXTIME_PHC);
	u32 dither = choose(setup, IFLA_KEEPON_DITHER, plan->config.dither);
	u32 rx_cpu = choose(setup, IFLA_KEEPON_RX_POLL_CPU, cpu);

	if (poll > KEEPON_POLL_THREAD)
		return refuse(extack, "poll", poll, KEEPON_POLL_THREAD, "choose hrtimer or thread");
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return refuse(extack, "poll_cpu", cpu, nr_cpu_ids - 1, "choose a CPU that is online");
	if (rx_cpu >= nr_cpu_ids || !cpu_online(rx_cpu))
		return refuse(extack, "rx_poll_cpu", rx_cpu, nr_cpu_ids - 1, "choose a CPU that is online");
	if (fifo >= MAX_RT_PRIO)
		return refuse(extack, "poll_fifo", fifo, MAX_RT_PRIO - 1,
			      "choose a real-time priority, or 0 for the ordinary scheduler");
	if (txtime > KEEPON_TXTIME_TAI)
		return refuse(extack, "txtime", txtime, KEEPON_TXTIME_TAI, "choose phc or tai");
	if (dither > 1)
		return refuse(extack, "dither", dither, 1, "choose on or off");
	plan->poll = poll;
	plan->poll_cpu = cpu;
	plan->rx_poll_cpu = rx_cpu;
	plan->poll_fifo = fifo;
	plan->txtime = txtime;
	plan->config.dither = dither;
	return 0;
}

/*
 * In paper mode one batch is all that is posted, so a poll that comes a batch later than the last is too late already: half
 * of it is kept for timer and poll. Otherwise what is posted beyond the batch serves for that.
 */
static u32 default_overhead_ns(const struct kpn_config *config)
{
	u64 slot_ps = (u64)kpn_wire_bytes(config->slot_bytes) * kpn_byte_time_ps(config->rate_bps);

	if (config->mode != KPN_MODE_PAPER)
		return config->poll_overhead_ns;
	return min_t(u64, div_u64(slot_ps * config->batch_slots, 2000), U32_MAX);
}

/* How the PHC is read; a dual clock reads the transmit ring as its merge needs it. */
static int choose_clock(struct keepon_plan *plan, const struct keepon_setup *setup, struct netlink_ext_ack *extack)
{
	struct kpn_config *config = &plan->config;
	bool paper = config->mode == KPN_MODE_PAPER;
	u32 clock = choose(setup, IFLA_KEEPON_CLOCK, paper ? KPN_CLOCK_COUNTER : config->clock_read);
	u32 merge = choose(setup, IFLA_KEEPON_MERGE, paper ? KPN_MERGE_PUBLISHED : KPN_MERGE_STRIP);
	u32 tau_ns = choose(setup, IFLA_KEEPON_TAU_NS, 0);

	if (clock > KEEPON_CLOCK_DUAL)
		return refuse(extack, "clock", clock, KEEPON_CLOCK_DUAL, "choose interpolated, counter or dual");
	if (merge > KPN_MERGE_PUBLISHED)
		return refuse(extack, "merge", merge, KPN_MERGE_PUBLISHED, "choose strip or published");
	if (tau_ns > NSEC_PER_SEC)
		return refuse(extack, "tau_ns", tau_ns, NSEC_PER_SEC, "choose what a clock lags at most, or 0");
	if (clock == KEEPON_CLOCK_DUAL && paper && merge != KPN_MERGE_PUBLISHED) {
		keepon_say(extack, "merge strip: paper mode reads its clocks as counters; choose merge published");
		return -EINVAL;
	}
	plan->clock = clock;
	plan->merge = merge;
	plan->tau_ns = tau_ns;
	config->clock_read = clock;
	if (clock == KEEPON_CLOCK_DUAL)
		config->clock_read = merge == KPN_MERGE_PUBLISHED ? KPN_CLOCK_COUNTER : KPN_CLOCK_INTERPOLATED;
	return 0;
}

/* With a dual clock two pollers share the CPU's caches; what is zeroed on demand neither of them touches (KeepON paper section A.3). */
static int choose_padding(struct keepon_plan *plan, const struct keepon_setup *setup, struct netlink_ext_ack *extack)
{
	u32 padding = choose(setup, IFLA_KEEPON_PADDING, KEEPON_PADDING_AUTO);

	if (padding > KEEPON_PADDING_AUTO)
		return refuse(extack, "padding", padding, KEEPON_PADDING_AUTO, "choose deferred, on-demand or auto");
	if (padding == KEEPON_PADDING_AUTO)
		padding = plan->clock == KEEPON_CLOCK_DUAL && plan->caps.has_spare_buffers ? KPN_PADDING_ON_DEMAND :
											     KPN_PADDING_DEFERRED;
	plan->config.padding = padding;
	return 0;
}

static int check_receive_ring(struct keepon_plan *plan, struct net_device *lower, struct netlink_ext_ack *extack)
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
	keepon_say(extack, "clock dual: %s for the receive ring of %s; choose a smaller batch or another clock",
		   problem, lower->name);
	return -EINVAL;
}

static int work_out(struct keepon_plan *plan, const struct keepon_setup *setup, u64 rate_bps,
		    struct netlink_ext_ack *extack)
{
	struct kpn_config *config = &plan->config;
	struct kpn_problem problem;
	int error;

	kpn_config_defaults(config, &plan->caps, rate_bps ?: RATE_BPS_ASSUMED,
			    choose(setup, IFLA_KEEPON_SLOT_BYTES,
				   min_t(u32, KEEPON_SLOT_BYTES_DEFAULT, plan->caps.frame_bytes_max)));
	config->mode = choose(setup, IFLA_KEEPON_MODE, config->mode);
	choose_ring(config, setup, &plan->caps);
	choose_classes(config, setup);
	config->prebuffer_frames = choose(setup, IFLA_KEEPON_PREBUFFER, config->prebuffer_frames);
	config->placeholder = choose(setup, IFLA_KEEPON_PLACEHOLDER, config->placeholder);
	config->trim = choose(setup, IFLA_KEEPON_TRIM, config->trim);
	config->trim_down_bytes = choose(setup, IFLA_KEEPON_TRIM_DOWN_BYTES, config->trim_down_bytes);
	config->trim_up_bytes = choose(setup, IFLA_KEEPON_TRIM_UP_BYTES, config->trim_up_bytes);
	config->tolerance_ns = choose(setup, IFLA_KEEPON_TOLERANCE_NS, config->tolerance_ns);
	config->drift_ppb_max = choose(setup, IFLA_KEEPON_DRIFT_PPB, config->drift_ppb_max);
	config->wander_ppb_per_s_max = choose(setup, IFLA_KEEPON_WANDER_PPB, config->wander_ppb_per_s_max);
	config->poll_overhead_ns = choose(setup, IFLA_KEEPON_POLL_OVERHEAD_NS, default_overhead_ns(config));

	error = choose_clock(plan, setup, extack)           ?:
			choose_padding(plan, setup, extack) ?:
			choose_polling(plan, setup, extack) ?:
							      choose_masks(plan, setup, extack);
	if (error)
		return error;
	if (kpn_config_validate(config, &plan->caps, &problem, 1)) {
		keepon_say(extack, "%s %llu (allowed: %llu to %llu): %s.", problem.field, problem.value, problem.min,
			   problem.max, problem.reason);
		return -EINVAL;
	}
	return 0;
}

int keepon_plan_make(struct keepon_plan *plan, const struct keepon_setup *setup, struct net_device *lower,
		     struct netlink_ext_ack *extack)
{
	u64 rate_bps;
	int error;

	memset(plan, 0, sizeof(*plan));
	error = keepon_lower_caps(lower, &plan->caps, &rate_bps, extack);
	if (!error)
		error = work_out(plan, setup, rate_bps, extack) ?: check_receive_ring(plan, lower, extack);
	if (error)
		keepon_plan_free(plan);
	return error;
}
