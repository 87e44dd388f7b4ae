# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link watch`: live on a terminal, a line for each moment in a pipe."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from keepon_host.link import commands, watch
from keepon_host.link.watch import Moment
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

TROUBLE = (
    "underruns", "suspected_underruns", "slips", "doubts", "index_errors", "losses",
    "start_failures",
)  # fmt: skip
STYLES = {"synchronised": "green", "not synchronised": "yellow", "wire down": "red"}


def run(
    name: str, interval_s: float, count: int | None, as_json: bool, textfile: Path | None
) -> None:
    """Show a link until `count` moments are shown, it has gone, or somebody interrupts.

    Raises:
        ConfigError: an option is out of range, there is no such link, or the file cannot be
            written.
        EnvironmentProblemError: the link has gone.
    """
    found = watch.moments(name, interval_s, count, textfile)
    if as_json or not sys.stdout.isatty():
        watch.print_lines(found, as_json)
        return
    with Live(auto_refresh=False) as view:
        for moment in found:
            view.update(page(moment, commands.masks(name)), refresh=True)


def page(moment: Moment, masks: list[int]) -> RenderableType:
    """The whole view, for a terminal; `masks` of the slots of the link's partition."""
    state = moment.state()
    head = Text(f"{moment.name}: ")
    head.append(state, style=STYLES[state])
    values = moment.now.values
    if values["head_valid"]:
        head.append(f", clock within {moment.error_ns()} ns")
        head.append(f", {values['pending']} frames wait, lead {values['lead_slots']} slots")
    frames = Table("frames", box=None, pad_edge=False)
    for column in ("so far", "a second"):
        frames.add_column(column, justify="right")
    for verdict, so_far in moment.verdicts().items():
        if so_far:
            rate = moment.rate(watch.VERDICT + verdict)
            style = "" if verdict in watch.SENT else "yellow"
            shown = "-" if rate is None else f"{rate:.1f}"
            frames.add_row(verdict, str(so_far), shown, style=style)
    worst = [f"{value} ns in class {tc}" for tc, value in moment.late_ns().items() if value]
    trouble = [f"{name} {values[name]}" for name in TROUBLE if values.get(name)]
    columns = shutil.get_terminal_size().columns - 1
    return Group(
        head,
        Text(", ".join(trouble) or "no underrun, slip or loss", style="red" if trouble else "dim"),
        Text("slots, by class that may use them:", style="dim"),
        Text(watch.partition_bar(masks, columns)),
        frames,
        Text(f"later than a txtime at worst: {', '.join(worst) or 'none'}"),
    )
