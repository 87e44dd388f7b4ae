# SPDX-License-Identifier: BSD-3-Clause
"""The command nics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keepon.cli import nics_command
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
