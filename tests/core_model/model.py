# SPDX-License-Identifier: BSD-3-Clause
"""The exact model: clock law, grid and rounding in rational numbers, and what may become of a
submitted frame.

It follows the headers of the core and the design, not its code: every number is a Fraction or an
unbounded integer, every search goes from one end to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

PREAMBLE_BYTES = 8
OVERHEAD_BYTES = 20
LAP = 1 << 64
NEVER = LAP - 1
PAPER, PHASE_LOCKED = 1, 0
UP, FLOOR = 0, 1
STRICT, RELAXED, RESCHEDULE = 0, 1, 2
TRIM_ANY, TRIM_RESERVED = 0, 1
DEFERRED, ON_DEMAND = 0, 1
ADJ_SCALED_PPM_MAX = 10000 * 65536
FRAME_BYTES_LEAST = 18
FCS_BYTES = 4
NUMBER_AT = 6
TIME_NS_MAX = 1 << 62


def signed(value: int) -> int:
    """A difference of numbers modulo 2^64."""
    value %= LAP
    return value - LAP if value >> 63 else value


@dataclass(frozen=True)
class Law:
    """PHC time as a function of the wire position: `time_ns` at `position_ps`, then (1 +
    adjustment) ns per 1000 ps.
    """

    position_ps: int
    time_ns: Fraction
    adjustment: Fraction

    def at(self, position_ps: int | Fraction) -> Fraction:
        """PHC time in ns at a wire position."""
        return self.time_ns + (position_ps - self.position_ps) * (1 + self.adjustment) / 1000

    def position(self, time_ns: int | Fraction) -> Fraction:
        """Wire position in ps at a PHC time."""
        return self.position_ps + (time_ns - self.time_ns) * 1000 / (1 + self.adjustment)


def adjustment_of(scaled_ppm: int) -> Fraction:
    """Rate offset of 2^-16 ppm units."""
    return Fraction(scaled_ppm, 65536 * 10**6)


@dataclass(frozen=True)
class Shape:
    """What is constant: lengths in ps, policies, masks. `slot_ps` is the nominal slot on
    the wire.
    """

    mode: int
    byte_ps: int
    slot_bytes: int
    ring_slots: int
    allowed: tuple[int, ...]
    late: tuple[int, ...]
    rounding: tuple[int, ...]
    tolerance_ns: int
    prebuffer_frames: int
    real_bytes_max: int
    horizon_ns: int = 0

    def has_slots(self, tc: int) -> bool:
        """Whether class `tc` owns any slot at all."""
        return any(mask >> tc & 1 for mask in self.allowed)

    def beyond_horizon(self, slots: int) -> set[bool]:
        """Whether a slot so far ahead is refused; both where rounding to slots may tell."""
        if not self.horizon_ns:
            return {False}
        away_ps, horizon_ps = slots * self.slot_ps, self.horizon_ns * 1000
        return (
            {away_ps > horizon_ps}
            if abs(away_ps - horizon_ps) > 2 * self.slot_ps
            else {False, True}
        )

    @property
    def slot_ps(self) -> int:
        return (self.slot_bytes + OVERHEAD_BYTES) * self.byte_ps

    @property
    def sfd_ps(self) -> int:
        return PREAMBLE_BYTES * self.byte_ps

    def allows(self, seq: int, base: int, tc: int) -> bool:
        """Whether class `tc` owns slot `seq`."""
        return bool(self.allowed[signed(seq + base) % len(self.allowed)] >> tc & 1)

    def grid_ns(self, net_slot: int) -> Fraction:
        """PHC time at which a net_slot ought to start."""
        return Fraction(net_slot * self.slot_ps, 1000)

    def targets(
        self, txtime_ns: int, tc: int, base: int, law: Law, law_error_ns: Fraction
    ) -> set[int]:
        """Slots (sequence numbers, possibly negative) `txtime_ns` means: one, or two if it lies on
        a boundary of free-running slots as closely as the clock law is known."""
        if self.mode == PAPER:
            positions = (
                law.position(txtime_ns - law_error_ns),
                law.position(txtime_ns + law_error_ns),
            )
            return {floor(position / self.slot_ps) for position in positions}
        if self.rounding[tc] == FLOOR:
            net_slot = floor(Fraction(txtime_ns * 1000, self.slot_ps))
        else:
            start_ps = (txtime_ns - self.tolerance_ns) * 1000 - self.sfd_ps
            net_slot = max(0, ceil(Fraction(start_ps, self.slot_ps)))
        return {signed(net_slot - base)}


@dataclass
class Frame:
    """A frame the model has heard of.

    `seq` is its slot while it is in the ring, `base` what was in force when it got there, `targets`
    what its txtime meant then, `stale` whether the base has changed since; `held_in_time` whether
    it waits before the ring since it was submitted too early, with how many disturbances before;
    `recalled` whether it was taken out of a slot; `paid` whether it was placed by credit.
    """

    id: int
    tc: int
    txtime_ns: int | None
    frame_bytes: int = 0
    seq: int | None = None
    base: int = 0
    stale: bool = False
    held_in_time: bool = False
    disturbances: int = 0
    recalled: bool = False
    paid: bool = False
    targets: set[int] = field(default_factory=set)


def buffer_bytes(frame: Frame) -> int:
    """Bytes of a buffer up to the last that is not zero if there is nothing in it but this frame.
    The rig's frames have no zero bytes but in their number, eight bytes from the sixth on, which
    end the shortest frame."""
    data_bytes = frame.frame_bytes - FCS_BYTES
    return (
        data_bytes if data_bytes > NUMBER_AT + 8 else NUMBER_AT + (frame.id.bit_length() + 7) // 8
    )


@dataclass(frozen=True)
class Answer:
    """What submit may say: verdicts, or PENDING with the slot (None: held before the ring)."""

    verdicts: frozenset[str]
    seqs: frozenset[int | None] = frozenset()


@dataclass(frozen=True)
class View:
    """What the pacer knows when a frame is submitted; `margin_first` is the first slot, behind the
    margin for stores, for frames that may have any of several.
    """

    window_valid: bool
    window_first: int
    margin_first: int
    window_end: int
    lock_seq: int
    base: int
    head_seq: int = 0


def answer_scheduled(
    shape: Shape,
    frame: Frame,
    view: View,
    taken: Callable[[int], bool],
    heap_count: int,
    fifo_count: int,
    target: int,
) -> Answer:
    """What submit may answer to a scheduled frame whose slot is `target`. `taken` tells whether
    another scheduled frame has a slot; best effort makes room. Several reasons to refuse may hold;
    any of them may be given."""
    if not view.window_valid or target >= view.window_end:
        beyond = shape.beyond_horizon(target - view.head_seq)
        refused = frozenset({"TOO_EARLY" if view.window_valid else "UNSYNCHRONISED"})
        if beyond == {True}:
            return Answer(refused)
        if len(beyond) == 2:
            return Answer(refused | {"PENDING", "NO_ROOM"})
        if not shape.prebuffer_frames:
            return Answer(refused)
        if heap_count >= shape.prebuffer_frames:
            return Answer(frozenset({"NO_ROOM"}))
        return Answer(frozenset({"PENDING"}), frozenset({None}))
    reasons = set()
    if target < view.window_first:
        reasons.add("LATE")
    if target < view.lock_seq:
        reasons.add("UNLOCKED")
    if not shape.allows(target, view.base, frame.tc):
        reasons.add("NOT_ALLOWED")
    if target >= view.window_first and taken(target):
        reasons.add("OCCUPIED")
    if not reasons:
        return Answer(frozenset({"PENDING"}), frozenset({target}))
    if shape.late[frame.tc] == STRICT:
        return Answer(frozenset(reasons))
    begin = max(view.margin_first, target, min(view.lock_seq, view.window_end))
    end = view.window_end
    if shape.late[frame.tc] == RELAXED:
        # one ring length after its own slot, however early or late it was handed over
        if target + shape.ring_slots <= begin:
            return Answer(frozenset(reasons))
        end = min(end, target + shape.ring_slots)
    for seq in range(begin, end):
        if shape.allows(seq, view.base, frame.tc) and not taken(seq):
            return Answer(frozenset({"PENDING"}), frozenset({seq}))
    if shape.late[frame.tc] == RELAXED and target + shape.ring_slots <= view.window_end:
        return Answer(frozenset({"NO_SLOT"}))
    if not shape.prebuffer_frames:
        return Answer(frozenset({"NO_SLOT"}))
    if fifo_count >= shape.prebuffer_frames:
        return Answer(frozenset({"NO_ROOM"}))
    return Answer(frozenset({"PENDING"}), frozenset({None}))


def first_free(
    shape: Shape, tc: int, base: int, seqs: Iterable[int], claimed: Callable[[int], bool]
) -> int | None:
    """First slot of class `tc` without any frame."""
    return next((seq for seq in seqs if shape.allows(seq, base, tc) and not claimed(seq)), None)
