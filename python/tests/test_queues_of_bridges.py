# SPDX-License-Identifier: BSD-3-Clause
"""A plan fills no queue of a bridge beyond its `queue_frames`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from keepon.errors import PlanRejectedError
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems
from keepon.trial.trial import trial
from port_cases import bridge, link, planned, scenario_of, station, stream

TALKERS = "abcd"


def arriving_together(
    queue_frames: int, count: int = 3, queues: int = 8, priorities: Sequence[int] = (5, 5, 5, 5)
) -> Scenario:
    """Frames of 40 us each, on their last link, that come to a bridge within 13 us."""
    return scenario_of(
        bridge("br") + f"queues = {queues}\nqueue_frames = {queue_frames}\n",
        *(station(name, "launchtime", "ideal") for name in (*TALKERS[:count], "z")),
        *(link(name, "br") for name in TALKERS[:count]),
        link("z", "br", rate_bps=100_000_000),
        *(
            stream(
                name,
                name,
                "z",
                frame_bytes=500,
                offset_ns=6_400 * number,
                priority=priorities[number],
            )
            for number, name in enumerate(TALKERS[:count])
        ),
        head='planner.isolation = "order"\n',
    )


def test_frames_that_would_find_a_queue_full_are_no_plan() -> None:
    """One is being sent, one waits, and the third was lost: exit code 70."""
    plan = planned(arriving_together(2))
    assert trial(arriving_together(2), plan)["unsent"] == {}
    small = arriving_together(1)
    refused = make_plan(small)
    assert (refused["status"], refused["why"]["constraint"]) == ("unknown", "queue")
    assert "2 frames may be in queue 5 at once, and queue_frames = 1" in refused["why"]["message"]
    assert refused["why"]["streams"] == ["a", "b", "c"]
    assert 'set offset_ns of "b" to "auto" (planned' in refused["why"]["nearest_change"]
    # It is as full as that.
    assert problems(small, plan) == ["queue 5 of br towards z may be full"]
    with pytest.raises(PlanRejectedError, match="stream c ended as br queue to z"):
        trial(small, plan)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_planner_and_checker_count_the_same(count: int) -> None:
    plan = planned(arriving_together(8, count))
    for queue_frames in (1, 2, 3):
        scenario = arriving_together(queue_frames, count)
        holds = not problems(scenario, plan)
        assert holds == (queue_frames >= count - 1)
        assert (make_plan(scenario)["status"] == "feasible") == holds


@pytest.mark.parametrize(("queues", "least"), [(8, 1), (4, 2)])
def test_priorities_of_one_class_wait_in_one_queue(queues: int, least: int) -> None:
    """4 and 5 share class 2 of four queues, where the frame of "b" is between the other two; of
    eight queues it has its own, so that one frame waits in either.
    """
    for queue_frames in (1, 2):
        scenario = arriving_together(queue_frames, queues=queues, priorities=[5, 4, 5])
        plan = make_plan(scenario)
        assert (plan["status"] == "feasible") == (queue_frames >= least)
        if plan["status"] == "feasible":
            assert problems(scenario, plan) == []
            assert trial(scenario, plan)["unsent"] == {}


@pytest.mark.parametrize(
    ("queues", "priority", "queue_frames", "status"),
    [
        (8, 6, 5, "unknown"), (8, 6, 6, "feasible"),
        # 6 and 7 share class 3 of four queues
        (8, 7, 1, "feasible"), (4, 7, 5, "unknown"), (4, 7, 6, "feasible"),
    ],
)  # fmt: skip
def test_messages_of_ptp_in_the_queue_of_a_stream_need_room_besides(
    queues: int, priority: int, queue_frames: int, status: str
) -> None:
    """Five come together at most: three of the link, Sync and Follow_Up."""
    scenario = scenario_of(
        bridge("br", gates="none") + f"queues = {queues}\nqueue_frames = {queue_frames}\n",
        station("a", "launchtime", "ideal"), station("z", "launchtime", "ideal"),
        link("a", "br"), link("z", "br"), stream("s", "a", "z", priority=priority),
        head='sync = { mode = "gptp", grandmaster = "a", priority = 6 }\n',
    )  # fmt: skip
    plan = make_plan(scenario)
    assert plan["status"] == status
    if status == "feasible":
        assert problems(scenario, plan) == []
    else:
        assert 'raise queue_frames of bridge "br" to 6' in plan["why"]["nearest_change"]
