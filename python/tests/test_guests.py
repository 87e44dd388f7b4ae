# SPDX-License-Identifier: BSD-3-Clause
"""Stations that are virtual machines: what is refused, what a message takes at each stage, whose
cores it waits for, and what plans promise to the application.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest
from helpers import with_plan
from keepon.errors import ConfigError, InfeasibleError
from keepon.measure.statistics import IntArray
from keepon.model import guests, loading
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner.verify import problems
from keepon.targets.host.target import check_supported
from keepon.targets.sim.runner import simulate_build

TEXT = """
schema = "keepon.scenario/1"
name = "guests"
duration_s = 0.4
warmup_s = 0.1
bridge = [{ name = "br" }]
link = [{ ends = ["box", "br"] }, { ends = ["talker", "br"] }, { ends = ["listener", "br"] }]
[[station]]
name = "box"
driver = "standard"
BOX
[[station]]
name = "talker"
TALKER
[[station]]
name = "listener"
driver = "standard"
LISTENER
[[stream]]
id = "S1"
talker = "talker"
listeners = ["listener"]
frame_bytes = 100
period_ns = 2_000_000
advance_ns = 1_500_000
STREAM
"""
GUEST = 'guest = { host = "box", datapath = "userspace" }'
FIXED = 'host = { base = "ideal", datapath = { median_ns = 7000, sigma = 0.0 } }'


def scenario(**texts: str) -> Scenario:
    text = TEXT
    for key in ("BOX", "TALKER", "LISTENER", "STREAM"):
        text = text.replace(key, texts.get(key.lower(), ""))
    return loading.parse(text, "guests")


def ran(built: Scenario) -> tuple[Plan, Any, dict[str, IntArray]]:
    """The plan of a scenario, what a result says of S1, and its stages in ps."""
    planned = with_plan(built)
    plan = planned.plan
    build, run = simulate_build(planned.scenario, plan, "keepon", 1)
    return plan, run.document["streams"]["S1"], build.stages("S1", run.frames["S1"].seq)


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (
            {"talker": 'guest = { host = "box", vcpus = 1, queue_pairs = 2 }'},
            'queue_pairs` (station "talker") = 2: must be at most 1, its vcpus',
        ),
        ({"talker": 'guest = { host = "attic" }'}, "must be a station that is no guest"),
        ({"talker": 'guest = { host = "talker" }'}, "must be a station that is no guest"),
        ({"talker": f"{GUEST}\nhost = {{ cores = 2 }}"}, "must be 0 for a guest"),
        ({"talker": f'{GUEST}\ndriver = "launchtime"'}, "virtio has no transmit time"),
        ({"talker": GUEST, "box": "host = { cores = 1 }"}, "whose switch polls on one"),
        ({"talker": "host = { datapath = { base_ns = 1 } }"}, "there is no [station.guest]"),
    ],
)
def test_what_no_guest_can_be_is_refused(texts: dict[str, str], says: str) -> None:
    """O6, O9: as many queues as virtual CPUs, at most."""
    with pytest.raises(ConfigError, match=re.escape(says)):
        scenario(**texts)


def test_guests_are_of_the_simulator_alone() -> None:
    with pytest.raises(ConfigError, match=r"guest`: is a model of the simulator"):
        check_supported(scenario(talker=GUEST))


def test_stages_of_a_message_add_up_and_each_has_what_it_is_given() -> None:
    """O5, O24: 7 us of the datapath either way, 20 us of the reader; the rest is the wire."""
    reader = "deliver = { median_ns = 20000, sigma = 0.0 }, "
    plan, document, stages = ran(
        scenario(
            talker=f"{GUEST}\n{FIXED}",
            listener=f"{GUEST}\n{FIXED.replace('datapath =', reader + 'datapath =')}",
        )
    )
    whole = stages.pop("whole")
    assert whole.size == 200 and np.array_equal(sum(stages.values(), np.int64(0)), whole)
    assert set((stages["datapath out"] // 1000).tolist()) == {7_000}
    assert set((stages["stack, application"][0] // 1000).tolist()) == {20_000}
    # from the first bit behind the SFD to the last of the padded frame, at 1 Gb/s, and 7 us
    last_ns = 8 * plan["streams"]["S1"]["frame_bytes_on_wire"]
    assert set((stages["datapath in"][0] // 1000).tolist()) == {7_000 + last_ns}
    assert document["stages_ns"]["whole"]["max"] == whole.max() / 1000


def test_guests_of_a_host_wait_for_its_cores_and_one_that_polls_takes_one() -> None:
    """O22, O23: two readers of 400 us at one instant, on one core of two; the switch has one."""
    slow = (
        'host = { base = "ideal", deliver = { median_ns = 400000, sigma = 0.0, cap_ns = 400000 } }'
    )
    base = scenario(
        box="host = { cores = 2 }", talker='host = "ideal"', listener=f"{GUEST}\n{slow}"
    )
    twin = base.station[2].model_copy(update={"name": "twin"})
    update: dict[str, Any] = {
        "station": [*base.station, twin],
        "link": [*base.link, base.link[2].model_copy(update={"ends": ["twin", "br"]})],
        "stream": [base.stream[0].model_copy(update={"listeners": ["listener", "twin"]})],
    }
    both = base.model_copy(update=update)
    assert guests.cores(both, both.station[2]) == 1
    plan, _, stages = ran(both)
    read = np.sort(stages["stack, application"], axis=0) // 1_000_000
    assert read[0].max() == 400 and read[1].min() >= 795
    assert "application_ns" not in plan["streams"]["S1"]["bounds"]


@pytest.mark.parametrize(("clock", "error_ns"), [("virtio-rtc", 1_000), ("software", 50_000)])
def test_the_clock_of_a_guest_is_off_by_what_its_source_is(clock: str, error_ns: int) -> None:
    """O8, O10: a guest that sleeps sends as far from its instant as its clock is off."""
    talker = f'driver = "standard"\nrelease = "sleep"\n{FIXED}\n'
    talker += GUEST.replace("userspace", f'kernel", clock = "{clock}')
    base = scenario(talker=talker, listener=GUEST).model_copy(update={"duration_s": 60.0})
    _, _, stages = ran(base)
    off_ns = stages["application, stack, queue"] // 1000
    assert error_ns / 2 < max(-off_ns.min(), off_ns.max()) <= error_ns
    assert np.unique(off_ns).size <= 60 / 4 + 2  # a new one each 4 s


def test_a_plan_bounds_the_way_to_the_application_and_runs_keep_it() -> None:
    """O1: 0.4 ms for every message of a guest whose frames have slots on the host's wire."""
    plan, document, stages = ran(
        scenario(talker=GUEST, listener=GUEST, stream="deadline_ns = 400_000")
    )
    bounds = plan["streams"]["S1"]["bounds"]
    # the last bit, 50 us of datapath and 100 us of reading at most
    assert bounds["delay_ns"] is not None
    assert 150_000 < bounds["application_ns"] - bounds["delay_ns"] < 153_000
    assert document["bound_check"]["application_ns"]["met"]
    assert stages["whole"].max() <= 1000 * bounds["application_ns"]
    assert document["outcome"] == "met"


def test_a_deadline_that_a_guest_cannot_keep_names_the_stage_that_takes_most() -> None:
    """The kernel's datapath alone may take all of 0.4 ms."""
    listener = GUEST.replace("userspace", "kernel")
    with pytest.raises((ConfigError, InfeasibleError)) as refused:
        with_plan(scenario(listener=listener, stream="deadline_ns = 400_000"))
    assert '400000 ns of them in stage datapath of guest "listener"' in str(refused.value)


def test_a_talker_that_is_a_guest_is_asked_for_an_earlier_hand_over() -> None:
    """By its datapath, 5 us x e^(3 sigma), and the error of its clock."""
    host, guest = (
        " ".join(
            each["why"]
            for each in with_plan(scenario(talker=own)).plan["stations"]["talker"]["rationale"]
        )
        for own in ("", GUEST)
    )
    usual_ns, worst_ns = guests.out_ns(scenario(talker=GUEST).station[1])
    assert (usual_ns, worst_ns) == (6_750 + 1_000, 50_000 + 1_000)
    assert "brings a frame in 16.03 us, in 112 us at worst" in host
    assert "brings a frame in 23.78 us, in 163 us at worst" in guest


def test_the_checker_finds_a_promise_that_forgets_the_guest() -> None:
    planned = with_plan(scenario(talker=GUEST, listener=GUEST))
    built, plan = planned.scenario, planned.plan
    assert problems(built, plan) == []
    for off_ns in (-1_000, 1_000):
        wrong = copy.deepcopy(plan)
        wrong["streams"]["S1"]["bounds"]["application_ns"] += off_ns
        assert any("application_ns" in one for one in problems(built, wrong))
    del wrong["streams"]["S1"]["bounds"]["application_ns"]
    assert any("application_ns" in one for one in problems(built, wrong))


def test_frames_that_come_together_keep_the_bound_and_their_order() -> None:
    """Three streams to one guest, whose stages are at their caps in half of all draws."""
    tail = "{ tail_probability = 0.5, tail_mean_ns = 500000, cap_ns = 100000 }"
    slow = f'{GUEST}\nhost = {{ base = "ideal", datapath = {tail}, deliver = {tail} }}'
    base = scenario(talker=GUEST, listener=slow)
    own = [base.stream[0].model_copy(update={"id": f"S{number}"}) for number in (1, 2, 3)]
    planned = with_plan(base.model_copy(update={"stream": own, "duration_s": 2.0}))
    build, run = simulate_build(planned.scenario, planned.plan, "keepon", 1)
    for stream in own:
        found = run.document["streams"][stream.id]["bound_check"]["application_ns"]
        assert found["met"] and found["worst_ns"] > 200_000
    read = [build.simulation.frames(build.streams[each.id])["read_ps"][0, :900] for each in own]
    assert np.all(np.diff(np.ravel(read, order="F")) >= 0)
