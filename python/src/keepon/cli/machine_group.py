# SPDX-License-Identifier: BSD-3-Clause
"""The commands on this machine: nics and doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from keepon import errors
from keepon.cli import doctor, nics_command, shared
from keepon.cli.options import Json
from keepon.errors import EXIT_MET
from keepon.report import terminal

app = typer.Typer()


@app.command("nics")
def nics(
    tree: Annotated[
        Path,
        typer.Argument(
            metavar="TREE", help="Top folder of a kernel's sources.", show_default=False
        ),
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="List also drivers with nothing of interest.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the Ethernet drivers of a kernel tree: which can send at an instant, and which Keepon
    has a driver for.
    """
    nics_command.run(tree, everything, as_json)


@app.command("doctor")
def doctor_command(as_json: Json = False) -> None:
    """Check what this machine has and lacks for Keepon; exit 3 if something needed is missing."""
    checks = doctor.examine()
    document = doctor.document(checks)
    if as_json:
        shared.print_json(document)
    else:
        table = Table()
        for column in ("", "what", "found", "remedy"):
            table.add_column(column)
        for check in checks:
            table.add_row(
                "ok" if check.ok else "MISSING" if check.needed else "absent",
                check.name,
                check.found,
                check.remedy,
            )
        terminal.show(table)
    raise typer.Exit(EXIT_MET if document["ok"] else errors.EXIT_ENVIRONMENT)
