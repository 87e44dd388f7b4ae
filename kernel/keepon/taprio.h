/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gate lists of qdisc taprio with `flags 0x2`.
 *
 *	gates	one list: from the request to class masks, or to values that would fit
 *	bridge	the slots in which one list ends and the next begins
 *	partitions	tables in the pacer
 *	schedule	list in force, list to come
 *	taprio	requests of the qdisc, and work after a switch of tables
 *
 * RTNL protects all of it. Members that xmit and the clock read are written under keepon.lock, too.
 */
#ifndef KEEPON_TAPRIO_H
#define KEEPON_TAPRIO_H

#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <net/pkt_sched.h>

#include "keepon/gcl.h"
#include "keepon/partition.h"
#include "setup.h"

struct keepon;

enum {
	/* Most slots by which the last entry of a list may be extended. */
	KEEPON_EXTENSION_SLOTS_MAX = 16384,
	/*
	 * Least slots of the next list in a table between two, until the pacer gets the next list.
	 */
	KEEPON_BRIDGE_SPARE_SLOTS = 8192,
	/* Time of a switch, long past: as soon as possible. */
	KEEPON_TAPRIO_AT_ONCE = 0,
	/* Tries of a switch while another table is about to be used. */
	KEEPON_TAPRIO_BUSY_TRIES = 500,
};

/**
 * struct keepon_gates - a gate list
 * @base_ns: as given, not negative; @start_ns: PHC time from which on the list is in force
 * @cycle_ns: sum of the intervals, the last of which was cut or stretched to fit
 * @extension_ns: by how much the last cycle may be longer when another list follows
 * @masks, @slots: class masks with the slots of the present plan; kvmalloc
 * @frame_max: longest frame of priority 0 in these slots, FCS included (keepon_row_slots())
 * @entry_count: entries of one cycle; @given_count: entries given, those after the cycle's end
 *	included; @last_ns: given length of the cycle's last entry
 */
struct keepon_gates {
	s64 base_ns;
	s64 start_ns;
	u32 cycle_ns;
	u64 extension_ns;
	u16 *masks;
	u32 slots;
	u32 frame_max;
	u32 entry_count;
	u32 given_count;
	u32 last_ns;
	struct kpn_gcl_entry entries[];
};

/** struct keepon_table - a partition for the pacer; kvmalloc */
struct keepon_table {
	struct list_head node;
	struct kpn_partition partition;
	u64 planes[];
};

/**
 * struct keepon_taprio - the schedule of a link
 * @now: list in force, NULL: the link's own class table; @next: list to come, NULL: none
 * @next_table: of @next, while a wire runs; @lock
 * @bridge: table between the two, if slots belong to both or a cycle is extended; @lock
 * @bridge_since_ns: PHC time of its first slot; @lock
 * @before: in force when the pacer was given @bridge; @lock
 * @tables: all tables given to the pacer that it may still use
 * @settle: work after a table has been replaced, or was refused
 * @gap_slots_max: greatest distance of trimmed slots in any table that this wire takes
 * @refused: the wire does not take @next_table, and restarts when it is time for it; @lock
 * @frame_max: bytes without FCS, by queue; @lock
 * @window_drops: frames longer than a slot or @frame_max; @lock. @overruns: frames that left in a
 *	slot that was no longer theirs; written by NAPI
 */
struct keepon_taprio {
	struct keepon_gates *now;
	struct keepon_gates *next;
	struct keepon_table *next_table;
	struct keepon_table *bridge;
	s64 bridge_since_ns;
	const struct kpn_partition *before;
	struct list_head tables;
	struct delayed_work settle;
	u32 gap_slots_max;
	bool refused;
	u32 frame_max[KEEPON_CLASS_COUNT];
	u64 window_drops[KEEPON_CLASS_COUNT];
	u64 overruns[KEEPON_CLASS_COUNT];
};

/* ---- gates.c ---- */

/** keepon_gates_make() - from a request. Return: the list or an error, with a sentence */
struct keepon_gates *keepon_gates_make(const struct tc_taprio_qopt_offload *offload,
				       struct netlink_ext_ack *extack);
/** keepon_queue_of_rest() - the queue of frames without a priority, by the stack's map */
u32 keepon_queue_of_rest(const struct net_device *dev);
/**
 * keepon_gates_suit() - compile the list for the slots of @plan. Return: 0 or an error, with a
 * sentence that has values that would fit
 */
int keepon_gates_suit(struct keepon_gates *gates, const struct keepon_plan *plan,
		      const struct net_device *dev, struct netlink_ext_ack *extack);
/** keepon_gates_check() - the same for a plan that is only considered: @gates do not change */
int keepon_gates_check(const struct keepon_gates *gates, const struct keepon_plan *plan,
		       const struct net_device *dev, struct netlink_ext_ack *extack);
void keepon_gates_free(struct keepon_gates *gates);
/** keepon_gates_start_ns() - first moment from @earliest_ns on at which a cycle begins */
s64 keepon_gates_start_ns(const struct keepon_gates *gates, s64 earliest_ns);

/* ---- bridge.c ---- */

/**
 * struct keepon_bridge - masks for the slots between two lists
 * @end_ns: end of the last cycle of the list in force; @start_ns: start of the next list
 * @first: first slot of these masks, @since_ns its start; @next_first: first slot of the next list
 *	alone
 * @masks: of net_slot modulo @slots; NULL if no slot belongs to both; kvmalloc
 */
struct keepon_bridge {
	s64 end_ns;
	s64 start_ns;
	u64 first;
	s64 since_ns;
	u64 next_first;
	u16 *masks;
	u32 slots;
};

/** keepon_slot_from() - the first slot that starts at @ns or later; @ns is not 0 */
u64 keepon_slot_from(const struct keepon *keepon, s64 ns);
/** keepon_slots_to_ns() - time that slots of the present plan take, rounded down */
u64 keepon_slots_to_ns(const struct keepon *keepon, u64 slots);
/**
 * keepon_bridge_make() - masks between the list in force and @next, which begins at @start_ns. They
 * do not apply before @ready_ns. Return: 0 or -ENOMEM; @bridge->masks are the caller's
 */
int keepon_bridge_make(const struct keepon *keepon, const struct keepon_gates *next, s64 start_ns,
		       s64 ready_ns, struct keepon_bridge *bridge);

/* ---- taprio.c ---- */

void keepon_taprio_init(struct keepon *keepon);
int keepon_taprio_setup(struct net_device *dev, struct tc_taprio_qopt_offload *offload);
/**
 * keepon_taprio_check() - whether another plan suits the schedule, if there is one. Return: 0 or an
 * error, with a sentence
 */
int keepon_taprio_check(struct keepon *keepon, const struct keepon_plan *plan,
			struct netlink_ext_ack *extack);

/* ---- partitions.c ---- */

/** keepon_table_make() - from class masks. Return: the table, or NULL without memory */
struct keepon_table *keepon_table_make(struct keepon *keepon, const u16 *masks, u32 slots);
/** keepon_table_drop() - free a table that the pacer does not know */
void keepon_table_drop(struct keepon_table *table);
/** keepon_table_used_locked() - whether the pacer uses @table now, or with @next later */
bool keepon_table_used_locked(const struct keepon *keepon, const struct keepon_table *table,
			      bool next);
/**
 * keepon_tables_free_unused() - free the tables that neither the pacer nor the schedule uses any
 * more
 */
void keepon_tables_free_unused(struct keepon *keepon);

/* ---- schedule.c ---- */

/**
 * keepon_taprio_install() - make @gates the list to come, in place of any other
 * @frame_max: bytes without FCS, by queue
 *
 * Return: 0, and @gates are kept, or an error, with a sentence.
 */
int keepon_taprio_install(struct keepon *keepon, struct keepon_gates *gates, const u32 *frame_max,
			  struct netlink_ext_ack *extack);
void keepon_taprio_end(struct keepon *keepon);
/**
 * keepon_taprio_settle() - put a list whose time has come in force; make the table before a list to
 * come
 */
void keepon_taprio_settle(struct keepon *keepon);
void keepon_taprio_free(struct keepon *keepon);
/**
 * keepon_taprio_prepare() - before a start of the wire: its configuration, with the schedule in
 * force. Return: 0 or an error, with a sentence
 */
int keepon_taprio_prepare(struct keepon *keepon, struct kpn_config *config,
			  struct netlink_ext_ack *extack);
/** keepon_taprio_join_locked() - the wire has started: pass the list to come to the pacer */
void keepon_taprio_join_locked(struct keepon *keepon);
/** keepon_taprio_leave_locked() - the wire ends; the pacer still exists */
void keepon_taprio_leave_locked(struct keepon *keepon);
/** keepon_taprio_switched() - the pacer has switched to another table; NAPI */
void keepon_taprio_switched(struct keepon *keepon);
/** keepon_taprio_stopped() - the pacer is gone */
void keepon_taprio_stopped(struct keepon *keepon);
/** keepon_taprio_stepped_locked() - the clock was set: the list to come begins at another slot */
void keepon_taprio_stepped_locked(struct keepon *keepon);

#endif
