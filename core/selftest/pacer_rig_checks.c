/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Invariants of the rig: what is true of NIC and pacer after every call, whatever a frame's slot
 * ought to be.
 */
#include "pacer_rig_rooms.h"

static const char *fault_text(u32 faults)
{
	static const char *const texts[] = {
		"a frame was written into a slot the NIC had latched before",
		"length or kind of a slot was changed after the NIC had latched it",
		"bytes of a frame changed after its commit",
		"bytes of an earlier frame in padding or placeholder",
		"a slot is shorter than the frame in it",
		"a slot has a length the NIC cannot send",
		"a write-back descriptor was posted without being re-armed",
		"a doorbell beyond what may be posted",
		"a descriptor outside the ring",
		"bytes that were written and not written back were fetched",
		"a doorbell after the halt",
		"old and new descriptors made one frame",
		"a tail between two buffers of a frame",
		"fragments that still had their FCS lost one before it",
	};

	return texts[__builtin_ctz(faults)];
}

static void check_head(struct rig *rig, u64 cpu_ns)
{
	struct kpn_head head = kpn_pacer_head(rig->pacer, cpu_ns);
	struct kpn_window window = kpn_pacer_window(rig->pacer, cpu_ns);
	u64 position_ps = fake_nic_position(&rig->nic);
	u32 spans = rig_span_slots(rig) - 1;

	rig_require(rig, window.valid == head.valid, "window and head disagree about being valid");
	if (!head.valid || !rig->assumptions_hold)
		return;
	rig_require(rig, (s64)(position_ps - head.wire.lower_ps) >= 0,
		    "the wire is before the head's interval");
	rig_require(rig, (s64)(head.wire.upper_ps - position_ps) >= 0,
		    "the wire is past the head's interval");
	/* the last slot of a long frame can begin sooner than a nominal one */
	rig_require(rig, head.upper_seq + (spans > 0) >= rig->nic.wire_seq,
		    "the wire is past the head's upper bound");
	rig_require(rig, window.first_seq >= rig->nic.fetch_seq,
		    "the window begins with a slot the NIC has latched");
}

/* No call does more than the limits say. */
static void check_work(struct rig *rig)
{
	struct kpn_limits limits = kpn_pacer_limits(rig->pacer);
	struct fake_nic *nic = &rig->nic;

	rig_require(rig, nic->stores - rig->stores <= limits.frames,
		    "a call stored more frames than its limit");
	rig_require(rig, nic->lengths - rig->lengths <= limits.trims,
		    "a call changed more lengths than its limit");
	rig_require(rig, nic->rearmed - rig->rearmed <= limits.rearms,
		    "a call handed over more descriptors than its limit");
	rig->stores = nic->stores;
	rig->lengths = nic->lengths;
	rig->rearmed = nic->rearmed;
}

static void check_state(struct rig *rig)
{
	const struct kpn_stats *stats = kpn_pacer_stats(rig->pacer);
	u64 cpu_ns = fake_nic_cpu_ns(&rig->nic);
	struct kpn_state state = kpn_pacer_state(rig->pacer, cpu_ns);
	u64 posted = state.tail_seq - state.head_seq;

	rig_require(rig, stats->submitted == kpn_stats_ended(stats) + state.pending,
		    "submitted is not ended by verdict plus pending");
	rig_require(rig, state.pending == rig->held, "pending is not the number of frames held");
	rig_require(rig, state.head_seq >= rig->head_seq, "the head went back");
	rig_require(rig, state.tail_seq >= rig->tail_seq, "the tail went back");
	rig_require(rig,
		    state.head_seq <= state.tail_seq &&
			    posted <= rig->config.depth_slots + 2 * (rig_span_slots(rig) - 1),
		    "more is posted than the posting depth");
	rig_require(rig, stats->slots_completed == state.head_seq,
		    "completed slots are not the head");
	rig_require(rig, stats->slots_posted == state.tail_seq, "posted slots are not the tail");
	rig_require(rig, rig->stopped || state.tail_seq == rig->nic.tail_seq,
		    "the tail is not what the doorbell said");
	rig_require(rig, stats->doorbells == rig->nic.bells, "doorbells are not counted");
	rig->bent = rig->bent || rig->nic.faults & FAKE_LATE_LENGTH;
	if (rig->nic.misread)
		rig->nic.faults &= ~(u32)(FAKE_LATE_COMMIT | FAKE_LATE_LENGTH | FAKE_MIXED);
	if (rig->nic.faults)
		rig_violate(rig, fault_text(rig->nic.faults));
	rig->head_seq = state.head_seq;
	rig->tail_seq = state.tail_seq;
	if (!rig->stopped)
		check_head(rig, cpu_ns);
	rig_mix(rig, state.head_seq);
	rig_mix(rig, state.base);
	rig_mix(rig, state.lock_seq);
	rig_mix(rig, state.clock_error_ps);
}

void rig_check(struct rig *rig)
{
	rig->calls++;
	check_work(rig);
	rig_collect(rig);
	rig->clock = *kpn_pacer_clock(rig->pacer);
	check_state(rig);
}
