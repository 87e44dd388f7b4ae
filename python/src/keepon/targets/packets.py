# SPDX-License-Identifier: BSD-3-Clause
"""All stamps of every frame in one table: a line for each frame and listener (docs/host.md).

Stamps are as they were made, each in the clock that made it: no constant is added to move or
to join them. A field is empty where there is no such stamp.
"""

from __future__ import annotations

import csv
import io

from keepon.model.scenario import Stream
from keepon.model.tools import HeardFrame, Listen, Talk

COLUMNS = (
    "seq", "txtime_ns", "submitted_ns", "tx_software_ns", "tx_hardware_ns",
    "listener", "rx_hardware_ns", "rx_software_ns", "error",
)  # fmt: skip


def table(stream: Stream, talk: Talk, listens: dict[str, Listen]) -> bytes:
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


def file_name(driver: str, stream: str) -> str:
    """Its name in a result folder."""
    return f"packets-{driver}-{stream}.csv"
