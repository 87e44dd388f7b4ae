# SPDX-License-Identifier: BSD-3-Clause
"""What the types of our documents have in common: how their schemas treat other keys, ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, with_config
from pydantic.config import JsonDict
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

T = TypeVar("T", bound=type)

CLOSED = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""Other keys are refused."""
OPEN = ConfigDict(extra="allow", use_attribute_docstrings=True)
"""Other keys are allowed: counters that a target has and others have not."""


def checked(check: Callable[[dict[str, Any]], None], config: ConfigDict) -> Callable[[T], T]:
    """Decorates a table that has a rule beyond those of its keys.

    Args:
        check: raises what `wrong` makes.
        config: says the same rule in JSON Schema.
    """

    def core_schema_of(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def after(table: dict[str, Any]) -> dict[str, Any]:
            check(table)
            return table

        # With the table's name: pydantic takes what has it wherever else the table is used.
        table: Any = {**handler.resolve_ref_schema(handler(source))}
        ref = table.pop("ref", None)
        return core_schema.no_info_after_validator_function(after, table, ref=ref)

    def decorated(table: T) -> T:
        setattr(table, "__get_pydantic_core_schema__", staticmethod(core_schema_of))  # noqa: B010
        return with_config(config)(table)

    return decorated


def wrong(key: str, rule: str) -> PydanticCustomError:
    """What `check` raises: a key of the table is missing, or not as `rule` says."""
    return PydanticCustomError("table", "{key}: {rule}", {"key": key, "rule": rule})


def together(*groups: str, config: ConfigDict = CLOSED) -> Callable[[T], T]:
    """Decorates a table that has either all keys of a group or none.

    Args:
        groups: keys, with blanks between.
        config: what else is true of the table.
    """
    needed: dict[str, list[str]] = {}
    for group in groups:
        first, *others = group.split()
        needed[first] = [*others]
        needed |= {other: [first] for other in others}

    def check(table: dict[str, Any]) -> None:
        for name, others in needed.items():
            for other in others if name in table else ():
                if other not in table:
                    raise wrong(other, f"must be there as `{name}` is")

    extra = cast(JsonDict, {"dependentRequired": needed})
    return checked(check, ConfigDict(**config, json_schema_extra=extra))


NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
NodeName = Annotated[str, Field(pattern=NAME_PATTERN)]
"""A name of a node, a stream or a scenario."""
PortName = Annotated[str, Field(pattern=NAME_PATTERN[:-1] + "(#[2-8])?$")]
"""A node, and behind `#` which of several links between two bridges leads there, from 2 on."""
NotNegative = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]
FrameBytes = Annotated[int, Field(ge=64, le=1522)]
WireFrameBytes = Annotated[int, Field(ge=64, le=9018)]
"""Length of a frame, FCS included."""
