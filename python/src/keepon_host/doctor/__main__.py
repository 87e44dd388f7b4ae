# SPDX-License-Identifier: BSD-3-Clause
"""`python3 -m keepon_host.doctor [IFACE]`, where there is nothing but Python."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from keepon_host import alone
from keepon_host.doctor import command
from keepon_host.doctor.checks import EXIT_CODES, worst
from keepon_host.errors import KeeponError


def main(arguments: Sequence[str]) -> int:
    """Check, print, and say by the exit code how bad it is."""
    parser = argparse.ArgumentParser(
        prog="keepon doctor",
        description="What this machine and its cards have and lack for Keepon.",
        epilog=command.EXIT_HELP,
    )
    parser.add_argument("name", metavar="IFACE", nargs="?", help="a card; else one line of each")
    parser.add_argument("--measure", action="store_true", help="measure the card by hwcheck")
    parser.add_argument(
        "--peer", metavar="NAME", help="the interface at the other end of the cable"
    )
    parser.add_argument("--json", action="store_true", help="print the document keepon.doctor/1")
    chosen = parser.parse_args(arguments)
    try:
        checks = command.examine(chosen.name, chosen.measure, chosen.peer)
    except KeeponError as error:
        alone.say(f"keepon: {error}")
        return error.exit_code
    if chosen.json:
        print(json.dumps(command.document(checks, chosen.name), indent=1))
    else:
        out = sys.stdout
        print(command.table(checks, command.width(out), command.coloured(out)))
    return EXIT_CODES[worst(checks)]


if __name__ == "__main__":
    sys.exit(alone.run(main))
