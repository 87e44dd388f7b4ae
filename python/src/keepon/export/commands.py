# SPDX-License-Identifier: BSD-3-Clause
"""Commands that set up stations and bridges: a shell script per node, and ptp4l's configuration
beside it where PTP sets the clocks.

A gated port gets taprio with full offload (tc-taprio(8)): the gates are the switch's, its clock is
the PTP clock.
"""

from __future__ import annotations

from collections.abc import Iterator

from keepon_host.link.gatelist import CYCLE_NS_MAX
from keepon_host.start import steps
from keepon_host.start.steps import Need, Step

from keepon.export import cqf, policing, preemption, shaping, shell
from keepon.export.exported import (
    Exported,
    Planned,
    Port,
    copies_left_out,
    gated_ports,
    port_name,
)
from keepon.machines import ptpconfig
from keepon.machines.planned import ETHERNET_MTU
from keepon.machines.queues import PRIORITIES
from keepon.machines.station import (
    FCS_BYTES,
    HEADER_BYTES,
    Machine,
    ptp_config,
    setup,
    stream_lines,
    without_disturbers,
)
from keepon.model import foreign
from keepon.model.cables import hops, node_of
from keepon.model.crosschecks import long_flows
from keepon.model.plan import ways_of
from keepon.model.preemption import HOLD
from keepon.model.scenario import Bridge, Station
from keepon.model.topology import Topology
from keepon.model.wire import FRAME_BYTES_MAX, TAPRIO_BYTES_MIN


def mtu_note(machine: Machine) -> str | None:
    """What small slots mean for the card's own traffic."""
    stations = [entry for entry in machine.scenario.station if entry.name in machine.linked]
    mtus = {entry.name: machine.mtu(entry) for entry in stations}
    small = {name: mtu for name, mtu in mtus.items() if mtu is not None and mtu < ETHERNET_MTU}
    if not small:
        return None
    listed = ", ".join(f"{name} {mtu}" for name, mtu in small.items())
    return (
        f"slots carry the card's own frames up to an MTU below {ETHERNET_MTU}, and longer ones are"
        f" dropped: {listed}; longer slot_bytes or frame_bytes_max in the scenario raise it"
    )


def long_frames_note(machine: Machine) -> str | None:
    """What frames need that are longer than those of Ethernet's own MTU."""
    mtus = dict[str, int]()
    for flow in long_flows(machine.scenario):
        mtu = flow.frame_bytes - HEADER_BYTES - FCS_BYTES
        for name in flow.ends:
            mtus[name] = max(mtu, mtus.get(name, 0))
    if not mtus:
        return None
    listed = ", ".join(f"{name} {mtu}" for name, mtu in mtus.items())
    return (
        f"frames above {FRAME_BYTES_MAX} bytes need jumbo frames in every switch on their way, and"
        f" an MTU (ip link set ... mtu) at their stations, which the scripts leave alone: {listed}"
    )


def first_frames_note(machine: Machine) -> str | None:
    """What the first frames of a card with launch times need."""
    names = [
        entry.name
        for entry in machine.scenario.station
        if machine.talks(entry.name) and machine.driver(entry.name) == "launchtime"
    ]
    if not names:
        return None
    return (
        f"{', '.join(names)}: a queue of a card with launch times takes a second frame only when"
        " its first one has left, because byte queue limits begin at 0; send one frame of each"
        " class alone before the streams, or their first frames may be lost"
    )


GENET_RING_SLOTS = 256
"""Descriptors of the Raspberry Pi 4's own card (docs/nics.md)."""


def ring_note(planned: Planned) -> str | None:
    """Stations with a longer ring than the card of the machine that their host model is of."""
    hosts = {
        station.name: station.host if isinstance(station.host, str) else station.host.base
        for station in planned.scenario.station
    }
    ports = Topology(planned.scenario).ports
    longer = {
        name: entry["ring_slots"]
        for name, entry in planned.plan["stations"].items()
        if hosts[ports[name].station] == "raspberry-pi-4"
        and entry.get("ring_slots", 0) > GENET_RING_SLOTS
    }
    if not longer:
        return None
    listed = ", ".join(f"{name} {slots}" for name, slots in longer.items())
    return (
        f"a Raspberry Pi 4's own card has {GENET_RING_SLOTS} descriptors and refuses longer rings:"
        f" {listed}; state keepon.ring_slots = {GENET_RING_SLOTS} for stations on it"
    )


def script(machine: Machine, station: Station) -> str:
    """The whole script."""
    found = setup(machine, station)
    roots = [step.device for step in found.steps if isinstance(step, steps.RootQueues)]
    lines = [
        "#!/bin/sh",
        f"# {found.title[0].upper()}{found.title[1:]}, driver {machine.driver(station.name)}; run"
        " as root.",
        *(f"# {line}" for line in stream_lines(machine, station)),
        shell.begin(),
        "# Nothing is changed before all that is needed is there.",
        *shell.needs(found.needs, [found.nic], [name for name in roots if name == found.nic]),
        shell.helpers(shell.made(found.steps)),
        *(line for step in found.steps for line in shell.lines(step)),
        "finished=1",
    ]
    return "\n".join(lines) + "\n"


FULL_OFFLOAD = "flags 0x2"
# tc makes a message of 1024 bytes at most (tc/q_taprio.c of iproute2); an entry has 28 of them, and
# a class in `fp` 20.
TC_ENTRIES_MAX, TC_ENTRIES_MAX_WITH_FP = 30, 24


def joined(port: Port) -> tuple[int, list[tuple[int, int]]]:
    """Base time and entries of a list whose ends, if they are one entry that the cycle's end parts
    and too short by themselves, are put together: it begins behind the first of them.
    """
    entries = list(port.entries)
    (mask, ns), (last_mask, last_ns) = entries[0], entries[-1]
    if len(entries) < 2 or mask != last_mask or min(ns, last_ns) >= _least_ns(port):
        return port.base_ns, entries
    return port.base_ns + ns, [*entries[1:-1], (mask, ns + last_ns)]


def _least_ns(port: Port) -> int:
    """The shortest entry that taprio takes."""
    return -(-TAPRIO_BYTES_MIN * 8 * 10**9 // port.rate_bps)


def _levels(port: Port) -> tuple[str, str]:
    """Classes of tc's priorities, and the queue of each class."""
    levels = [*port.classes, *[port.classes[0]] * (PRIORITIES - len(port.classes))]
    return " ".join(map(str, levels)), " ".join(f"1@{queue}" for queue in range(port.queues))


def _operation(port: Port, mask: int) -> str:
    if not port.preemptable:
        return "S"
    return "H" if mask & HOLD else "R"


def taprio(port: Port) -> Iterator[str]:
    """One command over several lines: a line for each entry."""
    base_ns, entries = joined(port)
    levels, queues = _levels(port)
    yield f"# towards {port.peer}: {len(entries)} entries, {port.cycle_ns} ns"
    yield from shell.set_root(
        port.name,
        f"tc qdisc replace dev {port.name} parent root handle 100 taprio num_tc {port.queues}"
        f" \\\n\tmap {levels} \\\n\tqueues {queues}{preemption.words(port)} \\\n\tbase-time"
        f" {base_ns} cycle-time {port.cycle_ns} \\\n"
        + "".join(
            f"\tsched-entry {_operation(port, mask)} 0x{mask & (1 << port.queues) - 1:02x} {ns}"
            " \\\n"
            for mask, ns in entries
        )
        + f'\t$gates || stop "{port.name} takes no such gates: offload needs a switch whose driver'
        ' has it; GATES=\\"clockid CLOCK_TAI\\" lets timers of the CPU be the gates"',
    )


def _not_by_tc(port: Port) -> str | None:
    """Why a port's list cannot be loaded by Linux's tc, and what it needs; None: it can."""
    entries = joined(port)[1]
    shortest_ns, least_ns = min(ns for _, ns in entries), _least_ns(port)
    where = f"bridge {port.bridge}, port {port.name} towards {port.peer}"
    if port.cycle_ns > CYCLE_NS_MAX:
        return (
            f"{where}: its cycle of {port.cycle_ns} ns is beyond the {CYCLE_NS_MAX} ns that Linux's"
            " taprio takes; it needs periods that come round sooner, or a switch that takes such a"
            " cycle, by --format yang or tsntool"
        )
    if shortest_ns < least_ns:
        return (
            f"{where}: its shortest gate entry of {shortest_ns} ns is below the {least_ns} ns that"
            f" Linux's taprio takes at this rate; it needs a switch that takes entries of"
            f" {shortest_ns} ns, by --format yang or tsntool"
        )
    most = TC_ENTRIES_MAX_WITH_FP if port.preemptable else TC_ENTRIES_MAX
    if len(entries) > most:
        return (
            f"{where}: it has {len(entries)} gate entries, and a message of tc holds no more than"
            f" {most}; it needs a switch that takes its list otherwise, by --format yang"
            " or tsntool"
        )
    return None


def _bridge(
    planned: Planned, bridge: Bridge, ports: list[Port], police: list[str], shaped: list[str]
) -> str:
    """The script of a bridge: gates of its ports, its shapers and stream filters, and PTP on all
    ports.
    """
    name = bridge.name
    topology, by_ptp = Topology(planned.scenario), planned.scenario.sync.mode == "gptp"
    peers = {port_name(topology, name, peer): peer for peer in topology.neighbours[name]}
    rates = {port: topology.wires[name, peer].rate_bps for port, peer in peers.items()}
    plain = [port for port in preemption.ungated_ports(planned) if port.bridge == name]
    own_roots = shaping.own_roots(planned, bridge)
    rooted = [port.name for port in [*ports, *plain]] + own_roots
    used = list(peers) if by_ptp else rooted
    needs: list[Need] = [steps.Program(name) for name in ("ip", "tc", "ethtool")]
    needs += [steps.Program("ptp4l")] if by_ptp else []
    needs += [
        steps.Queues(port.name, max(steps.MULTIQUEUE_MIN, port.queues), "gates are those of queues")
        for port in [*ports, *plain]
    ]
    needs += [
        steps.Queues(port, max(steps.MULTIQUEUE_MIN, bridge.queues), "shapers are those of queues")
        for port in own_roots
    ]
    lines = [
        "#!/bin/sh",
        f"# Bridge {name} of scenario {planned.scenario.name}: gates and clock; run as root.",
        "# Ports are numbered as the scenario lists the bridge's links. How they are bridged is the"
        " switch's affair; it takes the PCP for the priority.",
        shell.begin(),
        f"gates=${{GATES:-{FULL_OFFLOAD}}}",
        "# Nothing is changed before all that is needed is there.",
        *(f'stop "{note}"' for port in ports if (note := _not_by_tc(port)) is not None),
        *shell.needs(needs, used, rooted),
        *(policing.needs(planned, bridge) if police else []),
        *cqf.needs(planned, bridge),
        shell.helpers([]),
    ]
    linked: list[Step] = []
    for port in used:
        linked += [*without_disturbers(port), steps.Linked(port, rates[port] // 1_000_000)]
    lines += [line for step in linked for line in shell.lines(step)]
    lines += preemption.mac_merge(planned, name)
    for ungated in plain:
        lines += preemption.mqprio(ungated, *_levels(ungated))
    if ports:
        lines += [
            "# taprio takes the lengths of entries by the rate of the link: it must be up.",
            "# Gates of the CPU's timers (GATES) stop for good when the link goes down; nothing"
            " here gives",
            "# them again when it comes back: let a hook of your network manager do it by the tc"
            " commands below.",
        ]
    for gated in ports:
        lines += taprio(gated)
    lines += [*shaped, *police]
    if by_ptp:
        lines.append("# gPTP: the bridge passes time on, or has it.")
        lines += shell.lines(steps.Ptp4l(name, ptpconfig.config_name(name), "-H"))
    return "\n".join([*lines, "finished=1"]) + "\n"


def _bridges(planned: Planned) -> Iterator[tuple[str, str]]:
    gated = gated_ports(planned)
    sync = planned.scenario.sync
    topology = Topology(planned.scenario)
    for bridge in planned.scenario.bridge:
        ports = [port for port in gated if port.bridge == bridge.name]
        police = [*policing.lines(planned, bridge), *cqf.lines(planned, bridge)]
        shaped = list(shaping.lines(planned, bridge))
        merges = any(preemption.mac_merge(planned, bridge.name))
        if not (ports or police or shaped or merges) and sync.mode != "gptp":
            continue
        yield f"{bridge.name}.sh", _bridge(planned, bridge, ports, police, shaped)
        if (program := cqf.source(planned, bridge)) is not None:
            yield cqf.source_name(bridge), program
        if sync.mode == "gptp":
            names = [
                port_name(topology, bridge.name, peer) for peer in topology.neighbours[bridge.name]
            ]
            yield (
                ptpconfig.config_name(bridge.name),
                ptpconfig.config(planned.scenario, bridge.name, names, sync.priority, None),
            )


def _cable_notes(planned: Planned) -> Iterator[str]:
    """One for each stream that leaves a bridge by another link than the first to the next one."""
    topology = Topology(planned.scenario)
    for name, entry in planned.plan["streams"].items():
        ports = {hop for end, route in ways_of(entry) for hop in hops([*route, end])}
        for bridge, peer in sorted(hop for hop in ports if node_of(hop[1]) != hop[1]):
            yield (
                f'stream "{name}" leaves {bridge} by {port_name(topology, bridge, peer)}, a further'
                f" link to {node_of(peer)}: lead its address there by a static entry (bridge fdb),"
                " and let spanning tree shut none of the links"
            )


def _notes(planned: Planned, machine: Machine) -> Iterator[str]:
    for note in (mtu_note(machine), long_frames_note(machine), first_frames_note(machine)):
        if note is not None:
            yield note
    for port in gated_ports(planned):
        note = _not_by_tc(port)
        if note is not None:
            yield note
    if (note := ring_note(planned)) is not None:
        yield note
    yield from _cable_notes(planned)
    yield from policing.notes(planned)
    yield from copies_left_out(planned)
    yield from preemption.notes(planned)
    sync = planned.scenario.sync
    if not sync.by_ptp:
        yield (
            f'sync.mode = "{sync.mode}": the plan says nothing of PTP, and the scripts start none;'
            " what sets the clocks of stations and switches is left to you"
        )
    elif sync.servo == "ratio":
        yield 'sync.servo = "ratio": linuxptp has no such servo; its "pi" is used'
    if sync.mode == "gptp" and any(
        machine.driver(station.name) == "keepon" for station in planned.scenario.station
    ):
        yield (
            "keepon stations pad PTP's messages to their slots, and linuxptp drops such on any but"
            " a card with a keepon link: switches need another PTP program, or their own"
        )
    if sync.domains:
        yield "sync.domains: the scripts start domain 0 only, which sets the clocks"


def export(planned: Planned) -> Exported:
    """NODE.sh for each linked station and each bridge with gates or gPTP, NODE-ptp4l.cfg where PTP
    is, NODE-cqf.bpf.c where cycles are; stations under test are set up with keepon.

    Source: KeepON paper artifact, Examples 1 to 3 (mqprio and etf); tc-taprio(8), tc-mqprio(8),
    tc-etf(8), ptp4l(8), phc2sys(8).
    """
    machine = Machine(
        planned.scenario, planned.plan, "keepon", planned.device, planned.keepon_device
    )
    files: dict[str, str] = {}
    for station in planned.scenario.station:
        if station.name in planned.plan["stations"] and station.driver != foreign.DRIVER:
            files[f"{station.name}.sh"] = script(machine, station)
            if planned.scenario.sync.by_ptp:
                files[ptpconfig.config_name(station.name)] = ptp_config(machine, station)
    files.update(_bridges(planned))
    return Exported(files, list(_notes(planned, machine)))
