# SPDX-License-Identifier: BSD-3-Clause
"""Cases of shaped classes: always ready, beside other load, taken out of slots, stepped."""

from __future__ import annotations

from itertools import chain

from core_model.cases import (
    BEST_EFFORT_HIGH,
    BEST_EFFORT_LOW,
    FIRM,
    SOFT,
    Case,
    Operation,
    make_case,
)
from core_model.mechanisms import ALL, BEST_EFFORT, FETCHING, PAPER_RING, PRIME_PARTITION, Scenario
from core_model.model import OVERHEAD_BYTES

SPARSE_PARTITION = (1 << BEST_EFFORT_HIGH, *(1 << BEST_EFFORT_LOW | 1 << FIRM,) * 6)
PERMILLES = (1, 7, 33, 90, 142, 250, 333, 500, 777, 1000)


def gap_slots(allowed: tuple[int, ...], tc: int) -> int:
    """The furthest a slot of a class is away from the one before it."""
    own = [slot for slot, mask in enumerate(allowed) if mask >> tc & 1]
    return max(b - a for a, b in zip(own, [*own[1:], own[0] + len(allowed)], strict=True))


def high_bytes(case: Case, permille: int, gap: int) -> int:
    """What the slope brings while the class waits for a slot of its own."""
    return -(-(case.params["slot_bytes"] + OVERHEAD_BYTES) * gap * permille // 1000)


def ready(case: Case, *permilles: int) -> Scenario:
    """A class always has frames waiting, at one slope after the other, beside best effort below
    it."""
    gap = gap_slots(case.allowed, BEST_EFFORT_HIGH)
    operations: list[Operation] = [("run", 12)]
    for permille in permilles:
        if permille * gap > 1000:
            continue
        high = high_bytes(case, permille, gap)
        operations += [
            ("slope", BEST_EFFORT_HIGH, permille, high),
            ("burst", BEST_EFFORT_LOW, 64, 40),
            ("saturate", BEST_EFFORT_HIGH, 60 + min(1000, 20_000 // permille // 4), gap),
        ]
    return case, [*operations, ("slope", BEST_EFFORT_HIGH, 0, 0), ("drain",)]


def pressed(case: Case) -> Scenario:
    """Whatever takes frames out of their slots or keeps them waiting, no window has more than the
    slope and what was saved up."""
    gap = gap_slots(case.allowed, BEST_EFFORT_HIGH)
    waves = []
    for number, (permille, times) in enumerate(((142, 1), (400, 1), (90, 6), (30, 3), (250, 0))):
        slot_ns = case.slot_ps // 1000
        waves.append([
            ("slope", BEST_EFFORT_HIGH, permille, times * high_bytes(case, permille, gap)),
            ("burst", BEST_EFFORT_HIGH, 64, 30),
            ("run", 2),
            *(("submit", (FIRM, SOFT)[rel % 2], 64, rel, 0) for rel in range(2, 40)),
            ("run", 5),
            ("burst", BEST_EFFORT_LOW, 64, 30),
            ("adjtime", (7 * slot_ns, -3 * slot_ns, 10**9, -1000, 1)[number]),
            ("burst", BEST_EFFORT_HIGH, 64, 20),
            ("run", 30),
            ("stall", (case.params["depth_slots"] + 9) * case.slot_ps),
            ("burst", BEST_EFFORT_HIGH, 64, 30),
            *(("submit", FIRM, 64, rel, 0) for rel in range(1, 60, 2)),
            ("run", 1),
            ("burst", BEST_EFFORT_HIGH, 64, 3),
            ("run", 150),
            ("switch", (ALL, BEST_EFFORT), 25),
            ("burst", BEST_EFFORT_HIGH, 64, 30),
            ("run", 6),
            ("switch", case.allowed, 9),
            ("run", 60),
        ])  # fmt: skip
    return case, [("run", 14), *chain.from_iterable(waves), ("drain",)]


ROOMY = {"ring_slots": 100, "depth_slots": 40, "batch_slots": 8, "prebuffer_frames": 256}
SHAPED: dict[str, Scenario] = {
    "credit, always ready": ready(make_case(ROOMY), *PERMILLES),
    "credit, own slots": ready(make_case(ROOMY, SPARSE_PARTITION), *PERMILLES),
    "credit, other slots between": ready(make_case(ROOMY, PRIME_PARTITION), *PERMILLES),
    "credit, a slot at a time": ready(
        make_case(
            {"ring_slots": 16, "depth_slots": 9, "batch_slots": 1, "slot_bytes": 300},
            SPARSE_PARTITION,
        ),
        5, 77, 142,
    ),
    "credit, paper": ready(make_case(PAPER_RING | {"prebuffer_frames": 16}), *PERMILLES[2:]),
    "credit, pressed": pressed(make_case(ROOMY, PRIME_PARTITION)),
    "credit, pressed, own slots": pressed(make_case(ROOMY, SPARSE_PARTITION)),
    "credit, pressed, fetch index": pressed(make_case(ROOMY | FETCHING, PRIME_PARTITION)),
}  # fmt: skip
