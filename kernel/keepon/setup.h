/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attributes given for a link, and the resulting plan for its lower device.
 *
 *	attributes	one row per netlink attribute: from messages, into the plan, back
 *	setup		from the setup, the backend and the rate to a complete and valid plan
 *	table		class tables in parts: generic netlink family "keepon"
 *
 * RTNL protects all of it, but for the tables handed over that no link has taken yet.
 */
#ifndef KEEPON_SETUP_H
#define KEEPON_SETUP_H

#include <linux/netdevice.h>
#include <net/netlink.h>

#include "keepon/config.h"
#include "keepon/pacer.h"
#include "keepon/rx.h"
#include "keepon_native.h"
#include "uapi/keepon_link.h"

#define KEEPON_SLOT_BYTES_PUBLISHED 1230 /* 10 us at 1 Gb/s (KeepON paper listing 4) */

/* Most masks of one attribute: the rest must fit the 64 KiB of a nested attribute, too. */
#define KEEPON_MASKS_MAX 16384

/* In a pair of IFLA_KEEPON_CLASSES: the class keeps its value. */
#define KEEPON_CLASS_KEEP 0xff

struct keepon;

/**
 * struct keepon_setup - the attributes given; everything else follows from them, rate and backend
 * @given: bit per IFLA_KEEPON_* that was given
 * @number: of attributes with one number
 * @classes: late policy and rounding per class; KEEPON_CLASS_KEEP where not given
 * @allowed: @allowed_count class masks, NULL if not given; kvmalloc
 * @table: number of these masks for reading them in parts, 0 without any
 * @counts_slots: the link was made with slot counts, too (keepon_setup_counts_slots())
 */
struct keepon_setup {
	u64 given;
	u64 number[IFLA_KEEPON_MAX + 1];
	u8 classes[KEEPON_CLASS_COUNT][2];
	u16 *allowed;
	u32 allowed_count;
	u64 table;
	bool counts_slots;
};

/**
 * struct keepon_plan - configuration that results from a setup on its lower device
 * @config: complete and valid; @config.allowed is @masks
 * @caps: of the backend; @claims: enum keepon_native_claims; @context: enum keepon_native_context
 * @masks: config.partition_slots class masks; kvmalloc
 * @class_slots: how many of them allow each class
 * @frame_max: longest frame of class 0 in these slots, FCS included (keepon_row_slots());
 *	@frame_max_any: of any class
 * @clock: enum keepon_clock; @merge, @tau_ns: as given, 0 ns: kpn_merge_tau_ns()
 * @backend: enum keepon_backend; @force: run it though its wire is not known to be paced
 * @receive: enum keepon_receive; @priorities: priorities of the card's frames choose a class
 * @rx_caps: of the receive ring, with clock dual
 * @limits: of one call on the pacer that runs by this plan
 * @rx_limits: the same for a beat of the receive ring, 0 without clock dual
 */
struct keepon_plan {
	struct kpn_config config;
	struct kpn_nic_caps caps;
	u32 claims;
	u8 context;
	u16 *masks;
	u32 class_slots[KEEPON_CLASS_COUNT];
	u32 frame_max;
	u32 frame_max_any;
	u8 poll;
	u32 poll_cpu;
	u8 poll_fifo;
	u8 txtime;
	u8 clock;
	u8 merge;
	u8 backend;
	u8 force;
	u8 receive;
	u8 priorities;
	u32 tau_ns;
	u32 rx_poll_cpu;
	struct keepon_native_rx_caps rx_caps;
	struct kpn_limits limits;
	struct kpn_rx_limits rx_limits;
};

/* ---- attributes.c ---- */

/**
 * keepon_policy - policy of IFLA_INFO_DATA; filled by keepon_attributes_init() before the link type
 * is registered
 */
extern struct nla_policy keepon_policy[IFLA_KEEPON_MAX + 1];
void keepon_attributes_init(void);
void keepon_setup_init(struct keepon_setup *setup);
int keepon_setup_copy(struct keepon_setup *to, const struct keepon_setup *from);
/**
 * keepon_setup_take() - merge attributes into a setup; after an error only keepon_setup_free() may
 * follow
 */
int keepon_setup_take(struct keepon_setup *setup, struct nlattr *data[],
		      struct netlink_ext_ack *extack);
void keepon_setup_free(struct keepon_setup *setup);
/** keepon_setup_counts_slots() - whether a number of slots, or a class table, was given */
bool keepon_setup_counts_slots(const struct keepon_setup *setup);
/** keepon_setup_number() - the number given, or @otherwise */
u64 keepon_setup_number(const struct keepon_setup *setup, int attribute, u64 otherwise);
/**
 * keepon_setup_lay() - write every number given into its place in @plan. Return: 0, or -EINVAL out
 * of range
 */
int keepon_setup_lay(const struct keepon_setup *setup, struct keepon_plan *plan,
		     struct netlink_ext_ack *extack);
/** keepon_attributes_bytes() - size of keepon_attributes_put()'s output, the same for every link */
size_t keepon_attributes_bytes(void);
/**
 * keepon_attributes_put() - write all attributes of a link but its class table, of which there is a
 * summary. Return: 0 or -EMSGSIZE
 */
int keepon_attributes_put(struct sk_buff *skb, const struct keepon *keepon);

/* ---- setup.c ---- */

/**
 * keepon_plan_make() - make the plan of a setup for a lower device
 *
 * On error @plan is empty and @extack has field, value, range.
 */
int keepon_plan_make(struct keepon_plan *plan, const struct keepon_setup *setup,
		     struct net_device *lower, struct netlink_ext_ack *extack);
void keepon_plan_free(struct keepon_plan *plan);
/**
 * keepon_row_slots() - most slots in a row that class masks give class @tc; if they give it none,
 * any class
 */
u32 keepon_row_slots(const u16 *masks, u32 slots, u32 tc);

/* ---- table.c ---- */

int keepon_table_register(void);
void keepon_table_unregister(void);
/**
 * keepon_table_take() - a copy of a table handed over by generic netlink
 * @masks: receives @count class masks; kvfree()
 *
 * Sleeps. Return: 0, -ENOENT if no complete table has this id, -ENOMEM
 */
int keepon_table_take(u64 id, u16 **masks, u32 *count);
/** keepon_table_new_id() - number of a new table; not 0, and not predictable */
u64 keepon_table_new_id(void);

#endif
