# SPDX-License-Identifier: BSD-3-Clause
"""The network that the planner places flows in: parameters of its stations, gates and queues of its
ports, routes of its streams, and how long frames take on them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from keepon.errors import ConfigError
from keepon.model.cables import node_of
from keepon.model.gates import GateList, guard_ns
from keepon.model.scenario import (
    BRIDGE_CLOCK_ERROR_NS,
    Bridge,
    KeeponOptions,
    Scenario,
    Station,
    Stream,
)
from keepon.model.topology import Topology
from keepon.model.wire import (
    OVERHEAD_BYTES,
    PREAMBLE_BYTES,
    PS_PER_NS,
    byte_time_ps,
    ceil_ns,
    wire_time_ps,
)
from keepon.planner import stations
from keepon.planner.network import gatelimits, redundant, talkerwindows, ways
from keepon.planner.network.blocking import Blocking
from keepon.planner.network.cqf import Cycles
from keepon.planner.network.flows import Flow, Placement, Step
from keepon.planner.network.grid import partition_slots
from keepon.planner.network.lengths import Lengths
from keepon.planner.network.trees import Leg, Routes, Tree
from keepon.planner.partition.limits import Limits
from keepon.planner.stations import StationPlan

EIGHTH = 8
"""A bridge may hold a frame for 1 / EIGHTH of its wire time so that windows of one queue become
consecutive.
"""


class Ports:
    """What stays constant while the planner places flows."""

    def __init__(
        self,
        scenario: Scenario,
        limits: Limits | None = None,
        fixed: Mapping[str, KeeponOptions] | None = None,
        chosen: Mapping[str, StationPlan] | None = None,
        sizes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        """Prepare a scenario.

        Args:
            scenario: a checked scenario.
            limits: time limit of the preparation.
            fixed: options of single ports that differ from their station's, by port name.
            chosen: parameters of the ports, by name, if they are known.
            sizes: slot lengths to try at single ports, by name; other ports try all.

        Raises:
            TimeUpError: the limits were reached before the preparation ended.
        """
        limits = limits or Limits()
        self.scenario = scenario
        self.topology = Topology(scenario)
        self.bridges: dict[str, Bridge] = {bridge.name: bridge for bridge in scenario.bridge}
        self.stations: dict[str, StationPlan] = {}
        self._explicit = {
            (bridge.name, peer): GateList(
                entry.base_ns, tuple((int(e.gates, 16), e.ns) for e in entry.entries)
            )
            for bridge in scenario.bridge
            for peer, entry in (bridge.gates.items() if isinstance(bridge.gates, dict) else ())
        }
        chosen = chosen or self._chosen(limits, fixed or {}, sizes or {})
        self.stations |= {name: chosen[name] for name in self.topology.ports}
        self._owned = {name: self._listed_slots(station) for name, station in self.stations.items()}
        self.lengths = Lengths(scenario)
        self._blocking = Blocking(scenario, self.topology, self.stations, self.lengths)
        self.load_queues: dict[tuple[str, str], set[int]] = {}
        for _, load, path in self.topology.best_effort:
            for here, there in itertools.pairwise(path[1:]):
                queue = self.queue(here, load.priority)
                self.load_queues.setdefault((here, there), set()).add(queue)
        self._alone: dict[tuple[int, int, int, bool], Placement | int] = {}
        self._steps: dict[tuple[int, int], list[Step]] = {}
        routes = Routes(self.topology, scenario.planner.routes)
        self.flows: list[Flow] = []
        for number, stream in enumerate(scenario.stream):
            limits.look("routes were looked for")
            trees = ways.of(self, stream, routes)
            self.flows.append(
                Flow(number, stream, self.station_of(stream), trees, turns=stream.turns)
            )
        self.cycles = Cycles(self)
        together = Counter((flow.station.name, flow.stream.tc) for flow in self.flows)
        self._windows = {}
        for flow in self.flows:
            count = together[flow.station.name, flow.stream.tc]
            windows = talkerwindows.of(scenario, flow.stream, flow.station, count)
            if windows is not None:
                self._windows[flow.number] = windows
        self._check_blocking()
        self._grids = gatelimits.grids(self)
        self._cycles_ps: dict[tuple[str, str], int] = {}

    def _chosen(
        self, limits: Limits, fixed: Mapping[str, KeeponOptions],
        sizes: Mapping[str, tuple[int, ...]],
    ) -> dict[str, StationPlan]:  # fmt: skip
        """Parameters of all ports. The grandmaster comes first: its timestamp granularity limits
        that of the stations synchronised to it.
        """
        scenario, chosen = self.scenario, dict[str, StationPlan]()
        order = sorted(
            scenario.station, key=lambda station: station.name != scenario.sync.grandmaster
        )
        for station in order:
            limits.look("stations were prepared")
            for port in self.topology.ports_of(station.name):
                master = (
                    chosen.get(str(scenario.sync.grandmaster)) if scenario.sync.by_ptp else None
                )
                own = fixed.get(port.name)
                given = scenario if own is None else _with_options(scenario, station, own)
                chosen[port.name] = stations.choose(
                    given, given.station_named(station.name), port, self.topology, master,
                    sizes.get(port.name, ()),
                )  # fmt: skip
        return chosen

    def station_of(self, stream: Stream) -> StationPlan:
        """Parameters of the port by which a stream leaves its talker."""
        return self.stations[self.topology.port_of(stream).name]

    # -- refusals
    # ----------------------------------------------------------------------------------------------

    def wrong(self, stream: Stream, key: str, shown: str, expectation: str) -> ConfigError:
        """The error message for a key of a stream."""
        index = self.scenario.stream.index(stream)
        return ConfigError(
            f'key `stream[{index}].{key}` (stream "{stream.id}") = {shown}: {expectation}'
        )

    # -- ports and their gates
    # ----------------------------------------------------------------------------------------------

    def listed_ports(self) -> dict[tuple[str, str], GateList]:
        """Ports with an explicit gate list."""
        return dict(self._explicit)

    def queue(self, bridge: str, priority: int) -> int:
        """The queue of a priority at the ports of a bridge."""
        return self.bridges[bridge].class_of(priority)

    def explicit(self, here: str, there: str) -> GateList | None:
        """The explicit gate list of a port; None: it has none."""
        return self._explicit.get((here, there))

    def is_gated(self, here: str, there: str) -> bool:
        """Whether the planner makes the gate list of a port."""
        return (
            here in self.bridges
            and self.bridges[here].gates not in ("none", "cqf")
            and (here, there) not in self._explicit
        )

    @cached_property
    def _timed_ports(self) -> set[tuple[str, str]]:
        """Ports on a route of a stream with a bound."""
        return {
            (leg.here, leg.there)
            for flow in self.flows
            if flow.station.bounded
            for tree in flow.trees
            for leg in tree.legs
        }

    def open_at_once(self, here: str, there: str, queue: int, other: int) -> bool:
        """Whether the gates of `queue` and `other` of a port can be open at once."""
        listed = self.explicit(here, there)
        if listed is not None:
            return listed.together(queue, other)
        return not self.is_gated(here, there)

    def grid(self, here: str, there: str) -> gatelimits.Grid:
        """Where the gates of a port may change."""
        return self._grids.get((here, there), gatelimits.ANY)

    def repeat(self, cycles_ps: Mapping[tuple[str, str], int]) -> bool:
        """Repeat all windows of these ports with these cycles from now on; is that new?"""
        before = dict(self._cycles_ps)
        self._cycles_ps |= cycles_ps
        self._alone.clear()
        return self._cycles_ps != before

    def varies(self, here: str, there: str) -> bool:
        """Whether the wait at a port depends on the release."""
        fixed = (here, there) in self._explicit or here in self.cycles.bridges
        return fixed or (here, there) in self._grids

    def longest_load_ps(self, here: str, there: str) -> int:
        """The longest best-effort frame that leaves by a port of a bridge."""
        return self._blocking.longest_load_ps(here, there)

    def margin_ps(self, bridge: str) -> int:
        """Greatest error, either way, of the clock that opens a bridge's gates: as stated, and of
        asymmetric links.
        """
        if (
            bridge not in self.bridges
            or self.scenario.sync.mode != "gptp"
            or self.bridges[bridge].gates == "none"
        ):
            return 0
        return (BRIDGE_CLOCK_ERROR_NS + self.scenario.asymmetry_error_ns(bridge)) * PS_PER_NS

    def blocked_ps(self, here: str, there: str, queue: int) -> int:
        """The longest time that unplanned frames can block a frame of this queue at a port without
        gates or with an explicit gate list.
        """
        listed = self.explicit(here, there)
        if listed is not None:
            return self._blocking.behind_gates(here, there, queue, listed)
        return self._blocking.at(here, there, queue)

    def messages_beside(self, here: str, there: str, queue: int) -> int:
        """How many PTP messages may share a queue of a port with stream frames."""
        return self._blocking.messages(here, there, queue)

    def _check_blocking(self) -> None:
        """Refuse a PTP interval too short for the planned frames of a port without gates."""
        passing: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for flow in self.flows:
            frame_bytes = flow.station.planned_frame_bytes(flow.stream)
            for here, there in sorted(
                {(leg.here, leg.there) for tree in flow.trees for leg in tree.legs}
            ):
                if here not in self.bridges or self.bridges[here].gates != "none":
                    continue
                wire_ps = wire_time_ps(
                    frame_bytes + redundant.tag_bytes(self.topology, flow.stream, here, there),
                    self.topology.wires[here, there].rate_bps,
                )
                queue = self.queue(here, flow.stream.priority)
                passing.setdefault((here, there), []).append((queue, wire_ps))
        for (here, there), frames in passing.items():
            self._blocking.check_rate(here, there, frames)

    def _listed_slots(self, station: StationPlan) -> dict[int, set[int]]:
        """Slots that the scenario lists for classes, by class."""
        if not station.is_slotted or station.mode == "paper":
            return {}
        listed = {
            entry.tc: set(entry.slots)
            for entry in station.station.keepon.classes
            if isinstance(entry.slots, list)
        }
        for number, entry in enumerate(station.station.keepon.classes):
            beyond = [slot for slot in listed.get(entry.tc, ()) if slot >= station.partition_slots]
            if beyond:
                index = [entry.name for entry in self.scenario.station].index(station.port.station)
                raise ConfigError(
                    f"key `station[{index}].keepon.classes[{number}].slots` (station"
                    f' "{station.name}") = {min(beyond)}: must be below'
                    f" {station.partition_slots}, the slots of its partition; lower it or state a"
                    " longer partition_slots"
                )
        return listed

    def listed(self, flow: Flow) -> bool:
        """Whether the scenario lists slots for classes of the talker, or its taprio has windows."""
        return bool(self._owned[flow.station.name]) or flow.number in self._windows

    def barred_ps(self, flow: Flow, release_ps: int) -> int:
        """By how much a release must move later to meet the talker's listed slots and taprio
        windows; 0: it meets them.
        """
        if flow.number in self._windows and (
            later_ps := self._windows[flow.number].later_ps(release_ps, flow.period_ps)
        ):
            return later_ps
        listed = self._owned[flow.station.name]
        if not listed:
            return 0
        own = set(partition_slots(flow.station, flow.stream, flow.period_ps, release_ps))
        allowed = all(
            not own - slots if tc == flow.stream.tc else not own & slots
            for tc, slots in listed.items()
        )
        return 0 if allowed else flow.station.slot_ps

    def steps(self, flow: Flow, tree: Tree) -> list[Step]:
        """Constants of a flow on each leg of its tree."""
        key = (flow.number, tree.number)
        if key not in self._steps:
            self._steps[key] = [self._step(flow, tree, leg) for leg in tree.legs]
        return self._steps[key]

    def _step(self, flow: Flow, tree: Tree, leg: Leg) -> Step:
        wire = self.topology.wires[leg.here, leg.there]
        least_ps, most_ps = self.frame_ps(flow, leg.here, leg.there, OVERHEAD_BYTES)
        length_ps = ceil_ns(most_ps) * PS_PER_NS
        frame_bytes, priority = flow.station.planned_frame_bytes(flow.stream), flow.stream.priority
        queue = self.queue(leg.here, priority) if leg.parent >= 0 else 0
        gated, after_ps, blocked_ps = self.is_gated(leg.here, leg.there), (0, 0), 0
        grid = self.grid(leg.here, leg.there)
        length_ps = grid.up_ps(max(length_ps, grid.least_ps))
        if leg.parent >= 0 and not gated:
            blocked_ps = self.blocked_ps(leg.here, leg.there, queue)
        if leg.parent >= 0:
            after_ps = self._after_ps(flow, tree.legs[leg.parent])
        other_after_ps = (0, 0) if leg.other < 0 else self._after_ps(flow, tree.legs[leg.other])
        # With isolation "order" the next frame may be queued already: if a frame is shorter than
        # its window, guard_ps keeps the next one from leaving before its own window.
        ordered = self.scenario.planner.isolation != "frame" and gated
        return Step(
            wire=("wire", leg.here, leg.there),
            queue=("queue", leg.here, leg.there, str(queue)),
            queue_number=queue,
            after_ps=after_ps,
            least_ps=least_ps,
            length_ps=length_ps,
            gated=gated,
            margin_ps=self.margin_ps(leg.here) if gated else 0,
            blocked_ps=blocked_ps,
            preamble_ps=PREAMBLE_BYTES * byte_time_ps(wire.rate_bps),
            delay_ps=wire.propagation_ns * PS_PER_NS,
            limit_ps=ceil_ns(wire_time_ps(frame_bytes, wire.rate_bps)) * PS_PER_NS // EIGHTH,
            guard_ps=guard_ns(wire.rate_bps) * PS_PER_NS if ordered else 0,
            exact=(
                (leg.here, leg.there) in self._explicit
                and least_ps == length_ps
                and not blocked_ps
                and not self.margin_ps(leg.here)
            ),
            grid=grid,
            other_after_ps=other_after_ps,
        )

    def frame_ps(self, flow: Flow, here: str, there: str, extra_bytes: int = 0) -> tuple[int, int]:
        """Least and greatest wire time of a frame after the reference plane, plus
        `extra_bytes`.
        """
        byte_ps = byte_time_ps(self.topology.wires[here, there].rate_bps)
        extra_bytes += redundant.tag_bytes(self.topology, flow.stream, here, there)
        frame_bytes = flow.station.planned_frame_bytes(flow.stream)
        return self.lengths.span_ps(flow.station, here, frame_bytes + extra_bytes, byte_ps)

    def _after_ps(self, flow: Flow, leg: Leg) -> tuple[int, int]:
        """From the reference plane of a leg until the frame may leave the bridge behind it."""
        way_ps = self.topology.wires[leg.here, leg.there].propagation_ns * PS_PER_NS
        least_ps, most_ps = self._stay_ps(flow, leg)
        return way_ps + least_ps, way_ps + most_ps

    def _stay_ps(self, flow: Flow, leg: Leg) -> tuple[int, int]:
        """Store and forward: the time of the frame after the reference plane plus processing."""
        processing_ps = self.bridges[node_of(leg.there)].processing_ns * PS_PER_NS
        least_ps, most_ps = self.frame_ps(flow, leg.here, leg.there)
        return least_ps + processing_ps, most_ps + processing_ps


def _with_options(scenario: Scenario, station: Station, options: KeeponOptions) -> Scenario:
    """The scenario with other keepon options for one port of a station."""
    own = station.model_copy(update={"keepon": options})
    return scenario.model_copy(
        update={
            "station": [own if entry is station else entry for entry in scenario.station],
        }
    )
