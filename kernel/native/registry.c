// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drivers that lend rings, and modules to be notified of them (keepon_native.h). Both lists change
 * under RTNL. A ring may be lost in interrupt context, under locks of its driver: owners are found
 * under RCU then, and no lock of this module is held while one is notified.
 */
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "keepon_native.h"
#include "keepon_version.h"

/**
 * struct attachment - an owner of the rings of a device
 * @list: in attachments
 * @dev: the device; not held: its owner detaches before it goes
 * @ops: notifications
 * @owner: given to each of @ops
 */
struct attachment {
	struct list_head list;
	const struct net_device *dev;
	const struct keepon_native_owner *ops;
	void *owner;
};

static LIST_HEAD(drivers);
static LIST_HEAD(attachments);

/* Under RTNL or rcu_read_lock(). */
static struct attachment *attachment_of(const struct net_device *dev)
{
	struct attachment *found;

	list_for_each_entry_rcu(found, &attachments, list, lockdep_rtnl_is_held())
	{
		if (found->dev == dev)
			return found;
	}
	return NULL;
}

void keepon_native_register(struct keepon_native_driver *driver)
{
	rtnl_lock();
	list_add_tail(&driver->list, &drivers);
	rtnl_unlock();
}
EXPORT_SYMBOL_GPL(keepon_native_register);

void keepon_native_unregister(struct keepon_native_driver *driver)
{
	rtnl_lock();
	list_del(&driver->list);
	rtnl_unlock();
}
EXPORT_SYMBOL_GPL(keepon_native_unregister);

struct keepon_native_driver *keepon_native_get(const struct net_device *dev, bool any_driver)
{
	struct keepon_native_driver *driver;

	ASSERT_RTNL();
	list_for_each_entry(driver, &drivers, list)
	{
		if (driver->any_driver == any_driver && driver->owns(dev))
			return try_module_get(driver->module) ? driver : NULL;
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(keepon_native_get);

void keepon_native_put(struct keepon_native_driver *driver)
{
	if (driver)
		module_put(driver->module);
}
EXPORT_SYMBOL_GPL(keepon_native_put);

int keepon_native_attach(struct net_device *dev, const struct keepon_native_owner *ops, void *owner)
{
	struct attachment *added;

	ASSERT_RTNL();
	if (attachment_of(dev))
		return -EBUSY;
	added = kmalloc(sizeof(*added), GFP_KERNEL);
	if (!added)
		return -ENOMEM;
	added->dev = dev;
	added->ops = ops;
	added->owner = owner;
	list_add_tail_rcu(&added->list, &attachments);
	return 0;
}
EXPORT_SYMBOL_GPL(keepon_native_attach);

/* When this returns nobody is in lost() any more, so that the owner may go. */
void keepon_native_detach(struct net_device *dev)
{
	struct attachment *gone;

	ASSERT_RTNL();
	gone = attachment_of(dev);
	if (WARN_ON(!gone))
		return;
	list_del_rcu(&gone->list);
	synchronize_net();
	kfree(gone);
}
EXPORT_SYMBOL_GPL(keepon_native_detach);

void keepon_native_stop(struct net_device *dev)
{
	struct attachment *attached;

	ASSERT_RTNL();
	attached = attachment_of(dev);
	if (attached)
		attached->ops->stop(attached->owner);
}
EXPORT_SYMBOL_GPL(keepon_native_stop);

void keepon_native_lost(struct net_device *dev)
{
	struct attachment *attached;

	rcu_read_lock();
	attached = attachment_of(dev);
	if (attached)
		attached->ops->lost(attached->owner);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(keepon_native_lost);

void keepon_native_delayed(struct net_device *dev, u64 delay_ns, u32 frames)
{
	struct attachment *attached;

	rcu_read_lock();
	attached = attachment_of(dev);
	if (attached && attached->ops->delayed)
		attached->ops->delayed(attached->owner, delay_ns, frames);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(keepon_native_delayed);

void keepon_native_ready(struct net_device *dev)
{
	struct attachment *attached;

	ASSERT_RTNL();
	attached = attachment_of(dev);
	if (attached)
		attached->ops->ready(attached->owner);
}
EXPORT_SYMBOL_GPL(keepon_native_ready);

netdev_tx_t keepon_native_transmit(struct sk_buff *skb, struct net_device *dev)
{
	netdev_tx_t result = NETDEV_TX_OK;
	struct attachment *attached;

	rcu_read_lock();
	attached = attachment_of(dev);
	if (attached && attached->ops->transmit) {
		result = attached->ops->transmit(attached->owner, skb, dev);
	} else {
		dev_core_stats_tx_dropped_inc(dev);
		dev_kfree_skb_any(skb);
	}
	rcu_read_unlock();
	return result;
}
EXPORT_SYMBOL_GPL(keepon_native_transmit);

void keepon_native_received(struct sk_buff *skb, struct net_device *dev)
{
	struct attachment *attached;

	rcu_read_lock();
	attached = attachment_of(dev);
	if (attached && attached->ops->received)
		attached->ops->received(attached->owner, skb);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(keepon_native_received);

/* The owner of @dev, if stamps are its affair. */
static struct attachment *stamper_of(const struct net_device *dev)
{
	struct attachment *attached;

	ASSERT_RTNL();
	attached = attachment_of(dev);
	return attached && attached->ops->ts_info ? attached : NULL;
}

int keepon_native_ts_info(struct net_device *dev, struct keepon_ts_info *info)
{
	struct attachment *attached = stamper_of(dev);

	return attached ? attached->ops->ts_info(attached->owner, info) : -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(keepon_native_ts_info);

int keepon_native_hwtstamp_get(struct net_device *dev, struct keepon_hwtstamp *config)
{
	struct attachment *attached = stamper_of(dev);

	return attached ? attached->ops->hwtstamp_get(attached->owner, config) : -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(keepon_native_hwtstamp_get);

int keepon_native_hwtstamp_set(struct net_device *dev, struct keepon_hwtstamp *config,
			       struct netlink_ext_ack *extack)
{
	struct attachment *attached = stamper_of(dev);

	return attached ? attached->ops->hwtstamp_set(attached->owner, config, extack) :
			  -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(keepon_native_hwtstamp_set);

MODULE_DESCRIPTION("Who lends a transmit ring to Keepon, and who wants to hear of it");
MODULE_LICENSE("GPL");
MODULE_VERSION(KEEPON_VERSION);
