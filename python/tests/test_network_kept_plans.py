# SPDX-License-Identifier: BSD-3-Clause
"""Streams are added to an earlier plan and taken from it, and those that are kept do not move."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from helpers import planned_example
from hypothesis import given, settings
from hypothesis import strategies as st
from keepon.errors import ConfigError, KeeponError
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.network import keeping
from keepon.planner.verify import problems, verify
from network_cases import star

_MADE = planned_example("habitat")
_HABITAT, _EARLIER = _MADE.scenario, _MADE.plan


# -- incremental
# --------------------------------------------------------------------------------------------------


def _extended(scenario: Scenario, **keys: Any) -> Scenario:
    return scenario.model_copy(
        update={"stream": [*scenario.stream, scenario.stream[1].model_copy(update=keys)]}
    )


def test_a_stream_is_added_without_moving_the_others() -> None:
    scenario, earlier = _HABITAT, _EARLIER
    longer = _extended(scenario, id="F13")
    plan = verify(longer, make_plan(longer, keep=earlier))
    assert plan["status"] == "feasible"
    assert plan["kept"] == [stream.id for stream in scenario.stream]
    for name, entry in earlier["streams"].items():
        assert plan["streams"][name] == entry
    assert plan["streams"]["F13"]["release_ns"] != earlier["streams"]["F2"]["release_ns"]


def test_a_stream_is_removed_without_moving_the_others() -> None:
    scenario, earlier = _HABITAT, copy.deepcopy(_EARLIER)
    shorter = scenario.model_copy(
        update={"stream": [entry for entry in scenario.stream if entry.id != "F3"]}
    )
    plan = verify(shorter, make_plan(shorter, keep=earlier))
    for entry in (*plan["streams"].values(), *earlier["streams"].values()):
        entry.pop("advance_in_time_ns", None)  # rests on all streams of the talker
    assert {name: plan["streams"][name] for name in plan["kept"]} == {
        name: entry for name, entry in earlier["streams"].items() if name != "F3"
    }


def test_adding_says_so_where_it_is_impossible_without_moving() -> None:
    streams = [{"talker": "a", "period_ns": 12_000, "deadline_ns": 4_100}]
    scenario = star([*streams, {"talker": "b", "period_ns": 12_000, "deadline_ns": 4_100}])
    earlier = make_plan(scenario)
    # Two frames are three slots apart now; a third of half their period fits only if one of them
    # moves.
    both = sorted(entry["release_ns"] for entry in earlier["streams"].values())
    third = star(
        [
            *streams,
            {"talker": "b", "period_ns": 12_000, "deadline_ns": 4_100},
            {"talker": "c", "period_ns": 6_000, "deadline_ns": 4_100},
        ]
    )
    plan = make_plan(third, keep=earlier)
    assert both[1] - both[0] == 4_000
    assert plan["status"] == "infeasible"
    assert "without --keep" in plan["why"]["nearest_change"]


def test_a_kept_stream_that_cannot_stay_is_refused() -> None:
    scenario, earlier = _HABITAT, _EARLIER
    slower = [bridge.model_copy(update={"processing_ns": 3_000}) for bridge in scenario.bridge]
    with pytest.raises(
        ConfigError, match=r"takes another time to or through a bridge now.*plan without --keep"
    ):
        make_plan(scenario.model_copy(update={"bridge": slower}), keep=earlier)
    longer = [
        stream.model_copy(update={"frame_bytes": 220}) if stream.id == "F12" else stream
        for stream in scenario.stream
    ]
    with pytest.raises(ConfigError, match=r'"F12": the stream has another length on the wire now'):
        make_plan(scenario.model_copy(update={"stream": longer}), keep=earlier)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_earlier_plan_is_refused_or_harmless(data: st.DataObject) -> None:
    plan = copy.deepcopy(_EARLIER)
    place: Any = plan
    for _ in range(data.draw(st.integers(1, 6))):
        if not isinstance(place, dict | list) or not place:
            break
        key = (
            data.draw(st.sampled_from(sorted(place)))
            if isinstance(place, dict)
            else data.draw(st.sampled_from(range(len(place))))
        )
        holder, place = place, place[key]
    holder[key] = data.draw(st.sampled_from([None, "x", -1, 10**30, [], {}, [None], {"a": None}]))
    try:
        keeping.check(plan, "plan.json")
        found = make_plan(_HABITAT, keep=plan)
    except KeeponError as error:
        assert "\n" not in str(error)
    else:
        assert found["status"] != "feasible" or problems(_HABITAT, found) == []
