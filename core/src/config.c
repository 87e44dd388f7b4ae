// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Validation of the parameters, field by field in the order of the struct; only a ring that cannot
 * be deep enough is found together with the depth. A rule that rests on a field already found wrong
 * is skipped, so that one mistake is one problem. Bounds and lead time, which follow from the
 * values, are computed elsewhere.
 */
#include "keepon/config.h"

#include "keepon/partition.h"
#include "keepon/wire.h"
#include "kpn_caps.h"
#include "kpn_check.h"
#include "kpn_config_polls.h"
#include "kpn_config_span.h"

/* Range of each field for any values of the others. */
#define LIMITS_MEMBER(field, ...) struct limits field;
#define LIMITS(field, type, option, attribute, unit, min, max, ...) .field = { min, max },
static const struct {
	KPN_CONFIG_FIELDS(LIMITS_MEMBER)
} widest = { KPN_CONFIG_FIELDS(LIMITS) };

#define PPB 1000000000ull

static bool check_rate(struct check *check)
{
	struct limits range = { KPN_RATE_BPS_MIN, KPN_RATE_BPS_MAX };
	u64 rate_bps = check->config->rate_bps;

	if (!kpn_require(
		    check, "rate_bps", rate_bps, range,
		    "no Ethernet link supported here has this rate; give the link rate in bits per second"))
		return false;
	if (kpn_byte_time_ps(rate_bps))
		return true;
	kpn_refuse(
		check, "rate_bps", rate_bps, range,
		"a byte at this rate does not last whole picoseconds; give the rate of a standard Ethernet link");
	return false;
}

static bool check_partition(struct check *check)
{
	const struct kpn_config *config = check->config;
	struct limits range = widest.partition_slots;
	struct limits now = range;

	if (check->paper && check->ring_ok)
		now = (struct limits){ config->ring_slots, config->ring_slots };
	return kpn_require_narrowed(
		check, "partition_slots", config->partition_slots, range,
		"the period of the class masks is empty or too long; give one mask per slot of it",
		now, "in paper mode the partition repeats with the ring; make both equally long");
}

/* Longest distance in slots between slots that may be trimmed; the partition is valid. */
static u32 trim_gap_slots(const struct kpn_config *config)
{
	return config->trim == KPN_TRIM_ANY ?
		       1 :
		       kpn_masks_gap_max(config->allowed, config->partition_slots, 0);
}

static bool check_allowed(struct check *check, bool slots_ok)
{
	const struct kpn_config *config = check->config;

	if (!config->allowed) {
		u64 masks = slots_ok ? config->partition_slots : KPN_PARTITION_SLOTS_MAX;

		kpn_refuse(check, "allowed", 0, (struct limits){ slots_ok ? masks : 1, masks },
			   "there are no class masks; point to one mask per slot of the partition");
		return false;
	}
	if (!slots_ok)
		return false;
	if (!check->locked || trim_gap_slots(config))
		return true;
	kpn_refuse(
		check, "allowed", 0, (struct limits){ 1, config->partition_slots },
		"no slot of the partition may be trimmed; leave one without any class or choose trim any");
	return false;
}

/* Require a multiple of the start quantum within @range, whose limits are such multiples. */
static bool check_trim_range(struct check *check, const char *field, u32 value, struct limits range,
			     const char *reason)
{
	if (!kpn_require(check, field, value, range, reason))
		return false;
	if (value == multiple_below(value, quantum_bytes(check->caps)))
		return true;
	kpn_refuse(
		check, field, value, range,
		"lengths change by whole quanta; choose a multiple of the backend's start_quantum_bytes");
	return false;
}

static void check_trims(struct check *check)
{
	const struct kpn_config *config = check->config;
	u32 quantum = quantum_bytes(check->caps);
	struct limits down = { .min = quantum };
	struct limits up = { .min = quantum };

	if (!check->locked || !check->slot_ok)
		return;
	down.max = multiple_below(config->slot_bytes - trimmed_bytes_min(config->trim, check->caps),
				  quantum);
	up.max = multiple_below(check->caps->frame_bytes_max - config->slot_bytes, quantum);
	check->trims_ok = check_trim_range(
		check, "trim_down_bytes", config->trim_down_bytes, down,
		"a trim is at least one quantum and leaves a slot that can be sent; change it or slot_bytes");
	check->trims_ok &= check_trim_range(
		check, "trim_up_bytes", config->trim_up_bytes, up,
		"a trim is at least one quantum and within the backend's longest frame; change it or slot_bytes");
}

static void check_budget(struct check *check)
{
	const struct kpn_config *config = check->config;
	struct limits range = { KPN_BUDGET_FRAMES_MIN, KPN_BUDGET_FRAMES_MAX };
	struct limits now = range;

	if (check->batch_ok)
		now.min = max_u64(range.min, 2ull * config->batch_slots);
	kpn_require_narrowed(
		check, "budget_frames", config->budget_frames, range,
		"a call has to get on, and to come to an end; choose another budget", now,
		"polls would fall behind a batch of frames; raise the budget to twice the batch");
}

static void check_tolerance(struct check *check)
{
	struct limits range = { 0, kpn_div_u64(check->slot_ps, PS_PER_NS) };

	if (!check->slot_ps)
		return;
	kpn_require(
		check, "tolerance_ns", check->config->tolerance_ns, range,
		"a frame may leave at most one slot time before its txtime; reduce the tolerance");
}

static void check_drift(struct check *check, bool allowed_ok)
{
	const struct kpn_config *config = check->config;
	struct limits range = widest.drift_ppb_max;
	struct limits now = range;

	if (check->locked && check->slot_ok && check->trims_ok && allowed_ok) {
		/*
		 * until the next trim the slots drift off the grid by drift x gap x slot length,
		 * which that trim must undo although the drift shortens it, too
		 */
		u64 gap_wire_bytes =
			(u64)kpn_wire_bytes(config->slot_bytes) * trim_gap_slots(config);
		u64 least_bytes = min_u64(config->trim_down_bytes, config->trim_up_bytes);

		now.max = min_u64(range.max,
				  kpn_div_u64(least_bytes * PPB, gap_wire_bytes + least_bytes));
	}
	kpn_require_narrowed(
		check, "drift_ppb_max", config->drift_ppb_max, range,
		"no crystals drift like this; state the bound of CPU against NIC clock by their data sheets",
		now,
		"trims cannot follow this drift; raise both trim ranges or reserve more slots for them");
}

static void check_poll_overhead(struct check *check)
{
	const struct kpn_config *config = check->config;
	struct limits range = { .min = 0 };

	if (!check->slot_ps || !check->batch_ok)
		return;
	range.max = kpn_div_u64(config->batch_slots * check->slot_ps - 1, PS_PER_NS);
	kpn_require(
		check, "poll_overhead_ns", config->poll_overhead_ns, range,
		"a poll would take as long as its batch is on the wire; raise batch_slots or make the poll faster");
}

static void check_clock_read(struct check *check)
{
	struct limits range = { KPN_CLOCK_INTERPOLATED, KPN_CLOCK_COUNTER };
	struct limits now = { check->paper ? KPN_CLOCK_COUNTER : KPN_CLOCK_INTERPOLATED,
			      KPN_CLOCK_COUNTER };

	kpn_require_narrowed(
		check, "clock_read", check->config->clock_read, range,
		"this way of reading the clock is unknown; choose interpolated or counter", now,
		"paper mode reads the clock as a counter; choose counter or another mode");
}

static void check_placeholder(struct check *check)
{
	u32 usable = placeholder_kinds_usable(check->caps);
	u8 placeholder = check->config->placeholder;
	struct limits range = { 0, KPN_PLACEHOLDER_COUNT - 1 };

	if (usable) {
		while (!(usable >> range.min & 1))
			range.min++;
		while (!(usable >> range.max & 1))
			range.max--;
	}
	if (placeholder >= KPN_PLACEHOLDER_COUNT)
		kpn_refuse(
			check, "placeholder", placeholder, range,
			"this kind of placeholder is unknown; choose bad-fcs, mac-control or reserved-address");
	else if (!(check->caps->placeholder_kinds >> placeholder & 1))
		kpn_refuse(
			check, "placeholder", placeholder, range,
			"the backend cannot send this kind of placeholder; choose one of its placeholder_kinds");
	else if (!(usable >> placeholder & 1))
		kpn_refuse(
			check, "placeholder", placeholder, range,
			"without spare buffers only bad-fcs placeholders can be replaced safely; choose bad-fcs");
}

static void check_padding(struct check *check)
{
	struct limits range = widest.padding;
	struct limits now = { range.min,
			      check->caps->has_spare_buffers ? range.max : KPN_PADDING_DEFERRED };

	kpn_require_narrowed(
		check, "padding", check->config->padding, range,
		"this padding is unknown; choose deferred or on-demand", now,
		"without spare buffers placeholders would send the frames before them; choose deferred");
}

static void check_classes(struct check *check)
{
	/* field names in full, so that sixteen equal mistakes can be distinguished */
#define CLASS_FIELDS(tc)                                             \
	{                                                            \
		"classes[" #tc "].late", "classes[" #tc "].rounding" \
	}
	static const char *const fields[KPN_CLASS_COUNT][2] = {
		CLASS_FIELDS(0),  CLASS_FIELDS(1),  CLASS_FIELDS(2),  CLASS_FIELDS(3),
		CLASS_FIELDS(4),  CLASS_FIELDS(5),  CLASS_FIELDS(6),  CLASS_FIELDS(7),
		CLASS_FIELDS(8),  CLASS_FIELDS(9),  CLASS_FIELDS(10), CLASS_FIELDS(11),
		CLASS_FIELDS(12), CLASS_FIELDS(13), CLASS_FIELDS(14), CLASS_FIELDS(15),
	};
#undef CLASS_FIELDS
	struct limits late = { KPN_LATE_STRICT, KPN_LATE_RESCHEDULE };
	struct limits rounding = { KPN_ROUND_UP, KPN_ROUND_FLOOR };
	struct limits rounding_now = { check->paper ? KPN_ROUND_FLOOR : KPN_ROUND_UP,
				       KPN_ROUND_FLOOR };
	u32 tc;

	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		const struct kpn_class_config *class_config = &check->config->classes[tc];

		kpn_require(check, fields[tc][0], class_config->late, late,
			    "this late policy is unknown; choose strict, relaxed or reschedule");
		kpn_require_narrowed(
			check, fields[tc][1], class_config->rounding, rounding,
			"this rounding is unknown; choose up or floor", rounding_now,
			"paper mode rounds txtimes down; choose floor or another mode");
	}
}

u32 kpn_config_validate(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			struct kpn_problem *problems, u32 room)
{
	struct check check = { .config = config, .caps = caps, .problems = problems, .room = room };
	bool rate_ok;
	bool allowed_ok;

	check.paper = config->mode == KPN_MODE_PAPER;
	check.locked = config->mode == KPN_MODE_PHASE_LOCKED && config->trim <= KPN_TRIM_RESERVED;

	rate_ok = check_rate(&check);
	check.slot_ok = kpn_check_slot(&check);
	if (rate_ok && check.slot_ok)
		check.slot_ps = (u64)kpn_byte_time_ps(config->rate_bps) *
				kpn_wire_bytes(config->slot_bytes);
	check.least_slots = kpn_least_slots(&check);
	check.ring_ok = kpn_check_ring(&check);
	allowed_ok = check_allowed(&check, check_partition(&check));
	kpn_check_posting(&check);
	check_trims(&check);
	kpn_check_frames(&check);
	kpn_require(
		&check, "prebuffer_frames", config->prebuffer_frames, widest.prebuffer_frames,
		"this many frames per class are too many; reduce it, or hold none back with zero");
	check_budget(&check);
	kpn_require(
		&check, "horizon_ns", config->horizon_ns, widest.horizon_ns,
		"no frame waits as long; choose how far ahead a txtime may be, or zero for any");
	check_tolerance(&check);
	check_drift(&check, allowed_ok);
	kpn_require(&check, "wander_ppb_per_s_max", config->wander_ppb_per_s_max,
		    widest.wander_ppb_per_s_max,
		    "no crystals wander like this; state how fast their rates can change");
	check_poll_overhead(&check);
	kpn_require(&check, "mode", config->mode, widest.mode,
		    "this mode is unknown; choose phase-locked or paper");
	check_clock_read(&check);
	check_placeholder(&check);
	kpn_require(&check, "trim", config->trim, widest.trim,
		    "this trim policy is unknown; choose any or reserved");
	check_padding(&check);
	check_classes(&check);
	return check.count;
}
