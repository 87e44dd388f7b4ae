# SPDX-License-Identifier: BSD-3-Clause
"""Credit of shaped classes."""

from __future__ import annotations

from core_model.mutations.mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "frames cost nothing",
        "credit.c",
        "credit->due = sum(credit->due, credit->cost);",
        ";",
        ("credit, always ready",),
    ),
    Mutation(
        "frames cost less than the slope brings",
        "credit.c",
        "u64 part = kpn_div_u64(rest + idle_slope_bps - 1, idle_slope_bps);",
        "u64 part = kpn_div_u64(rest, idle_slope_bps) - !!rest;",
        ("vectors of credit",),
    ),
    Mutation(
        "half slots forgotten",
        "include/keepon/credit.h",
        "return credit->due.whole + !!credit->due.part;",
        "return credit->due.whole;",
        ("credit, always ready",),
    ),
    Mutation(
        "credit saved up without end",
        "credit.c",
        "credit->due = difference(now, credit->high);",
        "(void)now;",
        ("credit, pressed", "credit, pressed, own slots"),
    ),
    Mutation(
        "what waits in vain saves nothing up",
        "credit.c",
        ".high = slots_of(high_bytes, wire_bytes, cost),",
        ".high = { 0, 0 },",
        ("credit, own slots",),
    ),
    Mutation(
        "an idle class saves up",
        "credit.c",
        "if (is_before(credit->due, now)) credit->due = now;",
        "",
        ("vectors of credit",),
    ),
    Mutation(
        "credit looked at when a frame is handed over",
        "waiting.c",
        "from = kpn_credit_seq(&pacer->frames.credit[tc]);",
        "from = placement->first_seq;",
        ("credit, always ready",),
    ),
    Mutation(
        "best effort taken back keeps its price",
        "recall.c",
        "kpn_credit_refund(&pacer->frames.credit[frame->tc], frame->seq, frame->slots);",
        ";",
        ("vectors of credit",),
    ),
    Mutation(
        "price back before frames that stay",
        "recall.c",
        "frame->seq > stayed",
        "frame->seq >= 0 * stayed",
        ("vectors of credit",),
    ),
    Mutation(
        "price back for what was free",
        "credit.c",
        "for (; seq >= credit->since && slots; slots--)",
        "for (; slots; slots--)",
        ("vectors of credit",),
    ),
    Mutation(
        "what needs no credit any more waits behind lower classes",
        "waiting.c",
        "pacer->frames.offered_seq = 0;",
        ";",
        ("vectors of credit",),
    ),
    Mutation(
        "what is owed is paid by the old slope",
        "credit.c",
        "	if (is_before(before->due, paid))\n		paid = before->due;\n",
        "	paid = before->due;\n",
        ("vectors of credit",),
    ),
    Mutation(
        "another slope owes a whole frame",
        "credit.c",
        "	if (is_before(before->due, paid))\n		paid = before->due;\n",
        "",
        ("vectors of credit",),
    ),
    Mutation(
        "another slope owes nothing",
        "waiting.c",
        "		kpn_credit_carry(&credit, &pacer->frames.credit[tc]);\n",
        "		;\n",
        ("vectors of credit",),
    ),
)
