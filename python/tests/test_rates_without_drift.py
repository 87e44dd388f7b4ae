# SPDX-License-Identifier: BSD-3-Clause
"""Rates whose period is no whole number of ns: frames within a slot of their instants, no drift."""

from __future__ import annotations

import copy
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import port_cases
import pytest
from keepon.errors import ConfigError
from keepon.export import tsnkit
from keepon.export.exported import Planned
from keepon.machines.planned import Guest
from keepon.machines.traffic import talk_words
from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.network import exact, ground
from keepon.planner.parameters import isolation
from keepon.planner.partition.limits import Limits
from keepon.planner.verify import problems, verify
from keepon.targets.sim.build import Build
from keepon.targets.sim.runner import run_all
from keepon.trial.trial import trial


def scenario(
    rate: str = "rate_hz = 4800", more: str = "", unit: str = "", control: str = "1 ms"
) -> Scenario:
    """Sampled values of a merging unit (IEC 61850-9-2), 4800 a second where mains have 60 Hz."""
    text = f"""
schema = "keepon.scenario/1"
name = "sampled-values"
duration_s = 1.0
warmup_s = 0.1
[[station]]
name = "unit"
{unit}
[[station]]
name = "plc"
[[station]]
name = "relay"
[[bridge]]
name = "switch"
[[link]]
ends = ["unit", "switch"]
[[link]]
ends = ["plc", "switch"]
[[link]]
ends = ["relay", "switch"]
[[stream]]
id = "sv"
talker = "unit"
listeners = ["relay"]
{rate}
frame_bytes = 105
{more}
[[stream]]
id = "control"
talker = "plc"
listeners = ["relay"]
period_ns = "{control}"
frame_bytes = 200
"""
    return loading.parse(text, "sv.toml")


def planned(made: Scenario, keep: Plan | None = None) -> Plan:
    return verify(made, make_plan(made, keep=keep))


def instants_ns(made: Scenario, plan: Plan) -> list[int]:
    releases = plan["streams"]["sv"]["turns_ns"]
    cycle_ns, turns = made.stream[0].cycle_ns, len(releases)
    return [n * cycle_ns // turns + releases[n % turns] for n in range(3 * turns)]


@pytest.mark.parametrize(
    ("rate", "unit", "frames"),
    [
        ("4800", "", 6),
        ('"60000/1001"', "", 3),
        ("4800", 'driver = "launchtime"', 6),
        ("15360", 'driver = "launchtime"', 96),
        ("12800", "", 16),
    ],
)
def test_every_frame_is_within_a_slot_of_its_instant(rate: str, unit: str, frames: int) -> None:
    made = scenario(f"rate_hz = {rate}", unit=unit, control="1 ms" if frames < 9 else "6250 us")
    plan = planned(made)
    assert len(plan["streams"]["sv"]["turns_ns"]) == frames
    grid_ns = plan["stations"]["unit"].get("slot_time_ps", 32_000) / 1000
    period_ns = 10**9 / Fraction(rate.strip('"'))
    at_ns = instants_ns(made, plan)
    late_ns = [at - at_ns[0] - number * period_ns for number, at in enumerate(at_ns)]
    assert all(-1 < late < grid_ns for late in late_ns)
    assert planned(made, keep=plan)["streams"]["sv"] == plan["streams"]["sv"]


@pytest.mark.parametrize(
    ("rate", "unit", "feasible"),
    [
        (15360, "", True),  # in slots of 50 us two frames would be a slot apart, and meet
        (4800, 'keepon = { backend = "generic" }', False),
    ],
)
def test_frames_of_a_rate_do_not_meet_each_other(rate: int, unit: str, feasible: bool) -> None:
    text = f"""schema = "keepon.scenario/1"\nname = "alone"\nduration_s = 0.1
[defaults]\nrate_bps = "100 Mb/s"
[[station]]\nname = "a"\n{unit}\n[[station]]\nname = "b"
[[bridge]]\nname = "br"\n[[link]]\nends = ["a", "br"]\n[[link]]\nends = ["b", "br"]
[[stream]]\nid = "q"\ntalker = "a"\nlisteners = ["b"]\nrate_hz = {rate}
frame_bytes = 120\nadvance_ns = 4_000_000\n"""
    made = loading.parse(text, "alone.toml")
    plan = make_plan(made)
    assert (plan["status"] == "feasible") == feasible
    if feasible:
        verify(made, plan)
    else:
        assert "frames of its rate overlap" in plan["why"]["message"]


def test_a_merging_unit_beside_a_control_stream_runs_for_a_second() -> None:
    made = scenario(more='deadline_ns = "100 us"')
    plan = planned(made)
    assert "repeats_s" not in trial(made, plan)
    run: dict[str, Any] = run_all(made, plan, 1).runs[0].document
    sv = run["streams"]["sv"]
    assert (sv["due"], sv["missing"], sv["outcome"]) == (4800, 0, "met")
    assert sv["bound_check"]["jitter_ns"]["worst_ns"] == pytest.approx(1667, abs=20)
    build = Build(made, plan, "keepon", 1)
    build.simulation.run(1_100_000_000)
    frames = build.frames("sv")
    wire_ns = frames.wire_ps[frames.wire_ps >= 0] / 1000
    late_ns = wire_ns - wire_ns[0] - np.arange(wire_ns.size) * 1e9 / 4800
    assert wire_ns.size > 5000
    assert np.ptp(late_ns) < 2000


def test_what_the_checker_says_of_other_releases() -> None:
    made = scenario()
    plan = planned(made)
    for turns_ns, said in (
        ([at + 2000 * (turn == 4) for turn, at in enumerate(plan["streams"]["sv"]["turns_ns"])],
         "frame 4 of sv leaves more than a slot from its instant"),
        (plan["streams"]["sv"]["turns_ns"][:5], "its windows are not those of its route"),
    ):  # fmt: skip
        spoiled = copy.deepcopy(plan)
        spoiled["streams"]["sv"]["turns_ns"] = turns_ns
        assert any(said in text for text in problems(made, spoiled))


@pytest.mark.parametrize("control_ns", [24_064, 838_064])
def test_cp_sat_places_the_frames_of_a_rate_together(control_ns: int) -> None:
    """The fifth one is where the control stream may be, or not."""
    made = scenario(more="offset_ns = 4064", control=f'1 ms"\noffset_ns = {control_ns} #')
    network = ground.Ground(made)
    answer = exact.solve(network, network.flows, {}, Limits())
    assert answer is not None
    if control_ns == 838_064:
        assert answer.impossible
        return
    assert answer.placed is not None
    releases_ns = [one.release_ps // 1000 for one in answer.placed[0]]
    assert releases_ns == instants_ns(made, planned(made))[:6]


@pytest.mark.parametrize(("reserve_slots", "answer"), [(619, "feasible"), (620, "infeasible")])
def test_each_frame_of_a_rate_has_a_slot_of_the_partition(reserve_slots: int, answer: str) -> None:
    streams, options = (scenario().stream[0],), scenario().station[0].keepon
    asked = isolation.Question(streams, options, 2_000_000, 64_000, 625, reserve_slots)
    assert isolation.decide(asked).answer == answer


def test_talkers_of_targets_with_one_release_a_period_refuse_a_rate() -> None:
    made = scenario()
    guest = SimpleNamespace(plan=planned(made), scenario=made, target="vm")
    with pytest.raises(
        ConfigError, match=r"`stream\[0\].rate_hz` .* which the talker of target vm"
    ):
        talk_words(cast(Guest, guest), made.stream[0], [], "", "", "")


def test_tsnkit_has_every_frame_of_the_talker() -> None:
    made = scenario()
    plan = planned(made)
    exported = tsnkit.export(Planned(made, plan))
    rows = exported.files["sampled-values-GCL.csv"].splitlines()
    starts_ns = [int(row.split(",")[3]) for row in rows if row.startswith('"(0, 3)"')]
    assert starts_ns == instants_ns(made, plan)[:6]
    assert "streams sv: the period of a rate is rounded down to ns" in exported.notes


@pytest.mark.parametrize(
    ("rate", "more", "said"),
    [
        ('rate_hz = "59.94"', "", 'repeats in whole ns after 2997 frames: must do so after at most'
         ' 128; write "60000/1001" if that is meant'),
        ("rate_hz = 44100", "", "after 441 frames: must do so after at most 128; state period_ns ="
         " 22640, which is near"),
        ("rate_hz = 59.94", "", 'write "60000/1001" if that is meant'),
        ('rate_hz = "1/0"', "", "must be a number between 0.1 and 1000000, or a fraction in"),
        ("rate_hz = 4800\nperiod_ns = 208_334", "", "contradicts rate_hz; leave one of the two"),
        ("period_ns = 208_333", "", "rate_hz = 4800 in place of period_ns"),
        ("period_ns = 16_683_333", "", 'rate_hz = "60000/1001" in place of period_ns'),
        ("rate_hz = 4800", "jitter_ns = 1_000", "must be at least 1667, as each frame leaves"),
    ],
)  # fmt: skip
def test_what_is_no_rate_is_answered_with_what_works(rate: str, more: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        make_plan(scenario(rate, more))
    assert said in str(error.value)


def test_a_run_begins_though_its_cycles_would_together_in_ages_only() -> None:
    """59.94 and 29.97 pictures in whole ns beside 1 ms: 5.6e20 ns, out of range, so that the run
    begins at the one multiple of them in reach, 0.
    """
    apart = [
        *(port_cases.leaf(name) for name in ("a", "b", "c", "x", "y", "z")),
        port_cases.bridge("sw", "none"),
        *(port_cases.link(name, "sw") for name in "abcxyz"),
        *(port_cases.stream(talker, talker, listener, period_ns=period_ns)
          for talker, listener, period_ns in (("a", "x", 16_683_333), ("b", "y", 33_366_667),
                                              ("c", "z", 1_000_000))),
    ]  # fmt: skip
    build, found = port_cases.ran(port_cases.scenario_of(*apart))
    assert build.epoch_ns == 0
    assert found["streams"]["c"]["outcome"] == "met"
    assert [entry["missing"] for entry in found["streams"].values()] == [0, 0, 0]
