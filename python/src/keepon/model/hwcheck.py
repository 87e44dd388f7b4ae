# SPDX-License-Identifier: BSD-3-Clause
"""The document `keepon.hwcheck/1` that `keepon hwcheck` writes (docs/hwcheck.md); its schema is
made of these types.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

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
