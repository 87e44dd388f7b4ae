# SPDX-License-Identifier: BSD-3-Clause
"""The exceptions of both packages, each with the exit code the command line gives it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

EXIT_MET = 0
EXIT_MISSED = 1
EXIT_INPUT = 2
EXIT_ENVIRONMENT = 3
EXIT_NOTHING_CHECKED = 4
EXIT_NO_FRAMES = 5
EXIT_NOT_TRIED = 6
EXIT_DEFECT = 70  # EX_SOFTWARE of sysexits.h
EXIT_INTERRUPTED = 130


SHOWN_MAX = 80


def one_line(value: object, most: int = SHOWN_MAX) -> str:
    """A value from outside as a message may show it: on one line, without control characters, and
    cut.

    >>> one_line("a\nb" + 100 * "c", 12)
    'a bcccccc...'
    """
    try:
        text = str(value)
    except (
        ValueError,
        RecursionError,
    ):  # numbers of thousands of digits, lists nested beyond what can be printed
        text = f"a {type(value).__name__} too large to show"
    # What is far beyond the limit is not even looked at.
    text = "".join(letter if letter.isprintable() else " " for letter in text[: 2 * most])
    return text if len(text) <= most else text[: most - 3] + "..."


def shell_word(text: str) -> str:
    """A name as one word of a shell command, whatever is in it: the kernel takes interfaces named
    `a;b` or with an escape sequence.

    >>> shell_word("eth0"), shell_word("a;b")
    ('eth0', "'a;b'")
    """
    if text.isascii() and text.isprintable():
        return shlex.quote(text)
    octal = "".join(f"\\{byte:03o}" for byte in os.fsencode(text))
    return f"\"$(printf '{octal}')\""


def shell_path(path: Path) -> str:
    """A file as one word of a shell command.

    >>> shell_path(Path("my plan.json")), shell_path(Path("-x.toml")), shell_path(Path("a/ü"))
    ("'my plan.json'", './-x.toml', "'a/ü'")
    """
    text = f"./{path}" if str(path).startswith("-") else str(path)
    return shlex.quote(text) if text.isprintable() else shell_word(text)


class KeeponError(Exception):
    """Base of everything this package raises on purpose; the message is one sentence for
    the user.
    """

    exit_code = EXIT_ENVIRONMENT


class ConfigError(KeeponError):
    """An input is wrong: the message names file, key, value, allowed range and remedy."""

    exit_code = EXIT_INPUT


class TraceError(KeeponError):
    """A file of ours cannot be read: unknown schema, damaged or not what it claims to be."""

    exit_code = EXIT_INPUT


class EnvironmentProblemError(KeeponError):
    """Something the machine lacks: the extension module, a writable folder, a tool."""
