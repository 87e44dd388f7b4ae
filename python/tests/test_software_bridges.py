# SPDX-License-Identifier: BSD-3-Clause
"""Bridges that forward in software, in scenarios, plans, results and refusals."""

from __future__ import annotations

import copy

import pytest
from helpers import ROOT
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner.network.ground import Ground
from keepon.planner.partition.limits import Limits
from keepon.planner.verify import problems
from keepon.report import screen
from keepon.targets.sim import software
from keepon.targets.vm import target
from port_cases import bridge, leaf, link, planned, ran, scenario_of, station, stream

EXAMPLE = (ROOT / "examples" / "tsn" / "software.toml").read_text(encoding="utf-8")


def example(before: str = "", after: str = "") -> Scenario:
    assert before in EXAMPLE
    return loading.parse(EXAMPLE.replace(before, after, 1) if before else EXAMPLE, "software.toml")


@pytest.mark.slow
def test_a_timed_stream_keeps_its_bound_beside_software() -> None:
    """L26: what passes the PC has no bound, and jitter of some us."""
    scenario = example()
    plan = planned(scenario)
    assert plan["streams"]["pictures"]["bounds"]["delay_ns"] is None
    assert "software forwards at pc: no bound for what passes" in screen.needs(scenario, plan)
    build, document = ran(scenario, plan)
    streams = document["streams"]
    assert [streams[name]["by_bounds"] for name in ("set", "pictures")] == [
        "met",
        "nothing checked",
    ]
    assert streams["pictures"]["missing"] == 0
    assert streams["pictures"]["delay_ns"]["stddev"] > 1_000 > streams["set"]["delay_ns"]["stddev"]
    used = {entry.parameter: entry.kind for entry in build.used_sources()["pc (bridge)"]}
    assert used["wait: median_ns"] == used["frame: median_ns"] == "calibrated"
    assert used["software: hogs"] == used["frame: sigma"] == "chosen"


def around(forwarding: str = "bridge", **stated: object) -> Scenario:
    """From "a" to "b" over switches "s" and "t", between which "pc" is another way."""
    parts = [station("a"), leaf("b"), bridge("s"), bridge("pc") + f'forwarding = "{forwarding}"\n']
    parts += [bridge("t"), link("a", "s"), link("s", "t"), link("t", "b"), link("s", "pc")]
    return scenario_of(*parts, link("pc", "t"), stream("x", "a", "b", **stated))


def test_other_streams_go_around_software() -> None:
    for forwarding, ways in (("hardware", 2), ("bridge", 1)):
        (flow,) = Ground(around(forwarding), Limits()).flows
        assert len(flow.trees) == ways
    plan = planned(around())
    assert plan["streams"]["x"]["route"] == ["s", "t"]
    over = copy.deepcopy(plan)
    over["streams"]["x"]["routes"]["b"] = over["streams"]["x"]["route"] = ["s", "pc", "t"]
    assert problems(around(), over) == ["x: a route passes a bridge that keeps no time"]
    with pytest.raises(
        ConfigError, match=r"`stream\[0\].talker` \(stream \"x\"\) = \"a\": must be"
    ):
        around(route=["s", "pc", "t"])


def test_what_is_stated_is_chosen_and_the_rest_is_as_the_way_has_it() -> None:
    for way, priority, poll_ns, cost_ns in (
        ("bridge", "softirq", 0, 575), ("xdp", "softirq", 0, 116), ("af-xdp", "fifo", 2_000, 50),
    ):  # fmt: skip
        (pc, _) = example('"xdp"', f'"{way}"').bridge
        made, _ = software.spec(pc)
        assert made is not None
        assert (made.priority, made.poll_ns) == (priority, poll_ns)
        assert (made.frame.median_ns, made.irq_gap_ns) == (cost_ns, 100_000)
    (pc, _) = example("hogs = 1", "frame = { median_ns = 9 }, cores = 2").bridge
    made, sources = software.spec(pc)
    assert made is not None and (made.frame.median_ns, made.cores, made.hogs) == (9, 2, 0)
    used = {entry.parameter: entry.source_id for entry in sources}
    assert used["frame: median_ns"] == "scenario: host table"
    assert used["software: cores"] == "scenario" and "software: hogs" not in used


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('"xdp"', '"xdp", gates = "cqf", cqf_cycle_ns = 1_000_000', "`bridge[0].gates`"),
        ('"xdp"', '"xdp", police = "edge"', "`bridge[0].police` (bridge"),
        ('"xdp"', '"xdp", stream_filter = [{ max_sdu_bytes = 99 }]', "`bridge[0].stream_filter`"),
        ('name = "sw"', 'name = "sw", shaper = [{ priority = 3, idle_slope_bps = 9 }]',
         "`bridge[1].shaper` (bridge"),
        ('"xdp"', '"hardware"', "`bridge[0].software` (bridge"),
        ('driver = "foreign"', 'driver = "launchtime"', "`stream[1].talker` (stream"),
        ("duration_s", 'sync = { mode = "gptp", grandmaster = "sw" }\nduration_s', "`sync.mode`"),
        ("advance_ns", "redundancy = 2\nadvance_ns", "`stream[0].redundancy` (stream"),
        ("10_000.0", "-1.0", "`bridge[0].software.interrupts_hz` (bridge"),
    ],
)  # fmt: skip
def test_what_needs_known_times_is_refused(before: str, after: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        example(before, after)
    assert sentence in str(refused.value)


def test_guests_do_not_forward_in_software() -> None:
    with pytest.raises(ConfigError, match=r"`bridge\[1\].forwarding` = \"bridge\": must be"):
        target.check_supported(around())
