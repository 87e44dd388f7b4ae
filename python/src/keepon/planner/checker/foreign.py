# SPDX-License-Identifier: BSD-3-Clause
"""Streams of talkers of driver foreign: nothing is promised of them, and what is promised of others
holds whenever their frames come.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from keepon.model.plan import Draft, PlannedBridge, PlannedStation, PlannedStream
from keepon.model.scenario import Load, Scenario, Stream
from keepon.planner.checker.given import Given
from keepon.planner.checker.streams import sum_ps


def apart(scenario: Scenario, plan: Draft) -> tuple[Scenario, Draft, list[Stream]]:
    """Scenario and plan without these streams, whose frames are best effort instead; and they."""
    theirs = [
        stream
        for stream in scenario.stream
        if scenario.station_named(stream.talker).driver == "foreign"
    ]
    names = {stream.id for stream in theirs}
    frames = [
        Load(
            id=stream.id, talker=stream.talker, listener=end, frame_bytes=stream.frame_bytes,
            tc=stream.tc, priority=stream.priority,
        )
        for stream in theirs
        for end in stream.listeners
    ]  # fmt: skip
    stations: dict[str, PlannedStation] = {
        name: {
            **entry, "streams": {id: own for id, own in entry["streams"].items() if id not in names}
        }
        for name, entry in plan["stations"].items()
    }  # fmt: skip
    streams = {name: entry for name, entry in plan["streams"].items() if name not in names}
    bridges: dict[str, PlannedBridge] = {}
    for name, document in plan["bridges"].items():
        own = [e for e in document.get("stream_filters", []) if e["stream"] not in names]
        bridges[name] = {**document, "stream_filters": own}
    others = [stream for stream in scenario.stream if stream.id not in names]
    update = {"stream": others, "load": [*scenario.load, *frames]}
    return (
        scenario.model_copy(update=update),
        {**plan, "stations": stations, "streams": streams, "bridges": bridges},
        theirs,
    )


def check(given: Given, plan: Draft, streams: list[Stream]) -> list[str]:
    """Check what the whole plan says of these streams."""
    found = []
    for stream in streams:
        if (entry := plan["streams"].get(stream.id)) is None:
            found.append(f"{stream.id} is not in the plan")
        else:
            found += [f"{stream.id}: {text}" for text in _wrong(given, stream, entry)]
    return found


def filters(
    given: Given, plan: Draft, stream: Stream, early_ps: Fraction | None, turn_ps: int
) -> list[str]:
    """Its filter is where it enters, and passes it: n frames come in no less than n - 1 periods
    but `early_ps`. `turn_ps`: in which its talker sends a frame of each of its streams; planners
    may take that much more. None: nothing is known, and there is no flow meter.
    """
    first = given.shortest(stream.talker, stream.listeners[0])[1]
    own = {
        name: [e for e in document.get("stream_filters", []) if e["stream"] == stream.id]
        for name, document in plan["bridges"].items()
    }
    wanted = first in given.bridges and given.bridges[first].police != "none"
    if [name for name, entries in own.items() for _ in entries] != [first] * wanted:
        return ["its stream filter is not at the bridge where it enters"]
    if not wanted:
        return []
    (entry,) = own[first]
    if entry["max_sdu_bytes"] != stream.frame_bytes - 22 or "entries" in entry:
        return ["its stream filter is not for its frames"]
    if early_ps is None:
        return ["its flow meter is of no known burst"] if "cir_bps" in entry else []
    talker = given.scenario.station_named(stream.talker)
    frames_per_ns = (1 + talker.clock_ppm / 1e6) / stream.period_ns
    rate_bps = stream.frame_bytes * 8e9 * frames_per_ns
    burst_bytes = stream.frame_bytes * (1 + float(early_ps) / 1e3 * frames_per_ns)
    most_bytes = burst_bytes + stream.frame_bytes * turn_ps / 1e3 * frames_per_ns
    cir_bps, cbs_bytes = entry.get("cir_bps", 0), entry.get("cbs_bytes", 0)
    # A period of whole ns is rounded by half of one.
    off = 1 / stream.period_ns
    # A crystal is 100 ppm off at most (IEEE Std 802.3), and stated as it may.
    if not rate_bps * (1.0001 - off) <= cir_bps <= rate_bps * (1.0001 + off) + 1:
        return [f"its flow meter has {cir_bps} bit/s, it sends {rate_bps:.0f}"]
    if not burst_bytes * (1 - off) <= cbs_bytes <= most_bytes * (1 + off) + 1:
        return [f"its flow meter has a burst of {cbs_bytes}, it needs {burst_bytes:.0f}"]
    return []


def _wrong(given: Given, stream: Stream, entry: PlannedStream) -> list[str]:
    ways = {end: given.shortest(stream.talker, end) for end in stream.listeners}
    found = []
    if entry["routes"] != {end: way[1:-1] for end, way in ways.items()}:
        found.append("its routes are not the shortest")
    bounds = {name: value for name, value in entry["bounds"].items() if value is not None}
    if entry["windows"] or bounds.keys() - {"delay_ns"}:
        found.append("something is promised of a talker that keeps no time")
    if entry["frame_bytes_on_wire"] != stream.frame_bytes:
        found.append("it is sent with another length than its own")
    if bounds:
        return found  # checker/shaped.py
    alone_ps = max(_alone_ps(given, stream, way) for way in ways.values())
    if {entry["delay_planned_ps"], sum_ps(entry["terms"])} != {alone_ps}:
        found.append(f"its delay is not the {alone_ps} ps of a frame that waits for nothing")
    return found


def _alone_ps(given: Given, stream: Stream, way: list[str]) -> int:
    """The delay of a frame that is alone: it goes from node to node."""
    at_ps = 0
    for place in itertools.pairwise(way):
        byte_ps, delay_ps = given.links[place]
        at_ps += delay_ps + (8 * byte_ps if place[0] in given.bridges else 0)
        if place[1] in given.bridges:
            at_ps += stream.frame_bytes * byte_ps + 1000 * given.bridges[place[1]].processing_ns
    return at_ps
