// SPDX-License-Identifier: BSD-3-Clause
/* A shim from its parameters, numbers by name, until it is destroyed. */
#include <stdio.h>
#include <stdlib.h>

#include "keepon/wire.h"
#include "shim.h"

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

enum {
#define SHIM_PARAM_ENUM(name) PARAM_##name,
	SHIM_PARAMS(SHIM_PARAM_ENUM)
#undef SHIM_PARAM_ENUM
};

const char *shim_param_names(void)
{
#define SHIM_NAME(name) #name " "
	return SHIM_PARAMS(SHIM_NAME);
}

struct shim *shim_create(const s64 *p, const u16 *allowed, const u8 *late, const u8 *rounding,
			 char *problem, size_t problem_bytes)
{
	struct kpn_config config = { .allowed = allowed };
	struct fake_params params = { 0 };
	struct kpn_problem found[1];
	struct kpn_nic_caps caps;
	struct rig_log log;
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
	log = shim_log(shim);
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
