# SPDX-License-Identifier: BSD-3-Clause
"""The outermost edge of the command: whatever ends it becomes one line on stderr and an exit code.

What is a defect of Keepon and not of the input gets a second line, to be sent with a report.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.metadata
import io
import math
import os
import platform
import re
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
import typer.exceptions
from keepon_host import interrupts
from keepon_host.alone import NO_ROOM, drop_output
from keepon_host.alone import say as say

from keepon import __version__, errors
from keepon.errors import (
    EXIT_DEFECT,
    EXIT_ENVIRONMENT,
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    KeeponError,
    one_line,
)
from keepon.model import atomic, lines

MESSAGE_MAX = 2_000
LINES_MAX = 20
"""What is said of one file."""
BARRED = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EROFS)
"""A name on the command line leads to no file that this user may read or write."""
NOTHING = "nothing was written"
STARTED_S = time.monotonic()
"""Before most of what a command loads: what it says it took is what its user waited."""
_ABOUT_KEY = re.compile(r"(?P<file>.+?\.toml): key `(?P<key>[^`]+)`")
_NAMED = re.compile(r'key `\w+\[\d+\]([^`]*)`(?: \([a-z]+ "[^"]*"\))?')
_AT_LINE = re.compile(r".+?\.toml:(\d+): ")


_RULES = {
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
}
"""By pydantic's kinds of errors, by which typer reads values."""


def parameter_named(parameter: Any) -> str:
    """A parameter as it is typed; typer says no type of it."""
    if parameter.param_type_name == "argument":
        return f"argument {(parameter.metavar or parameter.name).upper()}"
    return f"option {parameter.opts[0]}"


def _command(context: Any) -> str:
    """The command, however Python was started."""
    words: list[str] = []
    while context is not None and context.parent is not None:
        words.insert(0, context.info_name)
        context = context.parent
    return " ".join(("keepon", *words))


def usage_sentence(error: typer.exceptions.TyperException) -> str:
    """One sentence, without keepon's name before it."""
    parameter = getattr(error, "param", None)
    remedy = f"see {_command(getattr(error, 'ctx', None))} --help"
    if parameter is None:
        return f"{error.format_message().rstrip('.')}; {remedy}"
    if hasattr(error, "param_type"):  # typer's kind of error for what is missing
        return f"{parameter_named(parameter)}: is missing; {remedy}"
    found: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if not found:
        return f"{parameter_named(parameter)}: {error.message.rstrip('.')}; {remedy}"
    first = found[0]
    rule = _RULES.get(first["type"], first["msg"]).format(**first.get("ctx", {}))
    return f"{parameter_named(parameter)} = {one_line(first['input'])}: {rule}; {remedy}"


class Settings:
    """What is known of this call when it ends."""

    debug = False
    source = ""  # scenario file: what a message about a key begins with
    concluded = False  # a message has said what an interrupted run left
    left = ""  # what an interrupted command leaves


def open_output() -> None:
    """Stdout that takes every letter, whatever its encoding; nothing where one is closed."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 (as long as the process)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 (as long as the process)
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def guard(command: Callable[[], int | None]) -> int:
    """The exit code of a command; every error is one line on stderr, a traceback only
    with --debug.
    """
    try:
        return _guarded(command)
    except KeyboardInterrupt:  # while another error was printed
        return EXIT_INTERRUPTED


def _guarded(command: Callable[[], int | None]) -> int:
    Settings.source, Settings.concluded, Settings.left = "", False, NOTHING
    atomic.placed.clear()
    open_output()
    try:
        code = command()
        sys.stdout.flush()
        if code == EXIT_INTERRUPTED and not Settings.concluded:
            say(f"keepon: interrupted; {_left()}")
    except KeeponError as error:
        _trace()
        for line in _lines(error):
            say(f"keepon: {errors.one_line(line, MESSAGE_MAX)}")
        if error.exit_code == EXIT_DEFECT:
            say(_report_line())
        return error.exit_code
    except typer.exceptions.TyperException as error:
        say(f"keepon: {errors.one_line(usage_sentence(error), MESSAGE_MAX)}")
        return EXIT_INPUT
    except (KeyboardInterrupt, typer.Abort):
        say(f"keepon: interrupted; {_left()}")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return EXIT_INTERRUPTED
    except SystemExit as end:
        if end.code != 1:
            return int(end.code or 0)
        drop_output()  # click's and rich's answer to a reader that has gone
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 (the outermost edge)
        if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
            say(f"keepon: the output cannot be written ({error.strerror}); send it elsewhere")
            drop_output()
            return EXIT_ENVIRONMENT
        _trace()
        if interrupts.came():
            say(f"keepon: interrupted; {_left()}")
            return EXIT_INTERRUPTED
        if isinstance(error, OSError) and error.errno in BARRED and error.filename is not None:
            name = errors.one_line(os.fsdecode(error.filename))
            say(
                f"keepon: {name}: cannot be read or written ({error.strerror}); check the"
                " permissions, or choose another name"
            )
            return EXIT_ENVIRONMENT
        say(
            f"keepon: internal error ({type(error).__name__}: {errors.one_line(error, 200)});"
            " --debug shows where"
        )
        say(_report_line())
        return EXIT_DEFECT
    return int(code or 0)


def _left() -> str:
    """What an interrupted command leaves: what it made before is whole."""
    if Settings.left != NOTHING or not atomic.placed:
        return Settings.left
    names = ", ".join(str(path) for path in dict.fromkeys(atomic.placed))
    return f"{errors.one_line(names, 200)} had been written"


def _lines(error: KeeponError) -> list[str]:
    """What to say of an error, a line each."""
    if not isinstance(error, errors.SeveralConfigError):
        return [_placed(str(error))]
    alike: dict[str, str] = {}  # of those that one table of the file stands for one is said
    left = list(error.messages)
    while left and len(alike) < LINES_MAX and len(error.messages) - len(left) < 2 * LINES_MAX:
        placed = _placed(left.pop(0))
        alike.setdefault(_NAMED.sub(r"\1", placed), placed)
    lines = sorted(alike.values(), key=_line)
    if left:
        more = len(left) + len(lines[LINES_MAX - 1 :])
        lines[LINES_MAX - 1 :] = [f"and {more} more; correct these first"]
    return lines


def _line(placed: str) -> float:
    """The line that a message is about; those about none come last."""
    found = _AT_LINE.match(placed)
    return int(found[1]) if found else math.inf


def _placed(message: str) -> str:
    """A message about a key, with file and line before it as editors know them: `file:line: `."""
    if message.startswith("key `"):
        message = f"{Settings.source}: {message}"
    found = _ABOUT_KEY.match(message)
    line = lines.line_of(Path(found["file"]), found["key"]) if found else None
    if found is None or line is None:
        return message
    return f"{found['file']}:{line}{message[found.end('file') :]}"


def _trace() -> None:
    if Settings.debug:
        traceback.print_exc()


def _report_line() -> str:
    """What a report needs beside the message: versions, the command, and which file it was."""
    versions = (
        f"keepon {__version__}, Python {platform.python_version()}, ortools {_version('ortools')}"
    )
    words = " ".join(sys.argv[1:])
    return (
        f"keepon: a defect of Keepon; please report it with: {versions},"
        f" {errors.one_line(words, 200)}{_source()}"
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _source() -> str:
    """The scenario by its hash: a file often changes before a defect is looked into."""
    try:
        content = Path(Settings.source).read_bytes() if Settings.source else b""
    except OSError:
        content = b""
    return f", sha256 {hashlib.sha256(content).hexdigest()[:16]} (and the file)" if content else ""
