# SPDX-License-Identifier: BSD-3-Clause
"""What the types of our documents have in common: how their schemas treat other keys, ranges."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

CLOSED = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""Other keys are refused."""
OPEN = ConfigDict(extra="allow", use_attribute_docstrings=True)
"""Other keys are allowed: counters that a target has and others have not."""

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
NodeName = Annotated[str, Field(pattern=NAME_PATTERN)]
"""A name of a node, a stream or a scenario."""
NotNegative = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]
FrameBytes = Annotated[int, Field(ge=64, le=1522)]
"""Length of a frame, FCS included."""
