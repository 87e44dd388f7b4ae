# SPDX-License-Identifier: BSD-3-Clause
"""Operations that make one mechanism work, on a case that is given, and what such cases have in
common.

Operation streams are drawn from a fixed seed, so that they are the same in every run.
"""

from __future__ import annotations

from random import Random

from core_model.cases import (
    BEST_EFFORT_HIGH,
    BEST_EFFORT_LOW,
    FIRM,
    FIRM_FLOOR,
    MOVABLE,
    SOFT,
    TICK_PS,
    Case,
    Operation,
    make_case,
    random_operations,
)
from core_model.model import ON_DEMAND, PAPER, TRIM_RESERVED

Scenario = tuple[Case, list[Operation]]

ALL = 0xFFFF
BEST_EFFORT = 1 << BEST_EFFORT_LOW | 1 << BEST_EFFORT_HIGH
PRIME_PARTITION = (
    1 << FIRM,
    BEST_EFFORT,
    1 << SOFT,
    BEST_EFFORT | 1 << MOVABLE,
    1 << FIRM_FLOOR,
    ALL,
    BEST_EFFORT,
)
RESERVED_PARTITION = (0, ALL, BEST_EFFORT, 1 << FIRM, BEST_EFFORT | 1 << SOFT, 0, ALL, 1 << MOVABLE)

# Every verdict that a frame whose slot is in the window can have, on one pacer.
EVERY_CLASS: list[Operation] = [
    ("run", 12),
    *(("submit", tc, 200, rel, 0) for rel in (8, 4, 5) for tc in (FIRM, SOFT, MOVABLE, FIRM_FLOOR)),
    ("burst", BEST_EFFORT_HIGH, 200, 20),
    ("burst", BEST_EFFORT_LOW, 64, 20),
    ("submit", FIRM, 200, -1, 0),
    ("submit", SOFT, 200, -9, 0),
    ("submit", MOVABLE, 200, -9, 0),
    ("submit", FIRM, 200, 500, 0),
    ("submit", FIRM, 1519, 4, 0),
    ("submit", FIRM, 17, 4, 0),
    ("submit_at", FIRM, 200, -5),
    ("run", 30),
    ("drain",),
]


def stream(seed: int, case: Case, count: int = 120, restart_every: int = 0) -> Scenario:
    """A drawn stream after the grid has been reached."""
    return case, [("run", 10), *random_operations(Random(seed), case, count, restart_every)]


def restarts(case: Case) -> Scenario:
    """Down with frames in ring, FIFO and heap and with trims posted, for no time or until long
    after the last posted slot; meanwhile everything a driver may let through is tried."""
    ring = case.params["ring_slots"]
    depth_ps = case.params["depth_slots"] * case.slot_ps
    setters: list[Operation] = [
        ("adjtime", 12_345),
        ("adjfine", -6_553_600),
        ("settime", -777, 9),
        ("adjtime", -(10**17)),
    ]
    step: Operation = ("adjtime", case.slot_ps // 2100)
    operations: list[Operation] = [("stop",), ("start",), ("poll",), ("adjfine", 3_276_800)]
    for number, down_ps in enumerate(
        (0, 1, case.slot_ps // 3, 5 * case.slot_ps, depth_ps // 2, 3 * depth_ps, 10**9)
    ):
        operations += [("run", 14), ("burst", BEST_EFFORT_HIGH, 200, 12), step]
        operations += [
            ("submit", tc, 200, rel, 0) for rel in (12, 0, 5, 1) for tc in (FIRM, SOFT, MOVABLE)
        ]
        operations += [("burst", BEST_EFFORT_HIGH, 200, 30), ("burst", BEST_EFFORT_LOW, 64, 30)]
        operations += [("submit", FIRM, 200, ring + 3 * rel, 0) for rel in (9, 2, 40)]
        operations += [("advance", number * case.slot_ps // 5), ("stop",)]
        operations += [
            ("advance", down_ps // 2),
            ("poll",),
            ("submit", FIRM, 200, 9, 0),
            ("submit", SOFT, 17, 9, 0),
        ]
        operations += [("burst", BEST_EFFORT_HIGH, 200, 2), ("submit", FIRM, 1519, 4, 0), ("stop",)]
        operations += [
            *setters[number % 4 : number % 4 + number // 3],
            ("advance", down_ps - down_ps // 2),
            ("start",),
        ]
        operations += [("submit", FIRM, 200, 4, 0), ("burst", BEST_EFFORT_LOW, 64, 6)]
    return case, [*operations, ("run", 30), *EVERY_CLASS]


def steps(case: Case, *deltas_ns: int) -> Scenario:
    """Steps while frames of every class wait, at every place from latched to beyond the posted
    slots.
    """
    operations: list[Operation] = [("run", 12)]
    for delta_ns in deltas_ns:
        for rel in (0, 1, 2, 7, 20, 30, 40):
            operations.append(("submit", (FIRM, SOFT, MOVABLE, FIRM_FLOOR)[rel % 4], 280, rel, 0))
        operations += [
            ("burst", BEST_EFFORT_HIGH, 280, 12),
            ("advance", 2 * case.slot_ps + 777),
            ("adjtime", delta_ns),
        ]
        operations += [("run", 3), ("burst", BEST_EFFORT_LOW, 64, 4), ("run", 20)]
    return case, [*operations, ("drain",)]


def rates(case: Case, *scaled_ppm: int) -> Scenario:
    """Rate changes, each followed by enough slots to leave the grid if nothing were done."""
    operations: list[Operation] = [("run", 12)]
    for rate in scaled_ppm:
        operations += [
            ("adjfine", rate),
            ("submit", FIRM, 280, 12, 0),
            ("run", 8),
            ("burst", BEST_EFFORT_HIGH, 280, 8),
            ("run", 8),
        ]
    return case, operations


def full_load(case: Case) -> Scenario:
    """Best effort of two classes in every slot they may have, scheduled frames pushing in
    between.
    """
    operations: list[Operation] = [("run", 12)]
    for rel in range(1, 26):
        operations += [
            ("burst", BEST_EFFORT_HIGH, case.shape().real_bytes_max, 4),
            ("burst", BEST_EFFORT_LOW, 64, 3),
            ("submit", FIRM, 64, rel % 9, 0),
            ("submit", SOFT, 280, rel % 5, 0),
            ("submit", MOVABLE, 280, -rel, 0),
            ("advance", case.slot_ps * rel // 17),
            ("poll",),
        ]
    return case, [*operations, ("drain",)]


def dry(case: Case) -> Scenario:
    """Polls that come ever later, until the wire is idle for certain, with frames waiting, also
    beyond what is posted."""
    depth = case.params["depth_slots"]
    depth_ps = depth * case.slot_ps
    operations: list[Operation] = [("run", 12)]
    for eighths in (-12, -6, -4, -2, -1, 0, 1, 2, 4, 12, 80):
        operations += [
            ("submit", FIRM, 280, 3, 0),
            ("submit", SOFT, 280, 9, 0),
            ("burst", BEST_EFFORT_LOW, 64, 3),
        ]
        operations += [
            ("submit", tc, 280, rel, 0)
            for rel in range(depth - 8, depth + 24)
            for tc in (FIRM, SOFT, MOVABLE)
        ]
        operations += [
            ("stall", max(0, depth_ps + eighths * case.slot_ps // 8)),
            ("poll",),
            ("advance", case.slot_ps // 3),
        ]
        operations += [("poll",), ("run", 12)]
    return case, [*operations, ("drain",)]


def crystals(case: Case) -> Scenario:
    """The CPU counter at both ends of the stated drift, going from one to the other as fast as
    stated.
    """
    most = case.params["drift_ppb_max"]
    operations: list[Operation] = [("glide", 300)]
    for drift_ppb in (-most, most):
        operations += [
            ("drift", drift_ppb),
            ("glide", 700),
            ("submit", FIRM, 64, 0, 0),
            ("burst", BEST_EFFORT_HIGH, 64, 5),
            ("glide", 700),
        ]
    return case, operations


def unlocked(case: Case) -> Scenario:
    """Frames for slots between a step and the grid."""
    operations: list[Operation] = [("run", 12)]
    for delta_ns in (case.slot_ps // 2000, -case.slot_ps // 2500, 10**6 + case.slot_ps // 2100):
        operations += [
            ("adjtime", delta_ns),
            *(("submit", FIRM, 64, rel, 0) for rel in range(0, 60, 3)),
            ("run", 30),
        ]
    return case, operations


def held(case: Case) -> Scenario:
    """Frames handed in far too early, the later ones first."""
    ring = case.params["ring_slots"]
    operations: list[Operation] = [("run", 12)]
    operations += [
        ("submit", FIRM, 64, ring + 3 * rel, 0) for rel in (90, 60, 61, 30, 2, 75, 15, 1, 0)
    ]
    return case, [*operations, ("run", 120), ("drain",)]


def storm(case: Case) -> Scenario:
    """More at once than one call may do: equal txtimes, overdue frames that may move, a step under
    a full ring.
    """
    ring = case.params["ring_slots"]
    operations: list[Operation] = [("run", 12)]
    for delta_ns in (7 * case.slot_ps // 1000, -9 * case.slot_ps // 1000, -(10**6), 10**9):
        operations += [("submit", tc, 64, 9, 0) for tc in (SOFT, MOVABLE, FIRM) for _ in range(40)]
        operations += [
            ("submit", (SOFT, FIRM, MOVABLE)[rel % 3], 64, rel, 0) for rel in range(ring + 40)
        ]
        operations += [("burst", BEST_EFFORT_HIGH, 64, 40), ("adjtime", delta_ns), ("run", 25)]
        operations += [("submit", SOFT, 64, -ring // 2, 0) for _ in range(30)]
        operations += [
            ("run", 10),
            ("stall", (case.params["depth_slots"] + 2) * case.slot_ps),
            ("run", 40),
        ]
    return case, [*operations, ("drain",)]


def switches(case: Case, *tables: tuple[int, ...]) -> Scenario:
    """Another partition under load: soon, at once, far ahead, and another one instead."""
    operations: list[Operation] = [("run", 12)]
    for number, table in enumerate(tables * 2):
        for rel in range(3, 40, 3):
            operations.append(("submit", (FIRM, SOFT, MOVABLE, FIRM_FLOOR)[rel % 4], 64, rel, 0))
        operations += [("burst", BEST_EFFORT_HIGH, 64, 9), ("burst", BEST_EFFORT_LOW, 64, 9)]
        instead = tables[(number + 1) % len(tables)]
        operations += [("switch", table, (30, 0, 75, 200)[number % 4]), ("switch", instead, 9)]
        operations += [("submit", tc, 64, 25, 0) for tc in (FIRM, SOFT, MOVABLE, FIRM_FLOOR)]
        operations += [("run", 60), *EVERY_CLASS]
    return case, operations


def deaths(case: Case) -> Scenario:
    """The card is pulled, or its index stands still, with frames everywhere; then the device comes
    up again.
    """
    operations: list[Operation] = []
    for death in ("vanish", "freeze"):
        operations += [
            ("run", 14),
            ("burst", BEST_EFFORT_HIGH, 64, 12),
            ("burst", BEST_EFFORT_LOW, 64, 12),
        ]
        operations += [
            ("submit", tc, 64, rel, 0) for rel in (12, 0, 5, 1, 300) for tc in (FIRM, SOFT, MOVABLE)
        ]
        operations += [(death,), ("poll",), ("submit", FIRM, 64, 5, 0), ("start",), ("run", 30)]
    return case, operations


# fast readings of a fine ring over tens of milliseconds: a strip of some nanoseconds, so that wrong
# rates show
CRYSTALS = {
    "slot_bytes": 64,
    "trim": TRIM_RESERVED,
    "trim_down_bytes": 4,
    "trim_up_bytes": 4,
    "ring_slots": 256,
    "depth_slots": 200,
    "batch_slots": 64,
    "read_ps": 0,
    "drift_ppb_max": 1_000_000,
    "wander_ppb_per_s_max": 1_000_000,
}
LAGGING = {"index_lag_ps_min": 12_000_000, "index_lag_ps_max": 31_000_000}
FETCHING = {"index_counts_done": 0, "prefetch_slots": 5}
SMALL = {"slot_bytes": 64, "trim": TRIM_RESERVED, "trim_down_bytes": 4, "trim_up_bytes": 8}
PAD = {"spare": 1, "padding": ON_DEMAND}
PAPER_RING = {"mode": PAPER, "ring_slots": 32, "batch_slots": 8, "slot_bytes": 300}
TICKS = {"cpu_tick_ps": TICK_PS, "drift_ppb": 20_000, "drift_ppb_max": 30_000}
# Slots begin while a call is under way. Frames are copied to buffers of their own: one that is not
# ready when its slot is fetched would otherwise leave in the placeholder, which nobody receives.
SLOW_CALLS = {"call_ps": 150_000, "spare": 1, "placeholder": 1}
STORM = {
    "slot_bytes": 300,
    "ring_slots": 200,
    "depth_slots": 40,
    "batch_slots": 4,
    "budget_frames": 8,
    "prebuffer_frames": 256,
    "frame_count": 2048,
}
MIXED = make_case({"ring_slots": 61, "depth_slots": 24}, PRIME_PARTITION)
# 1 Gb/s slots of 300 bytes last 2.56 us
SHORT = make_case(
    {"slot_bytes": 300, "ring_slots": 100, "depth_slots": 40, "batch_slots": 8}, PRIME_PARTITION
)
