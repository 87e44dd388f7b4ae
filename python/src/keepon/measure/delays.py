# SPDX-License-Identifier: BSD-3-Clause
"""Delays in the order of frames: the first of a stream, and those around the first bad frame."""

from __future__ import annotations

import numpy as np

from keepon.measure.results import SERIES_FRAMES, FrameArrays, first_delays
from keepon.model.result import Onset, StreamResult
from keepon.model.scenario import Scenario


def mark_onset(
    scenario: Scenario,
    streams: dict[str, StreamResult],
    arrays: dict[str, FrameArrays],
) -> Onset | None:
    """The first frame of any stream beyond its bound; every stream gets its delays around that
    moment.

    Returns:
        stream, seq and txtime_ns of that frame, None if there is none.
    """
    firsts = [(streams[stream.id]["first_bad"], stream.id) for stream in scenario.stream]
    bad = [(frame, name) for frame, name in firsts if frame is not None]
    if not bad:
        return None
    first, name = min(bad, key=lambda entry: entry[0]["txtime_ns"])
    for stream in scenario.stream:
        frames = arrays[stream.id]
        index = int(np.searchsorted(frames.txtime_ns, first["txtime_ns"]))
        start = max(0, index - SERIES_FRAMES // 5)
        part = frames.slice(start, start + SERIES_FRAMES)
        streams[stream.id]["onset_delays_ns"] = first_delays(part, SERIES_FRAMES)
        streams[stream.id]["onset_first_seq"] = int(part.seq[0]) if len(part.seq) else None
    return {"stream": name, "seq": first["seq"], "txtime_ns": first["txtime_ns"]}
