# SPDX-License-Identifier: BSD-3-Clause
"""Streams of foreign talkers in a plan: the shortest way, no window and no bound."""

from __future__ import annotations

import itertools
import re

from keepon.errors import ConfigError
from keepon.model import foreign
from keepon.model.plan import Draft, PlannedFilter, PlannedStream
from keepon.model.policing import TAGGED_OVERHEAD_BYTES
from keepon.model.scenario import Scenario, Stream
from keepon.model.tables import SECOND_NS
from keepon.model.topology import Topology
from keepon.model.wire import PREAMBLE_BYTES, PS_PER_NS, byte_time_ps, ceil_ns
from keepon.planner.network import shaped

METER_PPM = 100
"""By how much a flow meter's rate is above the stated one: a device's crystal is not known better,
and with less each frame would find fewer octets. The limit of IEEE Std 802.3.
"""
_LOAD = re.compile(r"`load\[(\d+)\]\.(\w+)` \(load ")


def add(scenario: Scenario, document: Draft) -> Draft:
    """The plan of what is left, with the streams of foreign talkers."""
    others = dict(foreign.streams(scenario))
    if document["status"] != "feasible":
        return document
    topology, planned = Topology(scenario), document["streams"]
    for stream in others.values():
        planned[stream.id] = _stream_document(scenario, topology, stream)
        talked = document["stations"][topology.port_of(stream).name]["streams"]
        talked[stream.id] = {"tc": stream.tc, "offset_ns": 0}
    waits = shaped.Shaped(scenario, topology, document)
    for stream in others.values():
        _police(scenario, document, stream, waits)
    listed = {entry.id: planned[entry.id] for entry in scenario.stream}
    return shaped.add(scenario, topology, {**document, "streams": listed})


def _police(scenario: Scenario, document: Draft, stream: Stream, waits: shaped.Shaped) -> None:
    """A stream filter at the talker's bridge, if that bridge polices: a flow meter that frames of
    the stream's period and jitter, and what they wait for others of their talker, never exceed.
    There is none where the talker sends best effort before them.
    """
    first = document["streams"][stream.id]["route"][:1]
    for bridge in scenario.bridge:
        if bridge.name not in first or bridge.police == "none":
            continue
        entry: PlannedFilter = {
            "stream": stream.id, "max_sdu_bytes": stream.frame_bytes - TAGGED_OVERHEAD_BYTES
        }  # fmt: skip
        document["bridges"][bridge.name].setdefault("stream_filters", []).append(entry)
        period_ns = foreign.sent_period_ns(scenario, stream)
        try:
            early_ns = ceil_ns(waits.early_ps(stream.id))
        except shaped.UnknownError:
            continue
        a_million_periods = stream.frame_bytes * 8 * SECOND_NS * (10**6 + METER_PPM)
        entry["cir_bps"] = -(-a_million_periods // (period_ns * 10**6))
        # Both ends of the time between two frames are rounded: they may be 2 ns nearer.
        entry["cbs_bytes"] = -(-stream.frame_bytes * (period_ns + early_ns + 2) // period_ns)


def _stream_document(scenario: Scenario, topology: Topology, stream: Stream) -> PlannedStream:
    """The delay is that of frames that wait for nothing."""
    bridges = {bridge.name: bridge.processing_ns * PS_PER_NS for bridge in scenario.bridge}
    found: list[tuple[int, PlannedStream]] = []
    paths = topology.paths(stream)
    for path in paths.values():
        wires = [topology.wires[here, there] for here, there in itertools.pairwise(path)]
        frame_ps = sum(stream.frame_bytes * byte_time_ps(wire.rate_bps) for wire in wires[:-1])
        preamble_ps = sum(PREAMBLE_BYTES * byte_time_ps(wire.rate_bps) for wire in wires[1:])
        processing_ps = sum(bridges[bridge] for bridge in path[1:-1])
        propagation_ps = sum(wire.propagation_ns for wire in wires) * PS_PER_NS
        delay_ps = frame_ps + preamble_ps + processing_ps + propagation_ps
        document: PlannedStream = {
            "route": path[1:-1],
            "routes": {name: nodes[1:-1] for name, nodes in paths.items()},
            "release_ns": 0, "release_early_ps": 0, "release_late_ps": 0,
            "frame_bytes_on_wire": stream.frame_bytes, "padding_ps": 0,
            "delay_planned_ps": delay_ps,
            "bounds": {
                "release_error_ns": None, "delay_min_ns": None, "delay_ns": None,
                "jitter_ns": None, "data_age_ns": None,
            },
            "terms": {
                "frame_ps": frame_ps, "processing_ps": processing_ps,
                "propagation_ps": propagation_ps, "preamble_ps": preamble_ps,
                "quantum_ps": 0, "clock_ps": 0, "held_ps": 0, "blocked_ps": 0,
            },
            "windows": [],
        }  # fmt: skip
        found.append((delay_ps, document))
    return max(found, key=lambda entry: entry[0])[1]


def named(error: ConfigError, scenario: Scenario, places: list[int]) -> ConfigError:
    """The error, naming the stream in place of the load that stood for it."""

    def stream(found: re.Match[str]) -> str:
        place = int(found[1]) - len(scenario.load)
        return found[0] if place < 0 else f"`stream[{places[place]}].{found[2]}` (stream "

    text = _LOAD.sub(stream, str(error))
    return error if text == str(error) else ConfigError(text)
