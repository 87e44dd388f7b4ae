# SPDX-License-Identifier: BSD-3-Clause
"""What targets share: frames as they were seen become what a result says of their stream; the table
of all stamps of every frame (docs/host.md); the first frame beyond its bound.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np

from keepon.measure import results
from keepon.measure.due import Schedule, last_bits_ps, on_schedule
from keepon.measure.results import SERIES_FRAMES, FrameArrays, first_delays
from keepon.measure.series import delay_distribution, delay_series
from keepon.model.plan import Plan
from keepon.model.result import Onset, StreamResult
from keepon.model.scenario import Scenario, Stream
from keepon.model.tools import HeardFrame, Listen, Talk


def measured_stream(
    seen: FrameArrays,
    scenario: Scenario,
    stream: Stream,
    plan: Plan,
    driver: str,
    window_ns: tuple[int, int],
    verdict_names: list[str],
) -> tuple[FrameArrays, StreamResult]:
    """A row for every frame due, and what the result says of them.

    Args:
        seen: frames as talker and listeners reported them, by the talker's numbers.
        scenario, stream, plan: a scenario, a stream of it, and its verified plan.
        driver: of the talker in this run.
        window_ns: [start, end) of what is measured, since the epoch of the frames.
        verdict_names: name by index.

    Raises:
        SimulationError: the frames contradict themselves or their schedule.
    """
    entry = plan["streams"][stream.id]
    due = Schedule(stream.period_ns, (entry["release_ns"],), seen.epoch_ns)
    # A talker that is ready too late begins with a later frame and calls it its first.
    numbered = replace(seen, seq=due.numbers(seen.txtime_ns))
    measured = on_schedule(numbered, due, window_ns, stream.id)
    lost = int(np.count_nonzero(measured.sent & ~measured.delivered))
    document = results.stream_result(
        measured, verdict_names, {"the wire or a bridge": lost} if lost else {},
        results.bounds_of(entry, driver == "keepon"), stream.id, stream.period_ns,
        stream.deadline_ns, last_bits_ps(scenario, stream, entry, driver == "keepon"),
    )  # fmt: skip
    document["delay_series"] = delay_series(measured, window_ns[0])
    document["delay_distribution"] = delay_distribution(measured)
    return measured, document


COLUMNS = (
    "seq", "txtime_ns", "submitted_ns", "tx_software_ns", "tx_hardware_ns",
    "listener", "rx_hardware_ns", "rx_software_ns", "error",
)  # fmt: skip


def stamps_table(stream: Stream, talk: Talk, listens: dict[str, Listen]) -> bytes:
    """CSV of a stream.

    Args:
        stream: of the scenario.
        talk: of its talker.
        listens: of its listeners, by station.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    names = (stream.id, f"0x{talk['stream_hash']:08x}")
    heard = {
        name: {frame["seq"]: frame for frame in listen["frames"] if frame["stream"] in names}
        for name, listen in listens.items()
    }
    sends_hardware = talk["stamp_source"] == "hardware"
    for frame in talk["frames"]:
        sent = (frame["seq"], frame["txtime_ns"], frame["submitted_ns"], frame["sw_stamp_ns"])
        hardware = frame["tx_stamp_ns"] if sends_hardware else None
        for name, listen in listens.items():
            got = _received(heard[name].get(frame["seq"]), listen["stamp_source"] == "hardware")
            writer.writerow((*sent, hardware, name, *got, frame["error"]))
    return text.getvalue().encode()


def _received(frame: HeardFrame | None, hardware: bool) -> tuple[int | None, int | None]:
    if frame is None:
        return None, None
    return frame["rx_stamp_ns"] if hardware else None, frame["sw_stamp_ns"]


def stamps_file(driver: str, stream: str) -> str:
    """Its name in a result folder."""
    return f"packets-{driver}-{stream}.csv"


def mark_onset(
    scenario: Scenario, streams: dict[str, StreamResult], arrays: dict[str, FrameArrays]
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
