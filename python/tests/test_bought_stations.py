# SPDX-License-Identifier: BSD-3-Clause
"""Stations that are bought: what does not run Keepon, and what a plan still promises."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from keepon.errors import ConfigError
from keepon.machines.planned import link_options
from keepon.machines.station import Machine
from keepon.measure import causes
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems
from keepon.report.screen import uses
from keepon.targets.sim.runner import OWN_RING, by_construction
from port_cases import bridge, link, planned, ran, scenario_of, station, stream, table


def cell(driver: str) -> list[str]:
    """A controller with Keepon sends to a drive with a crystal of its own."""
    return [
        station("plc"), station("drive", driver, more="clock_ppm = 90.0\n"), bridge("sw"),
        link("plc", "sw"), link("drive", "sw"),
        stream("set", "plc", "drive", deadline_ns=60_000),
    ]  # fmt: skip


def test_a_listener_needs_no_keepon() -> None:
    plain = scenario_of(*cell("standard"))
    plan = planned(plain)
    assert plan["streams"] == planned(scenario_of(*cell("keepon")))["streams"]
    assert list(plan["stations"]) == ["plc", "drive"]
    assert plan["stations"]["drive"] == {"driver": "standard", "streams": {}}
    _, result = ran(plain, plan)
    assert result["streams"]["set"]["outcome"] == "met"
    assert result["stations"]["drive"]["nic"]["frames"] == 0


DRIFT_PPM, JITTER_NS = 1000, 200_000
OWN_CLOCK = f"clock_ppm = {DRIFT_PPM}\njitter_ns = {JITTER_NS}\n"
SEEN = {"priority": 4, "frame_bytes": 1500, "deadline_ns": 100_000}
WIRE_NS = 1520 * 8


def watched(gates: str, more: str = OWN_CLOCK, head: str = "", **seen: Any) -> Scenario:
    """The cell with a bought camera whose pictures go to the drive, too."""
    parts = [part.replace('"auto"', f'"{gates}"') for part in cell("standard")]
    pictures = stream("pictures", "cam", "drive", **{**SEEN, **seen})
    return scenario_of(*parts, station("cam", "foreign", more=more), link("cam", "sw"), pictures,
                       head=head)  # fmt: skip


def bound_ns(plan: Plan, name: str = "set") -> int | None:
    return plan["streams"][name]["bounds"]["delay_ns"]


@pytest.mark.parametrize(("gates", "longer_ns"), [("auto", 0), ("none", WIRE_NS)])
def test_bounds_hold_whenever_frames_of_a_bought_device_come(gates: str, longer_ns: int) -> None:
    """Where nothing closes a gate before a frame of theirs, the bound has it."""
    alone = planned(scenario_of(*cell("standard")))
    scenario = watched(gates)
    plan = planned(scenario)
    assert bound_ns(plan) == bound_ns(alone) + longer_ns
    assert (bound_ns(plan, "pictures") is None) == (gates == "auto")  # which they may find shut
    use = {(use.here, use.there): use for use in uses(scenario, plan)}["cam", "sw"]
    assert (use.streams_bps, use.best_effort_bps) == (0, WIRE_NS * 1e3)
    build, result = ran(scenario, plan)
    assert {entry["outcome"] for entry in result["streams"].values()} == {"met"}
    own = build.schedule(scenario.stream[1])
    assert own.cycle_ns == round(10**6 / (1 + DRIFT_PPM * 1e-6))
    apart_ns = result["streams"]["pictures"]["interarrival_ns"]
    assert 100_000 < apart_ns["max"] - own.cycle_ns <= JITTER_NS + 100_000
    assert result["streams"]["pictures"]["release_error_ns"]["max"] < 1


def test_a_bought_device_takes_part_where_ptp_sets_clocks() -> None:
    scenario = watched("none", head='sync = { mode = "ptp", grandmaster = "plc" }\n')
    _, result = ran(scenario)
    assert result["streams"]["pictures"]["outcome"] == "met"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda plan: plan["streams"]["pictures"]["bounds"].update(jitter_ns=50_000), "promised"),
        (lambda plan: plan["streams"]["pictures"].update(delay_planned_ps=1), "waits for nothing"),
        (lambda plan: plan["streams"]["pictures"].update(routes={"drive": []}), "not the shortest"),
        (lambda plan: plan["streams"].pop("pictures"), "not in the plan"),
    ],
)
def test_the_checker_promises_nothing_of_them(change: Any, said: str) -> None:
    scenario = watched("auto")
    plan = copy.deepcopy(planned(scenario))
    change(plan)
    assert any(said in found for found in problems(scenario, plan))


def test_the_checker_knows_of_their_frames() -> None:
    shorter = planned(watched("none", frame_bytes=1400))
    plan = copy.deepcopy(planned(watched("none")))
    plan["streams"]["set"] = shorter["streams"]["set"]
    assert problems(watched("none"), plan)


@pytest.mark.parametrize(
    ("more", "keys", "said"),
    [
        ('release = "sleep"\n', {}, 'key `station[2].release` (station "cam") = "sleep"'),
        ("", {"offset_ns": 5}, 'key `stream[1].offset_ns` (stream "pictures") = 5'),
        ("", {"jitter_ns": 5}, 'key `stream[1].jitter_ns` (stream "pictures") = 5'),
        ("", {"route": ["sw"]}, "key `stream[1].route`"),
        ("", {"period_ns": 10_000}, 'key `stream[1].period_ns` (stream "pictures") = 10000: must'),
        ("", {"priority": 5}, 'key `stream[1].priority` (stream "pictures") = 5: its traffic'),
    ],
)
def test_what_needs_a_clock_is_refused(more: str, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        planned(watched("none", more, **keys))
    assert said in str(refused.value)


def test_other_drivers_have_no_jitter_of_their_own() -> None:
    with pytest.raises(ConfigError, match="jitter_ns"):
        scenario_of(*cell("standard"), "[[station]]\nname = 'z'\njitter_ns = 5\n", link("z", "sw"))


def last_bit(deadline_ns: int) -> Scenario:
    """The cell, whose link to the drive has a tenth of the rate."""
    parts = cell("standard")[:4]
    slow = link("drive", "sw", rate_bps=100_000_000)
    own = stream("set", "plc", "drive", deadline_ns=deadline_ns, deadline_at="last_bit")
    return scenario_of(*parts, slow, own)


def test_a_deadline_of_the_last_bit_is_that_of_planner_checker_and_run() -> None:
    plan = planned(last_bit(60_000))
    entry = plan["streams"]["set"]
    wire_ns = entry["frame_bytes_on_wire"] * 80
    assert entry["last_bit_ns"] == bound_ns(plan) + wire_ns
    sooner = last_bit(entry["last_bit_ns"] - 1)
    assert planned(sooner)["streams"]["set"]["last_bit_ns"] < entry["last_bit_ns"]
    with pytest.raises(ConfigError, match=r"`stream.0..deadline_ns`.*must be at least 20"):
        planned(last_bit(20_000))
    assert problems(sooner, plan) == ["set misses the deadline of its last bit"]
    assert problems(last_bit(60_000), {**plan, "streams": {"set": {**entry, "last_bit_ns": 1}}})
    _, result = ran(sooner, plan)
    run = result["streams"]["set"]
    assert run["bound_check"]["deadline_ns"]["outcome"] == "missed"
    assert run["bound_check"]["delay_ns"]["outcome"] == "met"
    assert run["first_bad"]["seq"] == run["worst"]["seq"]
    _, result = ran(last_bit(60_000), plan)
    assert result["streams"]["set"]["outcome"] == "met"


GENERIC = 'keepon = { backend = "generic" }\n'


def generic(more: str = GENERIC, **own: Any) -> Scenario:
    keys = {"period_ns": 4_000_000, "advance_ns": 3_500_000, **own}
    return scenario_of(station("plc", more=more), *cell("standard")[1:-1],
                       stream("set", "plc", "drive", **keys))  # fmt: skip


def test_the_error_of_the_generic_backend_is_in_bounds() -> None:
    native, plan = planned(generic(more="")), planned(generic())
    for key in ("delay_ns", "release_error_ns"):
        own_ns = [each["streams"]["set"]["bounds"][key] for each in (native, plan)]
        assert own_ns[1] - own_ns[0] == 500_000
    assert problems(generic(), native) == [
        "release interval of set is narrower than its driver can keep"
    ]
    build, result = ran(generic(), plan)
    assert result["streams"]["set"]["outcome"] == "met"
    assert OWN_RING in by_construction(build.scenario)
    words = link_options(Machine(generic(), plan, "keepon", "eth0", "rt0"), generic().station[0])
    assert words[words.index("backend") + 1] == "generic"


@pytest.mark.parametrize(
    ("more", "keys", "said"),
    [
        (GENERIC, {"advance_ns": 2_999_999}, "`stream[0].advance_ns`"),
        (GENERIC.replace(" }", ', clock = "dual" }'), {}, "`station[0].keepon.clock`"),
    ],
)
def test_what_the_generic_backend_cannot_do_is_refused(
    more: str, keys: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        generic(more, **keys)
    assert said in str(refused.value)


def test_a_deadline_that_the_generic_backend_cannot_keep_is_refused() -> None:
    why = make_plan(generic(deadline_ns=100_000))["why"]
    assert why["constraint"] == "deadline"
    assert "delay_ns = 5" in why["message"]


def babbling(driver: str, gates: str = "auto", value_ns: int = 100_000) -> Scenario:
    """The cell with a talker whose stream has the queue of the controller's in the bridge."""
    parts = [part.replace('"auto"', f'"{gates}"') for part in cell("standard")]
    fault = {"at_s": 0.06, "kind": "babble", "node": "io", "value_ns": value_ns}
    get = stream("get", "io", "drive", deadline_ns=60_000)
    return scenario_of(*parts, station("io", driver), link("io", "sw"), get, table("fault", fault))


@pytest.mark.parametrize(
    ("driver", "missed"), [("launchtime", {"set": 30, "get": 30}), ("keepon", {})]
)
def test_a_run_names_the_talker_that_sends_too_often(driver: str, missed: dict[str, int]) -> None:
    """Its frames take windows of others, unless its driver has no slots for them."""
    scenario = babbling(driver)
    plan = planned(scenario)
    _, result = ran(scenario, plan)
    assert {name: entry["missing"] for name, entry in result["streams"].items()
            if entry["outcome"] == "missed"} == missed  # fmt: skip
    named = [causes.text(row) for row in causes.of_run(result, scenario.effective(), plan)]
    named_so = (
        "babble: a talker sends too often: io, one more of get each 100000 ns from 0.06 s on"
        " (30 of set, 30 of get); none: a fault of the scenario asks for it"
    )
    assert named == ([named_so] if missed else [])
    other = {**plan["streams"]["set"], "routes": {"io": ["sw"]}}
    apart = {**plan, "streams": {**plan["streams"], "set": other}}
    (row,) = causes.of_run(result, scenario.effective(), apart) if missed else [{}]
    assert list(row.get("frames", [])) == list(missed)[1:]


def test_a_babbling_talker_is_one_and_its_frames_have_a_period() -> None:
    for change, said in (({"node": "drive"}, "`fault[0].node`"), ({"value_ns": 9}, "value_ns")):
        fault = {"at_s": 0.06, "kind": "babble", "node": "plc", "value_ns": 1000, **change}
        with pytest.raises(ConfigError) as refused:
            scenario_of(*cell("standard"), table("fault", fault))
        assert said in str(refused.value)
