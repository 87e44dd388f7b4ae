/* SPDX-License-Identifier: GPL-2.0-only */
/* nic.c, transmit.c, ethtool.c: the net_device of a virtual NIC and its ordinary driver. */
#ifndef KEEPON_HWSIM_NIC_H
#define KEEPON_HWSIM_NIC_H

#include <linux/workqueue.h>

#include "keepon_compat.h"
#include "keepon_native.h"
#include "mac.h"

enum {
	HWSIM_TX_RING_MIN = 2,
	HWSIM_TX_RING_MAX = 4096,
};

enum hwsim_mode { HWSIM_MODE_RING, HWSIM_MODE_ORDINARY, HWSIM_MODE_LAUNCHTIME };

/** struct hwsim_nic_params - as given to the control file; names and units as there */
struct hwsim_nic_params {
	u8 mode;
	u8 index_fetch;
	bool persistent;
	bool clobbers;
	bool flow_control; /* PAUSE frames are obeyed: part of the limits; ethtool changes it */
	bool rearm_shadow; /* false: the driver does not mend what the NIC clobbers */
	bool coherent;
	u8 cpu_ticks_coarse;
	u8 strict;
	u32 queues;
	u32 tx_ring;
	u32 prefetch;
	u32 claim_prefetch; /* what the ring's limits say instead; smaller is a lie */
	u32 fifo_bytes;
	u32 fragments; /* of which it sends a frame of its ring */
	u32 fetch_ns;
	u32 restart_ns_min;
	u32 restart_ns_max;
	u32 index_lag_ns_min;
	u32 index_lag_ns_max;
	u32 index_read_ns;
	u32 rx_ring;
	u32 rx_lag_ns_min;
	u32 rx_lag_ns_max;
	u32 coalesce_us;
	u32 coalesce_frames;
	u32 rx_ns;
	u32 eee_wake_ns; /* 0: it has no energy-efficient Ethernet */
	u64 rate_bps;
	u64 seed;
	u8 mac[ETH_ALEN];
};

/** struct hwsim_node - a named object */
struct hwsim_node {
	struct list_head list;
	char name[IFNAMSIZ];
	struct dentry *folder;
	struct net_device *dev; /* NULL: a bridge */
	struct hwsim_bridge *bridge;
};

struct hwsim_ring;

/**
 * struct hwsim_nic - private area of a net_device
 * @done: the stack's skbs whose frames have started, until the transmit interrupt; struct
 *	hwsim_done in their cb
 * @unfinished: per queue, skbs between xmit and transmit interrupt
 * @irq_ps: local time of the transmit interrupt
 * @launch_queues: bit per queue with etf offload
 * @claimed: the ring is lent; @ring: from the first claim on; @pool: its frames
 * @carrier_off: when the driver notices that a removed NIC has no carrier
 * @capture: its device, up or down, or NULL; hwsim_mutex
 */
struct hwsim_nic {
	struct hwsim_node node;
	struct hwsim_nic_params params;
	struct hwsim_port port;
	struct hwsim_mac mac;
	struct net_device *dev;
	struct sk_buff_head done;
	u32 unfinished[HWSIM_QUEUES];
	u64 irq_ps;
	u32 launch_queues;
	struct keepon_hwtstamp hwtstamp;
	bool claimed;
	struct delayed_work carrier_off;
	struct hwsim_ring *ring;
	struct hwsim_pool pool;
	struct hwsim_capture *capture;
};

static inline struct hwsim_nic *hwsim_nic_of(struct hwsim_port *port)
{
	return container_of(port, struct hwsim_nic, port);
}

int hwsim_nic_create(const char *name, const struct hwsim_nic_params *params,
		     struct hwsim_timebase *tb, struct hwsim_nic **result);
void hwsim_nic_destroy(struct hwsim_nic *nic);
void hwsim_nic_remove(struct hwsim_nic *nic);
int hwsim_nic_insert(struct hwsim_nic *nic);

/* transmit.c */
netdev_tx_t hwsim_transmit(struct sk_buff *skb, struct net_device *dev);
void hwsim_transmit_started(struct hwsim_port *port, struct hwsim_frame *frame);
void hwsim_transmit_finish(struct hwsim_port *port);
void hwsim_transmit_flush(struct hwsim_nic *nic);
bool hwsim_transmit_drain(struct hwsim_nic *nic);
bool hwsim_nic_is(const struct net_device *dev);

/* ethtool.c */
extern const struct ethtool_ops hwsim_ethtool_ops;
/* of a NIC that knows PAUSE */
extern const struct ethtool_ops hwsim_ethtool_pause_ops;
int hwsim_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config);
int hwsim_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config,
		       struct netlink_ext_ack *extack);

#endif
