// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of a lent ring, from the parameters of its NIC: honest ones, unless claim_prefetch makes
 * it lie.
 */
#include "keepon/wire.h"

#include "ring.h"

enum {
	RING_SLOTS_MIN = 8,
	RING_SLOTS_MAX = 4096,
	COARSE_TICK_NS = 19, /* 18.5 rounded up */
	POLL_NS_MIN = 5000,
	TRIM_BYTES = 16,    /* by so much slots are lengthened, unless more is asked for */
	STORE_CPU_NS = 500, /* a guest of 500 million instructions a second takes as long */
};

/*
 * NIC and CPU oscillators are different ones: what the NIC keeps in its own time may be longer or
 * shorter in the CPU's. Both together differ by less than 0.1 % (HWSIM_PPB_MAX is half of it).
 */
static u64 longer(u64 ns)
{
	return ns + div_u64(ns, 1000) + (ns > 0);
}

static u64 shorter(u64 ns)
{
	u64 less = div_u64(ns, 1000) + 1;

	return ns > less ? ns - less : 0;
}

/* The longest PAUSE: 65535 quanta of 512 bit times (IEEE Std 802.3 annex 31B). */
static u32 pause_ns_max(const struct hwsim_port *port)
{
	return (u32)longer(div_u64(65535ull * (512 / 8) * port->byte_ps, 1000));
}

/*
 * How many frames of @slot_bytes beyond the one on the wire may have been fetched. A fetch starts
 * when a longest frame fits into the FIFO; slots that are trimmed shorter let one more in.
 */
static u32 prefetch_slots(const struct hwsim_nic_params *p, u32 slot_bytes)
{
	if (!p->fifo_bytes)
		return p->claim_prefetch;
	return min(p->claim_prefetch,
		   (p->fifo_bytes - HWSIM_FRAME_BYTES_MAX) /
				   max_t(u32, slot_bytes, HWSIM_FRAME_BYTES_MIN) +
			   1);
}

/*
 * hwsim_ring_caps() - limits at the present rate; RTNL held
 * @nic: that lends its ring
 * @slot_bytes: of slots, FCS included
 * @caps: filled
 *
 * A fetch index passes a slot at its latch plus lag; the frame's first bit follows the frames
 * fetched before it, or, on an idle wire, the restart. Slots may be trimmed and frames longer than
 * slots, so the bounds allow for shortest ones, and for slots that are lengthened and one longest
 * frame, of whose slots the others are not among them.
 */
void hwsim_ring_caps(const struct hwsim_nic *nic, u32 slot_bytes, struct kpn_nic_caps *caps)
{
	const struct hwsim_nic_params *p = &nic->params;
	u32 prefetch = prefetch_slots(p, slot_bytes);
	u64 ahead_min_ns = div_u64(
		(u64)prefetch * kpn_wire_bytes(HWSIM_FRAME_BYTES_MIN) * nic->port.byte_ps, 1000);
	u64 ahead_max_bytes = (u64)prefetch * (kpn_wire_bytes(slot_bytes) + TRIM_BYTES) +
			      kpn_wire_bytes(HWSIM_FRAME_BYTES_MAX);
	u64 ahead_max_ns = div_u64(ahead_max_bytes * nic->port.byte_ps, 1000) + 1;

	*caps = (struct kpn_nic_caps){
		.ring_slots_min = RING_SLOTS_MIN,
		.ring_slots_max = RING_SLOTS_MAX,
		.ring_slots_multiple = 1,
		.reserved_slots = 1,
		.prefetch_slots_max = prefetch,
		.index_modulus = HWSIM_INDEX_MODULUS,
		.index_to_wire_ns_min = -(s32)longer(p->index_lag_ns_max),
		.index_to_wire_ns_max = -(s32)shorter(p->index_lag_ns_min),
		.restart_ns_min = (u32)shorter(p->restart_ns_min),
		.restart_ns_max = (u32)longer(p->restart_ns_max),
		.pause_ns_max = nic->params.flow_control ? pause_ns_max(&nic->port) : 0,
		.store_cpu_ns = STORE_CPU_NS,
		.cpu_tick_ns = p->cpu_ticks_coarse ? COARSE_TICK_NS : 1,
		.poll_ns_min = POLL_NS_MIN,
		.start_quantum_bytes = 1,
		.placeholder_bytes_min = HWSIM_FRAME_BYTES_MIN,
		.frame_bytes_max = HWSIM_FRAME_BYTES_MAX,
		.fragments_max = p->fragments,
		.placeholder_kinds = (1u << KPN_PLACEHOLDER_COUNT) - 1,
		.index_counts_done = !p->index_fetch,
		.has_spare_buffers = true,
		.desc_persistent = p->persistent,
	};
	if (p->fifo_bytes)
		caps->prefetch_slots_max = min(
			p->claim_prefetch, prefetch + keepon_native_frame_slots(slot_bytes) - 1);
	if (!p->index_fetch)
		return;
	ahead_min_ns = p->fifo_bytes ? 0 : min_t(u64, ahead_min_ns, p->restart_ns_min);
	caps->index_to_wire_ns_min += (s32)shorter(ahead_min_ns) - (s32)longer(p->fetch_ns);
	caps->index_to_wire_ns_max +=
		(s32)longer(ahead_max_ns + p->restart_ns_max) - (s32)shorter(p->fetch_ns);
}
