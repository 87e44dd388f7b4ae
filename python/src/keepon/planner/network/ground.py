# SPDX-License-Identifier: BSD-3-Clause
"""The placement of a flow in a network for a given release.

Reference plane (first bit after the SFD): from one bridge to the next a frame needs frame_bytes x
byte time + processing + propagation + its next 8-byte preamble (store and forward). A gated bridge
opens a window at the latest arrival of its frame, so the frame leaves every gated port at a fixed
instant whatever its release error.
"""

from __future__ import annotations

import math
from dataclasses import replace

from keepon.model import guests
from keepon.model.gates import GateList, Window, guard_ns
from keepon.model.scenario import Stream
from keepon.model.wire import (
    OVERHEAD_BYTES,
    PREAMBLE_BYTES,
    PS_PER_NS,
    byte_time_ps,
)
from keepon.planner import stations
from keepon.planner.network import behind, gatelimits
from keepon.planner.network.flows import Flow, Hop, Placement, Step
from keepon.planner.network.grid import on_grid, slot_of
from keepon.planner.network.occupancy import ALONE, HOST, NEVER, Claim, Occupancy
from keepon.planner.network.ports import Ports
from keepon.planner.network.trees import Tree
from keepon.planner.partition.limits import Limits

_REST_GROUP = 1 << 16


class Ground(Ports):
    """A network, and where a flow lies in it."""

    def with_room(self, limits: Limits) -> Ground | None:
        """The scenario with room for best-effort frames of MTU 1500; None: no port has room."""
        wide = {name: stations.with_room(station) for name, station in self.stations.items()}
        if all(wide[name] is station for name, station in self.stations.items()):
            return None
        return Ground(self.scenario, limits, chosen=wide)

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
        key = (flow.number, flow.turns, tree.number, flow.apart)
        if key not in self._alone:
            self._alone[key] = self._lay(flow, tree, on_grid(flow.station, flow.stream, 0))
        return self._alone[key]

    def steady(self, flow: Flow, tree: Tree) -> Placement | None:
        """The placement of a flow with no other flow; None if it does not simply move with the
        release.

        None: behind explicit gate lists and coarse gates, on two ways, and where slots start
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
                if leg.here in self.cycles.bridges:
                    outcome = self.cycles.leave(placement, leg, step, ready_ps)
                else:
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
        # Earliest frames that miss the gate's opening wait for the next one, as the latest do: the
        # spread shrinks.
        return max(late_ps, min(wide_ps, self._until_shut_ps(placement)))

    def due_ps(self, placement: Placement) -> int:
        """Greatest delay to the bit of `deadline_at`, or to the applications of guests."""
        reading = self.read_ns(placement.flow.stream)
        if placement.flow.stream.deadline_at == "first_bit" and reading is None:
            return placement.delay_ps
        return self.last_bit_ps(placement) + (0 if reading is None else reading[0] * PS_PER_NS)

    def read_ns(self, stream: Stream) -> tuple[int, str] | None:
        """`guests.read_ns` of a stream's listeners."""
        return guests.read_ns(self.scenario, stream.listeners)

    def last_bit_ps(self, placement: Placement) -> int:
        """Greatest delay to a frame's last bit."""
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
        """Add the claims on the talker's wire, on its host and on the slots of its class."""
        flow, station = placement.flow, placement.flow.station
        leg = placement.tree.legs[0]
        placement.claims.append(_claim(("wire", leg.here, leg.there), placement.first))
        if flow.apart:
            start_ps, end_ps = placement.release_ps, placement.release_ps + station.apart_ps
            host = (HOST, station.port.station)
            placement.claims.append(Claim(host, start_ps, end_ps, start_ps, end_ps, flow.period_ps))
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
            # The frame may begin at the end of its window; the gap after it must not reach the
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


def _claim(resource: tuple[str, ...], window: Window, apart_ps: int = 0) -> Claim:
    end_ps = window.start_ps + window.length_ps + apart_ps
    return Claim(
        resource, window.start_ps, end_ps, window.start_ps, end_ps, window.period_ps, ALONE
    )
