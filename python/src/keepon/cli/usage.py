# SPDX-License-Identifier: BSD-3-Clause
"""What typer says of a command line that is wrong, as keepon says it: option, value, what it must
be, and where that is explained.
"""

from __future__ import annotations

from typing import Any

import typer.exceptions

from keepon.errors import one_line

_RULES = {
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
}
"""By pydantic's kinds of errors, by which typer reads values."""


def named(parameter: Any) -> str:
    """A parameter as it is typed; typer says no type of it."""
    if parameter.param_type_name == "argument":
        return f"argument {(parameter.metavar or parameter.name).upper()}"
    return f"option {parameter.opts[0]}"


def _command(context: Any) -> str:
    """The command, however Python was started."""
    words: list[str] = []
    while context is not None and context.parent is not None:
        words.insert(0, context.info_name)
        context = context.parent
    return " ".join(("keepon", *words))


def sentence(error: typer.exceptions.TyperException) -> str:
    """One sentence, without keepon's name before it."""
    parameter = getattr(error, "param", None)
    remedy = f"see {_command(getattr(error, 'ctx', None))} --help"
    if parameter is None:
        return f"{error.format_message().rstrip('.')}; {remedy}"
    if hasattr(error, "param_type"):  # typer's kind of error for what is missing
        return f"{named(parameter)}: is missing; {remedy}"
    found: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if not found:
        return f"{named(parameter)}: {error.message.rstrip('.')}; {remedy}"
    first = found[0]
    rule = _RULES.get(first["type"], first["msg"]).format(**first.get("ctx", {}))
    return f"{named(parameter)} = {one_line(first['input'])}: {rule}; {remedy}"
