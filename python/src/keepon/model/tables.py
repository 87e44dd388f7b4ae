# SPDX-License-Identifier: BSD-3-Clause
"""What the tables of a scenario have in common.

Units are the last part of every name; `frame_bytes` includes the FCS; times are at the reference
plane (first bit after the SFD). The string behind a field says what the key means; from it come
the JSON Schema and docs/scenario.md (keepon.model.schemafiles).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Auto = Literal["auto"]
SECOND_NS = 1_000_000_000
POSITIVE = "times are in nanoseconds and not negative"


class Table(BaseModel):
    """A table of a scenario: every key is known, has its type and cannot be changed later."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        use_attribute_docstrings=True,
    )
