# SPDX-License-Identifier: BSD-3-Clause
"""Small partition instances for tests, and a brute-force search that shares nothing with the
planner.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Instance = dict[str, Any]
FRAMES_MAX = 16
"""In the cycle of an instance: brute force grows with a power of it."""


def instance(flows: list[tuple[int, ...]], ring_slots: int, **more: Any) -> Instance:
    """Flows as (class, period, jitter) in slots of 10 us; `more` are keys of the instance."""
    return {
        "id": "case",
        "slot_us": 10,
        "ring_slots": ring_slots,
        "n_classes": max(flow[0] for flow in flows) + 1,
        "flows": [
            {"flow": k, "class": c, "period_us": 10 * p, "jitter_us": 10 * j}
            for k, (c, p, j) in enumerate(flows)
        ],
        **more,
    }


@st.composite
def plain_instances(draw: st.DrawFn, jitter_max: int = 2) -> Instance:
    """The published problem with a cycle of at most 24 slots, so that brute force answers
    at once.
    """
    ring = draw(st.sampled_from([2, 3, 4, 6, 8]))
    periods = draw(st.sampled_from([[2, 4], [2, 4, 8], [2, 3, 6], [3, 6], [4, 6], [4, 8], [6]]))
    periods = [
        period for period in periods if math.lcm(ring, *periods) <= 24 or period == periods[0]
    ]
    n_classes = draw(st.integers(1, 3))
    flows = draw(
        st.lists(
            st.tuples(
                st.integers(0, n_classes - 1), st.sampled_from(periods), st.integers(0, jitter_max)
            ),
            min_size=1,
            max_size=5,
        )
    )
    cycle = math.lcm(ring, *(p for _, p, _ in flows))
    while sum(cycle // p for _, p, _ in flows) > FRAMES_MAX:
        flows.pop()
    return instance([(c, p, min(j, p)) for c, p, j in flows], ring)


@st.composite
def extended_instances(draw: st.DrawFn) -> Instance:
    """With shared classes, frames of several slots, reserve, excluded slots and windows."""
    found = draw(plain_instances())
    ring = found["ring_slots"]
    if draw(st.booleans()):
        found["reserve_slots"] = draw(st.integers(0, ring // 2))
    if draw(st.booleans()):
        found["unowned_slots"] = draw(st.lists(st.integers(0, ring - 1), unique=True, max_size=2))
    if found["n_classes"] > 1 and draw(st.booleans()):
        found["shared_classes"] = [[0, found["n_classes"] - 1]]
    for flow in found["flows"]:
        period = flow["period_us"] // 10
        if draw(st.booleans()):
            flow["length_slots"] = draw(st.integers(1, min(2, period, ring)))
        if draw(st.booleans()):
            earliest = draw(st.integers(0, period - 1))
            flow["earliest_us"] = 10 * earliest
            flow["latest_us"] = 10 * draw(st.integers(earliest, earliest + period - 1))
    return found


def brute_force(case: Instance) -> bool:
    """Does a schedule exist? Tries every phase and every start of every frame over the whole cycle,
    one by one.
    """
    ring = case["ring_slots"]
    together = case.get("shared_classes", [])
    owner_of = {c: next((min(g) for g in together if c in g), c) for c in range(case["n_classes"])}
    flows = case["flows"]
    cycle = math.lcm(ring, *(flow["period_us"] // 10 for flow in flows))
    most = ring - max(case.get("reserve_slots", 0), len(case.get("unowned_slots", [])))
    owners: list[int | None] = [None] * ring
    closed = set(case.get("unowned_slots", []))
    used = [False] * cycle

    def takes(owner: int, places: list[int]) -> list[int] | None:
        """Ring slots newly taken by a frame there; None if it cannot be there."""
        slots = {place % ring for place in places}
        if any(used[place] for place in places) or slots & closed:
            return None
        if any(owners[slot] not in (None, owner) for slot in slots):
            return None
        new = [slot for slot in slots if owners[slot] is None]
        return new if ring - owners.count(None) + len(new) <= most else None

    def place_frame(index: int, phase: int, number: int) -> bool:
        flow = flows[index]
        period, jitter = flow["period_us"] // 10, int(flow["jitter_us"] // 10)
        if number == cycle // period:
            return place_flow(index + 1)
        last = phase + jitter
        if "latest_us" in flow:
            last = min(last, flow["latest_us"] // 10)
        owner = owner_of[flow["class"]]
        for start in range(phase, last + 1):
            begin = start + number * period
            places = [(begin + ahead) % cycle for ahead in range(flow.get("length_slots", 1))]
            new = takes(owner, places)
            if new is None:
                continue
            for place in places:
                used[place] = True
            for slot in new:
                owners[slot] = owner
            if place_frame(index, phase, number + 1):
                return True
            for place in places:
                used[place] = False
            for slot in new:
                owners[slot] = None
        return False

    def phases(flow: Instance) -> Iterator[int]:
        if "earliest_us" in flow:
            yield from range(flow["earliest_us"] // 10, flow["latest_us"] // 10 + 1)
        else:
            yield from range(flow["period_us"] // 10)

    failed: set[tuple[int, tuple[int | None, ...], tuple[bool, ...]]] = set()

    def place_flow(index: int) -> bool:
        if index == len(flows):
            return True
        state = (index, tuple(owners), tuple(used))
        if state in failed:
            return False
        if any(place_frame(index, phase, 0) for phase in phases(flows[index])):
            return True
        failed.add(state)
        return False

    return place_flow(0)
