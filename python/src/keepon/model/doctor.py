# SPDX-License-Identifier: BSD-3-Clause
"""The document `keepon.doctor/1` that `keepon doctor --json` prints (docs/doctor.md); its schema is
made of these types.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import with_config

# pydantic takes those of `typing` from Python 3.12 on.
from typing_extensions import TypedDict

from keepon.model.typed import CLOSED

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
