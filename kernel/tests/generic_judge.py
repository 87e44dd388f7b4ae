# SPDX-License-Identifier: GPL-2.0-only
"""What keepon_generic.ko has measured of a device, as the kernel's log has it, and what may be
claimed of that.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from keepon_guests import GuestResult

SENTENCE = re.compile(
    r"(\d+) frames of (\d+) bytes took (\d+) us \((\d+) more or less\), a wire of \d+ Mb/s takes"
    r" (\d+) us; "
    r"back (\d+) ns late, (\d+) ns early, (\d+) ns alone; (\d+) ahead"
)
HELD_UP_NS = 1_000_000  # module parameter held_up_us


class Measured(NamedTuple):
    """One measurement; times of frames that came back as docs/nics.md says."""

    frames: int
    slot_bytes: int
    taken_us: int
    unsure_us: int
    line_us: int
    late_ns: int
    early_ns: int
    alone_ns: int
    ahead: int

    @classmethod
    def of_line(cls, line: str) -> Measured:
        """A line of the kernel's log."""
        match = SENTENCE.search(line)
        assert match, line
        return cls(*(int(number) for number in match.groups()))


def read_measured(result: GuestResult, device: str) -> Measured:
    """The last measurement of a device in dmesg.txt."""
    lines = [
        line for line in result.files["dmesg.txt"].decode().splitlines() if f"{device}: " in line
    ]
    return Measured.of_line([line for line in lines if " ahead" in line][-1])


def check_claims(count: dict[str, int], measured: Measured, slot_ns: int) -> None:
    """Lead and error of the clock are those of the measurement: no less, and not much more."""
    lag_ns = 2 * measured.late_ns + HELD_UP_NS
    early_ns = measured.early_ns + measured.alone_ns
    # all slots of a longest frame but its first have 84 bytes on the wire, trims included
    frame_slots = math.ceil((1538 + 20 - 84) / (measured.slot_bytes + 20 - 84))
    assert measured.ahead == lag_ns // slot_ns + 2 + frame_slots
    assert measured.ahead <= count["lead_slots"] <= measured.ahead + early_ns // slot_ns + 3
    assert count["clock_error_ps"] <= 1000 * (lag_ns + early_ns + 2 * slot_ns)
