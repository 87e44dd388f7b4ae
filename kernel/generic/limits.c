// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is claimed of a device: no more than was measured. Frames come back late by twice what was
 * seen, and the wire is kept busy for so long; or early by what was seen, when the controller has
 * fetched them. Between the two nobody knows, so stamps and clock are those of software.
 */
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "generic.h"

/*
 * Interrupts that are held up are not seen in the short time of a measurement. It is added to the
 * lead and to what is not known of the clock.
 */
static uint held_up_us = 1000;
module_param(held_up_us, uint, 0444);
MODULE_PARM_DESC(held_up_us, "how long soft interrupts may be held up, beyond what was measured");

/* What a link bears without its option drift_ppb. */
static uint pace_ppm = 200;
module_param(pace_ppm, uint, 0444);
MODULE_PARM_DESC(pace_ppm, "how far the pace may be off its rate's, for certain; see drift_ppb");

enum {
	/* Whatever is not known of the pace: a device that is no wire has none. */
	UNSURE_PERCENT_MAX = 2,
	MARGIN = 2,
	WINDOW_SPARE = 2,
	/* Until something was measured. */
	NS_ASSUMED = 100000,
	POLL_NS_MIN = 10000,
	NS_MAX = 100 * NSEC_PER_MSEC,
	/* The longest PAUSE: 65535 times 512 bits (IEEE Std 802.3 annex 31B). */
	PAUSE_BYTES = 65535 * (512 / 8),
};

u64 generic_rate_bps(struct net_device *dev)
{
	struct ethtool_link_ksettings settings;

	ASSERT_RTNL();
	if (__ethtool_get_link_ksettings(dev, &settings) ||
	    settings.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return settings.base.speed * 1000000ull;
}

u8 generic_placeholder(const struct net_device *dev)
{
	return dev->priv_flags & IFF_SUPP_NOFCS ? KPN_PLACEHOLDER_BAD_FCS :
						  KPN_PLACEHOLDER_MAC_CONTROL;
}

bool generic_is_paced(const struct generic_measured *measured)
{
	u64 line_ns = measured->line_ns;
	u64 off_ns = measured->taken_ns > line_ns ? measured->taken_ns - line_ns :
						    line_ns - measured->taken_ns;
	u64 unsure_ns = min(measured->unsure_ns, div_u64(line_ns * UNSURE_PERCENT_MAX, 100));

	return off_ns <= div_u64(line_ns * pace_ppm, 1000000) + unsure_ns;
}

/* Of a device that does not pace the measurement says nothing else. */
static u64 seen_ns(const struct generic_measured *measured, u64 ns)
{
	return measured && generic_is_paced(measured) ? ns : NS_ASSUMED;
}

u32 generic_lag_ns(const struct generic_measured *measured)
{
	u64 late_ns = seen_ns(measured, measured ? measured->late_ns : 0);

	return min_t(u64, MARGIN * late_ns + 1000ull * held_up_us, NS_MAX);
}

/*
 * How long before they leave frames come back. The wire began when the first was handed over, or
 * later, by what one alone took at most.
 */
static u64 lead_ns(const struct generic_measured *measured)
{
	return min_t(u64, seen_ns(measured, measured ? measured->early_ns + measured->alone_ns : 0),
		     NS_MAX);
}

/*
 * The most slots of a frame. Where it is sent from one descriptor those behind it are shorter than
 * others: as many more keep the wire as long. Where it is in all of them they are handed over
 * together, once there is room for all; that rounds up twice, for a rest may be no placeholder.
 */
static u32 frame_slots(u32 slot_bytes)
{
	u32 bytes =
		kpn_wire_bytes(KEEPON_NATIVE_FRAME_BYTES_MAX) + kpn_wire_bytes(KPN_FRAME_BYTES_MIN);

	return max(keepon_native_frame_slots(slot_bytes),
		   DIV_ROUND_UP(bytes, kpn_wire_bytes(slot_bytes)));
}

u32 generic_window(u32 lag_ns, u32 slot_bytes, u64 rate_bps)
{
	return div64_u64(lag_ns * 1000ull, generic_slot_ps(slot_bytes, rate_bps)) +
	       frame_slots(slot_bytes) + WINDOW_SPARE;
}

/* Received PAUSE frames let the wire stand still by right. */
static u32 pause_ns_max(struct net_device *dev, u64 rate_bps)
{
	struct ethtool_pauseparam pause = {};

	if (!dev->ethtool_ops || !dev->ethtool_ops->get_pauseparam)
		return 0;
	dev->ethtool_ops->get_pauseparam(dev, &pause);
	if (!pause.rx_pause)
		return 0;
	/* the NIC's time may be longer than ours by 0.1 % */
	return div_u64((u64)PAUSE_BYTES * kpn_byte_time_ps(rate_bps), 999);
}

void generic_limits(struct net_device *dev, u32 slot_bytes, u64 rate_bps,
		    const struct generic_measured *measured, struct keepon_native_caps *caps)
{
	u32 lag_ns = generic_lag_ns(measured);
	u64 slot_ps = generic_slot_ps(slot_bytes, rate_bps);
	u64 longest_ps = generic_slot_ps(KPN_FRAME_BYTES_MAX, rate_bps);
	u64 alone_ns = seen_ns(measured, measured ? measured->alone_ns : 0);

	*caps = (struct keepon_native_caps){
		.context = KEEPON_CONTEXT_HARDIRQ,
		.nic = {
			.ring_slots_min = GENERIC_RING_MIN,
			.ring_slots_max = GENERIC_RING_MAX,
			.ring_slots_multiple = 1,
			.reserved_slots = 1,
			.prefetch_slots_max = generic_window(lag_ns, slot_bytes, rate_bps) +
					      div64_u64(lead_ns(measured) * 1000, slot_ps),
			/* what is with the driver: of when it leaves it tells nothing */
			.index_counts_done = false,
			.index_to_wire_ns_min = -(s32)(lag_ns + div_u64(longest_ps, 1000) + 1),
			.index_to_wire_ns_max = (s32)lead_ns(measured),
			.restart_ns_max = min_t(u64,
						alone_ns + 1000ull * held_up_us,
						NS_MAX),
			.pause_ns_max = pause_ns_max(dev, rate_bps),
			.cpu_tick_ns = 1,
			.poll_ns_min = POLL_NS_MIN,
			.start_quantum_bytes = 1,
			.placeholder_bytes_min = KPN_FRAME_BYTES_MIN,
			.frame_bytes_max = min_t(u32,
						 dev->mtu + VLAN_ETH_HLEN + KPN_FCS_BYTES,
						 KPN_FRAME_BYTES_MAX),
			.fragments_max = KPN_SPAN_SLOTS_MAX,
			.placeholder_kinds = BIT(KPN_PLACEHOLDER_MAC_CONTROL) |
					     BIT(KPN_PLACEHOLDER_RESERVED_ADDRESS) |
					     BIT(generic_placeholder(dev)),
			.has_spare_buffers = true,
			.desc_persistent = true,
		},
	};
	if (generic_placeholder(dev) == KPN_PLACEHOLDER_BAD_FCS)
		caps->claims |= KEEPON_CLAIM_BAD_FCS;
	if (!measured)
		caps->claims |= KEEPON_CLAIM_UNMEASURED;
	else if (generic_is_paced(measured))
		caps->claims |= KEEPON_CLAIM_PACED | KEEPON_CLAIM_PHC;
}

void generic_describe(const struct generic_measured *measured, char *text, size_t room)
{
	u32 line_us = div_u64(measured->line_ns, 1000);

	if (!measured->taken_ns)
		snprintf(text, room, "of the placeholders handed to its driver %u came back",
			 measured->back);
	else
		snprintf(
			text, room,
			"%u frames of %u bytes took %llu us (%llu more or less), a wire of %llu Mb/s takes %u us",
			measured->frames, measured->slot_bytes, div_u64(measured->taken_ns, 1000),
			div_u64(measured->unsure_ns, 1000), div_u64(measured->rate_bps, 1000000),
			line_us);
}
