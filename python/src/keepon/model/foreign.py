# SPDX-License-Identifier: BSD-3-Clause
"""Stations of driver foreign: bought devices that send by a clock that nothing sets. Their streams
have no place in a schedule, so plans leave them room as they do best effort of a known rate.
"""

from __future__ import annotations

import math

from keepon.errors import ConfigError
from keepon.model.scenario import Load, Scenario, Stream
from keepon.model.wire import OVERHEAD_BYTES

DRIVER = "foreign"


def streams(scenario: Scenario) -> list[tuple[int, Stream]]:
    """Streams of foreign talkers, each with its place in the file."""
    names = {station.name for station in scenario.station if station.driver == DRIVER}
    return [(n, stream) for n, stream in enumerate(scenario.stream) if stream.talker in names]


def sent_period_ns(scenario: Scenario, stream: Stream) -> int:
    """Network time between two frames of a stream, to a whole ns; other talkers keep its period."""
    talker = scenario.station_named(stream.talker)
    ppm = talker.clock_ppm if talker.driver == DRIVER else 0.0
    return round(stream.period_ns / (1 + ppm * 1e-6))


def as_loads(scenario: Scenario) -> tuple[Scenario, list[int]]:
    """The scenario with a load in place of each foreign stream, for each listener, behind its own
    loads; and for each of these the place of its stream in the file.
    """
    places, loads = [], []
    for place, stream in streams(scenario):
        rate_bps = stream.frame_bytes * 8e9 / sent_period_ns(scenario, stream)
        for listener in stream.listeners:
            places.append(place)
            loads.append(
                Load(
                    id=stream.id, talker=stream.talker, listener=listener,
                    rate_bps=max(1000, math.ceil(rate_bps)), frame_bytes=stream.frame_bytes,
                    tc=stream.tc, priority=stream.priority,
                )
            )  # fmt: skip
    kept = [stream for n, stream in enumerate(scenario.stream) if n not in set(places)]
    update = {"stream": kept, "load": [*scenario.load, *loads]}
    return scenario.model_copy(update=update), places


def check(scenario: Scenario, source: str) -> None:
    """Refuse keys that need a clock which is set.

    Raises:
        ConfigError: one sentence on the first.
    """
    where = f"{source}: key `"
    for index, station in enumerate(scenario.station):
        own = f'(station "{station.name}") ='
        if station.driver != DRIVER:
            if station.jitter_ns:
                raise ConfigError(
                    f"{where}station[{index}].jitter_ns` {own} {station.jitter_ns}: must be 0 with"
                    f' driver "{station.driver}", whose host has the latencies; state those of its'
                    ' host, or driver "foreign"'
                )
            continue
        links = sum(station.name in link.ends for link in scenario.link)
        if links > 1:
            raise ConfigError(
                f'{where}station[{index}].driver` {own} "{DRIVER}": must have one link, and has'
                f" {links}; make a station of each port"
            )
        if scenario.sync.by_ptp and scenario.sync.grandmaster == station.name:
            raise ConfigError(
                f'{where}sync.grandmaster` = "{station.name}": must be a node whose clock is known,'
                f' and driver "{DRIVER}" has none; name another'
            )
        for key, default in (("release", "txtime"), ("qdisc", None)):
            if (value := getattr(station, key)) != default:
                raise ConfigError(
                    f'{where}station[{index}].{key}` {own} "{value}": is not for driver'
                    f' "{DRIVER}", whose frames come when they do; leave it out'
                )
    _check_capacity(scenario, where)
    for index, stream in streams(scenario):
        whole = stream.rate_hz if stream.turns == 1 else None
        for key, free in (
            ("offset_ns", "auto"), ("route", "auto"), ("jitter_ns", None), ("rate_hz", whole),
        ):  # fmt: skip
            if (value := getattr(stream, key)) != free:
                raise ConfigError(
                    f'{where}stream[{index}].{key}` (stream "{stream.id}") = {value}: is not for a'
                    f' talker of driver "{DRIVER}", whose frames come when they do; leave it out'
                )


def _check_capacity(scenario: Scenario, where: str) -> None:
    """Frames of a device go over its own link."""
    theirs = streams(scenario)
    for talker in dict.fromkeys(stream.talker for _, stream in theirs):
        own = [entry for entry in theirs if entry[1].talker == talker]
        link = next((link for link in scenario.link if talker in link.ends), None)
        if link is None:
            continue
        rate_bps = link.rate_bps or scenario.defaults.rate_bps
        asked_bps = sum(
            (stream.frame_bytes + OVERHEAD_BYTES) * 8e9 / sent_period_ns(scenario, stream)
            for _, stream in own
        )
        if asked_bps > rate_bps:
            index, stream = own[0]
            raise ConfigError(
                f'{where}stream[{index}].period_ns` (stream "{stream.id}") = {stream.period_ns}:'
                f" must leave the link of its talker room for what it sends, {asked_bps:.0f} bit/s"
                f" with preambles and gaps on {rate_bps}; lengthen periods, shorten frames, or"
                " raise the link's rate_bps"
            )
