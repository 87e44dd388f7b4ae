// SPDX-License-Identifier: GPL-2.0-only
/* The range of a link's MTU, by its plan and gates. */
#include <linux/if_vlan.h>

#include "keepon.h"
#include "keepon/wire.h"

enum { KEEPON_MTU_MIN = 68 };

unsigned int keepon_dev_limits(struct keepon *keepon)
{
	const struct keepon_gates *gates[2] = { keepon->taprio.now, keepon->taprio.next };
	struct net_device *dev = keepon->dev;
	unsigned int most = keepon->plan.frame_max_any;
	unsigned int max;
	u32 i;

	for (i = 0; i < 2; i++) {
		if (gates[i])
			most = min(most, gates[i]->frame_max);
	}
	/* It is still unknown which class mqprio will map frames without a priority to. */
	max = min(most, keepon->plan.frame_max) - ETH_HLEN - KPN_FCS_BYTES;
	dev->max_mtu = most - ETH_HLEN - KPN_FCS_BYTES;
	dev->min_mtu = min_t(unsigned int, KEEPON_MTU_MIN, max);
	if (max >= dev->min_mtu + VLAN_HLEN)
		max -= VLAN_HLEN;
	return min(max, max(keepon->lower->mtu, dev->min_mtu));
}

void keepon_dev_refit(struct keepon *keepon, unsigned int old_default_mtu)
{
	struct net_device *dev = keepon->dev;
	unsigned int mtu = keepon_dev_limits(keepon);

	/* An MTU that was set by hand stays if it can. */
	if (dev->mtu == old_default_mtu || dev->mtu > dev->max_mtu)
		dev_set_mtu(dev, mtu);
}
