# SPDX-License-Identifier: BSD-3-Clause
"""Shaped classes: bounds worked out by hand, by others and by the checker, and runs that keep
them.
"""

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
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.checker import foreign
from keepon.planner.checker.given import Given
from keepon.planner.checker.shaped import Shapes
from keepon.planner.checker.unplanned import Unplanned
from keepon.planner.verify import problems
from port_cases import bridge, link, planned, ran, scenario_of, station, stream, table

HEAD = "defaults = { rate_bps = 100_000_000, propagation_ns = 0 }\n"
SLOPES = {5: 10_976_000, 6: 21_952_000}


def shaper(slopes: dict[int, int], **more: Any) -> str:
    each = "".join(
        f"{{ priority = {priority}, "
        + (f"idle_slope_bps = {slope} }}, " if slope else 'kind = "asynchronous" }, ')
        for priority, slope in slopes.items()
    )
    keys = "".join(f"{key} = {value}\n" for key, value in more.items())
    return f"{keys}shaper = [{each}]\n"


def medium_network(slopes: dict[int, int], jitter_ns: int = 0, be_bytes: int = 1518) -> Scenario:
    """CoRE4INET's examples/tsn/medium_network as INET has it in tests/validation/tsn/
    trafficshaping/creditbasedshaper: 100 Mb/s, 8 us of processing.
    """
    parts = [station("R", "standard")]
    for name in ("S0", "S5", "S6", "S7"):
        parts += [station(name, "foreign", more=f"jitter_ns = {jitter_ns}\n"), link(name, "sw")]
    parts += [bridge("sw", "none"), shaper(slopes, processing_ns=8_000), link("sw", "R")]
    for name, talker, period_ns, frame_bytes, priority in (
        ("medium", "S5", 250_000, 322, 5),
        ("high", "S6", 125_000, 322, 6),
        ("critical", "S7", 300_000, 1522, 7),
    ):
        own = {"period_ns": period_ns, "frame_bytes": frame_bytes, "priority": priority}
        parts.append(stream(name, talker, "R", **own))
    load = {"id": "be", "talker": "S0", "listener": "R", "priority": 0, "frame_bytes": be_bytes}
    load["rate_bps"] = be_bytes * 8 * 8_000
    return scenario_of(*parts, table("load", load), head=HEAD)


def bounds_ns(plan: Plan) -> dict[str, int | None]:
    return {name: entry["bounds"]["delay_ns"] for name, entry in plan["streams"].items()}


def test_bounds_are_those_of_the_formula() -> None:
    """Bits of the wire: be 12304, critical 12336 and 41.12 Mb/s, high 2736, of which 78.048 % lack
    after a frame.

    critical: 12304 / 100 Mb/s
    high: (12304 + 12336) / (100 - 41.12) Mb/s
    medium: (12304 + 12336 + 2135.393) / (100 - 41.12 - 21.952) Mb/s
    Each frame takes 34.4 us besides, or 130.4: frame and preamble at the bridge, and 8 us. A run
    has instants at the talker in whole ns.
    """
    assert bounds_ns(planned(medium_network(SLOPES))) == {
        "critical": 123_040 + 130_400 + 1,
        "high": 418_479 + 34_400 + 1,
        "medium": 725_071 + 34_400 + 1,
    }


def test_bursts_of_a_class_are_sent_at_its_slope() -> None:
    """With 25 us of jitter a second frame of high is a fifth there, at 21.952 Mb/s; it may come
    0.2 of a frame sooner by the wait for the own frame before it: 2736 (1 + 30.472 / 125) in all.
    critical has bursts of 12336 (1 + 35.28 / 300), as 10.28 us are 25 / 300 of 123.36.
    """
    burst = 2736 * (25_000 + 25_000 / 125_000 * 27_360) / 125_000
    critical = 12_336 * (1 + (25_000 + 25 / 300 * 123_360) / 300_000)
    wait_ns = burst / 0.021952 + (12_304 + critical) / 0.05888
    bound_ns = bounds_ns(planned(medium_network(SLOPES, 25_000)))["high"]
    assert bound_ns is not None and 0 <= bound_ns - wait_ns - 34_401 < 1


# A frame with preamble, and the greatest delays of CoRE4INET and INET for the same network, from
# the first bit at the talker to the last one at the listener, in ns.
SEEN = {
    "medium": (26_400, 540_000, 535_939),
    "high": (26_400, 307_200, 307_260),
    "critical": (122_400, 375_840, 375_780),
}


def test_what_others_saw_is_within_the_bounds() -> None:
    """That of critical is the bound itself. INET's of high is 60 ns above CoRE4INET's: it has
    cables of 100 ns, and medium comes a ns later than high.
    """
    bound = bounds_ns(planned(medium_network(SLOPES)))
    for name, (frame_ns, *seen_ns) in SEEN.items():
        least_ns = (bound[name] or 0) - 1 + frame_ns
        assert max(seen_ns) <= least_ns
    assert least_ns == SEEN["critical"][1]


def test_busy_periods_are_what_core4inet_saw() -> None:
    """Of critical one frame comes in 300 us: high waits for it and be, 12304 + 12336 bits, and
    medium for two, (12304 + 2 * 12336 + 2135.39328) / (100 - 21.952) Mb/s.
    """
    scenario = medium_network(SLOPES)
    own, timed, theirs = foreign.apart(scenario, planned(scenario))
    given = Given(own, timed)
    waits = Shapes(given, Unplanned(given), theirs).waits
    found = {name: float(wait or 0) / 1e6 for (_, name), wait in waits.items()}
    assert found == pytest.approx(
        {"critical": 123.04, "high": 246.4, "medium": 39_111.39328 / 78.048}
    )
    for name, (frame_ns, core4inet_ns, _) in SEEN.items():
        # Two frames and 8 us of processing, and the wait.
        bound_ns = 2 * frame_ns + 8_000 + 1000 * found[name]
        assert (
            bound_ns > core4inet_ns if name == "medium" else bound_ns == pytest.approx(core4inet_ns)
        )


def test_a_run_sees_what_others_saw() -> None:
    """Within 1 % of CoRE4INET, and never more: frames are fetched 0.8 us after their instants here,
    and loads begin with the streams.
    """
    _, result = ran(medium_network(SLOPES))
    for name, (frame_ns, core4inet_ns, _) in SEEN.items():
        entry = result["streams"][name]
        seen_ns = entry["bound_check"]["delay_ns"]["worst_ns"] + frame_ns
        assert entry["outcome"] == "met" and 0.99 * core4inet_ns < seen_ns <= core4inet_ns


def cameras(seed: int, kinds: random.Random | None = None) -> Scenario:
    """Three bridges in a row with devices at them, and two or three shaped classes; with `kinds`
    some of them asynchronous, at some bridges.
    """
    draw = random.Random(seed)
    names = [f"b{number}" for number in range(3)]
    sync = draw.choice(("", 'sync = { mode = "gptp", grandmaster = "plc" }\n'))
    parts = [station("plc"), station("R", "standard"), link("plc", "b0"), link("R", "b2")]
    parts += [link("b0", "b1"), link("b1", "b2")]
    classes, streams = draw.sample((2, 3, 4, 5), 3), []
    slopes = dict.fromkeys(classes[: draw.choice((2, 3))], 0)
    for number in range(draw.randrange(3, 8)):
        name, jitter_ns = f"d{number}", draw.choice((0, 3_000, 400_000))
        more = f"jitter_ns = {jitter_ns}\nclock_ppm = {draw.choice((-90.0, 0.0, 90.0))}\n"
        parts += [station(name, "foreign", more=more), link(name, draw.choice(names))]
        for part in range(draw.choice((1, 1, 2))):
            own = {
                "period_ns": draw.choice((125_000, 250_000, 700_000)),
                "frame_bytes": draw.randrange(64, 1519),
                "priority": draw.choice(classes),
            }
            streams.append(stream(f"s{number}{part}", name, "R", **own))
            rate_bps = (own["frame_bytes"] + 20) * 8 * 10**9 / own["period_ns"]
            if own["priority"] in slopes:
                slopes[own["priority"]] += int(rate_bps * draw.choice((1.001, 1.5))) + 1
    for name in names:
        given = {each: max(own, 1) for each, own in slopes.items()}
        if kinds is not None:
            given |= {each: 0 for each in given if kinds.random() < 0.7}
        parts += [bridge(name, "none"), shaper(given),
                  f"clock_ppm = {draw.choice((-90.0, 0.0, 90.0))}\n"]  # fmt: skip
    load = {"id": "be", "talker": "plc", "listener": "R", "rate_bps": 400_000_000, "priority": 0}
    set_point = stream("set", "plc", "R", priority=7, frame_bytes=300)
    return scenario_of(*parts, *streams, set_point, table("load", load), head=sync)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_keep_their_bounds(seed: int) -> None:
    scenario = cameras(seed)
    plan = make_plan(scenario)
    assert plan["status"] == "feasible" and problems(scenario, plan) == []
    _, result = ran(scenario, plan)
    shaped = {shaper.priority for shaper in scenario.bridge[0].shaper}
    for entry in scenario.stream:
        assert result["streams"][entry.id]["outcome"] == "met"
        if entry.priority in shaped:
            assert plan["streams"][entry.id]["bounds"]["delay_ns"] is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda entry: entry["bounds"].update(delay_ns=entry["bounds"]["delay_ns"] - 2),
            "may take",
        ),
        (lambda entry: entry["bounds"].update(jitter_ns=9), "keeps no time"),
        (lambda entry: entry["terms"].update(blocked_ps=1), "terms"),
    ],
)
def test_the_checker_finds_a_bound_that_is_none(change: Any, said: str) -> None:
    scenario = medium_network(SLOPES)
    plan = copy.deepcopy(planned(scenario))
    change(plan["streams"]["high"])
    assert any(said in found for found in problems(scenario, plan))


@pytest.mark.parametrize(
    ("other", "name", "jitter_ns"),
    [
        (medium_network(SLOPES, be_bytes=1517), "critical", 0),
        (medium_network(SLOPES, 10_000), "high", 125_000),
    ],
)
def test_the_checker_knows_what_goes_before(other: Scenario, name: str, jitter_ns: int) -> None:
    """Bounds for a shorter frame below, and for talkers that have less jitter."""
    scenario = medium_network(SLOPES, jitter_ns)
    plan = copy.deepcopy(planned(scenario))
    plan["streams"][name] = planned(other)["streams"][name]
    assert problems(scenario, plan)


def test_a_full_queue_has_no_bound() -> None:
    """With 250 us of jitter, and what frames wait for their own at the talker: high comes at turns
    of 125 us, off by 304.72, critical by 323.36. High waits 123.04 + 3 * 123.36 for others and up
    to 3 * 124.636 - 70.28 for itself, 796.75 us in all: (796.75 + 304.72) / 125 + 1 frames.
    """
    scenario = medium_network(SLOPES, 250_000)
    plan = planned(scenario)
    for frames, said in ((8, ["9 frames may be in queue 6 of sw towards R"]), (9, [])):
        sw = scenario.bridge[0].model_copy(update={"queue_frames": frames})
        short = scenario.model_copy(update={"bridge": [sw]})
        assert [found for found in problems(short, plan) if "in queue" in found] == said


def edited(before: str, after: str) -> Scenario:
    path = ROBOT_CELL.parent / "tsn" / "shaping.toml"
    text = path.read_text(encoding="utf-8")
    assert before in text
    return loading.parse(text.replace(before, after, 1), "shaping.toml")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"60 Mb/s"', '"961 Mb/s"', "shaper[1].idle_slope_bps` (bridge \"sw2\") = 961000000: must"
         " be at most 960000000, what the link to \"rear\" (1000000000 bit/s) has left"),
        ('"40 Mb/s" }]', '"40 Mb/s", ports = ["drive"] }]', 'ports[0]` (bridge "sw1") = "drive": no'
         " such neighbour; it has plc, front, sw2"),
        ('"40 Mb/s" }]', '"40 Mb/s" }, { priority = 5, idle_slope_bps = 1 }]', "already"),
        ('"40 Mb/s" }]', '"33 Mb/s" }]', "shaper[0].idle_slope_bps` (bridge \"sw1\") = 33000000:"
         " must be at least 3328"),
        ('"40 Mb/s" }]', '"40 Mb/s" }, { priority = 7, idle_slope_bps = 9 }]', 'stream[0].priority`'
         ' (stream "set") = 7: its traffic class has a shaper on the link "sw1" to "sw2"'),
        ('rate_bps = "50 Mb/s"', 'rate_bps = "50 Mb/s"\npriority = 5', 'load "files" has its'),
        ('rate_bps = "50 Mb/s"', 'rate_bps = "50 Mb/s"\npriority = 6', 'load "files" has its'),
        ("name = \"sw1\"\n", "name = \"sw1\"\nqueue_frames = 1\n", "raise queue_frames of bridge"),
        ("seed = 1", 'seed = 1\nsync = { mode = "gptp", grandmaster = "plc", priority = 5 }',
         "PTP's messages, whose priority is 5"),
    ],
)  # fmt: skip
def test_what_cannot_be_shaped_is_refused(before: str, after: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make_plan(edited(before, after))
    assert said in str(refused.value)


def test_a_deadline_below_the_bound_has_no_plan() -> None:
    plan = make_plan(edited("deadline_ns = 500_000", "deadline_ns = 100_000"))
    assert (plan["status"], plan["why"]["constraint"]) == ("infeasible", "deadline")
    own, due = planned(edited("seed", "seed")), edited("deadline_ns = 500_000", "deadline_ns = 9")
    assert "ahead misses its deadline" in problems(due, own)


def test_gates_that_shut_leave_no_bound_and_the_rate() -> None:
    """Open for half of the cycle; ahead takes five sixths of its slope and loses no frame."""
    entries = '[{ gates = "0xa0", ns = 250_000 }, { gates = "0xdf", ns = 250_000 }]'
    gates = f"gates = {{ drive = {{ entries = {entries} }} }}\nshaper = [\n"
    scenario = edited('gates = "none"\nshaper = [\n', gates)
    plan = planned(scenario)
    assert bounds_ns(plan)["ahead"] is None
    _, result = ran(scenario, plan)
    assert result["streams"]["ahead"]["lost"] == {}


def test_tc_gets_the_shapers() -> None:
    """hicredit of class 5: 40 Mb/s of 220 bytes of set and 1542 below; locredit: 96 % of 520."""
    scenario = edited("seed", "seed")
    files = commands.export(Planned(scenario, planned(scenario))).files
    shaped = [line for line in files["sw1.sh"].splitlines() if " cbs " in line]
    assert shaped == [
        "tc qdisc replace dev swp2 parent 100:6 cbs idleslope 40000 sendslope -960000 hicredit 71"
        ' locredit -499 offload "$shaping"'
    ]
    assert " mqprio num_tc 8 map 1 0 2 3 4 5 6 7 " in files["sw1.sh"]
    made = tsnkit.export(Planned(scenario, planned(scenario)))
    assert "shapers of sw1, sw2 are left out: --format commands has them" in made.notes


ODD_NS = (1_000_003, 1_250_007, 3_000_011)


def rate_constrained(frame_bytes: int, deadline_ns: int) -> Scenario:
    """Frames of avionics: a gap (BAG) and no instants, by a bridge without shapers or gates."""
    names = [f"V{number}" for number in range(3)]
    keys = {"frame_bytes": frame_bytes, "priority": 4, "deadline_ns": deadline_ns}
    parts = [station("z", "standard"), bridge("sw", "none"), link("z", "sw")]
    for name, period_ns in zip(names, ODD_NS, strict=True):
        parts += [station(f"t{name}", "foreign"), link(f"t{name}", "sw")]
        parts.append(stream(name, f"t{name}", "z", period_ns=period_ns, **keys))
    return scenario_of(*parts)


def test_streams_of_any_periods_have_a_bound() -> None:
    """1600 ns to the bridge, 2000 in it, 64 of preamble and 100 of cables, and before it two frames
    of 1760 ns with preamble and gap; a run has whole ns: 1 more.
    """
    scenario = rate_constrained(200, 7_285)
    plan = planned(scenario)
    assert [entry["bounds"]["delay_ns"] for entry in plan["streams"].values()] == [7_285] * 3
    assert {entry["outcome"] for entry in ran(scenario, plan)[1]["streams"].values()} == {"met"}
    less = copy.deepcopy(plan)
    less["streams"]["V0"]["delay_planned_ps"] -= 1
    less["streams"]["V0"]["terms"]["blocked_ps"] -= 1
    assert problems(scenario, less) == ["V0: a frame may take 7284.000 ns"]
    late = make_plan(rate_constrained(200, 7_284))
    assert (late["status"], late["why"]["constraint"]) == ("infeasible", "deadline")


def test_streams_that_fill_a_link_are_refused() -> None:
    parts = [station("z", "standard"), bridge("sw", "none"), link("z", "sw", rate_bps=10**8)]
    for number in range(2):
        parts += [station(f"t{number}", "foreign"), link(f"t{number}", "sw")]
        keys = {"period_ns": 200_000, "frame_bytes": 1500, "priority": 4}
        parts.append(stream(f"s{number}", f"t{number}", "z", **keys))
    said = 'key `stream\\[0\\].period_ns` .* = 200000: what is sent fills the link to "z"; lengthen'
    with pytest.raises(ConfigError, match=said):
        make_plan(scenario_of(*parts))


def test_a_gate_that_leaves_a_shaper_too_little_is_refused() -> None:
    """A tenth of 100 Mb/s is 10 Mb/s at most."""
    gates = (
        '[bridge.gates.R]\nentries = [{ gates = "0x20", ns = 10_000 },'
        ' { gates = "0xdf", ns = 90_000 }]\n'
    )
    for slope, said in ((10_000_001, "must be at most 10000000, as its gate"), (10**7, "")):
        parts = [station("R", "standard"), station("S", "foreign"), link("S", "sw")]
        own = shaper({5: slope}) + gates
        parts += [bridge("sw", "none").replace('gates = "none"\n', own), link("sw", "R")]
        parts.append(stream("s", "S", "R", frame_bytes=64, priority=5))
        scenario = scenario_of(*parts, head=HEAD)
        if said:
            with pytest.raises(ConfigError, match=said):
                make_plan(scenario)
        else:
            planned(scenario)


@pytest.mark.parametrize(("driver", "is_sure"), [("launchtime", True), ("standard", False)])
def test_there_is_no_bound_beside_talkers_that_keep_no_times(driver: str, is_sure: bool) -> None:
    parts = [station("z", "standard"), bridge("sw", "none"), link("z", "sw")]
    for name, kind, priority in (("V", "foreign", 4), ("S", driver, 5)):
        parts += [station(f"t{name}", kind, "tsn-end-station"), link(f"t{name}", "sw")]
        parts.append(stream(name, f"t{name}", "z", priority=priority))
    scenario = scenario_of(*parts)
    plan = planned(scenario)
    assert (plan["streams"]["V"]["bounds"]["delay_ns"] is not None) == is_sure
    promised: Any = copy.deepcopy(plan)
    promised["streams"]["V"]["bounds"]["delay_ns"] = 100_000
    said = problems(scenario, promised)
    assert said == ([] if is_sure else ["V: no bound is shown"])
