# SPDX-License-Identifier: BSD-3-Clause
"""Stations of several ports: what runs, results, reports and commands make of them, and which are
refused.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import ROOT
from keepon.errors import ConfigError, PlanRejectedError
from keepon.measure import results
from keepon.measure.results import FrameArrays
from keepon.model import loading
from keepon.model.result import Slips
from keepon.model.timing import talk_start_ns
from keepon.planner import plan as make_plan
from keepon.planner.verify import problems
from keepon.report import gantt, sections
from keepon.targets.sim.runner import run_all
from keepon.trial.trial import trial
from port_cases import (
    bridge,
    gateway,
    leaf,
    link,
    planned,
    ran,
    run_keepon,
    scenario_of,
    station,
    stream,
    table,
    text_of,
)

GPTP = '[sync]\nmode = "gptp"\ngrandmaster = "b0"\npriority = 7\n'


def test_a_station_with_a_system_clock_follows_gptp_by_one_of_its_ports() -> None:
    parts = [station("gw", "standard"), leaf("s0"), leaf("s1"), bridge("b0"), bridge("b1")]
    parts += [link("gw", "b0"), link("gw", "b1"), link("b0", "b1"), link("s0", "b0")]
    parts += [link("s1", "b1"), stream("x", "s0", "gw"), stream("y", "s1", "gw")]
    parts.append(stream("z", "gw", "s1", priority=4))
    text = text_of(*parts, head=GPTP).replace("warmup_s = 0.05", "warmup_s = 20.0")
    scenario = loading.parse(text, "gptp.toml")
    plan = planned(scenario)
    assert plan["streams"]["z"]["bounds"]["delay_ns"] is None
    assert trial(scenario, plan)["delivered"] > 0
    _, result = ran(scenario, plan)
    assert result["stations"]["gw"]["clock"]["sync"]["received"] > 100
    assert [result["streams"][name]["outcome"] for name in "xy"] == ["met", "met"]


# -- faults


@pytest.mark.parametrize("port", [0, 1])
def test_a_link_that_is_down_cuts_what_leaves_by_its_port(port: int) -> None:
    fault = table("fault", {"at_s": 0.06, "kind": "link-down", "node": f"gw.{port}",
                            "value_ns": 5_000_000})  # fmt: skip
    scenario = gateway(stream("x", "gw", "s0"), stream("y", "gw", "s1"), fault)
    _, result = ran(scenario)
    delivered = [result["streams"][name]["delivered"] for name in "xy"]
    assert delivered[1 - port] == 50
    assert 44 <= delivered[port] <= 46


# -- plans that are kept, results, reports


def test_streams_of_an_earlier_plan_stay_in_the_slots_of_their_port() -> None:
    streams = [stream("x", "gw", "s0"), stream("y", "gw", "s1", frame_bytes=600)]
    rates = (10**9, 10**8)
    before = planned(gateway(*streams, rates=rates))
    # Alone it would have the rings made longer.
    early = stream("z", "gw", "s1", period_ns=2_000_000, advance_ns=3_000_000)
    scenario = gateway(*streams, early, rates=rates)
    again = make_plan(scenario)["stations"]["gw.1"]["ring_slots"]
    assert again > before["stations"]["gw.1"]["ring_slots"]
    after = make_plan(scenario, None, before)
    assert after["kept"] == ["x", "y"]
    assert problems(scenario, after) == []
    sizes = [before["stations"][f"gw.{i}"]["slot_bytes"] for i in range(2)]
    assert sizes[0] != sizes[1]
    assert [after["stations"][f"gw.{i}"]["slot_bytes"] for i in range(2)] == sizes
    rings = [plan["stations"]["gw.1"]["ring_slots"] for plan in (before, after)]
    assert rings[0] == rings[1]
    for name in "xy":
        assert after["streams"][name]["release_ns"] == before["streams"][name]["release_ns"]


def test_ports_keep_their_slots_where_links_are_listed_in_another_order() -> None:
    """Their numbers are others then."""
    streams = [stream("x", "gw", "s0"), stream("y", "gw", "s1", frame_bytes=600)]
    nodes = [station("gw"), leaf("s0"), leaf("s1")]
    links = [link("gw", "s0"), link("gw", "s1", rate_bps=10**8)]
    before = planned(scenario_of(*nodes, *links, *streams))
    turned = scenario_of(*nodes, *links[::-1], *streams)
    after = make_plan(turned, None, before)
    assert after["kept"] == ["x", "y"] and problems(turned, after) == []
    for own, earlier in ("gw.0", "gw.1"), ("gw.1", "gw.0"):
        for key in ("peer", "slot_bytes", "ring_slots"):
            assert after["stations"][own][key] == before["stations"][earlier][key]


def test_late_frames_of_another_port_excuse_no_broken_bound() -> None:
    """They take nothing from it: it has a wire and slots of its own."""
    crowd = [stream(f"x{i}", "gw", "s0", advance_ns=60_000) for i in range(12)]
    nodes = [station("gw"), leaf("s0"), leaf("s1"), link("gw", "s0"), link("gw", "s1")]
    scenario = scenario_of(*nodes, *crowd, stream("y", "gw", "s1"))
    plan = make_plan(scenario)
    assert any("late" in ended for ended in trial(scenario, plan)["unsent"].values())
    plan["streams"]["y"]["bounds"]["delay_ns"] -= 30
    with pytest.raises(PlanRejectedError, match="delay_ns of stream y was"):
        trial(scenario, plan)


def test_a_result_has_the_ports_and_their_sums_and_the_report_shows_them() -> None:
    load = table("load", {"id": "l", "talker": "gw", "listener": "s1", "rate_bps": 8_000_000,
                          "frame_bytes": 500})  # fmt: skip
    streams = [stream("x", "gw", "s0"), stream("y", "gw", "s1")]
    scenario = gateway(*streams, load, rates=(10**9, 10**8))
    plan = planned(scenario)
    result = run_all(scenario, plan, 1).result
    entry = result["runs"][0]["stations"]["gw"]
    ports = entry["ports"]
    assert list(ports) == ["gw.0", "gw.1"]
    for key in ("placeholders", "slots_total", "underruns", "best_effort_bps"):
        assert entry[key] == sum(port[key] for port in ports.values())
    assert ports["gw.0"]["best_effort_bps"] == 0
    assert ports["gw.1"]["best_effort_bps"] == pytest.approx(8_000_000, rel=0.05)
    shown = [row[1].text for row in sections.stations(result).rows]
    assert shown == ["gw.0", "gw.1"]
    rows = gantt.chart(result, plan).rows
    assert [row.label for row in rows[:2]] == ["gw.0", "gw.1"]
    sent = [next(block for block in row.blocks if block.kind == "frame") for row in rows[:2]]
    lengths_ns = [round(block.end - block.start) for block in sent]
    assert lengths_ns == [(plan["stations"][f"gw.{i}"]["slot_bytes"] + 20) * 8 * 10**i
                          for i in range(2)]  # fmt: skip


def test_frames_are_put_into_the_slots_of_their_port(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = gateway(stream("x", "gw", "s0"), stream("y", "gw", "s1"), rates=(10**9, 10**8))
    plan = planned(scenario)
    asked: list[int] = []
    counted = results.slips

    def slips(frames: FrameArrays, slot_ps: int, preamble_ps: int) -> Slips:
        asked.append(slot_ps)
        return counted(frames, slot_ps, preamble_ps)

    monkeypatch.setattr(results, "slips", slips)
    ran(scenario, plan)
    assert asked == [plan["stations"][f"gw.{i}"]["slot_time_ps"] for i in range(2)]
    assert asked[0] != asked[1]


def test_streams_begin_when_the_slowest_port_is_on_its_grid() -> None:
    slow = stream("x", "gw", "s0", frame_bytes=1200, period_ns=2_000_000)
    alone = gateway(slow, rates=(10**8,))
    both = gateway(slow, stream("y", "gw", "s1"), rates=(10**8, 10**9))
    starts_ns = [talk_start_ns(scenario, planned(scenario)) for scenario in (alone, both)]
    assert starts_ns[0] == starts_ns[1] > 10_000_000


def test_the_trial_counts_late_launches_of_all_ports() -> None:
    scenario = gateway(stream("x", "gw", "s0"), stream("y", "gw", "s1"), driver="launchtime")
    tried = trial(scenario, planned(scenario))
    assert tried["unsent"] == {}
    assert tried["delivered"] >= 20


def test_best_effort_may_be_of_a_class_that_has_streams_at_another_port() -> None:
    rest = '[[station.keepon.classes]]\ntc = 0\nslots = "rest"\n'
    keys = {"id": "l", "talker": "gw", "tc": 0, "rate_bps": 1_000_000, "frame_bytes": 200}
    planned(gateway(stream("x", "gw", "s0"), table("load", {**keys, "listener": "s1"}), host=rest))
    same = table("load", {**keys, "listener": "s0"})
    with pytest.raises(ConfigError, match='must not be the class of stream "x"'):
        make_plan(gateway(stream("x", "gw", "s0"), same, host=rest))


@pytest.mark.slow
def test_commands_plan_run_and_report_the_example(tmp_path: Path) -> None:
    example = ROOT / "examples" / "gateway.toml"
    plan, out = tmp_path / "plan.json", tmp_path / "result"
    done = run_keepon("plan", str(example), "--all", "--out", str(plan))
    assert done.returncode == 0, done.stderr
    assert "gateway.1" in done.stdout
    done = run_keepon("run", str(example), "--out", str(out), "--duration", "0.2")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((out / "result.json").read_text())
    streams = result["runs"][0]["streams"]
    assert {name: entry["delivered"] for name, entry in streams.items()} == {
        "set-axes": 400, "set-pump": 100, "axis1-is": 400, "axis2-is": 400, "pump-is": 100,
    }  # fmt: skip
    done = run_keepon("report", str(out))
    assert done.returncode == 0, done.stderr
    page = (out / "report.html").read_text()
    assert "gateway.0" in page
    assert "gateway.1" in page
    # A damaged name of a port is found when the folder is read again.
    entry = result["runs"][0]["stations"]["gateway"]["ports"]
    entry["gateway.7"] = entry.pop("gateway.1")
    (out / "result.json").write_text(json.dumps(result))
    done = run_keepon("report", str(out))
    assert done.returncode == 2
    assert 'has "gateway.7"' in done.stderr


# -- what is refused


TWO = [station("gw"), leaf("s0"), leaf("s1"), link("gw", "s0"), link("gw", "s1")]
REFUSED = [
    (
        [*TWO, leaf("gw.1"), link("gw.1", "s1")],
        'key `station[3].name` = "gw.1": is what a port of station "gw" is called, which has 2'
        " links; rename one of the two",
    ),
    (
        [*TWO, bridge("gw.0"), leaf("s2"), link("gw.0", "s2")],
        'key `bridge[0].name` = "gw.0": is what a port of station "gw"',
    ),
    (
        [*TWO, stream("x", "gw", "s0", "s1")],
        'key `stream[0].listeners[1]` (stream "x") = "s1": is not beyond port "gw.0" of talker'
        ' "gw", by which the stream leaves, as the way to "s0" begins there; make a stream of its'
        " own for it",
    ),
    (
        [*TWO[:-1], bridge("b"), link("gw", "b"), link("b", "s1"), link("b", "s0"),
         stream("x", "gw", "s0", "s1")],
        'key `stream[0].listeners[1]` (stream "x") = "s1": is not beyond port "gw.0" of talker'
        ' "gw", by which the stream leaves, as the way to "s0" begins there; state route = ["b"],'
        " by which all are reached",
    ),
    (
        [*TWO, stream("x", "s0", "gw"), '[sync]\nmode = "gptp"\ngrandmaster = "s0"\n'],
        'key `station[0].driver` (station "gw") = "keepon": must be "standard" with 2 links and'
        ' sync.mode = "gptp", as every other driver has a clock in each NIC and PTP sets one of a'
        ' station; choose it, one link, or sync.mode "ideal"',
    ),
    (
        [station("gw", "standard"), *TWO[1:], stream("x", "s0", "gw"),
         '[sync]\nmode = "ptp"\ngrandmaster = "gw"\n'],
        'key `station[0].name` = "gw": has 2 links, and the Sync of a grandmaster leaves by one'
        ' with sync.mode "ptp"; name another station, or use "gptp"',
    ),
    (
        [station("gw", "standard"), *TWO[1:], stream("x", "s0", "gw"),
         '[sync]\nmode = "gptp"\ngrandmaster = "s0"\n'],
        'key `sync.grandmaster` = "s0": has no way to s1 over bridges, and stations pass no Sync'
        ' on; link s1 to a bridge of that network, or use sync.mode "ideal"',
    ),
    (
        [*TWO, table("fault", {"at_s": 0.01, "kind": "link-down", "node": "gw"})],
        'key `fault[0].node` = "gw": has 2 ports, and link-down is of one; name gw.0 or gw.1',
    ),
    (
        [*TWO, table("fault", {"at_s": 0.01, "kind": "clock-step", "node": "gw.0"})],
        'key `fault[0].node` = "gw.0": no such node',
    ),
    (
        [*TWO, table("fault", {"at_s": 0.01, "kind": "poll-stall", "node": "gw.2"})],
        'key `fault[0].node` = "gw.2": no such node',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "sentence"), REFUSED)
def test_what_ports_cannot_be_is_refused_in_one_sentence(parts: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        scenario_of(*parts)
    assert str(refused.value).partition("ports.toml: ")[2].startswith(sentence)


def test_the_planner_names_the_port_that_a_key_does_not_fit() -> None:
    slots = "[station.keepon]\nslot_bytes = 1230\n"
    with pytest.raises(ConfigError, match=r"must be a multiple of the slot time 100000 ns"):
        gateway(stream("x", "gw", "s0", period_ns=1_010_000),
                stream("y", "gw", "s1", period_ns=1_010_000),
                rates=(10**9, 10**8), host=slots)  # fmt: skip
    with pytest.raises(ConfigError, match=r'station "gw\.1" needs a frame'):
        make_plan(gateway(stream("x", "gw", "s0"), stream("y", "gw", "s1", advance_ns=300_000),
                          rates=(10**9, 10**8), host=slots))  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["run", "SCENARIO", "--target", "vm", "--out", "out"],
        ["run", "SCENARIO", "--target", "host", "--map", "gw=lo", "--out", "out"],
        ["start", "lo", "--plan", "PLAN", "--scenario", "SCENARIO", "--station", "s0"],
        *(
            ["export", "SCENARIO", "--plan", "PLAN", "--format", name, "--out", "out"]
            for name in ("commands", "dot", "yang", "tsnkit", "tsntool")
        ),
    ],
)
def test_who_knows_one_port_only_refuses_before_anything_is_done(
    words: list[str], tmp_path: Path
) -> None:
    scenario, plan = tmp_path / "two.toml", tmp_path / "plan.json"
    scenario.write_text(text_of(*TWO, stream("x", "gw", "s0")))
    plan.write_text(json.dumps(planned(loading.load(scenario))))
    names = {"SCENARIO": str(scenario), "PLAN": str(plan), "out": str(tmp_path / "out")}
    done = run_keepon(*(names.get(word, word) for word in words))
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"keepon: {scenario}:")
    assert 'key `station[0].name` = "gw": has 2 links, and ' in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_no_change_is_advised_that_would_leave_by_a_port_which_does_not_lead_there() -> None:
    """The shortest way begins at the other port, and the second listener is not beyond that."""
    scenario = scenario_of(
        station("gw", more="keepon = { frame_bytes_max = 0 }\n"), leaf("s0"), leaf("s1"),
        bridge("b0"), bridge("b1"), bridge("b2"),
        link("gw", "b0"), link("gw", "b1"), link("b0", "s0"), link("b1", "b2"), link("b2", "s0"),
        link("b2", "s1"),
        stream("m", "gw", "s0", "s1", route=["b1", "b2"], deadline_ns=7_500),
    )  # fmt: skip
    plan = make_plan(scenario)
    assert plan["status"] == "infeasible"
    assert "set route" not in json.dumps(plan["why"])
