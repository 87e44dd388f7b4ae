# SPDX-License-Identifier: BSD-3-Clause
"""What the planner says where it has no plan of a network: refusals, conflicts, what helps."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from helpers import HABITAT
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.planner import plan as make_plan
from keepon.planner.network import bounds, explain, search
from keepon.planner.partition.limits import Limits
from network_cases import clash, star

# -- refusals
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"deadline_ns": 3_700}, r"deadline_ns` .* = 3700: must be at least 3764, what its frames"),
        (
            {"jitter_ns": 200_000},
            r"jitter_ns` .* = 200000: must be between 0 and 100000, the period",
        ),
        ({"redundancy": 2}, r"redundancy` .* = 2: must be 1: its frames pass \"br\" alone"),
        ({"tc": 3}, r"tc` .* = 3: must be one of the classes"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(keys: dict[str, Any], said: str) -> None:
    scenario = star([{"talker": "a", "period_ns": 100_000, **keys}])
    with pytest.raises(ConfigError, match=said) as caught:
        make_plan(scenario)
    assert "\n" not in str(caught.value)


# -- explanations
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_streams_that_always_meet_are_named_and_a_change_that_helps_has_been_tried() -> None:
    plan = make_plan(clash())
    assert (plan["status"], plan["method"]) == ("infeasible", "cp-sat")
    why = plan["why"]
    assert (why["constraint"], sorted(why["streams"])) == ("wire", ["F0", "F1"])
    assert why["nearest_change"].endswith("(planned and checked: feasible with it)")
    assert (
        'allow "F0" jitter_ns = 2000' not in why["nearest_change"]
    )  # less than a slot changes nothing


def test_frames_longer_than_the_divisor_of_their_periods_need_no_search() -> None:
    plan = make_plan(
        star([{"talker": "a", "period_ns": 4_000}, {"talker": "b", "period_ns": 6_000}])
    )
    assert (plan["status"], plan["method"], plan["why"]["streams"]) == (
        "infeasible",
        "analytic-bound",
        ["F0", "F1"],
    )


@pytest.mark.slow
def test_a_conflict_found_by_cp_sat_has_no_stream_too_many() -> None:
    # Three streams in a queue that has room for two at their common divisor, and one in another
    # queue.
    streams = [
        {"talker": talker, "period_ns": 8_000 + 4_000 * (n % 2)} for n, talker in enumerate("abcd")
    ]
    streams[3]["priority"] = 6
    streams[3]["period_ns"] = 96_000
    scenario = star(streams)
    plan = make_plan(scenario)
    if plan["status"] == "feasible":
        streams[2]["period_ns"] = 12_000
        scenario = star(streams)
        plan = make_plan(scenario)
    assert plan["status"] == "infeasible", plan["status"]
    names = plan["why"]["streams"]
    assert len(names) >= 2
    for left_out in names:
        rest = [
            stream for stream in scenario.stream if stream.id in names and stream.id != left_out
        ]
        assert make_plan(scenario.model_copy(update={"stream": rest}))["status"] == "feasible"


@pytest.mark.slow
def test_only_what_was_planned_and_checked_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "_changes", lambda *_: iter([("stand on your head", clash())]))
    why = make_plan(clash())["why"]
    assert "head" not in why["nearest_change"]
    assert "none of the single changes tried" in why["nearest_change"]


def test_beside_a_rate_other_periods_become_multiples_of_its_cycle() -> None:
    """4800 frames a second repeat in whole ns with 6 frames, 1.25 ms; of 1 ms and 16.7 ms the
    next multiples are 1.25 ms and 14 x 1.25 = 17.5 ms.
    """
    scenario = star(
        [
            {"talker": "a", "rate_hz": 4800},
            {"talker": "a", "period_ns": 1_000_000},
            {"talker": "b", "period_ns": 16_700_000},
        ]
    )
    asked = explain._changes(scenario, ["F0", "F1", "F2"], bounds.Proof("wire", "", []))
    periods = [change for change, _ in asked if "period_ns" in change]
    assert periods[:3] == [
        'lengthen period_ns of "F1" from 1000000 to 1250000, a multiple of 1250000',
        'lengthen period_ns of "F2" from 16700000 to 17500000, a multiple of 1250000',
        'lengthen period_ns of "F2" from 16700000 to 17000000, a multiple of 1000000',
    ]
    assert not any('"F0"' in change for change in periods)


def test_a_time_limit_gives_the_third_answer_and_the_best_so_far() -> None:
    plan = make_plan(loading.load(HABITAT), Limits(deadline_s=time.monotonic() - 1))
    assert plan["status"] == "unknown"
    assert plan["why"]["best"]["placed"] == 0
    assert len(plan["why"]["best"]["missing"]) == 12


def test_ctrl_c_gives_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = search.Search.fit

    def interrupted(self: search.Search, flow: Any) -> Any:
        if len(self.placed) == 5:
            raise KeyboardInterrupt
        return fit(self, flow)

    monkeypatch.setattr(search.Search, "fit", interrupted)
    plan = make_plan(loading.load(HABITAT))
    assert (plan["status"], plan["why"]["constraint"]) == ("unknown", "interrupted")
    assert plan["why"]["best"]["placed"] == 5
    assert len(plan["why"]["best"]["releases_ns"]) == 5


def test_plans_repeat_exactly() -> None:
    scenario = loading.load(HABITAT)
    first, second = make_plan(scenario), make_plan(scenario)
    first.pop("seconds"), second.pop("seconds")
    assert first == second


def test_a_least_deadline_is_that_of_the_slots_that_suit_it_best() -> None:
    """Beside 1400 bytes of the same talker, 64 bytes wait for a slot of 1400 in the first choice,
    and for a short one where the long frame takes several. The advice is the least that plans.
    Cables of 50 ns, 512 ns for the frame, 2000 for the bridge and 64 for a preamble are 2676.
    """
    streams = [
        {"talker": "a", "period_ns": 1_000_000, "frame_bytes": 64},
        {"talker": "a", "period_ns": 1_000_000, "frame_bytes": 1400},
    ]

    def planned(deadline_ns: int) -> Any:
        own = [{**streams[0], "deadline_ns": deadline_ns}, streams[1]]
        return make_plan(star(own, slot_bytes='"auto"'))

    why = planned(2_700)["why"]
    found = re.fullmatch(r'allow "F0" deadline_ns = (\d+) \(planned.*', why["nearest_change"])
    assert found and f"bound delay_ns = {found[1]} exceeds the 2700" in why["message"]
    assert planned(int(found[1]))["status"] == "feasible"
    assert planned(int(found[1]) - 1)["why"]["nearest_change"] == why["nearest_change"]
