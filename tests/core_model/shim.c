// SPDX-License-Identifier: BSD-3-Clause
/*
 * The pacer rig as a shared library for ctypes: parameters and reports are arrays of 64-bit numbers
 * whose names the library itself lists, logs are arrays of records. Nothing is decided here.
 */
#include <stdio.h>
#include <stdlib.h>

#include "keepon/wire.h"
#include "rig_restart.h"

/* Parameters of shim_create() by name, in order. */
#define SHIM_PARAMS(X)          \
	X(rate_bps)             \
	X(slot_bytes)           \
	X(ring_slots)           \
	X(partition_slots)      \
	X(batch_slots)          \
	X(depth_slots)          \
	X(trim_down_bytes)      \
	X(trim_up_bytes)        \
	X(prebuffer_frames)     \
	X(budget_frames)        \
	X(horizon_ns)           \
	X(tolerance_ns)         \
	X(drift_ppb_max)        \
	X(wander_ppb_per_s_max) \
	X(poll_overhead_ns)     \
	X(seed)                 \
	X(mode)                 \
	X(clock_read)           \
	X(placeholder)          \
	X(trim)                 \
	X(padding)              \
	X(dither)               \
	X(reserved_slots)       \
	X(frame_bytes_min)      \
	X(frame_bytes_max)      \
	X(prefetch_slots)       \
	X(index_modulus)        \
	X(index_lag_ps_min)     \
	X(index_lag_ps_max)     \
	X(restart_ps_min)       \
	X(restart_ps_max)       \
	X(read_ps)              \
	X(call_ps)              \
	X(cpu_start_ns)         \
	X(cpu_tick_ps)          \
	X(coherent)             \
	X(index_counts_done)    \
	X(persistent)           \
	X(spare)                \
	X(quantum_bytes)        \
	X(start_time_ns)        \
	X(frame_count)          \
	X(drift_ppb)

/* What shim_report() tells, in order. */
/*
 * docs/model.md: what may be fetched within this time is not given to a frame that may have another
 * slot
 */
#define SHIM_STORE_NS 2000

#define SHIM_REPORT(X)                                     \
	X(now_ps, nic->now_ps)                             \
	X(cpu_ps, nic->cpu_ps)                             \
	X(position_ps, fake_nic_position(nic))             \
	X(idle, fake_nic_idle(nic))                        \
	X(fetch_seq, nic->fetch_seq)                       \
	X(wire_seq, nic->wire_seq)                         \
	X(head_valid, head.valid)                          \
	X(head_lower_ps, head.wire.lower_ps)               \
	X(head_upper_ps, head.wire.upper_ps)               \
	X(head_upper_seq, head.upper_seq)                  \
	X(window_valid, window.valid)                      \
	X(window_first, window.first_seq)                  \
	X(window_end, window.end_seq)                      \
	X(unhurried_first, unhurried.first_seq)            \
	X(lead_slots, kpn_pacer_lead_slots(rig->pacer))    \
	X(synchronised, state.synchronised)                \
	X(clock_error_ps, state.clock_error_ps)            \
	X(base, state.base)                                \
	X(head_seq, state.head_seq)                        \
	X(tail_seq, state.tail_seq)                        \
	X(lock_seq, state.lock_seq)                        \
	X(pending, state.pending)                          \
	X(scaled_ppm, state.scaled_ppm)                    \
	X(anchor_ps, clock->anchor_ps)                     \
	X(anchor_ns, clock->anchor.ns)                     \
	X(anchor_frac, clock->anchor.frac)                 \
	X(mult, clock->mult)                               \
	X(read_ns, now.ns)                                 \
	X(read_frac, now.frac)                             \
	X(submitted, stats->submitted)                     \
	X(flushed, stats->verdicts[KPN_VERDICT_FLUSHED])   \
	X(underruns, stats->underruns)                     \
	X(suspected_underruns, stats->suspected_underruns) \
	X(slips, stats->slips)                             \
	X(index_errors, stats->index_errors)               \
	X(steps, stats->steps)                             \
	X(recalled, stats->recalled)                       \
	X(displaced, stats->displaced)                     \
	X(trims, stats->trims)                             \
	X(losses, stats->losses)                           \
	X(partitions, rig->events[KPN_EVENT_PARTITION])    \
	X(planned_seq, state.planned_seq)                  \
	X(cpu_ns, cpu_ns)                                  \
	X(stall_ns, limits.stall_ns)                       \
	X(held, rig->held)
enum {
#define SHIM_PARAM_ENUM(name) PARAM_##name,
	SHIM_PARAMS(SHIM_PARAM_ENUM)
#undef SHIM_PARAM_ENUM
		PARAM_COUNT,
#define SHIM_REPORT_ENUM(name, value) REPORT_##name,
	SHIM_REPORT(SHIM_REPORT_ENUM) REPORT_END,
};

struct slot_record {
	u64 seq;
	u64 latch_ps;
	u64 start_ps;
	u64 position_ps;
	u64 frame_bytes;
	u64 frame_id; /* 0 for a placeholder */
};

/* a frame was put into a slot or taken out of it again, in the order of happening */
struct commit_record {
	u64 frame_id;
	u64 seq;
	u64 base;
	u64 placed;
};

struct outcome_record {
	u64 frame_id;
	u64 verdict;
	s64 start_ns;
	u64 start_frac;
	u64 wire_seq;
	u64 placed_seq;
	u64 placed_base;
};

struct records {
	void *data;
	size_t count;
	size_t room;
};

/*
 * tables of a partition that was switched to; one is in use while another is prepared, the third is
 * refused
 */
struct table {
	struct kpn_partition partition;
	u64 *planes;
	u16 *allowed;
};

struct shim {
	struct rig rig;
	struct table tables[3];
	struct kpn_nic_caps caps;
	struct records slots;
	struct records commits;
	struct records outcomes;
	void *memory;
};

static void *add_record(struct records *records, size_t bytes)
{
	if (records->count == records->room) {
		records->room = records->room ? 2 * records->room : 256;
		records->data = realloc(records->data, records->room * bytes);
		if (!records->data)
			abort();
	}
	return (char *)records->data + bytes * records->count++;
}

static void log_slot(void *context, const struct fake_slot *slot, const struct rig_frame *frame)
{
	struct shim *shim = context;
	struct slot_record *record = add_record(&shim->slots, sizeof(*record));

	*record =
		(struct slot_record){ slot->seq,         slot->latch_ps,    slot->start_ps,
				      slot->position_ps, slot->frame_bytes, frame ? frame->id : 0 };
}

static void log_commit(void *context, const struct rig_frame *frame)
{
	struct shim *shim = context;
	struct commit_record *record = add_record(&shim->commits, sizeof(*record));

	*record = (struct commit_record){ frame->id, frame->placed_seq, frame->placed_base, 1 };
}

static void log_withdraw(void *context, const struct rig_frame *frame)
{
	struct shim *shim = context;
	struct commit_record *record = add_record(&shim->commits, sizeof(*record));

	*record = (struct commit_record){ frame->id, frame->placed_seq, frame->placed_base, 0 };
}

static void log_outcome(void *context, const struct rig_frame *frame, enum kpn_verdict verdict,
			struct kpn_time start)
{
	struct shim *shim = context;
	struct outcome_record *record = add_record(&shim->outcomes, sizeof(*record));

	*record = (struct outcome_record){ frame->id,         verdict,         start.ns,
					   start.frac,        frame->wire_seq, frame->placed_seq,
					   frame->placed_base };
}

const char *shim_param_names(void);
const char *shim_report_names(void);
const char *shim_verdict_names(void);
struct shim *shim_create(const s64 *params, const u16 *allowed, const u8 *late, const u8 *rounding,
			 char *problem, size_t problem_bytes);
void shim_destroy(struct shim *shim);
void shim_report(struct shim *shim, u64 *values);
struct rig *shim_rig(struct shim *shim);
size_t shim_slots(struct shim *shim, const struct slot_record **records);
size_t shim_commits(struct shim *shim, const struct commit_record **records);
size_t shim_outcomes(struct shim *shim, const struct outcome_record **records);
void shim_clear(struct shim *shim);
const char *shim_violation(const struct shim *shim);
bool shim_reset(struct shim *shim, s64 start_time_ns);
void shim_start(struct shim *shim);
void shim_violate_assumptions(struct shim *shim);
void shim_drift(struct shim *shim, s32 drift_ppb, u32 wander_ppb_per_s);
u64 shim_poll_interval_ps(struct shim *shim);
int shim_settime(struct shim *shim, s64 ns, u32 frac);
void shim_clock_at(struct shim *shim, u64 position_ps, u64 *values);
u64 shim_position_at(struct shim *shim, s64 ns, u32 frac);
void shim_bounds(struct shim *shim, u32 rate_ppb, u32 rate_change_ppb, u64 *values);
u64 shim_hash(const struct shim *shim);
int shim_set_partition(struct shim *shim, const u16 *allowed, u32 slots, u64 at_net_slot);
void shim_fail(struct shim *shim, bool gone);

const char *shim_param_names(void)
{
#define SHIM_NAME(name) #name " "
	return SHIM_PARAMS(SHIM_NAME);
}

const char *shim_report_names(void)
{
#define SHIM_REPORT_NAME(name, value) #name " "
	return SHIM_REPORT(SHIM_REPORT_NAME);
}

const char *shim_verdict_names(void)
{
#define SHIM_VERDICT_NAME(name, sent, text) #name " "
	return KPN_VERDICTS(SHIM_VERDICT_NAME) "PENDING ";
}

struct shim *shim_create(const s64 *p, const u16 *allowed, const u8 *late, const u8 *rounding,
			 char *problem, size_t problem_bytes)
{
	struct kpn_config config = { .allowed = allowed };
	struct fake_params params = { 0 };
	struct kpn_problem found[1];
	struct kpn_nic_caps caps;
	struct rig_log log = {
		.slot = log_slot,
		.commit = log_commit,
		.withdraw = log_withdraw,
		.outcome = log_outcome,
	};
	struct shim *shim;
	u32 longest_bytes;
	u32 shortest_bytes;
	u32 frame_count = (u32)p[PARAM_frame_count];
	u32 tc;

#define CONFIG(name) config.name = (__typeof__(config.name))p[PARAM_##name]
	CONFIG(rate_bps);
	CONFIG(slot_bytes);
	CONFIG(ring_slots);
	CONFIG(partition_slots);
	CONFIG(batch_slots);
	CONFIG(depth_slots);
	CONFIG(trim_down_bytes);
	CONFIG(trim_up_bytes);
	CONFIG(prebuffer_frames);
	CONFIG(budget_frames);
	CONFIG(horizon_ns);
	CONFIG(tolerance_ns);
	CONFIG(drift_ppb_max);
	CONFIG(wander_ppb_per_s_max);
	CONFIG(poll_overhead_ns);
	CONFIG(seed);
	CONFIG(mode);
	CONFIG(clock_read);
	CONFIG(placeholder);
	CONFIG(trim);
	CONFIG(padding);
	CONFIG(dither);
#define NIC(name) params.name = (__typeof__(params.name))p[PARAM_##name]
	NIC(ring_slots);
	NIC(reserved_slots);
	NIC(slot_bytes);
	NIC(frame_bytes_min);
	NIC(frame_bytes_max);
	NIC(prefetch_slots);
	NIC(index_modulus);
	NIC(index_lag_ps_min);
	NIC(index_lag_ps_max);
	NIC(restart_ps_min);
	NIC(restart_ps_max);
	NIC(read_ps);
	NIC(call_ps);
	NIC(cpu_start_ns);
	NIC(cpu_tick_ps);
	NIC(coherent);
	NIC(seed);
	NIC(index_counts_done);
	NIC(persistent);
	NIC(spare);
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++)
		config.classes[tc] = (struct kpn_class_config){ late[tc], rounding[tc] };
	params.byte_ps = kpn_byte_time_ps(config.rate_bps);
	shortest_bytes = config.slot_bytes;
	longest_bytes = config.slot_bytes;
	if (config.mode == KPN_MODE_PHASE_LOCKED) {
		shortest_bytes -= config.trim_down_bytes;
		longest_bytes += config.trim_up_bytes;
	}
	params.buffer_bytes = longest_bytes;
	caps = fake_nic_caps(&params, config.drift_ppb_max, shortest_bytes, longest_bytes,
			     (u32)p[PARAM_quantum_bytes]);
	if (kpn_config_validate(&config, &caps, found, 1)) {
		snprintf(problem, problem_bytes, "%s = %llu is not within [%llu, %llu]: %s",
			 found[0].field, (unsigned long long)found[0].value,
			 (unsigned long long)found[0].min, (unsigned long long)found[0].max,
			 found[0].reason);
		return NULL;
	}
	shim = calloc(1, sizeof(*shim));
	if (!shim)
		abort();
	shim->memory = malloc(rig_bytes(&config, &params, frame_count));
	if (!shim->memory)
		abort();
	shim->caps = caps;
	log.context = shim;
	if (!rig_init(&shim->rig, shim->memory, &config, &caps, &params, frame_count,
		      p[PARAM_start_time_ns], &log)) {
		snprintf(problem, problem_bytes,
			 "the pacer refused a configuration its validation accepted");
		shim_destroy(shim);
		return NULL;
	}
	/* from the first instant, so that no wander is needed to get there */
	fake_nic_drift(&shim->rig.nic, (s32)p[PARAM_drift_ppb], 0);
	return shim;
}

void shim_destroy(struct shim *shim)
{
	u32 i;

	free(shim->slots.data);
	free(shim->commits.data);
	free(shim->outcomes.data);
	for (i = 0; i < 3; i++) {
		free(shim->tables[i].planes);
		free(shim->tables[i].allowed);
	}
	free(shim->memory);
	free(shim);
}

void shim_report(struct shim *shim, u64 *values)
{
	struct rig *rig = &shim->rig;
	const struct fake_nic *nic = &rig->nic;
	const struct kpn_stats *stats = kpn_pacer_stats(rig->pacer);
	const struct kpn_clock *clock = kpn_pacer_clock(rig->pacer);
	u64 cpu_ns = fake_nic_cpu_ns(nic);
	struct kpn_head head = kpn_pacer_head(rig->pacer, cpu_ns);
	struct kpn_window window = kpn_pacer_window(rig->pacer, cpu_ns);
	struct kpn_window unhurried = kpn_pacer_window(rig->pacer, cpu_ns + SHIM_STORE_NS);
	struct kpn_state state = kpn_pacer_state(rig->pacer, cpu_ns);
	struct kpn_time now = kpn_pacer_gettime(rig->pacer, cpu_ns);
	struct kpn_limits limits = kpn_pacer_limits(rig->pacer);
	u32 i = 0;

#define SHIM_VALUE(name, value) values[i++] = (u64)(value);
	SHIM_REPORT(SHIM_VALUE)
#undef SHIM_VALUE
}

struct rig *shim_rig(struct shim *shim)
{
	return &shim->rig;
}

size_t shim_slots(struct shim *shim, const struct slot_record **records)
{
	*records = shim->slots.data;
	return shim->slots.count;
}

size_t shim_commits(struct shim *shim, const struct commit_record **records)
{
	*records = shim->commits.data;
	return shim->commits.count;
}

size_t shim_outcomes(struct shim *shim, const struct outcome_record **records)
{
	*records = shim->outcomes.data;
	return shim->outcomes.count;
}

/*
 * Bytes of the buffer a frame of descriptor @desc_idx is written to, up to the last that is not
 * zero.
 */
u64 shim_used_bytes(struct shim *shim, u32 desc_idx)
{
	const struct fake_params *params = &shim->rig.nic.params;
	const u8 *buffer =
		shim->rig.nic.buffers + (size_t)desc_idx * ((params->buffer_bytes + 7) & ~7u);
	u64 used = params->buffer_bytes;

	while (used && !buffer[used - 1])
		used--;
	return used;
}

void shim_clear(struct shim *shim)
{
	shim->slots.count = 0;
	shim->commits.count = 0;
	shim->outcomes.count = 0;
}

const char *shim_violation(const struct shim *shim)
{
	return shim->rig.violation;
}

/* NIC and pacer as new, not started; false if the pacer refuses. */
bool shim_reset(struct shim *shim, s64 start_time_ns)
{
	return rig_reset(&shim->rig, &shim->caps, start_time_ns);
}

void shim_start(struct shim *shim)
{
	rig_start_again(&shim->rig);
}

void shim_violate_assumptions(struct shim *shim)
{
	shim->rig.assumptions_hold = false;
}

void shim_drift(struct shim *shim, s32 drift_ppb, u32 wander_ppb_per_s)
{
	fake_nic_drift(&shim->rig.nic, drift_ppb, wander_ppb_per_s);
}

/* Another partition from a slot on; the tables stay until they are replaced in turn. */
int shim_set_partition(struct shim *shim, const u16 *allowed, u32 slots, u64 at_net_slot)
{
	/* while a switch is still to come two tables are in use, of three */
	struct table *table = shim->tables;

	while (table->allowed && (table->allowed == shim->rig.table[0].allowed ||
				  table->allowed == shim->rig.table[1].allowed))
		table++;
	free(table->planes);
	free(table->allowed);
	table->planes = malloc(kpn_partition_bytes(slots));
	table->allowed = malloc(slots * sizeof(*allowed));
	if (!table->planes || !table->allowed)
		abort();
	memcpy(table->allowed, allowed, slots * sizeof(*allowed));
	kpn_partition_init(&table->partition, table->planes, allowed, slots);
	return rig_set_partition(&shim->rig, &table->partition, table->allowed, at_net_slot);
}

/* The card is pulled, or its index stands still from now on. */
void shim_fail(struct shim *shim, bool gone)
{
	shim->rig.nic.gone = gone;
	shim->rig.nic.frozen = !gone;
	shim->rig.assumptions_hold = false;
}

/* Time until the next poll by the rule of the pacer, as NIC time at equal rates. */
u64 shim_poll_interval_ps(struct shim *shim)
{
	return kpn_pacer_poll_interval_ns(shim->rig.pacer) * 1000;
}

int shim_settime(struct shim *shim, s64 ns, u32 frac)
{
	return rig_settime(&shim->rig, (struct kpn_time){ ns, frac });
}

void shim_clock_at(struct shim *shim, u64 position_ps, u64 *values)
{
	struct kpn_time t = kpn_clock_at(kpn_pacer_clock(shim->rig.pacer), position_ps);

	values[0] = (u64)t.ns;
	values[1] = t.frac;
}

u64 shim_position_at(struct shim *shim, s64 ns, u32 frac)
{
	return kpn_clock_position_at(kpn_pacer_clock(shim->rig.pacer),
				     (struct kpn_time){ ns, frac });
}

void shim_bounds(struct shim *shim, u32 rate_ppb, u32 rate_change_ppb, u64 *values)
{
	struct kpn_bounds bounds = kpn_pacer_bounds(shim->rig.pacer, rate_ppb, rate_change_ppb);

	values[0] = bounds.boundary_error_ps;
	values[1] = bounds.span_ns;
	values[2] = bounds.lock_ns;
	values[3] = bounds.lock_slots;
}

u64 shim_hash(const struct shim *shim)
{
	return shim->rig.hash;
}
