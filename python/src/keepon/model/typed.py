# SPDX-License-Identifier: BSD-3-Clause
"""What the types of our documents have in common: how their schemas treat other keys, ranges."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

CLOSED = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""Other keys are refused."""
OPEN = ConfigDict(extra="allow", use_attribute_docstrings=True)
"""Other keys are allowed: counters that a target has and others have not."""


def together(*groups: str, config: ConfigDict = CLOSED) -> ConfigDict:
    """Of tables that have either all keys of a group or none.

    Args:
        groups: keys, with blanks between.
        config: what else is true of the table.
    """
    needed: JsonDict = {}
    for group in groups:
        first, *others = group.split()
        needed[first] = [*others]
        needed |= {other: [first] for other in others}
    return ConfigDict(**config, json_schema_extra={"dependentRequired": needed})


NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
NodeName = Annotated[str, Field(pattern=NAME_PATTERN)]
"""A name of a node, a stream or a scenario."""
NotNegative = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]
FrameBytes = Annotated[int, Field(ge=64, le=1522)]
WireFrameBytes = Annotated[int, Field(ge=64, le=9018)]
"""Length of a frame, FCS included."""
