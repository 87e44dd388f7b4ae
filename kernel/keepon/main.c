// SPDX-License-Identifier: GPL-2.0-only
/* Module keepon: link type "keepon", deterministic transmission on a standard NIC (docs/kernel.md). */
#include <linux/module.h>
#include <net/rtnetlink.h>

#include "keepon.h"

static struct notifier_block keepon_lower_block = {
	.notifier_call = keepon_lower_event,
};

static int __init keepon_init(void)
{
	int error = register_netdevice_notifier(&keepon_lower_block);

	if (error)
		return error;
	keepon_debug_init();
	error = rtnl_link_register(&keepon_link_ops);
	if (error) {
		keepon_debug_exit();
		unregister_netdevice_notifier(&keepon_lower_block);
	}
	return error;
}

/* Links of the kind are deleted first, so nothing is left that events could be about. */
static void __exit keepon_exit(void)
{
	rtnl_link_unregister(&keepon_link_ops);
	unregister_netdevice_notifier(&keepon_lower_block);
	keepon_debug_exit();
}

module_init(keepon_init);
module_exit(keepon_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("Keepon developers");
MODULE_DESCRIPTION("Deterministic Ethernet transmission by a saturated descriptor ring");
MODULE_ALIAS_RTNL_LINK(KEEPON_LINK_KIND);
