# SPDX-License-Identifier: BSD-3-Clause
"""The partition planner decides like brute force, each solver is sound by itself, and each is
reached.
"""

from __future__ import annotations

import math
import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from keepon.planner.partition import bounds, closed, exact, greedy, pairwise
from keepon.planner.partition.check import PASSED, REJECTED, UNCHECKABLE, check
from keepon.planner.partition.exact import Full
from keepon.planner.partition.files import answered
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import (
    FEASIBLE,
    INFEASIBLE,
    UNKNOWN,
    Outcome,
    Problem,
    Stream,
    Witness,
    parse,
)
from keepon.planner.partition.solve import decide
from keepon_papers.partitions.generate import Parameters, generate
from partition_cases import Instance, brute_force, extended_instances, instance, plain_instances

SEARCH = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
RINGS = [(32, 8), (64, 16), (48, 12), (250, 10)]


def problem_of(case: Instance) -> Problem:
    return parse(case, "test", 0)


def holds(case: Instance, witness: Witness) -> bool:
    """Does the independent checker accept the witness?"""
    return (
        answered(case, problem_of(case), Outcome(FEASIBLE, "test", witness=witness))["answer"]
        == FEASIBLE
    )


def needed_by(problem: Problem) -> list[bounds.SlotBound]:
    return [bounds.slots_needed(problem, owner) for owner in range(problem.owner_count)]


@pytest.mark.slow
@SEARCH
@given(plain_instances())
def test_decides_the_published_problem_like_brute_force(case: Instance) -> None:
    outcome = decide(problem_of(case), Limits())
    event(outcome.answer)
    assert (outcome.answer == FEASIBLE) == brute_force(case)
    assert outcome.answer in (FEASIBLE, INFEASIBLE)
    assert check(answered(case, problem_of(case), outcome)).state != REJECTED


@pytest.mark.slow
@SEARCH
@given(extended_instances())
def test_decides_the_extended_problem_like_brute_force(case: Instance) -> None:
    outcome = decide(problem_of(case), Limits())
    event(outcome.answer)
    assert (outcome.answer == FEASIBLE) == brute_force(case)
    assert outcome.answer in (FEASIBLE, INFEASIBLE)
    assert check(answered(case, problem_of(case), outcome)).state != REJECTED


@pytest.mark.slow
def test_both_answers_are_frequent_in_those_instances() -> None:
    counts: Counter[tuple[str, bool]] = Counter()

    @settings(
        max_examples=100,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(
        st.booleans().flatmap(
            lambda plain: st.tuples(
                st.just(plain), plain_instances() if plain else extended_instances()
            )
        )
    )
    def count(drawn: tuple[bool, Instance]) -> None:
        counts[decide(problem_of(drawn[1]), Limits()).answer, drawn[0]] += 1

    count()
    for plain in (True, False):
        total = counts[FEASIBLE, plain] + counts[INFEASIBLE, plain]
        assert counts[UNKNOWN, plain] == 0
        assert min(counts[FEASIBLE, plain], counts[INFEASIBLE, plain]) > total / 8, counts


@pytest.mark.slow
@SEARCH
@given(extended_instances())
def test_every_solver_is_sound_by_itself(case: Instance) -> None:
    problem = problem_of(case)
    exists = brute_force(case)
    found = [
        pairwise.first_fit(problem, 4, Limits()),
        greedy.Greedy(problem, 1).solve(8, lambda: False),
        closed.construct(problem),
    ]
    for witness in found:
        assert witness is None or (exists and holds(case, witness))
    proof = bounds.disproof(problem)
    assert proof is None or not exists
    if proof is not None:
        assert (
            check(answered(case, problem, Outcome(INFEASIBLE, "bound", proof=proof))).state
            == PASSED
        )


@pytest.mark.slow
@SEARCH
@given(st.one_of(plain_instances(), extended_instances()))
def test_the_whole_model_is_exact_with_and_without_bound_rows(case: Instance) -> None:
    problem = problem_of(case)
    exists = brute_force(case)

    def agrees(full: Full) -> bool:
        return full.impossible is not exists and (full.witness is None) is not exists

    assert agrees(without := exact.solve_full(problem, None, Limits())), "without rows"
    assert agrees(exact.solve_full(problem, needed_by(problem), Limits())), "with rows"
    assert without.witness is None or holds(case, without.witness)
    proof, sharpened = exact.minima_proof(problem, Limits())
    assert proof is None or not exists
    if exists:
        # A lower bound above what a schedule uses would be wrong.
        assert sum(bound.slots for bound in sharpened) <= problem.ownable_slots


@pytest.mark.slow
@SEARCH
@given(plain_instances(jitter_max=0))
def test_without_jitter_pairs_are_exact_and_so_is_the_closed_form_on_chains(case: Instance) -> None:
    problem = problem_of(case)
    exists = brute_force(case)
    full = pairwise.solve_phases(problem, [b.slots for b in needed_by(problem)], Limits())
    assert (full.witness is not None) is exists
    assert full.impossible is not exists
    assert full.witness is None or holds(case, full.witness)
    if closed.is_exact(problem):
        event("chain")
        assert (
            bounds.disproof(problem) is None and closed.construct(problem) is not None
        ) is exists


@pytest.mark.parametrize("kind", [True, False])
def test_no_schedule_uses_fewer_slots_than_the_bounds_claim(kind: bool) -> None:
    drawn = Parameters(
        levels_percent=(20, 45, 70),
        per_level=12,
        harmonic=kind,
        classes_max=4,
        flow_counts=(4, 8, 12),
    )
    reasons = Counter()
    compared = 0
    for case in generate(drawn, 17)["instances"]:
        for flow in case["flows"]:
            flow["jitter_us"] *= case["flows"].index(flow) % 3 / 2
        problem = problem_of(case)
        needed = needed_by(problem)
        reasons.update(f"{bound.because}{'+' if bound.saturating else ''}" for bound in needed)
        witness = greedy.Greedy(problem, 1).solve(3, lambda: False)
        if witness is None:
            continue
        compared += 1
        for owner, bound in enumerate(needed):
            assert witness.owners.count(owner) >= bound.slots, bound
    assert compared >= 20
    assert all(reasons[because] for because in ("load", "reach", "density", "beside", "reach+")), (
        reasons
    )


def test_each_solver_keeps_the_reserve() -> None:
    case = instance([(0, 2, 0), (1, 2, 0)], 4)
    for reserve, fits in ((0, True), (1, False)):
        problem = problem_of(case | {"reserve_slots": reserve})
        assert (greedy.Greedy(problem, 1).solve(4, lambda: False) is not None) is fits
        assert (pairwise.first_fit(problem, 4, Limits()) is not None) is fits
        assert (closed.construct(problem) is not None) is fits
        assert exact.solve_full(problem, None, Limits()).impossible is not fits
        assert pairwise.solve_phases(problem, [0, 0], Limits()).impossible is not fits


def test_a_start_serves_one_frame_even_where_windows_touch() -> None:
    # Jitter of a whole period: slot 6 lies in the window of the third frame and of the fourth.
    enough = problem_of(instance([(0, 2, 2)], 8, unowned_slots=[1, 2, 4, 5]))
    scarce = problem_of(instance([(0, 2, 2)], 8, unowned_slots=[1, 2, 4, 5, 7]))
    full = exact.solve_full(enough, None, Limits())
    assert full.witness is not None
    assert len(set(full.witness.starts[0] if full.witness.starts else ())) == 4
    assert exact.solve_full(scarce, None, Limits()).impossible


def test_class_minima_are_the_least_numbers_that_work() -> None:
    # The bound is 4; brute force finds a schedule with `least` owned slots and none with one fewer.
    for flows, least in (
        ([(0, 4, 0), (0, 6, 0)], 6),
        ([(0, 4, 0), (0, 6, 1)], 6),
        ([(0, 4, 1), (0, 6, 2)], 4),
    ):
        case = instance(flows, 8)
        found = exact.class_minimum(problem_of(case), 0, 1, Limits())
        assert found == exact.Minimum(least, True)
        assert brute_force(case | {"reserve_slots": 8 - least})
        assert not brute_force(case | {"reserve_slots": 9 - least})


def test_streams_beside_a_full_one_need_slots_beyond_it() -> None:
    # The first takes one slot of each pair in every pass; the second visits all four places and
    # reaches no two.
    beside = [(0, 8, 1), (0, 40, 4)]
    bound = bounds.slots_needed(problem_of(instance(beside, 32)), 0)
    assert (bound.slots, bound.because) == (8, "beside")
    full = exact.solve_full(problem_of(instance(beside, 32, reserve_slots=24)), None, Limits())
    assert full.witness is not None
    assert decide(problem_of(instance(beside, 32, reserve_slots=25)), Limits()).answer == INFEASIBLE


@pytest.mark.parametrize("kind", [True, False])
def test_generated_instances_have_checked_answers(kind: bool) -> None:
    drawn = Parameters(
        levels_percent=(10, 50, 90), per_level=6, harmonic=kind, flow_counts=(4, 8, 12)
    )
    answers: Counter[str] = Counter()
    for case in generate(drawn, 5)["instances"]:
        outcome = decide(problem_of(case), Limits(time.monotonic() + 60))
        verdict = check(answered(case, problem_of(case), outcome))
        # What rests on a search cannot be checked here; brute force does that on small instances,
        # above.
        searched = outcome.answer == INFEASIBLE and verdict.state == UNCHECKABLE
        assert verdict.state == PASSED or searched or outcome.answer == UNKNOWN, (
            case["id"],
            verdict,
        )
        answers[outcome.answer] += verdict.state == PASSED
    assert answers[FEASIBLE] >= 10
    assert answers[INFEASIBLE] >= 1


@pytest.mark.parametrize(
    ("ring", "period", "classes", "fits"), [(8, 6, 3, 2), (32, 40, 9, 8), (32, 20, 5, 4)]
)
def test_streams_that_share_slots_have_a_schedule_where_a_partition_has_none(
    ring: int, period: int, classes: int, fits: int
) -> None:
    """E24: streams of one period fit one behind the other, but each visits every gcd(period,
    ring)-th slot of a ring.

    A class needs these slots for itself, so only so many classes fit, however little they send.
    """
    assert fits == math.gcd(ring, period) < classes <= period
    together = instance([(0, period, 0)] * classes, ring)
    apart = instance([(owner, period, 0) for owner in range(classes)], ring)
    assert decide(problem_of(together), Limits()).answer == FEASIBLE
    outcome = decide(problem_of(apart), Limits())
    assert outcome.answer == INFEASIBLE
    assert check(answered(apart, problem_of(apart), outcome)).state == PASSED
    fewer = instance([(owner, period, 0) for owner in range(fits)], ring)
    assert decide(problem_of(fewer), Limits()).answer == FEASIBLE
    if ring == 8:
        assert [brute_force(case) for case in (together, apart, fewer)] == [True, False, True]


@pytest.mark.parametrize(("ring", "classes"), RINGS)
def test_a_full_ring_is_used_to_the_last_slot(ring: int, classes: int) -> None:
    # One stream each that visits every step-th ring slot: together they take all of them.
    case = instance([(c, classes, 0) for c in range(classes)], ring)
    outcome = decide(problem_of(case), Limits())
    assert outcome.answer == FEASIBLE
    assert outcome.witness is not None
    assert -1 not in outcome.witness.owners
    assert holds(case, outcome.witness)
    case["reserve_slots"] = 1
    assert decide(problem_of(case), Limits()).answer == INFEASIBLE


def test_ownership_must_hold_over_the_cycle_not_over_the_hyperperiod() -> None:
    # P = 3 on a ring of 8 visits every slot: over one hyperperiod of 3 slots it would seem to need
    # one.
    case = instance([(0, 3, 0), (1, 8, 0)], 8)
    outcome = decide(problem_of(case), Limits())
    assert outcome.answer == INFEASIBLE
    assert not brute_force(case)
    assert outcome.proof is not None
    assert decide(problem_of(instance([(0, 3, 2), (1, 8, 0)], 8)), Limits()).answer == FEASIBLE


def test_non_harmonic_periods_are_decided_without_the_cycle() -> None:
    periods = [625 * p for p in (7, 11, 13, 17, 19, 23, 29, 31)]
    case = instance([(k % 4, period, 0) for k, period in enumerate(periods)], 500)
    problem = problem_of(case)
    assert problem.cycle_slots > 10**9
    outcome = decide(problem, Limits())
    assert outcome.answer == FEASIBLE
    row = answered(case, problem, outcome)
    assert "phase_slot_by_flow" in row["witness"]
    assert check(row).state == PASSED


def test_private_slots_carry_jittered_streams_of_coprime_periods() -> None:
    case = instance([(0, 101, 20), (1, 103, 20), (2, 107, 20), (2, 109, 20), (3, 113, 40)], 64)
    problem = problem_of(case)
    assert problem.cycle_slots > 10**9
    row = answered(case, problem, decide(problem, Limits()))
    assert row["answer"] == FEASIBLE
    assert row["witness"]["private_ring_slots_by_flow"][0]
    # No two of them fit without jitter: their phases meet sooner or later, whatever they are.
    still = instance([(0, 101, 0), (1, 103, 0)], 64)
    assert decide(problem_of(still), Limits()).answer == INFEASIBLE


def test_witnesses_of_private_slots_agree_with_every_single_start() -> None:
    case = instance([(0, 5, 3), (1, 7, 3)], 8)
    problem = problem_of(case)
    witness = pairwise.first_fit(problem, 1, Limits())
    assert witness is not None
    assert witness.private is not None
    row = answered(case, problem, Outcome(FEASIBLE, "listed", witness=witness))
    assert check(row).state == PASSED
    for flow, starts in zip(case["flows"], row["witness"]["tx_slot_by_flow"], strict=True):
        assert len(starts) == problem.cycle_slots * 10 // flow["period_us"]
    phases = {
        "cycle_slots": problem.cycle_slots,
        "owner_class_by_ring_slot": row["witness"]["owner_class_by_ring_slot"],
        "phase_slot_by_flow": list(witness.phase_slots),
        "private_ring_slots_by_flow": [list(slots or ()) for slots in witness.private],
    }
    assert check({**row, "witness": phases}).state == PASSED


def test_one_seed_one_answer() -> None:
    cases = generate(Parameters(levels_percent=(60, 80), per_level=5, harmonic=False), 3)[
        "instances"
    ]

    def documents() -> list[Instance]:
        rows = [
            answered(case, problem_of(case), decide(problem_of(case), Limits(seed=7)))
            for case in cases[:4]
        ]
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]

    assert documents() == documents()


def test_limits_give_unknown_and_the_best_so_far() -> None:
    # No bound excludes it, only a search does: without time nothing may be claimed.
    case = instance([(0, 4, 0), (0, 6, 0), (0, 6, 1), (0, 6, 0), (0, 6, 0)], 8)
    problem = problem_of(case)
    assert bounds.disproof(problem) is None
    outcome = decide(problem, Limits(deadline_s=time.monotonic()))
    assert outcome.answer == UNKNOWN
    assert outcome.best["slots_needed_at_least"] >= sum(b.slots for b in needed_by(problem))
    assert outcome.best["streams_placed"] < len(problem.streams)
    assert decide(problem, Limits()).answer == INFEASIBLE
    assert not brute_force(case)


def test_the_generator_draws_what_table_5_says() -> None:
    document = generate(Parameters(per_level=4), 11)
    assert document == generate(Parameters(per_level=4), 11)
    assert document != generate(Parameters(per_level=4), 12)
    for case in document["instances"]:
        periods = [flow["period_us"] for flow in case["flows"]]
        assert case["ring_slots"] == 32
        assert case["slot_us"] == 10
        assert len(periods) in (2, 4, 8, 12, 16)
        assert all(period in range(80, 1601, 80) for period in periods)
        assert all(b % a == 0 for a, b in zip(sorted(periods), sorted(periods)[1:], strict=False))
        assert all(0.05 <= f["jitter_us"] / f["period_us"] <= 0.2 for f in case["flows"])
        assert {flow["class"] for flow in case["flows"]} == set(range(case["n_classes"]))
        frames_in_a_ring_cycle = sum(320 / period for period in periods)
        assert frames_in_a_ring_cycle / 32 == pytest.approx(
            case["util_level_percent"] / 100, rel=0.051
        )
        assert case["super_cycle_us"] == math.lcm(320, *periods)


def test_a_search_looks_at_its_clock_in_the_midst_of_a_long_table() -> None:
    """It did so stream by stream, and one took minutes: 65000 slots, of which frames take 13."""
    rows = tuple(Stream(number, 0, 7, 32_500 + 32_500 * number, 5, 13) for number in range(2))
    problem = Problem("long", 65_000, ((7,),), rows, 0, frozenset())
    looks = iter([False, False, True])
    started_s = time.process_time()
    assert greedy.Greedy(problem, 1).solve(1, lambda: next(looks)) is None
    assert time.process_time() - started_s < 2
