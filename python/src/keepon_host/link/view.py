# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link watch`: a page that is renewed on a terminal, a line for each moment in a pipe."""

from __future__ import annotations

import os
import shutil
import sys

from keepon_host.link import commands, watch
from keepon_host.link.watch import Moment

TROUBLE = (
    "underruns", "suspected_underruns", "slips", "doubts", "index_errors", "losses",
    "start_failures",
)  # fmt: skip
RED, GREEN, YELLOW, DIM = 31, 32, 33, 2
COLOURS = {"synchronised": GREEN, "not synchronised": YELLOW, "wire down": RED}
HOME, LINE_END, PAGE_END, BEGIN, END = "\x1b[H", "\x1b[K", "\x1b[J", "\x1b[?1049h", "\x1b[?1049l"
"""Control sequences of ECMA-48; the last two are xterm's, for a screen of its own."""


def watch_link(name: str, interval_s: float, count: int | None, as_json: bool) -> None:
    """Show a link until `count` moments are shown, it has gone, or the command is interrupted.

    Raises:
        ConfigError: an option is out of range, or there is no such link.
        EnvironmentProblemError: the link has gone.
    """
    found = watch.moments(name, interval_s, count)
    if as_json or not sys.stdout.isatty():
        watch.print_lines(found, as_json)
        return
    coloured = not os.environ.get("NO_COLOR")
    lines: list[str] = []
    print(BEGIN, end="")
    try:
        for moment in found:
            size = shutil.get_terminal_size()
            lines = page(moment, commands.masks(name), size.columns, coloured)[: size.lines - 1]
            shown = "".join(f"{line}{LINE_END}\n" for line in lines)
            print(f"{HOME}{shown}{PAGE_END}", end="", flush=True)
    finally:
        print(END, end="")
        print("\n".join(lines), flush=True)


def page(moment: Moment, masks: list[int], columns: int, coloured: bool) -> list[str]:
    """The lines of the whole view; `masks` of the slots of the link's partition."""

    def cut(text: str, colour: int | None = None) -> str:
        text = text[: columns - 1]
        return f"\x1b[{colour}m{text}\x1b[0m" if coloured and colour else text

    values = moment.now.values
    state = moment.state()
    trouble = [f"{name} {values[name]}" for name in TROUBLE if values.get(name)]
    lines = [cut(f"{moment.name}: {state}", COLOURS[state])]
    if values["head_valid"]:
        lines.append(cut(f"clock within {moment.error_ns()} ns"))
        lines.append(cut(f"{values['pending']} frames wait, lead {values['lead_slots']} slots"))
    lines += [
        cut(", ".join(trouble) or "no underrun, slip or loss", RED if trouble else DIM),
        cut("slots, by class that may use them:", DIM),
        watch.partition_bar(masks, columns - 1),
        cut(f"{'frames':16} {'so far':>12} {'a second':>12}"),
    ]
    for verdict, so_far in moment.verdicts().items():
        rate = moment.rate(watch.VERDICT + verdict)
        shown = "-" if rate is None else f"{rate:.1f}"
        if so_far:
            colour = None if verdict in watch.SENT else YELLOW
            lines.append(cut(f"{verdict:16} {so_far:12} {shown:>12}", colour))
    worst = [f"{value} ns in class {tc}" for tc, value in moment.late_ns().items() if value]
    return [*lines, cut(f"later than a txtime at worst: {', '.join(worst) or 'none'}")]
