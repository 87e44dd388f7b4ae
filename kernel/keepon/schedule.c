// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gate lists and the pacer: a list is a class table, and the pacer switches tables at a slot. A
 * list to come stays until its time, over any number of stops of the wire; the next start begins
 * with the list in force. The link's own class table holds before the first list and after the
 * last.
 *
 *	list in force	... cycle | cycle | cy|        the rest of a cycle is cut off,
 *	list to come	                      |cycle | cycle ...
 *	with extension	... cycle | cycle ....|        or the last entry before it lasts as long
 *
 * A pacer knows two tables. Where a slot belongs to two lists, or a cycle is extended, there are
 * three; the one in between contains the beginning of the third, which may therefore be given
 * later.
 */
#include <linux/delay.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "keepon.h"
#include "keepon/errno.h"
#include "keepon/wire.h"

/* Time for planning and storing between the reading of the clock and the request for a switch. */
enum { PLACING_NS = 20000 };

/* Time to make a table for the slots between two lists; doubled as long as it is too short. */
enum { BRIDGING_NS = 1000000, BRIDGING_NS_MAX = 64000000 };

/* ---- list in force and list to come ---- */

/*
 * The list to come is in force if its table is or, without a wire, its time has come. Return: the
 * list before, to be freed
 */
static struct keepon_gates *promote_locked(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	struct keepon_gates *old = taprio->now;

	if (!taprio->next ||
	    (keepon->engine ? !keepon_table_used_locked(keepon, taprio->next_table, false) :
			      taprio->next->start_ns > keepon_clock_read_locked(keepon).ns))
		return NULL;
	taprio->now = taprio->next;
	taprio->next = NULL;
	taprio->next_table = NULL;
	taprio->bridge = NULL;
	return old;
}

static void promote(struct keepon *keepon)
{
	struct keepon_gates *old;
	unsigned long flags;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	old = promote_locked(keepon);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	keepon_gates_free(old);
}

static s64 earliest_locked(struct keepon *keepon)
{
	const struct keepon_engine *engine = keepon->engine;
	s64 now_ns = keepon_clock_read_locked(keepon).ns + 1;
	u64 lead_slots;

	if (!engine)
		return now_ns;
	lead_slots = kpn_pacer_lead_slots(engine->pacer) + 2;
	return now_ns + PLACING_NS + (s64)keepon_slots_to_ns(keepon, lead_slots);
}

/* Set when the list to come begins, and its first slot. */
static int place_locked(struct keepon *keepon, struct keepon_gates *gates,
			const struct keepon_table *table)
{
	gates->start_ns = keepon_gates_start_ns(gates, earliest_locked(keepon));
	if (!keepon->engine)
		return 0;
	return kpn_pacer_set_partition(keepon->engine->pacer, &table->partition,
				       keepon_slot_from(keepon, gates->start_ns));
}

/* Let the list to come follow the pacer's present table. */
static int ask_locked(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;

	return kpn_pacer_set_partition(keepon->engine->pacer, &taprio->next_table->partition,
				       keepon_slot_from(keepon, taprio->next->start_ns));
}

/*
 * A step while the table between two lists is in force: that table is not valid before its begin,
 * so the table before it comes back, and the list to come follows at its time. Until then the table
 * stays known, and no other may come between.
 */
static int step_between_locked(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;

	if (keepon_clock_read_locked(keepon).ns >= taprio->bridge_since_ns)
		return ask_locked(keepon);
	return kpn_pacer_set_partition(keepon->engine->pacer, taprio->before,
				       KEEPON_TAPRIO_AT_ONCE);
}

void keepon_taprio_stepped_locked(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	s64 start_ns;
	int error;

	if (!taprio->next)
		return;
	start_ns = taprio->next->start_ns;
	if (keepon_table_used_locked(keepon, taprio->bridge, false)) {
		error = step_between_locked(keepon);
	} else if (!keepon->engine || keepon_table_used_locked(keepon, taprio->next_table, true) ||
		   keepon_table_used_locked(keepon, taprio->bridge, true)) {
		/* Without the table between, which is made later; refused if it is too late. */
		error = place_locked(keepon, taprio->next, taprio->next_table);
		if (!error)
			taprio->bridge = NULL;
		else if (error == -KPN_EBUSY)
			/*
			 * the table between is used next, and is right only before this start: not
			 * a cycle later
			 */
			taprio->next->start_ns = start_ns;
	} else {
		return;
	}
	taprio->refused = error && error != -KPN_EBUSY;
	mod_delayed_work(system_wq, &taprio->settle, 0);
}

/* The table between two lists was in force until a step of the clock. */
static bool fell_back_locked(const struct keepon *keepon)
{
	const struct keepon_taprio *taprio = &keepon->taprio;

	return taprio->bridge && taprio->next &&
	       kpn_pacer_partition(keepon->engine->pacer, false) == taprio->before &&
	       !kpn_pacer_partition(keepon->engine->pacer, true);
}

void keepon_taprio_switched(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	unsigned long flags;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	if (keepon_table_used_locked(keepon, taprio->bridge, false)) {
		taprio->refused = ask_locked(keepon);
	} else if (keepon->engine && fell_back_locked(keepon)) {
		taprio->bridge = NULL;
		taprio->refused = place_locked(keepon, taprio->next, taprio->next_table);
	}
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	mod_delayed_work(system_wq, &taprio->settle, 0);
}

/*
 * Make the table between the list in force and @gates, in @making_ns. Return: 0 or -ENOMEM;
 * *@between NULL: no slot is between
 */
static int make_bridge(struct keepon *keepon, const struct keepon_gates *gates, u32 making_ns,
		       struct keepon_bridge *bridge, struct keepon_table **between)
{
	unsigned long flags;
	s64 earliest_ns;
	s64 ready_ns;
	int error;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	earliest_ns = earliest_locked(keepon);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	ready_ns = earliest_ns + making_ns;
	/* Once the base time has passed, any of its cycles may be the first. */
	if (making_ns > BRIDGING_NS || gates->base_ns < earliest_ns)
		earliest_ns = ready_ns;
	error = keepon_bridge_make(keepon, gates, keepon_gates_start_ns(gates, earliest_ns),
				   ready_ns, bridge);
	*between = NULL;
	if (error || !bridge->masks)
		return error;
	*between = keepon_table_make(keepon, bridge->masks, bridge->slots);
	kvfree(bridge->masks);
	bridge->masks = NULL;
	return *between ? 0 : -ENOMEM;
}

/*
 * Another list is requested while the table between two lists is in force: the table before it
 * comes back, as after a step, so that the list to come has not begun and can be replaced.
 * Return: -KPN_EBUSY, try again
 */
static int leave_bridge_locked(struct keepon *keepon)
{
	struct kpn_pacer *pacer = keepon->engine->pacer;

	if (kpn_pacer_partition(pacer, true) != keepon->taprio.before)
		/* if it is too late for that, the other list is about to begin */
		kpn_pacer_set_partition(pacer, keepon->taprio.before, KEEPON_TAPRIO_AT_ONCE);
	return -KPN_EBUSY;
}

/*
 * Put @gates after the table between. Return: 0 or an error of the pacer; -KPN_EAGAIN: too late
 * for that; -KPN_EBUSY: try again
 */
static int put_locked(struct keepon *keepon, struct keepon_gates *gates,
		      const struct keepon_table *table, const struct keepon_bridge *bridge,
		      struct keepon_table *between)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	s64 since_ns = between ? bridge->since_ns : bridge->start_ns;
	int error;

	if (keepon_table_used_locked(keepon, taprio->bridge, false))
		return leave_bridge_locked(keepon);
	if (keepon_table_used_locked(keepon, taprio->next_table, false))
		return -KPN_EBUSY;
	if (since_ns < earliest_locked(keepon))
		return -KPN_EAGAIN;
	error = kpn_pacer_set_partition(keepon->engine->pacer,
					between ? &between->partition : &table->partition,
					between ? bridge->first : bridge->next_first);
	if (error)
		return error;
	taprio->bridge = between;
	taprio->bridge_since_ns = since_ns;
	taprio->before = kpn_pacer_partition(keepon->engine->pacer, false);
	taprio->refused = false;
	gates->start_ns = bridge->start_ns;
	return 0;
}

/* Make @gates and their table known. Return: the list given up */
static struct keepon_gates *follow_locked(struct keepon *keepon, struct keepon_gates *gates,
					  struct keepon_table *table, const u32 *frame_max)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	struct keepon_gates *given_up = taprio->next;

	taprio->next = gates;
	taprio->next_table = table;
	taprio->refused = false;
	memcpy(taprio->frame_max, frame_max, sizeof(taprio->frame_max));
	return given_up;
}

/*
 * One attempt, with @making_ns to make the table between; 0: without it, so the first slot of the
 * list may be open to classes of the list before. Return: as put_locked(), and -KPN_ENOMEM
 */
static int install_once(struct keepon *keepon, struct keepon_gates *gates,
			struct keepon_table *table, const u32 *frame_max, u32 making_ns)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	struct keepon_gates *given_up = NULL;
	struct keepon_table *between = NULL;
	struct keepon_bridge bridge;
	unsigned long flags;
	int error;

	promote(keepon);
	if (keepon->engine && making_ns && make_bridge(keepon, gates, making_ns, &bridge, &between))
		return -KPN_ENOMEM;
	raw_spin_lock_irqsave(&keepon->lock, flags);
	if (keepon->engine && making_ns) {
		error = put_locked(keepon, gates, table, &bridge, between);
	} else {
		error = keepon_table_used_locked(keepon, taprio->bridge, false) ?
				leave_bridge_locked(keepon) :
				place_locked(keepon, gates, table);
		if (!error)
			taprio->bridge = NULL;
	}
	if (!error)
		given_up = follow_locked(keepon, gates, table, frame_max);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	keepon_gates_free(given_up);
	if (error && between)
		keepon_table_drop(between);
	return error;
}

/* Try until no table is about to be used. Return: as install_once() */
static int install(struct keepon *keepon, struct keepon_gates *gates, struct keepon_table *table,
		   const u32 *frame_max)
{
	u32 making_ns = BRIDGING_NS;
	int tries = KEEPON_TAPRIO_BUSY_TRIES;
	int error;

	for (;;) {
		error = install_once(keepon, gates, table, frame_max, making_ns);
		switch (error) {
		case -KPN_EBUSY:
			if (!tries--)
				return error;
			usleep_range(500, 1000);
			break;
		case -KPN_EAGAIN:
			making_ns = making_ns < BRIDGING_NS_MAX ? 2 * making_ns : 0;
			break;
		case -KPN_EINVAL:
		case -KPN_ERANGE:
			if (!making_ns)
				return error;
			making_ns = 0; /* trim reserved: perhaps the list itself fits */
			break;
		default: return error;
		}
	}
}

/* A step of the clock or a start of the wire left the list to come without the table between. */
static void bridge_again(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	struct keepon_table *between;
	struct keepon_bridge bridge;
	unsigned long flags;

	if (!keepon->engine || !taprio->next || taprio->bridge ||
	    make_bridge(keepon, taprio->next, BRIDGING_NS, &bridge, &between) || !between)
		return;
	raw_spin_lock_irqsave(&keepon->lock, flags);
	put_locked(keepon, taprio->next, taprio->next_table, &bridge, between);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
}

void keepon_taprio_settle(struct keepon *keepon)
{
	promote(keepon);
	bridge_again(keepon);
}

/* The stack sends frames of the device's MTU whatever the gates are: they must have slots. */
static int check_mtu(const struct keepon *keepon, const struct keepon_gates *gates,
		     struct netlink_ext_ack *extack)
{
	const struct keepon_plan *plan = &keepon->plan;
	u32 frame_bytes = keepon->dev->mtu + ETH_HLEN + KPN_FCS_BYTES;
	u32 needed = kpn_config_frame_slots(&plan->config, &plan->caps, frame_bytes);

	if (frame_bytes <= gates->frame_max)
		return 0;
	keepon_explain(
		extack,
		"mtu %u needs %u slots in a row, and best effort has %u in this list; a window of %llu ns holds as many, or set mtu %u",
		keepon->dev->mtu, needed,
		keepon_row_slots(gates->masks, gates->slots, keepon_queue_of_rest(keepon->dev)),
		keepon_slots_to_ns(keepon, needed + 1),
		gates->frame_max - ETH_HLEN - KPN_FCS_BYTES);
	return -EINVAL;
}

int keepon_taprio_install(struct keepon *keepon, struct keepon_gates *gates, const u32 *frame_max,
			  struct netlink_ext_ack *extack)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	struct keepon_table *table = NULL;
	int error = keepon_gates_suit(gates, &keepon->plan, keepon->dev, extack) ?:
			    check_mtu(keepon, gates, extack);

	if (error)
		return error;
	if (keepon->engine) {
		table = keepon_table_make(keepon, gates->masks, gates->slots);
		if (!table)
			return -ENOMEM;
	}
	if (table && table->partition.gap_slots > taprio->gap_slots_max) {
		keepon_explain(
			extack,
			"trim reserved: slots of no class are up to %u apart in this list, and %u when the wire started; close all gates more often or choose trim any",
			table->partition.gap_slots, taprio->gap_slots_max);
		keepon_table_drop(table);
		return -EINVAL;
	}
	if (!taprio->now && !taprio->next) {
		memset(taprio->window_drops, 0, sizeof(taprio->window_drops));
		memset(taprio->overruns, 0, sizeof(taprio->overruns));
	}
	error = install(keepon, gates, table, frame_max);
	if (error == -KPN_EBUSY)
		keepon_explain(
			extack,
			"another list is about to begin, or the wire stands still; try again");
	else if (error && error != -KPN_ENOMEM)
		keepon_explain(
			extack,
			"trim reserved: where this list begins, slots of no class are too far apart; choose another base-time or trim any");
	keepon_tables_free_unused(keepon);
	keepon_queue_limits(keepon);
	keepon_dev_limits(keepon);
	return error;
}

/* ---- the wire starts and stops, the plan changes ---- */

int keepon_taprio_prepare(struct keepon *keepon, struct kpn_config *config,
			  struct netlink_ext_ack *extack)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	struct keepon_table *table;
	unsigned long flags;
	int error = 0;

	promote(keepon);
	*config = keepon->plan.config;
	if (taprio->now)
		error = keepon_gates_suit(taprio->now, &keepon->plan, keepon->dev, extack);
	if (!error && taprio->next)
		error = keepon_gates_suit(taprio->next, &keepon->plan, keepon->dev, extack);
	if (error)
		return error;
	if (taprio->now) {
		config->allowed = taprio->now->masks;
		config->partition_slots = taprio->now->slots;
	}
	taprio->gap_slots_max = U32_MAX;
	if (config->trim == KPN_TRIM_RESERVED)
		taprio->gap_slots_max =
			kpn_masks_gap_max(config->allowed, config->partition_slots, 0);
	if (!taprio->next)
		return 0;
	table = keepon_table_make(keepon, taprio->next->masks, taprio->next->slots);
	if (!table)
		return -ENOMEM;
	raw_spin_lock_irqsave(&keepon->lock, flags);
	taprio->next_table = table;
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return 0;
}

/* Since the time of the list to come was settled, it may have come. */
void keepon_taprio_join_locked(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;

	if (!taprio->next || !taprio->next_table)
		return;
	taprio->refused = ask_locked(keepon);
	mod_delayed_work(system_wq, &taprio->settle, 0);
}

void keepon_taprio_leave_locked(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;

	/* A list whose table is in force begins the next run, whatever the clock says by then. */
	if (taprio->next && keepon_table_used_locked(keepon, taprio->next_table, false))
		taprio->next->start_ns = 0;
	taprio->next_table = NULL;
	taprio->bridge = NULL;
	taprio->refused = false;
}

void keepon_taprio_stopped(struct keepon *keepon)
{
	promote(keepon);
	keepon_tables_free_unused(keepon);
}

void keepon_taprio_free(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;

	keepon_gates_free(taprio->now);
	keepon_gates_free(taprio->next);
	taprio->now = NULL;
	taprio->next = NULL;
	keepon_tables_free_unused(keepon);
}
