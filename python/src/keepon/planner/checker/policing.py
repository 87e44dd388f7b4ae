# SPDX-License-Identifier: BSD-3-Clause
"""Stream filters of a plan: each frame that the plan has at a bridge passes, and a gate is open for
no longer than that takes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from keepon.model.plan import PlannedFilter
from keepon.planner.checker.given import Given, Place, node, places
from keepon.planner.checker.spans import trim_bytes
from keepon.planner.checker.steady import Steady
from keepon.planner.checker.streams import keeps_times

_HEADER_BYTES = 18
_FCS_BYTES = 4
_ROUNDING_NS = 3


def check(given: Given, steady: Steady) -> list[str]:
    """What is wrong with the filters of all bridges."""
    found = []
    for name, bridge in given.bridges.items():
        if bridge.gates == "cqf":
            continue
        filters = given.plan["bridges"].get(name, {"ports": {}}).get("stream_filters", [])
        wanted = [stream for stream in given.streams if _is_policed(given, name, stream)]
        if sorted(entry["stream"] for entry in filters) != sorted(wanted):
            found.append(
                f'bridge {name} has not one filter for each stream of police = "{bridge.police}"'
            )
            continue
        for entry in filters:
            found += [
                f"bridge {name}, filter of {entry['stream']}: {wrong}"
                for wrong in _wrong(given, steady, name, entry)
            ]
    return found


def _is_policed(given: Given, bridge: str, stream: str) -> bool:
    police = given.bridges[bridge].police
    if police == "edge":
        return given.leaves[stream][1] == bridge
    return police == "all" and any(bridge in map(node, way) for way in given.ways(stream))


def longest_msdu(given: Given, stream: str) -> int:
    """Octets of the MSDU of its longest frame."""
    longest = given.entry(stream)["frame_bytes_on_wire"]
    longest += trim_bytes(given, given.leaves[stream], 1)
    return longest - _HEADER_BYTES - _FCS_BYTES


def _wrong(given: Given, steady: Steady, bridge: str, entry: PlannedFilter) -> Iterator[str]:
    stream = entry["stream"]
    octets = longest_msdu(given, stream)
    if entry["max_sdu_bytes"] != octets:
        yield f"max_sdu_bytes is {entry['max_sdu_bytes']}, its longest frame has {octets}"
    if "entries" not in entry:
        return
    talker = given.scenario.station_named(given.streams[stream].talker)
    if not keeps_times(given, talker):
        yield "its talker keeps no times, and it has a gate"
        return
    turns = len(given.releases_ns(stream))
    cycle_ps = given.cycle_ps(stream)
    entries = entry["entries"]
    ends_ps = [1000 * ns for ns in itertools.accumulate(each["ns"] for each in entries)]
    if ends_ps[-1] != cycle_ps:
        yield f"its gate repeats after {ends_ps[-1]} ps, its frames after {cycle_ps}"
        return
    left = [each.get("octets", 0) for each in entries]
    needed_ps = 0
    for turn in range(turns):
        early_ps, late_ps = _received(given, steady, bridge, stream, turn)
        needed_ps += late_ps - early_ps
        first_ps = (early_ps - 1000 * entry["base_ns"]) % cycle_ps
        index = next(number for number, end_ps in enumerate(ends_ps) if first_ps < end_ps)
        if not entries[index]["open"] or first_ps + late_ps - early_ps >= ends_ps[index]:
            yield f"its gate is not open from {early_ps} to {late_ps} ps"
        left[index] -= octets
    if any(rest < 0 for rest in left):
        yield "its gate takes fewer octets than its frames have"
    open_ps = sum(1000 * each["ns"] for each in entries if each["open"])
    if open_ps > needed_ps + turns * _ROUNDING_NS * 1000:
        yield f"its gate is open for {open_ps} ps, its frames need {needed_ps}"


def _received(given: Given, steady: Steady, bridge: str, stream: str, turn: int) -> tuple[int, int]:
    """Between which instants of the bridge's clock a frame's last bit arrives."""
    place: Place = next(
        hop for way in given.ways(stream) for hop in places(way) if hop[0] == bridge
    )
    early_ps, late_ps = steady.ready[stream, turn, place]
    kept_ps = 1000 * given.bridges[bridge].processing_ns
    off_ps = given.clock_error_ps(bridge)
    return early_ps - kept_ps - off_ps, late_ps - kept_ps + off_ps
