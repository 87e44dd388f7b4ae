# SPDX-License-Identifier: BSD-3-Clause
"""The simulator beside ns-3 on the same networks in the same run: counts that agree, then ratios.

Three networks, each in two variants. "wire": stations keep their wires saturated, so there is a
placeholder or a frame in every slot. "frames": real frames alone, sent at their instants by
launch-time NICs. A ratio is ns-3's CPU time over ours for the same simulated time: least, median
and largest of the pairs of runs, made in turn. "across" sets our saturated wire beside ns-3's real
frames alone: what it costs us to have the mechanism in the model.

No ratio is given where the two did not do the same work.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ns3_peer
import recorded
from keepon.cli import session
from keepon.model.loading import load
from keepon.model.scenario import Scenario

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 5
DRIVERS = {"wire": "keepon", "frames": "launchtime"}
SLOT_SHARE = 1e-3
"""By how much counts of slots may differ: ours are read between two polls."""
DELAY_NS = 100
"""By how much a frame's delay may differ: gates leave 32 ns to comparators of launch-time NICs."""
HALF_PERIOD_NS = 500_000
"""Runs end between two frames of every stream: all that were sent have arrived."""


@dataclass(frozen=True)
class Network:
    """A scenario, how long it runs, between which two lengths instructions are counted, a goal."""

    path: str
    seconds: float
    counted_s: tuple[float, float]
    goal: float | None


NETWORKS = {
    "link": Network("examples/two-stations.toml", 50.0, (0.25, 0.75), 6.0),
    "line": Network("bench/line.toml", 50.0, (0.25, 0.75), None),
    "habitat": Network("examples/habitat.toml", 10.0, (0.1, 0.2), 40.0),
}
VARIANTS = {
    "wire": "both with every slot of saturated wires",
    "frames": "both with real frames alone",
    "across": "ours with every slot, ns-3 with frames alone",
}
MODELLED = {
    "both": "instant, length, order and way of every frame; gaps, propagation; bridges that store "
    "and forward",
    "ours alone": "the driver's code, its polls, ring and NIC; hosts' latencies and ETF; clocks; "
    "gates and priorities; contents checked, every frame recorded. Placeholders that follow each "
    "other are no events: whole runs of them are jumped over",
    "ns-3": "its point-to-point devices, full duplex, two events a hop, and a bridge of ours, one "
    "more: its CSMA devices are half duplex, so a saturated wire would collide with what comes "
    "back. Every placeholder is a packet, its slot two events. Debian builds its log statements "
    "in, switched off; without them it is about 1.5 times as fast (docs/simulator-measured.md)",
}  # fmt: skip


# --- runs ----------------------------------------------------------------------------------------


@dataclass
class Side:
    """What one simulator did with one network."""

    counts: dict[str, Any] = field(default_factory=dict)
    cpu_s: list[float] = field(default_factory=list)
    instructions_per_s: int | None = None

    def add(self, document: dict[str, Any]) -> None:
        """One more run, as a program printed it."""
        self.cpu_s.append(document.pop("cpu_s"))
        document.pop("rss_kib")
        if self.counts not in ({}, document):
            raise ns3_peer.PeerError("two runs of one network counted different things")
        self.counts = document

    def document(self) -> dict[str, Any]:
        shown = {key: round(value, 4) for key, value in spread(self.cpu_s).items()}
        return {"cpu_s": shown, "instructions_per_s": self.instructions_per_s, **self.counts}


class Pair:
    """The commands that run one network in one variant in both simulators."""

    def __init__(self, name: str, variant: str, program: Path) -> None:
        self.program = program
        self.scenario = with_driver(load(ROOT / NETWORKS[name].path), DRIVERS[variant])
        self.plan = session.planned(self.scenario)
        self.calls = ns3_peer.BUILD / f"{name}-{variant}.calls"
        self.description = ns3_peer.BUILD / f"{name}-{variant}.txt"
        recorded.record(self.scenario, self.plan, self.calls)

    def ours(self, seconds: float, *options: str) -> list[str]:
        script = ROOT / "bench" / "recorded.py"
        return [sys.executable, str(script), str(self.calls), str(until_ns(seconds)), *options]

    def theirs(self, seconds: float) -> list[str]:
        self.description.write_text(
            ns3_peer.describe(self.scenario, self.plan, until_ns(seconds)), encoding="utf-8"
        )  # fmt: skip
        return [str(self.program), str(self.description)]


def with_driver(scenario: Scenario, driver: str) -> Scenario:
    """Stations with driver keepon or under test have `driver` now; to be planned as that."""
    stations = [
        station.model_copy(update={"driver": driver})
        if station.driver in ("keepon", "under-test")
        else station
        for station in scenario.station
    ]  # fmt: skip
    return scenario.model_copy(update={"station": stations, "compare": None})


def until_ns(seconds: float) -> int:
    return round(seconds * 1e9) + HALF_PERIOD_NS


def output(command: list[str]) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(command, text=True, capture_output=True, check=False, env=env)
    if done.returncode:
        printed = done.stderr.strip().splitlines() or ["no output"]
        # ns-3's own words come before those of the runtime that ends it; Python's come last.
        why = next((line for line in printed if line.startswith("msg=")), printed[-1])
        raise ns3_peer.PeerError(f"{' '.join(command)} ended with {done.returncode}: {why}")
    return done


def instructions(command: list[str]) -> int:
    """Of a whole process, by cachegrind without its caches."""
    counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    found = re.search(r"I +refs: +([\d,]+)", output([*counter, *command]).stderr)
    if not found:
        raise ns3_peer.PeerError("valgrind printed no count of instructions")
    return int(found[1].replace(",", ""))


def measured(name: str, variant: str, program: Path) -> tuple[Side, Side]:
    """Both simulators on one network: ours and ns-3's."""
    network, pair = NETWORKS[name], Pair(name, variant, program)
    ours, theirs = Side(), Side()
    for _ in range(REPEATS):
        ours.add(json.loads(output(pair.ours(network.seconds)).stdout))
        theirs.add(json.loads(output(pair.theirs(network.seconds)).stdout))
    if shutil.which("valgrind"):
        # The start of a process cancels in the difference of two lengths.
        short_s, long_s = network.counted_s
        bare = [instructions(pair.ours(length_s, "--bare")) for length_s in (short_s, long_s)]
        ours.instructions_per_s = round((bare[1] - bare[0]) / (long_s - short_s))
        whole = [instructions(pair.theirs(length_s)) for length_s in (short_s, long_s)]
        theirs.instructions_per_s = round((whole[1] - whole[0]) / (long_s - short_s))
    return ours, theirs


# --- what they say -------------------------------------------------------------------------------


def spread(values: list[float]) -> dict[str, float]:
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def ratios(theirs: Side, ours: Side) -> dict[str, float]:
    """How many times their speed is ours, from runs made one after the other."""
    pairs = zip(theirs.cpu_s, ours.cpu_s, strict=True)
    return {key: round(value, 2) for key, value in spread([a / b for a, b in pairs]).items()}


def delay_difference_ns(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """By how much least and largest delays of a stream differ, at worst."""
    differences = [
        abs(here - there)
        for name, counts in ours["streams"].items()
        for here, there in zip(counts["delay_ns"], theirs["streams"][name]["delay_ns"], strict=True)
    ]
    return max(differences)


def disagreements(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Where two simulators did not do the same work; one sentence each."""
    found = []
    for name in sorted(ours["streams"].keys() | theirs["streams"].keys()):
        pair = [counts["streams"].get(name, {}) for counts in (ours, theirs)]
        for key in ("sent", "received"):
            here, there = (counts.get(key, 0) for counts in pair)
            if here != there or not here:
                found.append(f'stream "{name}": {here} frames {key} here, {there} in ns-3')
    for key in ("slots", "placeholders"):
        if abs(ours[key] - theirs[key]) > SLOT_SHARE * theirs[key]:
            found.append(f"{ours[key]} {key} here, {theirs[key]} in ns-3")
    if not found and delay_difference_ns(ours, theirs) > DELAY_NS:
        worst_ns = delay_difference_ns(ours, theirs)
        found.append(f"delays differ by {worst_ns:.0f} ns, allowed are {DELAY_NS}")
    return found


def of_variant(ours: Side, theirs: Side) -> dict[str, Any]:
    problems = disagreements(ours.counts, theirs.counts)
    worst_ns = None if problems else delay_difference_ns(ours.counts, theirs.counts)
    return {
        "ours": ours.document(),
        "ns3": theirs.document(),
        "disagreements": problems,
        "delay_difference_ns": worst_ns,
    }


def compared(name: str, program: Path) -> dict[str, Any]:
    """One network: both variants, whether the work was the same, and the ratios if it was."""
    sides = {variant: measured(name, variant, program) for variant in DRIVERS}
    variants = {variant: of_variant(*pair) for variant, pair in sides.items()}
    found = {variant: ratios(theirs, ours) for variant, (ours, theirs) in sides.items()}
    found["across"] = ratios(sides["frames"][1], sides["wire"][0])
    if any(variant["disagreements"] for variant in variants.values()):
        found = {}
    goal = NETWORKS[name].goal
    return {
        "scenario": NETWORKS[name].path,
        "simulated_s": until_ns(NETWORKS[name].seconds) / 1e9,
        "ratios": found,
        "goal": goal,
        "met": {key: goal is not None and ratio["median"] >= goal for key, ratio in found.items()},
        **variants,
    }


def beside() -> dict[str, Any]:
    """The part of sim.json on ns-3; `absent` says in a sentence why there is nothing else."""
    sentence = ns3_peer.absent()
    if sentence:
        return {"absent": sentence}
    try:
        program = ns3_peer.build()
    except ns3_peer.PeerError as error:
        return {"absent": str(error)}
    return {
        "version": ns3_peer.version(),
        "repeats": REPEATS,
        "modelled": MODELLED,
        "networks": {name: compared(name, program) for name in NETWORKS},
    }


# --- as a table ----------------------------------------------------------------------------------


def verdict(network: dict[str, Any], variant: str) -> str:
    if network["goal"] is None:
        return "no goal"
    return f"goal {network['goal']:.0f}: {'met' if network['met'][variant] else 'MISSED'}"


def variant_line(name: str, variant: dict[str, Any]) -> str:
    """What was counted of one pair, and how fast each went through its own events."""
    ours, theirs = variant["ours"], variant["ns3"]
    million = [side["events"] / side["cpu_s"]["median"] / 1e6 for side in (ours, theirs)]
    frames = sum(stream["received"] for stream in ours["streams"].values())
    counted = ""
    if ours["instructions_per_s"]:
        times = theirs["instructions_per_s"] / ours["instructions_per_s"]
        counted = f"; {times:.1f} times our instructions"
    return (
        f"  {name}: {frames} frames delivered by both, delays within"
        f" {variant['delay_difference_ns']:.0f} ns; slots {ours['slots']} here,"
        f" {theirs['slots']} there; events {ours['events']} here, {theirs['events']} there;"
        f" million events a CPU second {million[0]:.1f} here, {million[1]:.1f} there{counted}"
    )


def network_lines(name: str, network: dict[str, Any]) -> list[str]:
    shown = []
    for variant, ratio in network["ratios"].items():
        cells = "".join(f"{ratio[which]:>8.2f}" for which in ("min", "median", "max"))
        shown.append(f"{name:<9}{VARIANTS[variant]:<46}{cells}  {verdict(network, variant)}")
    for variant in DRIVERS:
        problems = network[variant]["disagreements"]
        shown += [f"{name}, {variant}: not the same work, no ratio: {text}" for text in problems]
        if not problems:
            shown.append(variant_line(variant, network[variant]))
    return shown


def lines(document: dict[str, Any]) -> list[str]:
    """`beside()` as a table and what belongs to it."""
    if "absent" in document:
        alone = "The figures above are of our simulator alone; there is no ratio to ns-3."
        return [document["absent"], alone]
    heading = f"ns-3 {document['version']}: CPU time over ours, {document['repeats']} pairs of runs"
    shown = [f"{heading:<55}{'min':>8}{'median':>8}{'max':>8}"]
    for name, network in document["networks"].items():
        shown += network_lines(name, network)
    return shown + [f"{who}: {what}" for who, what in document["modelled"].items()]
