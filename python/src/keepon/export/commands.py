# SPDX-License-Identifier: BSD-3-Clause
"""`ip` and `tc` commands that set up stations and gated bridge ports: a shell script per node.

A station gets what target vm gives it (keepon.linux.network), in its own network namespace and on
real devices. A gated port gets taprio with full offload (tc-taprio(8)): the gates are the switch's,
its clock is the PTP clock.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from keepon.export.exported import Exported, Planned, Port, gated_ports
from keepon.linux.network import PRIORITIES, Guest, link_options, priority_of, queue_commands
from keepon.model.scenario import Station

TRAFFIC_CLASSES = 8
FULL_OFFLOAD = "0x2"
# A gate entry must let the shortest frame pass: 60 bytes, FCS not counted (ETH_ZLEN in
# net/sched/sch_taprio.c).
TAPRIO_BYTES_MIN = 60


@dataclass(frozen=True)
class Machine(Guest):
    """A station that is a machine of its own: every one has the same device names."""

    device_name: str = "eth0"
    keepon_name: str = "rt0"

    def nic(self, station: str) -> str:
        return self.device_name

    def device(self, station: str) -> str:
        return self.keepon_name if self.driver(station) == "keepon" else self.device_name


def _streams(machine: Machine, station: Station) -> Iterator[str]:
    for stream in machine.scenario.stream:
        if stream.talker == station.name:
            entry = machine.plan["streams"][stream.id]
            releases = entry.get("turns_ns", [entry["release_ns"]])
            told = " ns, in turn ".join(str(release_ns) for release_ns in releases)
            yield (
                f"# stream {stream.id}: txtime {told} ns after every multiple of {stream.period_ns}"
                f" ns of CLOCK_TAI, SO_PRIORITY {priority_of(stream.tc)}, PCP {stream.priority}"
            )


def _station(machine: Machine, station: Station) -> Iterator[str]:
    driver = machine.driver(station.name)
    nic, device = machine.nic(station.name), machine.device(station.name)
    yield "#!/bin/sh"
    yield (
        f"# Station {station.name} of scenario {machine.scenario.name}, driver {driver}; run as"
        " root."
    )
    yield from _streams(machine, station)
    yield "set -e"
    yield f"ip link set dev {nic} up"
    if device != nic:
        options = " ".join(link_options(machine, station))
        yield f"ip link add link {nic} name {device} type keepon {options}"
        yield f"ip link set dev {device} up"
    namespaced = f"tc -n {shlex.quote(station.name)} "
    for line in queue_commands(machine, station):
        yield "tc " + line.removeprefix(namespaced)


def _taprio(port: Port) -> Iterator[str]:
    """One command over several lines: a line for each entry."""
    levels = [*range(TRAFFIC_CLASSES), *[0] * (PRIORITIES - TRAFFIC_CLASSES)]
    yield f"# towards {port.peer}: {len(port.entries)} entries, {port.cycle_ns} ns"
    yield (
        f"tc qdisc replace dev {port.name} parent root handle 100 taprio num_tc {TRAFFIC_CLASSES}"
        f" \\\n\tmap {' '.join(map(str, levels))} \\\n\tqueues"
        f" {' '.join(f'1@{queue}' for queue in range(TRAFFIC_CLASSES))} \\\n\tbase-time"
        f" {port.base_ns} cycle-time {port.cycle_ns} \\\n"
        + "".join(f"\tsched-entry S 0x{mask:02x} {ns} \\\n" for mask, ns in port.entries)
        + f"\tflags {FULL_OFFLOAD}"
    )


def _too_short(port: Port) -> str | None:
    """What Linux will say about a port's shortest entry."""
    shortest_ns = min(ns for _, ns in port.entries)
    least_ns = -(-TAPRIO_BYTES_MIN * 8 * 10**9 // port.rate_bps)
    if shortest_ns >= least_ns:
        return None
    return (
        f"bridge {port.bridge}, port {port.name} towards {port.peer}: its shortest gate entry of"
        f" {shortest_ns} ns is below the {least_ns} ns that Linux's taprio takes at this rate; tc"
        " will be refused there"
    )


def export(planned: Planned) -> Exported:
    """NODE.sh for each linked station and each bridge with gates; stations under test are set up
    with keepon.

    Source: KeepON paper artifact, Examples 1 to 3 (mqprio and etf); tc-taprio(8), tc-mqprio(8),
    tc-etf(8).
    """
    machine = Machine(
        planned.scenario, planned.plan, "keepon", planned.device, planned.keepon_device
    )
    files: dict[str, str] = {}
    for station in planned.scenario.station:
        if station.name in planned.plan["stations"]:
            files[f"{station.name}.sh"] = "\n".join(_station(machine, station)) + "\n"
    ports = gated_ports(planned)
    for bridge in dict.fromkeys(port.bridge for port in ports):
        head = [
            "#!/bin/sh",
            f"# Gates of bridge {bridge} of scenario {planned.scenario.name}; run as root.",
            "# Ports are numbered as the scenario lists the bridge's links.",
            "set -e",
        ]
        lines = [line for port in ports if port.bridge == bridge for line in _taprio(port)]
        files[f"{bridge}.sh"] = "\n".join([*head, *lines]) + "\n"
    return Exported(files, [note for port in ports if (note := _too_short(port)) is not None])
