# SPDX-License-Identifier: BSD-3-Clause
"""Asynchronous traffic shaping: bounds by hand and by others, and runs that keep them."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from helpers import ROBOT_CELL
from keepon.errors import ConfigError
from keepon.export import commands, tsnkit
from keepon.export.exported import Planned
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems
from port_cases import bridge, link, planned, ran, scenario_of, station, stream, table
from test_shaping import cameras

HEAD = "defaults = { rate_bps = 100_000_000, propagation_ns = 0 }\n"
# Flows of "The Delay Bound Analysis Based on Network Calculus for Asynchronous Traffic Shaping
# under Parameter Inconsistency" (ICCT 2020), as INET's tests/validation/tsn/trafficshaping/
# asynchronousshaper/icct has them: how many, where they come from and go to, class, period in us,
# bytes. Then the time of a flow's own link in us, which has a talker for all of its streams there,
# the bound published, and the greatest delay in INET.
FLOWS = {
    "cdt": (10, "S1", "N7", 6, 5_000, 100, 201.44, 867.6, 505.16),
    "a2": (10, "S1", "N7", 5, 10_000, 1000, 800, 4665.5, 1579.72),
    "b3": (10, "S1", "N7", 4, 20_000, 1500, 1200, 10902, 3371.72),
    "a4": (5, "S2", "N6", 5, 10_000, 1000, 400, 2505.2, 932.04),
    "b5": (5, "S2", "N6", 4, 20_000, 1500, 600, 5678.3, 2162.12),
    "a6": (5, "S3", "N7", 5, 10_000, 800, 0, 0, 0),
    "b7": (5, "S3", "N7", 4, 20_000, 1200, 0, 0, 0),
}


def shaped(*priorities: int) -> str:
    each = ", ".join(f'{{ priority = {own}, kind = "asynchronous" }}' for own in priorities)
    return f"processing_ns = 0\nshaper = [{each}]\n"


def icct() -> Scenario:
    """Each stream has a talker of its own, so that its bursts are frames; a frame has its length on
    the wire with preamble and gap.
    """
    names = ("S1", "S2", "S3")
    parts = [part for name in names for part in (bridge(name, "none"), shaped(4, 5))]
    parts += [link("S1", "S2"), link("S2", "S3")]
    for name, at in (("N0", "S1"), ("N6", "S3"), ("N7", "S3")):
        parts += [station(name, "standard"), link(name, at)]
    for flow, (count, at, end, priority, period_us, size, *_) in FLOWS.items():
        for number in range(count):
            name = f"{flow}-{number}"
            own = {"period_ns": 1000 * period_us, "frame_bytes": size - 20, "priority": priority}
            parts += [station(f"N-{name}", "foreign"), link(f"N-{name}", at)]
            parts.append(stream(name, f"N-{name}", end, **own))
    load = {"id": "be", "talker": "N0", "listener": "N7", "frame_bytes": 1498, "priority": 0}
    return scenario_of(*parts, table("load", load | {"rate_bps": 90_000_000}), head=HEAD)


def waits_us() -> dict[str, list[float]]:
    """Of a frame at each port. CDT, which is not shaped, waits for be, 12144 bits, and for the
    frames before it, 800 bits each, whose bursts grow by 1.6 Mb/s of what they waited. The others
    have bursts of whole frames at each port, and wait for be, or the longest B behind S3.
    """
    cdt = [121.44 + 72]
    for _ in range(2):
        cdt.append(121.44 + 80 + 1.6 * sum(cdt) / 100 - 8)
    burst = [8_000 + 1.6 * sum(cdt[:hops]) for hops in range(3)]
    a = [(12_144 + own + bits - 8_000) / 98.4
         for own, bits in zip(burst, (80_000, 120_000, 112_000), strict=True)]  # fmt: skip
    b = [(12_144 + own + above + bits - 12_000) / (98.4 - rate)
         for own, above, rate, bits in zip(
             burst, (80_000, 120_000, 112_000), (8, 12, 11.2), (120_000, 180_000, 168_000),
             strict=True,
         )]  # fmt: skip
    a4, b5 = (12_000 + 40_000 - 8_000) / 100, (40_000 + 60_000 - 12_000) / 96
    return {"cdt": cdt, "a2": a, "b3": b, "a4": [a[1], a4], "b5": [b[1], b5]}


def test_bounds_are_those_of_the_formula_and_of_others() -> None:
    """Frame and preamble at each bridge, the waits, and a byte of the talker's clock; then with
    gaps and the talkers' links as the paper has them. A and B to N7 are 1.5 % below what it has,
    the others 6 %: it has bursts that the port to N6 does not have (CDT, be), and for CDT no rule
    that is known here. INET's shapes whole classes, and saw less.
    """
    plan, waits = planned(icct()), waits_us()
    for flow, (_, _, _, _, _, size, first_us, published_us, seen_us) in FLOWS.items():
        if published_us:
            delay_ns = plan["streams"][f"{flow}-0"]["bounds"]["delay_ns"]
            frame_us = (size - 12) * 0.08
            found_us = sum(waits[flow]) + frame_us * len(waits[flow])
            assert delay_ns == pytest.approx(1000 * found_us + 1 + 80 * (flow != "cdt"), abs=3)
            whole_us = first_us + found_us + 0.96 * len(waits[flow])
            least = 0.98 if flow in ("a2", "b3") else 0.93
            assert seen_us < least * published_us < whole_us < published_us


@pytest.mark.slow
def test_a_run_keeps_the_bounds_of_others() -> None:
    _, result = ran(icct())
    assert {entry["outcome"] for entry in result["streams"].values()} == {"met"}


def two_lengths(queue_frames: int) -> Scenario:
    """1500 and 100 bytes of the wire, with others of 500 above them that take half of it."""
    parts = [station("plc"), station("R", "standard"), link("plc", "b0"), link("b0", "b1")]
    parts += [bridge("b0", "none"), shaped(5), bridge("b1", "none"), shaped(5), link("R", "b1")]
    parts.insert(-1, f"queue_frames = {queue_frames}\n")
    for name, size, priority, period_ns in (
        ("long", 1480, 5, 1_000_000), ("short", 80, 5, 1_000_000), ("above", 480, 7, 8_000),
    ):  # fmt: skip
        own = {"frame_bytes": size, "priority": priority, "period_ns": period_ns}
        parts += [station(f"d{name}", "foreign"), link(f"d{name}", "b0")]
        parts.append(stream(name, f"d{name}", "R", **own))
    return scenario_of(*parts, head="defaults = { propagation_ns = 0 }\n")


def test_a_frame_waits_at_a_scheduler_for_those_of_its_group() -> None:
    """At b0 what is above has 4000 bits and half of the wire: long begins after 8 + 1.6 us and
    takes 11.84, short after 8 + 24 and takes 0.64, so that long is eligible at b1 20.8 us later
    than if it waited for nothing. There the burst above is 10000 bits, as 12 us may pass until one
    begins: 20 + 1.6 and 20 + 24 us. To each come its frame and preamble, twice, and a byte of its
    talker.

    At b1 12800 bits at once, and 12.8 Mb/s in the 45.6 us that they take and in 32 us before they
    are eligible: 13793 bits, 18 frames of 800.
    """
    plan = planned(two_lengths(18))
    for name, delay_ns in (("long", 20_800 + 21_600 + 23_808), ("short", 76_000 + 1_408)):
        assert plan["streams"][name]["bounds"]["delay_ns"] == delay_ns + 8 + 1
    kept = {own["stream"]: own["max_residence_ns"] for own in plan["bridges"]["b1"]["schedulers"]}
    assert kept == {"long": 20_809, "short": 32_009}  # with that byte, and 1
    with pytest.raises(ConfigError, match="18 frames may wait at once in queue 5"):
        make_plan(two_lengths(17))


def test_committed_rates_are_above_those_before() -> None:
    """504 bytes each 125 us with 80 ppm: a turn of 124.989 us, to a ns; b0 is 90 ppm fast, so that
    it lets go 180 ppm more than a bridge that is 90 ppm slow. A frame is 12.499 us off, and waits
    for the 403 ns by which the one before it may come late: 504 (1 + 12.902 / 124.989) bytes.
    """
    parts = [station("plc"), link("plc", "b0"), station("R", "standard"), link("R", "b1")]
    parts += [
        station("d", "foreign", more="clock_ppm = 80.0\njitter_ns = 12_499\n"),
        link("d", "b0"),
    ]
    for name, ppm in (("b0", 90.0), ("b1", -90.0)):
        parts += [bridge(name, "none"), f"clock_ppm = {ppm}\n", shaped(5)]
    own = {"period_ns": 125_000, "frame_bytes": 484, "priority": 5}
    head = 'sync = { mode = "gptp", grandmaster = "plc" }\n'
    plan = planned(scenario_of(*parts, link("b0", "b1"), stream("s", "d", "R", **own), head=head))
    (first,), (second,) = (plan["bridges"][name]["schedulers"] for name in ("b0", "b1"))
    assert first["cbs_bytes"] == second["cbs_bytes"] == 557
    assert first["cir_bps"] == pytest.approx(504 * 8 / 124.989e-6, rel=1e-7)
    assert second["cir_bps"] == pytest.approx(
        first["cir_bps"] / (1 - 90e-6) * (1 + 90e-6), rel=1e-7
    )
    assert first["max_residence_ns"] == 9  # a byte of the talker, and 1


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_keep_their_bounds(seed: int) -> None:
    """With schedulers at some of three bridges, and classes with credit beside them."""
    scenario = cameras(seed, random.Random(~seed))
    plan = make_plan(scenario)
    assert plan["status"] == "feasible" and problems(scenario, plan) == []
    _, result = ran(scenario, plan)
    for name, entry in result["streams"].items():
        assert entry["outcome"] == "met" and not entry["lost"], name


def edited(*changes: tuple[str, str]) -> Scenario:
    path = ROBOT_CELL.parent / "tsn" / "asynchronous.toml"
    text = path.read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    return loading.parse(text, "asynchronous.toml")


def test_a_talker_that_sends_too_often_is_cut_off() -> None:
    """Of its frames, too: which one is in excess is not to be seen."""
    fault = '[[fault]]\nat_s = 0.3\nkind = "babble"\nnode = "front"\nvalue_ns = 20_000\n[[load]]'
    _, result = ran(edited(("[[load]]", fault)))
    lost = {name: set(entry["lost"]) for name, entry in result["streams"].items()}
    assert lost == {"set": set(), "ahead": {"sw1 maximum residence time"}, "behind": set()}
    missed = [name for name, entry in result["streams"].items() if entry["outcome"] != "met"]
    assert missed == ["ahead"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda plan: plan["bridges"]["sw2"]["schedulers"].pop(), "and should not"),
        (lambda plan: scheduler(plan).update(cbs_bytes=600), "keep frames longer"),
        (lambda plan: scheduler(plan).update(cir_bps=33_000_000), "keep frames longer"),
        (lambda plan: scheduler(plan).update(max_residence_ns=9_000), "discard frames"),
        (lambda plan: plan["streams"]["ahead"]["bounds"].update(delay_ns=30_000), "may take"),
    ],
)
def test_the_checker_finds_what_is_wrong(change: Any, said: str) -> None:
    plan = copy.deepcopy(planned(edited()))
    change(plan)
    assert any(said in found for found in problems(edited(), plan))


def scheduler(plan: Any) -> Any:
    return next(own for own in plan["bridges"]["sw2"]["schedulers"] if own["stream"] == "ahead")


ENTRY = 'priority = 5, kind = "asynchronous" }'


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (ENTRY, f"idle_slope_bps = 9, {ENTRY}", 'shaper[0].kind` (bridge "sw1") = "asynchronous":'),
        (ENTRY, "priority = 5 }", 'shaper[0].kind` (bridge "sw1") = "credit-based": goes without'),
        (ENTRY, f"{ENTRY}, {{ {ENTRY}", "already"),
        (ENTRY, f"{ENTRY}, {{ {ENTRY.replace('5', '7')}", '(stream "set") = 7: its traffic class'),
        ('rate_bps = "50', 'priority = 5\nrate_bps = "50', 'load "files" has its traffic class'),
        ('gates = "none"', 'gates = { sw2 = { entries = [{ gates = "0xff", ns = 99_000 },'
         ' { gates = "0x20", ns = 1_000 }] } }', "no bound is known with both"),
        ('gates = "none"', 'gates = "none", preemptable = [0]', "is not for a bridge with shapers"),
        ('gates = "none"', 'gates = "cqf", cqf_cycle_ns = 100_000', "a shaper would hold frames"),
    ],
)  # fmt: skip
def test_what_cannot_be_shaped_is_refused(before: str, after: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make_plan(edited((before, after)))
    assert said in str(refused.value)


def test_linux_has_no_such_shaper() -> None:
    made = Planned(edited(), planned(edited()))
    with pytest.raises(ConfigError, match="Linux has no such shaper"):
        commands.export(made)
    assert "ATS schedulers of sw1, sw2 are left out" in tsnkit.export(made).notes


@pytest.mark.parametrize("kind", ["asynchronous", "credit"])
def test_streams_may_wait_for_each_other_around_a_ring(kind: str) -> None:
    """Each of five devices sends to the station at the bridge after the next one."""
    parts = [station("plc"), link("plc", "b0")]
    for number in range(5):
        name, following, end = (f"b{(number + more) % 5}" for more in range(3))
        credit = "shaper = [{ priority = 5, idle_slope_bps = 99_000_000 }]\n"
        parts += [bridge(name, "none"), credit if kind == "credit" else shaped(5)]
        parts += [link(name, following), station(f"d{name}", "foreign"), link(f"d{name}", name)]
        parts += [station(f"e{name}", "standard"), link(f"e{name}", name)]
        parts.append(stream(f"s{name}", f"d{name}", f"e{end}", frame_bytes=1500, priority=5))
    scenario = scenario_of(*parts)
    if kind == "credit":
        with pytest.raises(ConfigError, match="wait for each other in a circle"):
            make_plan(scenario)
        return
    plan = planned(scenario)
    _, result = ran(scenario, plan)
    assert all(entry["bounds"]["delay_ns"] for entry in plan["streams"].values())
    assert {entry["outcome"] for entry in result["streams"].values()} == {"met"}
