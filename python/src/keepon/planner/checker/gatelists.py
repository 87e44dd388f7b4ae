# SPDX-License-Identifier: BSD-3-Clause
"""Gate lists of a plan: those of the planner open planned queues exactly in their windows, and no
other queue then.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from typing import Any

from keepon.model.plan import PlannedPort
from keepon.planner.checker.given import Given, Place, Window
from keepon.planner.checker.replay import Gate

ENTRIES_MAX = 4096
# Preamble, shortest frame and FCS: no frame begins at a gate that closes sooner.
FRAME_BYTES_MIN = 72


def check(given: Given, look: Callable[[], None]) -> list[str]:
    """Check all ports of all bridges; `look` may raise to end the check."""
    found = []
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
            else:
                made = _check_made(given, (name, peer), port, windows)
                found += [f"{where}: {text}" for text in made]
    unserved = set(by_place) - {
        (name, peer) for name, entry in given.plan["bridges"].items() for peer in entry["ports"]
    }
    return found + [
        f"{here} towards {there} has windows but no port in the plan"
        for here, there in sorted(unserved)
    ]


def _check_made(given: Given, place: Place, port: PlannedPort, windows: list[Window]) -> list[str]:
    cycle_ps = math.lcm(*(window.period_ps for window in windows))
    if "entries" not in port or 1000 * port["cycle_ns"] != cycle_ps or port["base_ns"] != 0:
        return ["they do not repeat with the streams' periods"]
    if len(port["entries"]) > ENTRIES_MAX:
        return [f"they have more than {ENTRIES_MAX} entries"]
    gate = Gate(port)
    if gate.cycle_ps != cycle_ps:
        return ["their entries do not add up to the cycle"]
    margin_ps = given.gate_error_ps(place[0])
    wanted: list[tuple[int, int, int]] = []
    for window in windows:
        for lap in range(cycle_ps // window.period_ps):
            start_ps = (window.open_ps + margin_ps + lap * window.period_ps) % cycle_ps
            wanted.append(
                (
                    start_ps,
                    start_ps + window.length_ps - 2 * margin_ps,
                    given.queue(window.stream, place),
                )
            )
    gap_ps = -(-12 * given.links[place][0] // 1000) * 1000
    wanted.sort()
    found = _compare(gate, wanted, set(port["queues"].values()), gap_ps)
    return found or _check_closed(
        gate, wanted, set(port["queues"].values()), FRAME_BYTES_MIN * given.links[place][0]
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
