# SPDX-License-Identifier: BSD-3-Clause
"""What one table of a scenario asks of another: of faults and stations, of backends and streams, of
gate lists and PTP, of frames and the stations that send and receive them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from keepon.errors import ConfigError
from keepon.model.networktables import GateList
from keepon.model.scenario import Fault, Scenario
from keepon.model.topology import Topology
from keepon.model.wire import (
    FRAME_BYTES_MAX,
    FRAME_BYTES_MIN,
    PREAMBLE_BYTES,
    PTP_MESSAGE_BYTES,
    byte_time_ps,
    ceil_ns,
)

_OF_STATIONS = ("poll-stall", "clock-step", "link-down", "late-submit", "wire-pause", "babble")
BABBLE_NS_MIN, BABBLE_NS_MAX = 1_000, 10_000_000_000


def check_faults(scenario: Scenario, source: str) -> None:
    """Their nodes are known to be there.

    Raises:
        ConfigError: one sentence on the first that its node cannot have.
    """
    ports = Topology(scenario).ports if scenario.fault else {}
    stations = {station.name: station for station in scenario.station}
    for index, fault in enumerate(scenario.fault):
        where = f"{source}: key `fault[{index}]"
        if fault.peer is not None and fault.kind != "link-down":
            raise ConfigError(
                f'{where}.peer` = "{fault.peer}": must be of kind "link-down", not'
                f' "{fault.kind}"; leave it out'
            )
        if fault.peer is not None or fault.kind not in _OF_STATIONS:
            continue
        name = ports[fault.node].station if fault.node in ports else fault.node
        if name not in stations:
            raise ConfigError(
                f'{where}.node` = "{fault.node}": must be a station for {fault.kind}, and this is a'
                f" bridge; name one of {', '.join(stations)}"
                + (", or the bridge's link by `peer`" if fault.kind == "link-down" else "")
            )
        if fault.kind == "babble":
            _check_babble(scenario, where, fault)
        driver = stations[name].driver
        drivers = scenario.drivers() if driver == "under-test" else [driver]
        if fault.kind == "poll-stall" and "keepon" not in drivers:
            raise ConfigError(
                f'{where}.kind` = "poll-stall": must be of a station with driver "keepon", as no'
                f' other driver polls, and "{name}" has {", ".join(drivers)}; name such a station,'
                " or another kind"
            )


def _check_babble(scenario: Scenario, where: str, fault: Fault) -> None:
    talkers = list(dict.fromkeys(stream.talker for stream in scenario.stream))
    if fault.node not in talkers:
        raise ConfigError(
            f'{where}.node` = "{fault.node}": must be the talker of a stream for babble, of which'
            f" it sends more; name one of {', '.join(talkers)}"
        )
    if not BABBLE_NS_MIN <= fault.value_ns <= BABBLE_NS_MAX:
        raise ConfigError(
            f"{where}.value_ns` = {fault.value_ns}: must be within {BABBLE_NS_MIN} to"
            f" {BABBLE_NS_MAX}; for babble it is the time from one frame too many to the next"
        )


GENERIC_LEAD_NS = 3_000_000
"""Most that such a link has handed over to the driver ahead of the wire."""


def check_backends(scenario: Scenario, source: str) -> None:
    """Refuse what such a link cannot do.

    Raises:
        ConfigError: one sentence on the first key.
    """
    generic = set()
    for index, station in enumerate(scenario.station):
        if station.driver not in ("keepon", "under-test") or station.keepon.backend == "native":
            continue
        generic.add(station.name)
        if station.keepon.clock == "dual":
            raise ConfigError(
                f'{source}: key `station[{index}].keepon.clock` (station "{station.name}") ='
                ' "dual": must be "interpolated" or "counter" with backend = "generic", which has'
                ' no receive ring; choose one, or backend = "native"'
            )
    for index, stream in enumerate(scenario.stream):
        if stream.talker in generic and stream.advance_ns < GENERIC_LEAD_NS:
            raise ConfigError(
                f'{source}: key `stream[{index}].advance_ns` (stream "{stream.id}") ='
                f' {stream.advance_ns}: must be at least {GENERIC_LEAD_NS} with backend = "generic"'
                f' of talker "{stream.talker}", whose slots are with the card\'s driver so long'
                ' before they leave; raise it, or take backend = "native"'
            )


def check_ptp_gates(scenario: Scenario, source: str) -> None:
    """Every port passes PTP: Pdelay_Req with "gptp", else Sync or Delay_Req.

    Raises:
        ConfigError: one sentence on the first list whose gate of PTP never opens for long enough.
    """
    sync = scenario.sync
    if not sync.by_ptp:
        return
    topology = Topology(scenario)
    for index, bridge in enumerate(scenario.bridge):
        for peer, listed in bridge.gates.items() if isinstance(bridge.gates, dict) else ():
            queue = bridge.class_of(sync.priority)
            rate_bps = topology.wires[bridge.name, peer].rate_bps
            least_ns = ceil_ns(
                (PREAMBLE_BYTES + PTP_MESSAGE_BYTES[sync.mode]) * byte_time_ps(rate_bps)
            )
            if (open_ns := _open_ns(listed, queue)) < least_ns:
                raise ConfigError(
                    f"{source}: key `bridge[{index}].gates.{peer}.entries` (bridge"
                    f' "{bridge.name}"): gate {queue}, of PTP by sync.priority = {sync.priority},'
                    f" is open for {open_ns} ns at most, and its messages take {least_ns} ns, so"
                    " that clocks behind it are never set; open it for as long (0x"
                    f"{1 << queue:02x}) in an entry without the gates of streams"
                )


def _open_ns(listed: GateList, queue: int) -> int:
    """For how long a gate stays open at most, over entries in a row and the end of the cycle."""
    entries = [(int(entry.gates, 16) >> queue & 1, entry.ns) for entry in listed.entries]
    longest_ns = open_ns = 0
    for is_open, ns in entries * 2:
        open_ns = open_ns + ns if is_open else 0
        longest_ns = max(longest_ns, open_ns)
    return longest_ns


class LongFlow(NamedTuple):
    """A stream or load whose frames are longer than any slot: how messages begin that are about
    their length, that, and its stations, the talker first.
    """

    key: str
    frame_bytes: int
    ends: list[str]


def long_flows(scenario: Scenario) -> Iterator[LongFlow]:
    """Those of a scenario."""
    flows = [
        ("stream", index, entry.id, entry.frame_bytes, [entry.talker, *entry.listeners])
        for index, entry in enumerate(scenario.stream)
    ] + [
        ("load", index, entry.id, entry.frame_bytes, [entry.talker, entry.listener])
        for index, entry in enumerate(scenario.load)
    ]
    for kind, index, name, frame_bytes, ends in flows:
        if frame_bytes > FRAME_BYTES_MAX:
            key = f'key `{kind}[{index}].frame_bytes` ({kind} "{name}") = {frame_bytes}'
            yield LongFlow(key, frame_bytes, ends)


def check_lengths(scenario: Scenario, source: str) -> None:
    """Refuse frames that a station with driver keepon can neither send nor receive.

    Raises:
        ConfigError: one sentence on the first such stream or load.
    """
    by_keepon = {"keepon"} | ({"under-test"} if "keepon" in scenario.drivers() else set())
    stations = {entry.name for entry in scenario.station if entry.driver in by_keepon}
    for flow in long_flows(scenario):
        if own := stations.intersection(flow.ends):
            raise ConfigError(
                f"{source}: {flow.key}: must be between {FRAME_BYTES_MIN} and {FRAME_BYTES_MAX},"
                " what slots and buffers of driver keepon hold, which station"
                f' "{min(own)}" has; send shorter frames, or take another driver there'
            )
