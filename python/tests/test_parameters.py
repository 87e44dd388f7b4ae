# SPDX-License-Identifier: BSD-3-Clause
"""The rules behind a station's parameters: slots, partition periods, isolation, polls, and what
Tables 3 and 6 say.
"""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from time import sleep
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keepon import _sim
from keepon.model import published
from keepon.model.scenario import KeeponOptions, Station, Stream, TrafficClass
from keepon.planner.parameters import (
    hardware,
    isolation,
    polls,
    slots,
    synchronisation,
    trims,
)
from keepon.planner.parameters.isolation import Question
from keepon.planner.parameters.slots import PARTITION_SLOTS_MAX
from keepon.planner.partition import pairwise
from keepon.planner.partition.limits import LOOK_S
from station_cases import GIGABIT, posting

RATES = st.sampled_from([10_000_000, 100_000_000, GIGABIT, 2_500_000_000, 10_000_000_000])
TABLES = published.load()


# -- slots and partition periods
# --------------------------------------------------------------------------------------


@given(st.integers(1, 50), st.integers(64, 1522), RATES)
def test_slot_sizes_are_all_that_hold_the_frame_and_divide_the_periods(
    tens: int, least: int, rate_bps: int
) -> None:
    common_ps = tens * 10_000_000
    wanted = [
        size
        for size in range(least, 1523)
        if common_ps * rate_bps % ((size + 20) * 8 * 10**12) == 0
    ]
    assert slots.candidates(common_ps, least, rate_bps) == wanted


@given(st.lists(st.integers(1, 60), min_size=1, max_size=4), st.integers(1, 200))
def test_no_partition_period_wastes_less_than_the_first(periods: list[int], most: int) -> None:
    best = slots.partition_periods(periods, most)[0]
    assert best <= most

    def waste(partition_slots: int) -> Fraction:
        return sum(
            (Fraction(1, math.gcd(period, partition_slots)) for period in periods), Fraction(0)
        )

    wanted = min(range(1, most + 1), key=lambda count: (waste(count), count))
    assert (waste(best), best) == (waste(wanted), wanted)


# -- isolation
# --------------------------------------------------------------------------------------------------

CLASSES = [
    TrafficClass(tc=0, slots="auto"),
    TrafficClass(tc=1, slots="auto"),
    TrafficClass(tc=6, slots="rest"),
    TrafficClass(tc=7, slots="rest"),
]


def stream(number: int, period_slots: int, tc: int, **more: Any) -> Stream:
    """A stream in slots of 1 us."""
    return Stream(
        id=f"S{number}",
        talker="a",
        listeners=["b"],
        period_ns=1000 * period_slots,
        frame_bytes=64,
        tc=tc,
        **more,
    )


def question(
    rows: list[tuple[int, int]], partition_slots: int, reserve: int = 0, listed: Any = "auto"
) -> Question:
    classes = [
        entry.model_copy(update={"slots": listed}) if entry.tc == 1 else entry for entry in CLASSES
    ]
    streams = tuple(stream(number, period, tc) for number, (period, tc) in enumerate(rows))
    return Question(
        streams, KeeponOptions(classes=classes), 1_000_000, 64_000, partition_slots, reserve
    )


def exists(asked: Question) -> bool:
    """By trying all phases: distinct slots in time, and in the partition but for the same class or
    both "rest".
    """
    periods = [entry.period_ns * 1000 // asked.slot_ps for entry in asked.streams]
    classes = [entry.tc for entry in asked.streams]
    rest = {entry.tc for entry in asked.options.classes if entry.slots == "rest"}
    by_hand = {
        entry.tc: set(entry.slots)
        for entry in asked.options.classes
        if isinstance(entry.slots, list)
    }
    cycle = math.lcm(*periods, asked.partition_slots)
    for phases in itertools.product(*(range(period) for period in periods)):
        at: dict[int, int] = {}
        owner: dict[int, int] = {}
        good = True
        for phase, period, tc in zip(phases, periods, classes, strict=True):
            group = -1 if tc in rest else tc
            for time in range(phase, cycle, period):
                slot = time % asked.partition_slots
                free = (
                    slot in by_hand[tc]
                    if tc in by_hand
                    else not any(slot in theirs for theirs in by_hand.values())
                )
                good = good and free and time not in at and owner.setdefault(slot, group) == group
                at[time] = 1
        taken = sum(1 for slot in owner if slot not in set().union(*by_hand.values()))
        spare = asked.partition_slots - taken - len(set().union(*by_hand.values()))
        if good and spare >= asked.reserve_slots:
            return True
    return False


ROWS = st.lists(
    st.tuples(st.sampled_from([2, 3, 4, 6]), st.sampled_from([0, 1, 6, 7])), min_size=1, max_size=4
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    ROWS,
    st.integers(1, 12),
    st.integers(0, 3),
    st.sampled_from(["auto", "auto", [0], [0, 2], [1, 3, 5]]),
)
def test_isolation_is_decided_as_by_trying_everything(
    rows: list[tuple[int, int]], partition_slots: int, reserve: int, listed: Any
) -> None:
    if isinstance(listed, list):
        listed = [slot for slot in listed if slot < partition_slots] or [0]
    asked = question(rows, partition_slots, reserve, listed)
    verdict = isolation.decide(asked, 5.0)
    assert verdict.answer == (isolation.FEASIBLE if exists(asked) else isolation.INFEASIBLE)


def test_isolation_gives_both_answers_and_names_the_bound() -> None:
    fits = question([(2, 0), (4, 1)], 4)
    assert isolation.decide(fits).answer == isolation.FEASIBLE
    full = question([(2, 0), (4, 1), (4, 6)], 4, reserve=1)
    verdict = isolation.decide(full)
    assert verdict.answer == isolation.INFEASIBLE
    assert verdict.proof["needed_slots"] == 4
    assert isolation.shares_of_proof(verdict.proof).startswith(
        "its classes need at least 4 slots of the partition"
    )


def test_a_search_for_isolation_ends_at_the_same_place_on_a_loaded_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search is limited by its work: one whose first step takes longer than SEARCH_S finds what
    the others find.
    """
    asked = question([(8, 7), (8, 6), (6, 6), (6, 1)], 12)
    quick = isolation.decide(asked)
    first_fit = pairwise.first_fit

    def held_up(*given: Any) -> Any:
        sleep(2 * isolation.SEARCH_S)
        return first_fit(*given)

    monkeypatch.setattr(pairwise, "first_fit", held_up)
    slow = isolation.decide(asked)
    assert slow == quick
    assert quick.answer != isolation.UNDECIDED
    assert quick.method not in ("bound", "construction")
    assert isolation.decide(asked, LOOK_S).answer == isolation.UNDECIDED


def test_classes_with_rest_share_their_slots() -> None:
    assert isolation.decide(question([(2, 0), (4, 6), (4, 7)], 2), 5.0).answer == isolation.FEASIBLE
    assert (
        isolation.decide(question([(2, 0), (4, 6), (4, 1)], 2), 5.0).answer == isolation.INFEASIBLE
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from([2, 3]))
def test_a_shorter_slot_that_divides_the_periods_is_never_worse(
    rows: list[tuple[int, int]], factor: int
) -> None:
    """Why the shortest slot is tried first: with the partition as long as all periods together."""
    coarse = question(rows, math.lcm(*(period for period, _ in rows)))
    fine = question([(period * factor, tc) for period, tc in rows], factor * coarse.partition_slots)
    if isolation.decide(coarse, 5.0).answer == isolation.FEASIBLE:
        assert isolation.decide(fine, 5.0).answer == isolation.FEASIBLE


def test_streams_of_a_conflict_are_those_that_the_proof_needs() -> None:
    asked = question([(4, 0), (2, 0), (2, 1), (4, 6)], 4)
    verdict = isolation.decide(asked)
    names = isolation.conflicting(asked, verdict)
    assert verdict.answer == isolation.INFEASIBLE
    for left_out in names:
        fewer = Question(
            tuple(entry for entry in asked.streams if entry.id in set(names) - {left_out}),
            asked.options, asked.slot_ps, asked.phase_ps, asked.partition_slots,
        )  # fmt: skip
        assert isolation.decide(fewer, 0).answer != isolation.INFEASIBLE


def test_an_offset_by_hand_and_allowed_jitter_are_taken_as_they_are() -> None:
    two = question([(4, 0), (4, 1)], 4)
    fixed = tuple(entry.model_copy(update={"offset_ns": 2064}) for entry in two.streams)
    same = Question(fixed, two.options, two.slot_ps, two.phase_ps, two.partition_slots)
    assert isolation.decide(same).answer == isolation.INFEASIBLE
    crossing = question([(3, 0), (4, 1)], 12)
    assert isolation.decide(crossing).answer == isolation.INFEASIBLE
    loose = tuple(entry.model_copy(update={"jitter_ns": 2000}) for entry in crossing.streams)
    able = Question(
        loose, crossing.options, crossing.slot_ps, crossing.phase_ps, crossing.partition_slots
    )
    assert isolation.decide(able, 5.0).answer == isolation.FEASIBLE


def test_best_effort_and_ptp_keep_their_share() -> None:
    share = isolation.best_effort_share([(100_000_000, 1250, 1), (100_000_000, 625, 1)], 10_000_000)
    assert share == Fraction(1, 10) + Fraction(1, 5)
    assert isolation.reserve_slots(share, False, 100) == 30
    assert isolation.reserve_slots(Fraction(0), True, 100) == 1
    assert isolation.reserve_slots(Fraction(7), True, 100) == 99


def test_a_share_of_the_cpu_is_work_by_work_and_sleep() -> None:
    assert polls.cpu_share(7_500, 2_500) == 0.25
    host = hardware.Host({}, 2_500, "test")
    asked = posting(1230, 8, 200)
    # 80 us less half a slot of dither.
    assert polls.expected_cpu_share(asked, host) == 2_500 / 77_500


# -- clock and trims
# --------------------------------------------------------------------------------------------------


def test_granularity_follows_the_batch_only_where_the_clock_is_a_counter() -> None:
    few, many = posting(1230, 1, 200), posting(1230, 64, 200)
    assert synchronisation.granularity_ns("counter", many) == 64 * synchronisation.granularity_ns(
        "counter", few
    )
    assert synchronisation.granularity_ns("interpolated", many) == synchronisation.granularity_ns(
        "interpolated", few
    )
    assert (
        synchronisation.granularity_ns("interpolated", posting(1230, 8, 8, locked=False)) == 80_000
    )


@pytest.mark.parametrize(("slot_bytes", "batch"), [(230, 64), (1230, 1), (1230, 64)])
def test_a_settled_reading_leaves_open_what_is_stated(slot_bytes: int, batch: int) -> None:
    """The one number here that is measured: a tenth of a slot and a read, after a second."""
    simulation = _sim.Simulation(3)
    keepon = {"slot_bytes": slot_bytes, "batch_slots": batch, "ring_slots": 512, "depth_slots": 400}
    spec = {
        "driver": "keepon",
        "keepon": keepon,
        "probe": {"head_interval_ns": 1_000_000},
        "nic_ppm": 50.0,
    }
    node, other = simulation.add_station("a", spec), simulation.add_station("b", {})
    simulation.add_link(node, other, GIGABIT, 50)
    simulation.run(2_000_000_000)
    widths_ps = simulation.head_check(node)["widths_ps"][1000:]
    stated_ns = synchronisation.granularity_ns("interpolated", posting(slot_bytes, batch, 400))
    assert len(widths_ps) > 500
    assert widths_ps.max() <= 1000 * stated_ns


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.sampled_from([16, 40, 200, 1500]))
def test_slots_kept_for_trims_are_free_and_near_enough(free: list[bool], slot_bytes: int) -> None:
    options = KeeponOptions(trim="reserved", trim_down_bytes=1, trim_up_bytes=1)
    station = Station(name="a", keepon=options)
    apart = trims.gap_slots(options, slot_bytes)
    longest = max(
        (
            len(list(run))
            for used, run in itertools.groupby(free + free, lambda slot: not slot)
            if used
        ),
        default=0,
    )
    if longest >= min(apart, len(free)):
        with pytest.raises(Exception, match="must belong to no class"):
            trims.reserved_slots(station, free, slot_bytes, 1_000_000, ["S1"])
        return
    kept = sorted(trims.reserved_slots(station, free, slot_bytes, 1_000_000, ["S1"]))
    assert kept and all(free[slot] for slot in kept)
    gaps = [later - earlier for earlier, later in itertools.pairwise([*kept, kept[0] + len(free)])]
    assert max(gaps) <= max(apart, 1)
    assert len(kept) == _fewest(free, max(apart, 1))


def _fewest(free: list[bool], apart: int) -> int:
    """Of all ways round the table."""
    period, best = len(free), len(free) + 1
    for first in (slot for slot, is_free in enumerate(free) if is_free):
        counts = {first: 1}
        for slot in range(first + 1, first + period):
            nearer = [counts[at] for at in range(slot - apart, slot) if at in counts]
            if nearer and free[slot % period]:
                counts[slot] = 1 + min(nearer)
        last = [count for slot, count in counts.items() if slot + apart >= first + period]
        best = min([best, *last])
    return best


def test_slots_for_trims_of_the_longest_partition_are_found_by_few_steps() -> None:
    """Once 64 x 1000 x 130000 of them, a quarter of an hour."""
    options = KeeponOptions(trim="reserved")
    station = Station(name="a", keepon=options)
    free = [slot % 11 > 0 for slot in range(PARTITION_SLOTS_MAX)]
    calls = 0

    def count(_frame: object, _event: str, _arg: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        kept = trims.reserved_slots(station, free, 605, 500_000, ["S1"])
    finally:
        sys.setprofile(None)
    assert len(kept) >= PARTITION_SLOTS_MAX // trims.gap_slots(options, 605)
    assert calls < 20 * PARTITION_SLOTS_MAX
