# SPDX-License-Identifier: BSD-3-Clause
"""The command on this machine: doctor."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from keepon.cli import completed, doctor, shared
from keepon.cli.options import Json
from keepon.linux.doctor import command
from keepon.linux.doctor.checks import EXIT_CODES, worst

app = typer.Typer()


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
