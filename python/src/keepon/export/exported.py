# SPDX-License-Identifier: BSD-3-Clause
"""What every format starts from and gives back: a scenario with its plan in, named texts and notes
out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from keepon.errors import ConfigError
from keepon.model import preemption
from keepon.model.networktables import RECOMMENDED_CLASSES
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology

HELP = (
    "commands: a script per node that sets it up; dot: Graphviz, a file; yang: IEEE 802.1Qcw"
    " gate lists as JSON; tsnkit: CSV files of tsnkit 0.3; tsntool: switch schedules;"
    " libvirt, qemu: stations that are virtual machines; svg: a picture of the network, also"
    " without a plan."
)
UINT32_MAX = 2**32 - 1
"""Longest interval of one gate entry in ns: tc's sched-entry and time-interval-value have 32 bits.
"""


@dataclass(frozen=True)
class Planned:
    """A scenario, a plan that was found to hold for it, and the device names a user chose for
    stations.
    """

    scenario: Scenario
    plan: Plan
    device: str = "eth0"
    keepon_device: str = "rt0"


@dataclass(frozen=True)
class Exported:
    """Texts by file name, and one sentence for each thing the format cannot carry."""

    files: dict[str, str]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Port:
    """A bridge's port with a gate list; `name` follows Linux switches: swpN, N-th link of the
    bridge in the scenario.

    `entries` are (mask of open gates, ns), none above UINT32_MAX; bit n is traffic class n,
    preemption.HOLD is there in those of Set-And-Hold-MAC. `classes`: of priorities 0 to 7;
    `queues`: how many classes there are; `preemptable`: a bit for each of them that is.
    """

    bridge: str
    peer: str
    name: str
    rate_bps: int
    base_ns: int
    entries: tuple[tuple[int, int], ...]
    classes: tuple[int, ...] = RECOMMENDED_CLASSES[-1]
    queues: int = 8
    preemptable: int = 0

    @property
    def cycle_ns(self) -> int:
        return sum(ns for _, ns in self.entries)


def _split(mask: int, ns: int) -> list[tuple[int, int]]:
    """One entry as several of nearly equal length where a field of 32 bits cannot hold it."""
    count = -(-ns // UINT32_MAX)
    whole, rest = divmod(ns, count)
    return [(mask, whole + (number < rest)) for number in range(count)]


def port_name(topology: Topology, bridge: str, peer: str) -> str:
    return f"swp{topology.neighbours[bridge].index(peer)}"


def gated_ports(planned: Planned) -> list[Port]:
    """Ports whose plan has a gate list, bridges in file order and ports in order of their
    numbers.
    """
    topology, merged = Topology(planned.scenario), preemption.ports(planned.scenario)
    found: list[Port] = []
    for bridge in planned.scenario.bridge:
        documents = planned.plan["bridges"][bridge.name]["ports"]
        for peer in topology.neighbours[bridge.name]:
            document = documents.get(peer)
            if document is None or "entries" not in document:
                continue
            listed = (
                (
                    int(entry["gates"], 16) | (preemption.HOLD if entry.get("hold") else 0),
                    entry["ns"],
                )
                for entry in document["entries"]
            )
            entries = [part for mask, ns in listed for part in _split(mask, ns)]
            found.append(
                Port(
                    bridge.name, peer, port_name(topology, bridge.name, peer),
                    topology.wires[bridge.name, peer].rate_bps, document["base_ns"], tuple(entries),
                    tuple(map(bridge.class_of, range(8))), bridge.queues,
                    preemption.queues_of(bridge) if (bridge.name, peer) in merged else 0,
                )
            )  # fmt: skip
    return found


def copies_left_out(planned: Planned) -> list[str]:
    """A note, as no format has FRER, if a stream has two ways."""
    names = ", ".join(stream.id for stream in planned.scenario.stream if stream.redundancy > 1)
    return [f"R-tags and what drops copies of {names} are left out"] if names else []


def filters_left_out(planned: Planned) -> list[str]:
    """Notes for formats that have no stream filters and shapers, if there are any."""
    bridges = planned.scenario.bridge
    shaped = [one.name for one in bridges if any(own.idle_slope_bps for own in one.shaper)]
    ats = [one.name for one in bridges if planned.plan["bridges"][one.name].get("schedulers")]
    names = [
        bridge.name
        for bridge in bridges
        if bridge.stream_filter or planned.plan["bridges"][bridge.name].get("stream_filters")
    ]
    left = [
        f"{what} of {', '.join(listed)} are left out: --format commands has them"
        for what, listed in (("stream filters", names), ("shapers", shaped))
        if listed
    ]
    if ats:
        left.append(f"ATS schedulers of {', '.join(ats)} are left out")
    return left + copies_left_out(planned)


def need_gates(planned: Planned, name: str) -> list[Port]:
    """The gated ports, for a format that carries nothing else.

    Raises:
        ConfigError: there are none.
    """
    ports = gated_ports(planned)
    if not ports:
        raise ConfigError(
            f'option --format = "{name}": carries gate lists only and the plan of'
            f' "{planned.scenario.name}" has none; set gates = "auto" for a bridge, or export'
            " another format"
        )
    return ports
