// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables given to the pacer of a link: it uses one of them and may know the next. They stay as long
 * as the pacer or the schedule may still use them.
 */
#include <linux/slab.h>

#include "keepon.h"

struct keepon_table *keepon_table_make(struct keepon *keepon, const u16 *masks, u32 slots)
{
	struct keepon_table *table;

	table = kvmalloc(sizeof(*table) + kpn_partition_bytes(slots), GFP_KERNEL_ACCOUNT);
	if (!table)
		return NULL;
	kpn_partition_init(&table->partition, table->planes, masks, slots);
	list_add(&table->node, &keepon->taprio.tables);
	return table;
}

void keepon_table_drop(struct keepon_table *table)
{
	list_del(&table->node);
	kvfree(table);
}

bool keepon_table_used_locked(const struct keepon *keepon, const struct keepon_table *table,
			      bool next)
{
	return table && keepon->engine &&
	       kpn_pacer_partition(keepon->engine->pacer, next) == &table->partition;
}

void keepon_tables_free_unused(struct keepon *keepon)
{
	struct keepon_taprio *taprio = &keepon->taprio;
	const struct kpn_partition *used[3] = {};
	struct keepon_table *table;
	struct keepon_table *other;
	unsigned long flags;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	if (keepon->engine) {
		used[0] = kpn_pacer_partition(keepon->engine->pacer, false);
		used[1] = kpn_pacer_partition(keepon->engine->pacer, true);
		/* needed if the clock steps back */
		if (taprio->bridge)
			used[2] = taprio->before;
	}
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	list_for_each_entry_safe(table, other, &taprio->tables, node)
	{
		if (table != taprio->next_table && &table->partition != used[0] &&
		    &table->partition != used[1] && &table->partition != used[2])
			keepon_table_drop(table);
	}
}
