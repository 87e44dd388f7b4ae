# SPDX-License-Identifier: BSD-3-Clause
"""The independent checker of partition answers rejects every wrong answer and knows nothing of the
solvers.
"""

from __future__ import annotations

import ast
import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from keepon.planner.partition import check as module
from keepon.planner.partition.check import PASSED, REJECTED, UNCHECKABLE, check
from keepon.planner.partition.files import answered
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import parse
from keepon.planner.partition.solve import decide
from partition_cases import Instance, extended_instances, instance, plain_instances

FAST = settings(max_examples=60, deadline=None, derandomize=True)


def solved(case: Instance) -> Instance:
    problem = parse(case, "test", 0)
    return answered(case, problem, decide(problem, Limits()))


def reason(row: Instance) -> str:
    verdict = check(row)
    assert verdict.state == REJECTED, verdict
    return verdict.reason


@pytest.fixture
def good() -> Instance:
    """Two classes on a ring of 8; H = 12, so that the cycle of 24 is longer than the
    hyperperiod.
    """
    row = solved(instance([(0, 4, 1), (0, 12, 3), (1, 6, 2)], 8))
    assert row["answer"] == "feasible"
    assert check(row).state == PASSED
    return row


def test_imports_nothing_of_the_solvers() -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert not {name for name in names if name.startswith(("keepon", "ortools"))}


@pytest.mark.slow
@FAST
@given(st.one_of(plain_instances(), extended_instances()), st.data())
def test_a_start_moved_out_of_its_jitter_is_rejected(case: Instance, data: st.DataObject) -> None:
    row = solved(case)
    assume(row["answer"] == "feasible")
    cycle, starts = row["witness"]["cycle_slots"], row["witness"]["tx_slot_by_flow"]
    index = data.draw(st.integers(0, len(starts) - 1))
    period, jitter = (int(case["flows"][index][key]) // 10 for key in ("period_us", "jitter_us"))
    assume(len(starts[index]) > 1 and cycle > 3 * jitter + 2)
    offsets = [(start - k * period) % cycle for k, start in enumerate(starts[index])]
    # Around the circle, jitter + 1 slots after one of the others and farther than that before it.
    starts[index][0] = (offsets[1] + jitter + 1) % cycle
    assert check(row).state == REJECTED


@pytest.mark.slow
@FAST
@given(st.one_of(plain_instances(), extended_instances()), st.data())
def test_every_used_ring_slot_needs_its_owner(case: Instance, data: st.DataObject) -> None:
    row = solved(case)
    assume(row["answer"] == "feasible")
    witness = row["witness"]
    flow = data.draw(st.sampled_from(range(len(case["flows"]))))
    slot = data.draw(st.sampled_from(witness["tx_slot_by_flow"][flow])) % case["ring_slots"]
    shared = {tuple(group) for group in case.get("shared_classes", [])}
    mine = case["flows"][flow]["class"]
    wrong = [
        c
        for c in range(-1, case["n_classes"])
        if c != mine and not any({c, mine} <= set(g) for g in shared)
    ]
    witness["owner_class_by_ring_slot"][slot] = data.draw(st.sampled_from(wrong))
    assert check(row).state == REJECTED


@pytest.mark.slow
@FAST
@given(plain_instances(jitter_max=3), st.data())
def test_two_frames_in_one_slot_are_rejected(case: Instance, data: st.DataObject) -> None:
    row = solved(case)
    assume(row["answer"] == "feasible")
    starts = row["witness"]["tx_slot_by_flow"]
    pairs = [(a, b) for a in range(len(starts)) for b in range(len(starts)) if a != b]
    assume(pairs)
    a, b = data.draw(st.sampled_from(pairs))
    # Whether jitter and ownership still hold or not, the slot is taken.
    starts[a][data.draw(st.sampled_from(range(len(starts[a]))))] = data.draw(
        st.sampled_from(starts[b])
    )
    assert check(row).state == REJECTED


def wrong_cycle(row: Any) -> None:
    row["witness"]["cycle_slots"] = 12


def only_the_hyperperiod(row: Any) -> None:
    row["witness"]["tx_slot_by_flow"] = [
        s[: len(s) // 2] for s in row["witness"]["tx_slot_by_flow"]
    ]


def start_beyond_the_cycle(row: Any) -> None:
    row["witness"]["tx_slot_by_flow"][0][0] += 24


def negative_start(row: Any) -> None:
    row["witness"]["tx_slot_by_flow"][0][0] -= 24


def swapped_frames(row: Any) -> None:
    starts = row["witness"]["tx_slot_by_flow"][0]
    starts[0], starts[1] = starts[1], starts[0]


def fractional_start(row: Any) -> None:
    row["witness"]["tx_slot_by_flow"][0][0] += 0.0


def missing_flow(row: Any) -> None:
    del row["witness"]["tx_slot_by_flow"][2]


def short_table(row: Any) -> None:
    del row["witness"]["owner_class_by_ring_slot"][-1]


def unknown_owner(row: Any) -> None:
    row["witness"]["owner_class_by_ring_slot"][0] = 2


def more_reserved_than_free(row: Any) -> None:
    row["reserve_slots"] = row["witness"]["owner_class_by_ring_slot"].count(-1) + 1


def owned_and_excluded(row: Any) -> None:
    row["unowned_slots"] = [row["witness"]["tx_slot_by_flow"][0][0] % 8]


def less_jitter_allowed(row: Any) -> None:
    row["flows"][2]["jitter_us"] = 1.9
    row["witness"]["tx_slot_by_flow"][2] = [0, 7, 12, 18]
    row["witness"]["owner_class_by_ring_slot"] = [
        0 if c == 0 else 1 for c in [1, 0, 1, 0, 1, 0, 1, 1]
    ]


def longer_frames(row: Any) -> None:
    row["flows"][0]["length_slots"] = 4


def no_witness(row: Any) -> None:
    row["witness"] = None


def no_such_answer(row: Any) -> None:
    row["answer"] = "perhaps"


@pytest.mark.parametrize(
    "mutate",
    [
        wrong_cycle, only_the_hyperperiod, start_beyond_the_cycle, negative_start, swapped_frames,
        fractional_start,
        missing_flow, short_table, unknown_owner, more_reserved_than_free, owned_and_excluded,
        less_jitter_allowed,
        longer_frames, no_witness, no_such_answer,
    ],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_mutated_answers_are_rejected(good: Instance, mutate: Any) -> None:
    row = copy.deepcopy(good)
    mutate(row)
    assert reason(row)


def test_jitter_counts_across_the_wrap() -> None:
    row = instance([(0, 4, 1)], 4, answer="feasible")
    row["witness"] = {
        "cycle_slots": 4,
        "owner_class_by_ring_slot": [0, 0, 0, 0],
        "tx_slot_by_flow": [[3]],
    }
    assert check(row).state == PASSED
    two = instance([(0, 4, 1)], 8, answer="feasible")
    passed, rejected = ([7, 4], [0, 3], [0, 5], [7, 2]), ([0, 6], [7, 5], [0, 2])
    for starts in (*passed, *rejected):
        state = PASSED if starts in passed else REJECTED
        two["witness"] = {
            "cycle_slots": 8,
            "owner_class_by_ring_slot": [0] * 8,
            "tx_slot_by_flow": [starts],
        }
        # [7, 4] is offsets 7 and 0, which are one slot apart around the cycle of 8.
        assert check(two).state == state, starts


def phase_row(
    flows: list[tuple[int, ...]], ring: int, owners: list[int], phases: list[int], **more: Any
) -> Instance:
    row = instance(flows, ring, answer="feasible")
    cycle = parse(row, "test", 0).cycle_slots
    row["witness"] = {
        "cycle_slots": cycle,
        "owner_class_by_ring_slot": owners,
        "phase_slot_by_flow": phases,
        **more,
    }
    return row


def test_phases_are_checked_by_congruences() -> None:
    flows, owners = [(0, 6, 0), (0, 4, 0), (1, 8, 0)], [0, 0, 0, 1, 0, 0, 0, 0]
    assert check(phase_row(flows, 8, owners, [0, 1, 3])).state == PASSED
    assert "meet" in reason(phase_row(flows, 8, owners, [0, 2, 3]))
    assert "not its class's" in reason(phase_row(flows, 8, owners, [1, 0, 3]))
    assert "not its class's" in reason(phase_row(flows, 8, owners, [0, 3, 3]))
    assert "not its class's" in reason(phase_row(flows, 8, owners, [0, 1, 4]))
    long = phase_row(flows, 8, owners, [0, 1, 3])
    long["flows"][1]["length_slots"] = 2
    assert check(long).state == REJECTED


def test_private_slots_are_checked() -> None:
    flows, owners = [(0, 5, 3), (1, 7, 3)], [0, -1, 1, -1, 0, -1, 1, -1]

    def row(private: list[list[int] | None], **changes: int) -> Instance:
        found = phase_row(flows, 8, owners, [0, 0], private_ring_slots_by_flow=private)
        found["flows"][0]["jitter_us"] = changes.get("jitter_us", 30)
        found["flows"][0]["period_us"] = changes.get("period_us", 50)
        return found

    assert check(row([[0, 4], [2, 6]])).state == PASSED
    assert "jitter of 7 slots" in reason(row([[0], [2, 6]]))
    assert "jitter of 3 slots" in reason(row([[0, 4], [2, 6]], jitter_us=29))
    assert "private to flows" in reason(row([[0, 4], [4, 6]]))
    assert "not its class's" in reason(row([[0, 4], [2, 6, 7]]))
    assert "no private slot" in reason(row([[0, 4], []]))
    assert check(row([None, [2, 6]])).state == REJECTED


def bound_row(bound: dict[str, Any], flows: list[tuple[int, ...]], ring: int) -> Instance:
    return instance(flows, ring, answer="proven_infeasible", witness=None, proof=bound)


def test_named_bounds_are_computed_again() -> None:
    flows = [(0, 3, 0), (1, 8, 0)]

    def claim(slots: int, because: str, **more: int) -> Instance:
        rows = [
            {"classes": [0], "slots": slots, "because": because, **more},
            {"classes": [1], "slots": 1, "because": "load"},
        ]
        return bound_row({"bound": "slots-per-class", "slots_by_class": rows}, flows, 8)

    assert check(claim(8, "reach", flow=0)).state == PASSED
    assert check(claim(8, "density", modulus=1)).state == PASSED
    assert "8 are claimed" in reason(claim(8, "load"))
    assert "9 are claimed" in reason(claim(9, "reach", flow=0))
    assert "8 slots are needed and 8 are there" in reason(claim(7, "reach", flow=0))
    assert "another class" in reason(claim(8, "reach", flow=1))
    assert "8 are claimed" in reason(claim(8, "density", modulus=8))
    assert "does not divide" in reason(claim(8, "density", modulus=3))
    assert "not known" in reason(claim(8, "belief"))
    crossing = {"bound": "crossing", "flows": [0, 1], "modulus": 1}
    assert check(bound_row(crossing, [(0, 3, 0), (0, 8, 0)], 8)).state == PASSED
    assert "need not cross" in reason(bound_row(crossing, [(0, 4, 0), (0, 8, 0)], 8))
    assert "may have jitter" in reason(bound_row(crossing, [(0, 3, 1), (0, 8, 0)], 8))
    double = {
        "bound": "slots-per-class",
        "slots_by_class": [{"classes": [0], "slots": 3, "because": "load"}] * 3,
    }
    assert "overlap" in reason(bound_row(double, flows, 8))


def test_bounds_of_streams_beside_others_are_computed_again() -> None:
    def claim(slots: int, flows: list[tuple[int, ...]], **more: Any) -> Instance:
        rows = [
            {"classes": [0], "slots": slots, **more},
            {"classes": [1], "slots": 25, "because": "load"},
        ]
        return bound_row(
            {"bound": "slots-per-class", "slots_by_class": rows},
            [*flows, (1, 32, 0), *[(1, 32, 0)] * 24],
            32,
        )

    pair = {"because": "beside", "flow": 1, "other": 0}
    assert check(claim(8, [(0, 8, 1), (0, 40, 4)], **pair)).state == PASSED
    # With 7 slots of jitter together one extra slot serves two of the four places.
    assert "need 6 slots" in reason(claim(8, [(0, 8, 1), (0, 40, 7)], **pair))
    assert "moves in the ring" in reason(claim(8, [(0, 40, 1), (0, 40, 4)], **pair))
    assert "beside itself" in reason(
        claim(8, [(0, 8, 1), (0, 40, 4)], because="beside", flow=0, other=0)
    )
    assert "another class" in reason(
        claim(8, [(0, 8, 1), (0, 40, 4)], because="beside", flow=2, other=0)
    )
    filled = {"because": "reach", "flow": 1, "saturating_flows": [0]}
    assert check(claim(8, [(0, 8, 0), (0, 40, 4)], **filled)).state == PASSED
    assert "not saturating" in reason(claim(8, [(0, 8, 1), (0, 40, 4)], **filled))
    assert "not saturating" in reason(claim(8, [(0, 24, 0), (0, 40, 4)], **filled))
    assert "another class" in reason(
        claim(9, [(0, 8, 0), (0, 40, 4)], because="load", saturating_flows=[2])
    )
    assert "another class" in reason(
        claim(8, [(0, 8, 0), (0, 40, 4)], because="reach", flow=0, saturating_flows=[0])
    )


def test_what_cannot_be_checked_is_said_to_be_so() -> None:
    row = instance([(0, 4, 0)], 8, answer="infeasible", witness=None)
    assert check(row).state == UNCHECKABLE
    assert check({**row, "answer": "unknown"}).state == UNCHECKABLE
    assert (
        check({**row, "proof": {"bound": "class-minima", "slots_by_class": []}}).state
        == UNCHECKABLE
    )
    assert check({**row, "proof": {"bound": "slots-per-class"}}).state == REJECTED
