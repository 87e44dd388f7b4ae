// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transition from one gate list to the next. Lists may begin at any time, slots only on the
 * grid: in the slot in which one list ends and the next begins, a class may send only if the gates
 * of both are open while their list counts. A table between the two lists expresses that:
 *
 *	slots	   |      |      |      |      |
 *	gates	   old ......) held ........(next
 *	table	   old    | both | held | both | next
 *
 * The slots in the middle exist only where cycle-time-extension holds the last entry of a list
 * until the next list begins.
 */
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "keepon.h"
#include "keepon/align.h"
#include "keepon/wire.h"

/* Longest time until a table is replaced; approximate slots of a table for one slot. */
enum { SPARE_NS = 20000000, ROUND_SLOTS = 256 };

static u64 plan_slot_ps(const struct keepon *keepon)
{
	const struct kpn_config *config = &keepon->plan.config;

	return (u64)kpn_wire_bytes(config->slot_bytes) * kpn_byte_time_ps(config->rate_bps);
}

u64 keepon_slots_to_ns(const struct keepon *keepon, u64 slots)
{
	return div_u64(slots * plan_slot_ps(keepon), 1000);
}

u64 keepon_slot_from(const struct keepon *keepon, s64 ns)
{
	struct kpn_grid grid;

	kpn_grid_init(&grid, plan_slot_ps(keepon));
	return kpn_grid_floor(&grid, ns - 1, 999) + 1;
}

static u64 slot_at(const struct keepon *keepon, s64 ns)
{
	struct kpn_grid grid;

	kpn_grid_init(&grid, plan_slot_ps(keepon));
	return kpn_grid_floor(&grid, ns, 999);
}

static s64 slot_start_ns(const struct keepon *keepon, u64 slot)
{
	struct kpn_grid grid;

	kpn_grid_init(&grid, plan_slot_ps(keepon));
	return kpn_grid_time(&grid, slot).ns;
}

/*
 * When the last cycle of a list is over: when the next list begins, or earlier by its extension.
 * Only a cycle that does not end before @ready_ns can be extended (IEEE 802.1Q-2018, Q.5):
 * otherwise another cycle has begun, which the next list cuts off.
 */
static s64 end_of(const struct keepon_gates *gates, s64 next_ns, s64 ready_ns)
{
	u32 rest_ns;

	if (!gates || next_ns < gates->base_ns)
		return next_ns;
	div_u64_rem(next_ns - gates->base_ns, gates->cycle_ns, &rest_ns);
	if (rest_ns > gates->extension_ns || next_ns - rest_ns < ready_ns)
		return next_ns;
	return next_ns - rest_ns;
}

/* Gates that stay open for @ns from the start of a cycle. */
static u16 open_at_first(const struct keepon_gates *gates, s64 ns)
{
	u16 open = U16_MAX;
	u32 i;

	for (i = 0; i < gates->entry_count && ns > 0; i++) {
		open &= gates->entries[i].gates;
		ns -= gates->entries[i].interval_ns;
	}
	return open;
}

/* Mask before the transition: of a list, or of the link's own class table. */
static u16 old_mask(const struct keepon *keepon, u64 slot)
{
	const struct keepon_gates *now = keepon->taprio.now;
	const struct kpn_config *config = &keepon->plan.config;
	u64 index;

	div64_u64_rem(slot, now ? now->slots : config->partition_slots, &index);
	return now ? now->masks[index] : config->allowed[index];
}

/* Mask of slot @slot, in which a list ends or begins. */
static u16 mask_between(const struct keepon *keepon, const struct keepon_gates *next,
			const struct keepon_bridge *bridge, u64 slot)
{
	const struct keepon_gates *now = keepon->taprio.now;
	s64 begin_ns = slot_start_ns(keepon, slot);
	s64 end_ns = slot_start_ns(keepon, slot + 1);
	u16 mask = U16_MAX;

	if (begin_ns < bridge->end_ns)
		mask &= old_mask(keepon, slot);
	if (end_ns > bridge->end_ns && bridge->end_ns < bridge->start_ns)
		mask &= now->entries[now->entry_count - 1].gates;
	if (end_ns > bridge->start_ns)
		mask &= open_at_first(next, end_ns - bridge->start_ns);
	return mask;
}

/*
 * Slots of the table. If the table were used beyond its first round, the start of the next list
 * would get wrong slots, so the table is long enough to be replaced in time. With only one slot
 * between the lists any duration is right: a round repeats the next list's cycle, and that slot is
 * never open to more classes than in the next list.
 */
static u32 slots_needed(const struct keepon *keepon, const struct keepon_gates *next, u64 between)
{
	u64 spare = div64_u64(SPARE_NS * 1000ull, plan_slot_ps(keepon));

	if (between == 1)
		return next->slots * DIV_ROUND_UP(ROUND_SLOTS, next->slots);
	return roundup_pow_of_two(between + max_t(u64, spare, KEEPON_BRIDGE_SPARE_SLOTS));
}

static void fill(const struct keepon *keepon, const struct keepon_gates *next,
		 const struct keepon_bridge *bridge)
{
	const struct keepon_gates *now = keepon->taprio.now;
	u16 held = now ? now->entries[now->entry_count - 1].gates : U16_MAX;
	bool alone = bridge->first + 1 == bridge->next_first;
	u64 slot = bridge->first;
	u64 next_index;
	u64 index;
	u32 i;

	div64_u64_rem(slot, bridge->slots, &index);
	div64_u64_rem(slot, next->slots, &next_index);
	for (i = 0; i < bridge->slots; i++, slot++) {
		u16 mask = held;

		if (slot == bridge->first || slot + 1 == bridge->next_first)
			mask = mask_between(keepon, next, bridge, slot);
		if (slot >= bridge->next_first)
			mask = next->masks[next_index];
		else if (alone)
			mask &= next->masks[next_index];
		bridge->masks[index] = mask;
		index = index + 1 == bridge->slots ? 0 : index + 1;
		next_index = next_index + 1 == next->slots ? 0 : next_index + 1;
	}
}

int keepon_bridge_make(const struct keepon *keepon, const struct keepon_gates *next, s64 start_ns,
		       s64 ready_ns, struct keepon_bridge *bridge)
{
	*bridge = (struct keepon_bridge){
		.start_ns = start_ns,
		.end_ns = end_of(keepon->taprio.now, start_ns, ready_ns),
		.next_first = keepon_slot_from(keepon, start_ns),
	};
	bridge->first = slot_at(keepon, bridge->end_ns);
	if (bridge->first == bridge->next_first)
		return 0;
	bridge->since_ns = slot_start_ns(keepon, bridge->first);
	bridge->slots = slots_needed(keepon, next, bridge->next_first - bridge->first);
	bridge->masks = kvmalloc_array(bridge->slots, sizeof(*bridge->masks), GFP_KERNEL_ACCOUNT);
	if (!bridge->masks)
		return -ENOMEM;
	fill(keepon, next, bridge);
	return 0;
}
