# SPDX-License-Identifier: BSD-3-Clause
"""Streams over bridges with cyclic queuing and forwarding (IEEE Std 802.1Q-2022 annex T).

A frame whose last bit is at a bridge in cycle c waits in the buffer of c, and leaves in cycle
c + buffers - 1. Nothing has to be placed there: whatever the instants in a cycle are, all that a
cycle may hold is sent within it. Of each stream that is one frame.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from keepon.errors import ConfigError
from keepon.model import cqf
from keepon.model.cables import node_of
from keepon.model.gates import ALL_GATES, GateList, Window
from keepon.model.plan import PlannedCycles, PlannedFilter
from keepon.model.policing import TAGGED_OVERHEAD_BYTES
from keepon.model.wire import PS_PER_NS, ceil_ns, preamble_time_ps
from keepon.planner.network.flows import Flow, Hop, Placement, Step
from keepon.planner.network.occupancy import NEVER, Claim
from keepon.planner.network.trees import Leg, Tree

if TYPE_CHECKING:
    from keepon.planner.network.ports import Ports

_Port = tuple[str, str]


class Cycles:
    """What cycles hold and when they begin, at all bridges that have them."""

    def __init__(self, ground: Ports) -> None:
        """Leave streams one route: what a cycle holds must be known before anything is placed."""
        self._ground = ground
        self.bridges = {bridge.name: bridge for bridge in cqf.bridges(ground.scenario)}
        self._sent: dict[_Port, int] = {}
        for flow in ground.flows:
            if self.passed(flow.trees[0]):
                del flow.trees[1:]
            flow.trees[1:] = [tree for tree in flow.trees[1:] if not self.passed(tree)]

    def passed(self, tree: Tree) -> list[Leg]:
        """Legs of a route that leave a bridge with cycles."""
        return [leg for leg in tree.legs if leg.here in self.bridges]

    @cached_property
    def _flows(self) -> dict[_Port, list[Flow]]:
        """Streams that leave by each port with cycles."""
        found = defaultdict(list)
        for flow in self._ground.flows:
            for leg in self.passed(flow.trees[0]):
                found[leg.here, leg.there].append(flow)
        return dict(found)

    def _cycle_ps(self, bridge: str) -> int:
        return cqf.cycle_ns(self.bridges[bridge]) * PS_PER_NS

    def _processing_ps(self, bridge: str) -> int:
        return self.bridges[bridge].processing_ns * PS_PER_NS

    def _held_ps(self, port: _Port) -> int:
        """Time on the wire of the frames that a cycle may hold, with preambles and gaps."""
        return sum(
            step.length_ps
            for flow in self._flows[port]
            for leg, step in zip(
                flow.trees[0].legs, self._ground.steps(flow, flow.trees[0]), strict=True
            )
            if (leg.here, leg.there) == port
        )

    def _sent_ps(self, port: _Port) -> int:
        """From the start of a cycle, by the bridge's clock, until all that it holds has left: with
        two buffers its last frames are there when the bridge has processed them.
        """
        here, there = port
        if port not in self._sent:
            queue = self._ground.queue(here, self._flows[port][0].stream.priority)
            late_ps = self._processing_ps(here) if self.bridges[here].cqf_buffers == 2 else 0
            late_ps += self._ground.blocked_ps(here, there, queue)
            self._sent[port] = late_ps + self._held_ps(port)
        return self._sent[port]

    def _on_way_ps(self, port: _Port) -> tuple[int, int]:
        """From the start of a cycle until its first frame is received whole, at least; and from the
        end of the last frame's transmission on.
        """
        wire = self._ground.topology.wires[port]
        way_ps = wire.propagation_ns * PS_PER_NS
        least_ps = min(
            (self._ground.frame_ps(flow, *port)[0] for flow in self._flows.get(port, ())), default=0
        )
        return way_ps + preamble_time_ps(wire.rate_bps) + least_ps, way_ps

    def _later_ps(self, here: str, there: str) -> int:
        """How much later than a cycle that its frames left in begins the time that a bridge counts
        as that cycle where they arrive. With two buffers that would take from the next cycle; three
        make room for it, and clocks may then be off to either side by the same.
        """
        bridge, way_ps = self.bridges[there], self._on_way_ps((here, there))[1]
        if bridge.cqf_buffers == 2:
            return 0
        late_ps = way_ps
        if here in self.bridges:
            first_ps, way_ps = self._on_way_ps((here, there))
            last_ps = self._sent_ps((here, there)) + way_ps
            late_ps = max(0, first_ps + last_ps - self._cycle_ps(there)) // 2
        most_ps = self._cycle_ps(there) - self._processing_ps(there)
        return min(ceil_ns(late_ps) * PS_PER_NS, most_ps)

    # -- refusals

    def refuse(self) -> None:
        """Refuse streams that do not go by cycles, and cycles that do not hold theirs.

        Raises:
            ConfigError: names the key.
        """
        for flow in self._ground.flows:
            if passed := self.passed(flow.trees[0]):
                self._refuse_stream(flow, passed)
        for port in self._flows:
            self._refuse_classes(port)
            self._refuse_short(port)

    def _refuse_stream(self, flow: Flow, passed: list[Leg]) -> None:
        ground, stream = self._ground, flow.stream
        cycle_ns = cqf.cycle_ns(self.bridges[passed[0].here])
        if stream.redundancy > 1:
            raise ground.wrong(
                stream, "redundancy", "2", 'must be 1 where gates are "cqf"; choose other gates'
            )
        other = [leg.here for leg in flow.trees[0].legs[1:] if leg.here not in self.bridges]
        if other:
            raise ground.wrong(
                stream, "route", str(stream.route),
                f'must not lead over "{other[0]}" too, whose gates are not "cqf" as those of'
                f' "{passed[0].here}" are; choose another route, or one kind of gates',
            )  # fmt: skip
        if any(leg.there != node_of(leg.there) for leg in passed):
            raise ground.wrong(
                stream, "route", str(stream.route),
                'must lead by the first link of two bridges where gates are "cqf"; choose it',
            )  # fmt: skip
        if not flow.station.bounded:
            raise ground.wrong(
                stream, "talker", f'"{stream.talker}"',
                'must send in the cycle where gates are "cqf", and its driver keeps no times;'
                ' choose driver "keepon" or "launchtime"',
            )  # fmt: skip
        self._refuse_long(flow, passed[0].here)
        bridges = len(flow.trees[0].paths[stream.listeners[0]]) - 2
        cycles = bridges * (self.bridges[passed[0].here].cqf_buffers - 1) - 1
        if stream.deadline_ns is not None and stream.deadline_ns < cycles * cycle_ns:
            raise ground.wrong(
                stream, "deadline_ns", str(stream.deadline_ns),
                f"must be at least {cycles * cycle_ns}, what {bridges} bridges take with"
                f" cqf_cycle_ns = {cycle_ns}; raise it, or shorten the cycle",
            )  # fmt: skip
        if flow.turns > 1 or stream.period_ns % cycle_ns:
            raise ground.wrong(
                stream, "period_ns", str(stream.period_ns),
                f"must be a multiple of cqf_cycle_ns = {cycle_ns}; choose one",
            )  # fmt: skip

    def _refuse_long(self, flow: Flow, bridge: str) -> None:
        """Refuse a frame that does not pass its talker's link within a cycle."""
        talker, station, wire = flow.stream.talker, flow.station, flow.station.wire
        least_ps = station.error_high_ps - station.error_low_ps + 1
        least_ps += preamble_time_ps(wire.rate_bps) + wire.propagation_ns * PS_PER_NS
        least_ps += self._ground.frame_ps(flow, talker, bridge)[1] + self._ground.margin_ps(bridge)
        least_ps -= self._later_ps(talker, bridge)
        if least_ps > self._cycle_ps(bridge):
            raise ConfigError(
                f"{self._key(bridge, 'cqf_cycle_ns')} = {self.bridges[bridge].cqf_cycle_ns}: must"
                f" be at least {ceil_ns(least_ps)}, in which a frame of stream"
                f' "{flow.stream.id}" passes the link of its talker; lengthen it, shorten frames,'
                " or raise the link's rate_bps"
            )

    def _refuse_classes(self, port: _Port) -> None:
        here, there = port
        ground, bridge = self._ground, self.bridges[here]
        own = [flow for other in self._flows if other[0] == here for flow in self._flows[other]]
        top = own[0].stream
        buffers = [queue for queue, _ in cqf.buffers(bridge, top.priority)]
        for flow in own:
            if ground.queue(here, flow.stream.priority) != buffers[0]:
                raise ground.wrong(
                    flow.stream, "priority", str(flow.stream.priority),
                    f'must have traffic class {buffers[0]} in bridge "{here}", as "{top.id}" has;'
                    " choose one priority",
                )  # fmt: skip
        if any(internal < 0 for _, internal in cqf.buffers(bridge, top.priority)):
            raise ground.wrong(
                top, "priority", str(top.priority),
                f'must leave traffic class {buffers[0]} of bridge "{here}" {len(buffers) - 1} below'
                " that priorities lead to; raise it, or state more queues",
            )  # fmt: skip
        sync = ground.scenario.sync
        beside = [
            (f'load[{index}].priority` (load "{load.id}")', load.priority)
            for index, load, path in ground.topology.best_effort
            if here in path[1:-1]
        ] + [("sync.priority`", sync.priority)] * sync.by_ptp
        for key, priority in beside:
            if ground.queue(here, priority) in buffers:
                raise ConfigError(
                    f"key `{key} = {priority}: must have none of traffic classes {buffers[-1]} to"
                    f' {buffers[0]} in bridge "{here}", which are the buffers of its cycles; choose'
                    " another"
                )
        frames = len(self._flows[port])
        if frames > bridge.queue_frames:
            raise ConfigError(
                f"{self._key(here, 'queue_frames')} = {bridge.queue_frames}: must be at least"
                f' {frames}, the frames of a cycle on the link "{here}" to "{there}"; raise it'
            )

    def _key(self, bridge: str, name: str) -> str:
        index = list(self._ground.bridges).index(bridge)
        return f'key `bridge[{index}].{name}` (bridge "{bridge}")'

    def _refuse_short(self, port: _Port) -> None:
        here, there = port
        bridge, sent_ps = self.bridges[here], self._sent_ps(port)
        least_ps = sent_ps
        if there in self.bridges:
            apart_ps = self._ground.margin_ps(here) + self._ground.margin_ps(there)
            first_ps, way_ps = self._on_way_ps(port)
            last_ps = sent_ps + way_ps + apart_ps
            least_ps = last_ps
            if bridge.cqf_buffers == 3:
                # Frames count as of their cycle for a cycle, from when the first of them is there,
                # and the last is in its queue before that is sent.
                processed_ps = self._processing_ps(there)
                least_ps = max(
                    sent_ps, last_ps - first_ps + apart_ps, -(-(last_ps + processed_ps) // 2),
                    processed_ps + PS_PER_NS,
                )  # fmt: skip
            if first_ps < apart_ps:
                raise ConfigError(
                    f'{self._key(there, "gates")} = "cqf": must be another, as a frame from'
                    f' "{here}" may be there {first_ps // PS_PER_NS} ns after its cycle began, and'
                    f" clocks {apart_ps // PS_PER_NS} ns apart; choose one, or lengthen frames"
                )
        if (least_ns := ceil_ns(least_ps)) > cqf.cycle_ns(bridge):
            raise ConfigError(
                f"{self._key(here, 'cqf_cycle_ns')} = {bridge.cqf_cycle_ns}: must be at least"
                f' {least_ns}, what a cycle must hold on the link "{here}" to "{there}"'
                f" ({len(self._flows[port])} frames, {ceil_ns(self._held_ps(port))} ns) and its"
                " dead time; lengthen it, shorten frames or lead fewer streams over it"
            )

    # -- placing

    def leave(
        self, placed: Placement, leg: Leg, step: Step, ready_ps: tuple[int, int]
    ) -> tuple[Hop, list[Claim]] | int:
        """The hop of a frame that is ready at a port within [early, late], or by how many ps the
        release must move later: its talker sends all of it in a cycle.
        """
        flow, before = placed.flow, placed.tree.legs[leg.parent]
        here, port = leg.here, (leg.here, leg.there)
        cycle_ps, off_ps = self._cycle_ps(here), self._ground.margin_ps(here)
        later_ps = self._later_ps(before.here, here)
        came_ps = [at_ps - self._processing_ps(here) - later_ps for at_ps in ready_ps]
        cycle = (came_ps[0] - off_ps) // cycle_ps
        next_ps = (cycle + 1) * cycle_ps
        if before.parent < 0:
            wire = self._ground.topology.wires[before.here, here]
            begins_ps = placed.release_ps + flow.station.error_low_ps
            begins_ps -= preamble_time_ps(wire.rate_bps)
            if begins_ps < cycle * cycle_ps:
                return cycle * cycle_ps - begins_ps
        if came_ps[1] + off_ps >= next_ps:
            return next_ps - came_ps[0] + off_ps if before.parent < 0 else NEVER
        sends_ps = (cycle + self.bridges[here].cqf_buffers - 1) * cycle_ps
        early_ps = max(sends_ps - off_ps, ready_ps[0])
        late_ps = sends_ps + off_ps + self._sent_ps(port) - step.length_ps
        window = Window(
            flow.stream.id, step.queue_number, early_ps, late_ps - early_ps + step.length_ps,
            flow.period_ps,
        )  # fmt: skip
        blocked_ps = step.blocked_ps
        held_ps = late_ps - blocked_ps - ready_ps[1]
        return Hop(here, leg.there, early_ps, late_ps, held_ps, 0, blocked_ps, window), []

    # -- what the plan says

    def gate_list(self, bridge: str) -> GateList | None:
        """The list of each port of a bridge: in turn it shuts all buffers but one."""
        own = next((flows[0] for port, flows in self._flows.items() if port[0] == bridge), None)
        if own is None:
            return None
        entry = self.bridges[bridge]
        classes = [queue for queue, _ in cqf.buffers(entry, own.stream.priority)]
        others = ALL_GATES & ~sum(1 << queue for queue in classes)
        turns = [*classes[1:], classes[0]]  # cycle 0 sends what cycle 1 - buffers got
        return GateList(0, tuple((others | 1 << queue, cqf.cycle_ns(entry)) for queue in turns))

    def filters(self, bridge: str, placed: dict[str, list[Placement]]) -> list[PlannedFilter]:
        """A stream filter for each stream: its gate has the buffer of the cycle."""
        entry = self.bridges[bridge]
        return [
            {
                "stream": name,
                "max_sdu_bytes": longest_sdu_bytes(self._ground, placements[0].flow),
                "base_ns": self._later_ps(leg.here, bridge) // PS_PER_NS,
                "entries": [
                    {"open": True, "ns": cqf.cycle_ns(entry), "priority": internal}
                    for _, internal in cqf.buffers(entry, placements[0].flow.stream.priority)
                ],
            }
            for name, placements in placed.items()
            for leg in placements[0].tree.legs
            if leg.there == bridge
        ]

    def document(self, bridge: str, placed: dict[str, list[Placement]]) -> PlannedCycles | None:
        """What the plan has on cycles of a bridge; None: no stream comes there, or it has none.

        An error of its clock moves its cycles, and what it sends against those of the next bridge.
        """
        if bridge not in self.bridges:
            return None
        off_ps = self._ground.margin_ps(bridge)
        room_ps = [
            self._room_ps(placements[0], leg) + off_ps - self._ground.margin_ps(leg.there)
            for placements in placed.values()
            for leg in placements[0].tree.legs
            if bridge in (leg.here, leg.there) and leg.there in self.bridges
        ]
        if not room_ps:
            return None
        entry = self.bridges[bridge]
        return {
            "cycle_ns": cqf.cycle_ns(entry),
            "buffers": entry.cqf_buffers,
            "clock_error_ns": min(room_ps) // PS_PER_NS,
        }

    def _room_ps(self, placement: Placement, leg: Leg) -> int:
        """How far the arrivals of a stream at a bridge are from the edges of their cycle."""
        early_ps, late_ps = last_bit_ps(self._ground, placement, leg)
        later_ps, cycle_ps = self._later_ps(leg.here, leg.there), self._cycle_ps(leg.there)
        start_ps = (early_ps - later_ps) // cycle_ps * cycle_ps + later_ps
        return min(early_ps - start_ps, start_ps + cycle_ps - late_ps - 1)


def longest_sdu_bytes(ground: Ports, flow: Flow) -> int:
    """Octets of a frame of a stream, as a filter's maximum SDU size counts them."""
    longest_bytes = flow.station.planned_frame_bytes(flow.stream)
    return longest_bytes + ground.lengths.trim_bytes(flow.station).more - TAGGED_OVERHEAD_BYTES


def last_bit_ps(ground: Ports, placed: Placement, into: Leg) -> tuple[int, int]:
    """When the last bit of a frame arrives at the end of a leg, in network time."""
    station = placed.flow.station
    if into.parent < 0:
        early_ps = placed.release_ps + station.error_low_ps
        late_ps = placed.release_ps + station.error_high_ps
    else:
        hop = next(
            each for each in placed.hops if (each.bridge, each.peer) == (into.here, into.there)
        )
        preamble_ps = preamble_time_ps(ground.topology.wires[into.here, into.there].rate_bps)
        early_ps, late_ps = hop.early_ps + preamble_ps, hop.late_ps + preamble_ps
    least_ps, most_ps = ground.frame_ps(placed.flow, into.here, into.there)
    way_ps = ground.topology.wires[into.here, into.there].propagation_ns * PS_PER_NS
    return early_ps + way_ps + least_ps, late_ps + way_ps + most_ps
