// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module keepon_generic: any Ethernet device as one that lends a ring, for links with `backend
 * generic`. A device is measured when it is first asked about with a link; what was found holds
 * until it is set down or its rate changes.
 */
#include <linux/delay.h>
#include <linux/if_arp.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "generic.h"
#include "keepon_version.h"

enum {
	GIVE_BACK_MS = 500,
	EXIT_POLL_MS = 20,
	/* a fragment goes on where others have preamble and gap */
	BUFFER_BYTES_MAX = KPN_FRAME_BYTES_MAX + KPN_WIRE_OVERHEAD_BYTES,
};

/*
 * struct known - a device that was asked for; RTNL
 * @measured: what was found; @has_measured: if anything
 * @sentence: why it is refused
 * @pump: while it is claimed
 */
struct known {
	struct list_head list;
	struct net_device *dev;
	bool has_measured;
	struct generic_measured measured;
	char sentence[GENERIC_SENTENCE_BYTES];
	struct generic_pump *pump;
};

static LIST_HEAD(devices);

static struct known *find(const struct net_device *dev)
{
	struct known *known;

	ASSERT_RTNL();
	list_for_each_entry(known, &devices, list)
	{
		if (known->dev == dev)
			return known;
	}
	return NULL;
}

static struct known *find_or_add(struct net_device *dev)
{
	struct known *known = find(dev);

	if (known)
		return known;
	known = kzalloc(sizeof(*known), GFP_KERNEL);
	if (!known)
		return NULL;
	known->dev = dev;
	list_add(&known->list, &devices);
	return known;
}

static bool generic_owns(const struct net_device *dev)
{
	return dev->type == ARPHRD_ETHER && !(dev->flags & IFF_LOOPBACK) &&
	       dev->netdev_ops->ndo_start_xmit;
}

/* What is known of another rate or, while nobody uses the device, of another length, is old. */
static bool is_fresh(const struct known *known, u32 slot_bytes, u64 rate_bps)
{
	return known->has_measured && known->measured.rate_bps == rate_bps &&
	       (known->pump || known->measured.slot_bytes == slot_bytes);
}

static int measure(struct known *known, u32 slot_bytes, u64 rate_bps)
{
	struct generic_measured *measured = &known->measured;
	int error = generic_measure(known->dev, slot_bytes, rate_bps, measured);
	u32 lag_ns = generic_lag_ns(measured);

	known->has_measured = !error;
	if (error)
		return error;
	generic_describe(measured, known->sentence, sizeof(known->sentence));
	netdev_info(known->dev, "%s; back %llu ns late, %llu ns early, %llu ns alone; %u ahead\n",
		    known->sentence, measured->late_ns, measured->early_ns, measured->alone_ns,
		    generic_window(lag_ns, slot_bytes, rate_bps));
	return 0;
}

static int generic_query(struct net_device *dev, u32 slot_bytes, struct keepon_native_caps *caps,
			 const char **why)
{
	static const char no_rate[] = "nobody knows the rate of its link; see ethtool";
	u64 rate_bps = generic_rate_bps(dev);
	struct known *known = find_or_add(dev);
	int error;

	if (!known)
		return -ENOMEM;
	/* the longest placeholder the device takes */
	slot_bytes = min_t(u32, slot_bytes, dev->mtu + ETH_HLEN + KPN_FCS_BYTES);
	if (!netif_running(dev) || !netif_carrier_ok(dev)) {
		generic_limits(dev, slot_bytes, kpn_byte_time_ps(rate_bps) ? rate_bps : 1000000000,
			       NULL, caps);
		return 0;
	}
	if (!kpn_byte_time_ps(rate_bps)) {
		if (why)
			*why = no_rate;
		return -EOPNOTSUPP;
	}
	if (!is_fresh(known, slot_bytes, rate_bps)) {
		error = known->pump ? -EBUSY : measure(known, slot_bytes, rate_bps);
		if (error)
			return error;
	}
	generic_limits(dev, slot_bytes, rate_bps, &known->measured, caps);
	if (why)
		*why = known->sentence;
	return 0;
}

static int make_ring(struct generic_pump *pump, const struct keepon_native_setup *setup)
{
	pump->ring_slots = setup->ring_slots;
	pump->buffer_bytes = setup->buffer_bytes;
	pump->slots = kvcalloc(setup->ring_slots, sizeof(*pump->slots), GFP_KERNEL_ACCOUNT);
	pump->buffers = kvcalloc(setup->ring_slots, setup->buffer_bytes, GFP_KERNEL_ACCOUNT);
	pump->ends_mask = roundup_pow_of_two(setup->ring_slots) - 1;
	pump->ends = kvcalloc(pump->ends_mask + 1, sizeof(*pump->ends), GFP_KERNEL_ACCOUNT);
	return pump->slots && pump->buffers && pump->ends ? 0 : -ENOMEM;
}

static int generic_claim(struct net_device *dev, const struct keepon_native_setup *setup,
			 struct keepon_native *native)
{
	struct known *known = find(dev);
	struct generic_pump *pump;
	int error;

	if (!known || !known->has_measured)
		return -ENETDOWN;
	if (known->pump)
		return -EBUSY;
	if (setup->buffer_bytes > BUFFER_BYTES_MAX || setup->ring_slots > GENERIC_RING_MAX ||
	    setup->placeholder >= KPN_PLACEHOLDER_COUNT)
		return -EINVAL;
	pump = generic_pump_make(dev, setup->placeholder, setup->slot_bytes,
				 known->measured.rate_bps);
	if (!pump)
		return -ENOMEM;
	pump->lag_ns = generic_lag_ns(&known->measured);
	pump->paced_here = !generic_is_paced(&known->measured);
	pump->window = generic_window(pump->lag_ns, setup->slot_bytes, known->measured.rate_bps);
	error = make_ring(pump, setup) ?: generic_pump_begin(pump, NULL);
	if (error) {
		generic_pump_free(pump);
		return error;
	}
	known->pump = pump;
	generic_tap_begin(pump);
	native->ops = &generic_ring_ops;
	native->nic = pump;
	return 0;
}

static void settle(struct generic_pump *pump)
{
	generic_ring_ops.halt(pump);
	if (!generic_pump_wait(pump, GIVE_BACK_MS))
		netdev_warn(pump->dev, "its driver keeps %d frames; set it down and up\n",
			    generic_flights());
	generic_pump_end(pump);
}

static void generic_reset(struct net_device *dev, struct keepon_native *native)
{
	struct generic_pump *pump = native->nic;
	u32 idx;

	settle(pump);
	for (idx = 0; idx < pump->ring_slots; idx++)
		pump->slots[idx] = (struct generic_slot){ .frame_bytes = (u16)pump->slot_bytes };
	memset(pump->buffers, 0, (size_t)pump->ring_slots * pump->buffer_bytes);
	if (generic_pump_begin(pump, NULL))
		netdev_err(dev, "no memory for a placeholder; set the link down and up\n");
}

static void generic_release(struct net_device *dev, struct keepon_native *native)
{
	struct generic_pump *pump = native->nic;
	struct known *known = find(dev);

	generic_tap_end(pump);
	if (pump->flight)
		settle(pump);
	generic_pump_free(pump);
	if (known)
		known->pump = NULL;
	native->ops = NULL;
	native->nic = NULL;
}

static struct keepon_native_driver generic_driver = {
	.name = GENERIC_NAME,
	.module = THIS_MODULE,
	.any_driver = true,
	.owns = generic_owns,
	.query = generic_query,
	.claim = generic_claim,
	.reset = generic_reset,
	.release = generic_release,
};

/* Another cable, another peer, another driver setting: what was measured is of no worth. */
static int on_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct known *known = find(netdev_notifier_info_to_dev(info));

	if (!known || known->pump)
		return NOTIFY_DONE;
	if (event == NETDEV_DOWN)
		known->has_measured = false;
	if (event == NETDEV_UNREGISTER) {
		list_del(&known->list);
		kfree(known);
	}
	return NOTIFY_DONE;
}

static struct notifier_block block = { .notifier_call = on_event };

static int __init generic_init(void)
{
	int error = register_netdevice_notifier(&block);

	if (!error)
		keepon_native_register(&generic_driver);
	return error;
}

/* A driver may keep frames for long, and gives each back by a function of this module. */
static void __exit generic_exit(void)
{
	struct known *known;
	struct known *next;

	keepon_native_unregister(&generic_driver);
	unregister_netdevice_notifier(&block);
	list_for_each_entry_safe(known, next, &devices, list)
	{
		list_del(&known->list);
		kfree(known);
	}
	while (generic_flights())
		msleep(EXIT_POLL_MS);
	synchronize_net();
}

module_init(generic_init);
module_exit(generic_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(KEEPON_VERSION);
MODULE_AUTHOR("Keepon developers");
MODULE_DESCRIPTION("Keepon over the transmit function of any Ethernet driver");
