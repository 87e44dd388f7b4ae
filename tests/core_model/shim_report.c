// SPDX-License-Identifier: BSD-3-Clause
/* How a rig stands after an operation: numbers by name, and the names. */
#include "shim.h"

/*
 * docs/model.md: what may be fetched within this time is not given to a frame that may have another
 * slot
 */
#define SHIM_STORE_NS 2000

/* What shim_report() tells, in order. */
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
	X(margin_first, with_margin.first_seq)             \
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
	X(doubts, stats->doubts)                           \
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

const char *shim_report_names(void)
{
#define SHIM_REPORT_NAME(name, value) #name " "
	return SHIM_REPORT(SHIM_REPORT_NAME);
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
	struct kpn_window with_margin = kpn_pacer_window(rig->pacer, cpu_ns + SHIM_STORE_NS);
	struct kpn_state state = kpn_pacer_state(rig->pacer, cpu_ns);
	struct kpn_time now = kpn_pacer_gettime(rig->pacer, cpu_ns);
	struct kpn_limits limits = kpn_pacer_limits(rig->pacer);
	u32 i = 0;

#define SHIM_VALUE(name, value) values[i++] = (u64)(value);
	SHIM_REPORT(SHIM_VALUE)
#undef SHIM_VALUE
}
