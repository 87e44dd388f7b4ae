/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Gate control list to class masks, in whole picoseconds throughout (IEEE 802.1Q-2022 clause
 * 8.6.9). Slot i covers [i x slot time, (i + 1) x slot time) of network time; the list is taken as
 * periodic in both directions, so its base time only shifts it. This file does not know which ring
 * or clock uses the masks.
 *
 *	base time      |0         1    2        |0         1    2        |   entries of the list
 *	network time   0    :    :    :    :    :    :    :    :    :    :   slots
 *	                    a class may use the slots in which its gate never closes
 */
#include "keepon/gcl.h"

#include "keepon/errno.h"
#include "kpn_math.h"

enum { CLASSES = 16, PS_PER_NS = 1000 };

/* Periods stay below 2^62 ps (53 days), so that no sum of open times can overflow. */
#define PERIOD_PS_MAX (1ull << 62)

static u64 remainder_u64(u64 dividend, u64 divisor)
{
	return dividend - kpn_div_u64(dividend, divisor) * divisor;
}

/* Cycle in ns, at most 1024 x 2^32; 0 if the list is malformed. */
static u64 cycle_ns(const struct kpn_gcl *gcl)
{
	u64 sum_ns = 0;
	u32 i;

	if (gcl->entry_count > KPN_GCL_ENTRIES_MAX)
		return 0;
	for (i = 0; i < gcl->entry_count; i++) {
		if (!gcl->entries[i].interval_ns)
			return 0;
		sum_ns += gcl->entries[i].interval_ns;
	}
	return sum_ns;
}

/* struct walk - position in the list: @left_ps of entry @entry_idx remain */
struct walk {
	const struct kpn_gcl *gcl;
	u32 entry_idx;
	u64 left_ps;
};

static u64 entry_ps(const struct kpn_gcl *gcl, u32 entry_idx)
{
	return (u64)gcl->entries[entry_idx].interval_ns * PS_PER_NS;
}

/* Move on by @length_ps. Return: the gates open all the way; all gates if @length_ps is 0. */
static u16 walk_on(struct walk *walk, u64 length_ps)
{
	u16 open = 0xffff;

	while (length_ps) {
		u64 step_ps = length_ps < walk->left_ps ? length_ps : walk->left_ps;

		open &= walk->gcl->entries[walk->entry_idx].gates;
		length_ps -= step_ps;
		walk->left_ps -= step_ps;
		if (!walk->left_ps) {
			walk->entry_idx = walk->entry_idx + 1 < walk->gcl->entry_count ?
						  walk->entry_idx + 1 :
						  0;
			walk->left_ps = entry_ps(walk->gcl, walk->entry_idx);
		}
	}
	return open;
}

/* Open time of a class in one cycle. */
static u64 open_ps(const struct kpn_gcl *gcl, u32 tc)
{
	u64 sum_ps = 0;
	u32 i;

	for (i = 0; i < gcl->entry_count; i++) {
		if (gcl->entries[i].gates >> tc & 1)
			sum_ps += entry_ps(gcl, i);
	}
	return sum_ps;
}

int kpn_gcl_compile(const struct kpn_gcl *gcl, u64 slot_ps, u16 *allowed, u32 room,
		    struct kpn_gcl_report *report)
{
	struct walk walk = { .gcl = gcl };
	u16 whole_cycle_open = 0xffff;
	u32 covered_slots[CLASSES] = { 0 };
	u64 length_ns = cycle_ns(gcl);
	u64 length_ps = length_ns * PS_PER_NS;
	u64 common_ps;
	u64 slots;
	u64 cycles;
	u64 phase_ns;
	u64 rest_ps;
	u32 tc;
	u32 i;

	if (!length_ns || !slot_ps || gcl->base_ns < 0)
		return -KPN_EINVAL;

	/*
	 * the least common multiple of cycle and slot time is `slots` slots and `cycles` cycles
	 * long
	 */
	common_ps = kpn_common_divisor(length_ps, slot_ps);
	slots = kpn_div_u64(length_ps, common_ps);
	cycles = kpn_div_u64(slot_ps, common_ps);
	if (slots > room || cycles > kpn_div_u64(PERIOD_PS_MAX, length_ps))
		return -KPN_ERANGE;

	/* position of network time 0 in the list */
	phase_ns = remainder_u64((u64)gcl->base_ns, length_ns);
	phase_ns = phase_ns ? length_ns - phase_ns : 0;
	walk.left_ps = entry_ps(gcl, 0);
	walk_on(&walk, phase_ns * PS_PER_NS);

	/*
	 * a slot of several cycles meets every entry; walking only its last, partial cycle bounds
	 * the work
	 */
	rest_ps = remainder_u64(slot_ps, length_ps);
	if (slot_ps >= length_ps) {
		for (i = 0; i < gcl->entry_count; i++)
			whole_cycle_open &= gcl->entries[i].gates;
	}
	for (i = 0; i < (u32)slots; i++) {
		allowed[i] = whole_cycle_open & walk_on(&walk, rest_ps);
		for (tc = 0; tc < CLASSES; tc++)
			covered_slots[tc] += allowed[i] >> tc & 1;
	}

	if (report) {
		report->partition_slots = (u32)slots;
		for (tc = 0; tc < CLASSES; tc++)
			report->lost_ps[tc] =
				cycles * open_ps(gcl, tc) - covered_slots[tc] * slot_ps;
	}
	return 0;
}
