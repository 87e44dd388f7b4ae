# SPDX-License-Identifier: BSD-3-Clause
"""First-fit planner: release times without queuing, gate windows, partitions and a computed bound per stream.

Streams are placed one after the other, higher priority first, within a queue fewer hops first, then in file order.
Each takes the earliest release at which every wire on its way is free; a frame may be held at a bridge for at most
an eighth of its wire time so that windows of one queue become consecutive. Bridges open a window when the frame
is there at its latest, so a frame leaves every gated port at a fixed instant whatever its release error.

Reference plane: from one bridge to the next a frame needs frame_bytes x byte time + processing + propagation + the
8-byte preamble of its next transmission (store and forward). All times are exact, in ps of network time.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

from keepon.errors import ConfigError, InfeasibleError
from keepon.planner import gates, stations
from keepon.planner.gates import GateList, Window
from keepon.planner.stations import StationPlan
from keepon.scenario import Bridge, Scenario, Stream
from keepon.topology import Topology
from keepon.wire import PREAMBLE_BYTES, PS_PER_NS, byte_time_ps, ceil_ns, preamble_time_ps, wire_time_ps

PLAN_SCHEMA = "keepon.plan/1"
_SEARCH_STEPS_MAX = 200_000


@dataclass
class Hop:
    """A frame leaves a bridge: its transmission starts (preamble) within [early_ps, late_ps]."""

    bridge: str
    peer: str
    early_ps: int
    late_ps: int
    held_ps: int
    window: Window


@dataclass
class Placement:
    """One stream with its release (reference plane, within its period) and what follows from it."""

    stream: Stream
    station: StationPlan
    paths: dict[str, list[str]]
    release_ps: int
    first: Window
    hops: list[Hop] = field(default_factory=list)
    arrivals: dict[str, tuple[int, int]] = field(default_factory=dict)


class Planner:
    """State of one planning run: which windows every directed wire already has."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.topology = Topology(scenario)
        self.bridges: dict[str, Bridge] = {bridge.name: bridge for bridge in scenario.bridge}
        self.windows: dict[tuple[str, str], list[Window]] = {}
        self.placements: dict[str, Placement] = {}
        self.stations: dict[str, StationPlan] = {}
        for station in scenario.station:
            wire = self.topology.station_wire(station.name)
            if wire is not None:
                self.stations[station.name] = stations.choose(scenario, station, wire)

    def run(self) -> None:
        """Place every stream; raises InfeasibleError at the first that does not fit."""

        def urgency(stream: Stream) -> tuple[int, int]:
            return (-stream.priority, max(len(path) for path in self.topology.paths(stream).values()))

        for stream in sorted(self.scenario.stream, key=urgency):
            self.placements[stream.id] = self._place(stream)
            placed = self.placements[stream.id]
            self._wire(stream.talker, self._peer(stream.talker)).append(placed.first)
            for hop in placed.hops:
                self._wire(hop.bridge, hop.peer).append(hop.window)

    def _peer(self, station: str) -> str:
        return self.topology.neighbours[station][0]

    def _wire(self, here: str, there: str) -> list[Window]:
        return self.windows.setdefault((here, there), [])

    def _place(self, stream: Stream) -> Placement:
        if stream.redundancy != 1:
            raise self._wrong(stream, "redundancy", "2", "must be 1; this version plans no redundant routes")
        station = self.stations[stream.talker]
        if station.is_slotted and stream.tc not in {entry.tc for entry in station.station.keepon.classes}:
            known = ", ".join(str(entry.tc) for entry in station.station.keepon.classes)
            raise self._wrong(
                stream,
                "tc",
                str(stream.tc),
                f'must be one of the classes of station "{stream.talker}" ({known}); add it to station.keepon.classes',
            )
        paths = self.topology.paths(stream)
        self._check_tree(stream, paths)
        period_ps = stream.period_ns * PS_PER_NS
        if stream.offset_ns != "auto":
            offset_ps = int(stream.offset_ns) * PS_PER_NS
            self._check_offset(stream, station, offset_ps)
            outcome = self._try(stream, station, paths, offset_ps)
            if isinstance(outcome, int):
                raise self._does_not_fit(stream, f"offset_ns {stream.offset_ns} is taken", 'set offset_ns = "auto"')
            return outcome
        release_ps = self._on_grid(station, stream, 0)
        for _ in range(_SEARCH_STEPS_MAX):
            if release_ps >= period_ps:
                break
            outcome = self._try(stream, station, paths, release_ps)
            if isinstance(outcome, Placement):
                return outcome
            release_ps = self._on_grid(station, stream, release_ps + outcome)
        change = "lengthen its period, use another route or fewer streams"
        if station.is_slotted and any(isinstance(entry.slots, list) for entry in station.station.keepon.classes):
            change += ", or list other slots for the classes of its station"
        raise self._does_not_fit(stream, "no free release within the period", change)

    def _wrong(self, stream: Stream, key: str, shown: str, expectation: str) -> ConfigError:
        index = self.scenario.stream.index(stream)
        return ConfigError(f'key `stream[{index}].{key}` (stream "{stream.id}") = {shown}: {expectation}')

    def _check_offset(self, stream: Stream, station: StationPlan, offset_ps: int) -> None:
        """Slots that follow the grid start on it: no other instant can be asked for."""
        if not station.is_slotted or station.mode == "paper":
            return
        after_ps = self._on_grid(station, stream, offset_ps)
        if after_ps == offset_ps:
            return
        before_ps = self._on_grid(station, stream, max(0, offset_ps - math.lcm(station.grid_ps, PS_PER_NS)))
        near = [
            str(at_ps // PS_PER_NS)
            for at_ps in dict.fromkeys((before_ps, after_ps))
            if at_ps < stream.period_ns * PS_PER_NS
        ]
        raise self._wrong(
            stream,
            "offset_ns",
            str(stream.offset_ns),
            f'must be at the start of a slot of station "{stream.talker}" and 8 byte times, as slots of '
            f'{station.slot_ps / PS_PER_NS:g} ns follow the grid; choose {" or ".join(near)}, or "auto"',
        )

    def _does_not_fit(self, stream: Stream, what: str, change: str) -> InfeasibleError:
        sharing = [
            other.stream.id
            for other in self.placements.values()
            if {(hop.bridge, hop.peer) for hop in other.hops}
            & {(path[i], path[i + 1]) for path in self.topology.paths(stream).values() for i in range(1, len(path) - 1)}
            or other.stream.talker == stream.talker
        ]
        return InfeasibleError(f'stream "{stream.id}": {what}', "wire", [stream.id, *sharing], change)

    def _check_tree(self, stream: Stream, paths: dict[str, list[str]]) -> None:
        before: dict[str, str] = {}
        for path in paths.values():
            for here, there in itertools.pairwise(path):
                if before.setdefault(there, here) != here:
                    raise self._wrong(
                        stream,
                        "route",
                        str(stream.route),
                        f'must lead to "{there}" one way for all listeners; choose another route or "auto"',
                    )

    @staticmethod
    def _on_grid(station: StationPlan, stream: Stream, at_ps: int) -> int:
        """First txtime in whole ns, not before at_ps, of an instant that the driver can hit.

        At rates whose slots never start on a whole ns (a byte of 0.8 ns: 10 Gb/s), it is the one that is rounded to
        the slot meant: the last before the instant, or the first after it where the class rounds down.
        """
        grid_ps, phase_ps = station.grid_ps, station.phase_ps
        release_ps = ceil_ns(at_ps) * PS_PER_NS
        release_ps += -(release_ps - phase_ps) % grid_ps
        if phase_ps % math.gcd(grid_ps, PS_PER_NS) == 0:
            while release_ps % PS_PER_NS:
                release_ps += grid_ps
            return release_ps
        down = station.rounding(stream.tc) == "floor"
        return (ceil_ns(release_ps) if down else release_ps // PS_PER_NS) * PS_PER_NS

    def _try(
        self, stream: Stream, station: StationPlan, paths: dict[str, list[str]], release_ps: int
    ) -> Placement | int:
        """The placement for this release, or by how much to move it later."""
        rate_bps = station.wire.rate_bps
        period_ps = stream.period_ns * PS_PER_NS
        frame_bytes = station.planned_frame_bytes(stream)
        low_ps, high_ps = station.error_low_ps, station.error_high_ps
        slack = (0, 0) if station.is_slotted else (low_ps, high_ps)
        preamble_ps = PREAMBLE_BYTES * byte_time_ps(rate_bps)
        first = Window(
            stream.id, stream.priority, release_ps - preamble_ps + slack[0],
            wire_time_ps(frame_bytes, rate_bps) + slack[1] - slack[0], period_ps,
        )  # fmt: skip
        shift_ps = max(
            (first.shift_after(other) for other in self._wire(stream.talker, self._peer(stream.talker))), default=0
        )
        if shift_ps:
            return shift_ps
        if not self._owned(station, stream, release_ps):
            return station.slot_ps
        placement = Placement(stream, station, paths, release_ps, first)
        done: set[tuple[str, str]] = set()
        pending = [(stream.talker, self._peer(stream.talker), release_ps + low_ps, release_ps + high_ps)]
        while pending:
            here, there, early_ps, late_ps = pending.pop(0)
            wire = self.topology.wires[here, there]
            early_ps += wire.propagation_ns * PS_PER_NS
            late_ps += wire.propagation_ns * PS_PER_NS
            if there in paths:
                placement.arrivals[there] = (early_ps, late_ps)
            if there not in self.bridges:
                continue
            stay_ps = frame_bytes * byte_time_ps(wire.rate_bps) + self.bridges[there].processing_ns * PS_PER_NS
            for peer in self._next_nodes(paths, there):
                if (there, peer) in done:
                    continue
                done.add((there, peer))
                outcome = self._leave(stream, there, peer, frame_bytes, early_ps + stay_ps, late_ps + stay_ps)
                if isinstance(outcome, int):
                    return outcome
                placement.hops.append(outcome)
                preamble_ps = PREAMBLE_BYTES * byte_time_ps(self.topology.wires[there, peer].rate_bps)
                pending.append((there, peer, outcome.early_ps + preamble_ps, outcome.late_ps + preamble_ps))
        return placement

    @staticmethod
    def _next_nodes(paths: dict[str, list[str]], node: str) -> list[str]:
        following = [path[path.index(node) + 1] for path in paths.values() if node in path[:-1]]
        return list(dict.fromkeys(following))

    def _owned(self, station: StationPlan, stream: Stream, release_ps: int) -> bool:
        """Whether the partition's slots of this release can be its class's alone."""
        if not station.is_slotted or station.mode == "paper":
            return True
        own = set(partition_slots(station, stream, release_ps))
        rest = {entry.tc for entry in station.station.keepon.classes if entry.slots == "rest"}
        for entry in station.station.keepon.classes:
            if isinstance(entry.slots, list) and (
                own - set(entry.slots) if entry.tc == stream.tc else own & set(entry.slots)
            ):
                return False
        for other in self.placements.values():
            shared = other.stream.tc == stream.tc or {other.stream.tc, stream.tc} <= rest
            theirs = () if shared else partition_slots(station, other.stream, other.release_ps)
            if other.stream.talker == stream.talker and own & set(theirs):
                return False
        return True

    def _leave(
        self, stream: Stream, bridge: str, peer: str, frame_bytes: int, early_ps: int, late_ps: int
    ) -> Hop | int:
        """When a frame ready within [early, late] leaves the port, or by how much its release must move."""
        wire = self.topology.wires[bridge, peer]
        length_ps = ceil_ns(wire_time_ps(frame_bytes, wire.rate_bps)) * PS_PER_NS
        period_ps = stream.period_ns * PS_PER_NS
        mode = self.bridges[bridge].gates
        explicit = mode.get(peer) if isinstance(mode, dict) else None
        ready_ps = late_ps
        # Gates follow the bridge's clock, which asymmetric links put off network time, either way as far as it knows.
        margin_ps = self.scenario.asymmetry_error_ns(bridge) * PS_PER_NS if self.scenario.sync.mode == "gptp" else 0
        if explicit is not None and margin_ps:
            index = list(self.bridges).index(bridge)
            raise ConfigError(
                f'key `bridge[{index}].gates` (bridge "{bridge}") = a list towards "{peer}": '
                f'must be "auto" or "none" where asymmetric links put the bridge\'s clock off by '
                f"{margin_ps // PS_PER_NS} ns; choose one, or set link.asymmetry_ns to 0"
            )
        if explicit is not None:
            listed = GateList(explicit.base_ns, tuple((int(entry.gates, 16), entry.ns) for entry in explicit.entries))
            need_ps = (frame_bytes + PREAMBLE_BYTES) * byte_time_ps(wire.rate_bps)
            opens = [listed.earliest_ps(stream.priority, at_ps, need_ps) for at_ps in (early_ps, late_ps)]
            if opens[0] is None or opens[1] is None or period_ps % (listed.cycle_ns * PS_PER_NS):
                raise self._does_not_fit(
                    stream,
                    f'the gate list of bridge "{bridge}" towards "{peer}" does not open queue {stream.priority} for it '
                    "in every period",
                    'set gates = "auto"',
                )
            early_ps, late_ps = opens[0], opens[1]
        elif mode != "none":
            early_ps = ceil_ns(late_ps) * PS_PER_NS
            late_ps = early_ps + 2 * margin_ps
        else:
            margin_ps = 0
        others = self._wire(bridge, peer)
        window = Window(stream.id, stream.priority, early_ps, late_ps - early_ps + length_ps, period_ps, margin_ps)
        shift_ps = max((window.shift_after(other) for other in others), default=0)
        if shift_ps and mode == "auto" and shift_ps <= length_ps // 8:
            early_ps, late_ps = early_ps + shift_ps, late_ps + shift_ps
            window = replace(window, start_ps=early_ps)
            shift_ps = max((window.shift_after(other) for other in others), default=0)
        if shift_ps:
            # A release on the grid may fall short of the shift by what the frame can be held here.
            return max(1, shift_ps - length_ps // 8) if mode == "auto" else shift_ps
        return Hop(bridge, peer, early_ps, late_ps, late_ps - ready_ps, window)


def partition_slots(station: StationPlan, stream: Stream, release_ps: int) -> list[int]:
    """Partition indices of all instances of a stream of a phase-locked station."""
    # The nearest: a release in whole ns may be off a slot's start by less than that.
    slot = (release_ps - station.phase_ps + station.slot_ps // 2) // station.slot_ps
    step = stream.period_ns * PS_PER_NS // station.slot_ps
    # slot + n x step modulo the partition, for all n: what is congruent to slot modulo their greatest common divisor.
    apart = math.gcd(step, station.partition_slots)
    return list(range(slot % apart, station.partition_slots, apart))


def _station_document(plan: StationPlan, placements: list[Placement]) -> dict[str, Any]:
    document: dict[str, Any] = {"driver": plan.planned_driver, "streams": {}}
    for placed in placements:
        document["streams"][placed.stream.id] = {"tc": placed.stream.tc, "offset_ns": placed.release_ps // PS_PER_NS}
    if not plan.is_slotted:
        return document
    locked = plan.mode == "phase-locked"
    used = {
        placed.stream.id: (placed.stream, partition_slots(plan, placed.stream, placed.release_ps) if locked else [])
        for placed in placements
    }
    allowed = stations.masks(plan, used)
    document.update(
        mode=plan.mode,
        slot_bytes=plan.slot_bytes,
        slot_time_ps=plan.slot_ps,
        preamble_ps=preamble_time_ps(plan.wire.rate_bps),
        ring_slots=plan.ring_slots,
        partition_slots=plan.partition_slots,
        batch_slots=plan.batch_slots,
        depth_slots=plan.depth_slots,
        poll_overhead_ns=plan.poll_overhead_ns,
        placeholder=plan.station.keepon.placeholder,
        allowed=allowed,
        classes={str(entry.tc): {"late": entry.late, "round": entry.round} for entry in plan.station.keepon.classes},
        headroom=stations.headroom(plan, [placed.stream for placed in placements], allowed),
    )
    return document


def _stream_document(planner: Planner, placed: Placement) -> dict[str, Any]:
    stream, station = placed.stream, placed.station
    listener = max(placed.arrivals, key=lambda name: placed.arrivals[name][1])
    path = placed.paths[listener]
    frame_bytes = station.planned_frame_bytes(stream)
    own = {(hop.bridge, hop.peer): hop for hop in placed.hops}
    wires = [planner.topology.wires[here, there] for here, there in itertools.pairwise(path)]
    hops = [own[here, there] for here, there in itertools.pairwise(path[1:])]
    delay_ps = max(late_ps for _, late_ps in placed.arrivals.values()) - placed.release_ps
    spread_ps = max(late_ps - early_ps for early_ps, late_ps in placed.arrivals.values())
    terms = {
        "frame_ps": sum(frame_bytes * byte_time_ps(wire.rate_bps) for wire in wires[:-1]),
        "processing_ps": sum(planner.bridges[hop.bridge].processing_ns for hop in hops) * PS_PER_NS,
        "propagation_ps": sum(wire.propagation_ns for wire in wires) * PS_PER_NS,
        "preamble_ps": sum(PREAMBLE_BYTES * byte_time_ps(wire.rate_bps) for wire in wires[1:]),
        "release_late_ps": station.error_high_ps,
        "held_ps": sum(hop.held_ps for hop in hops),
    }
    bounds: dict[str, int | None]
    if station.bounded:
        delay_ns = ceil_ns(delay_ps)
        bounds = {
            "release_error_ns": ceil_ns(max(-station.error_low_ps, station.error_high_ps)),
            "delay_ns": delay_ns,
            "jitter_ns": ceil_ns(spread_ps),
            "data_age_ns": delay_ns + stream.advance_ns,
        }
        for key, limit_ns in (("delay_ns", stream.deadline_ns), ("jitter_ns", stream.jitter_ns)):
            if limit_ns is not None and (bounds[key] or 0) > limit_ns:
                raise InfeasibleError(
                    f'stream "{stream.id}": its bound {key} = {bounds[key]} exceeds the {limit_ns} asked for',
                    "deadline" if key == "delay_ns" else "jitter",
                    [stream.id],
                    f"allow {bounds[key]} ns or use a route with fewer bridges",
                )
    else:
        bounds = {"release_error_ns": None, "delay_ns": None, "jitter_ns": None, "data_age_ns": None}
    return {
        "route": path[1:-1],
        "routes": {name: nodes[1:-1] for name, nodes in placed.paths.items()},
        "release_ns": placed.release_ps // PS_PER_NS,
        "release_early_ps": station.error_low_ps,
        "release_late_ps": station.error_high_ps,
        "frame_bytes_on_wire": frame_bytes,
        "delay_planned_ps": delay_ps,
        "bounds": bounds,
        "terms": terms,
        "windows": [
            {
                "bridge": hop.bridge,
                "peer": hop.peer,
                "open_ps": hop.early_ps,
                "last_ps": hop.late_ps,
                "length_ps": hop.window.length_ps,
            }
            for hop in placed.hops
        ],
    }  # fmt: skip


def _port_documents(planner: Planner) -> dict[str, Any]:
    documents: dict[str, Any] = {name: {"ports": {}} for name in planner.bridges}
    for (bridge, peer), windows in sorted(planner.windows.items()):
        if bridge not in planner.bridges or not windows:
            continue
        mode = planner.bridges[bridge].gates
        explicit = mode.get(peer) if isinstance(mode, dict) else None
        port: dict[str, Any] = {"queues": {window.stream: window.queue for window in windows}}
        if explicit is not None:
            port.update(GateList(explicit.base_ns, tuple((int(e.gates, 16), e.ns) for e in explicit.entries)).as_dict())
        elif mode != "none":
            built = gates.build(windows)
            if built is None:
                raise InfeasibleError(
                    f'bridge "{bridge}" towards "{peer}": the periods repeat together only after too long a '
                    'cycle for a gate list',
                    "cycle", [window.stream for window in windows], "choose periods with a shorter least common "
                    "multiple",
                )  # fmt: skip
            port.update(built.as_dict())
        documents[bridge]["ports"][peer] = port
    return documents


def plan(scenario: Scenario) -> dict[str, Any]:
    """Plan of a scenario, `keepon.plan/1` as plain data, not yet verified.

    Returns:
        status "feasible" with everything filled in, or "infeasible" with `why`.

    Raises:
        ConfigError: the scenario asks for something contradictory or not supported.
    """
    started = time.monotonic()
    document: dict[str, Any] = {
        "schema": PLAN_SCHEMA, "scenario": scenario.name, "status": "feasible", "method": "first-fit",
        "stations": {}, "bridges": {}, "streams": {},
    }  # fmt: skip
    try:
        planner = Planner(scenario)
        planner.run()
        for name, station in planner.stations.items():
            placed = [entry for entry in planner.placements.values() if entry.stream.talker == name]
            document["stations"][name] = _station_document(station, sorted(placed, key=lambda entry: entry.release_ps))
        for stream in scenario.stream:
            document["streams"][stream.id] = _stream_document(planner, planner.placements[stream.id])
        document["bridges"] = _port_documents(planner)
    except InfeasibleError as error:
        document.update(status="infeasible", stations={}, bridges={}, streams={})
        document["why"] = {
            "constraint": error.constraint,
            "message": str(error),
            "streams": error.streams,
            "nearest_change": error.nearest_change,
        }  # fmt: skip
    document["seconds"] = round(time.monotonic() - started, 6)
    return document
