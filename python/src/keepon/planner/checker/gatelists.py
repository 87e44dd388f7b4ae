# SPDX-License-Identifier: BSD-3-Clause
"""Gate lists of a plan: those of the planner open planned queues exactly in their windows, and no
other queue then.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable
from typing import Any

from keepon.model.plan import PlannedPort
from keepon.model.scenario import Bridge
from keepon.planner.checker import interruptions
from keepon.planner.checker.given import Given, Place, Window
from keepon.planner.checker.replay import Gate
from keepon.planner.checker.spans import span_ps
from keepon.planner.checker.unplanned import Unplanned

_BEST_EFFORT_BYTES = 1522
# Preamble, shortest frame and FCS: no frame begins at a gate that closes sooner.
FRAME_BYTES_MIN = 72


def check(given: Given, unplanned: Unplanned, look: Callable[[], None]) -> list[str]:
    """Check all ports of all bridges; `look` may raise to end the check."""
    found = [text for bridge in given.bridges.values() for text in limits(given, bridge)]
    by_place = given.by_place
    for name, bridge in given.bridges.items():
        listed = set(bridge.gates) if isinstance(bridge.gates, dict) else set()
        for peer in sorted(listed - set(given.ports(name))):
            found.append(f"gates of {name} towards {peer} are given by hand and not in the plan")
        for peer, port in given.ports(name).items():
            where = f"gates of {name} towards {peer}"
            look()
            windows = by_place.get((name, peer), [])
            own = {window.stream: given.queue(window.stream, window.place) for window in windows}
            if port["queues"] != own:
                found.append(f"queues of {name} towards {peer} are not those of its streams")
                continue
            explicit = bridge.gates.get(peer) if isinstance(bridge.gates, dict) else None
            if explicit is not None:
                if [(int(entry.gates, 16), entry.ns) for entry in explicit.entries] != [
                    (int(e["gates"], 16), e["ns"]) for e in port.get("entries", [])
                ] or explicit.base_ns != port["base_ns"]:
                    found.append(f"{where} are not those of the scenario")
            elif bridge.gates == "none":
                if "entries" in port:
                    found.append(f"{where} exist though none were asked for")
            elif bridge.gates != "cqf":
                made = _check_made(given, unplanned, (name, peer), port, windows)
                found += [f"{where}: {text}" for text in made]
    unserved = set(by_place) - {
        (name, peer) for name, entry in given.plan["bridges"].items() for peer in entry["ports"]
    }
    return found + [
        f"{here} towards {there} has windows but no port in the plan"
        for here, there in sorted(unserved)
    ]


def limits(given: Given, bridge: Bridge) -> list[str]:
    """What of a bridge's gate lists its gate control cannot do."""
    lists = {peer: port for peer, port in given.ports(bridge.name).items() if "entries" in port}
    found = []
    instants: dict[int, str] = {}
    common_ns = math.gcd(*(port["cycle_ns"] for port in lists.values()))
    for peer, port in lists.items():
        lengths_ns = [entry["ns"] for entry in port["entries"]]
        where = f"gates of {bridge.name} towards {peer}"
        if len(lengths_ns) > bridge.gate_entries:
            found.append(f"{where} have more than {bridge.gate_entries} entries")
        if min(lengths_ns) < bridge.gate_shortest_ns:
            found.append(f"{where} have an entry shorter than {bridge.gate_shortest_ns} ns")
        if any(ns % bridge.gate_step_ns for ns in (port["base_ns"], *lengths_ns)):
            found.append(f"{where} are not in steps of {bridge.gate_step_ns} ns")
        if port["cycle_ns"] > bridge.gate_cycle_max_ns:
            found.append(f"{where} have a cycle above {bridge.gate_cycle_max_ns} ns")
        if bridge.gate_alone:
            at_ns = itertools.accumulate(lengths_ns[:-1], initial=port["base_ns"])
            changes = {at % common_ns for at in at_ns}
            found += [
                f"{where} change when those towards {instants[at]} do"
                for at in sorted(changes & instants.keys())[:1]
            ]
            instants |= dict.fromkeys(changes, peer)
    cycles_ns = sorted(port["cycle_ns"] for port in lists.values())
    if bridge.gate_alone and any(more % less for less, more in itertools.pairwise(cycles_ns)):
        found.append(f"{bridge.name} has gate cycles that are no multiples of each other")
    total = sum(len(port["entries"]) for port in lists.values())
    if total > bridge.gate_entries_all:
        found.append(f"{bridge.name} has more than {bridge.gate_entries_all} gate entries")
    return found


def _check_made(
    given: Given, unplanned: Unplanned, place: Place, port: PlannedPort, windows: list[Window]
) -> list[str]:
    """A window may be open more often than it has frames: in each cycle of the list, or as often as
    periods and cycle have it in common.
    """
    bridge = given.bridges[place[0]]
    all_ps = math.lcm(*(window.period_ps for window in windows))
    cycle_ps = 1000 * port.get("cycle_ns", 0)
    if "entries" not in port or not cycle_ps or all_ps % cycle_ps:
        return ["they do not repeat with the streams' periods"]
    gate = Gate(port)
    if gate.cycle_ps != cycle_ps:
        return ["their entries do not add up to the cycle"]
    if held := interruptions.check_hold(given, place, port):
        return held
    # HOLD does what gates of preemptable queues would.
    shut = ~sum(1 << queue for queue in interruptions.queues(given, place))
    gate.masks = [mask & shut for mask in gate.masks]
    margin_ps = given.gate_error_ps(place[0])
    wanted: list[tuple[int, int, int]] = []
    for window in windows:
        period_ps = math.gcd(window.period_ps, cycle_ps)
        for lap in range(cycle_ps // period_ps):
            start_ps = (window.open_ps + margin_ps + lap * period_ps - gate.base_ps) % cycle_ps
            wanted.append(
                (
                    start_ps,
                    start_ps + window.length_ps - 2 * margin_ps,
                    given.queue(window.stream, place),
                )
            )
    byte_ps = given.links[place][0]
    gap_ps = -(-12 * byte_ps // 1000) * 1000
    longest_ps = max(span_ps(given, place, _BEST_EFFORT_BYTES + 20, 1), unplanned.longest_ps(place))
    if bridge.gate_guard == "none":
        gap_ps = max(gap_ps, longest_ps)
    elif bridge.gate_guard == "fixed" and any(
        window.last_ps - window.open_ps + longest_ps > window.length_ps for window in windows
    ):
        return ["a window closes too soon for the guard of the bridge"]
    wanted.sort()
    found = _compare(gate, wanted, set(port["queues"].values()), gap_ps)
    return found or _check_closed(
        gate, wanted, set(port["queues"].values()), FRAME_BYTES_MIN * byte_ps
    )


def _check_closed(
    gate: Gate, wanted: list[tuple[int, int, int]], planned: set[int], frame_ps: int
) -> list[str]:
    """A queue is open in its windows only. After a window its gate may stay open until the next
    window if that begins before any frame could end. Another part of the checker finds frames of
    the next window that leave too soon.
    """
    open_ps = dict.fromkeys(planned, 0)
    ends_ps = [*gate.edges_ps[1:], gate.cycle_ps]
    for mask, start_ps, end_ps in zip(gate.masks, gate.edges_ps, ends_ps, strict=True):
        for queue in planned:
            open_ps[queue] += (end_ps - start_ps) * (mask >> queue & 1)
    following = [*(start_ps for start_ps, _, _ in wanted[1:]), wanted[0][0] + gate.cycle_ps]
    for (start_ps, end_ps, queue), next_ps in zip(wanted, following, strict=True):
        open_ps[queue] -= end_ps - start_ps
        if 0 < next_ps - end_ps < frame_ps:
            is_open, change_ps = gate.state(queue, gate.base_ps + end_ps)
            stays_ps = next_ps - end_ps
            if change_ps is not None:
                stays_ps = min(stays_ps, change_ps - gate.base_ps - end_ps)
            open_ps[queue] -= stays_ps * is_open
    return [
        f"queue {queue} is open outside its windows" for queue in planned if open_ps[queue] != 0
    ]


def _compare(
    gate: Gate, wanted: list[tuple[int, int, int]], planned: set[int], gap_ps: int
) -> list[str]:
    edges: list[Any] = [
        edge + lap for lap in (-gate.cycle_ps, 0, gate.cycle_ps) for edge in gate.edges_ps
    ]
    planned_mask = sum(1 << queue for queue in planned)
    for start_ps, end_ps, queue in wanted:
        within = edges[bisect.bisect_right(edges, start_ps) : bisect.bisect_left(edges, end_ps)]
        if any(gate.mask_at(gate.base_ps + at_ps) != 1 << queue for at_ps in (start_ps, *within)):
            return [f"not exactly queue {queue} is open in a window"]
        guard = edges[
            bisect.bisect_right(edges, start_ps - gap_ps) : bisect.bisect_left(edges, start_ps)
        ]
        if any(
            gate.mask_at(gate.base_ps + at_ps) & ~planned_mask
            for at_ps in (start_ps - gap_ps, *guard)
        ):
            return ["a frame may end so late before a window that its gap reaches into it"]
    return []
