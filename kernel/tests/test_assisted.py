# SPDX-License-Identifier: GPL-2.0-only
"""taprio with txtime-assist over an offloaded etf, and in software, above a keepon link: frames
whose sockets know of no time leave in the windows of their classes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gate_judge import Frame, read_wire
from keepon.vm import GuestResult, offered_families
from test_taprio import boot, programs  # noqa: F401  a fixture

pytestmark = pytest.mark.vm

BYTE_NS = 80
SLOT_NS = 100_000
CYCLE_NS = 4_000_000
HURRY_NS_MAX = 1_000_000  # of the core
WINDOWS = {0: (0, 1_000_000), 1: (1_400_000, 3_400_000)}


def frames_of(result: GuestResult, way: str) -> list[Frame]:
    """All that were sent, each once, at the times of their slots."""
    record, load = (result.files[f"{name}-{way}"].decode() for name in ("wire", "load"))
    frames = read_wire(record, load, BYTE_NS).on_grid(SLOT_NS)[0].frames
    sent = sum(int(count) for count in re.findall(r"^sent \d (\d+)$", load, re.MULTILINE))
    assert len(frames) == sent > 400
    return frames


def check_windows(frames: list[Frame], late_ns: int) -> None:
    """None begins before its window, or later than so much after its end."""
    half = SLOT_NS // 2
    astray = []
    for frame in frames:
        begin, end = WINDOWS[frame.priority]
        at_ns = (frame.start_ns + half) // SLOT_NS * SLOT_NS
        if (at_ns - begin) % CYCLE_NS >= end - begin + late_ns:
            astray.append((frame, at_ns % CYCLE_NS))
    assert astray == [], (len(astray), astray[:5])


@pytest.mark.parametrize("family", offered_families())
def test_times_that_taprio_gives_are_kept(
    family: str,
    programs: dict[str, Path],  # noqa: F811
) -> None:
    result = boot("keepon_assisted.sh", family, dict(programs), {})
    frames = frames_of(result, "assisted")
    assert int(result.files["on-time"]) == len(frames)
    # a txtime is rounded up to a slot
    check_windows(frames, SLOT_NS)
    # software opens gates; what it hands over then takes the first slot that can still be had, and
    # after the CPU was held up in a store one as much later
    lead_slots = int(result.files["lead-slots"])
    late_ns = (lead_slots + 2) * SLOT_NS + HURRY_NS_MAX
    check_windows(frames_of(result, "software"), late_ns)
