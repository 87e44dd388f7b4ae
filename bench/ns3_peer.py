# SPDX-License-Identifier: BSD-3-Clause
"""ns-3 as a peer of the simulator: a scenario described for the program in bench/ns3/.

The description is taken from scenario and plan, as the simulator's own network is: the same links,
bridges, streams, releases and slots. What ns-3 does not have is left out of it: gates, priorities,
hosts, drivers, clocks.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from keepon.measure import due
from keepon.model.scenario import Scenario, Stream
from keepon.model.timing import epoch_ns_for, talk_start_ns
from keepon.model.topology import Topology

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "bench" / "ns3"
BUILD = ROOT / "out" / "build" / "bench-ns3"
HEADER = "ns3/core-module.h"
PACKAGE = "libns3-dev"
# C++17, as ns-3's headers of that version want it; optimised as the simulator's extension is.
FLAGS = ["-std=c++17", "-O3", "-DNDEBUG", "-Wall", "-Wextra"]
LIBRARIES = ["-lns3-point-to-point", "-lns3-network", "-lns3-core"]
PS_PER_NS = 1000

Plan = dict[str, Any]


class PeerError(Exception):
    """The peer cannot be built or cannot do what is asked; the text says why in one sentence."""


def said(command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, text=True, capture_output=True, check=False)


def absent() -> str:
    """Why ns-3 cannot be built here, in one sentence; empty if it can."""
    try:
        preprocess = ["g++", FLAGS[0], "-E", "-x", "c++", "-", "-o", "/dev/null"]
        found = said(preprocess, f"#include <{HEADER}>\n")
    except FileNotFoundError:
        return "g++ is not installed, so ns-3 is not measured; as root run: apt-get install g++"
    if found.returncode == 0:
        return ""
    return f"ns-3 is not installed, so it is not measured; as root run: apt-get install {PACKAGE}"


def build() -> Path:
    """Compile the program against Debian's ns-3."""
    BUILD.mkdir(parents=True, exist_ok=True)
    program = BUILD / "network"
    sources = [str(path) for path in sorted(SOURCES.glob("*.cpp"))]
    done = said(["g++", *FLAGS, *sources, "-o", str(program), *LIBRARIES])
    if done.returncode:
        first = (done.stderr.strip().splitlines() or ["no output"])[0]
        raise PeerError(f"ns-3 is not measured, because bench/ns3 does not compile: {first}")
    return program


def version() -> str:
    """Of Debian's package; a library that came otherwise does not say."""
    try:
        done = said(["dpkg-query", "-W", "-f", "${Version}", PACKAGE])
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def whole_ns(name: str, time_ps: int) -> int:
    if time_ps % PS_PER_NS:
        raise PeerError(f"{name} = {time_ps} ps: ns-3 counts whole nanoseconds")
    return time_ps // PS_PER_NS


def described_stream(scenario: Scenario, plan: Plan, stream: Stream, padded: bool) -> str:
    """Frames of a keepon station are as long as its slots, all others as long as they are."""
    entry = plan["streams"][stream.id]
    epoch_ns = epoch_ns_for(scenario)
    schedule = due.schedule(epoch_ns + talk_start_ns(scenario, plan), stream, entry)
    if len(schedule.releases_ns) != 1 or len(stream.listeners) != 1:
        raise PeerError(f'stream "{stream.id}": bench/ns3 knows one release and one listener')
    due_ns = schedule.first_period * stream.period_ns + schedule.releases_ns[0]
    first_ns = due_ns - epoch_ns
    frame_bytes = entry["frame_bytes_on_wire"] if padded else stream.frame_bytes
    route = [stream.talker, *entry["routes"][stream.listeners[0]], stream.listeners[0]]
    return f"stream {stream.id} {frame_bytes} {stream.period_ns} {first_ns} {' '.join(route)}"


def described_slots(name: str, station: Plan) -> str:
    """Slots of a saturated wire; the phase is where the first byte of a frame is in its slot."""
    slot_ns = whole_ns(f"slot_time_ps of {name}", station["slot_time_ps"])
    phase_ns = whole_ns(f"preamble_ps of {name}", station["preamble_ps"])
    return f"slots {name} {station['slot_bytes']} {slot_ns} {phase_ns}"


def describe(scenario: Scenario, plan: Plan, until_ns: int) -> str:
    """What the program reads.

    Stations with driver "keepon" keep their wires saturated, all others send their frames and
    nothing between.
    """
    saturated = {station.name for station in scenario.station if station.driver == "keepon"}
    lines = [f"until_ns {until_ns}"]
    lines += [f"station {station.name}" for station in scenario.station]
    lines += [f"bridge {bridge.name} {bridge.processing_ns}" for bridge in scenario.bridge]
    wires = Topology(scenario).wires
    for link in scenario.link:
        there, back = (wires[ends] for ends in (tuple(link.ends), tuple(link.ends[::-1])))
        if there.propagation_ns != back.propagation_ns:
            raise PeerError(f"link {' - '.join(link.ends)}: bench/ns3 knows no asymmetry")
        lines.append(f"link {' '.join(link.ends)} {there.rate_bps} {there.propagation_ns}")
    lines += [described_slots(name, plan["stations"][name]) for name in sorted(saturated)]
    for stream in scenario.stream:
        lines.append(described_stream(scenario, plan, stream, stream.talker in saturated))
    return "\n".join(lines) + "\n"
