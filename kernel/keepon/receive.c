// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames received by the lower device stay with that device, and get timestamps on their way to
 * the stack, if its driver lends the ring; with receive all they belong to the upper device while
 * that is up. The timestamp is the time of arrival here, late by the driver's interrupt and NAPI
 * latency (docs/kernel.md), or, with clock dual, the time of the frame's place in the receive ring.
 * The lower device's own timestamps are of another clock.
 */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "keepon.h"
#include "keepon/wire.h"

enum { PTP_LENGTH_AT = 2 }; /* messageLength, IEEE Std 1588-2019 section 13.3 */
enum { BYTES_MIN = ETH_ZLEN - ETH_HLEN };

/* Length on the wire, FCS included. */
static u32 frame_bytes(const struct sk_buff *skb)
{
	return skb->len + ETH_HLEN + KPN_FCS_BYTES + (skb_vlan_tag_present(skb) ? VLAN_HLEN : 0);
}

/*
 * A frame arrives with its last bit; a timestamp is of the first bit after the SFD. The time
 * between the two depends on the length, which is known; a servo would see it as asymmetry.
 */
static u64 on_wire_ns(const struct sk_buff *skb, u64 rate_bps)
{
	return div64_u64((u64)frame_bytes(skb) * BITS_PER_BYTE * NSEC_PER_SEC + rate_bps / 2,
			 rate_bps);
}

/* PHC time of the reference plane; 0 without a wire. */
static ktime_t stamp_of(struct keepon *keepon, struct sk_buff *skb)
{
	u64 place = keepon_native_place(skb);
	unsigned long flags;
	bool fresh = false;
	ktime_t stamp = 0;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	while (keepon->engine && keepon->engine->dual &&
	       !keepon_dual_reach_locked(keepon->engine, place, &fresh)) {
		raw_spin_unlock_irqrestore(&keepon->lock, flags);
		raw_spin_lock_irqsave(&keepon->lock, flags);
	}
	if (keepon->engine && keepon->engine->dual)
		stamp = keepon_dual_stamp_locked(keepon->engine, place, frame_bytes(skb));
	else if (keepon->engine)
		stamp = ktime_sub_ns(keepon_stamp(keepon_clock_read_locked(keepon)),
				     on_wire_ns(skb, keepon->plan.config.rate_bps));
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return stamp;
}

/* A field of 16 bits plus @more, the length of the packet; 0 if the field is not there. */
static u32 length_at(const struct sk_buff *skb, int at, u32 more)
{
	__be16 store;
	const __be16 *field = skb_header_pointer(skb, at, sizeof(store), &store);

	return field && *field ? be16_to_cpup(field) + more : 0;
}

static u32 arp_bytes(const struct sk_buff *skb, int at)
{
	struct arphdr store;
	const struct arphdr *arp = skb_header_pointer(skb, at, sizeof(store), &store);

	return arp ? sizeof(*arp) + 2 * (arp->ar_hln + arp->ar_pln) : 0;
}

/* Length of a packet at @at by its own header, 0 if that is unknown. */
static u32 packet_bytes(const struct sk_buff *skb, int at, __be16 protocol)
{
	switch (protocol) {
	case htons(ETH_P_1588): return length_at(skb, at + PTP_LENGTH_AT, 0);
	case htons(ETH_P_IP): return length_at(skb, at + offsetof(struct iphdr, tot_len), 0);
	case htons(ETH_P_IPV6):
		return length_at(skb, at + offsetof(struct ipv6hdr, payload_len),
				 sizeof(struct ipv6hdr));
	case htons(ETH_P_ARP): return arp_bytes(skb, at);
	case htons(ETH_P_802_2): return be16_to_cpu(eth_hdr(skb)->h_proto);
	default: return 0;
	}
}

/*
 * End of the redundancy trailer of PRP (IEC 62439-3) at @at, 0 without one. Its size counts itself
 * and no tag.
 */
static u32 trailer_end(const struct sk_buff *skb, u32 at, u32 tag_bytes)
{
	__be16 store[3]; /* number, LAN and size, suffix */
	const __be16 *trailer = skb_header_pointer(skb, at, sizeof(store), store);
	u32 end = at + sizeof(store);

	if (!trailer || trailer[2] != htons(ETH_P_PRP))
		return 0;
	return (be16_to_cpu(trailer[1]) & 0xfff) == end - tag_bytes ? end : 0;
}

/*
 * Frames of a keepon link are padded to their slot (C6). linuxptp accepts no message over Ethernet
 * with trailing bytes, and a bridge drops frames longer than the MTU of its port: remove the
 * padding beyond the 60 bytes of any NIC.
 */
static void strip_padding(struct sk_buff *skb)
{
	__be16 protocol = skb->protocol;
	struct vlan_hdr store;
	const struct vlan_hdr *vlan = NULL;
	u32 tag_bytes;
	u32 bytes;
	u32 end;

	/* the stack has not removed the tag yet */
	if (eth_type_vlan(protocol))
		vlan = skb_header_pointer(skb, 0, sizeof(store), &store);
	if (vlan)
		protocol = vlan->h_vlan_encapsulated_proto;
	tag_bytes = vlan ? VLAN_HLEN : 0;
	bytes = packet_bytes(skb, tag_bytes, protocol);
	if (!bytes)
		return;
	end = trailer_end(skb, max_t(u32, bytes, BYTES_MIN) + tag_bytes, tag_bytes);
	bytes = end ?: max_t(u32, bytes + tag_bytes, BYTES_MIN);
	/* On failure the frame stays as it is, for the receiver to judge. */
	if (bytes < skb->len && pskb_trim_rcsum(skb, bytes))
		net_dbg_ratelimited("%s: padding of a packet could not be taken off\n",
				    skb->dev->name);
}

rx_handler_result_t keepon_receive(struct sk_buff **pskb)
{
	struct sk_buff *skb = *pskb;
	struct net_device *dev = rcu_dereference(skb->dev->rx_handler_data);
	struct keepon *keepon = netdev_priv(dev);
	ktime_t stamp = 0;

	if (skb->pkt_type == PACKET_LOOPBACK || !netif_running(dev))
		return RX_HANDLER_PASS;
	skb = skb_share_check(skb, GFP_ATOMIC);
	*pskb = skb;
	if (!skb) {
		dev_core_stats_rx_dropped_inc(dev);
		return RX_HANDLER_CONSUMED;
	}
	if (READ_ONCE(keepon->hwtstamp.rx_filter) != HWTSTAMP_FILTER_NONE)
		stamp = stamp_of(keepon, skb);
	skb_hwtstamps(skb)->hwtstamp = stamp;
	skb->dev = dev;
	dev_sw_netstats_rx_add(dev, skb->len + ETH_HLEN);
	strip_padding(skb);
	return RX_HANDLER_ANOTHER;
}

/* While no ring is claimed the card's own timestamps stay. */
void keepon_card_received(void *owner, struct sk_buff *skb)
{
	struct keepon *keepon = owner;
	ktime_t stamp = 0;

	if (keepon->receives_all)
		return;
	if (!READ_ONCE(keepon->engine) && READ_ONCE(keepon->plan.clock) != KEEPON_CLOCK_DUAL)
		return;
	if (READ_ONCE(keepon->hwtstamp.rx_filter) != HWTSTAMP_FILTER_NONE)
		stamp = stamp_of(keepon, skb);
	skb_hwtstamps(skb)->hwtstamp = stamp;
	strip_padding(skb);
}
