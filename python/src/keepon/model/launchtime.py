# SPDX-License-Identifier: BSD-3-Clause
"""How early frames of a station with a launch-time NIC must be handed over, and what is assumed if
nobody says.

Its queue is a FIFO, so frames must come to it in the order of their txtimes. An ETF qdisc in front
sorts them, but only those that reach it before the first of them is due to leave it, ETF's delta
before its txtime.
"""

from __future__ import annotations

from collections.abc import Sequence

from keepon.errors import ConfigError
from keepon.model.hosts import ETF_DELTA_NS, etf_delta_key, etf_delta_ns, host_of
from keepon.model.qdiscs.stations import assisted, held_back_ns, launches, tree_of
from keepon.model.scenario import HostTable, Load, Scenario, Station, Stream

FETCHED_NS = 1_200
"""From a frame that the NIC has fetched to its txtime: the preamble, and what is rounded."""
ROUNDED_NS = 50_000
RING_FRAMES = 256
"""Frames that the simulated NIC holds until their txtimes."""


def _stages_ns(scenario: Scenario, station: Station, *names: str) -> int:
    stages, _ = host_of(station.host, "launchtime", scenario.host_tail_scale)
    return sum(stages[name].usual_ns for name in names)


def least_delta_ns(scenario: Scenario, station: Station) -> int:
    """Shortest delta after which a frame is usually in the NIC at its txtime."""
    return _stages_ns(scenario, station, "timer", "driver") + in_nic_ns(station)


def in_nic_ns(station: Station) -> int:
    """From the end of the driver's work on a frame to its txtime at least."""
    return station.nic.fetch_ns + FETCHED_NS


def least_advance_ns(scenario: Scenario, station: Station, streams: int) -> int:
    """Shortest advance with which frames are usually in the NIC in time, and those of several
    streams come to ETF before it lets the first of them go, or it drops the others.
    """
    host_ns = _stages_ns(scenario, station, "wakeup", "stack")
    if streams > 1:
        return host_ns + etf_delta_ns(station)
    return host_ns + least_delta_ns(scenario, station)


def apart_ns(scenario: Scenario, station: Station, driver: str, streams: Sequence[Stream]) -> int:
    """Least distance of two txtimes behind ETF with which no frame waits for the host's work on
    another; 0 where the delta is enough for one frame of each stream at once.

    Args:
        streams: those of one port.
    """
    if len(streams) < 2 or not _may_have_etf(station):
        return 0
    stages, _ = host_of(station.host, driver, scenario.host_tail_scale)
    cores = station.host.cores if isinstance(station.host, HostTable) else 0
    work_ns = stages["driver"].usual_ns
    if cores:
        work_ns = max(work_ns, -(-(work_ns + stages["stack"].usual_ns) // cores))
    spare_ns = etf_delta_ns(station) - stages["timer"].usual_ns - in_nic_ns(station)
    spare_ns = min(spare_ns, *(stream.period_ns for stream in streams))
    return work_ns if len(streams) * work_ns > spare_ns else 0


def with_advances(scenario: Scenario) -> Scenario:
    """The scenario with the advance of every stream that states none and whose talker has launch
    times, or may have an ETF.
    """
    stations = {
        station.name: station
        for station in scenario.station
        if station.driver == "launchtime" or _may_have_etf(station)
    }
    if not any(_is_open(stream, stations) for stream in scenario.stream):
        return scenario
    streams = []
    for stream in scenario.stream:
        if _is_open(stream, stations):
            least_ns = least_advance_ns(scenario, stations[stream.talker], 2)
            advance_ns = min(-(-least_ns // ROUNDED_NS) * ROUNDED_NS, 10**9)
            streams.append(stream.model_copy(update={"advance_ns": advance_ns}))
        else:
            streams.append(stream)
    return scenario.model_copy(update={"stream": streams})


def _may_have_etf(station: Station) -> bool:
    """In one of the runs of a station under test, too."""
    if (tree := tree_of(station)) is not None:
        return held_back_ns(tree) is not None
    return station.release == "etf" or (station.driver != "keepon" and station.release != "sleep")


def _is_open(stream: Stream, stations: dict[str, Station]) -> bool:
    return "advance_ns" not in stream.model_fields_set and stream.talker in stations


def check_advances(scenario: Scenario, station: Station, streams: list[tuple[int, Stream]]) -> None:
    """Refuse frames that would always come too late, or in an order that is left to chance.

    Args:
        scenario, station: whose.
        streams: those of one port, with their place in the file; each port has a NIC of its own.

    Raises:
        ConfigError: one sentence on ETF's delta or the first stream.
    """
    if station.release == "sleep":
        return
    own = [(index, stream) for index, stream in streams if launches(station, stream.tc)]
    if not own:
        return
    delta_ns, needed_ns = etf_delta_ns(station), least_delta_ns(scenario, station)
    if delta_ns < needed_ns:
        index = next(
            index for index, entry in enumerate(scenario.station) if entry.name == station.name
        )
        raise ConfigError(
            f"{etf_delta_key(index, station)}: must be between {needed_ns} and 1000000000, as timer"
            " and driver take that long to bring a frame to the NIC; raise it"
            + (' or set "auto"' if station.qdisc is None and needed_ns <= ETF_DELTA_NS else "")
        )
    least_ns = least_advance_ns(scenario, station, len(own))
    for index, stream in own:
        if stream.advance_ns < least_ns:
            why = "the host takes that long to bring a frame to the NIC"
            if len(own) > 1:
                why = (
                    f"the host and the delta of ETF ({delta_ns} ns), which sorts the station's"
                    " streams, take that long"
                )
            raise ConfigError(
                f'key `stream[{index}].advance_ns` (stream "{stream.id}") = {stream.advance_ns}:'
                f" must be between {least_ns} and 1000000000, as {why}; raise it or leave it out"
            )
    _check_ring(scenario, station, own)


def _check_ring(scenario: Scenario, station: Station, own: list[tuple[int, Stream]]) -> None:
    """Refuse more frames at once than the NIC's ring holds: each is in it from when ETF lets it go
    to its txtime.

    Raises:
        ConfigError: one sentence on ETF's delta, or on the advance of the stream with most of them.
    """
    limit_ns = etf_delta_ns(station)
    waiting = {
        index: min(limit_ns, stream.advance_ns) // stream.period_ns + 1 for index, stream in own
    }
    if (together := sum(waiting.values())) <= RING_FRAMES:
        return
    most = max(waiting, key=lambda index: waiting[index])
    stream = scenario.stream[most]
    key = f'key `stream[{most}].advance_ns` (stream "{stream.id}") = {stream.advance_ns}'
    if limit_ns < stream.advance_ns:
        index = [entry.name for entry in scenario.station].index(station.name)
        key = etf_delta_key(index, station)
    raise ConfigError(
        f"{key}: must be less, as {together} frames would be in the NIC at once, {waiting[most]} of"
        f' them of stream "{stream.id}", and its ring holds {RING_FRAMES}; lower it or lengthen'
        " periods"
    )


def early_by_etf(scenario: Scenario, station: Station) -> bool:
    """Whether etf alone times some stream of a launch-time NIC: its frames leave up to delta before
    their times.
    """
    return not all(
        launches(station, stream.tc) for stream in scenario.stream if stream.talker == station.name
    )


def overruns(station: Station, loads: Sequence[Load]) -> bool:
    """Whether best effort may be sent into the windows of streams: txtime-assist gives it launch
    times one frame after the other, without room for preambles and gaps (length_to_duration() of
    sch_taprio.c), and the NIC sends all of them.

    Args:
        station: with a launch-time NIC.
        loads: by the same port.
    """
    tree = tree_of(station)
    return tree is not None and assisted(tree) and bool(loads)
