// SPDX-License-Identifier: GPL-2.0-only
/*
 * The capture device of a NIC: an interface that receives a copy of everything the NIC put on its
 * wire, placeholders and FCS included, as the wire record has it. Stamps are those of the wire
 * (reference plane, at the sender), not of the delivery, which is up to a tick later. A device that
 * is down costs one comparison per entry of the record.
 */
#include <linux/crc32.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/slab.h>

#include "capture.h"
#include "ring.h"

enum {
	TICK_NS = 1000000,
	MAC_CONTROL_TYPE = 0x8808,
	MAC_CONTROL_OPCODE = 0x7fff, /* unassigned: IEEE Std 802.3 table 31A-1 */
};

/*
 * CLOCK_REALTIME less CLOCK_MONOTONIC_RAW when the first device went up, kept while one is:
 * distances in a capture, and between captures of several NICs, are those of the wire, whatever
 * happens to the time of day meanwhile. RTNL.
 */
static s64 real_less_raw_ns;
static u32 devices_up;

/* ---- to the stack ---- */

static void append_fcs(u8 *data, u32 data_bytes, u32 fcs_error)
{
	__le32 fcs = cpu_to_le32(crc32_le(~0, data, data_bytes) ^ ~0u ^ fcs_error);

	memcpy(data + data_bytes, &fcs, sizeof(fcs));
}

/*
 * What the ring's descriptors hold between real frames is not latched by the model: each kind is
 * shown as it was made.
 */
static void make_placeholder(struct hwsim_capture *capture, u32 frame_bytes, u8 kind)
{
	struct ethhdr *header = (struct ethhdr *)capture->placeholder;
	static const u8 mac_control[ETH_ALEN] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
	static const u8 reserved[ETH_ALEN] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x0f };
	__be16 opcode = htons(MAC_CONTROL_OPCODE);

	memset(capture->placeholder, 0, frame_bytes);
	if (kind != KPN_PLACEHOLDER_BAD_FCS) {
		ether_addr_copy(header->h_dest,
				kind == KPN_PLACEHOLDER_MAC_CONTROL ? mac_control : reserved);
		ether_addr_copy(header->h_source, capture->nic->dev->dev_addr);
		header->h_proto = htons(kind == KPN_PLACEHOLDER_MAC_CONTROL ? MAC_CONTROL_TYPE :
									      ETH_P_802_EX1);
	}
	if (kind == KPN_PLACEHOLDER_MAC_CONTROL)
		memcpy(header + 1, &opcode, sizeof(opcode));
	append_fcs(capture->placeholder, frame_bytes - HWSIM_FCS_BYTES,
		   kind == KPN_PLACEHOLDER_BAD_FCS ? ~0u : 0);
	capture->placeholder_bytes = frame_bytes;
	capture->placeholder_kind = kind;
}

static struct sk_buff *skb_of(struct hwsim_capture *capture,
			      const struct hwsim_capture_entry *entry)
{
	struct sk_buff *skb = napi_alloc_skb(&capture->napi, entry->frame_bytes);
	u32 data_bytes = entry->frame_bytes - HWSIM_FCS_BYTES;

	if (!skb)
		return NULL;
	if (entry->kind == HWSIM_CAPTURE_REAL) {
		memcpy(skb_put(skb, entry->frame_bytes), hwsim_capture_data(capture, entry),
		       data_bytes);
		append_fcs(skb->data, data_bytes, entry->fcs_error);
		return skb;
	}
	if (capture->placeholder_bytes != entry->frame_bytes ||
	    capture->placeholder_kind != entry->kind)
		make_placeholder(capture, entry->frame_bytes, entry->kind);
	skb_put_data(skb, capture->placeholder, entry->frame_bytes);
	return skb;
}

static void deliver(struct hwsim_capture *capture, const struct hwsim_capture_entry *entry)
{
	struct hwsim_timebase *tb = capture->nic->port.tb;
	struct sk_buff *skb = skb_of(capture, entry);
	u32 ps;

	if (!skb) {
		atomic64_inc(&capture->missed);
		return;
	}
	atomic64_inc(&capture->rx_packets);
	atomic64_add(skb->len, &capture->rx_bytes);
	skb->tstamp = ns_to_ktime((s64)hwsim_raw_ns(hwsim_true_of_ps(tb, entry->sfd_ps), &ps) +
				  real_less_raw_ns);
	if (READ_ONCE(capture->hwtstamp.rx_filter) != HWTSTAMP_FILTER_NONE)
		skb_hwtstamps(skb)->hwtstamp = ns_to_ktime(hwsim_phc_at(tb, entry->sfd_ps).ns);
	skb->protocol = eth_type_trans(skb, capture->dev);
	skb->pkt_type = PACKET_OTHERHOST; /* not for this machine's stack, whatever the address */
	netif_receive_skb(skb);
}

static int capture_poll(struct napi_struct *napi, int budget)
{
	struct hwsim_capture *capture = container_of(napi, struct hwsim_capture, napi);
	int done;

	for (done = 0; done < budget; done++) {
		struct hwsim_capture_entry entry;

		if (!hwsim_capture_look(capture, &entry)) {
			napi_complete_done(napi, done);
			break;
		}
		deliver(capture, &entry);
		hwsim_capture_done(capture, &entry);
	}
	return done;
}

static enum hrtimer_restart capture_tick(struct hrtimer *timer)
{
	struct hwsim_capture *capture = container_of(timer, struct hwsim_capture, timer);
	struct hwsim_port *port = &capture->nic->port;
	unsigned long flags;

	raw_spin_lock_irqsave(&port->lock, flags);
	hwsim_ring_record_now(capture->nic);
	hwsim_port_kick(port);
	raw_spin_unlock_irqrestore(&port->lock, flags);
	napi_schedule(&capture->napi);
	hrtimer_forward_now(timer, TICK_NS);
	return HRTIMER_RESTART;
}

/* ---- the net_device ---- */

static int capture_open(struct net_device *dev)
{
	struct hwsim_capture *capture = netdev_priv(dev);
	struct hwsim_port *port = &capture->nic->port;
	unsigned long flags;

	if (hwsim_capture_queue_create(capture))
		return -ENOMEM;
	if (!devices_up++)
		real_less_raw_ns = keepon_real_less_raw_ns();
	napi_enable(&capture->napi);
	raw_spin_lock_irqsave(&port->lock, flags);
	hwsim_ring_record_now(capture->nic); /* what left before is not shown */
	port->capture = capture;
	raw_spin_unlock_irqrestore(&port->lock, flags);
	hrtimer_start(&capture->timer, TICK_NS, HRTIMER_MODE_REL_SOFT);
	return 0;
}

static int capture_stop(struct net_device *dev)
{
	struct hwsim_capture *capture = netdev_priv(dev);
	struct hwsim_port *port = &capture->nic->port;
	unsigned long flags;

	raw_spin_lock_irqsave(&port->lock, flags);
	port->capture = NULL;
	raw_spin_unlock_irqrestore(&port->lock, flags);
	hrtimer_cancel(&capture->timer);
	napi_disable(&capture->napi);
	hwsim_capture_queue_free(capture);
	devices_up--;
	return 0;
}

static netdev_tx_t capture_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct hwsim_capture *capture = netdev_priv(dev);

	atomic64_inc(&capture->tx_dropped);
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static void capture_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct hwsim_capture *capture = netdev_priv(dev);

	stats->rx_packets = atomic64_read(&capture->rx_packets);
	stats->rx_bytes = atomic64_read(&capture->rx_bytes);
	stats->rx_missed_errors = atomic64_read(&capture->missed);
	stats->tx_dropped = atomic64_read(&capture->tx_dropped);
}

static int capture_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config)
{
	struct hwsim_capture *capture = netdev_priv(dev);

	*config = capture->hwtstamp;
	return 0;
}

/* libpcap asks for transmit stamps as well, of which there never are any. */
static int capture_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config,
				struct netlink_ext_ack *extack)
{
	struct hwsim_capture *capture = netdev_priv(dev);

	if (config->flags)
		return -EINVAL;
	if (config->tx_type != HWTSTAMP_TX_OFF && config->tx_type != HWTSTAMP_TX_ON)
		return -ERANGE;
	if (config->rx_filter != HWTSTAMP_FILTER_NONE)
		config->rx_filter = HWTSTAMP_FILTER_ALL;
	capture->hwtstamp = *config;
	return 0;
}

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct hwsim_capture *capture = netdev_priv(dev);

	strscpy(info->driver, HWSIM_NAME, sizeof(info->driver));
	strscpy(info->bus_info, capture->nic->node.name, sizeof(info->bus_info));
}

static void get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *kernel_ring,
			  struct netlink_ext_ack *extack)
{
	struct hwsim_capture *capture = netdev_priv(dev);

	ring->rx_max_pending = HWSIM_CAPTURE_FRAMES_MAX;
	ring->rx_pending = capture->room;
}

static int set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *kernel_ring,
			 struct netlink_ext_ack *extack)
{
	struct hwsim_capture *capture = netdev_priv(dev);

	if (!ring->rx_pending) {
		NL_SET_ERR_MSG(extack, "rx must be 1 to 16384");
		return -EINVAL;
	}
	WRITE_ONCE(capture->room, ring->rx_pending);
	return 0;
}

/*
 * The wire's times in CLOCK_REALTIME are what the stack calls software stamps; the PHC is that of
 * the NIC.
 */
static int get_ts_info(struct net_device *dev, struct keepon_ts_info *info)
{
	struct hwsim_capture *capture = netdev_priv(dev);

	info->so_timestamping = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
				SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	info->phc_index = ptp_clock_index(capture->nic->port.tb->ptp);
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_ALL);
	return 0;
}

KEEPON_HWTSTAMP_IOCTL(capture_hwtstamp_get, capture_hwtstamp_set, keepon_no_ioctl)

static const struct net_device_ops capture_ops = {
	.ndo_open = capture_open,
	.ndo_stop = capture_stop,
	.ndo_start_xmit = capture_xmit,
	.ndo_get_stats64 = capture_get_stats64,
	KEEPON_HWTSTAMP_OPS(capture_hwtstamp_get, capture_hwtstamp_set, keepon_no_ioctl),
};

static const struct ethtool_ops capture_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_ringparam = get_ringparam,
	.set_ringparam = set_ringparam,
	.get_ts_info = get_ts_info,
};

static int create(struct hwsim_nic *nic, const char *name, struct hwsim_capture **result)
{
	struct net_device *dev = alloc_etherdev(sizeof(struct hwsim_capture));
	struct hwsim_capture *capture;
	int err;

	if (!dev)
		return -ENOMEM;
	capture = netdev_priv(dev);
	capture->dev = dev;
	capture->nic = nic;
	strscpy(dev->name, name, sizeof(dev->name));
	strscpy(capture->name, name, sizeof(capture->name));
	capture->room = HWSIM_CAPTURE_FRAMES_MAX;
	keepon_hrtimer_setup(&capture->timer, capture_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	netif_napi_add(dev, &capture->napi, capture_poll);
	dev->netdev_ops = &capture_ops;
	dev->ethtool_ops = &capture_ethtool_ops;
	dev->flags = IFF_NOARP;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->mtu = HWSIM_FRAME_BYTES_MAX - ETH_HLEN; /* the FCS counts as payload here */
	dev->max_mtu = dev->mtu;
	eth_hw_addr_set(dev, nic->dev->dev_addr);
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	*result = capture;
	return 0;
}

static void destroy(struct hwsim_capture *capture)
{
	unregister_netdev(capture->dev);
	free_netdev(capture->dev);
}

/*
 * hwsim_capture_start() - begin the wire record again, with or without a device; may sleep,
 * hwsim_mutex held
 * @nic: whose wire
 * @records: entries to keep
 * @name: of the device, NULL: none. One that has this name already stays as it is; another one goes
 *
 * Return: 0, or what register_netdev() says, or -ENOMEM; then nothing has changed.
 */
int hwsim_capture_start(struct hwsim_nic *nic, u32 records, const char *name)
{
	struct hwsim_capture *before = nic->capture;
	struct hwsim_capture *capture = NULL;
	int err = 0;

	if (before && name && !strcmp(before->name, name))
		capture = before;
	else if (name)
		err = create(nic, name, &capture);
	if (err)
		return err;
	err = hwsim_record_start(&nic->port, records);
	if (err) {
		if (capture && capture != before)
			destroy(capture);
		return err;
	}
	if (before && capture != before)
		destroy(before);
	nic->capture = capture;
	return 0;
}

/*
 * hwsim_capture_stop() - no device, in whatever namespace it is, and no record; may sleep,
 * hwsim_mutex held
 */
void hwsim_capture_stop(struct hwsim_nic *nic)
{
	if (nic->capture)
		destroy(nic->capture);
	nic->capture = NULL;
	hwsim_record_stop(&nic->port);
}
