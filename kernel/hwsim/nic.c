// SPDX-License-Identifier: GPL-2.0-only
/* The net_device of a virtual NIC: life, reception, queue disciplines. */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>

#include "flow.h"
#include "record.h"
#include "ring.h"
#include "rx_ring.h"

enum { CARRIER_OFF_MS = 10 };

static void nic_advance(struct hwsim_port *port, u64 local_ps)
{
	struct hwsim_nic *nic = hwsim_nic_of(port);

	if (hwsim_ring_runs(nic))
		hwsim_ring_advance(nic, local_ps);
	else
		hwsim_mac_advance(port, &nic->mac, local_ps);
}

static u64 nic_next(struct hwsim_port *port)
{
	struct hwsim_nic *nic = hwsim_nic_of(port);

	return min(nic->irq_ps,
		   hwsim_ring_runs(nic) ? hwsim_ring_next(nic) : hwsim_mac_next(port, &nic->mac));
}

static u64 nic_placeholders(struct hwsim_port *port, u64 local_ps)
{
	return hwsim_ring_placeholders(hwsim_nic_of(port), local_ps);
}

static void nic_carrier(struct hwsim_port *port, bool up)
{
	struct hwsim_nic *nic = hwsim_nic_of(port);

	if (up)
		netif_carrier_on(nic->dev);
	else if (port->removed)
		schedule_delayed_work(&nic->carrier_off, msecs_to_jiffies(CARRIER_OFF_MS));
	else
		netif_carrier_off(nic->dev);
}

static void carrier_off(struct work_struct *work)
{
	struct hwsim_nic *nic = container_of(to_delayed_work(work), struct hwsim_nic, carrier_off);

	netif_carrier_off(nic->dev);
}

static void nic_receive(struct hwsim_port *port, struct hwsim_frame *frame,
			const struct hwsim_arrival *arrival)
{
	struct hwsim_nic *nic = hwsim_nic_of(port);
	struct sk_buff *skb;
	u64 place;
	bool lent;

	if (!hwsim_rx_deliver(port, frame, &lent, &place)) {
		hwsim_count(port, HWSIM_rx_missed_frames, 1);
		hwsim_frame_free(frame);
		return;
	}
	hwsim_count(port, HWSIM_rx_frames, 1);
	hwsim_count(port, HWSIM_rx_bytes, frame->frame_bytes);
	hwsim_count(port, HWSIM_rx_torn, frame->verdict == HWSIM_TORN);
	if (hwsim_flow_takes(nic, frame)) {
		hwsim_frame_free(frame);
		return;
	}
	skb = READ_ONCE(port->open) && !READ_ONCE(port->removed) ? hwsim_frame_skb(frame) : NULL;
	hwsim_frame_free(frame);
	if (!skb) {
		hwsim_count(port, HWSIM_rx_dropped, 1);
		return;
	}
	if (lent) /* a stamp of our own would stand where the place has to */
		keepon_native_set_place(skb, place);
	else if (READ_ONCE(nic->hwtstamp.rx_filter) != HWTSTAMP_FILTER_NONE)
		skb_hwtstamps(skb)->hwtstamp = ns_to_ktime(
			hwsim_phc_at(port->tb, hwsim_local_ps(port->tb, arrival->sfd_true_ps)).ns);
	skb->protocol = eth_type_trans(skb, nic->dev);
	keepon_native_received(skb, nic->dev);
	if (netif_rx(skb) != NET_RX_SUCCESS)
		hwsim_count(port, HWSIM_rx_dropped, 1);
}

static void nic_finish(struct hwsim_port *port)
{
	hwsim_pool_refill(&hwsim_nic_of(port)->pool, &port->lock, GFP_ATOMIC);
	hwsim_transmit_finish(port);
}

static const struct hwsim_port_ops nic_port_ops = {
	.advance = nic_advance,
	.next = nic_next,
	.placeholders = nic_placeholders,
	.started = hwsim_transmit_started,
	.finish = nic_finish,
	.receive = nic_receive,
	.carrier = nic_carrier,
};

static int nic_open(struct net_device *dev)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	WRITE_ONCE(nic->port.open, true);
	hwsim_link_refresh(&nic->port);
	netif_tx_start_all_queues(dev);
	return 0;
}

static int nic_stop(struct net_device *dev)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	netif_tx_disable(dev);
	WRITE_ONCE(nic->port.open, false);
	hwsim_link_refresh(&nic->port);
	netif_carrier_off(dev);
	hwsim_ring_halt(nic);
	hwsim_transmit_flush(nic);
	return 0;
}

static void nic_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	u64 values[HWSIM_COUNTER_COUNT];

	hwsim_stats_read(&nic->port, values);
	stats->tx_packets = values[HWSIM_tx_frames];
	stats->tx_bytes = values[HWSIM_tx_bytes];
	stats->tx_dropped = values[HWSIM_tx_dropped];
	stats->tx_carrier_errors = values[HWSIM_tx_cut];
	stats->rx_packets = values[HWSIM_rx_frames];
	stats->rx_bytes = values[HWSIM_rx_bytes];
	stats->rx_dropped = values[HWSIM_rx_dropped];
	stats->rx_crc_errors = values[HWSIM_rx_fcs_errors];
	stats->rx_errors = values[HWSIM_rx_fcs_errors];
}

static int setup_etf(struct hwsim_nic *nic, const struct tc_etf_qopt_offload *etf)
{
	if (nic->params.mode != HWSIM_MODE_LAUNCHTIME)
		return -EOPNOTSUPP;
	if (etf->queue < 0 || etf->queue >= (s32)nic->params.queues)
		return -EINVAL;
	if (etf->enable)
		nic->launch_queues |= BIT(etf->queue);
	else
		nic->launch_queues &= ~BIT(etf->queue);
	return 0;
}

static int setup_mqprio(struct net_device *dev, struct tc_mqprio_qopt *mqprio)
{
	int err;
	u8 tc;

	if (!mqprio->num_tc) {
		netdev_reset_tc(dev);
		return 0;
	}
	mqprio->hw = TC_MQPRIO_HW_OFFLOAD_TCS;
	err = netdev_set_num_tc(dev, mqprio->num_tc);
	for (tc = 0; !err && tc < mqprio->num_tc; tc++)
		err = netdev_set_tc_queue(dev, tc, mqprio->count[tc], mqprio->offset[tc]);
	return err;
}

static int nic_setup_tc(struct net_device *dev, enum tc_setup_type type, void *data)
{
	switch (type) {
	case TC_SETUP_QDISC_ETF: return setup_etf(netdev_priv(dev), data);
	case TC_SETUP_QDISC_MQPRIO: return setup_mqprio(dev, data);
	default: return -EOPNOTSUPP;
	}
}

KEEPON_HWTSTAMP_IOCTL(hwsim_hwtstamp_get, hwsim_hwtstamp_set, keepon_no_ioctl)

static const struct net_device_ops nic_ops = {
	.ndo_open = nic_open,
	.ndo_stop = nic_stop,
	.ndo_start_xmit = hwsim_transmit,
	.ndo_get_stats64 = nic_get_stats64,
	.ndo_setup_tc = nic_setup_tc,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	KEEPON_HWTSTAMP_OPS(hwsim_hwtstamp_get, hwsim_hwtstamp_set, keepon_no_ioctl),
};

/*
 * hwsim_nic_create() - register a NIC without a wire; may sleep
 * @name: of the interface and of the NIC; the interface may be renamed later
 * @params: checked
 * @tb: oscillator and PHC; the reference is taken over in every case
 * @result: the NIC
 *
 * Return: 0, or what register_netdev() says.
 */
int hwsim_nic_create(const char *name, const struct hwsim_nic_params *params,
		     struct hwsim_timebase *tb, struct hwsim_nic **result)
{
	struct net_device *dev = alloc_etherdev_mqs(sizeof(struct hwsim_nic), params->queues, 1);
	struct hwsim_nic *nic;
	int err;

	if (!dev) {
		hwsim_timebase_put(tb);
		return -ENOMEM;
	}
	nic = netdev_priv(dev);
	strscpy(dev->name, name, sizeof(dev->name));
	strscpy(nic->node.name, name, sizeof(nic->node.name));
	strscpy(nic->port.name, name, sizeof(nic->port.name));
	nic->node.dev = dev;
	nic->dev = dev;
	nic->params = *params;
	nic->irq_ps = HWSIM_NEVER_PS;
	__skb_queue_head_init(&nic->done);
	INIT_DELAYED_WORK(&nic->carrier_off, carrier_off);
	hwsim_pool_init(&nic->pool);
	hwsim_mac_init(&nic->mac, params->strict);
	nic->mac.wake_ps = params->eee_wake_ns * 1000ull;
	hwsim_port_init(&nic->port, &nic_port_ops, tb, params->rate_bps);
	nic->port.rx_latency_ps = params->rx_ns * 1000ull;

	dev->netdev_ops = &nic_ops;
	dev->ethtool_ops = params->flow_control ? &hwsim_ethtool_pause_ops : &hwsim_ethtool_ops;
	dev->max_mtu = HWSIM_FRAME_BYTES_MAX - HWSIM_FCS_BYTES - VLAN_ETH_HLEN;
	dev->priv_flags |= IFF_SUPP_NOFCS | IFF_LIVE_ADDR_CHANGE;
	dev->features |= NETIF_F_HIGHDMA;
	eth_hw_addr_set(dev, params->mac);
	netif_carrier_off(dev);
	err = hwsim_rx_init(nic) ?: register_netdev(dev);
	if (err) {
		hwsim_rx_fini(nic);
		hwsim_port_close(&nic->port);
		free_netdev(dev);
		return err;
	}
	*result = nic;
	return 0;
}

/*
 * hwsim_nic_destroy() - NETDEV_GOING_DOWN and NETDEV_UNREGISTER tell keepon.ko to give a ring back;
 * may sleep
 */
void hwsim_nic_destroy(struct hwsim_nic *nic)
{
	hwsim_capture_stop(nic);
	hwsim_unlink(&nic->port);
	unregister_netdev(nic->dev);
	cancel_delayed_work_sync(&nic->carrier_off);
	hwsim_ring_fini(nic);
	hwsim_port_close(&nic->port);
	hwsim_rx_fini(nic);
	free_netdev(nic->dev);
}

/*
 * hwsim_nic_remove() - the NIC is pulled out of its socket
 * @nic: whose interface is left
 *
 * The driver's bus tells it, and so does every register, which reads as all ones from now on. That
 * there is no carrier it finds out when it looks.
 */
void hwsim_nic_remove(struct hwsim_nic *nic)
{
	hwsim_ring_remove(nic);
	keepon_native_lost(nic->dev);
	hwsim_link_refresh(&nic->port);
}

/*
 * hwsim_nic_insert() - the end of hwsim_nic_remove(); -EBUSY while its owner has not given back
 * what it lost; may sleep
 */
int hwsim_nic_insert(struct hwsim_nic *nic)
{
	int err = 0;

	rtnl_lock();
	if (nic->claimed || hwsim_rx_lent(nic)) {
		err = -EBUSY;
	} else {
		cancel_delayed_work_sync(&nic->carrier_off);
		netif_carrier_off(nic->dev);
		WRITE_ONCE(nic->port.removed, false);
		hwsim_link_refresh(&nic->port);
		keepon_native_ready(nic->dev);
	}
	rtnl_unlock();
	return err;
}
