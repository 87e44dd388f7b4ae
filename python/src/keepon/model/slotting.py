# SPDX-License-Identifier: BSD-3-Clause
"""Whether a stream fits slots that its station fixes by hand: what reader and planner both refuse,
said once.
"""

from __future__ import annotations

import math
from typing import Any

from keepon.model.scenario import KeeponOptions, Scenario, Stream
from keepon.model.spans import spans_of
from keepon.model.topology import Topology
from keepon.model.wire import FRAME_BYTES_MAX, FRAME_BYTES_MIN, PS_PER_NS, wire_time_ps

SLOTTED = ("keepon", "under-test")


def lengths(options: KeeponOptions) -> range:
    """Lengths of slots with FCS that are a frame still when trims have made them shorter
    or longer.
    """
    locked = options.mode == "phase-locked"
    down_bytes, up_bytes = (options.trim_down_bytes, options.trim_up_bytes) if locked else (0, 0)
    return range(FRAME_BYTES_MIN + down_bytes, FRAME_BYTES_MAX - up_bytes + 1)


def wrong_length(scenario: Scenario, index: int) -> tuple[str, Any, str] | None:
    """What is wrong with the stated slots of station number `index`; None if nothing, or if they
    are "auto". As `misfit` gives it.
    """
    station = scenario.station[index]
    options, possible = station.keepon, lengths(station.keepon)
    if station.driver not in SLOTTED or options.slot_bytes in ("auto", *possible):
        return None
    return (
        f'station[{index}].keepon.slot_bytes (station "{station.name}")',
        options.slot_bytes,
        (
            f"must be between {possible[0]} and {possible[-1]}, as trims make slots up to"
            f" {options.trim_down_bytes} bytes shorter and {options.trim_up_bytes} longer, and a"
            f" frame has {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX}; choose another length, fewer"
            ' trim_down_bytes or trim_up_bytes, or mode "paper"'
        ),
    )


def misfit(scenario: Scenario, index: int) -> tuple[str, Any, str] | None:
    """What is wrong with stream number `index` in slots of a stated length; None if nothing, or if
    that is "auto".

    Returns:
        key with its owner in brackets, value, and what it must be instead.
    """
    stream = scenario.stream[index]
    station = scenario.station_named(stream.talker)
    options = station.keepon
    if station.driver not in SLOTTED or options.slot_bytes == "auto":
        return None
    slot_bytes = int(options.slot_bytes)
    owner = f' (stream "{stream.id}")'
    locked = options.mode == "phase-locked"
    stated = options.frame_bytes_max
    spans = spans_of(station, slot_bytes, FRAME_BYTES_MAX if stated == "auto" else int(stated))
    largest = max(spans.single_bytes, spans.frame_bytes_max)
    if stream.frame_bytes > largest:
        holds = f'what a slot of {slot_bytes} bytes of station "{station.name}" holds'
        if spans.frame_bytes_max:
            holds = f'station.keepon.frame_bytes_max of station "{station.name}"'
        enlarged = "slot_bytes" if stated == "auto" or not locked else "frame_bytes_max"
        return (
            f"stream[{index}].frame_bytes{owner}",
            stream.frame_bytes,
            (
                f"must be at most {largest}, {holds}; enlarge station.keepon.{enlarged} or set it"
                ' to "auto"'
            ),
        )
    rate_bps, beside = _leaving(scenario, stream)
    if not locked or rate_bps is None:
        return None
    slot_ps = wire_time_ps(slot_bytes, rate_bps)
    if stream.cycle_ns * PS_PER_NS % slot_ps == 0:
        return None
    remedy = ', or set station.keepon.slot_bytes to "auto"'
    if not _divide(beside, options, rate_bps, slot_bytes - spans.single_bytes):
        remedy = ""
    if stream.turns > 1:
        return (
            f"stream[{index}].rate_hz{owner}",
            stream.rate_hz,
            (
                f"repeats after {stream.cycle_ns} ns: must do so after a multiple of the slot time"
                f' {slot_ps / PS_PER_NS:.15g} ns of station "{station.name}"; choose another'
                f" slot_bytes{remedy}"
            ),
        )
    step_ps = math.lcm(slot_ps, PS_PER_NS)
    below = stream.period_ns * PS_PER_NS // step_ps * step_ps // PS_PER_NS
    near = [str(period_ns) for period_ns in (below, below + step_ps // PS_PER_NS) if period_ns]
    return (
        f"stream[{index}].period_ns{owner}",
        stream.period_ns,
        (
            f"must be a multiple of the slot time {slot_ps / PS_PER_NS:.15g} ns of station"
            f' "{station.name}"; nearest {"are" if len(near) > 1 else "is"} {" and ".join(near)}'
            f"{remedy}"
        ),
    )


def _divide(
    streams: list[Stream], options: KeeponOptions, rate_bps: int, trimmed_bytes: int
) -> bool:
    """Whether there are slots of which the periods of all these streams are multiples."""
    possible, stated = lengths(options), options.frame_bytes_max
    longest = max(stream.frame_bytes for stream in streams)
    if stated != "auto" and longest > stated:
        possible = range(max(possible[0], longest + trimmed_bytes), possible.stop)
    common_ps = math.gcd(*(stream.cycle_ns * PS_PER_NS for stream in streams))
    return any(common_ps % wire_time_ps(size, rate_bps) == 0 for size in possible)


def _leaving(scenario: Scenario, stream: Stream) -> tuple[int | None, list[Stream]]:
    """Rate of the link that a stream leaves its talker by, None if there is none, and all streams
    that leave by it.
    """
    links = [link for link in scenario.link if stream.talker in link.ends]
    if len(links) > 1:
        topology = Topology(scenario)
        port = topology.port_of(stream)
        return port.wire.rate_bps, [other for _, other in topology.streams[port.name]]
    own = [other for other in scenario.stream if other.talker == stream.talker]
    return (links[0].rate_bps or scenario.defaults.rate_bps if links else None), own
