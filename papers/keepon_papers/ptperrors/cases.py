# SPDX-License-Identifier: BSD-3-Clause
"""Stamp errors that Eq. 4 and Eq. 6 are tried with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from keepon.planner.parameters.synchronisation import StampErrors
from keepon_papers import stampbounds as bounds
from keepon_papers.ptperrors.settings import NS_PER_US

CORNER_STEPS = 2


@dataclass(frozen=True)
class Case:
    """Stamp errors worth looking at; the values are chosen to differ in kind, not measured."""

    name: str
    errors: StampErrors


CASES = (
    Case("both clocks 8 ns, no delay", bounds.alike(8, 0)),
    Case("300-byte slot, all delays 1 us", bounds.alike(2560, 1000)),
    Case("stamps late on reception only", StampErrors(2560, 2560, 0, 1000, 0, 1000)),
    Case("slave's stamps late, master's exact", StampErrors(8, 8, 0, 0, 2000, 5000)),
    Case("master's stamps late, slave's exact", StampErrors(8, 8, 3000, 7000, 0, 0)),
    Case("coarse slave, fine master", StampErrors(8, 12_000, 0, 0, 0, 0)),
    Case("fine slave, coarse master", StampErrors(12_000, 8, 0, 0, 0, 0)),
)


def us(value_ns: Fraction | float) -> float:
    """Nanoseconds as a number of microseconds."""
    return float(value_ns) / NS_PER_US
