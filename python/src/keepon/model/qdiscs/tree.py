# SPDX-License-Identifier: BSD-3-Clause
"""Queueing disciplines of one device, as tc names and numbers them.

Source: tc(8), tc-mqprio(8), tc-taprio(8), tc-etf(8), tc-cbs(8), tc-pfifo(8), tc-fq_codel(8);
defaults are those of iproute2 and the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

PRIORITIES = 16
CLASSES_MAX = 16

TXTIME_ASSIST, FULL_OFFLOAD = 1, 2
"""Bits of taprio's `flags`."""


@dataclass(frozen=True)
class Classes:
    """How mqprio and taprio sort frames.

    Attributes:
        count: of traffic classes, 1 to 16.
        map: traffic class by SO_PRIORITY, 16 of them.
        queues: (count, first) of the transmit queues of each class.
    """

    count: int
    map: tuple[int, ...]
    queues: tuple[tuple[int, int], ...]

    def queue_of(self, priority: int) -> int:
        """First transmit queue of frames with this SO_PRIORITY. What is above 15 has the class of
        its lowest four bits.
        """
        return self.queues[self.map[priority % PRIORITIES]][1]

    @property
    def tx_queues(self) -> int:
        return max(first + count for count, first in self.queues)

    @property
    def overlap(self) -> bool:
        """Two classes share a queue."""
        taken: set[int] = set()
        for count, first in self.queues:
            own = set(range(first, first + count))
            if taken & own:
                return True
            taken |= own
        return False


@dataclass(frozen=True)
class Mqprio:
    """`hw`: 0, the queues are as written; 1 and above, the device says."""

    classes: Classes
    hw: int = 1


@dataclass(frozen=True)
class Taprio:
    """Gates by time. Entries are (bit per traffic class whose gate is open, ns).

    `clockid` is None with full offload, where the device's clock counts. `base_ns` in the past
    stands for the next cycle's start.
    """

    classes: Classes
    entries: tuple[tuple[int, int], ...]
    base_ns: int = 0
    cycle_ns: int = 0
    extension_ns: int = 0
    clockid: str | None = None
    flags: int = 0
    txtime_delay_ns: int = 0

    @property
    def txtime_assist(self) -> bool:
        return bool(self.flags & TXTIME_ASSIST)

    @property
    def full_offload(self) -> bool:
        return bool(self.flags & FULL_OFFLOAD)


@dataclass(frozen=True)
class Etf:
    """Earliest txtime first. A frame is handed on when less than `delta_ns` is left.

    Attributes:
        delta_place: where in its text that is written.
    """

    clockid: str
    delta_ns: int = 0
    offload: bool = False
    deadline_mode: bool = False
    skip_sock_check: bool = False
    delta_place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Cbs:
    """Credit-based shaper; slopes in kbit/s, credits in bytes."""

    idleslope_kbps: int = 0
    sendslope_kbps: int = 0
    hicredit_bytes: int = 0
    locredit_bytes: int = 0
    offload: bool = False


@dataclass(frozen=True)
class Guard:
    """Software best effort of the SO_TXTIME proposal, with the defaults of sch_guard.ko
    (docs/qdiscs.md). 0 leaves mtu and rate to device and link. `late`: what becomes of a frame
    whose txtime has passed, when it comes or by more than the tolerance when it is its turn.
    """

    mtu_bytes: int = 0
    fudge_ns: int = 0
    rate_bps: int = 0
    limit_frames: int = 1000
    tolerance_ns: int = 1_000_000
    late: Literal["drop", "send"] = "drop"


@dataclass(frozen=True)
class Fifo:
    """pfifo, bfifo or pfifo_fast; `limit` in frames, in bytes with bfifo; None: the queue length of
    the device.
    """

    kind: Literal["pfifo", "bfifo", "pfifo_fast"]
    limit: int | None = None


@dataclass(frozen=True)
class FqCodel:
    """Times in us, as the kernel has them."""

    limit_frames: int = 10240
    flows: int = 1024
    target_us: int = 5_000
    interval_us: int = 100_000
    quantum_bytes: int | None = None
    ecn: bool = True


Qdisc = Mqprio | Taprio | Etf | Cbs | Guard | Fifo | FqCodel


@dataclass
class Tree:
    """Qdiscs of a device. `root` None: none was given. `leaves`: by transmit queue, counted from 0
    (class HANDLE:QUEUE+1); `leaf_handles`: their handles, 0 for one that Linux chose.
    """

    device: str
    root: Qdisc | None = None
    handle: int = 0
    leaves: dict[int, Qdisc] = field(default_factory=dict)
    leaf_handles: dict[int, int] = field(default_factory=dict, compare=False)

    @property
    def classes(self) -> Classes | None:
        """How frames get to leaves; None: there is one queue."""
        return self.root.classes if isinstance(self.root, Mqprio | Taprio) else None
