// SPDX-License-Identifier: GPL-2.0-only
/* Limits of a lent ring, from the parameters of its NIC: honest ones, unless claim_prefetch makes it lie. */
#include "keepon/wire.h"

#include "hwsim.h"

enum {
	RING_SLOTS_MIN = 8,
	RING_SLOTS_MAX = 4096,
};

/*
 * NIC and CPU oscillators are different ones: what the NIC keeps in its own time may be longer or shorter in the CPU's. Both
 * together differ by less than 0.1 % (HWSIM_PPB_MAX is half of it).
 */
static s32 longer(u64 ns)
{
	return (s32)(ns + div_u64(ns, 1000) + (ns > 0));
}

static s32 shorter(u64 ns)
{
	u64 less = div_u64(ns, 1000) + 1;

	return ns > less ? (s32)(ns - less) : 0;
}

/**
 * hwsim_ring_caps() - limits at the present rate; RTNL held
 * @nic: that lends its ring
 * @caps: filled
 *
 * A fetch index passes a slot at its latch plus lag; the frame's first bit follows the frames fetched before it, or, on
 * an idle wire, the restart. Slot lengths are not known here, so the bounds allow for shortest and longest frames.
 */
void hwsim_ring_caps(const struct hwsim_nic *nic, struct kpn_nic_caps *caps)
{
	const struct hwsim_nic_params *p = &nic->params;
	u64 ahead_min_ns =
		div_u64((u64)p->claim_prefetch * kpn_wire_bytes(HWSIM_FRAME_BYTES_MIN) * nic->port.byte_ps, 1000);
	u64 ahead_max_ns =
		div_u64((u64)p->claim_prefetch * kpn_wire_bytes(HWSIM_FRAME_BYTES_MAX) * nic->port.byte_ps, 1000) + 1;

	*caps = (struct kpn_nic_caps){
		.ring_slots_min = RING_SLOTS_MIN,
		.ring_slots_max = RING_SLOTS_MAX,
		.ring_slots_multiple = 1,
		.reserved_slots = 1,
		.prefetch_slots_max = p->claim_prefetch,
		.index_modulus = HWSIM_INDEX_MODULUS,
		.index_to_wire_ns_min = -longer(p->index_lag_ns_max),
		.index_to_wire_ns_max = -shorter(p->index_lag_ns_min),
		.restart_ns_min = shorter(p->restart_ns_min),
		.restart_ns_max = longer(p->restart_ns_max),
		.start_quantum_bytes = 1,
		.placeholder_bytes_min = HWSIM_FRAME_BYTES_MIN,
		.frame_bytes_max = HWSIM_FRAME_BYTES_MAX,
		.placeholder_kinds = (1u << KPN_PLACEHOLDER_COUNT) - 1,
		.index_counts_done = !p->index_fetch,
		.has_spare_buffers = true,
		.desc_persistent = p->persistent,
	};
	if (!p->index_fetch)
		return;
	ahead_min_ns = p->fifo_bytes ? 0 : min_t(u64, ahead_min_ns, p->restart_ns_min);
	caps->index_to_wire_ns_min += shorter(ahead_min_ns) - longer(p->fetch_ns);
	caps->index_to_wire_ns_max += longer(ahead_max_ns + p->restart_ns_max) - shorter(p->fetch_ns);
}
