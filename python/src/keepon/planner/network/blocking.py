# SPDX-License-Identifier: BSD-3-Clause
"""How long frames that no plan knows can keep a planned one from leaving a port without gates, or
with a gate list by hand that lets them go, too.

The argument is in docs/planning.md ("Ports without gates"); the checker has the same bound from it,
by code of its own.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

from keepon.errors import ConfigError
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
"""Of gPTP at every port: Pdelay_Req, Pdelay_Resp, Pdelay_Resp_Follow_Up."""
SYNC_MESSAGES = 2
"""Of one domain away from its grandmaster: Sync, Follow_Up."""
MESSAGES_APART = 2
"""Two messages of one kind are never nearer than this part of their interval: assumed (802.1AS-2020
has 30 %).
"""


@dataclass(frozen=True)
class Foreign:
    """What passes one port unplanned, in ps of its wire.

    Attributes:
        loads_ps: the longest frame of best effort by queue. Without gates that is below the one of
            every stream here.
        message_ps: the longest PTP message.
        messages: how many of PTP may come together.
    """

    loads_ps: dict[int, int]
    message_ps: int
    messages: int

    @property
    def load_ps(self) -> int:
        """The longest of all."""
        return max(self.loads_ps.values(), default=0)

    def blocking_ps(self, is_above_ptp: bool) -> int:
        """What a frame waits for at most: one in flight; if PTP goes first or is as urgent, its
        messages besides.
        """
        if is_above_ptp:
            return max(self.load_ps, self.message_ps if self.messages else 0)
        return self.load_ps + self.messages * self.message_ps


class Blocking:
    """Foreign frames of all ports of bridges."""

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
        messages = self._messages()
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
        """The queue of PTP's messages at a bridge."""
        return self._bridges[here].class_of(self._scenario.sync.priority)

    def at(self, here: str, there: str, queue: int) -> int:
        """Bound in ps for frames of this queue at a port without gates."""
        foreign = self._foreign.get((here, there))
        return 0 if foreign is None else foreign.blocking_ps(queue > self._ptp(here))

    def messages(self, here: str, there: str, queue: int) -> int:
        """How many messages of PTP may come together to a queue of a port."""
        foreign = self._foreign.get((here, there))
        return 0 if foreign is None or queue != self._ptp(here) else foreign.messages

    def behind_gates(self, here: str, there: str, queue: int, listed: GateList) -> int:
        """Bound in ps for frames of this queue at a port with a gate list by hand. A frame ends
        before its gate closes, so those are in flight whose gate is open with the stream's; of one
        that ends as that opens, or just before, the gap is, or the rest of it.
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
        """Refuse PTP so frequent that planned frames of one port need not leave time for it between
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
        # Of every window that is left to others which a frame may be kept; of two at the edges not
        # even that.
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
        """The longest frame of best effort by port and queue."""
        found: dict[Port, dict[int, int]] = {}
        for _, load, path in self._topology.best_effort:
            station = self._stations[self._topology.port_to(load.talker, path[1]).name]
            frame_bytes = station.longest_on_wire(load.frame_bytes)
            for port in itertools.pairwise(path[1:]):
                byte_ps = byte_time_ps(self._topology.wires[port].rate_bps)
                wire_bytes = frame_bytes + OVERHEAD_BYTES
                _, length_ps = self._lengths.span_ps(station, port[0], wire_bytes, byte_ps)
                of_port = found.setdefault(port, {})
                queue = self._bridges[port[0]].class_of(load.priority)
                of_port[queue] = max(of_port.get(queue, 0), length_ps)
        return found

    def _message_bytes(self) -> int:
        """The longest PTP frame; bridges that know nothing of PTP forward those of stations with
        slots as they are.
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

    def _messages(self) -> Counter[Port]:
        """How many messages of PTP there are by port, each kind of each domain and sender counted
        once.
        """
        sync, found = self._scenario.sync, Counter[Port]()
        if not sync.by_ptp:
            return found
        changed = [fault.node for fault in self._scenario.fault if fault.kind == "master-change"]
        reigns = dict.fromkeys((0, name) for name in (str(sync.grandmaster), *changed))
        reigns |= dict.fromkeys((entry.domain, entry.grandmaster) for entry in sync.domains)
        if sync.mode == "gptp":
            found.update(
                {
                    wire: LINK_MESSAGES
                    for wire in self._topology.wires
                    if wire[0] in self._topology.bridges
                }
            )
        for _, master in reigns:
            self._count_reign(found, master)
        return found

    def _count_reign(self, found: Counter[Port], master: str) -> None:
        """Messages of one domain under one grandmaster; a port whose Sync comes by two ways has it
        once.
        """
        away: set[Port] = set()
        nodes = [name for name in self._topology.neighbours if name != master]
        for node in nodes:
            try:
                way = self._topology.shortest(master, node)
            except KeyError:
                continue
            is_station = node not in self._topology.bridges
            if self._scenario.sync.mode == "gptp" or is_station:
                away.update(itertools.pairwise(way))
            if self._scenario.sync.mode == "ptp" and is_station:
                found.update(itertools.pairwise(way))  # Delay_Resp
                found.update(itertools.pairwise(self._topology.shortest(node, master)))  # Delay_Req
        found.update(dict.fromkeys(away, SYNC_MESSAGES))
