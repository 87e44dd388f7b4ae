// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module keepon: link type "keepon", deterministic transmission on a standard NIC (docs/kernel.md).
 */
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/rtnetlink.h>

#include "keepon.h"
#include "keepon_version.h"
#include "uapi/keepon_table.h"

static struct notifier_block keepon_lower_block = {
	.notifier_call = keepon_lower_event,
};

static int __init keepon_init(void)
{
	int error = register_netdevice_notifier(&keepon_lower_block);

	if (error)
		return error;
	keepon_debug_init();
	keepon_attributes_init();
	error = keepon_table_register();
	if (error)
		goto unregister_notifier;
	error = rtnl_link_register(&keepon_link_ops);
	if (!error)
		return 0;
	keepon_table_unregister();
unregister_notifier:
	keepon_debug_exit();
	unregister_netdevice_notifier(&keepon_lower_block);
	return error;
}

/* Links are deleted first, so that no event and no table can refer to one. */
static void __exit keepon_exit(void)
{
	rtnl_link_unregister(&keepon_link_ops);
	keepon_table_unregister();
	unregister_netdevice_notifier(&keepon_lower_block);
	keepon_debug_exit();
}

module_init(keepon_init);
module_exit(keepon_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(KEEPON_VERSION);
MODULE_AUTHOR("Keepon developers");
MODULE_DESCRIPTION("Deterministic Ethernet transmission by a saturated descriptor ring");
MODULE_ALIAS_RTNL_LINK(KEEPON_LINK_KIND);
MODULE_ALIAS_GENL_FAMILY(KEEPON_TABLE_FAMILY);
