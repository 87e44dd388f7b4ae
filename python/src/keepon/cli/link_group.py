# SPDX-License-Identifier: BSD-3-Clause
"""The command group `keepon link` of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from keepon_host.link import commands
from keepon_host.link import fit as fitting
from keepon_host.link.options import HELP

from keepon.cli import completed, watch_command
from keepon.errors import EXIT_INPUT

app = typer.Typer(
    name="link", rich_markup_mode=None,
    help="Links of kind keepon on this machine, without iproute2's plugin.",
)  # fmt: skip

EPILOG = "\b\n" + HELP.replace("\n\n", "\n\n\b\n")

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Name = Annotated[
    str,
    typer.Argument(
        help="Name of the link.", show_default=False, autocompletion=completed.interfaces
    ),
]
Words = Annotated[
    list[str],
    typer.Argument(
        metavar="OPTION",
        help="Options and their values.",
        show_default=False,
        autocompletion=completed.link_options,
    ),
]
OptionalWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="OPTION",
        help="Options and their values.",
        show_default=False,
        autocompletion=completed.link_options,
    ),
]


@app.callback(invoke_without_command=True)
def _common(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(EXIT_INPUT)


def _print(text: str) -> None:
    if text:
        print(text)


@app.command(epilog=EPILOG)
def add(
    lower: Annotated[
        str,
        typer.Argument(
            help="Device below.", show_default=False, autocompletion=completed.interfaces
        ),
    ],
    name: Name,
    words: OptionalWords = None,
    as_json: Json = False,
) -> None:
    """Put a keepon link NAME on the device LOWER."""
    _print(commands.add(lower, name, words or [], as_json))


@app.command("set", epilog=EPILOG)
def change(name: Name, words: Words, as_json: Json = False) -> None:
    """Change options of a link, also while it is up."""
    _print(commands.change(name, words, as_json))


@app.command()
def show(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Name of the link; default: all.",
            show_default=False,
            autocompletion=completed.interfaces,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Options of a link, as they can be given back; without a name, of all."""
    _print(commands.show(name, as_json))


@app.command("del")
def delete(name: Name, as_json: Json = False) -> None:
    """Delete a link."""
    _print(commands.delete(name, as_json))


@app.command()
def watch(
    name: Name,
    interval: Annotated[
        float, typer.Option("--interval", help="Seconds from one reading to the next.")
    ] = 1.0,
    count: Annotated[
        int | None,
        typer.Option("--count", help="Readings; default: until ^C.", show_default=False),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each reading.")
    ] = False,
    textfile: Annotated[
        Path | None,
        typer.Option(
            "--textfile",
            help="Write each reading there for node_exporter (*.prom).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what a link does: frames by how they end, clock, partition; needs no rights."""
    watch_command.run(name, interval, count, as_json, textfile)


@app.command()
def fit(
    file: Annotated[
        Path,
        typer.Argument(
            help='Gate list: lines "sgs NS GATES", or words of tc taprio.', show_default=False
        ),
    ],
    rate: Annotated[str, typer.Option("--rate", help="Of the link, as 100M or 1G.")] = "1G",
    slot_bytes: Annotated[
        int | None,
        typer.Option("--slot-bytes", help="These slots and no others.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Slots with which a link can carry out a gate list, and what is lost by them."""
    _print(fitting.run(file, rate, slot_bytes, as_json))
