# SPDX-License-Identifier: BSD-3-Clause
"""`qdisc` of a scenario's stations is read and held against what the station is and sends."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from keepon.errors import ConfigError
from keepon.model.hosts import DRIVERS, Stage, host_of
from keepon.model.qdiscs import reader, stations
from keepon.model.qdiscs.options import Limits
from keepon.model.qdiscs.tree import Cbs, Etf, Fifo, Guard, Mqprio, Taprio, Tree
from keepon.model.scenario import Scenario
from keepon.model.stationtables import Station
from keepon.model.topology import Topology
from keepon.model.wire import (
    FRAME_BYTES_MIN,
    PREAMBLE_BYTES,
    PS_PER_NS,
    PTP_MESSAGE_BYTES,
    RATE_BPS_MAX,
    TAPRIO_BYTES_MIN,
    byte_time_ps,
    ceil_ns,
    preamble_time_ps,
)

HORIZON_NS = 500_000_000
"""Of a NIC with launch times (Cochran, limitations: the i210's is +-0.5 s)."""


def least_txtime_delay_ns(scenario: Scenario, station: Station, driver: str) -> int:
    """The least that a frame can need from taprio to its launch: constant parts of the driver's
    path, the fetch, and, as a launch begins a preamble before its time, that with the nanosecond
    which the time given to a frame leaves out. With less frames are late for no other reason.
    """

    def least_ns(stage: Stage) -> int:
        return stage.base_ns + (stage.median_ns if stage.sigma == 0 else 0)

    stages, _ = host_of(station.host, driver, scenario.host_tail_scale)
    ready_ns = least_ns(stages["driver"]) + station.nic.fetch_ns
    if driver != "launchtime":
        return ready_ns
    rates_bps = [
        scenario.defaults.rate_bps if link.rate_bps is None else link.rate_bps
        for link in scenario.link
        if station.name in link.ends
    ]
    return ready_ns + ceil_ns(max(map(preamble_time_ps, rates_bps), default=0)) + 1


def _drivers(scenario: Scenario, station: Station) -> tuple[str, ...]:
    """What it runs with."""
    if station.driver != "under-test":
        return (station.driver,)
    return tuple(driver for driver in scenario.drivers() if driver in DRIVERS)


def _read(where: str, scenario: Scenario, station: Station, text: str) -> Tree:
    """With the limits of its drivers: which apply hangs on the tree itself."""
    horizon_ns = HORIZON_NS if "launchtime" in _drivers(scenario, station) else None
    cycle_counts = any(stream.talker == station.name for stream in scenario.stream)
    rates_bps = [port.wire.rate_bps for port in Topology(scenario).ports_of(station.name)]
    least_ns = TAPRIO_BYTES_MIN * byte_time_ps(max(rates_bps, default=RATE_BPS_MAX)) // PS_PER_NS
    limits = Limits(horizon_ns, fills_cycle=cycle_counts, entry_least_ns=least_ns)
    tree = reader.parse_one(text, where, limits)
    delays_ns = [
        least_txtime_delay_ns(scenario, station, driver)
        for driver in _drivers(scenario, station)
        if _goes_by_txtimes(driver, tree)
    ]
    if not delays_ns:
        return tree
    return reader.parse_one(text, where, replace(limits, txtime_delay_least_ns=max(delays_ns)))


def _goes_by_txtimes(driver: str, tree: Tree) -> bool:
    """Whether a frame must be with the driver before its time. Others send it as it comes."""
    if driver == "launchtime":
        return any(isinstance(leaf, Etf) and leaf.offload for leaf in tree.leaves.values())
    return driver == "keepon"


def check(scenario: Scenario, source: str) -> None:
    """Read all of them.

    Raises:
        ConfigError: one sentence on the first that is wrong, or does not go with its station.
    """
    topology = Topology(scenario)
    for index, station in enumerate(scenario.station):
        where = f'{source}: key `station[{index}].qdisc` (station "{station.name}")'
        if station.qdisc is None:
            if station.release == "reschedule":
                raise ConfigError(
                    f'{source}: key `station[{index}].release` (station "{station.name}") ='
                    ' "reschedule": goes with taprio\'s txtime-assist only; write its commands as'
                    " qdisc"
                )
            continue
        tree = _read(where, scenario, station, station.qdisc)
        _check_station(where, station, tree)
        if "keepon" in _drivers(scenario, station) and isinstance(tree.root, Guard):
            raise ConfigError(
                f"{where}: guard sends frames at their times, when the slots of driver keepon are"
                ' past; leave it out, or take driver "standard"'
            )
        if "standard" in _drivers(scenario, station):
            _check_offloads(where, tree)
        for flow in _flows(scenario, topology, station):
            _check_flow(where, scenario, station, tree, flow)
        _check_faults(where, scenario, topology, station, tree)


def _check_station(where: str, station: Station, tree: Tree) -> None:
    if tree.root is None:
        raise ConfigError(f"{where}: {tree.device} has no root; add one")
    if station.release == "etf":
        raise ConfigError(
            f'{where}: goes without release = "etf", which is about the qdisc, too; leave out one'
            " of them"
        )
    if station.release == "reschedule" and not stations.assisted(tree):
        raise ConfigError(
            f'{where}: has no taprio with txtime-assist (flags 0x1), which release = "reschedule"'
            " is about; add it, or leave out release"
        )
    clock = tree.root.clockid if isinstance(tree.root, Taprio) else None
    if clock not in (None, "CLOCK_TAI"):
        raise ConfigError(
            f"{where}: taprio goes by {clock}, which Linux takes, but streams, txtimes and other"
            " gates go by TAI, from which it is off by an offset that is not stated; write clockid"
            " CLOCK_TAI"
        )
    if any(isinstance(leaf, Guard) for leaf in tree.leaves.values()):
        raise ConfigError(f"{where}: guard must be the root of its device; write it as root")


def _check_offloads(where: str, tree: Tree) -> None:
    """Refuse what Linux refuses for a card that has neither gates nor launch times."""
    for qdisc in (tree.root, *tree.leaves.values()):
        match qdisc:
            case Mqprio(hw=hw) if hw:
                asked, remedy = f"mqprio with hw {hw} (1 if it says none)", "write queues and hw 0"
            case Taprio(full_offload=True):
                asked, remedy = "taprio with flags 0x2", "write clockid CLOCK_TAI for flags"
            case Etf(offload=True) | Cbs(offload=True):
                asked, remedy = f"{type(qdisc).__name__.lower()} with offload", "leave offload out"
            case _:
                continue
        raise ConfigError(
            f"{where}: {asked} is the work of the card, and Linux refuses it of one that cannot, as"
            f' that of driver "standard"; {remedy}, or take driver "launchtime" or "keepon", whose'
            " cards can"
        )


def _flows(scenario: Scenario, topology: Topology, station: Station) -> list[Flow]:
    """All that a station sends, ACKs of TCP and frames of PTP too."""
    timed = station.release != "sleep"
    found = []
    for port in topology.ports_of(station.name):
        rate_bps = port.wire.rate_bps
        found += [
            Flow(f"stream {entry.id}", entry.tc, entry.frame_bytes, rate_bps, timed)
            for _, entry in topology.streams[port.name]
        ]
        found += [
            Flow(f"load {entry.id}", entry.tc, entry.frame_bytes, rate_bps, timed=False)
            for _, entry in topology.loads[port.name]
        ]
        if scenario.sync.by_ptp:
            message_bytes = PTP_MESSAGE_BYTES[scenario.sync.mode]
            found.append(Flow("PTP", scenario.sync.tc, message_bytes, rate_bps, timed=False))
    return found


def _check_flow(where: str, scenario: Scenario, station: Station, tree: Tree, flow: Flow) -> None:
    classes = tree.classes
    if classes is not None and (
        flow.tc >= classes.count or stations.priority_of(tree, flow.tc) is None
    ):
        raise ConfigError(
            f"{where}: has no class {flow.tc}, or no priority in its map that leads there, and"
            f" {flow.name} is in it; classes are 0 to {classes.count - 1}"
        )
    if isinstance(tree.root, Taprio) and not any(
        gates >> flow.tc & 1 for gates, _ in tree.root.entries
    ):
        raise ConfigError(
            f"{where}: class {flow.tc} is open in no window, and {flow.name} is in it, none of"
            " which would ever leave; open the class in one, or use another"
        )
    if (
        isinstance(stations.leaf_of(tree, flow.tc), Etf)
        and not flow.timed
        and flow.name != "PTP"
        and not stations.assisted(tree)
    ):
        raise ConfigError(
            f"{where}: etf drops what has no txtime, and {flow.name}, in its class {flow.tc}, has"
            ' none; give it a class without etf, or, a stream, another release than "sleep"'
        )
    leaf = stations.leaf_of(tree, flow.tc)
    if not (flow.timed and stations.by_timers(tree) and isinstance(leaf, Etf)):
        timer = host_of(station.host, "standard", 0.0)[0]["timer"]
        check_lengths(where, tree, flow, timer.usual_ns)


def _check_faults(
    where: str, scenario: Scenario, topology: Topology, station: Station, tree: Tree
) -> None:
    if not stations.by_timers(tree):
        return
    peers = [peer for peer in topology.neighbours[station.name] if peer not in topology.bridges]
    ends = [station.name, *(topology.port_to(peer, station.name).name for peer in peers)]
    for index, fault in enumerate(scenario.fault):
        if fault.kind == "link-down" and (fault.node in ends or fault.peer == station.name):
            raise ConfigError(
                f"{where}: Linux opens no gate of taprio in software any more once the link was"
                f" down, as by fault[{index}]; take flags 0x1 or 0x2, or leave that fault out"
            )


FCS_BYTES = 4


class Flow(NamedTuple):
    """What leaves by a port: its name in messages, its class, the length of its frames with FCS,
    the rate of its link. `timed`: its frames carry txtimes.
    """

    name: str
    tc: int
    frame_bytes: int
    rate_bps: int
    timed: bool


class Window(NamedTuple):
    """Where a class is open: the first entry of it, counted from 1, and for how long."""

    entry: int
    ns: int


def longest_window(taprio: Taprio, tc: int, *, timed: bool) -> Window | None:
    """The longest time for which a class is open; None: it never shuts.

    Entries in a row that have it are one window, as for Linux since 6.3. A frame with a txtime, and
    any with txtime-assist, must be within one of them (find_entry_to_transmit()).
    """
    entries = list(taprio.entries)
    if taprio.full_offload:  # the NIC keeps to the last entry until the cycle ends
        mask, ns = entries[-1]
        entries[-1] = mask, ns + taprio.cycle_ns - sum(ns for _, ns in taprio.entries)
    alone = not taprio.full_offload and (timed or taprio.txtime_assist)
    if not alone and all(mask >> tc & 1 for mask, _ in entries):
        return None
    found = Window(1, 0)
    for first in range(len(entries)):
        total_ns = 0
        for mask, ns in [*entries[first:], *entries[:first]][: 1 if alone else None]:
            if not mask >> tc & 1:
                break
            total_ns += ns
        found = max(found, Window(first + 1, total_ns), key=lambda window: window.ns)
    return found


def check_lengths(where: str, tree: Tree, flow: Flow, timer_ns: int) -> None:
    """Refuse a flow whose frames never leave.

    Args:
        where: how messages begin.
        timer_ns: how late the CPU's timer usually opens gates of software.

    Raises:
        ConfigError: one sentence.
    """
    if isinstance(tree.root, Taprio):
        _check_window(where, tree.root, flow, timer_ns if stations.by_timers(tree) else 0)
    match stations.leaf_of(tree, flow.tc):
        case Guard(mtu_bytes=most) if 0 < most < flow.frame_bytes:
            raise ConfigError(
                f"{where}: guard refuses frames above its mtu, {most} bytes, and those of"
                f" {flow.name} have {flow.frame_bytes}; write mtu {flow.frame_bytes} or more, or"
                " leave mtu out"
            )
        case Fifo(kind="bfifo", limit=int(most)) if most < flow.frame_bytes - FCS_BYTES:
            raise ConfigError(
                f"{where}: bfifo takes no frame above its limit, {most} bytes without FCS, and"
                f" those of {flow.name} have {flow.frame_bytes - FCS_BYTES}; raise limit, or leave"
                " it out"
            )
        case Fifo(limit=0):
            raise ConfigError(
                f"{where}: a fifo with limit 0 drops all of {flow.name}; raise limit, or leave it"
                " out"
            )


def _check_window(where: str, taprio: Taprio, flow: Flow, timer_ns: int) -> None:
    window = longest_window(taprio, flow.tc, timed=flow.timed)
    byte_ps = byte_time_ps(flow.rate_bps)
    frame_ns = ceil_ns((PREAMBLE_BYTES + flow.frame_bytes) * byte_ps)
    if window is None or window.ns > frame_ns + timer_ns:
        return
    most_bytes = (window.ns - 1 - timer_ns) * PS_PER_NS // byte_ps - PREAMBLE_BYTES
    shorter = f", or frames of at most {most_bytes} bytes" if most_bytes >= FRAME_BYTES_MIN else ""
    late, few = "", "none leaves"
    if timer_ns:
        late, few = f", and the CPU's timer opens it up to {timer_ns} ns late", "few or none leave"
    mask = taprio.entries[window.entry - 1][0]
    raise ConfigError(
        f"{where}: the longest window of class {flow.tc}, entry {window.entry} (S {mask:02x}),"
        f" lasts {window.ns} ns, and a frame of {flow.name}, {flow.frame_bytes} bytes, takes"
        f" {frame_ns} ns on the wire{late}, so that {few} in it (Linux drops what is too long"
        f" without a word); make it longer than {frame_ns + timer_ns} ns{shorter}"
    )
