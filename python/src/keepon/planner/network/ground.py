# SPDX-License-Identifier: BSD-3-Clause
"""The ground a flow is laid on: wires, gates and slots of a scenario, and where a flow is if it
leaves at an instant.

Reference plane: from one bridge to the next a frame needs frame_bytes x byte time + processing +
propagation + the 8-byte preamble of its next transmission (store and forward). Bridges with gates
open a window when the frame is there at its latest, so a frame leaves every gated port at a fixed
instant whatever its release error.
"""

from __future__ import annotations

import itertools
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
from keepon.planner.network import behind, talkerwindows, ways
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
"""Part of a frame's wire time that it may be kept at a bridge for windows of one queue to become
consecutive.
"""


class Ground:
    """Everything that does not change while flows are placed."""

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
            scenario: a checked one.
            limits: of the time it may take.
            fixed: what single ports of a station have of their own, by name.
            chosen: what ports have, by name, if that is known.
            sizes: slot lengths that single ports try instead of all, by name.

        Raises:
            TimeUpError: the limits were reached before all was prepared.
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
            self.flows.append(Flow(number, stream, self.station_of(stream), trees))
        together = Counter((flow.station.name, flow.stream.tc) for flow in self.flows)
        self._windows = {}
        for flow in self.flows:
            count = together[flow.station.name, flow.stream.tc]
            windows = talkerwindows.of(scenario, flow.stream, flow.station, count)
            if windows is not None:
                self._windows[flow.number] = windows
        self._check_blocking()

    def _chosen(
        self, limits: Limits, fixed: Mapping[str, KeeponOptions],
        sizes: Mapping[str, tuple[int, ...]],
    ) -> dict[str, StationPlan]:  # fmt: skip
        """What ports have. The grandmaster first: how coarse its stamps are decides what is left to
        who follows it.
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
        """The same with room for best effort's frames of MTU 1500; None: no port has any."""
        wide = {name: stations.with_room(station) for name, station in self.stations.items()}
        if all(wide[name] is station for name, station in self.stations.items()):
            return None
        return Ground(self.scenario, limits, chosen=wide)

    def station_of(self, stream: Stream) -> StationPlan:
        """What is fixed about the port a stream leaves its talker by."""
        return self.stations[self.topology.port_of(stream).name]

    # -- what is refused
    # ----------------------------------------------------------------------------------------------

    def wrong(self, stream: Stream, key: str, shown: str, expectation: str) -> ConfigError:
        """The sentence for a key of a stream."""
        index = self.scenario.stream.index(stream)
        return ConfigError(
            f'key `stream[{index}].{key}` (stream "{stream.id}") = {shown}: {expectation}'
        )

    # -- what is known of places
    # --------------------------------------------------------------------------------------

    def listed_ports(self) -> dict[tuple[str, str], GateList]:
        """Ports that were given a gate list by hand."""
        return dict(self._explicit)

    def queue(self, bridge: str, priority: int) -> int:
        """The queue that frames of a priority have at the ports of a bridge."""
        return self.bridges[bridge].class_of(priority)

    def explicit(self, here: str, there: str) -> GateList | None:
        """The gate list a port was given by hand."""
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
        """Where streams that have a bound may pass."""
        return {
            (leg.here, leg.there)
            for flow in self.flows
            if flow.station.bounded
            for tree in flow.trees
            for leg in tree.legs
        }

    def open_at_once(self, here: str, there: str, queue: int, other: int) -> bool:
        """Whether frames of the other queue may go at a port while those of a stream's may."""
        listed = self.explicit(here, there)
        if listed is not None:
            return listed.together(queue, other)
        return not self.is_gated(here, there)

    def margin_ps(self, bridge: str) -> int:
        """Gates follow the bridge's clock, which is off either way: as stated, and by asymmetric
        links.
        """
        if (
            bridge not in self.bridges
            or self.scenario.sync.mode != "gptp"
            or self.bridges[bridge].gates == "none"
        ):
            return 0
        return (BRIDGE_CLOCK_ERROR_NS + self.scenario.asymmetry_error_ns(bridge)) * PS_PER_NS

    def blocked_ps(self, here: str, there: str, queue: int) -> int:
        """How long frames that no plan knows can keep one of this queue from leaving a port without
        gates, or with a gate list by hand.
        """
        listed = self.explicit(here, there)
        if listed is not None:
            return self._blocking.behind_gates(here, there, queue, listed)
        return self._blocking.at(here, there, queue)

    def messages_beside(self, here: str, there: str, queue: int) -> int:
        """How many messages of PTP may be in a queue of a port with frames of streams."""
        return self._blocking.messages(here, there, queue)

    def _check_blocking(self) -> None:
        """PTP leaves planned frames time at every port without gates, and they leave PTP time."""
        passing: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for flow in self.flows:
            frame_bytes = flow.station.planned_frame_bytes(flow.stream)
            for here, there in sorted(
                {(leg.here, leg.there) for tree in flow.trees for leg in tree.legs}
            ):
                if here not in self.bridges or self.bridges[here].gates != "none":
                    continue
                wire_ps = wire_time_ps(frame_bytes, self.topology.wires[here, there].rate_bps)
                queue = self.queue(here, flow.stream.priority)
                passing.setdefault((here, there), []).append((queue, wire_ps))
        for (here, there), frames in passing.items():
            self._blocking.check_rate(here, there, frames)

    def _listed_slots(self, station: StationPlan) -> dict[int, set[int]]:
        """Slots that classes were given by hand, by class."""
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
        """Whether classes of the talker were given slots or windows by hand."""
        return bool(self._owned[flow.station.name]) or flow.number in self._windows

    def barred_ps(self, flow: Flow, release_ps: int) -> int:
        """By how much later a release must be at least for the slots and windows that classes of
        the talker were given by hand; 0: they allow it.
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

    # -- laying a flow
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
        """Where a flow is if released at an instant, or by how much later that must be at least
        (NEVER: none will do).

        Args:
            flow: what to lay.
            tree: its way.
            release_ps: instant on the station's grid.
            occupancy: what it must not meet; None: nothing.
            wait_ps: how long it may be kept at bridges altogether; None: at each, an eighth of its
                wire time.
            waits_ns: how long it is kept at each hop; given, it is not chosen.
        """
        if occupancy is None or waits_ns:
            return self._lay(flow, tree, release_ps, occupancy, wait_ps, waits_ns)
        if barred_ps := self.barred_ps(flow, release_ps):
            return barred_ps
        return self._lay(flow, tree, release_ps, occupancy, wait_ps)

    def alone(self, flow: Flow, tree: Tree) -> Placement | int:
        """Where a flow is at its first release without any other."""
        key = (flow.number, flow.turns, tree.number)
        if key not in self._alone:
            self._alone[key] = self._lay(flow, tree, on_grid(flow.station, flow.stream, 0))
        return self._alone[key]

    def steady(self, flow: Flow, tree: Tree) -> Placement | None:
        """Where a flow is without any other; None if that does not simply move with its release.

        It does not where gate lists are given by hand, or where slots start between two whole ns.
        """
        fixed = any((leg.here, leg.there) in self._explicit for leg in tree.legs)
        if fixed or (flow.station.is_slotted and flow.station.slot_ps % PS_PER_NS):
            return None
        laid = self.alone(flow, tree)
        assert not isinstance(laid, int)
        return laid

    def patience_ps(self, flow: Flow, tree: Tree, claim: Claim, wait_ps: int | None) -> int:
        """How long a flow may be kept at a bridge for the wire it claims; 0: not at all."""
        if claim.resource[0] != "wire":
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
        """The same hop by hop."""
        placement = Placement(flow, tree, release_ps, self._first_window(flow, release_ps))
        self._claim_talker(placement)
        for claim in placement.claims:
            if occupancy is not None and (shift_ps := occupancy.shift_ps(claim)):
                return shift_ps
        passing: list[
            tuple[int, int]
        ] = []  # earliest and latest at the reference plane of each leg's sender
        for leg, step in zip(tree.legs, self.steps(flow, tree), strict=True):
            if leg.parent < 0:
                early_ps = release_ps + flow.station.error_low_ps
                late_ps = release_ps + flow.station.error_high_ps
            else:
                before = passing[leg.parent]
                ready_ps = (before[0] + step.after_ps[0], before[1] + step.after_ps[1])
                limit_ps = step.limit_ps if wait_ps is None else wait_ps
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
                placement.arrivals[leg.there] = (early_ps + step.delay_ps, late_ps + step.delay_ps)
        if occupancy is not None and (excess_ps := self.excess_ps(placement)):
            return excess_ps
        return placement

    def steps(self, flow: Flow, tree: Tree) -> list[Step]:
        """What the legs of a flow's tree take."""
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
        if leg.parent >= 0 and not gated:
            blocked_ps = self.blocked_ps(leg.here, leg.there, queue)
        if leg.parent >= 0:
            before = tree.legs[leg.parent]
            way_ps = self.topology.wires[before.here, before.there].propagation_ns * PS_PER_NS
            stay_ps = self._stay_ps(flow, before)
            after_ps = (way_ps + stay_ps[0], way_ps + stay_ps[1])
        # With isolation "order" the next frame may wait in the queue already. If the one before can
        # be shorter than its window and the gate stayed open, it would leave before its own.
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
        )

    def excess_ps(self, placement: Placement) -> int:
        """By how much a flow misses its deadline or jitter; NEVER if no other release
        changes that.
        """
        stream = placement.flow.stream
        if not placement.flow.station.bounded:
            return 0
        late_ps = (
            0 if stream.deadline_ns is None else placement.delay_ps - stream.deadline_ns * PS_PER_NS
        )
        wide_ps = (
            0 if stream.jitter_ns is None else placement.spread_ps - stream.jitter_ns * PS_PER_NS
        )
        if max(late_ps, wide_ps) <= 0:
            return 0
        movable = any(
            hop.waits_ps or (hop.bridge, hop.peer) in self._explicit for hop in placement.hops
        )
        if not movable:
            return NEVER
        # Its first frames wait for a gate as its last do once they do not reach it before it shuts.
        return max(late_ps, min(wide_ps, self._until_shut_ps(placement)))

    def held_by_hand_ps(self, placement: Placement) -> int:
        """How long a flow waits at the first gate list by hand where it does: released so much
        later it comes as the gate opens.
        """
        held = (hop for hop in placement.hops if (hop.bridge, hop.peer) in self._explicit)
        return next((hop.held_ps for hop in held if hop.held_ps > 0), 0)

    def _until_shut_ps(self, placement: Placement) -> int:
        """By how much later the flow must be so that its earliest frames miss a gate by hand that
        they reach.
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
        """How long a wire has a frame behind the reference plane, and bytes around it: at least and
        at most.
        """
        byte_ps = byte_time_ps(self.topology.wires[here, there].rate_bps)
        frame_bytes = flow.station.planned_frame_bytes(flow.stream)
        return self.lengths.span_ps(flow.station, here, frame_bytes + extra_bytes, byte_ps)

    def _stay_ps(self, flow: Flow, leg: Leg) -> tuple[int, int]:
        """Store and forward: the frame behind the reference plane, then processing."""
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
            # Slots follow each other whatever the crystal; what one is longer others are shorter.
            wire_ps = station.taken_ps(flow.stream)
        length_ps = wire_ps + high_ps - low_ps
        return Window(flow.stream.id, flow.stream.tc, start_ps, length_ps, flow.period_ps)

    def _claim_talker(self, placement: Placement) -> None:
        """The wire of the talker, and its class's slots."""
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
        """When a frame ready within [early, late] leaves a port, or by how much its release must be
        later.
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
            ):  # it ends within the error of the clock, and behind it the next begins
                return max(1, 2 * self.margin_ps(here))
            early_ps, late_ps = opens[0], opens[1] + blocked_ps
            if occupancy is not None and step.exact:
                behind_ps = behind.wait_ps(self, flow, step, listed, (early_ps, late_ps), occupancy)
                early_ps = late_ps if behind_ps else early_ps
        elif step.gated:
            early_ps = ceil_ns(late_ps) * PS_PER_NS
            late_ps = early_ps + 2 * step.margin_ps
        else:
            late_ps += blocked_ps
        length_ps = late_ps - early_ps + step.length_ps
        window = Window(
            flow.stream.id,
            step.queue_number,
            early_ps,
            length_ps,
            flow.period_ps,
            step.margin_ps,
            is_held=early_ps > ready_ps[0],
        )
        apart_ps = 0 if step.least_ps == window.length_ps else step.guard_ps
        if not flow.station.bounded and step.gated and (here, there) in self._timed_ports:
            # It may begin at the end of its window, and the gap behind it would be in the next.
            apart_ps = guard_ns(self.topology.wires[here, there].rate_bps) * PS_PER_NS
        claim = _claim(step.wire, window, apart_ps)
        if step.exact and early_ps == late_ps:
            claim = replace(claim, queue=step.queue_number)
        waits_ps = behind_ps if given_ns is None else given_ns * PS_PER_NS
        while occupancy is not None and (shift_ps := occupancy.shift_ps(claim.moved(waits_ps))):
            if shift_ps == NEVER:
                return NEVER
            shift_ps = ceil_ns(shift_ps) * PS_PER_NS if step.gated else shift_ps
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
        """Whether a gate list given by hand keeps a flow off a way, whenever it is released."""
        return any(
            self.explicit(leg.here, leg.there) is not None
            and self._is_shut(flow, leg.here, leg.there)
            for leg in tree.legs
        )

    def _is_shut(self, flow: Flow, here: str, there: str) -> bool:
        """It is never open for long enough, or repeats otherwise than the flow."""
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
        """When a gate list given by hand lets a frame start, by a clock that is off either way, if
        it has room for what may be sent before it; None: not surely.
        """
        _, here, there = step.wire
        least_ps, most_ps = self.frame_ps(flow, here, there, PREAMBLE_BYTES)
        queue, off_ps = step.queue_number, self.margin_ps(here)
        most_ps += step.blocked_ps
        ahead = listed.earliest_ps(queue, ready_ps[0] + off_ps, least_ps)
        behind = listed.earliest_ps(queue, ready_ps[1] - off_ps, most_ps)
        other = listed.earliest_ps(queue, ready_ps[1] + off_ps, most_ps)
        # A clock that is ahead must not close the gate before the frame, so that it waits for the
        # next opening.
        if ahead is None or behind is None or other is None or other - off_ps > behind + off_ps:
            return None
        return ahead - off_ps, behind + off_ps

    def _queue_claim(
        self, flow: Flow, step: Step, ready_ps: tuple[int, int], window: Window
    ) -> Claim:
        """Frames of one queue: alone in it from arrival to departure ("frame"), or in order of
        windows ("order").
        """
        resource = step.queue
        end_ps = window.start_ps + window.length_ps
        if self.scenario.planner.isolation == "frame":
            return Claim(resource, ready_ps[0], end_ps, ready_ps[0], end_ps, flow.period_ps)
        # Of two that come at the same instant either may be first.
        come_ps = ready_ps[1] + 1
        return Claim(resource, ready_ps[0], come_ps, window.start_ps, end_ps, flow.period_ps)


def _with_options(scenario: Scenario, station: Station, options: KeeponOptions) -> Scenario:
    """The scenario with a table of its own for a port of one station."""
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
