# SPDX-License-Identifier: BSD-3-Clause
"""The records of one run, as /sys/kernel/debug/keepon_hwcheck/run has them: a word and numbers a
line.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from keepon_host.errors import TraceError, one_line

WIRE_OVERHEAD_BYTES = 20
NUMBERS = ("error", "slot_bytes", "rate_bps", "ring_slots", "claims", "sent")
ROWS = {"restart": 2, "sample": 3, "trial": 4, "mixture": 3}


@dataclass
class Records:
    """What was noted of a ring; times in ns of the backend's CPU counter, slots counted from the
    reset on.

    Attributes:
        error: errno with which the run ended, 0 without.
        sent: slots the index has passed.
        caps: the driver's limits by their names in struct kpn_nic_caps.
        tick: least step of the counter, and how many readings in a row were equal.
        begun: doorbell of the stream, and its first slot.
        restarts: doorbell on an idle wire, and the first reading that found the index moved.
        samples: reading that found the index moved, time since the one before, index.
        trials: when the commit of a frame had returned, index before it, slot of the frame, index
            after it.
        mixtures: number of a frame in fragments, each of which begins with a number as much
            greater; how many; those of them whose descriptors were not placeholders, a bit each.
    """

    error: int = 0
    slot_bytes: int = 0
    rate_bps: int = 0
    ring_slots: int = 0
    claims: int = 0
    sent: int = 0
    caps: dict[str, int] = field(default_factory=dict)
    tick: tuple[int, int] = (0, 0)
    begun: tuple[int, int] = (0, 0)
    restarts: list[tuple[int, ...]] = field(default_factory=list)
    samples: list[tuple[int, ...]] = field(default_factory=list)
    trials: list[tuple[int, ...]] = field(default_factory=list)
    mixtures: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def slot_ns(self) -> float:
        """A slot on a wire of exactly the link's rate."""
        return (self.slot_bytes + WIRE_OVERHEAD_BYTES) * 8e9 / self.rate_bps


def parse(text: str) -> Records:
    """The records of a run.

    Raises:
        TraceError: a line is none of theirs.
    """
    records = Records()
    rows = {
        "restart": records.restarts, "sample": records.samples, "trial": records.trials,
        "mixture": records.mixtures,
    }  # fmt: skip
    for line in text.splitlines():
        word, *rest = line.split()
        try:
            if word == "cap":
                records.caps[rest[0]] = int(rest[1])
                continue
            numbers = tuple(int(number) for number in rest)
            if word in rows and len(numbers) == ROWS[word]:
                rows[word].append(numbers)
            elif word in ("tick", "begun"):
                setattr(records, word, (numbers[0], numbers[1]))
            elif word in NUMBERS:
                setattr(records, word, numbers[0])
            else:
                raise ValueError(word)
        except (ValueError, IndexError) as error:
            raise TraceError(
                f'record "{one_line(line)}" of keepon_hwcheck is unknown; use the module of this'
                " version"
            ) from error
    return records
