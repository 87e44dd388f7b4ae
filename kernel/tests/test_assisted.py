# SPDX-License-Identifier: GPL-2.0-only
"""taprio with txtime-assist over an offloaded etf, and in software, above a keepon link: frames
whose sockets know of no time leave in the windows of their classes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gate_judge import Frame, read_wire
from keepon.targets.vm import observations
from keepon.targets.vm import programs as target
from keepon_guests import GuestResult, offered_families
from test_taprio import boot, programs  # noqa: F401  a fixture

pytestmark = pytest.mark.vm

BYTE_NS = 80
SLOT_NS = 100_000
CYCLE_NS = 4_000_000
SECOND_NS = 1_000_000_000
HURRY_NS_MAX = 1_000_000  # of the core
CLOCKS_NS = 5_000  # between the PHC, read by programs, and CLOCK_TAI
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


def talk(result: GuestResult, name: str) -> list[dict[str, int]]:
    """The frames of one sender; all have left and were seen to."""
    found = observations.load_json(result.files, f"{name}.json")
    assert found["counters"]["stamped"] == found["counters"]["submitted"] == 60
    frames: list[dict[str, int]] = found["frames"]
    return frames


def check_grid(frames: list[dict[str, int]], base_ns: int) -> None:
    """All begin in the window that opens at the base time, or a slot later."""
    into = [(frame["tx_stamp_ns"] - base_ns + CLOCKS_NS) % CYCLE_NS for frame in frames]
    assert max(into) < WINDOWS[0][1] + SLOT_NS + 2 * CLOCKS_NS


def first_cycle_ns(result: GuestResult, name: str) -> int:
    """The first whole second after the command: base-time 0, and a cycle of a second."""
    return (int(result.files[f"{name}.set"]) // SECOND_NS + 1) * SECOND_NS


def check_begins(frames: list[dict[str, int]], begin_ns: int) -> None:
    """Frames were there long before, and left from then on."""
    early = [frame for frame in frames if frame["submitted_ns"] < begin_ns - 10 * CYCLE_NS]
    assert 10 < len(early) < len(frames)
    assert min(frame["tx_stamp_ns"] for frame in frames) >= begin_ns - CLOCKS_NS


def check_waits(frames: list[dict[str, int]], begin_ns: int, delay_ns: int, delta_ns: int) -> None:
    """From the socket to the wire takes txtime-delay, of which delta is spent below etf."""
    free = [frame for frame in frames if frame["submitted_ns"] > begin_ns]
    assert len(free) > 10
    took = [frame["tx_stamp_ns"] - frame["submitted_ns"] for frame in free]
    below = [frame["tx_stamp_ns"] - frame["sw_stamp_ns"] for frame in free]
    assert delay_ns - CLOCKS_NS <= min(took)
    assert max(took) <= delay_ns + SLOT_NS + HURRY_NS_MAX
    assert delta_ns - HURRY_NS_MAX // 4 <= min(below)
    assert max(below) <= delta_ns + SLOT_NS + CLOCKS_NS


@pytest.mark.parametrize("family", offered_families())
def test_options_of_the_published_qdiscs(
    family: str,
    programs: dict[str, Path],  # noqa: F811
) -> None:
    """base-time moves the windows, and 0 begins with the next cycle; txtime-delay is what a frame
    takes at least from the socket to its time; delta is how long before that etf lets it go.
    """
    files: dict[str, Path | bytes] = {**programs, **target.guest_files()}
    result = boot("keepon_assisted_options.sh", family, files, {}, target.tools())
    check_grid(talk(result, "base"), 0)
    check_grid(talk(result, "shifted"), 1_700_000)
    check_begins(talk(result, "open"), first_cycle_ns(result, "open"))
    for name, delta_ns in (("delay", 900_000), ("delta", 1_800_000)):
        check_waits(talk(result, name), first_cycle_ns(result, name), 2_500_000, delta_ns)
