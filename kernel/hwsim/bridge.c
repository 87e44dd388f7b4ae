// SPDX-License-Identifier: GPL-2.0-only
/*
 * Store-and-forward bridges: fixed processing time from the last bit, learning and flooding, strict
 * priority over eight traffic classes per egress port (IEEE Std 802.1Q-2022 section 8.6), no gates.
 * Frames that fail the FCS check and placeholders end here.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/jhash.h>
#include <linux/slab.h>

#include "bridge.h"
#include "mac.h"

enum { ADDRESSES = 256, NO_PORT = 255 };

/** struct address - a station learned */
struct address {
	u8 mac[ETH_ALEN];
	u8 port;
	bool used;
};

/** struct bridge_port - port @number of @bridge */
struct bridge_port {
	struct hwsim_port port;
	struct hwsim_mac mac;
	struct hwsim_bridge *bridge;
	u32 number;
};

/** struct hwsim_bridge - @lock: the addresses */
struct hwsim_bridge {
	u32 ports;
	u64 processing_ps;
	u8 classes[HWSIM_PRIORITIES];
	spinlock_t lock; /* the addresses */
	struct address address[ADDRESSES];
	struct bridge_port port[];
};

static struct bridge_port *bridge_port_of(struct hwsim_port *port)
{
	return container_of(port, struct bridge_port, port);
}

static void bridge_advance(struct hwsim_port *port, u64 local_ps)
{
	hwsim_mac_advance(port, &bridge_port_of(port)->mac, local_ps);
}

/* All that has arrived at the other ports until now is in the queues of this one. */
static void bridge_gather(struct hwsim_port *port)
{
	struct hwsim_bridge *bridge = bridge_port_of(port)->bridge;
	struct hwsim_port *peer;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < bridge->ports; i++) {
		if (&bridge->port[i].port == port)
			continue;
		peer = rcu_dereference(bridge->port[i].port.peer);
		if (peer)
			hwsim_port_serve(peer);
	}
	rcu_read_unlock();
}

static u64 bridge_next(struct hwsim_port *port)
{
	return hwsim_mac_next(port, &bridge_port_of(port)->mac);
}

/* A place per hash: of two stations that share one, the last heard is known, the other flooded. */
static struct address *place_of(struct hwsim_bridge *bridge, const u8 *mac)
{
	return &bridge->address[jhash(mac, ETH_ALEN, 0) % ADDRESSES];
}

static void learn(struct hwsim_bridge *bridge, const u8 *mac, u32 port)
{
	struct address *place = place_of(bridge, mac);
	unsigned long flags;

	if (!is_valid_ether_addr(mac))
		return;
	spin_lock_irqsave(&bridge->lock, flags);
	ether_addr_copy(place->mac, mac);
	place->port = (u8)port;
	place->used = true;
	spin_unlock_irqrestore(&bridge->lock, flags);
}

static u32 look_up(struct hwsim_bridge *bridge, const u8 *mac)
{
	struct address *place = place_of(bridge, mac);
	unsigned long flags;
	u32 port = NO_PORT;

	spin_lock_irqsave(&bridge->lock, flags);
	if (place->used && ether_addr_equal(place->mac, mac))
		port = place->port;
	spin_unlock_irqrestore(&bridge->lock, flags);
	return port;
}

/* Queue 0 is served first. Frames without a tag have priority 0. */
static u8 queue_of(const struct hwsim_bridge *bridge, const struct hwsim_frame *frame)
{
	const struct vlan_ethhdr *header = (const struct vlan_ethhdr *)frame->data;
	u32 priority = 0;

	if (header->h_vlan_proto == htons(ETH_P_8021Q))
		priority = ntohs(header->h_vlan_TCI) >> VLAN_PRIO_SHIFT;
	return 7 - bridge->classes[priority];
}

static void enqueue(struct bridge_port *to, struct hwsim_frame *frame, u64 ready_true_ps)
{
	struct hwsim_port *port = &to->port;
	unsigned long flags;
	bool up;

	frame->queue = queue_of(to->bridge, frame);
	frame->life = 0;
	frame->verdict = HWSIM_GOOD;
	raw_spin_lock_irqsave(&port->lock, flags);
	frame->ready_ps = hwsim_local_ps(port->tb, ready_true_ps);
	up = port->up;
	if (up) {
		hwsim_mac_add_by_time(&to->mac, frame);
		hwsim_port_kick(port);
	}
	raw_spin_unlock_irqrestore(&port->lock, flags);
	if (!up) {
		hwsim_count(port, HWSIM_tx_queue_drops, 1);
		hwsim_frame_free(frame);
	}
}

static void bridge_receive(struct hwsim_port *port, struct hwsim_frame *frame,
			   const struct hwsim_arrival *arrival)
{
	struct bridge_port *from = bridge_port_of(port);
	struct hwsim_bridge *bridge = from->bridge;
	const struct ethhdr *header = (const struct ethhdr *)frame->data;
	u64 ready_ps = arrival->end_true_ps + bridge->processing_ps;
	u32 only;
	u32 i;

	hwsim_count(port, HWSIM_rx_frames, 1);
	hwsim_count(port, HWSIM_rx_bytes, frame->frame_bytes);
	if (is_link_local_ether_addr(header->h_dest)) {
		hwsim_count(port, HWSIM_rx_reserved, 1);
		hwsim_frame_free(frame);
		return;
	}
	learn(bridge, header->h_source, from->number);
	only = is_multicast_ether_addr(header->h_dest) ? NO_PORT : look_up(bridge, header->h_dest);
	for (i = 0; i < bridge->ports; i++) {
		struct hwsim_frame *copy;

		if (i == from->number || (only != NO_PORT && i != only) ||
		    !READ_ONCE(bridge->port[i].port.up))
			continue;
		copy = hwsim_frame_create(NULL, frame->data, frame->data_bytes);
		if (copy)
			enqueue(&bridge->port[i], copy, ready_ps);
		else
			hwsim_count(&bridge->port[i].port, HWSIM_tx_dropped, 1);
	}
	hwsim_frame_free(frame);
}

static const struct hwsim_port_ops bridge_port_ops = {
	.gather = bridge_gather,
	.advance = bridge_advance,
	.next = bridge_next,
	.receive = bridge_receive,
};

/*
 * hwsim_bridge_create() - a bridge without wires; may sleep
 * @name: begins the names of its ports
 * @ports: how many, at most HWSIM_PORTS_MAX
 * @processing_ps: from the last bit to the egress queue
 * @rate_bps: of all ports
 * @ppb: of the oscillator all ports share
 * @queue_frames: per queue of an egress port
 * @classes: traffic class of each priority, a digit of 0 to 7 each
 * @result: the bridge
 *
 * Return: 0 or -ENOMEM.
 */
int hwsim_bridge_create(const char *name, u32 ports, u64 processing_ps, u64 rate_bps, s64 ppb,
			u32 queue_frames, const char *classes, struct hwsim_bridge **result)
{
	struct hwsim_bridge *bridge = kvzalloc(struct_size(bridge, port, ports), GFP_KERNEL);
	struct hwsim_timebase *tb = hwsim_timebase_create(ppb);
	u32 i;

	if (!bridge || !tb) {
		kvfree(bridge);
		if (tb)
			hwsim_timebase_put(tb);
		return -ENOMEM;
	}
	spin_lock_init(&bridge->lock);
	bridge->ports = ports;
	bridge->processing_ps = processing_ps;
	for (i = 0; i < HWSIM_PRIORITIES; i++)
		bridge->classes[i] = classes[i] - '0';
	for (i = 0; i < ports; i++) {
		struct bridge_port *port = &bridge->port[i];

		port->bridge = bridge;
		port->number = i;
		hwsim_mac_init(&port->mac, true);
		port->mac.queue_frames = queue_frames;
		hwsim_port_init(&port->port, &bridge_port_ops, hwsim_timebase_get(tb), rate_bps);
		snprintf(port->port.name, sizeof(port->port.name), "%s:%u", name, i);
		port->port.open = true;
	}
	hwsim_timebase_put(tb);
	*result = bridge;
	return 0;
}

/** hwsim_bridge_destroy() - may sleep */
void hwsim_bridge_destroy(struct hwsim_bridge *bridge)
{
	u32 i;

	for (i = 0; i < bridge->ports; i++)
		hwsim_unlink(&bridge->port[i].port);
	for (i = 0; i < bridge->ports; i++) {
		LIST_HEAD(waiting);

		hwsim_port_close(&bridge->port[i].port);
		hwsim_mac_take_all(&bridge->port[i].mac, &waiting);
		hwsim_frames_free(&waiting);
	}
	kvfree(bridge);
}

struct hwsim_port *hwsim_bridge_port(struct hwsim_bridge *bridge, u32 port)
{
	return &bridge->port[port].port;
}

u32 hwsim_bridge_ports(const struct hwsim_bridge *bridge)
{
	return bridge->ports;
}
