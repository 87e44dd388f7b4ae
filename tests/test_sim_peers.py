# SPDX-License-Identifier: BSD-3-Clause
"""What `make bench-sim` sets beside ns-3: one network for both, no ratio for unlike work."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import ns3_peer
import pytest
import recorded
import sim_peers
from keepon import _sim
from keepon.cli import session
from keepon.model.loading import load
from keepon.targets.sim import build

ROOT = Path(__file__).resolve().parents[1]
UNTIL_NS = 20_500_000
LINK = """\
until_ns 20500000
station talker
station listener
link talker listener 1000000000 50
slots talker 1230 10000 64
stream S1 1230 1000000 10000064 talker listener
"""
LINK_FRAMES = """\
until_ns 20500000
station talker
station listener
link talker listener 1000000000 50
stream S1 1000 1000000 10000000 talker listener
"""


def network(name: str, variant: str) -> tuple[Any, Any]:
    scenario = load(ROOT / sim_peers.NETWORKS[name].path)
    scenario = sim_peers.with_driver(scenario, sim_peers.DRIVERS[variant])
    return scenario, session.planned(scenario)


def repeated(name: str, variant: str, folder: Path) -> recorded.Repeated:
    scenario, plan = network(name, variant)
    recorded.record(scenario, plan, folder / "calls")
    run = recorded.repeat(recorded.read(folder / "calls"))
    run.simulation.run(UNTIL_NS, None)
    return run


@pytest.mark.parametrize(("variant", "text"), [("wire", LINK), ("frames", LINK_FRAMES)])
def test_the_link_is_described_as_it_is_planned(variant: str, text: str) -> None:
    assert ns3_peer.describe(*network("link", variant), UNTIL_NS) == text


def test_ns3_gets_all_of_the_habitat() -> None:
    counts = {}
    for variant in sim_peers.DRIVERS:
        text = ns3_peer.describe(*network("habitat", variant), UNTIL_NS)
        counts[variant] = Counter(line.split()[0] for line in text.splitlines())
    common = {"until_ns": 1, "station": 7, "bridge": 4, "link": 10, "stream": 12}
    assert counts == {"wire": {**common, "slots": 3}, "frames": common}


def test_the_routes_of_the_line_pass_every_bridge() -> None:
    assert ns3_peer.describe(*network("line", "wire"), UNTIL_NS).splitlines()[-1].endswith(
        " talker br1 br2 br3 br4 listener"
    )  # fmt: skip


@pytest.mark.parametrize("name", sim_peers.NETWORKS)
@pytest.mark.parametrize("variant", sim_peers.DRIVERS)
def test_what_is_repeated_is_the_simulation_itself(name: str, variant: str, tmp_path: Path) -> None:
    scenario, plan = network(name, variant)
    built = build.Build(scenario, plan, scenario.drivers()[0], scenario.seed)
    built.simulation.run(UNTIL_NS, None)
    run = repeated(name, variant, tmp_path)
    assert run.simulation.trace_hash() == built.simulation.trace_hash()
    assert build.Simulation is _sim.Simulation


def test_both_ends_of_the_link_are_counted(tmp_path: Path) -> None:
    counts = recorded.counted(repeated("link", "wire", tmp_path))
    assert counts["streams"] == {"S1": {"sent": 11, "received": 11, "delay_ns": [50.0, 50.0]}}
    assert 0 <= 2050 - counts["slots"] <= 10
    assert counts["slots"] - counts["placeholders"] == 11


def counts_of(received: int, slots: int, delay_ns: float) -> dict[str, Any]:
    stream = {"sent": 100, "received": received, "delay_ns": [50.0, delay_ns]}
    return {"slots": slots, "placeholders": slots - 100, "streams": {"S1": stream}}


def test_like_work_is_no_disagreement() -> None:
    assert sim_peers.disagreements(counts_of(100, 10_005, 50.0), counts_of(100, 10_000, 82.0)) == []


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (counts_of(99, 10_000, 50.0), 'stream "S1": 100 frames received here, 99 in ns-3'),
        (counts_of(100, 10_020, 50.0), "10000 slots here, 10020 in ns-3"),
        (counts_of(100, 10_000, 151.0), "delays differ by 101 ns, allowed are 100"),
    ],
)
def test_unlike_work_is_found(other: dict[str, Any], sentence: str) -> None:
    assert sentence in sim_peers.disagreements(counts_of(100, 10_000, 50.0), other)


def test_a_stream_that_one_does_not_have_is_found() -> None:
    other = counts_of(100, 10_000, 50.0)
    other["streams"]["S2"] = copy.deepcopy(other["streams"]["S1"])
    found = sim_peers.disagreements(counts_of(100, 10_000, 50.0), other)
    assert found[0] == 'stream "S2": 0 frames sent here, 100 in ns-3'


def test_nothing_delivered_by_either_is_no_comparison() -> None:
    nothing = counts_of(0, 10_000, 50.0)
    found = sim_peers.disagreements(nothing, copy.deepcopy(nothing))
    assert found == ['stream "S1": 0 frames received here, 0 in ns-3']


def side(cpu_s: list[float], events: int) -> sim_peers.Side:
    ran = sim_peers.Side()
    for seconds in cpu_s:
        ran.add({**counts_of(100, 10_000, 50.0), "cpu_s": seconds, "rss_kib": 1, "events": events})
    return ran


def test_ratios_are_of_runs_made_in_turn() -> None:
    found = sim_peers.ratios(side([8.0, 4.0, 6.0], 1), side([2.0, 1.0, 1.0], 1))
    assert found == {"min": 4.0, "median": 4.0, "max": 6.0}


def test_runs_that_count_differently_are_refused() -> None:
    ran = side([1.0], 5)
    with pytest.raises(ns3_peer.PeerError, match="counted different things"):
        ran.add({**counts_of(99, 10_000, 50.0), "cpu_s": 1.0, "rss_kib": 1, "events": 5})


def test_a_goal_that_is_missed_is_called_so() -> None:
    ours, theirs = side([1.0], 10), side([5.0], 100)
    variant = sim_peers.of_variant(ours, theirs)
    ratio = sim_peers.ratios(theirs, ours)
    document = {
        "ratios": {"wire": ratio, "frames": {"min": 6.0, "median": 6.0, "max": 7.0}},
        "goal": 6.0,
        "met": {"wire": False, "frames": True},
        "wire": variant,
        "frames": variant,
    }
    shown = sim_peers.network_lines("link", document)
    assert [line.rsplit("  ", 1)[1] for line in shown[:2]] == ["goal 6: MISSED", "goal 6: met"]


def test_unlike_work_has_a_sentence_and_no_ratio() -> None:
    other = sim_peers.Side()
    other.add({**counts_of(99, 10_000, 50.0), "cpu_s": 9.0, "rss_kib": 1, "events": 5})
    variant = sim_peers.of_variant(side([1.0], 5), other)
    document = {"ratios": {}, "goal": 6.0, "met": {}, "wire": variant, "frames": variant}
    shown = sim_peers.network_lines("link", document)
    assert len(shown) == 2
    assert all("not the same work, no ratio" in line for line in shown)


def test_no_ns3_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ns3_peer, "HEADER", "ns3/nowhere.h")
    shown = sim_peers.lines(sim_peers.beside())
    assert shown[0].startswith("ns-3 is not installed")
    assert shown[0].endswith("as root run: apt-get install libns3-dev")
    assert "no ratio" in shown[1]


def test_no_compiler_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ns3_peer.absent().startswith("g++ is not installed, so ns-3 is not measured; ")


def test_fractions_of_a_nanosecond_are_refused() -> None:
    slots = {"slot_bytes": 1230, "slot_time_ps": 10_000_500, "preamble_ps": 0}
    with pytest.raises(ns3_peer.PeerError, match="slot_time_ps of talker = 10000500 ps"):
        ns3_peer.described_slots("talker", slots)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (
            "echo 'msg=\"a queue is full\", file=x' >&2; echo terminate >&2; exit 6",
            "msg=.a queue is full",
        ),
        ("echo Traceback >&2; echo 'KeyError: 1' >&2; exit 1", "ended with 1: KeyError: 1"),
    ],
)
def test_a_program_that_fails_is_quoted(script: str, why: str) -> None:
    with pytest.raises(ns3_peer.PeerError, match=why):
        sim_peers.output(["sh", "-c", script])
