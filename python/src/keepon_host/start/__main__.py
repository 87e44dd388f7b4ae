# SPDX-License-Identifier: BSD-3-Clause
"""`python3 -m keepon_host.start`: `keepon start` and its like where there is nothing but Python;
plans go there as steps, which `keepon start --dry-run --json` writes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from keepon_host import alone, bind
from keepon_host.errors import EXIT_INTERRUPTED, EXIT_MET, ConfigError, KeeponError, one_line
from keepon_host.start import command, driver, status, steps
from keepon_host.start.direct import direct

OTHERS = {
    "stop": "put back what was", "status": "what links do",
    "bind": "give a card to Keepon's driver", "unbind": "and back",
}  # fmt: skip


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
            f"{path}: is no file of steps ({one_line(error)}); write one with keepon start"
            " --dry-run --json"
        ) from error


def _say(text: str) -> None:
    print(text, flush=True)  # it is waited for, maybe in a file


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="keepon", description="A card with a keepon link.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    start = verbs.add_parser("start", help="set a card up with a link")
    start.add_argument("nic", metavar="NIC", nargs="?", help="the card; of steps, theirs")
    start.add_argument("options", metavar="OPTION", nargs="*", help="of the link")
    start.add_argument("--steps", metavar="FILE", type=Path, help="steps of a plan")
    start.add_argument("--link", metavar="NAME", default="rt0", help="its name (rt0)")
    start.add_argument("--driver", choices=driver.CHOICES, default="auto")
    start.add_argument("--ptp", choices=("none", "follow", "lead"), default="none")
    start.add_argument("--rollback", type=float, default=command.ROLLBACK_S, metavar="SECONDS")
    start.add_argument("--dry-run", action="store_true", help="only show what would be done")
    for verb, words in OTHERS.items():
        its = verbs.add_parser(verb, help=words)
        its.add_argument("nic", metavar="NIC", nargs=None if "bind" in verb else "?")
        if verb == "status":
            its.add_argument("--json", action="store_true", help="print it as JSON")
        elif verb != "stop":
            its.add_argument("--rollback", type=float, default=bind.BACK_S, metavar="SECONDS")
    return parser


def _run(chosen: argparse.Namespace) -> str:
    if chosen.verb == "stop":
        return command.stop(chosen.nic)
    if chosen.verb in ("bind", "unbind"):
        return (bind.bind if chosen.verb == "bind" else bind.unbind)(chosen.nic, chosen.rollback)
    if chosen.verb == "status":
        as_json = chosen.json
        return json.dumps(status.document(chosen.nic)) if as_json else status.text(chosen.nic)
    if chosen.steps is not None:
        setup = read(chosen.steps)
    elif chosen.nic is None:
        raise ConfigError("argument NIC: is missing; name the card, such as eth0")
    else:
        setup = direct(chosen.nic, chosen.nic, chosen.link, 0, chosen.options, chosen.ptp)
    return command.start(setup, chosen.driver, chosen.rollback, chosen.dry_run, _say)


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, 2 wrong input, 3 the machine, 130 interrupted."""
    chosen = _parser().parse_args(arguments)
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
