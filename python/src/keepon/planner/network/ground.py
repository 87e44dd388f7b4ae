# SPDX-License-Identifier: BSD-3-Clause
"""The network that the planner places flows in (wires, gates, slots of a scenario), and the
placement of a flow for a given release.

Reference plane: from one bridge to the next a frame needs frame_bytes x byte time + processing +
propagation + the 8-byte preamble of its next transmission (store and forward). A gated bridge opens
a window at the latest arrival of its frame, so the frame leaves every gated port at a fixed instant
whatever its release error.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from keepon.errors import ConfigError
from keepon.model.gates import GateList, Window, guard_ns
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
from keepon.planner.network import behind, gatelimits, redundant, talkerwindows, ways
from keepon.planner.network.blocking import Blocking
from keepon.planner.network.flows import Flow, Hop, Placement, Step
from keepon.planner.network.grid import on_grid, partition_slots, slot_of
from keepon.planner.network.lengths import Lengths
from keepon.planner.network.occupancy import ALONE, NEVER, Claim, Occupancy
from keepon.planner.network.trees import Leg, Routes, Tree
from keepon.planner.partition.limits import Limits
from keepon.planner.stations import StationPlan

_REST_GROUP = 1 << 16
EIGHTH = 8
"""A bridge may hold a frame for 1 / EIGHTH of its wire time so that windows of one queue become
consecutive.
"""


class Ground:
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
        self._alone: dict[tuple[int, int, int], Placement | int] = {}
        self._steps: dict[tuple[int, int], list[Step]] = {}
        routes = Routes(self.topology, scenario.planner.routes)
        self.flows: list[Flow] = []
        for number, stream in enumerate(scenario.stream):
            limits.look("routes were looked for")
            trees = ways.of(self, stream, routes)
            self.flows.append(
                Flow(number, stream, self.station_of(stream), trees, turns=stream.turns)
            )
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
        """Parameters of all ports. The grandmaster comes first: the granularity of its stamps
        limits that of the stations that follow it.
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

    def with_room(self, limits: Limits) -> Ground | None:
        """The scenario with room for best-effort frames of MTU 1500; None: no port has room."""
        wide = {name: stations.with_room(station) for name, station in self.stations.items()}
        if all(wide[name] is station for name, station in self.stations.items()):
            return None
        return Ground(self.scenario, limits, chosen=wide)

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
            and self.bridges[here].gates != "none"
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
        """Whether a port may send frames of `other` while it may send frames of `queue`."""
        listed = self.explicit(here, there)
        if listed is not None:
            return listed.together(queue, other)
        return not self.is_gated(here, there)

    def grid(self, here: str, there: str) -> gatelimits.Grid:
        """Where the gates of a port may change."""
        return self._grids.get((here, there), gatelimits.ANY)

    def repeat(self, cycles_ps: Mapping[tuple[str, str], int]) -> bool:
        """From now on repeat all windows of these ports with a cycle; whether that is new."""
        before = dict(self._cycles_ps)
        self._cycles_ps |= cycles_ps
        self._alone.clear()
        return self._cycles_ps != before

    def varies(self, here: str, there: str) -> bool:
        """Whether how long frames wait at a port depends on the release."""
        return (here, there) in self._explicit or (here, there) in self._grids

    def longest_load_ps(self, here: str, there: str) -> int:
        """The longest best-effort frame that leaves by a port of a bridge."""
        return self._blocking.longest_load_ps(here, there)

    def margin_ps(self, bridge: str) -> int:
        """Greatest error of the clock that opens a bridge's gates, either way: the stated error and
        that of asymmetric links.
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
        """Refuse a port without gates where PTP and planned frames leave each other too little
        time.
        """
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

    # -- placing a flow
    # ----------------------------------------------------------------------------------------------

    def lay(
        self,
        flow: Flow,
        tree: Tree,
        release_ps: int,
        occupancy: Occupancy | None = None,
        wait_ps: int | None = None,
        waits_ns: tuple[int, ...] = (),
    ) -> Placement | int:
        """The placement of a flow for one release, or by how many ps the release must move later at
        least (NEVER: no release fits).

        Args:
            flow: the flow to place.
            tree: its route.
            release_ps: instant on the station's grid.
            occupancy: claims that the flow must not overlap; None: none.
            wait_ps: the most that bridges may hold the flow in total; None: an eighth of its wire
                time at each bridge.
            waits_ns: the hold at each hop, if it is known already.
        """
        if occupancy is None or waits_ns:
            return self._lay(flow, tree, release_ps, occupancy, wait_ps, waits_ns)
        if barred_ps := self.barred_ps(flow, release_ps):
            return barred_ps
        return self._lay(flow, tree, release_ps, occupancy, wait_ps)

    def alone(self, flow: Flow, tree: Tree) -> Placement | int:
        """The placement of a flow at its first release with no other flow."""
        key = (flow.number, flow.turns, tree.number)
        if key not in self._alone:
            self._alone[key] = self._lay(flow, tree, on_grid(flow.station, flow.stream, 0))
        return self._alone[key]

    def steady(self, flow: Flow, tree: Tree) -> Placement | None:
        """The placement of a flow with no other flow; None if it does not simply move with the
        release.

        It does not behind explicit gate lists and coarse gates, on two ways, or where slots start
        between two whole ns.
        """
        fixed = any(self.varies(leg.here, leg.there) for leg in tree.legs)
        if fixed or tree.second or (flow.station.is_slotted and flow.station.slot_ps % PS_PER_NS):
            return None
        laid = self.alone(flow, tree)
        assert not isinstance(laid, int)
        return laid

    def patience_ps(self, flow: Flow, tree: Tree, claim: Claim, wait_ps: int | None) -> int:
        """How long a bridge may hold a flow until the wire of a claim is free; 0: no hold."""
        if claim.resource[0] != "wire" or tree.second:
            return 0
        step = next(step for step in self.steps(flow, tree) if step.wire == claim.resource)
        if not step.gated:
            return 0
        return step.limit_ps if wait_ps is None else wait_ps

    def _lay(
        self,
        flow: Flow,
        tree: Tree,
        release_ps: int,
        occupancy: Occupancy | None = None,
        wait_ps: int | None = None,
        waits_ns: tuple[int, ...] = (),
    ) -> Placement | int:
        """As `lay`, without the talker's listed slots and windows."""
        placement = Placement(flow, tree, release_ps, self._first_window(flow, release_ps))
        self._claim_talker(placement)
        for claim in placement.claims:
            if occupancy is not None and (shift_ps := occupancy.shift_ps(claim)):
                return shift_ps
        passing: list[
            tuple[int, int]
        ] = []  # earliest and latest instant at the reference plane of each leg's sender
        for leg, step in zip(tree.legs, self.steps(flow, tree), strict=True):
            if leg.parent < 0:
                early_ps = release_ps + flow.station.error_low_ps
                late_ps = release_ps + flow.station.error_high_ps
            else:
                before = passing[leg.parent]
                ready_ps = (before[0] + step.after_ps[0], before[1] + step.after_ps[1])
                if leg.other >= 0:
                    early_ps, late_ps = passing[leg.other]
                    after_ps = step.other_after_ps
                    ready_ps = (
                        min(ready_ps[0], early_ps + after_ps[0]),
                        max(ready_ps[1], late_ps + after_ps[1]),
                    )
                limit_ps = step.limit_ps if wait_ps is None else wait_ps
                if tree.second:
                    limit_ps = 0  # a hold on one way would move the frame behind both by less
                given_ns = waits_ns[len(placement.hops)] if waits_ns else None
                outcome = self._leave(flow, step, ready_ps, occupancy, limit_ps, given_ns)
                if isinstance(outcome, int):
                    return outcome
                hop, claims = outcome
                if wait_ps is not None and step.gated:
                    wait_ps -= hop.waits_ps
                placement.hops.append(hop)
                placement.claims.extend(claims)
                early_ps, late_ps = hop.early_ps + step.preamble_ps, hop.late_ps + step.preamble_ps
            passing.append((early_ps, late_ps))
            if leg.there in tree.paths:
                reach_ps = (early_ps + step.delay_ps, late_ps + step.delay_ps)
                so_far_ps = placement.arrivals.get(leg.there, reach_ps)
                placement.arrivals[leg.there] = (
                    min(so_far_ps[0], reach_ps[0]),
                    max(so_far_ps[1], reach_ps[1]),
                )
        if occupancy is not None and (excess_ps := self.excess_ps(placement)):
            return excess_ps
        return placement

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
        # With isolation "order" the next frame may be in the queue already. If a frame is shorter
        # than its window while the gate stays open, the next one leaves before its own window.
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

    def excess_ps(self, placement: Placement) -> int:
        """By how much a flow exceeds its deadline or jitter; NEVER if no other release changes the
        excess.
        """
        stream = placement.flow.stream
        if not placement.flow.station.bounded:
            return 0
        late_ps = (
            0
            if stream.deadline_ns is None
            else self.due_ps(placement) - stream.deadline_ns * PS_PER_NS
        )
        wide_ps = (
            0 if stream.jitter_ns is None else placement.spread_ps - stream.jitter_ns * PS_PER_NS
        )
        if max(late_ps, wide_ps) <= 0:
            return 0
        movable = any(hop.waits_ps or self.varies(hop.bridge, hop.peer) for hop in placement.hops)
        if not movable:
            return NEVER
        # If the earliest frames miss the gate's opening, they wait for the next opening with the
        # latest frames, and the spread shrinks.
        return max(late_ps, min(wide_ps, self._until_shut_ps(placement)))

    def due_ps(self, placement: Placement) -> int:
        """Greatest delay to the bit that a deadline is of."""
        if placement.flow.stream.deadline_at == "first_bit":
            return placement.delay_ps
        ends_ps = []
        for leg in placement.tree.legs:
            if leg.there in placement.arrivals:
                _, late_ps = placement.arrivals[leg.there]
                ends_ps.append(late_ps + self.frame_ps(placement.flow, leg.here, leg.there)[1])
        return max(ends_ps) - placement.release_ps

    def held_by_hand_ps(self, placement: Placement) -> int:
        """How long a flow waits at the first explicit gate list that delays it; released that much
        later, the frame arrives as the gate opens.
        """
        held = (hop for hop in placement.hops if (hop.bridge, hop.peer) in self._explicit)
        return next((hop.held_ps for hop in held if hop.held_ps > 0), 0)

    def _until_shut_ps(self, placement: Placement) -> int:
        """By how much later the flow must be released so that its earliest frames miss an explicit
        gate opening that they reach now.
        """
        found = [placement.flow.period_ps]
        for hop in placement.hops:
            listed = self.explicit(hop.bridge, hop.peer)
            if listed is None:
                continue
            least_ps, _ = self.frame_ps(placement.flow, hop.bridge, hop.peer, PREAMBLE_BYTES)
            at_ps = hop.early_ps + self.margin_ps(hop.bridge)
            left_ps = listed.left_ps(hop.window.queue, at_ps, least_ps)
            if left_ps is not None:
                found.append(left_ps + 1)
        return min(found)

    def frame_ps(self, flow: Flow, here: str, there: str, extra_bytes: int = 0) -> tuple[int, int]:
        """Least and greatest wire time of a frame behind the reference plane, plus
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
        """Store and forward: the time of the frame behind the reference plane plus processing."""
        processing_ps = self.bridges[leg.there].processing_ns * PS_PER_NS
        least_ps, most_ps = self.frame_ps(flow, leg.here, leg.there)
        return least_ps + processing_ps, most_ps + processing_ps

    def _first_window(self, flow: Flow, release_ps: int) -> Window:
        station = flow.station
        rate_bps = station.wire.rate_bps
        low_ps, high_ps = (
            (0, 0) if station.is_slotted else (station.error_low_ps, station.error_high_ps)
        )
        start_ps = release_ps - PREAMBLE_BYTES * byte_time_ps(rate_bps) + low_ps
        leg = flow.trees[0].legs[0]
        _, wire_ps = self.frame_ps(flow, leg.here, leg.there, OVERHEAD_BYTES)
        if station.is_slotted:
            # Consecutive slots have no gap whatever the crystal: a longer slot shortens the others.
            wire_ps = station.taken_ps(flow.stream)
        length_ps = wire_ps + high_ps - low_ps
        return Window(flow.stream.id, flow.stream.tc, start_ps, length_ps, flow.period_ps)

    def _claim_talker(self, placement: Placement) -> None:
        """Add the claims on the talker's wire and on the slots of its class."""
        flow, station = placement.flow, placement.flow.station
        leg = placement.tree.legs[0]
        placement.claims.append(_claim(("wire", leg.here, leg.there), placement.first))
        if not station.is_slotted or station.mode == "paper":
            return
        rest = {entry.tc for entry in station.station.keepon.classes if entry.slots == "rest"}
        start_ps = slot_of(station, placement.release_ps) * station.slot_ps
        end_ps = start_ps + station.taken_ps(flow.stream)
        placement.claims.append(
            Claim(
                ("slots", station.name), start_ps, end_ps, start_ps, end_ps, flow.period_ps,
                _REST_GROUP if flow.stream.tc in rest else flow.stream.tc,
                station.partition_slots * station.slot_ps,
            )
        )  # fmt: skip

    def _leave(
        self,
        flow: Flow,
        step: Step,
        ready_ps: tuple[int, int],
        occupancy: Occupancy | None,
        limit_ps: int,
        given_ns: int | None,
    ) -> tuple[Hop, list[Claim]] | int:
        """The hop and claims of a frame that is ready at a port within [early, late], or by how
        many ps the release must move later.
        """
        _, here, there = step.wire
        early_ps, late_ps = ready_ps
        behind_ps = 0
        listed, blocked_ps = self.explicit(here, there), step.blocked_ps
        if listed is not None:
            if self._is_shut(flow, here, there):
                return NEVER
            opens = self._opens(flow, step, listed, ready_ps)
            if (
                opens is None
            ):  # the opening ends within the clock error; the next opening begins after it
                return max(1, 2 * self.margin_ps(here))
            early_ps, late_ps = opens[0], opens[1] + blocked_ps
            if occupancy is not None and step.exact:
                behind_ps = behind.wait_ps(self, flow, step, listed, (early_ps, late_ps), occupancy)
                early_ps = late_ps if behind_ps else early_ps
        elif step.gated:
            early_ps = step.grid.opens_ps(late_ps, step.margin_ps)
            late_ps = early_ps + 2 * step.margin_ps
        else:
            late_ps += blocked_ps
        length_ps = late_ps - early_ps + step.length_ps
        window = Window(
            flow.stream.id,
            step.queue_number,
            early_ps,
            length_ps,
            math.gcd(flow.period_ps, self._cycles_ps.get((here, there), 0)),
            step.margin_ps,
            is_held=early_ps > ready_ps[0],
        )
        apart_ps = 0 if step.least_ps == window.length_ps else step.guard_ps
        if not flow.station.bounded and step.gated and (here, there) in self._timed_ports:
            # The frame may begin at the end of its window; the gap behind it must not reach the
            # next window.
            apart_ps = guard_ns(self.topology.wires[here, there].rate_bps) * PS_PER_NS
            if self.bridges[here].gate_guard == "none":
                apart_ps = max(apart_ps, step.length_ps)
        claim = _claim(step.wire, window, apart_ps)
        if step.exact and early_ps == late_ps:
            claim = replace(claim, queue=step.queue_number)
        waits_ps = behind_ps if given_ns is None else given_ns * PS_PER_NS
        while occupancy is not None and (shift_ps := occupancy.shift_ps(claim.moved(waits_ps))):
            if shift_ps == NEVER:
                return NEVER
            shift_ps = step.grid.up_ps(shift_ps) if step.gated else shift_ps
            if not step.gated or waits_ps + shift_ps > limit_ps:
                return max(1, waits_ps + shift_ps - (limit_ps if step.gated else 0))
            waits_ps += shift_ps
        if waits_ps:
            early_ps, late_ps = early_ps + waits_ps, late_ps + waits_ps
            window = replace(window.moved(waits_ps), is_held=True)
        claims = [claim.moved(waits_ps)]
        if step.gated or listed is not None:
            queue = self._queue_claim(flow, step, ready_ps, window)
            if occupancy is not None and (shift_ps := occupancy.shift_ps(queue)):
                return shift_ps
            claims.append(queue)
        held_ps = late_ps - blocked_ps - ready_ps[1]
        hop = Hop(here, there, early_ps, late_ps, held_ps, waits_ps, blocked_ps, window)
        return hop, claims

    def is_shut(self, flow: Flow, tree: Tree) -> bool:
        """Whether an explicit gate list blocks a route of a flow for every release."""
        return any(
            self.explicit(leg.here, leg.there) is not None
            and self._is_shut(flow, leg.here, leg.there)
            for leg in tree.legs
        )

    def _is_shut(self, flow: Flow, here: str, there: str) -> bool:
        """Whether no opening is long enough, or the list's cycle does not divide the
        flow's period.
        """
        listed = self.explicit(here, there)
        assert listed is not None
        if flow.period_ps % (listed.cycle_ns * PS_PER_NS):
            return True
        _, most_ps = self.frame_ps(flow, here, there, PREAMBLE_BYTES)
        queue = self.queue(here, flow.stream.priority)
        need_ps = most_ps + self.blocked_ps(here, there, queue)
        return listed.earliest_ps(queue, 0, need_ps) is None

    def _opens(
        self, flow: Flow, step: Step, listed: GateList, ready_ps: tuple[int, int]
    ) -> tuple[int, int] | None:
        """First and last instant at which an explicit gate list lets a frame start, for a clock
        that is off either way; None if the clock error makes the opening uncertain. The opening has
        room for the frame and for unplanned frames before it.
        """
        _, here, there = step.wire
        least_ps, most_ps = self.frame_ps(flow, here, there, PREAMBLE_BYTES)
        queue, off_ps = step.queue_number, self.margin_ps(here)
        most_ps += step.blocked_ps
        ahead = listed.earliest_ps(queue, ready_ps[0] + off_ps, least_ps)
        behind = listed.earliest_ps(queue, ready_ps[1] - off_ps, most_ps)
        other = listed.earliest_ps(queue, ready_ps[1] + off_ps, most_ps)
        # If a fast clock closed the gate first, the frame would wait for the next opening.
        if ahead is None or behind is None or other is None or other - off_ps > behind + off_ps:
            return None
        return ahead - off_ps, behind + off_ps

    def _queue_claim(
        self, flow: Flow, step: Step, ready_ps: tuple[int, int], window: Window
    ) -> Claim:
        """The claim of a frame on its queue: exclusive from arrival to departure (isolation
        "frame"), or in the order of the windows ("order") where the window is as short as the
        frame and never empty.
        """
        resource, period_ps = step.queue, window.period_ps
        end_ps = window.start_ps + window.length_ps
        is_loose = step.grid != gatelimits.ANY or period_ps != flow.period_ps
        # With a way cut its windows are empty, in which no other frame may be there to leave.
        is_loose = is_loose or flow.stream.redundancy > 1
        if self.scenario.planner.isolation == "frame" or is_loose:
            return Claim(resource, ready_ps[0], end_ps, ready_ps[0], end_ps, period_ps)
        # Two frames that arrive at the same instant may queue in either order.
        come_ps = ready_ps[1] + 1
        return Claim(resource, ready_ps[0], come_ps, window.start_ps, end_ps, flow.period_ps)


def _with_options(scenario: Scenario, station: Station, options: KeeponOptions) -> Scenario:
    """The scenario with other keepon options for one port of a station."""
    own = station.model_copy(update={"keepon": options})
    return scenario.model_copy(
        update={
            "station": [own if entry is station else entry for entry in scenario.station],
        }
    )


def _claim(resource: tuple[str, ...], window: Window, apart_ps: int = 0) -> Claim:
    end_ps = window.start_ps + window.length_ps + apart_ps
    return Claim(
        resource, window.start_ps, end_ps, window.start_ps, end_ps, window.period_ps, ALONE
    )
