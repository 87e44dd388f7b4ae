# SPDX-License-Identifier: GPL-2.0-only
"""A stream of keepon-talk in the record of the wire of sim0, as keepon_common.sh makes it."""

from __future__ import annotations

import numpy as np
from keepon.targets.vm import observations
from keepon_guests import GuestResult

OSCILLATOR_PPB = 20_000


def stream_deviations_ps(result: GuestResult, talk: str) -> np.ndarray:
    """By how much each frame of the stream was off its txtime on the wire, less the first one's."""
    frames = observations.load_json(result.files, talk)["frames"]
    wire_ps = observations.read_wire(result.files["wire"].decode()).raw_ps
    number = observations.stream_hash("keepon")
    raw_ps = [wire_ps[number, frame["seq"]] - wire_ps[number, frames[0]["seq"]] for frame in frames]
    local_ps = np.array([ps + ps * OSCILLATOR_PPB // 10**9 for ps in raw_ps], dtype=np.int64)
    txtime_ns = [frame["txtime_ns"] - frames[0]["txtime_ns"] for frame in frames]
    return local_ps - np.array(txtime_ns, dtype=np.int64) * 1000
