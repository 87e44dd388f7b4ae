# SPDX-License-Identifier: BSD-3-Clause
"""All checks of a machine, or of one of its cards too; their document, and the same as text."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from keepon_host import __version__
from keepon_host.doctor import card, guest, machine, measured, modules
from keepon_host.doctor.asked import Card, Clock, ask, clock
from keepon_host.doctor.cards import LENDING
from keepon_host.doctor.checks import (
    EXIT_CODES,
    MACHINE,
    NOTE,
    OK,
    PROBLEM,
    UNKNOWN,
    Check,
    go_through,
    worst,
)
from keepon_host.doctor.tree import Tree
from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line

SCHEMA = "keepon.doctor/1"
TOOLS = {"ethtool": "ethtool", "ip": "iproute2", "ptp4l": "linuxptp", "tc": "iproute2"}
SBIN = ["usr/sbin", "sbin"]
"""Where they are even if PATH, of who is not root, does not say so."""
MARK_COLUMNS, NAME_COLUMNS = 8, 15
DIGITS_MAX = 9
COLUMNS_MIN, NARROW_COLUMNS, COLUMNS_MAX = 40, 60, 100
COLOURS = {OK: "32", NOTE: "36", UNKNOWN: "33", PROBLEM: "31;1"}
EXIT_HELP = (
    "Exit code: 0 nothing but ok and notes; 1 a problem; 4 no problem, and something that could"
    " not be seen; 2, 3 it could not begin."
)


def examine(
    name: str | None,
    measuring: bool = False,
    peer: str | None = None,
    tree: Tree | None = None,
    asking: Callable[[str], Card] = ask,
    clocks: Callable[[], Clock] = clock,
) -> list[Check]:
    """The machine, and a card in full or one line of each.

    Args:
        name: interface; None: all Ethernet cards.
        measuring: run hwcheck on it, for a second or two.
        peer: interface at the other end of its cable.

    Raises:
        ConfigError: there is no such interface, or nothing to measure.
        EnvironmentProblemError: it has gone while it was asked.
    """
    tree = tree or Tree()
    _check(tree, name, measuring, peer)

    def has_phc(each: str) -> bool:
        return card.phc(asking(each)).state == OK

    of_machine = machine.checks(tree, clocks(), has_phc, name)
    checks = go_through(MACHINE, [*modules.checks(tree), *of_machine, *guest.checks(tree)])
    checks.append(_tools(tree))
    if name is not None:
        return checks + _card(tree, name, asking(name), measuring, peer)
    for each in tree.interfaces():
        its = asking(each)
        lines = go_through(each, card.checks(tree, each, its)[:1])
        if (_is_card(tree, each) or its.driver in LENDING) and each in tree.interfaces():
            checks += lines
    return checks


def _is_card(tree: Tree, name: str) -> bool:
    try:
        return tree.is_card(name)
    except OSError:  # it is being taken away
        return False


def _check(tree: Tree, name: str | None, measuring: bool, peer: str | None) -> None:
    there = tree.interfaces()
    for which, given in (("argument IFACE", name), ("option --peer", peer)):
        if given is not None and given not in there:
            raise ConfigError(
                f'{which} = "{one_line(given)}": is no interface here; there are'
                f" {', '.join(map(one_line, there)) or 'none'}"
            )
    if measuring and name is None:
        raise ConfigError("option --measure: needs the argument IFACE, the card to measure")
    if peer is not None and not measuring:
        raise ConfigError("option --peer: is for --measure; say both, or none")
    if peer is not None and peer == name:
        raise ConfigError(
            f'option --peer = "{one_line(peer)}": is the card itself; name the interface at the'
            " other end of its cable"
        )


def _card(tree: Tree, name: str, its: Card, measuring: bool, peer: str | None) -> list[Check]:
    checks = go_through(name, card.checks(tree, name, its))
    there = tree.interfaces()
    if name not in there:
        raise EnvironmentProblemError(
            f"interface {one_line(name)} has gone while it was asked; say keepon doctor again"
        )
    if its.driver == card.LINK_KIND:
        return checks
    others = [each for each in there if _is_card(tree, each) and each != name]
    native = card.lends(its)
    shown = measured.remedy(name, peer or next(iter(others), None), native)
    if measuring and card.has_no_ring(tree, name, its):
        raise ConfigError(
            f"option --measure: Keepon could not send through {one_line(name)}"
            f" ({card.driver(tree, name, its).found}); leave it out"
        )
    if measuring:
        return checks + measured.measure(name, peer, native, shown)
    if card.has_no_ring(tree, name, its):
        return checks
    why = "not measured" if others else "not measured; for the bad FCS say the far end by --peer"
    return checks + measured.unmeasured(name, why, shown)


def _there(tree: Tree, name: str) -> bool:
    try:
        return tree.has(name)
    except OSError:  # a folder of PATH that is not ours to read
        return False


def _tools(tree: Tree) -> Check:
    """What the remedies of the others need."""
    places = [place.strip("/") for place in os.environ.get("PATH", os.defpath).split(":")]
    places += SBIN
    missing = [name for name in TOOLS if not any(_there(tree, f"{at}/{name}") for at in places)]
    if not missing:
        return Check(MACHINE, "tools", OK, f"{', '.join(TOOLS)} are there", "")
    packages = " ".join(dict.fromkeys(TOOLS[name] for name in missing))
    return Check(
        MACHINE, "tools", NOTE, f"without {', '.join(missing)}", f"apt-get install {packages}"
    )


def document(checks: Sequence[Check], name: str | None) -> dict[str, Any]:
    """The checks as data."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "interface": name,
        "checks": [asdict(check) for check in checks],
        "worst": worst(checks),
        "verdict": verdict(checks),
    }


def verdict(checks: Sequence[Check]) -> str:
    """How many of what, worst first."""
    counts = {
        state: sum(check.state == state for check in checks) for state in reversed(EXIT_CODES)
    }
    words = {PROBLEM: "problem", UNKNOWN: "unknown", NOTE: "note", OK: "ok"}
    plural = {PROBLEM: "problems", UNKNOWN: "unknown", NOTE: "notes", OK: "ok"}
    return ", ".join(
        f"{count} {words[state] if count == 1 else plural[state]}"
        for state, count in counts.items()
        if count
    )


def width(out: TextIO) -> int:
    """Columns of the terminal, or of COLUMNS, or 80."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and len(columns) < DIGITS_MAX and int(columns) > 0:
        given = int(columns)
    else:
        given = os.get_terminal_size(out.fileno()).columns if out.isatty() else 80
    return max(COLUMNS_MIN, min(given or 80, COLUMNS_MAX))


def coloured(out: TextIO) -> bool:
    """Colours on a terminal that has them, unless NO_COLOR says otherwise."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def table(checks: Sequence[Check], columns: int, colours: bool) -> str:
    """A paragraph for each check; sentences are broken, commands never, so that they can be
    copied. A command that mends several in a row is below the last of them.
    """
    lines = []
    about = ""
    for check, after in zip(checks, [*checks[1:], None], strict=True):
        if check.about != about:
            about = check.about
            lines.append(f"{one_line(about)}:")
        lines += _paragraph(check, columns, colours)
        again = after and (after.about, after.remedy) == (check.about, check.remedy)
        if check.remedy and not again:
            lines.append(f"{' ' * MARK_COLUMNS} $ {check.remedy}")
    return "\n".join([*lines, verdict(checks)])


def _paragraph(check: Check, columns: int, colours: bool) -> list[str]:
    # On a narrow terminal the sentence has lines of its own.
    head = f"{check.state:{MARK_COLUMNS}} {check.name:{NAME_COLUMNS}} "
    narrow = columns < NARROW_COLUMNS
    indent = " " * (MARK_COLUMNS + 1 if narrow else len(head))
    wrapped = textwrap.wrap(
        check.found, columns - len(indent), break_long_words=False, break_on_hyphens=False
    ) or [""]
    first = [head.rstrip()] if narrow else [head + wrapped.pop(0)]
    lines = [*first, *(indent + line for line in wrapped)]
    if colours:
        mark = f"\x1b[{COLOURS[check.state]}m{check.state}\x1b[0m"
        lines[0] = mark + lines[0].removeprefix(check.state)
    return [line.rstrip() for line in lines]
