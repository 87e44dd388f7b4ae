# SPDX-License-Identifier: BSD-3-Clause
"""The planner of networks against brute force: claims on a wire, plans, first fit beside CP-SAT."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from keepon.model.scenario import Scenario
from keepon.planner.network import exact, search
from keepon.planner.network.ground import Ground
from keepon.planner.network.occupancy import NEVER, Claim, Occupancy
from keepon.planner.network.solve import Outcome, as_document
from keepon.planner.partition.limits import Limits
from keepon.planner.verify import problems
from network_cases import closes, decided, ground_of, some_releases_hold, star

# -- claims against brute force
# ----------------------------------------------------------------------------------------


def _claims(draw: st.DrawFn) -> Claim:
    start, arrival = draw(st.integers(0, 40)), draw(st.integers(0, 6))
    length = draw(st.integers(1, 8))
    early = start - arrival
    end_early = draw(st.sampled_from([early + draw(st.integers(0, arrival)), start + length]))
    begin = early if end_early == start + length else start
    return Claim(
        ("wire", "a", "b"),
        early,
        end_early,
        begin,
        start + length,
        draw(st.sampled_from([12, 16, 20, 24, 30])),
    )


claims = st.composite(_claims)()


def _fit(one: Claim, other: Claim) -> bool:
    """One before the other in both spans, for every pair of turns, over all time that matters
    (starts are below 60).
    """
    span = math.lcm(one.period_ps, other.period_ps)
    around = 8 * other.period_ps
    for k, m in itertools.product(
        range(0, span, one.period_ps), range(-around, span + around, other.period_ps)
    ):
        before = one.end_ps + k <= other.start_ps + m and one.end_2_ps + k <= other.start_2_ps + m
        after = other.end_ps + m <= one.start_ps + k and other.end_2_ps + m <= one.start_2_ps + k
        if not before and not after:
            return False
    return True


def _fits_its_turns(claim: Claim) -> bool:
    """Every turn before the next, as held against an order or in one span."""
    turn = claim.moved(claim.period_ps)
    if claim.start_ps != claim.start_2_ps:
        return True  # frames of one flow keep their order
    return claim.end_2_ps <= turn.start_ps


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(claims, claims)
@example(  # the first is longer than its period
    Claim(("wire", "a", "b"), -5, 8, -5, 8, 12), Claim(("wire", "a", "b"), 0, 0, 0, 1, 12)
)
def test_a_claim_moves_by_exactly_what_it_must(first: Claim, second: Claim) -> None:
    occupancy = Occupancy()
    occupancy.add(0, [second])
    shift = occupancy.shift_ps(first)
    assert (first.over_ps == 0) == _fits_its_turns(first)
    if first.over_ps:  # wherever it is
        assert shift == first.over_ps
        return
    expected = next(
        (
            by
            for by in range(math.gcd(first.period_ps, second.period_ps))
            if _fit(first.moved(by), second)
        ),
        NEVER,
    )
    assert shift == expected
    assert occupancy.met_by(first) == ([0] if shift else [])
    occupancy.remove(0)
    assert occupancy.shift_ps(first) == 0


# -- plans against brute force
# -----------------------------------------------------------------------------------------


@st.composite
def crowded(draw: st.DrawFn) -> Scenario:
    """Two or three talkers whose frames meet at one bridge, with deadlines that leave no time to
    wait there.
    """
    streams = [
        {
            "talker": draw(st.sampled_from(["a", "b", "c"])),
            "period_ns": draw(st.sampled_from([4_000, 6_000, 8_000, 12_000])),
            "priority": draw(st.sampled_from([5, 6])),
            "deadline_ns": 4_100,
        }
        for _ in range(draw(st.integers(2, 3)))
    ]
    return star(
        streams, f'planner = {{ isolation = "{draw(st.sampled_from(["frame", "order"]))}" }}'
    )


_SEEN: list[str] = []


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(crowded())
def test_no_answer_disagrees_with_brute_force(scenario: Scenario) -> None:
    status, plan = decided(scenario)
    assume(status != "refused")
    _SEEN.append(status)
    ground = ground_of(scenario)
    answer = None if ground is None else exact.solve(ground, ground.flows, {}, Limits())
    if ground is not None and answer is not None and answer.placed is not None:
        assert status == "feasible" or not closes(ground, answer.placed)
    if answer is not None and answer.impossible:
        assert status == "infeasible"
    if plan is not None:
        assert problems(scenario, plan) == []
    else:
        assert status == "infeasible"
        assert not some_releases_hold(scenario)


@pytest.mark.slow
def test_both_answers_occurred_often() -> None:
    assert _SEEN.count("feasible") >= 3
    assert _SEEN.count("infeasible") >= 3


@pytest.mark.slow
def test_cp_sat_and_first_fit_never_contradict_each_other() -> None:
    decided = {"feasible": 0, "infeasible": 0}
    for periods in itertools.product((8_000, 12_000), (12_000, 24_000, 30_000), (24_000, 60_000)):
        streams = [
            {"talker": "abc"[n], "period_ns": period_ns, "priority": 4 + n}
            for n, period_ns in enumerate(periods)
        ]
        scenario = star(streams)
        ground = Ground(scenario)
        placed = search.Search(ground, Limits())
        answer = exact.solve(ground, ground.flows, {}, Limits())
        assert answer is not None
        if answer.placed is not None:
            assert (
                problems(
                    scenario, as_document(Outcome(ground, "feasible", "cp-sat", answer.placed))
                )
                == []
            )
        assert answer.impossible != (answer.placed is not None)
        if placed.run():
            assert not answer.impossible
        decided["infeasible" if answer.impossible else "feasible"] += 1
    assert min(decided.values()) > 0
