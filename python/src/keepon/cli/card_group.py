# SPDX-License-Identifier: BSD-3-Clause
"""The commands about a network card of this machine: give it to Keepon's driver and back,
measure what it does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from keepon_host import bind
from keepon_host import document as replaced
from keepon_host.hwcheck import command as hwcheck

from keepon.cli import completed, edge
from keepon.cli.options import Json, named
from keepon.errors import EXIT_MET, EXIT_MISSED

Card = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Interface of the card, such as eth0.",
        show_default=False,
        autocompletion=completed.interfaces,
    ),
]
Back = Annotated[
    float,
    typer.Option(
        "--rollback",
        metavar="SECONDS",
        help="For the link and your ssh connection to come back.",
    ),
]
Peer = Annotated[
    str | None,
    typer.Option(
        "--peer",
        metavar="NAME",
        help="Interface at the other end of the cable.",
        autocompletion=completed.interfaces,
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        "--backend",
        help="native: a lent ring; generic: any driver.",
        autocompletion=completed.words("native", "generic"),
    ),
]
SlotBytes = Annotated[int, typer.Option("--slot-bytes", help="Length of slots, 64 to 1522.")]
File = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the document there.", callback=named),
]


AS_IT_WAS = "the card is as it was"
app = typer.Typer()


@app.command("bind")
def bind_card(name: Card, back_s: Back = bind.BACK_S) -> None:
    """Give a network card to Keepon's driver, until keepon unbind or a reboot; back at
    once if the link is lost.
    """
    edge.Settings.left = AS_IT_WAS
    print(bind.bind(name, back_s))


@app.command("unbind")
def unbind_card(name: Card, back_s: Back = bind.BACK_S) -> None:
    """Give a card back to the kernel's own driver."""
    edge.Settings.left = AS_IT_WAS
    print(bind.unbind(name, back_s))


@app.command("hwcheck")
def check_card(
    name: Card,
    peer: Peer = None,
    backend: Backend = "native",
    slot_bytes: SlotBytes = hwcheck.SLOT_BYTES,
    file: File = None,
    as_json: Json = False,
) -> None:
    """Measure what a card does beside what its driver says; exit 1 if it is not shown to
    be safe to use.
    """
    replaced.check_replaces("--out", file, "hwcheck")
    document = hwcheck.check(name, peer, backend, slot_bytes)
    if file is not None:
        replaced.write(file, document)
    print(json.dumps(document, indent=1) if as_json else hwcheck.table(document))
    raise typer.Exit(EXIT_MET if document["safe"] else EXIT_MISSED)
