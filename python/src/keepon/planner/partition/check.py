# SPDX-License-Identifier: BSD-3-Clause
"""Checks answers against instances, independently: it reads both as JSON and imports nothing of the
solvers.

A feasible answer is checked over the whole cycle L, including jitter across its wrap; an answer
with phases is checked by congruences, which hold for any L. An infeasible answer is checked if it
names a bound; an exhaustive search cannot be checked and is reported so. The conditions are those
of KeepON paper section A.7 over L.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, gcd, lcm
from typing import Any

PASSED = "passed"
REJECTED = "rejected"
UNCHECKABLE = "uncheckable"
STATES = (PASSED, REJECTED, UNCHECKABLE)
_ANSWERS = {
    "feasible": "feasible",
    "infeasible": "infeasible",
    "proven_infeasible": "infeasible",
    "unknown": "unknown",
}


@dataclass(frozen=True)
class Verdict:
    """The state and, unless the check passed, the first reason."""

    state: str
    reason: str = ""


class _ViolationError(Exception):
    """A condition does not hold; the text says which and where."""


@dataclass(frozen=True)
class _Flow:
    owner: int
    period: int
    jitter: int
    length: int
    window: tuple[int, int] | None


@dataclass(frozen=True)
class _Case:
    ring: int
    owner_of_class: dict[int, int]
    flows: list[_Flow]
    reserve: int
    unowned: set[int]

    @property
    def cycle(self) -> int:
        return lcm(self.ring, *(flow.period for flow in self.flows))

    @property
    def available(self) -> int:
        return self.ring - max(self.reserve, len(self.unowned))


def _exact(number: Any) -> Fraction:
    return Fraction(str(number)) if isinstance(number, (int, float, Decimal)) else Fraction(number)


def _case(instance: Mapping[str, Any]) -> _Case:
    slot = _exact(instance["slot_us"])
    together = [set(group) for group in instance.get("shared_classes", [])]
    owner_of = {
        c: min([c, *(min(group) for group in together if c in group)])
        for c in range(instance["n_classes"])
    }
    flows = []
    for row in instance["flows"]:
        period = _exact(row["period_us"]) / slot
        window = None
        if "earliest_us" in row or "latest_us" in row:
            first = -((-_exact(row.get("earliest_us", 0))) // slot)
            last = _exact(row["latest_us"]) // slot if "latest_us" in row else int(period) - 1
            window = (int(first), int(last))
        jitter = int(_exact(row["jitter_us"]) // slot)
        flows.append(
            _Flow(owner_of[row["class"]], int(period), jitter, row.get("length_slots", 1), window)
        )
    ring = instance["ring_slots"]
    return _Case(
        ring,
        owner_of,
        flows,
        instance.get("reserve_slots", 0),
        set(instance.get("unowned_slots", [])),
    )


def _demand(holds: bool, text: str) -> None:
    if not holds:
        raise _ViolationError(text)


def _whole_list(value: Any, length: int, low: int, high: int, name: str) -> list[int]:
    _demand(
        isinstance(value, list) and len(value) == length,
        f"{name} is not a list of {length} entries",
    )
    for entry in value:
        _demand(
            type(entry) is int and low <= entry <= high,
            f"{name} holds {entry!r}, not {low} to {high}",
        )
    return list(value)


def _owners(case: _Case, witness: Mapping[str, Any]) -> list[int]:
    highest = max(case.owner_of_class)
    table = _whole_list(
        witness.get("owner_class_by_ring_slot"), case.ring, -1, highest, "owner_class_by_ring_slot"
    )
    owners = [-1 if entry == -1 else case.owner_of_class[entry] for entry in table]
    for slot in case.unowned:
        _demand(owners[slot] == -1, f"ring slot {slot} is owned and must not be")
    _demand(
        owners.count(-1) >= case.reserve,
        f"{owners.count(-1)} ring slots are unowned, {case.reserve} are reserved",
    )
    if "class_mask_by_ring_slot" in witness or len(set(case.owner_of_class.values())) < len(
        case.owner_of_class
    ):
        wanted = [
            sum(1 << c for c, o in case.owner_of_class.items() if o == owner) for owner in owners
        ]
        _demand(
            witness.get("class_mask_by_ring_slot") == wanted,
            "class_mask_by_ring_slot contradicts the owners",
        )
    return owners


def _check_spread(flow: _Flow, starts: Sequence[int], cycle: int, name: str) -> None:
    """Check that a phase o exists with o + l P <= T_l <= o + l P + J for all l, modulo the
    cycle.
    """
    offsets = sorted(
        {(start - number * flow.period) % cycle for number, start in enumerate(starts)}
    )
    if flow.window is None:
        # The offsets lie on a circle; the smallest arc with all of them leaves out the widest gap.
        gaps = [b - a for a, b in zip(offsets, [*offsets[1:], offsets[0] + cycle], strict=True)]
        _demand(
            cycle - max(gaps) <= flow.jitter,
            f"{name}: jitter of {cycle - max(gaps)} slots, allowed {flow.jitter}",
        )
        return
    # A window fixes the offsets modulo P, as any instance may be counted as the first.
    first, last = flow.window
    shifted = {(offset - first) % cycle for offset in offsets}
    for turn in {offset // flow.period * flow.period for offset in shifted}:
        reached = [(offset - turn) % cycle for offset in shifted]
        if max(reached) <= last - first and max(reached) - min(reached) <= flow.jitter:
            return
    raise _ViolationError(
        f"{name}: starts leave the window {first} to {last} or spread over more than {flow.jitter}"
        " slots"
    )


def _check_listed(case: _Case, owners: list[int], rows: list[Any]) -> None:
    cycle = case.cycle
    used: set[int] = set()  # not a list: the cycle can be far longer than the number of starts
    for index, (flow, row) in enumerate(zip(case.flows, rows, strict=True)):
        name = f"flow {index}"
        starts = _whole_list(row, cycle // flow.period, 0, cycle - 1, f"starts of {name}")
        for start in starts:
            for place in range(start, start + flow.length):
                _demand(
                    owners[place % case.ring] == flow.owner,
                    f"{name}: slot {place} is not its class's",
                )
                _demand(place % cycle not in used, f"{name}: slot {place} is used twice")
                used.add(place % cycle)
        _check_spread(flow, starts, cycle, name)


def _visited(flow: _Flow, phase: int, ring: int) -> Iterator[int]:
    step = gcd(flow.period, ring)
    return iter(range(phase % step, ring, step))


def _check_phases(case: _Case, owners: list[int], witness: Mapping[str, Any]) -> None:
    count = len(case.flows)
    phases = _whole_list(
        witness.get("phase_slot_by_flow"), count, 0, case.cycle, "phase_slot_by_flow"
    )
    private = witness.get("private_ring_slots_by_flow") or [None] * count
    _demand(
        isinstance(private, list) and len(private) == count,
        f"private slots are not a list of {count} entries",
    )
    taken: dict[int, int] = {}
    for index, slots in enumerate(private):
        for slot in slots or []:
            _demand(
                type(slot) is int and 0 <= slot < case.ring,
                f"private slot {slot!r} is not in the ring",
            )
            _demand(
                slot not in taken,
                f"ring slot {slot} is private to flows {taken.get(slot)} and {index}",
            )
            taken[slot] = index
    for index, (flow, phase, slots) in enumerate(zip(case.flows, phases, private, strict=True)):
        name = f"flow {index}"
        low, high = flow.window or (0, case.cycle)
        if slots is None:
            _demand(
                low <= phase <= high, f"{name}: phase {phase} is outside its window {low} to {high}"
            )
            for start in _visited(flow, phase, case.ring):
                for place in range(start, start + flow.length):
                    slot = place % case.ring
                    _demand(
                        owners[slot] == flow.owner, f"{name}: ring slot {slot} is not its class's"
                    )
                    _demand(
                        slot not in taken,
                        f"{name}: ring slot {slot} is private to flow {taken.get(slot)}",
                    )
            _demand(flow.length <= flow.period, f"{name}: frames overlap each other")
            continue
        _demand(flow.length == 1, f"{name}: private slots hold frames of one slot only")
        _demand(len(slots) > 0, f"{name}: has no private slot")
        for slot in slots:
            _demand(
                owners[slot] == flow.owner, f"{name}: private ring slot {slot} is not its class's"
            )
        waits = [min((slot - start) % case.ring for slot in slots) for start in
                 _visited(flow, phase, case.ring)]  # fmt: skip
        _demand(
            max(waits) - min(waits) <= flow.jitter,
            f"{name}: jitter of {max(waits) - min(waits)} slots",
        )
        # Two releases must never wait for the same private slot.
        _demand(max(waits) - min(waits) < flow.period, f"{name}: two frames wait for one slot")
        _demand(
            low <= phase + min(waits) and phase + max(waits) <= high,
            f"{name}: starts leave the window",
        )
    for b, second in enumerate(case.flows):
        for a in range(b):
            first = case.flows[a]
            if first.owner != second.owner or private[a] is not None or private[b] is not None:
                continue  # different owners or private slots: disjoint ring slots, checked above
            common = gcd(first.period, second.period)
            apart = (phases[b] - phases[a]) % common
            _demand(first.length <= apart <= common - second.length, f"flows {a} and {b} meet")


def _check_bound(case: _Case, proof: Mapping[str, Any]) -> None:
    """Check that the named bound has the stated value and excludes a schedule."""
    if proof["bound"] == "crossing":
        a, b = (case.flows[index] for index in proof["flows"])
        common = (
            gcd(a.period, b.period) if a.owner == b.owner else gcd(a.period, b.period, case.ring)
        )
        same = proof["flows"][0] == proof["flows"][1]
        _demand(not same and a.jitter == b.jitter == 0, "crossing names flows that may have jitter")
        _demand(a.length + b.length > common, f"flows {proof['flows']} need not cross")
        return
    total = 0
    named: set[int] = set()
    for row in proof["slots_by_class"]:
        owners = {case.owner_of_class[c] for c in row["classes"]}
        _demand(len(owners) == 1 and not owners & named, "classes of the bound overlap")
        named |= owners
        possible = _slots_beyond(
            case, row, {k for k, flow in enumerate(case.flows) if flow.owner in owners}
        )
        _demand(
            row["slots"] <= possible,
            f"classes {row['classes']} need {possible} slots, {row['slots']} are claimed",
        )
        total += row["slots"]
    _demand(total > case.available, f"{total} slots are needed and {case.available} are there")


def _spread(flow: _Flow) -> int:
    """The most that starts can vary by jitter and window."""
    return flow.jitter if flow.window is None else min(flow.jitter, flow.window[1] - flow.window[0])


def _slots_beyond(case: _Case, row: Mapping[str, Any], members: set[int]) -> int:
    """Ring slots of the saturating flows, plus those that the reason gives for the other flows."""
    filling = set(row.get("saturating_flows", []))
    _demand(filling <= members, "saturating flows are of another class")
    filled = 0
    for flow in (case.flows[index] for index in filling):
        _demand(_spread(flow) == 0 and case.ring % flow.period == 0, "a flow is not saturating")
        filled += case.ring // flow.period * flow.length
    return filled + _slots_by(case, row, [case.flows[index] for index in sorted(members - filling)])


def _slots_by(case: _Case, row: Mapping[str, Any], flows: list[_Flow]) -> int:
    if row["because"] == "beside":
        _demand(row["flow"] != row["other"], "a flow beside itself")
        a, b = case.flows[int(row["other"])], case.flows[int(row["flow"])]
        _demand(a in flows and b in flows, "the flows of the bound are of another class")
        _demand(
            case.ring % a.period == 0 and a.length == 1 and _spread(a) < a.period,
            "the other flow moves in the ring",
        )
        # Windows of b that overlap the place [0, J_a] begin from -J_b to J_a; the most for any
        # alignment of b.
        step = gcd(b.period, case.ring)
        touching = len(range(0, _spread(a) + _spread(b) + 1, step))
        return case.ring // a.period + -(-(case.ring // step) // touching)
    if row["because"] == "load":
        total = sum(case.cycle // flow.period * flow.length for flow in flows)
        return -(-total // (case.cycle // case.ring))
    if row["because"] == "reach":
        flow = case.flows[int(row["flow"])]
        _demand(flow in flows, "the flow of the bound is of another class")
        span = gcd(flow.period, case.ring)
        visits = list(range(0, case.ring, span))
        covered = sum(1 for visit in visits if visit <= _spread(flow))
        return min(case.ring, -(-len(visits) // covered) + flow.length - 1)
    if row["because"] == "density":
        modulus = int(row["modulus"])
        _demand(case.ring % modulus == 0, f"modulus {modulus} does not divide the ring")
        still = [flow for flow in flows if _spread(flow) == 0]
        loads = (
            Fraction(f.length, f.period) for f in still if modulus % gcd(f.period, case.ring) == 0
        )
        return case.ring // modulus * ceil(modulus * sum(loads, Fraction(0)))
    raise _ViolationError(f"the reason {row['because']!r} is not known")


def check(instance: Mapping[str, Any]) -> Verdict:
    """Check the answer in one instance of an answer file.

    Args:
        instance: a readable problem with `answer` and `witness` or `proof`.
    """
    answer = _ANSWERS.get(str(instance.get("answer")))
    if answer is None:
        return Verdict(
            REJECTED, f"answer is {instance.get('answer')!r}, not one of {', '.join(_ANSWERS)}"
        )
    if answer == "unknown":
        return Verdict(UNCHECKABLE, "unknown states nothing")
    case = _case(instance)
    try:
        if answer == "infeasible":
            proof = instance.get("proof") or {}
            if proof.get("bound") not in ("slots-per-class", "crossing"):
                return Verdict(UNCHECKABLE, "infeasible by search: no bound is named")
            _check_bound(case, proof)
            return Verdict(PASSED)
        witness = instance.get("witness")
        _demand(isinstance(witness, Mapping), "a feasible answer without witness")
        assert isinstance(witness, Mapping)
        _demand(witness.get("cycle_slots") == case.cycle, f"cycle_slots is not {case.cycle}")
        owners = _owners(case, witness)
        rows = witness.get("tx_slot_by_flow")
        if rows is None:
            _check_phases(case, owners, witness)
        else:
            _demand(
                isinstance(rows, list) and len(rows) == len(case.flows),
                "tx_slot_by_flow: one list per flow",
            )
            _check_listed(case, owners, rows)
    except _ViolationError as violation:
        return Verdict(REJECTED, str(violation))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        return Verdict(REJECTED, f"not in the form of an answer ({type(error).__name__}: {error})")
    return Verdict(PASSED)
