# SPDX-License-Identifier: BSD-3-Clause
"""What a result of target host says of the machine it was run on."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field, with_config

# pydantic takes those of `typing` from Python 3.12 on.
from typing_extensions import TypedDict

from keepon.model.typed import OPEN, NotNegative

_Spread = Annotated[list[int], Field(min_length=2, max_length=2)]


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
    clock_offsets_ns: NotRequired[dict[str, _Spread]]
    """least and greatest offset of each station's clock from CLOCK_TAI"""
