# SPDX-License-Identifier: BSD-3-Clause
"""Whether a stream fits slots that its station fixes by hand: what reader and planner both refuse,
said once.
"""

from __future__ import annotations

import math
from typing import Any

from keepon.model.scenario import Scenario, Stream
from keepon.model.spans import spans_of
from keepon.model.topology import Topology
from keepon.model.wire import FRAME_BYTES_MAX, PS_PER_NS, wire_time_ps


def misfit(scenario: Scenario, index: int) -> tuple[str, Any, str] | None:
    """What is wrong with stream number `index` in slots of a stated length; None if nothing, or if
    that is "auto".

    Returns:
        key with its owner in brackets, value, and what it must be instead.
    """
    stream = scenario.stream[index]
    station = scenario.station_named(stream.talker)
    options = station.keepon
    if station.driver not in ("keepon", "under-test") or options.slot_bytes == "auto":
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
        enlarged = "slot_bytes" if stated == "auto" else "frame_bytes_max"
        return (
            f"stream[{index}].frame_bytes{owner}",
            stream.frame_bytes,
            (
                f"must be at most {largest}, {holds}; enlarge station.keepon.{enlarged} or set it"
                ' to "auto"'
            ),
        )
    rate_bps = _rate_bps(scenario, stream) if locked else None
    if rate_bps is None:
        return None
    slot_ps = wire_time_ps(slot_bytes, rate_bps)
    if stream.period_ns * PS_PER_NS % slot_ps == 0:
        return None
    step_ps = math.lcm(slot_ps, PS_PER_NS)
    below = stream.period_ns * PS_PER_NS // step_ps * step_ps // PS_PER_NS
    near = [str(period_ns) for period_ns in (below, below + step_ps // PS_PER_NS) if period_ns]
    return (
        f"stream[{index}].period_ns{owner}",
        stream.period_ns,
        (
            f"must be a multiple of the slot time {slot_ps / PS_PER_NS:.15g} ns of station"
            f' "{station.name}"; nearest {"are" if len(near) > 1 else "is"} {" and ".join(near)},'
            ' or set station.keepon.slot_bytes to "auto"'
        ),
    )


def _rate_bps(scenario: Scenario, stream: Stream) -> int | None:
    """Of the link that a stream leaves its talker by; None if there is none."""
    links = [link for link in scenario.link if stream.talker in link.ends]
    if len(links) > 1:
        return Topology(scenario).port_of(stream).wire.rate_bps
    return links[0].rate_bps or scenario.defaults.rate_bps if links else None
