/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gate lists of qdisc taprio with `flags 0x2`.
 *
 *	gates	one list: from the request to class masks, and what would fit instead
 *	bridge	the slots in which one list ends and the next begins
 *	partitions	tables in the pacer
 *	schedule	which list holds, which one is to come
 *	taprio	the requests of the qdisc, and what is left to do when a table was switched
 *
 * RTNL protects all of it. What xmit and the clock look at is written under keepon.lock, too.
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
	/* The last entry of a list may hold for so many slots more. */
	KEEPON_EXTENSION_SLOTS_MAX = 16384,
	/* A table for that has so many of the next list, at least: meanwhile the pacer gets that one. */
	KEEPON_BRIDGE_SPARE_SLOTS = 8192,
	/* Time of a switch, long past: as soon as possible. */
	KEEPON_TAPRIO_AT_ONCE = 0,
	/* So often a switch is asked for again while another table is about to be used. */
	KEEPON_TAPRIO_BUSY_TRIES = 500,
};

/**
 * struct keepon_gates - a gate list
 * @base_ns: as asked for, not negative; @start_ns: PHC time from which on it holds
 * @cycle_ns: sum of the intervals; the last one was cut or stretched to make it so
 * @extension_ns: by how much its last cycle may be longer when another list follows
 * @masks, @slots: what it comes to with the slots of the present plan; kvmalloc
 * @frame_max: longest frame of priority 0 by them, FCS included (keepon_row_slots())
 * @entry_count: of one cycle. @given_count: as asked for, those behind the cycle's end included;
 *	@last_ns: how long the last one of the cycle was to be, then
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
 * @now: holds, NULL: the link's own class table does; @next: follows, NULL: nothing does
 * @next_table: of @next, while a wire runs; @lock
 * @bridge: holds between the two, if slots belong to both or a cycle is extended; @lock
 * @bridge_since_ns: PHC time of its first slot; @lock
 * @before: in force when the pacer was given it; @lock
 * @tables: all that the pacer has been given and may still use
 * @settle: a table has been replaced, or was refused
 * @gap_slots_max: of the slots that are trimmed, in any table that this wire takes
 * @refused: the wire does not take @next_table, and starts anew when it is time for it; @lock
 * @frame_max: bytes without FCS, by queue; @lock
 * @window_drops: frames longer than a slot or that limit; @lock. @overruns: frames that left in a
 *	slot which was not theirs any more; written by NAPI
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
 * keepon_gates_suit() - what it comes to with the slots of @plan. Return: 0 or an error, with a
 * sentence that says what would fit
 */
int keepon_gates_suit(struct keepon_gates *gates, const struct keepon_plan *plan,
		      const struct net_device *dev, struct netlink_ext_ack *extack);
/** keepon_gates_check() - the same of a plan that may not come to be: @gates stay what they are */
int keepon_gates_check(const struct keepon_gates *gates, const struct keepon_plan *plan,
		       const struct net_device *dev, struct netlink_ext_ack *extack);
void keepon_gates_free(struct keepon_gates *gates);
/** keepon_gates_start_ns() - first moment from @earliest_ns on at which it can begin */
s64 keepon_gates_start_ns(const struct keepon_gates *gates, s64 earliest_ns);

/* ---- bridge.c ---- */

/**
 * struct keepon_bridge - masks for the slots between two lists
 * @end_ns: the last cycle of the list in force ends; @start_ns: the next one begins
 * @first: slot from which on they hold, @since_ns its beginning; @next_first: first slot that is
 *	the next list's alone
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
 * keepon_bridge_make() - between what holds and @next, which begins at @start_ns. Nothing that is
 * made here holds before @ready_ns. Return: 0 or -ENOMEM; @bridge->masks are the caller's
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

/** keepon_table_make() - of class masks. Return: the table or NULL, without memory */
struct keepon_table *keepon_table_make(struct keepon *keepon, const u16 *masks, u32 slots);
/** keepon_table_drop() - of one that the pacer does not know */
void keepon_table_drop(struct keepon_table *table);
/** keepon_table_used_locked() - whether the pacer goes by @table, or with @next will */
bool keepon_table_used_locked(const struct keepon *keepon, const struct keepon_table *table,
			      bool next);
/** keepon_tables_free_unused() - what neither the pacer nor the schedule knows any more */
void keepon_tables_free_unused(struct keepon *keepon);

/* ---- schedule.c ---- */

/**
 * keepon_taprio_install() - @gates are to come, instead of others that were
 * @frame_max: bytes without FCS, by queue
 *
 * Return: 0, and they are kept, or an error, with a sentence.
 */
int keepon_taprio_install(struct keepon *keepon, struct keepon_gates *gates, const u32 *frame_max,
			  struct netlink_ext_ack *extack);
void keepon_taprio_end(struct keepon *keepon);
/** keepon_taprio_settle() - a list whose time has come holds; one to come has what is before it */
void keepon_taprio_settle(struct keepon *keepon);
void keepon_taprio_free(struct keepon *keepon);
/**
 * keepon_taprio_prepare() - a wire is about to start: its configuration, with the schedule that
 * holds. Return: 0 or an error, with a sentence
 */
int keepon_taprio_prepare(struct keepon *keepon, struct kpn_config *config,
			  struct netlink_ext_ack *extack);
/** keepon_taprio_join_locked() - it has started: the pacer learns what is to follow */
void keepon_taprio_join_locked(struct keepon *keepon);
/** keepon_taprio_leave_locked() - it ends, the pacer is still there */
void keepon_taprio_leave_locked(struct keepon *keepon);
/** keepon_taprio_switched() - the pacer has gone over to another table; NAPI */
void keepon_taprio_switched(struct keepon *keepon);
/** keepon_taprio_stopped() - the pacer is gone */
void keepon_taprio_stopped(struct keepon *keepon);
/** keepon_taprio_stepped_locked() - the clock was set: what is to come begins at another slot */
void keepon_taprio_stepped_locked(struct keepon *keepon);

#endif
