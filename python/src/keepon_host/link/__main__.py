# SPDX-License-Identifier: BSD-3-Clause
"""`python3 -m keepon_host.link`: the command `keepon link` with nothing but the standard
library.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from keepon_host import alone
from keepon_host.errors import EXIT_INPUT, EXIT_INTERRUPTED, EXIT_MET, KeeponError
from keepon_host.interrupts import ending_interrupts
from keepon_host.link import commands, fit, watch
from keepon_host.link.options import HELP

VERBS = {
    "add": ("put a keepon link NAME on the device LOWER", ("lower", "name", "options")),
    "set": ("change options of a link, also while it is up", ("name", "options")),
    "show": ("options of a link, as they can be given back; without a name, of all", ("optional",)),
    "del": ("delete a link", ("name",)),
    "watch": ("what a link does, a line every so often; needs no rights", ("name", "watch")),
    "fit": ("slots with which a link can carry out a gate list", ("file", "rate", "slot_bytes")),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="keepon link", description="Links of kind keepon, without iproute2's plugin."
    )
    verbs = parser.add_subparsers(
        prog=parser.prog, dest="verb", required=True, metavar="|".join(VERBS)
    )
    for verb, (purpose, arguments) in VERBS.items():
        takes_options = "options" in arguments
        command = verbs.add_parser(
            verb, help=purpose, description=purpose, epilog=HELP if takes_options else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        for name in ("lower", "name"):
            if name in arguments:
                command.add_argument(name, metavar=name.upper())
        if "optional" in arguments:
            command.add_argument("name", metavar="NAME", nargs="?")
        if takes_options:
            command.add_argument("options", metavar="OPTION", nargs="*")
        if "file" in arguments:
            command.add_argument("file", metavar="FILE", type=Path)
            command.add_argument("--rate", default="1G", help="of the link, as 100M (default 1G)")
            command.add_argument("--slot-bytes", type=int, help="these slots and no others")
        if "watch" in arguments:
            command.add_argument("--interval", type=float, default=1.0, help="seconds (default 1)")
            command.add_argument("--count", type=int, help="lines; default: until interrupted")
            command.add_argument("--textfile", type=Path, help="write it there for node_exporter")
        command.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _run(chosen: argparse.Namespace) -> str:
    if chosen.verb == "add":
        return commands.add(chosen.lower, chosen.name, chosen.options, chosen.json)
    if chosen.verb == "set":
        return commands.change(chosen.name, chosen.options, chosen.json)
    if chosen.verb == "show":
        return commands.show(chosen.name, chosen.json)
    if chosen.verb == "fit":
        return fit.run(chosen.file, chosen.rate, chosen.slot_bytes, chosen.json)
    if chosen.verb == "watch":
        found = watch.moments(chosen.name, chosen.interval, chosen.count, chosen.textfile)
        with ending_interrupts():  # SIGTERM takes its text file away, too
            watch.print_lines(found, chosen.json)
        return ""
    return commands.delete(chosen.name, chosen.json)


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, 2 wrong input, 3 the kernel or permissions, 130 interrupted; argparse itself
    ends with 2.
    """
    if not arguments:
        _parser().print_help()
        return EXIT_INPUT
    try:
        text = _run(_parser().parse_args(arguments))
    except KeeponError as error:
        alone.say(f"keepon link: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    if text:
        print(text)
    return EXIT_MET


if __name__ == "__main__":
    sys.exit(alone.run(main))
