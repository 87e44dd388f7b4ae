// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Sums of slots and parts of slots. All rounding makes a class send too little, never too much. */
#include "keepon/credit.h"

#include "keepon/errno.h"

#define ONE (1u << KPN_CREDIT_PART_BITS)

static bool is_before(struct kpn_slots a, struct kpn_slots b)
{
	return a.whole < b.whole || (a.whole == b.whole && a.part < b.part);
}

static struct kpn_slots sum(struct kpn_slots a, struct kpn_slots b)
{
	u32 part = a.part + b.part;

	return (struct kpn_slots){ a.whole + b.whole + part / ONE, part % ONE };
}

/* @b is not more than @a */
static struct kpn_slots difference(struct kpn_slots a, struct kpn_slots b)
{
	bool borrow = a.part < b.part;

	return (struct kpn_slots){ a.whole - b.whole - borrow, a.part - b.part + borrow * ONE };
}

/* Port rate / idle slope, rounded up; the rest is below 2^37, so it has room for the parts. */
static struct kpn_slots cost_of(u64 rate_bps, u64 idle_slope_bps)
{
	u64 whole = kpn_div_u64(rate_bps, idle_slope_bps);
	u64 rest = (rate_bps - whole * idle_slope_bps) << KPN_CREDIT_PART_BITS;
	u64 part = kpn_div_u64(rest + idle_slope_bps - 1, idle_slope_bps);

	return (struct kpn_slots){ whole + (part >> KPN_CREDIT_PART_BITS), (u32)part % ONE };
}

/*
 * Slots in which the idle slope earns @bytes, rounded down. A cost is below 2^27, so both products
 * are far below 2^63.
 */
static struct kpn_slots slots_of(u32 bytes, u32 wire_bytes, struct kpn_slots cost)
{
	u64 whole = kpn_div_u64(bytes * cost.whole, wire_bytes);
	u64 rest = bytes * cost.whole - whole * wire_bytes;
	u64 part = kpn_div_u64((rest << KPN_CREDIT_PART_BITS) + (u64)bytes * cost.part, wire_bytes);

	return (struct kpn_slots){ whole + (part >> KPN_CREDIT_PART_BITS), (u32)part % ONE };
}

int kpn_credit_init(struct kpn_credit *credit, u64 rate_bps, u32 wire_bytes, u64 idle_slope_bps,
		    u32 high_bytes, u64 since)
{
	struct kpn_slots cost;

	if (idle_slope_bps < KPN_IDLE_SLOPE_BPS_MIN || idle_slope_bps > rate_bps)
		return -KPN_ERANGE;
	cost = cost_of(rate_bps, idle_slope_bps);
	*credit = (struct kpn_credit){
		.cost = cost,
		.high = slots_of(high_bytes, wire_bytes, cost),
		.due = { since, 0 },
		.since = since,
	};
	return 0;
}

void kpn_credit_carry(struct kpn_credit *credit, const struct kpn_credit *before)
{
	struct kpn_slots paid = sum(credit->due, credit->cost);

	if (is_before(before->due, paid))
		paid = before->due;
	if (is_before(credit->due, paid))
		credit->due = paid;
}

u64 kpn_credit_high_bytes(u64 rate_bps, u32 wire_bytes, u64 idle_slope_bps, u32 gap_slots)
{
	/* link rates are whole thousands; a product in bits would overflow */
	u64 thousands = kpn_div_u64(rate_bps, 1000);
	u64 product = kpn_div_u64(idle_slope_bps + 999, 1000) * gap_slots * wire_bytes;

	return kpn_div_u64(product + thousands - 1, thousands);
}

void kpn_credit_rest(struct kpn_credit *credit, u64 seq)
{
	struct kpn_slots now = { seq, 0 };

	if (is_before(credit->due, now))
		credit->due = now;
}

void kpn_credit_spend(struct kpn_credit *credit, u64 seq, u32 slots)
{
	struct kpn_slots now = { seq, 0 };

	KPN_ASSERT(seq >= kpn_credit_seq(credit));
	if (is_before(credit->high, now) && is_before(credit->due, difference(now, credit->high)))
		credit->due = difference(now, credit->high);
	for (; slots; slots--)
		credit->due = sum(credit->due, credit->cost);
}

void kpn_credit_refund(struct kpn_credit *credit, u64 seq, u32 slots)
{
	for (; seq >= credit->since && slots; slots--)
		credit->due = difference(credit->due, credit->cost);
}
