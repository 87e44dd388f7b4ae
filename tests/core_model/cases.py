# SPDX-License-Identifier: BSD-3-Clause
"""Configurations and operation streams: drawn from a random source (hypothesis's or a seeded one),
or written down.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

from core_model.core import CLASS_COUNT, Core, Library, RefusedError
from core_model.model import (
    DEFERRED,
    FLOOR,
    ON_DEMAND,
    OVERHEAD_BYTES,
    PAPER,
    PHASE_LOCKED,
    RELAXED,
    RESCHEDULE,
    STRICT,
    TRIM_ANY,
    TRIM_RESERVED,
    UP,
    Shape,
)

Operation = tuple[object, ...]
BITS_PS = 10**12
# A counter at 54 MHz, as on a Raspberry Pi 4.
TICK_PS = 18_519
SECOND_PS = 10**12
COUNTER = 1
# One operation in so many is a restart: rare enough that all else is reached as before.
RESTART_EVERY = 150
RATES_BPS = (10**7, 10**8, 10**9, 2_500_000_000, 5 * 10**9, 10**10, 25 * 10**9, 40 * 10**9, 10**11)
SLOT_BYTES = (64, 65, 100, 200, 230, 300, 1230, 1518, 1522)
RING_SLOTS = (8, 9, 13, 31, 32, 64, 100, 255, 256, 509, 1000, 4096)
# and one in so many comes after a change of an idle slope
SLOPE_EVERY = 60
# Classes the operations use: one per late policy, and best effort below and above them.
BEST_EFFORT_LOW, FIRM, SOFT, MOVABLE, FIRM_FLOOR, BEST_EFFORT_HIGH = 0, 1, 2, 3, 4, 7


@dataclass(frozen=True)
class Case:
    """One configuration. `honest`: NIC and oscillators keep every stated bound, so a slip is a
    mistake of the core.
    """

    params: dict[str, int]
    allowed: tuple[int, ...]
    late: tuple[int, ...]
    rounding: tuple[int, ...]
    honest: bool = True

    @property
    def byte_ps(self) -> int:
        return 8 * BITS_PS // self.params["rate_bps"]

    @property
    def slot_ps(self) -> int:
        return (self.params["slot_bytes"] + OVERHEAD_BYTES) * self.byte_ps

    def shape(self) -> Shape:
        """What the model needs to know of it."""
        params = self.params
        trimmed = params["mode"] == PHASE_LOCKED and params["trim"] == TRIM_ANY
        return Shape(
            mode=params["mode"],
            byte_ps=self.byte_ps,
            slot_bytes=params["slot_bytes"],
            ring_slots=params["ring_slots"],
            allowed=self.allowed,
            late=self.late,
            rounding=self.rounding,
            tolerance_ns=params["tolerance_ns"],
            prebuffer_frames=params["prebuffer_frames"],
            real_bytes_max=params["slot_bytes"] - (params["trim_down_bytes"] if trimmed else 0),
            horizon_ns=params["horizon_ns"],
        )

    def window_ns(self) -> int:
        """Wire time of the ring."""
        return self.params["ring_slots"] * self.slot_ps // 1000 + 1

    def strip_ps(self) -> int:
        """Width one reading alone leaves: a slot, the lag's range, the reading itself, a
        restart.
        """
        params = self.params
        ahead_ps = 0 if params["index_counts_done"] else 2 * params["prefetch_slots"] * self.slot_ps
        return (
            self.slot_ps
            + ahead_ps
            + params["index_lag_ps_max"]
            + params["read_ps"]
            + params["restart_ps_max"]
        )

    def gap_slots(self) -> int:
        """Longest distance between slots that may be trimmed."""
        if self.params["trim"] == TRIM_ANY:
            return 1
        free = [i for i, mask in enumerate(self.allowed) if not mask]
        laps = [*free, free[0] + len(self.allowed)]
        return max(b - a for a, b in pairwise(laps))

    def rate_ppb_max(self) -> int:
        """Rate that trims can follow with a fifth to spare."""
        if self.params["mode"] == PAPER:
            return 10_000_000
        least = min(self.params["trim_down_bytes"], self.params["trim_up_bytes"])
        wire_bytes = self.params["slot_bytes"] + OVERHEAD_BYTES
        return min(10_000_000, least * 800_000_000 // (wire_bytes * self.gap_slots()))


def base_params() -> dict[str, int]:
    """A middling phase-locked configuration at 1 Gb/s."""
    return {
        "rate_bps": 10**9,
        "slot_bytes": 1230,
        "ring_slots": 64,
        "partition_slots": 1,
        "batch_slots": 4,
        "depth_slots": 32,
        "trim_down_bytes": 16,
        "trim_up_bytes": 16,
        "prebuffer_frames": 64,
        "budget_frames": 32,
        "horizon_ns": 0,
        "tolerance_ns": 8,
        "drift_ppb_max": 100_000,
        "wander_ppb_per_s_max": 1000,
        "poll_overhead_ns": 0,
        "seed": 1,
        "mode": PHASE_LOCKED,
        "clock_read": 0,
        "placeholder": 0,
        "trim": TRIM_ANY,
        "padding": DEFERRED,
        "dither": 1,
        "reserved_slots": 1,
        "frame_bytes_min": 60,
        "frame_bytes_max": 1600,
        "prefetch_slots": 3,
        "index_modulus": 0,
        "index_lag_ps_min": 0,
        "index_lag_ps_max": 0,
        "restart_ps_min": 500_000,
        "restart_ps_max": 1_500_000,
        "read_ps": 400_000,
        "call_ps": 0,
        "cpu_start_ns": 123_456_789,
        "cpu_tick_ps": 0,
        "coherent": 1,
        "index_counts_done": 1,
        "persistent": 1,
        "spare": 0,
        "quantum_bytes": 1,
        "start_time_ns": 10**15 + 12345,
        "frame_count": 512,
        "drift_ppb": 0,
    }


POLICIES = {FIRM: STRICT, SOFT: RELAXED, MOVABLE: RESCHEDULE, FIRM_FLOOR: STRICT}


def make_case(
    changes: dict[str, int] | None = None, allowed: tuple[int, ...] = (0xFFFF,), honest: bool = True
) -> Case:
    """base_params() with changes; paper mode gets what it asks for."""
    params = base_params() | (changes or {})
    rounding = [UP] * CLASS_COUNT
    rounding[FIRM_FLOOR] = FLOOR
    if params["mode"] == PAPER:
        params |= {
            "clock_read": COUNTER,
            "depth_slots": params["batch_slots"],
            "partition_slots": params["ring_slots"],
        }
        allowed = tuple(allowed[i % len(allowed)] for i in range(params["ring_slots"]))
        rounding = [FLOOR] * CLASS_COUNT
    params["partition_slots"] = len(allowed)
    params["budget_frames"] = max(params["budget_frames"], 2 * params["batch_slots"])
    late = tuple(POLICIES.get(tc, STRICT) for tc in range(CLASS_COUNT))
    return Case(params, allowed, late, tuple(rounding), honest)


def random_partition(rng: Random, ring_slots: int, reserved: bool) -> tuple[int, ...]:
    """Masks of a period related to the ring or not at all; with `reserved`, some slots open to no
    class.
    """
    slots = rng.choice(
        (1, 2, 7, ring_slots, ring_slots + 1, ring_slots - 1, 97, 250, rng.randint(1, 600))
    )
    style = rng.randrange(3)
    masks = []
    for i in range(slots):
        if style == 0:
            mask = 0xFFFF
        elif style == 1:
            mask = rng.choice((0x0081, 0x0082, 0x009F, 1 << FIRM, 1 << SOFT, 0x0089, 0xFFFF))
        else:
            mask = 1 << (FIRM, SOFT, MOVABLE, FIRM_FLOOR)[i % 4] if i % 2 else 0x0081
        masks.append(mask)
    if reserved:
        gap = rng.randint(1, 8)
        for i in range(0, slots, gap):
            masks[i] = 0
    return tuple(masks)


def random_params(rng: Random) -> tuple[dict[str, int], tuple[int, ...]]:
    """Parameters that are usually valid."""
    params = base_params()
    rate_bps = rng.choice(RATES_BPS)
    slot_bytes = rng.choice((*SLOT_BYTES, rng.randint(64, 1522)))
    byte_ps = 8 * BITS_PS // rate_bps
    slot_ps = (slot_bytes + OVERHEAD_BYTES) * byte_ps
    ring = rng.choice(RING_SLOTS)
    paper = rng.random() < 0.3
    reserved = not paper and rng.random() < 0.4
    allowed = random_partition(rng, ring, reserved)
    prefetch = rng.choice((0, 1, 2, 4, rng.randint(0, min(24, ring - 3))))
    reserved_slots = rng.choice((0, 1, 2))
    posted_max = min(ring - reserved_slots, ring - prefetch - 1)
    depth = rng.choice((posted_max, rng.randint(1, posted_max), min(posted_max, 64)))
    batch = rng.choice((1, min(8, depth), rng.randint(1, depth)))
    quantum = rng.choice((1, 1, 1, 2, 4, 8))
    shortest = 60 if reserved else 64
    down = quantum * rng.randint(1, 8)
    lag = rng.choice((0, 0, slot_ps // 3, rng.randint(0, 5 * slot_ps)))
    restart = rng.choice((0, slot_ps // 2, rng.randint(0, 4 * slot_ps)))
    params |= {
        "rate_bps": rate_bps,
        "slot_bytes": max(slot_bytes, shortest + down) if not paper else slot_bytes,
        "ring_slots": ring,
        "batch_slots": batch,
        "depth_slots": depth,
        "trim_down_bytes": down,
        "trim_up_bytes": quantum * rng.randint(1, 8),
        "prebuffer_frames": rng.choice((0, 1, 4, 64)),
        "budget_frames": max(4, 2 * batch) + rng.choice((0, 0, 3, 60)),
        "horizon_ns": rng.choice((0, 0, 2 * ring * slot_ps // 1000)),
        "tolerance_ns": rng.choice((0, 1, min(20, slot_ps // 1000))),
        "drift_ppb_max": rng.choice((1000, 20_000, 100_000, 200_000)),
        "wander_ppb_per_s_max": rng.choice((0, 1000, 100_000)),
        "seed": rng.randint(1, 10**6),
        "mode": PAPER if paper else PHASE_LOCKED,
        "clock_read": rng.choice((0, 0, COUNTER)),
        "trim": TRIM_RESERVED if reserved else TRIM_ANY,
        "dither": rng.randrange(2),
        "reserved_slots": reserved_slots,
        "prefetch_slots": prefetch,
        "index_modulus": rng.choice((0, 65536, ring, ring + 5, 2 * ring)),
        "index_lag_ps_min": rng.choice((0, lag // 2, lag)),
        "index_lag_ps_max": lag,
        "restart_ps_min": rng.choice((0, restart // 2, restart)),
        "restart_ps_max": restart,
        "read_ps": rng.choice((0, 1000, rng.randint(0, min(slot_ps, 2_000_000)))),
        "cpu_start_ns": rng.choice((0, 2**32 - 1000, 10**15)),
        "cpu_tick_ps": rng.choice((0, 0, TICK_PS)),
        "coherent": rng.randrange(2),
        "index_counts_done": rng.randrange(2),
        "persistent": rng.randrange(2),
        "spare": rng.randrange(2),
        "quantum_bytes": quantum,
        "start_time_ns": rng.choice((0, 10**18, rng.randint(0, 10**12))),
    }
    most = params["drift_ppb_max"]
    params["drift_ppb"] = rng.choice((0, most, -most, rng.randint(-most, most)))
    if params["spare"]:
        params["placeholder"] = rng.randrange(3)
        params["padding"] = rng.choice((DEFERRED, ON_DEMAND))
    return params, allowed


def random_case(rng: Random, library: Library) -> Case:
    """A valid case; the core's own validation is asked, at most fifty times."""
    refused = ""
    for _ in range(50):
        params, allowed = random_params(rng)
        case = make_case(params, allowed)
        try:
            core = Core(
                library, case.params, list(case.allowed), list(case.late), list(case.rounding)
            )
        except RefusedError as problem:
            refused = problem.problem
            continue
        core.close()
        return case
    raise AssertionError(f"fifty configurations were refused, the last because {refused}")


def random_submit(rng: Random, case: Case) -> Operation:
    """A frame, mostly one that could leave."""
    shape = case.shape()
    tc = rng.choice((BEST_EFFORT_LOW, FIRM, FIRM, SOFT, MOVABLE, FIRM_FLOOR, BEST_EFFORT_HIGH))
    frame_bytes = rng.choice((64, shape.real_bytes_max, rng.randint(18, shape.real_bytes_max)))
    if rng.random() < 0.03:
        frame_bytes = rng.choice((17, 4, shape.real_bytes_max + 1, 1522))
    if tc in (BEST_EFFORT_LOW, BEST_EFFORT_HIGH) and rng.random() < 0.9:
        return ("submit", tc, frame_bytes, None)
    ring = case.params["ring_slots"]
    slots = rng.choice(
        (rng.randint(-3, 6), rng.randint(0, ring), ring - 1, ring, rng.randint(-ring, 3 * ring))
    )
    slot_ns = case.slot_ps // 1000
    tolerance = case.params["tolerance_ns"]
    offset_ns = rng.choice(
        (0, 1, -1, tolerance, tolerance + 1, -tolerance, rng.randint(-slot_ns, slot_ns))
    )
    return ("submit", tc, frame_bytes, slots, offset_ns)


def random_span(rng: Random, case: Case) -> int:
    """Time between operations: within a slot, some slots, or to the last instant before the wire
    runs dry.
    """
    slot_ps = case.slot_ps
    return rng.choice(
        (1, rng.randint(0, slot_ps), rng.randint(0, slot_ps), rng.randint(0, 3 * slot_ps), slot_ps)
    )


def random_step_ns(rng: Random, case: Case) -> int:
    """Steps of every size, from a nanosecond to ten seconds."""
    slot_ns = case.slot_ps // 1000 + 1
    size = rng.choice(
        (
            1,
            rng.randint(0, slot_ns),
            rng.randint(0, slot_ns),
            20 * slot_ns,
            1000,
            10**6,
            10**9,
            10**10,
        )
    )
    return rng.choice((1, 1, -1)) * size


def random_rate(rng: Random, case: Case) -> int:
    """A rate in 2^-16 ppm that trims can follow, or one beyond the limit."""
    if rng.random() < 0.05:
        return rng.choice((-1, 1)) * (10000 * 65536 + 1)
    most_ppb = min(case.rate_ppb_max(), rng.choice((1, 100, 100_000, 10_000_000)))
    return rng.randint(-most_ppb, most_ppb) * 65536 // 1000


def random_operation(rng: Random, case: Case) -> Operation:
    """One operation."""
    kind = rng.randrange(100)
    if kind < 38:
        return random_submit(rng, case)
    if kind < 55:
        return ("advance", random_span(rng, case))
    if kind < 78:
        return ("run", rng.randint(1, 4))
    if kind < 82:
        return ("poll",)
    if kind < 85:
        return ("burst", rng.choice((BEST_EFFORT_LOW, BEST_EFFORT_HIGH)), 64, rng.randint(1, 12))
    if kind < 89:
        return ("adjfine", random_rate(rng, case))
    if kind < 92:
        return ("adjtime", random_step_ns(rng, case))
    if kind < 94:
        return ("settime", random_step_ns(rng, case), rng.choice((0, 1, 2**32 - 1)))
    if kind < 97:
        return ("stall", random_stall(rng, case))
    most = case.params["drift_ppb_max"]
    return ("drift", rng.choice((-most, most, 0, rng.randint(-most, most))))


def random_stall(rng: Random, case: Case) -> int:
    """No poll for about as long as posted slots last, seldom for much longer."""
    depth_ps = case.params["depth_slots"] * case.slot_ps
    near = rng.randint(max(0, depth_ps - 3 * case.slot_ps), depth_ps + 6 * case.slot_ps)
    return rng.choice(
        (near, near, near, depth_ps // 2, 3 * depth_ps, min(SECOND_PS, 1000 * depth_ps))
    )


def random_restart(rng: Random, case: Case) -> list[Operation]:
    """The device down and up again: while the NIC sends what was posted, in the middle of it, or
    after its end.
    """
    operations: list[Operation] = [("stop",)]
    for _ in range(rng.choice((0, 1, 3, 6))):
        kind = rng.randrange(12)
        if kind < 3:
            operations.append(random_submit(rng, case))
        elif kind < 5:
            operations.append(("poll",))
        elif kind == 5:
            operations.append(("adjfine", random_rate(rng, case)))
        elif kind == 6:
            operations.append(("adjtime", random_step_ns(rng, case)))
        elif kind == 7:
            operations.append(("settime", random_step_ns(rng, case), rng.choice((0, 1, 2**32 - 1))))
        elif kind < 10:
            operations.append(("advance", random_span(rng, case)))
        else:
            operations.append(
                rng.choice((("stall", random_stall(rng, case)), ("run", 2), ("stop",)))
            )
    return [*operations, ("start",)]


def random_slope(rng: Random, case: Case) -> Operation:
    """Credit for a class, or an end of it: hiCredit for nothing, a slot, some slots."""
    wire_bytes = case.params["slot_bytes"] + OVERHEAD_BYTES
    return (
        "slope",
        rng.choice((BEST_EFFORT_LOW, BEST_EFFORT_HIGH)),
        rng.choice((0, 1, 20, 142, 500, 1000)),
        rng.choice((0, wire_bytes, 5 * wire_bytes)),
    )


def random_operations(
    rng: Random, case: Case, count: int, restart_every: int = RESTART_EVERY
) -> list[Operation]:
    """A stream of operations, a restart in the place of one in `restart_every` (0: none), now and
    then an idle slope. A NIC whose wander is stated as zero keeps its first drift."""
    operations = [random_operation(rng, case) for _ in range(count)]
    if restart_every:
        # drawn afterwards: with and without restarts, the other operations are the same
        for at in [at for at in range(count) if rng.randrange(restart_every) == 0][::-1]:
            operations[at : at + 1] = random_restart(rng, case)
    for at in [at for at in range(len(operations)) if rng.randrange(SLOPE_EVERY) == 0][::-1]:
        operations.insert(at, random_slope(rng, case))
    if case.params["wander_ppb_per_s_max"] == 0:
        return [operation for operation in operations if operation[0] != "drift"]
    return operations
