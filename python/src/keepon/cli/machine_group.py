# SPDX-License-Identifier: BSD-3-Clause
"""The commands on this machine and its cards: bind, unbind, nics and doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from keepon import errors
from keepon.cli import doctor, nics_command, shared
from keepon.cli.options import Json
from keepon.errors import EXIT_MET
from keepon.linux import bind

app = typer.Typer()

_Card = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Interface of the card, such as eth0.", show_default=False),
]
_Back = Annotated[
    float,
    typer.Option("--back-s", help="Seconds for the link and your ssh connection to come back."),
]


@app.command("bind")
def bind_command(name: _Card, back_s: _Back = bind.BACK_S) -> None:
    """Give a network card to Keepon's driver, until keepon unbind or a reboot; back at once if the
    link is lost.
    """
    print(bind.bind(name, back_s))


@app.command("unbind")
def unbind_command(name: _Card, back_s: _Back = bind.BACK_S) -> None:
    """Give a card back to the kernel's own driver."""
    print(bind.unbind(name, back_s))


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
    nics_command.run(tree, everything, as_json, shared.console())


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
        shared.console().print(table)
    raise typer.Exit(EXIT_MET if document["ok"] else errors.EXIT_ENVIRONMENT)
