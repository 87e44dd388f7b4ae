# SPDX-License-Identifier: BSD-3-Clause
"""The `keepon` command. Results go to stdout, progress and errors to stderr.

Exit codes: see EXIT_CODES.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated

import typer
from keepon_host.interrupts import ending_interrupts
from typer.core import TyperGroup

from keepon import __version__
from keepon.cli import completion, edge, machine_commands, papers, report_group, run_group
from keepon.cli.options import option
from keepon.cli.shared import EXIT_CODES
from keepon.errors import EXIT_INPUT, EXIT_MET

app = typer.Typer(
    name="keepon", cls=papers.Group,
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Deterministic Ethernet transmission on standard NICs: plan, simulate, report.",
    epilog=EXIT_CODES,
)  # fmt: skip
# Without a name: its commands are commands of keepon, in this order.
app.add_typer(run_group.app)
app.add_typer(report_group.app)
machine_commands.add_to(app)


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    debug: Annotated[bool, option("--debug", "Show tracebacks of errors.")] = False,
    version: Annotated[bool, option("--version", "Print the version and stop.")] = False,
) -> None:
    edge.Settings.debug = debug
    if version:
        print(f"keepon {__version__}")
        raise typer.Exit(EXIT_MET)
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(EXIT_INPUT)


@cache
def group() -> TyperGroup:
    """All commands, which take 20 ms to be made of their functions."""
    return typer.main.get_group(app)


def main() -> int:
    """Entry point: every error is one line on stderr and an exit code; a traceback only with
    --debug.
    """
    completion.prepare()
    with ending_interrupts():
        return edge.guard(lambda: group()(standalone_mode=False))
