# SPDX-License-Identifier: BSD-3-Clause
"""What a check answers, and how a list of them is gone through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from keepon_host.errors import EXIT_MET, EXIT_MISSED, EXIT_NOTHING_CHECKED, one_line, shell_word

MACHINE = "machine"

OK, NOTE, UNKNOWN, PROBLEM = "ok", "note", "unknown", "problem"
EXIT_CODES = {OK: EXIT_MET, NOTE: EXIT_MET, UNKNOWN: EXIT_NOTHING_CHECKED, PROBLEM: EXIT_MISSED}
"""From best to worst."""


@dataclass(frozen=True)
class Answer:
    """What was found.

    Attributes:
        state: OK; NOTE: works, and could be better; UNKNOWN: could not be seen; PROBLEM.
        found: one sentence.
        remedy: a shell command that mends it, or shows it; empty if there is none.
    """

    state: str
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Unseen:
    """What could not be found out, and why."""

    why: str


@dataclass(frozen=True)
class Check:
    """An answer with what it is about: "machine", "installation" or an interface."""

    about: str
    name: str
    state: str
    found: str
    remedy: str


Named = tuple[str, Callable[[], Answer]]


def unseen(what: Unseen) -> Answer:
    return Answer(UNKNOWN, what.why)


def as_root(about: str) -> str:
    """The same question asked by root."""
    return "sudo keepon doctor" + ("" if about == MACHINE else f" {shell_word(about)}")


def go_through(about: str, checks: Iterable[Named]) -> list[Check]:
    """The answers of these; what is not permitted, or cannot be read, is unknown."""
    done = []
    for name, check in checks:
        try:
            answer = check()
        except PermissionError as error:
            found = f"only root can see that ({one_line(error.filename)})"
            answer = Answer(UNKNOWN, found, as_root(about))
        except OSError as error:
            found = f"{one_line(error.filename)} cannot be read ({error.strerror})"
            answer = Answer(UNKNOWN, found)
        except ValueError as error:  # a number that is none
            answer = Answer(UNKNOWN, f"what the kernel says is not understood ({one_line(error)})")
        done.append(Check(about, name, answer.state, answer.found, answer.remedy))
    return done


def worst(checks: Sequence[Check]) -> str:
    """The worst state of these."""
    order = list(EXIT_CODES)
    return max((check.state for check in checks), key=order.index, default=OK)
