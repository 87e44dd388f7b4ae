// SPDX-License-Identifier: GPL-2.0-only
/* Up, down, sleep, a transmitter that hangs, link. */
#include <linux/rtnetlink.h>

#include "card.h"

enum { WATCHDOG_S = 5 };

/* ---- a transmitter that hangs ---- */

void card_tx_timeout(struct net_device *dev, unsigned int queue)
{
	struct card *card = netdev_priv(dev);

	schedule_work(&card->reset_work);
}

static void reset_work(struct work_struct *work)
{
	struct card *card = container_of(work, struct card, reset_work);
	struct net_device *dev = card->dev;

	rtnl_lock();
	/* a suspended one is not there, and is started again when it comes back */
	if (netif_running(dev) && netif_device_present(dev) && !card->lent) {
		netdev_err(dev, "no frame has left for too long: the controller is reset\n");
		card->driver->down(card);
		if (card->driver->up(card))
			netdev_err(dev, "it does not come back\n");
	}
	rtnl_unlock();
}

/* ---- begin and end ---- */

void card_init(struct net_device *dev, struct device *device, const struct card_driver *driver,
	       int (*poll)(struct napi_struct *napi, int budget))
{
	struct card *card = netdev_priv(dev);

	card->dev = dev;
	card->device = device;
	card->driver = driver;
	spin_lock_init(&card->counters_lock);
	INIT_WORK(&card->reset_work, reset_work);
	SET_NETDEV_DEV(dev, device);
	dev_set_drvdata(device, dev);
	dev->max_mtu = CARD_MTU_MAX;
	dev->watchdog_timeo = WATCHDOG_S * HZ;
	dev->priv_flags |= IFF_UNICAST_FLT | IFF_LIVE_ADDR_CHANGE;
	netif_napi_add(dev, &card->napi, poll);
	netif_carrier_off(dev);
}

void card_remove(struct net_device *dev)
{
	struct card *card = netdev_priv(dev);

	unregister_netdev(dev);
	cancel_work_sync(&card->reset_work);
	netif_napi_del(&card->napi);
}

void card_poll_now(struct card *card)
{
	local_bh_disable(); /* the poll runs when they are enabled */
	napi_schedule(&card->napi);
	local_bh_enable();
}

/* ---- link ---- */

void card_link_is(struct card *card, struct card_link link)
{
	struct card_link before = card->link;
	struct net_device *dev = card->dev;
	bool carrier = netif_carrier_ok(dev);

	card->link = link;
	if (!link.mbps && carrier) {
		netdev_info(dev, "link is down\n");
		netif_carrier_off(dev);
	}
	if (!link.mbps || (carrier && link.mbps == before.mbps && link.full == before.full))
		return;
	netdev_info(dev, "link is up, %u Mb/s, %s duplex\n", link.mbps,
		    link.full ? "full" : "half");
	if (carrier)
		/* lost and found between two looks: the rate of a lent ring is another one */
		netif_carrier_event(dev);
	else
		netif_carrier_on(dev);
}

/* ---- up and down ---- */

void card_quiet(struct card *card)
{
	/* in this order: a poll that finds frames sent wakes the queue */
	napi_disable(&card->napi);
	netif_tx_disable(card->dev);
}

int card_dev_init(struct net_device *dev)
{
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	return dev->tstats ? 0 : -ENOMEM;
}

void card_dev_uninit(struct net_device *dev)
{
	free_percpu(dev->tstats);
	dev->tstats = NULL;
}

int card_open(struct net_device *dev)
{
	struct card *card = netdev_priv(dev);

	netif_carrier_off(dev);
	return card->driver->up(card);
}

int card_stop(struct net_device *dev)
{
	struct card *card = netdev_priv(dev);

	/* the owner of a claimed ring has heard NETDEV_GOING_DOWN, and has given it back */
	card->driver->down(card);
	return 0;
}

/* ---- sleep ---- */

int card_suspend(struct device *device)
{
	struct net_device *dev = dev_get_drvdata(device);
	struct card *card = netdev_priv(dev);

	rtnl_lock();
	keepon_native_stop(dev);
	netif_device_detach(dev);
	if (netif_running(dev))
		card->driver->down(card);
	rtnl_unlock();
	return 0;
}

int card_resume(struct device *device)
{
	struct net_device *dev = dev_get_drvdata(device);
	struct card *card = netdev_priv(dev);
	int error = 0;

	rtnl_lock();
	if (netif_running(dev))
		error = card->driver->up(card);
	if (!error) {
		netif_device_attach(dev);
		keepon_native_ready(dev);
	}
	rtnl_unlock();
	return error;
}
