# SPDX-License-Identifier: BSD-3-Clause
"""Commands that other packages add to `keepon`, by the entry points of group `keepon.commands`.

Those of published studies are in a checkout (`papers/`), and in no package.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from keepon.errors import EnvironmentProblemError

COMMANDS = "keepon.commands"
REPORTS = "keepon.reports"
PUBLISHED = ("reproduce", "nics")
"""Commands of published studies."""


class Group(TyperGroup):
    """The commands of this package, then those of others, which are loaded when one is named."""

    def list_commands(self, ctx: Any) -> list[str]:
        added = sorted(point.name for point in entry_points(group=COMMANDS))
        return [*super().list_commands(ctx), *added]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        if (point := _found(COMMANDS, cmd_name)) is not None:
            return typer.main.get_group(point.load()).commands[cmd_name]
        return _refused(cmd_name) if cmd_name in PUBLISHED else None


def report(kind: str) -> Any:
    """What reports a kind of document, by the entry points of group `keepon.reports`.

    Raises:
        EnvironmentProblemError: its package is not installed.
    """
    if (point := _found(REPORTS, kind)) is None:
        raise _absent(f"report of a {kind}")
    return point.load()


def _found(group: str, name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=group, name=name)), None)


def _absent(what: str) -> EnvironmentProblemError:
    return EnvironmentProblemError(
        f"{what}: package keepon_papers, the published studies, is not installed; run it from a"
        " checkout set up with `scripts/setup run`"
    )


def _refused(name: str) -> TyperCommand:
    def refuse() -> None:
        raise _absent(f"command {name}")

    return TyperCommand(
        name,
        callback=refuse,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
