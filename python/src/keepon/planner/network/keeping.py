# SPDX-License-Identifier: BSD-3-Clause
"""Incremental planning: streams of an earlier plan keep their releases, routes and slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import ValidationError

from keepon.errors import ConfigError, TraceError
from keepon.model import documents
from keepon.model.cables import hops
from keepon.model.plan import Plan, PlannedStream, PlannedWindow, ways_of
from keepon.model.scenario import KeeponOptions, Scenario, Station
from keepon.model.topology import Topology
from keepon.model.wire import PS_PER_NS, ceil_ns
from keepon.planner.network.behind import loose
from keepon.planner.network.flows import Flow, Placement
from keepon.planner.network.grid import frames, on_grid
from keepon.planner.network.ground import Ground
from keepon.planner.network.occupancy import HOST, Occupancy
from keepon.planner.network.search import TURNS_MAX
from keepon.planner.network.trees import Tree

_SLOT_KEYS = (
    "slot_bytes",
    "ring_slots",
    "partition_slots",
    "batch_slots",
    "depth_slots",
    "poll_overhead_ns",
)


def check(plan: Plan, source: str) -> None:
    """Refuse an earlier plan that lacks a key needed to keep its streams.

    Raises:
        TraceError: one sentence on the first such key.
    """
    documents.check(source, plan, Plan, "the file is damaged, make it again with keepon plan")


def with_its_slots(scenario: Scenario, plan: Plan) -> Scenario:
    """The scenario with the slots, rings and partitions of the earlier plan in place of "auto", for
    stations with one port.
    """
    ports = {port.station: port.name for port in Topology(scenario).ports.values()}
    stations = [
        station.model_copy(update={"keepon": _slots(station, station.name, plan)})
        if ports.get(station.name, station.name) == station.name
        else station
        for station in scenario.station
    ]
    return scenario.model_copy(update={"station": stations})


def slots_of_ports(scenario: Scenario, plan: Plan) -> dict[str, KeeponOptions]:
    """Slots, rings and partitions of the earlier plan for the ports of stations with several ports,
    by port name; a scenario has no keys for single ports. A port is identified by its neighbour, as
    its number depends on the order of the links. A port that the earlier plan lacks keeps nothing.
    """
    earlier = {
        (name.rpartition(".")[0], entry["peer"]): name
        for name, entry in plan["stations"].items()
        if "peer" in entry
    }
    return {
        port.name: _slots(
            scenario.station_named(port.station),
            earlier.get((port.station, port.peer), "" if earlier else port.name),
            plan,
        )
        for port in Topology(scenario).ports.values()
        if port.name != port.station
    }


def _slots(station: Station, port: str, plan: Plan) -> KeeponOptions:
    document: Mapping[str, object] = plan["stations"].get(port) or {}
    chosen = {
        key: document[key]
        for key in _SLOT_KEYS
        if key in document and getattr(station.keepon, key) == "auto"
    }
    try:
        return KeeponOptions.model_validate({**station.keepon.model_dump(), **chosen})
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        raise TraceError(
            f"earlier plan: key `stations.{port}.{key}` = {chosen.get(key)}: not what a"
            " station can have; the file is damaged, make it again with keepon plan"
        ) from None


def kept(ground: Ground, plan: Plan) -> dict[int, list[Placement]]:
    """Placements of the streams that are in both scenario and plan, by number.

    Raises:
        ConfigError: a stream cannot stay, because its talker's slots, its route, length or period
            changed.
    """
    placed: dict[int, list[Placement]] = {}
    occupancy = Occupancy()
    for flow in ground.flows:
        entry = plan["streams"].get(flow.stream.id)
        if entry is None:
            continue
        placements = _as_it_was(ground, flow, entry)
        for placement in placements:
            if any(
                occupancy.shift_ps(claim) for claim in placement.claims if claim.resource[0] != HOST
            ):
                raise _changed(ground, flow, "meets other streams of the earlier plan now")
        for placement in placements:
            occupancy.add(flow.number, placement.claims)
        placed[flow.number] = placements
    for number in loose(ground, dict(placed), occupancy):
        raise _changed(ground, ground.flows[number], "waits at a gate for frames that are gone now")
    return placed


def _changed(ground: Ground, flow: Flow, what: str) -> ConfigError:
    index = ground.scenario.stream.index(flow.stream)
    return ConfigError(
        f'key `stream[{index}].id` = "{flow.stream.id}": the stream {what}, so that it cannot stay'
        " where the earlier plan has it; plan without --keep, or give the stream another id to"
        " place it again"
    )


def _as_it_was(ground: Ground, flow: Flow, entry: PlannedStream) -> list[Placement]:
    tree = _tree_of(flow, entry)
    if tree is None:
        raise _changed(
            ground, flow, "has no such way any more, or not among the planner.routes considered"
        )
    if entry["frame_bytes_on_wire"] != flow.station.planned_frame_bytes(flow.stream):
        raise _changed(ground, flow, "has another length on the wire now")
    behind_ns = entry.get("turns_ns", [entry["release_ns"]])
    stream, period_ns = flow.stream, flow.stream.period_ns
    releases_ps = [
        (at_ns + stream.begin_ns(turn)) * PS_PER_NS for turn, at_ns in enumerate(behind_ns)
    ]
    spread_ns = max(behind_ns) - min(behind_ns)
    if (
        not 0 <= behind_ns[0] < period_ns
        or not 0 <= min(behind_ns) <= max(behind_ns) < 2 * period_ns
        or (
            releases_ps != [at_ps for _, at_ps in frames(flow, releases_ps[0])]
            if stream.turns > 1
            else len(behind_ns) > TURNS_MAX or spread_ns > (stream.jitter_ns or 0)
        )
        or any(on_grid(flow.station, stream, at_ps) != at_ps for at_ps in releases_ps)
        or stream.offset_ns not in ("auto", behind_ns[0])
    ):
        raise _changed(
            ground, flow, "was released at other instants than its talker and jitter_ns allow now"
        )
    placements = []
    for turn, release_ps in enumerate(releases_ps):
        own = replace(flow, turn=turn, turns=len(behind_ns), apart=flow.station.apart_ps > 0)
        windows = [window for window in entry["windows"] if window.get("turn", 0) == turn]
        if len(windows) != sum(leg.parent >= 0 for leg in tree.legs):
            raise _changed(ground, flow, "passes other ports now")
        waits: tuple[int, ...] = ()
        for number in range(len(windows)):
            so_far = ground.lay(
                own, tree, release_ps, None, None, (*waits, *[0] * (len(windows) - number))
            )
            if isinstance(so_far, int):
                raise _changed(
                    ground, flow, "cannot leave a bridge whose gate list was given by hand"
                )
            hop = so_far.hops[number]
            opened = [
                w["open_ps"] for w in windows if (w["bridge"], w["peer"]) == (hop.bridge, hop.peer)
            ]
            if len(opened) != 1:
                raise _changed(ground, flow, "passes other ports now")
            opened_ps = opened[0]
            wait_ns = ceil_ns(opened_ps - so_far.hops[number].early_ps)
            if wait_ns < 0:
                raise _changed(ground, flow, "takes another time to or through a bridge now")
            waits = (*waits, wait_ns)
        laid = ground.lay(own, tree, release_ps, None, None, waits)
        if isinstance(laid, int) or [
            (hop.bridge, hop.peer, hop.early_ps, hop.late_ps, hop.window.length_ps)
            for hop in laid.hops
        ] != _windows_of(laid, windows):
            raise _changed(ground, flow, "takes another time to or through a bridge now")
        placements.append(laid)
    return placements


def _windows_of(
    laid: Placement,
    windows: list[PlannedWindow],
) -> list[tuple[str, str, int, int, int]]:
    by_port = {(window["bridge"], window["peer"]): window for window in windows}
    found = []
    for hop in laid.hops:
        window = by_port[hop.bridge, hop.peer]
        found.append(
            (hop.bridge, hop.peer, window["open_ps"], window["last_ps"], window["length_ps"])
        )
    return found


def _tree_of(flow: Flow, entry: PlannedStream) -> Tree | None:
    """The tree of a stream in the earlier plan."""
    wanted = {
        hop
        for listener, route in ways_of(entry)
        for hop in hops([flow.stream.talker, *route, listener])
    }
    for tree in flow.trees:
        if {(leg.here, leg.there) for leg in tree.legs} == wanted:
            return tree
    return None
