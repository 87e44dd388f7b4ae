# SPDX-License-Identifier: BSD-3-Clause
"""How long unplanned frames can block a planned frame at a port without gates, or at an explicit
gate list that opens for both.

docs/planning.md ("Ports without gates") has the derivation; the checker computes the same bound by
its own code.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

from keepon.errors import ConfigError
from keepon.model import preemption
from keepon.model.gates import GateList
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.model.wire import (
    GAP_BYTES,
    OVERHEAD_BYTES,
    PTP_MESSAGE_BYTES,
    byte_time_ps,
    wire_time_ps,
)
from keepon.planner.network.lengths import Lengths
from keepon.planner.stations import PTP_FRAME_BYTES_MAX, StationPlan

Port = tuple[str, str]

LINK_MESSAGES = 3
"""gPTP messages at every port: Pdelay_Req, Pdelay_Resp, Pdelay_Resp_Follow_Up."""
SYNC_MESSAGES = 2
"""Messages of one domain at a port on the side away from the grandmaster: Sync, Follow_Up."""
MESSAGES_APART = 2
"""Two messages of one kind are at least 1 / MESSAGES_APART of their interval apart: assumed
(802.1AS-2020 lets the interval vary by 30 %).
"""


@dataclass(frozen=True)
class Foreign:
    """Unplanned frames of one port, in ps of its wire.

    Attributes:
        loads_ps: the longest best-effort frame of each queue, or what of it cannot be
            interrupted; at a port without gates these queues are below those of all streams.
        message_ps: the longest PTP message.
        messages: the most PTP messages that arrive together.
    """

    loads_ps: dict[int, int]
    message_ps: int
    messages: int

    @property
    def load_ps(self) -> int:
        """The longest best-effort frame of all queues."""
        return max(self.loads_ps.values(), default=0)

    def blocking_ps(self, is_above_ptp: bool) -> int:
        """The longest wait of a frame: one frame in transmission, plus all PTP messages if PTP has
        the same or a higher queue.
        """
        if is_above_ptp:
            return max(self.load_ps, self.message_ps if self.messages else 0)
        return self.load_ps + self.messages * self.message_ps


class Blocking:
    """Unplanned frames of all ports of bridges."""

    def __init__(
        self,
        scenario: Scenario,
        topology: Topology,
        stations: dict[str, StationPlan],
        lengths: Lengths,
    ) -> None:
        self._scenario = scenario
        self._topology = topology
        self._stations = stations
        self._lengths = lengths
        self._bridges = {bridge.name: bridge for bridge in scenario.bridge}
        loads = self._loads()
        messages = ptp_messages(scenario, topology)
        frame_bytes = self._message_bytes()
        self._foreign = {
            port: Foreign(
                loads.get(port, {}),
                lengths.longest_ps(
                    port[0], wire_time_ps(frame_bytes, topology.wires[port].rate_bps)
                ),
                messages[port],
            )
            for port in loads.keys() | messages.keys()
        }  # fmt: skip

    def _ptp(self, here: str) -> int:
        """The queue of PTP messages at a bridge."""
        return self._bridges[here].class_of(self._scenario.sync.priority)

    def at(self, here: str, there: str, queue: int) -> int:
        """Bound in ps for frames of this queue at a port without gates."""
        foreign = self._foreign.get((here, there))
        return 0 if foreign is None else foreign.blocking_ps(queue > self._ptp(here))

    def messages(self, here: str, there: str, queue: int) -> int:
        """The most PTP messages that arrive together in this queue of a port."""
        foreign = self._foreign.get((here, there))
        return 0 if foreign is None or queue != self._ptp(here) else foreign.messages

    def longest_load_ps(self, here: str, there: str) -> int:
        """The longest best-effort frame that leaves by a port."""
        foreign = self._foreign.get((here, there))
        return 0 if foreign is None else foreign.load_ps

    def behind_gates(self, here: str, there: str, queue: int, listed: GateList) -> int:
        """Bound in ps for frames of this queue at a port with an explicit gate list.

        A frame ends before its gate closes, so only frames whose gate is open together with the
        stream's can be in transmission. Of a frame that ends as the stream's gate opens, or just
        before, the rest of its gap counts.
        """
        foreign, ptp = self._foreign.get((here, there)), self._ptp(here)
        if foreign is None:
            return 0
        goes_first = foreign.messages and ptp >= queue and listed.together(queue, ptp)
        lengths_ps = dict(foreign.loads_ps)
        if foreign.messages and not goes_first:
            lengths_ps[ptp] = max(lengths_ps.get(ptp, 0), foreign.message_ps)
        gap_ps = GAP_BYTES * byte_time_ps(self._topology.wires[here, there].rate_bps)
        blocked_ps = 0
        for other, length_ps in lengths_ps.items():
            if listed.together(queue, other):
                blocked_ps = max(blocked_ps, length_ps)
            elif (ago_ps := listed.shut_before_ps(queue, other, gap_ps)) is not None:
                blocked_ps = max(blocked_ps, gap_ps - ago_ps)
        return blocked_ps + (foreign.messages * foreign.message_ps if goes_first else 0)

    def check_rate(self, here: str, there: str, frames: list[tuple[int, int]]) -> None:
        """Refuse a PTP interval that may leave a port without time for all planned frames between
        two messages.

        Args:
            frames: queue and wire time in ps of all streams that may pass the port.

        Raises:
            ConfigError: the interval is too short.
        """
        foreign, sync = self._foreign.get((here, there)), self._scenario.sync
        if (
            foreign is None
            or not foreign.messages
            or all(queue > self._ptp(here) for queue, _ in frames)
        ):
            return
        # Each window leaves PTP the part in which its frame may be delayed; the two windows at the
        # edges of the interval leave none.
        longest_ps = max(wire_ps for _, wire_ps in frames)
        unplanned_ps = foreign.blocking_ps(is_above_ptp=False) + 2 * longest_ps
        needed_ps = MESSAGES_APART * max(
            unplanned_ps + unplanned_ps * wire_ps // self.at(here, there, queue)
            for queue, wire_ps in frames
        )
        key, interval_ms = min(
            (("interval_ms", sync.interval_ms), ("delay_interval_ms", sync.delay_interval_ms)),
            key=lambda pair: pair[1],
        )
        if interval_ms * 10**9 >= needed_ps:
            return
        raise ConfigError(
            f"key `sync.{key}` = {interval_ms}: must be at least {-(-needed_ps // 10**9)}, as PTP's"
            " messages may have "
            f'to wait that long for streams on the link "{here}" to "{there}", whose bridge has no'
            " gates; lengthen it, "
            "raise the link's rate_bps or shorten frames"
        )

    def _loads(self) -> dict[Port, dict[int, int]]:
        """The longest best-effort frame by port and queue."""
        found: dict[Port, dict[int, int]] = {}
        merged = preemption.ports(self._scenario)
        for _, load, path in self._topology.best_effort:
            station = self._stations[self._topology.port_to(load.talker, path[1]).name]
            frame_bytes = station.longest_on_wire(load.frame_bytes)
            for port in itertools.pairwise(path[1:]):
                byte_ps = byte_time_ps(self._topology.wires[port].rate_bps)
                wire_bytes = frame_bytes + OVERHEAD_BYTES
                _, length_ps = self._lengths.span_ps(station, port[0], wire_bytes, byte_ps)
                of_port = found.setdefault(port, {})
                queue = self._bridges[port[0]].class_of(load.priority)
                if port in merged and load.priority in (merged[port].preemptable or []):
                    uncut_ps = preemption.wait_bytes(merged[port]) * byte_ps
                    length_ps = min(length_ps, self._lengths.longest_ps(port[0], uncut_ps))
                of_port[queue] = max(of_port.get(queue, 0), length_ps)
        return found

    def _message_bytes(self) -> int:
        """The longest PTP frame; bridges without PTP forward the frames of slotted stations
        unchanged.
        """
        if self._scenario.sync.mode != "ptp":
            return PTP_FRAME_BYTES_MAX
        slots = [
            station.longest_on_wire(PTP_MESSAGE_BYTES["ptp"])
            + self._lengths.trim_bytes(station).more
            for station in self._stations.values()
            if station.is_slotted
        ]
        return max([PTP_FRAME_BYTES_MAX, *slots])


def ptp_messages(scenario: Scenario, topology: Topology) -> Counter[Port]:
    """The number of PTP messages by port, one of each kind, domain and sender."""
    sync, found = scenario.sync, Counter[Port]()
    if not sync.by_ptp:
        return found
    changed = [fault.node for fault in scenario.fault if fault.kind == "master-change"]
    reigns = dict.fromkeys((0, name) for name in (str(sync.grandmaster), *changed))
    reigns |= dict.fromkeys((entry.domain, entry.grandmaster) for entry in sync.domains)
    if sync.mode == "gptp":
        wires = [wire for wire in topology.wires if wire[0] in topology.bridges]
        found.update(dict.fromkeys(wires, LINK_MESSAGES))
    for _, master in reigns:
        _count_reign(found, scenario, topology, master)
    return found


def _count_reign(found: Counter[Port], scenario: Scenario, topology: Topology, master: str) -> None:
    """Count the messages of one domain under one grandmaster; Sync that reaches a port on two
    routes counts once.
    """
    away: set[Port] = set()
    nodes = [name for name in topology.neighbours if name != master]
    for node in nodes:
        try:
            way = topology.shortest(master, node)
        except KeyError:
            continue
        is_station = node not in topology.bridges
        if scenario.sync.mode == "gptp" or is_station:
            away.update(itertools.pairwise(way))
        if scenario.sync.mode == "ptp" and is_station:
            found.update(itertools.pairwise(way))  # Delay_Resp
            found.update(itertools.pairwise(topology.shortest(node, master)))  # Delay_Req
    found.update(dict.fromkeys(away, SYNC_MESSAGES))
