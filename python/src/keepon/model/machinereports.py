# SPDX-License-Identifier: BSD-3-Clause
"""What machines say of themselves: `keepon.hwcheck/1` of `keepon hwcheck` (docs/hwcheck.md),
`keepon.doctor/1` of `keepon doctor --json` (docs/doctor.md), and a result of target host; schemas
are made of these types.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field, with_config

# pydantic takes those of `typing` from Python 3.12 on.
from typing_extensions import TypedDict

from keepon.model.typed import CLOSED, OPEN, FrameBytes, NotNegative

HWCHECK_SCHEMA: Final = "keepon.hwcheck/1"

Range = Annotated[list[int], Field(min_length=2, max_length=2)]


@with_config(OPEN)
class Caps(TypedDict):
    """Limits the driver states, by their names in struct kpn_nic_caps
    (core/include/keepon/nic_ops.h).
    """

    prefetch_slots_max: NotNegative
    """frames fetched beyond the one on the wire, at most"""
    index_to_wire_ns_min: int
    """from the index passing a frame to its first bit, or its end"""
    index_to_wire_ns_max: int
    """the same, at most"""
    restart_ns_max: NotNegative
    """from a doorbell on an idle wire to the first bit, at most"""
    cpu_tick_ns: NotNegative
    """resolution of the CPU's counter"""
    index_counts_done: Annotated[int, Field(ge=0, le=1)]
    """1: the index counts frames that have left; 0: fetched ones"""


@with_config(CLOSED)
class Measured(TypedDict):
    """What was measured; null: it was not."""

    pace_ppm: int | None
    """by how much slots last longer than the link's rate says, on the CPU's counter"""
    pace_within_ppm: NotNegative | None
    """how far from this it may be: the index moved at some time between two readings"""
    index_to_wire_ns: Range | None
    """how long before the event it announces the index moves, within these, if the wire began with
    its doorbell
    """
    index_ahead_slots: Annotated[float, Field(ge=0)] | None
    """slots by which the index passes a frame before it has left"""
    restart_ns: Range | None
    """from a doorbell on an idle wire until the index moves, less the frame if it counts those that
    left
    """
    prefetch_slots: NotNegative | None
    """furthest slot beyond the one on the wire whose frame did not arrive"""
    bad_fcs_leaves: bool | None
    """placeholders with a bad FCS arrive as such"""
    tick_ns: NotNegative
    """least step of the CPU's counter, as seen"""
    slots_sent: NotNegative
    """slots in all"""
    frames_sent: NotNegative
    """frames written into slots"""
    frames_arrived: NotNegative | None
    """of these, seen by the peer"""


@with_config(CLOSED)
class Finding(TypedDict):
    """One limit of the driver."""

    name: str
    """what it is about"""
    said: str
    """by the driver"""
    measured: str
    """what was seen"""
    holds: bool | None
    """whether it is so; null: not measured"""


@with_config(CLOSED)
class HardwareCheck(TypedDict):
    """What a card does, beside what its driver says."""

    schema: Literal["keepon.hwcheck/1"]
    """name and version of this format"""
    interface: str
    """whose ring it was"""
    peer: str | None
    """interface at the other end of the cable"""
    backend: Literal["native", "generic"]
    """a lent ring, or one over the driver's transmit function"""
    slot_bytes: FrameBytes
    """length of slots, FCS included"""
    rate_bps: NotNegative
    """of the link"""
    ring_slots: NotNegative
    """descriptors"""
    caps: Caps
    """limits the driver states"""
    measured: Measured
    """what was measured"""
    findings: list[Finding]
    """both compared"""
    safe: bool
    """nothing is contradicted, and nothing was left out"""
    verdict: str
    """the same in one line"""


DOCTOR_SCHEMA: Final = "keepon.doctor/1"

State = Literal["ok", "note", "unknown", "problem"]


@with_config(CLOSED)
class Check(TypedDict):
    """One thing looked at."""

    about: str
    """"machine", "installation" (of this Python) or an interface"""
    name: str
    """what was looked at"""
    state: State
    """note: it works, and could be better; unknown: it could not be seen"""
    found: str
    """one sentence"""
    remedy: str
    """shell command that mends it or shows it; empty if there is none"""


@with_config(CLOSED)
class Doctor(TypedDict):
    """What a machine and its cards have and lack for Keepon."""

    schema: Literal["keepon.doctor/1"]
    """name and version of this format"""
    version: str
    """of Keepon"""
    interface: str | None
    """the card asked about; null: all, with one check each"""
    checks: list[Check]
    """in the order to read them"""
    worst: State
    """of all checks, from ok over note and unknown to problem; the exit code is made of it"""
    verdict: str
    """how many checks have which state"""


@with_config(OPEN)
class HostStation(TypedDict):
    """A station and its interface."""

    interface: NotRequired[str]
    """its name"""
    driver: NotRequired[str | None]
    """of the card"""
    clock: NotRequired[str | None]
    """device of the card's clock"""
    coalescing: NotRequired[dict[str, Any] | None]
    """how the card gathers interrupts"""


@with_config(OPEN)
class HostRun(TypedDict):
    """The machine, its clocks and what programs said."""

    kernel: NotRequired[str]
    """its release"""
    cpus: NotRequired[dict[str, Any]]
    """governors, isolated ones and the like"""
    stations: NotRequired[dict[str, HostStation]]
    """stations by name"""
    clocks: str
    """whether a program set the clocks, and how"""
    clock_limit_ns: NotRequired[NotNegative | None]
    """how far clocks may be apart"""
    clock_offsets_ns: NotRequired[dict[str, Range]]
    """least and greatest offset of each station's clock from CLOCK_TAI"""
