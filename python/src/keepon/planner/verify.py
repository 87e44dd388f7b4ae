# SPDX-License-Identifier: BSD-3-Clause
"""Independent checker of plans: exact replay of every frame at both ends of its release interval, and static rules.

It shares no code with the planner: slot times, gate lists and routes are worked out here again from the scenario.
What it does not show: how drivers other than the planned one behave, and what best-effort frames do outside windows.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from keepon.errors import PlanRejectedError
from keepon.scenario import Scenario, Station, Stream

_FRAMES_MAX = 500_000
_Document = dict[str, Any]


def _byte_ps(rate_bps: int) -> int:
    return 8 * 10**12 // rate_bps


def _links(scenario: Scenario) -> dict[tuple[str, str], tuple[int, int]]:
    """(byte time, propagation) in ps per direction."""
    table: dict[tuple[str, str], tuple[int, int]] = {}
    for link in scenario.link:
        rate_bps = scenario.defaults.rate_bps if link.rate_bps is None else link.rate_bps
        delay_ns = scenario.defaults.propagation_ns if link.propagation_ns is None else link.propagation_ns
        one, other = link.ends
        table[one, other] = (_byte_ps(rate_bps), 1000 * (delay_ns + max(0, link.asymmetry_ns)))
        table[other, one] = (_byte_ps(rate_bps), 1000 * (delay_ns + max(0, -link.asymmetry_ns)))
    return table


@dataclass
class _Gate:
    """Gate list of one port as sorted edges; absent gates are always open."""

    edges_ps: list[int]
    masks: list[int]
    base_ps: int
    cycle_ps: int

    def state(self, queue: int, at_ps: int) -> tuple[bool, int | None]:
        """Whether the gate is open at an instant, and when that next changes (None: never)."""
        phase_ps = (at_ps - self.base_ps) % self.cycle_ps
        index = max(number for number, edge_ps in enumerate(self.edges_ps) if edge_ps <= phase_ps)
        is_open = bool(self.masks[index] >> queue & 1)
        ahead_ps = self.edges_ps[index] - phase_ps
        for step in range(1, len(self.masks) + 1):
            position = (index + step) % len(self.masks)
            wrapped = (index + step) // len(self.masks)
            if bool(self.masks[position] >> queue & 1) != is_open:
                return is_open, at_ps + ahead_ps + self.edges_ps[position] + wrapped * self.cycle_ps - self.edges_ps[
                    index
                ]
        return is_open, None


def _gate(port: _Document, later_ps: int = 0) -> _Gate | None:
    """The gates of a port; `later_ps`: by how much its clock lags behind network time."""
    if "entries" not in port:
        return None
    edges_ps, masks, at_ps = [], [], 0
    for entry in port["entries"]:
        edges_ps.append(at_ps)
        masks.append(int(entry["gates"], 16))
        at_ps += 1000 * entry["ns"]
    return _Gate(edges_ps, masks, 1000 * port["base_ns"] + later_ps, at_ps)


def _gate_error_ps(scenario: Scenario, bridge: str) -> int:
    """How far asymmetric links put the clock off that opens a bridge's gates; with other modes it is not set by any."""
    return 1000 * scenario.asymmetry_error_ns(bridge) if scenario.sync.mode == "gptp" else 0


@dataclass
class _Port:
    gate: _Gate | None
    busy_until_ps: int = -(10**18)  # a release may be before the origin of time
    queues: dict[int, deque[tuple[str, int]]] = field(default_factory=dict)


class _Replay:
    """Every frame of three hyperperiods through FIFO queues, strict priority and gates; times in ps."""

    def __init__(self, scenario: Scenario, plan: _Document, late: bool) -> None:
        self.links = _links(scenario)
        self.processing_ps = {bridge.name: 1000 * bridge.processing_ns for bridge in scenario.bridge}
        self.plan = plan
        self.streams = {stream.id: stream for stream in scenario.stream}
        self.error_key = "release_late_ps" if late else "release_early_ps"
        self.ports = {
            (bridge, peer): _Port(_gate(port, _gate_error_ps(scenario, bridge) * (1 if late else -1)))
            for bridge, entry in plan["bridges"].items()
            for peer, port in entry["ports"].items()
        }
        self.events: list[tuple[int, int, str, Any]] = []
        self.count = 0
        self.starts: dict[tuple[str, str, str, int], int] = {}
        self.arrivals: dict[tuple[str, str, int], int] = {}

    def _push(self, at_ps: int, kind: str, payload: Any) -> None:
        heapq.heappush(self.events, (at_ps, self.count, kind, payload))
        self.count += 1

    def run(self, hyper_ps: int) -> None:
        for name, stream in self.streams.items():
            entry = self.plan["streams"][name]
            period_ps = 1000 * stream.period_ns
            for number in range(3 * hyper_ps // period_ps):
                at_ps = number * period_ps + 1000 * entry["release_ns"] + entry[self.error_key]
                self._reach(name, number, stream.talker, at_ps)
        while self.events:
            at_ps, _, kind, payload = heapq.heappop(self.events)
            if kind == "ready":
                name, number, place = payload
                port = self.ports[place]
                port.queues.setdefault(self.streams[name].priority, deque()).append((name, number))
                self._serve(place, at_ps)
            else:
                self._serve(payload, at_ps)

    def _reach(self, name: str, number: int, here: str, reference_ps: int) -> None:
        """A frame passes the reference plane of node `here` outwards: deliver it to the nodes that follow."""
        entry = self.plan["streams"][name]
        paths = {listener: [self.streams[name].talker, *route, listener] for listener, route in entry["routes"].items()}
        following = {path[path.index(here) + 1] for path in paths.values() if here in path[:-1]}
        for there in following if here == self.streams[name].talker else ():
            self._arrive(name, number, here, there, reference_ps)

    def _arrive(self, name: str, number: int, here: str, there: str, reference_ps: int) -> None:
        byte_ps, delay_ps = self.links[here, there]
        at_ps = reference_ps + delay_ps
        entry = self.plan["streams"][name]
        if there in entry["routes"]:
            self.arrivals[name, there, number] = at_ps
            return
        ready_ps = at_ps + entry["frame_bytes_on_wire"] * byte_ps + self.processing_ps[there]
        paths = [[self.streams[name].talker, *route, listener] for listener, route in entry["routes"].items()]
        for peer in {path[path.index(there) + 1] for path in paths if there in path[:-1]}:
            self._push(ready_ps, "ready", (name, number, (there, peer)))

    def _serve(self, place: tuple[str, str], at_ps: int) -> None:
        port = self.ports[place]
        if at_ps < port.busy_until_ps:
            return
        byte_ps, _ = self.links[place]
        wake_ps: int | None = None
        for queue in sorted((number for number, frames in port.queues.items() if frames), reverse=True):
            name, number = port.queues[queue][0]
            frame_bytes = self.plan["streams"][name]["frame_bytes_on_wire"]
            is_open, change_ps = (True, None) if port.gate is None else port.gate.state(queue, at_ps)
            if is_open and (change_ps is None or at_ps + (frame_bytes + 8) * byte_ps <= change_ps):
                port.queues[queue].popleft()
                port.busy_until_ps = at_ps + (frame_bytes + 20) * byte_ps
                self.starts[name, *place, number] = at_ps
                self._arrive(name, number, *place, at_ps + 8 * byte_ps)
                self._push(port.busy_until_ps, "serve", place)
                return
            if change_ps is not None and (wake_ps is None or change_ps < wake_ps):
                wake_ps = change_ps
        horizon_ps = 0 if port.gate is None else 4 * max(1000 * stream.period_ns for stream in self.streams.values())
        if wake_ps is not None and wake_ps < self._end_ps() + horizon_ps:
            self._push(wake_ps, "serve", place)

    def _end_ps(self) -> int:
        return 4 * math.lcm(*(1000 * stream.period_ns for stream in self.streams.values()))


def _check_route(
    stream: Stream, entry: _Document, links: dict[tuple[str, str], tuple[int, int]], bridges: set[str]
) -> str:
    if set(entry["routes"]) != set(stream.listeners):
        return "routes do not lead to exactly its listeners"
    if entry["route"] not in entry["routes"].values():
        return "route is none of its routes"
    for listener, route in entry["routes"].items():
        path = [stream.talker, *route, listener]
        if len(set(path)) != len(path):
            return "a route passes a node twice"
        if not set(route) <= bridges:
            return "a route passes something that is no bridge"
        if any(pair not in links for pair in itertools.pairwise(path)):
            return "a route uses a link that does not exist"
        if isinstance(stream.route, list) and listener == stream.listeners[0] and route != stream.route:
            return "the route is not the one asked for"
    return ""


def _check_station(scenario: Scenario, station: Station, document: _Document, plan: _Document) -> list[str]:
    """Slots, partition and ownership of one keepon station."""
    streams = [stream for stream in scenario.stream if stream.talker == station.name]
    if set(document["streams"]) != {stream.id for stream in streams}:
        return ["its streams are not those of the scenario"]
    found = [
        f"offset of {stream.id} differs from its release"
        for stream in streams
        if document["streams"][stream.id]["offset_ns"] != plan["streams"][stream.id]["release_ns"]
        or document["streams"][stream.id]["tc"] != stream.tc
    ]
    if station.driver not in ("keepon", "under-test"):
        return found
    rate_bps = next(
        scenario.defaults.rate_bps if link.rate_bps is None else link.rate_bps
        for link in scenario.link
        if station.name in link.ends
    )
    slot_ps, options = document["slot_time_ps"], station.keepon
    if slot_ps != (document["slot_bytes"] + 20) * _byte_ps(rate_bps):
        found.append("slot_time_ps is not the slot's bytes plus 20 at the link's rate")
    if options.slot_bytes not in ("auto", document["slot_bytes"]):
        found.append("slot_bytes is not the one asked for")
    if not 8 <= document["ring_slots"] <= 4096 or not 1 <= document["partition_slots"] <= 65_536:
        found.append("ring or partition out of range")
    if not 1 <= document["batch_slots"] <= document["depth_slots"] <= document["ring_slots"] - 1:
        found.append("batch, depth and ring contradict each other")
    if len(document["allowed"]) != document["partition_slots"]:
        found.append("the partition has another length than partition_slots")
        return found
    wanted = {str(entry.tc): {"late": entry.late, "round": entry.round} for entry in options.classes}
    if document["classes"] != wanted:
        found.append("classes are not those of the scenario")
    locked = options.mode == "phase-locked"
    trim_bytes = options.trim_down_bytes if locked and options.trim == "any" else 0
    owners: dict[int, str] = {}
    for stream in streams:
        entry = plan["streams"][stream.id]
        if entry["frame_bytes_on_wire"] != document["slot_bytes"]:
            found.append(f"{stream.id} is not padded to the slot")
        if stream.frame_bytes + trim_bytes > document["slot_bytes"]:
            found.append(f"{stream.id} does not fit a slot after trimming")
        if locked:
            found.extend(_check_ownership(stream, entry["release_ns"], document, _byte_ps(rate_bps), owners, options))
    return found


def _check_ownership(
    stream: Stream, release_ns: int, document: _Document, byte_ps: int, owners: dict[int, str], options: Any
) -> list[str]:
    slot_ps, partition_slots = document["slot_time_ps"], document["partition_slots"]
    start_ps, period_ps = 1000 * release_ns - 8 * byte_ps, 1000 * stream.period_ns
    # A txtime has whole ns: at 10 Gb/s no slot starts on one, and its class rounds it up or down to the slot.
    rounds_down = next((entry.round for entry in options.classes if entry.tc == stream.tc), "up") == "floor"
    off_ps = start_ps % slot_ps if rounds_down else -start_ps % slot_ps
    if off_ps >= 1000 or period_ps % slot_ps:
        return [f"{stream.id} is not released on the slot grid"]
    start_ps += -off_ps if rounds_down else off_ps
    found = []
    turns = partition_slots // math.gcd(partition_slots, period_ps // slot_ps)
    rest = sum(1 << entry.tc for entry in options.classes if entry.slots == "rest")
    for turn in range(turns):
        index = (start_ps // slot_ps + turn * (period_ps // slot_ps)) % partition_slots
        mask = document["allowed"][index]
        if not mask >> stream.tc & 1:
            found.append(f"{stream.id} uses slot {index}, which its class {stream.tc} does not own")
            break
        if mask & ~(1 << stream.tc) & ~(rest if rest >> stream.tc & 1 else 0):
            found.append(f"slot {index} of {stream.id} is open to another class")
            break
        if owners.setdefault(index, stream.id) != stream.id and partition_slots % (period_ps // slot_ps) == 0:
            found.append(f"{stream.id} and {owners[index]} use the same slot {index}")
            break
    return found


def _check_windows(
    plan: _Document, streams: dict[str, Stream], links: dict[tuple[str, str], tuple[int, int]]
) -> list[str]:
    """Windows of one wire never meet, over all cycles; queues are the streams' priorities."""
    found = []
    by_wire: dict[tuple[str, str], list[tuple[str, int, int, int]]] = {}
    for name, entry in plan["streams"].items():
        for window in entry["windows"]:
            place = (window["bridge"], window["peer"])
            wire_ps = (entry["frame_bytes_on_wire"] + 20) * links[place][0]
            if window["length_ps"] < window["last_ps"] - window["open_ps"] + wire_ps:
                found.append(f"window of {name} at {place[0]} is shorter than its frame")
            by_wire.setdefault(place, []).append(
                (name, window["open_ps"], window["length_ps"], 1000 * streams[name].period_ns)
            )
    for place, windows in by_wire.items():
        queues = plan["bridges"].get(place[0], {}).get("ports", {}).get(place[1], {}).get("queues", {})
        if queues != {name: streams[name].priority for name, *_ in windows}:
            found.append(f"queues of {place[0]} towards {place[1]} are not those of its streams")
        for number, (name, start_ps, length_ps, period_ps) in enumerate(windows):
            for other, other_start_ps, other_length_ps, other_period_ps in windows[:number]:
                common_ps = math.gcd(period_ps, other_period_ps)
                apart_ps = (start_ps - other_start_ps) % common_ps
                if apart_ps < other_length_ps or common_ps - apart_ps < length_ps:
                    found.append(f"windows of {name} and {other} meet on {place[0]} -> {place[1]}")
    return found


def _check_gates(scenario: Scenario, plan: _Document) -> list[str]:
    """Automatic gates open planned queues exactly in their windows, and to nobody else then."""
    found = []
    streams = {stream.id: stream for stream in scenario.stream}
    for bridge in scenario.bridge:
        for peer, port in plan["bridges"].get(bridge.name, {}).get("ports", {}).items():
            where = f"gates of {bridge.name} towards {peer}"
            explicit = bridge.gates.get(peer) if isinstance(bridge.gates, dict) else None
            if explicit is not None:
                if [(entry.gates, entry.ns) for entry in explicit.entries] != [
                    (e["gates"], e["ns"]) for e in port["entries"]
                ]:
                    found.append(f"{where} are not those of the scenario")
                continue
            if bridge.gates == "none":
                if "entries" in port:
                    found.append(f"{where} exist though none were asked for")
                continue
            gate = _gate(port)
            cycle_ns = math.lcm(*(streams[name].period_ns for name in port["queues"]))
            if gate is None or port["cycle_ns"] != cycle_ns or gate.cycle_ps != 1000 * cycle_ns or port["base_ns"] != 0:
                found.append(f"{where} do not repeat with the streams' periods")
                continue
            wanted: list[tuple[int, int, int]] = []
            for name, queue in port["queues"].items():
                period_ps = 1000 * streams[name].period_ns
                for window in plan["streams"][name]["windows"]:
                    if (window["bridge"], window["peer"]) != (bridge.name, peer):
                        continue
                    margin_ps = _gate_error_ps(scenario, bridge.name)
                    for turn in range(gate.cycle_ps // period_ps):
                        start_ps = (window["open_ps"] + margin_ps + turn * period_ps) % gate.cycle_ps
                        wanted.append((start_ps, start_ps + window["length_ps"] - 2 * margin_ps, queue))
            found.extend(f"{where}: {text}" for text in _compare_gate(gate, wanted, set(port["queues"].values())))
    return found


def _compare_gate(gate: _Gate, wanted: list[tuple[int, int, int]], planned: set[int]) -> list[str]:
    for start_ps, end_ps, queue in wanted:
        edges = [
            start_ps,
            *(edge + lap for lap in (0, gate.cycle_ps) for edge in gate.edges_ps if start_ps < edge + lap < end_ps),
        ]
        for at_ps in edges:
            phase_ps = (at_ps - gate.base_ps) % gate.cycle_ps
            index = max(number for number, edge_ps in enumerate(gate.edges_ps) if edge_ps <= phase_ps)
            if gate.masks[index] != 1 << queue:
                return [f"not exactly queue {queue} is open in a window"]
    for queue in planned:
        open_ps = sum(
            (gate.edges_ps[number + 1] if number + 1 < len(gate.masks) else gate.cycle_ps) - gate.edges_ps[number]
            for number, mask in enumerate(gate.masks)
            if mask >> queue & 1
        )
        if open_ps != sum(end_ps - start_ps for start_ps, end_ps, owner in wanted if owner == queue):
            return [f"queue {queue} is open outside its windows"]
    return []


def _check_replay(scenario: Scenario, plan: _Document) -> list[str]:
    streams = {stream.id: stream for stream in scenario.stream}
    hyper_ps = math.lcm(*(1000 * stream.period_ns for stream in scenario.stream))
    frames = sum(3 * hyper_ps // (1000 * stream.period_ns) for stream in scenario.stream)
    if frames > _FRAMES_MAX:
        return [
            f"the hyperperiod has {frames // 3} frames, too many to replay; choose periods with a shorter common "
            "multiple"
        ]
    replays = {}
    for late in (False, True):
        replays[late] = _Replay(scenario, plan, late)
        replays[late].run(hyper_ps)
    found = []
    for name, stream in streams.items():
        entry, period_ps = plan["streams"][name], 1000 * stream.period_ns
        numbers = range(hyper_ps // period_ps, 2 * hyper_ps // period_ps)
        for window in entry["windows"]:
            for late, key in ((False, "open_ps"), (True, "last_ps")):
                for number in numbers:
                    start_ps = replays[late].starts.get((name, window["bridge"], window["peer"], number))
                    if start_ps != number * period_ps + window[key]:
                        found.append(f"{name} does not leave {window['bridge']} at its window")
                        break
        found.extend(_check_bounds(stream, entry, replays, numbers))
    return found


def _check_bounds(stream: Stream, entry: _Document, replays: dict[bool, _Replay], numbers: range) -> list[str]:
    period_ps = 1000 * stream.period_ns
    worst_ps, spread_ps = 0, 0
    for listener in stream.listeners:
        for number in numbers:
            times = [replays[late].arrivals.get((stream.id, listener, number)) for late in (False, True)]
            if times[0] is None or times[1] is None:
                return [f"{stream.id} does not reach {listener}"]
            worst_ps = max(worst_ps, times[1] - number * period_ps - 1000 * entry["release_ns"])
            spread_ps = max(spread_ps, times[1] - times[0])
    if worst_ps != entry["delay_planned_ps"] or worst_ps != sum(entry["terms"].values()):
        return [f"delay of {stream.id} is {worst_ps} ps, the plan says {entry['delay_planned_ps']}"]
    bounds = entry["bounds"]
    if bounds["delay_ns"] is None:
        return []
    found = []
    if not worst_ps <= 1000 * bounds["delay_ns"] < worst_ps + 1000:
        found.append(f"bound delay_ns of {stream.id} is not its delay")
    if not spread_ps <= 1000 * bounds["jitter_ns"] < spread_ps + 1000:
        found.append(f"bound jitter_ns of {stream.id} is not its spread")
    error_ps = max(-entry["release_early_ps"], entry["release_late_ps"])
    if not error_ps <= 1000 * bounds["release_error_ns"] < error_ps + 1000:
        found.append(f"bound release_error_ns of {stream.id} is not its release error")
    if bounds["data_age_ns"] != bounds["delay_ns"] + stream.advance_ns:
        found.append(f"bound data_age_ns of {stream.id} is not delay plus advance")
    for key, limit_ns in (("delay_ns", stream.deadline_ns), ("jitter_ns", stream.jitter_ns)):
        if limit_ns is not None and bounds[key] > limit_ns:
            found.append(f"{stream.id} misses the {key} asked for")
    return found


def _check_release(scenario: Scenario, plan: _Document, links: dict[tuple[str, str], tuple[int, int]]) -> list[str]:
    """Release intervals are at least what the driver's mechanism needs (quantum; i210 comparator; paper floor)."""
    found = []
    for stream in scenario.stream:
        entry, station = plan["streams"][stream.id], scenario.station_named(stream.talker)
        if not 0 <= entry["release_ns"] < stream.period_ns:
            found.append(f"release of {stream.id} is outside its period")
        if stream.offset_ns not in ("auto", entry["release_ns"]):
            found.append(f"release of {stream.id} is not the offset asked for")
        byte_ps = next(byte_ps for (here, _), (byte_ps, _) in links.items() if here == stream.talker)
        low_ps, high_ps = 0, 0
        if station.driver in ("keepon", "under-test"):
            low_ps, high_ps = -byte_ps // 2, byte_ps // 2
            if station.keepon.mode == "paper":
                slot_ps = plan["stations"][station.name]["slot_time_ps"]
                low_ps, high_ps = 8 * byte_ps - slot_ps, 8 * byte_ps
        elif entry["frame_bytes_on_wire"] != stream.frame_bytes:
            found.append(f"{stream.id} is sent with another length than its own")
        if station.driver == "launchtime":
            high_ps = 32_000
        driver = "keepon" if station.driver == "under-test" else station.driver
        clock_ps = 1000 * scenario.clock_error_ns(station, driver)
        low_ps, high_ps = low_ps - clock_ps, high_ps + clock_ps
        if entry["release_early_ps"] > low_ps or entry["release_late_ps"] < high_ps:
            found.append(f"release interval of {stream.id} is narrower than its driver can keep")
    return found


def problems(scenario: Scenario, plan: _Document) -> list[str]:
    """Everything wrong with a feasible plan; an empty list means it holds."""
    links = _links(scenario)
    streams = {stream.id: stream for stream in scenario.stream}
    if set(plan["streams"]) != set(streams):
        return ["the plan's streams are not those of the scenario"]
    bridges = {bridge.name for bridge in scenario.bridge}
    found: list[str] = []
    for name, stream in streams.items():
        entry = plan["streams"][name]
        if reason := _check_route(stream, entry, links, bridges):
            return [f"{name}: {reason}"]
        hops = {
            pair
            for listener, route in entry["routes"].items()
            for pair in zip(route, [*route[1:], listener], strict=False)
        }
        if {(window["bridge"], window["peer"]) for window in entry["windows"]} != hops:
            return [f"{name}: its windows are not those of its route"]
    for name, document in plan["stations"].items():
        try:
            station = scenario.station_named(name)
        except KeyError:
            return [f"station {name} is not in the scenario"]
        found.extend(f"station {name}: {text}" for text in _check_station(scenario, station, document, plan))
    if missing := {stream.talker for stream in scenario.stream} - set(plan["stations"]):
        return [f"station {missing.pop()} is not in the plan"]
    found.extend(_check_release(scenario, plan, links))
    found.extend(_check_windows(plan, streams, links))
    if not found:
        found.extend(_check_gates(scenario, plan))
    if not found and streams:
        found.extend(_check_replay(scenario, plan))
    return found


def verify(scenario: Scenario, plan: _Document) -> _Document:
    """The plan marked `verified`, if nothing is wrong with it or it is not feasible.

    Raises:
        PlanRejectedError: the plan does not hold; the first reasons are named.
    """
    if plan["status"] != "feasible":
        return plan
    found = problems(scenario, plan)
    if found:
        raise PlanRejectedError("the plan failed its independent check: " + "; ".join(found[:3]))
    return {**plan, "verified": True}
