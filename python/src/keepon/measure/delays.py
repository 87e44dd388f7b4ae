# SPDX-License-Identifier: BSD-3-Clause
"""Delays in the order of frames: the first of a stream, and those around the first bad frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepon.measure.results import FrameArrays
from keepon.model.scenario import Scenario

SERIES_FRAMES = 500


def first_delays(frames: FrameArrays, count: int) -> list[float | None]:
    """Delay in ns of the first `count` frames at the first listener, None where it did not arrive."""
    known = frames.delay_known[0, :count]
    delays = frames.arrival_ps[0, :count] - frames.txtime_ps[:count]
    return [int(delay) / 1000 if is_known else None for is_known, delay in zip(known, delays, strict=True)]


def mark_onset(scenario: Scenario, streams: dict[str, Any], arrays: dict[str, FrameArrays]) -> dict[str, Any] | None:
    """The first frame of any stream beyond its bound; every stream gets its delays around that moment.

    Returns:
        stream, seq and txtime_ns of that frame, None if there is none.
    """
    bad = [
        (streams[stream.id]["first_bad"], stream.id) for stream in scenario.stream if streams[stream.id]["first_bad"]
    ]
    if not bad:
        return None
    first, name = min(bad, key=lambda entry: int(entry[0]["txtime_ns"]))
    for stream in scenario.stream:
        frames = arrays[stream.id]
        index = int(np.searchsorted(frames.txtime_ns, first["txtime_ns"]))
        start = max(0, index - SERIES_FRAMES // 5)
        part = frames.slice(start, start + SERIES_FRAMES)
        streams[stream.id]["onset_delays_ns"] = first_delays(part, SERIES_FRAMES)
        streams[stream.id]["onset_first_seq"] = int(part.seq[0]) if len(part.seq) else None
    return {"stream": name, "seq": first["seq"], "txtime_ns": first["txtime_ns"]}
