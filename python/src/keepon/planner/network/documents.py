# SPDX-License-Identifier: BSD-3-Clause
"""Writes placed flows as `keepon.plan/1`: stations, ports, and streams with the terms of their
bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from keepon.errors import ConfigError, InfeasibleError
from keepon.model import gates, preemption
from keepon.model.cables import hops
from keepon.model.launchtime import early_by_etf
from keepon.model.plan import (
    Bounds,
    DelayTerms,
    GateEntry,
    PlannedBridge,
    PlannedClass,
    PlannedPort,
    PlannedStation,
    PlannedStream,
    PlannedWindow,
    Reason,
)
from keepon.model.scenario import HostTable, TrafficClass
from keepon.model.wire import PREAMBLE_BYTES, PS_PER_NS, byte_time_ps, ceil_ns, preamble_time_ps
from keepon.planner import stations
from keepon.planner.network import gatelimits, police, redundant
from keepon.planner.network.flows import Placement, spread_ps
from keepon.planner.network.grid import partition_slots
from keepon.planner.network.ground import Ground
from keepon.planner.network.occupancy import HOST, Occupancy
from keepon.planner.parameters import besteffort
from keepon.planner.partition.limits import Limits
from keepon.planner.stations import StationPlan

Queue = tuple[str, str, int]
"""Bridge, neighbour, queue."""
_Stays = list[tuple[int, int, int]]
"""Frames in a queue: from when, until when, and period, in ps."""


def overflow(ground: Ground, placements: Iterable[Placement]) -> tuple[Queue, int] | None:
    """The first queue that would overflow, and the frames that it would have to hold; None: no
    queue would.

    With isolation "frame", and at ports without gates, a queue holds at most one planned frame.
    """
    stays: dict[Queue, _Stays] = {}
    for placement in placements:
        arrivals = {claim.resource: claim for claim in placement.claims}
        for hop in placement.hops:
            place = (hop.bridge, hop.peer, hop.window.queue)
            claim = arrivals.get(("queue", hop.bridge, hop.peer, str(hop.window.queue)))
            from_ps = hop.early_ps if claim is None else claim.start_ps
            stays.setdefault(place, []).append((from_ps, hop.late_ps, placement.flow.period_ps))
    is_ordered = ground.scenario.planner.isolation == "order"
    for queue, frames in stays.items():
        bridge, peer, number = queue
        gated = ground.is_gated(bridge, peer) or ground.explicit(bridge, peer) is not None
        needed = _deepest(frames) if is_ordered and gated else 1
        needed += ground.messages_beside(bridge, peer, number)
        if needed > ground.bridges[bridge].queue_frames:
            return queue, needed
    return None


def _deepest(frames: _Stays) -> int:
    """The most frames in the queue at once; a frame that leaves as another arrives still counts."""
    cycle_ps = math.lcm(*(period_ps for _, _, period_ps in frames))
    count, changes = 0, []
    for from_ps, until_ps, period_ps in frames:
        for start_ps in range(from_ps, from_ps + cycle_ps, period_ps):
            end_ps = start_ps + until_ps - from_ps
            # Frames of earlier cycles that are still in the queue as this cycle begins.
            count += end_ps // cycle_ps - start_ps // cycle_ps
            changes += [(start_ps % cycle_ps, -1), (end_ps % cycle_ps, 1)]
    deepest = count
    for _, leaves in sorted(changes):
        count -= leaves
        deepest = max(deepest, count)
    return deepest


Placed = dict[str, list[Placement]]
"""Placements of every stream, by id; several where each of its frames has its own release."""


Windows = dict[tuple[str, str], list[gates.Window]]


class UnprovenError(InfeasibleError):
    """These releases need a gate list too long for a bridge or too long to check, or overflow a
    queue; other releases may work.
    """


class TooLongError(UnprovenError):
    """Gate lists exceed what a bridge can do; `cycles_ps`: shorter cycles that they may have if
    their windows repeat with them.
    """

    def __init__(
        self, text: str, streams: list[str], remedy: str, cycles_ps: dict[tuple[str, str], int]
    ) -> None:
        super().__init__(text, "gate-list", streams, remedy)
        self.cycles_ps = cycles_ps


def _are_apart(placed: Placed) -> bool:
    """Whether every frame of a port has the distance that its host needs."""
    taken = Occupancy()
    for number, placements in enumerate(placed.values()):
        for placement in placements:
            claims = [claim for claim in placement.claims if claim.resource[0] == HOST]
            if not claims or taken.shift_ps(claims[0]):
                return False
            taken.add(number, claims)
    return True


def station_document(
    plan: StationPlan, placed: Placed, beside_ns: dict[str, int]
) -> PlannedStation:
    """One port of a station: its slots, their owners, and its streams.

    Args:
        plan: parameters of the port.
        placed: streams that leave by the port, in order of release.
        beside_ns: releases of the streams of the station's other ports, by id.
    """
    document: PlannedStation = {"driver": plan.planned_driver, "streams": {}}
    if plan.port.name != plan.port.station:
        document["peer"] = plan.port.peer
    for name, placements in placed.items():
        first = placements[0]
        document["streams"][name] = {
            "tc": first.flow.stream.tc,
            "offset_ns": first.release_ps // PS_PER_NS,
        }
    if not plan.is_slotted:
        if plan.apart_ps and _are_apart(placed):
            document["apart_ns"] = plan.apart_ps // PS_PER_NS
        return document
    locked = plan.mode == "phase-locked"
    used = {
        name: (
            placements[0].flow.stream,
            sorted(
                {
                    slot
                    for placement in placements
                    for slot in partition_slots(
                        plan, placement.flow.stream, placement.flow.period_ps, placement.release_ps
                    )
                }
            )
            if locked
            else [],
        )
        for name, placements in placed.items()
    }
    allowed = stations.masks(plan, used)
    spans, longest = plan.spans, dict[int, int]()
    if plan.needs is not None and spans is not None and spans.frame_bytes_max:
        document["frame_bytes_max"] = spans.frame_bytes_max
        longest = besteffort.longest_frames(plan.station.keepon, spans, allowed)
        try:
            besteffort.check_rows(plan.needs, spans, allowed)
        except InfeasibleError as error:  # other releases may leave longer rows
            raise UnprovenError(
                str(error), error.constraint, error.streams, error.nearest_change
            ) from None
    options, streams = plan.station.keepon, [entries[0].flow.stream for entries in placed.values()]
    left = stations.headroom(plan, streams, allowed)
    releases_ns = {name: entry["offset_ns"] for name, entry in document["streams"].items()}
    releases_ns |= beside_ns
    return {
        **document,
        "mode": options.mode,
        "slot_bytes": plan.slot_bytes,
        "slot_time_ps": plan.slot_ps,
        "preamble_ps": preamble_time_ps(plan.wire.rate_bps),
        "ring_slots": plan.ring_slots,
        "partition_slots": plan.partition_slots,
        "batch_slots": plan.batch_slots,
        "depth_slots": plan.depth_slots,
        "poll_overhead_ns": plan.poll_overhead_ns,
        "placeholder": options.placeholder,
        "allowed": allowed,
        "classes": {
            str(entry.tc): _class_document(entry, longest.get(entry.tc))
            for entry in options.classes
        },
        "headroom": left,
        "rationale": stations.reasons(plan, releases_ns, left, allowed),
    }


def _class_document(entry: TrafficClass, frame_bytes_max: int | None) -> PlannedClass:
    document: PlannedClass = {"late": entry.late, "round": entry.round}
    if frame_bytes_max is not None:
        document["frame_bytes_max"] = frame_bytes_max
    return document


def add_shared_polls(ground: Ground, planned: dict[str, PlannedStation]) -> None:
    """Add to each port's rationale the CPU share of all polls of its station.

    Raises:
        ConfigError: the polls need more cores than the station has.
    """
    for index, station in enumerate(ground.scenario.station):
        ports = [planned[port.name] for port in ground.topology.ports_of(station.name)]
        slotted = [port for port in ports if "headroom" in port]
        if len(slotted) < 2:
            continue
        # a poll lasts at least as long as its reads of the index, whatever the host model's costs
        # are
        read_ns = 2 * station.nic.index_read_ns
        share = sum(
            max(left["cpu_share"], read_ns / left["poll_interval_ns"])
            for left in (port["headroom"] for port in slotted)
            if "cpu_share" in left
        )
        cores = station.host.cores if isinstance(station.host, HostTable) else 0
        if cores and share >= cores:
            raise ConfigError(
                f'key `station[{index}].host.cores` (station "{station.name}") = {cores}: must be'
                f" above {share:.3g}, what polls of its {len(slotted)} ports take; state more,"
                " longer batch_slots with more advance_ns, or give a port to another station"
            )
        warning = "warning: " if share > 1 else ""
        host = f"{cores} of its host" if cores else "no number of cores is stated for its host"
        reason: Reason = {
            "rule": "G5",
            "quantity": f"{warning}{100 * share:.0f} % of one core for the polls of all its"
            f" {len(slotted)} ports",
            "why": f"{host}; a poll, and a frame on its way to the driver, may have to wait for one"
            " poll of each other port, which lead time and lateness have in them; a frame whose way"
            " is longer than polls are apart for more of them, which the trial shows",
        }
        for port in slotted:
            port["rationale"] = [*port.get("rationale", []), reason]


def stream_document(ground: Ground, placements: list[Placement]) -> PlannedStream:
    """One stream: its route, releases, windows, and bounds with their terms.

    Where each frame has its own release, the bounds are the worst of all frames, counted from the
    start of each frame's period.
    """
    first = placements[0]
    stream, station = first.flow.stream, first.flow.station
    behind_ps = [
        placement.release_ps - stream.begin_ns(number) * PS_PER_NS
        for number, placement in enumerate(placements)
    ]
    worst = max(placements, key=lambda placement: placement.delay_ps)
    delay_ps = worst.delay_ps
    bounds: Bounds = {
        "release_error_ns": None,
        "delay_min_ns": None,
        "delay_ns": None,
        "jitter_ns": None,
        "data_age_ns": None,
    }
    early = station.planned_driver == "launchtime" and early_by_etf(
        ground.scenario, station.station
    )
    drifting = ground.scenario.sync.mode == "none"  # frames may arrive ever earlier
    if station.planned_driver != "standard" and not early and not drifting:
        bounds["delay_min_ns"] = (
            min(placement.least_delay_ps for placement in placements) // PS_PER_NS
        )
    if station.bounded:
        bounds["release_error_ns"] = ceil_ns(max(-station.error_low_ps, station.error_high_ps))
        bounds["delay_ns"] = ceil_ns(delay_ps)
        bounds["jitter_ns"] = ceil_ns(spread_ps(placements))
        bounds["data_age_ns"] = ceil_ns(delay_ps) + stream.advance_ns
        if ground.read_ns(stream) is not None:
            bounds["application_ns"] = ceil_ns(max(map(ground.due_ps, placements)))
    listener = max(first.arrivals, key=lambda name: first.arrivals[name][1])
    document: PlannedStream = {
        "route": list(first.tree.paths[listener][1:-1]),
        "routes": {name: list(nodes[1:-1]) for name, nodes in first.tree.paths.items()},
        "release_ns": first.release_ps // PS_PER_NS,
        "release_early_ps": station.error_low_ps,
        "release_late_ps": station.error_high_ps,
        "frame_bytes_on_wire": station.planned_frame_bytes(stream),
        "padding_ps": _padding_ps(ground, first),
        "delay_planned_ps": delay_ps,
        "bounds": bounds,
        "terms": _terms(ground, worst),
        "windows": _windows(placements),
    }
    if first.tree.second:
        redundant.check(ground, placements)
        document["second_route"] = list(first.tree.second[1:-1])
    if station.bounded and stream.deadline_at == "last_bit":
        document["last_bit_ns"] = ceil_ns(max(map(ground.last_bit_ps, placements)))
    if (slots := station.slots_of(stream)) > 1:
        document["frame_slots"] = slots
    if len(placements) > 1:
        document["turns_ns"] = [at_ps // PS_PER_NS for at_ps in behind_ps]
    return document


def _windows(placements: list[Placement]) -> list[PlannedWindow]:
    """Windows of a stream's frames at bridges; with several releases each window has its frame's
    number.
    """
    found: list[PlannedWindow] = []
    for number, placement in enumerate(placements):
        for hop in placement.hops:
            window: PlannedWindow = {
                "bridge": hop.bridge,
                "peer": hop.peer,
                "open_ps": hop.early_ps,
                "last_ps": hop.late_ps,
                "length_ps": hop.window.length_ps,
            }
            if len(placements) > 1:
                window["turn"] = number
            found.append(window)
    return found


def _padding_ps(ground: Ground, placed: Placement) -> int:
    """By how many ps at most a frame can arrive earlier if its driver does not pad it to
    the slot.
    """
    stream = placed.flow.stream
    shorter_bytes = placed.flow.station.planned_frame_bytes(stream) - stream.frame_bytes
    return max(
        sum(
            shorter_bytes * byte_time_ps(ground.topology.wires[here, there].rate_bps)
            for here, there in hops(path[:-1])
        )
        for path in (*placed.tree.paths.values(), placed.tree.second)
    )


def _terms(ground: Ground, placed: Placement) -> DelayTerms:
    """The terms of a delay in ps; their sum is the delay."""
    listener = max(placed.arrivals, key=lambda name: placed.arrivals[name][1])
    path = redundant.slowest(ground, placed, listener)
    station = placed.flow.station
    clock_ps = ground.scenario.clock_error_ns(station.station, station.planned_driver) * PS_PER_NS
    own = {(hop.bridge, hop.peer): hop for hop in placed.hops}
    ways = hops(path)
    wires = [ground.topology.wires[way] for way in ways]
    passed = [own[hop] for hop in ways[1:]]
    return {
        "frame_ps": sum(ground.frame_ps(placed.flow, here, there)[1] for here, there in ways[:-1]),
        "processing_ps": sum(ground.bridges[hop.bridge].processing_ns for hop in passed)
        * PS_PER_NS,
        "propagation_ps": sum(wire.propagation_ns for wire in wires) * PS_PER_NS,
        "preamble_ps": sum(PREAMBLE_BYTES * byte_time_ps(wire.rate_bps) for wire in wires[1:]),
        "quantum_ps": placed.flow.station.error_high_ps - clock_ps,
        "clock_ps": clock_ps,
        "held_ps": sum(hop.held_ps for hop in passed),
        "blocked_ps": sum(hop.blocked_ps for hop in passed),
    }


def _add_gates(port: PlannedPort, gate_list: gates.GateList) -> None:
    port["cycle_ns"] = gate_list.cycle_ns
    port["base_ns"] = gate_list.base_ns
    port["entries"] = []
    for mask, ns in gate_list.entries:
        entry: GateEntry = {"gates": f"0x{mask & gates.ALL_GATES:02x}", "ns": ns}
        if mask & preemption.HOLD:
            entry["hold"] = True
        port["entries"].append(entry)


def windows_of(placed: Iterable[list[Placement]]) -> Windows:
    """Windows of all frames, by port."""
    found: Windows = {}
    for placements in placed:
        for placement in placements:
            for hop in placement.hops:
                found.setdefault((hop.bridge, hop.peer), []).append(hop.window)
    return found


def lists(
    ground: Ground, windows: Windows, limits: Limits
) -> dict[str, dict[str, gates.GateList | None]]:
    """Gate lists that the planner makes, by bridge and neighbour, within what bridges can do.

    Raises:
        TooLongError: some are not.
        TimeUpError: the limits were reached.
    """
    made: dict[str, dict[str, gates.GateList | None]] = {}
    merged = preemption.ports(ground.scenario)
    for (bridge, peer), entries in sorted(windows.items()):
        limits.look("gate lists were made")
        if ground.is_gated(bridge, peer):
            guard, short = gatelimits.guards_ns(ground, bridge, peer)
            base_ns = ground.grid(bridge, peer).phase_ps // PS_PER_NS
            built = gates.build(entries, guard, short, base_ns)
            if built is not None and (bridge, peer) in merged:
                queues = preemption.queues_of(merged[bridge, peer])
                built = gates.with_hold(built, {window.queue for window in entries}, queues)
            made.setdefault(bridge, {})[peer] = built
    for bridge, own in made.items():
        ports, why, key = gatelimits.exceeded(ground.bridges[bridge], own)
        if ports:
            cycles_ps = {
                (bridge, peer): short_ps
                for peer in ports
                if (short_ps := gatelimits.shorter_ps(windows[bridge, peer])) is not None
            }
            streams = {window.stream for peer in ports for window in windows[bridge, peer]}
            raise TooLongError(
                f'bridge "{bridge}" towards "{ports[0]}": with the releases found its gate list'
                f" {why}",
                sorted(streams), gatelimits.remedy(key, not cycles_ps), cycles_ps,
            )  # fmt: skip
    return made


def port_documents(ground: Ground, placed: Placed, limits: Limits) -> dict[str, PlannedBridge]:
    """All bridges with the gate lists and queues of their ports.

    Raises:
        InfeasibleError: a gate list would be longer than any bridge supports or would never close,
            or a queue would overflow.
        TimeUpError: the limits were reached.
    """
    windows: Windows = {port: [] for port in ground.listed_ports()}
    windows |= windows_of(placed.values())
    documents: dict[str, PlannedBridge] = {name: {"ports": {}} for name in ground.bridges}
    made = lists(ground, windows, limits)
    for (bridge, peer), entries in sorted(windows.items()):
        explicit = ground.explicit(bridge, peer)
        port: PlannedPort = {"queues": {window.stream: window.queue for window in entries}}
        if explicit is not None:
            if entries and gates.repeats_too_late(entries):
                raise UnprovenError(
                    f'bridge "{bridge}" towards "{peer}": its streams and the gate list given by'
                    f" hand repeat after {gates.cycle_ns_of(entries)} ns only, which is too long to"
                    " check every frame",
                    "gate-list", sorted({window.stream for window in entries}),
                    "choose periods with a shorter least common multiple",
                )  # fmt: skip
            _add_gates(port, explicit)
        elif (cyclic := ground.cycles.gate_list(bridge)) is not None:
            _add_gates(port, cyclic)
        elif ground.is_gated(bridge, peer):
            built = made[bridge][peer]
            assert built is not None
            if len(built.entries) == 1:
                raise InfeasibleError(
                    f'bridge "{bridge}" towards "{peer}": one queue has all of the cycle, so that '
                    "its gate never closes and does not set frames right that come early or late",
                    "gate-list", sorted({window.stream for window in entries}),
                    "leave the link some room",
                )  # fmt: skip
            _add_gates(port, built)
        documents[bridge]["ports"][peer] = port
    for name, document in documents.items():
        if filters := police.filters(ground, name, placed):
            document["stream_filters"] = filters
        if (cycles := ground.cycles.document(name, placed)) is not None:
            document["stream_filters"] = ground.cycles.filters(name, placed)
            document["cqf"] = cycles
    _check_queues(ground, placed)
    return documents


def _check_queues(ground: Ground, placed: Placed) -> None:
    placements = [entry for entries in placed.values() for entry in entries]
    if (found := overflow(ground, placements)) is None:
        return
    (bridge, peer, queue), needed = found
    streams = {
        entry.flow.stream.id
        for entry in placements
        for hop in entry.hops
        if (hop.bridge, hop.peer, hop.window.queue) == (bridge, peer, queue)
    }
    raise UnprovenError(
        f'bridge "{bridge}" towards "{peer}": with the releases found {needed} frames may be in'
        f" queue {queue} at once, and queue_frames = {ground.bridges[bridge].queue_frames}",
        "queue", sorted(streams),
        f'raise queue_frames of bridge "{bridge}" to {needed}',
    )  # fmt: skip
