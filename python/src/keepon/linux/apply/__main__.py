# SPDX-License-Identifier: BSD-3-Clause
"""`python3 -m keepon.linux.apply`: steps of a file are carried out where there is nothing but
Python; `keepon apply --dry-run --json` writes the file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from keepon.errors import EXIT_INTERRUPTED, EXIT_MET, ConfigError, KeeponError, one_line
from keepon.linux import alone
from keepon.linux.apply import command, steps


def read(path: Path) -> steps.Setup:
    """Raises ConfigError: the file cannot be read; TraceError: it has no steps."""
    try:
        return steps.of_document(json.loads(path.read_text()))
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); check the name and the permissions"
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"{path}: is no file of steps ({one_line(error)}); write one with keepon apply"
            " --dry-run --json"
        ) from error


def _say(text: str) -> None:
    print(text, flush=True)  # somebody waits for it, maybe in a file


def _run(chosen: argparse.Namespace) -> str:
    if chosen.verb == "unapply":
        return command.unapply(chosen.name)
    if chosen.verb == "confirm":
        return command.confirm(chosen.name)
    if chosen.name is None:
        raise ConfigError(
            "argument name: is missing; name a file that keepon apply --dry-run --json has written"
        )
    setup = read(Path(chosen.name))
    return command.apply(setup, chosen.rollback, chosen.yes, chosen.dry_run, _say)


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, 2 wrong input, 3 the machine, 130 interrupted."""
    parser = argparse.ArgumentParser(
        prog="keepon", description="Set a machine up as a station by steps of a file, or back."
    )
    parser.add_argument("verb", choices=("apply", "confirm", "unapply"))
    parser.add_argument("name", nargs="?", help="apply: file of steps; else the interface")
    parser.add_argument("--rollback", type=float, default=command.ROLLBACK_S, metavar="SECONDS")
    parser.add_argument("--yes", action="store_true", help="keep it if link and connection hold")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    chosen = parser.parse_args(arguments)
    try:
        print(_run(chosen), flush=True)
    except KeeponError as error:
        with suppress(OSError):
            alone.say(f"keepon: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        with suppress(OSError):
            alone.say("keepon: interrupted; everything is as it was")
        return EXIT_INTERRUPTED
    return EXIT_MET


if __name__ == "__main__":
    sys.exit(alone.run(main))
