// SPDX-License-Identifier: GPL-2.0-only
/* Events of the device below a link (docs/kernel.md has the table). */
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "keepon.h"

static void delete_upper(struct keepon *keepon)
{
	LIST_HEAD(list);

	keepon_dellink(keepon->dev, &list);
	unregister_netdevice_many(&list);
}

int keepon_lower_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *lower = netdev_notifier_info_to_dev(info);
	struct keepon *keepon = keepon_upper_of(lower);

	if (!keepon)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_GOING_DOWN:
		/* The driver takes its ring apart next. */
		keepon_engine_stop(keepon);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU: keepon_engine_follow(keepon); break;
	case NETDEV_CHANGEADDR:
		/* Both devices are one station on the wire. */
		eth_hw_addr_set(keepon->dev, lower->dev_addr);
		call_netdevice_notifiers(NETDEV_CHANGEADDR, keepon->dev);
		break;
	case NETDEV_UNREGISTER:
		/* Also sent when the device moves to another namespace: the two stay together. */
		if (lower->reg_state == NETREG_UNREGISTERING)
			delete_upper(keepon);
		else
			keepon_card_unhook(keepon);
		break;
	case NETDEV_REGISTER:
		if (!keepon->hook && keepon_card_hook(keepon))
			netdev_warn(keepon->dev,
				    "frames of %s are not taken in its new namespace\n",
				    lower->name);
		break;
	case NETDEV_PRE_TYPE_CHANGE: return NOTIFY_BAD;
	}
	return NOTIFY_DONE;
}
