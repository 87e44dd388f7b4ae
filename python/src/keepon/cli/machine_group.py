# SPDX-License-Identifier: BSD-3-Clause
"""The commands on this machine: nics and doctor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from keepon_host.doctor import command
from keepon_host.doctor.checks import EXIT_CODES, worst

from keepon.cli import completed, doctor, nics_command, shared
from keepon.cli.options import Json

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


@app.command("doctor", epilog=command.EXIT_HELP)
def doctor_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="IFACE",
            help="A card, such as eth0, to be asked in full.",
            autocompletion=completed.interfaces,
        ),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure the card, by hwcheck; it is busy meanwhile.")
    ] = False,
    peer: Annotated[
        str | None,
        typer.Option(
            "--peer",
            metavar="NAME",
            help="Interface at the other end of the cable.",
            autocompletion=completed.interfaces,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what this machine and its network cards have and lack for Keepon, each with the command
    that mends it; without IFACE one line for each card.
    """
    found = command.examine(name, measure, peer)
    if name is None:
        found = doctor.examine() + found
    if as_json:
        shared.print_json(command.document(found, name))
    else:
        print(command.table(found, command.width(sys.stdout), command.coloured(sys.stdout)))
    raise typer.Exit(EXIT_CODES[worst(found)])
