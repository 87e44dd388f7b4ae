# SPDX-License-Identifier: BSD-3-Clause
"""`python3 -m keepon_host.hwcheck NAME`, where there is nothing but Python."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from keepon_host import alone
from keepon_host import document as documents
from keepon_host.errors import EXIT_MET, EXIT_MISSED, KeeponError
from keepon_host.hwcheck import command


def main(arguments: Sequence[str]) -> int:
    """Exit code 0: safe to use; 1: not, or not shown to be; 2, 3: it could not be measured."""
    parser = argparse.ArgumentParser(prog="keepon hwcheck", description="Measure what a card does.")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--peer", metavar="NAME", help="the interface at the other end of the cable"
    )
    parser.add_argument("--backend", default="native", help="native (a lent ring) or generic")
    parser.add_argument("--slot-bytes", type=int, default=command.SLOT_BYTES)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the document")
    chosen = parser.parse_args(arguments)
    try:
        documents.check_replaces("--out", chosen.out, "hwcheck")
        document = command.check(chosen.name, chosen.peer, chosen.backend, chosen.slot_bytes)
        if chosen.out:
            documents.write(chosen.out, document)
    except KeeponError as error:
        alone.say(f"keepon: {error}")
        return error.exit_code
    print(command.table(document))
    return EXIT_MET if document["safe"] else EXIT_MISSED


if __name__ == "__main__":
    sys.exit(alone.run(main))
