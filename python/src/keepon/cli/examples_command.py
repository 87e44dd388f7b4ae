# SPDX-License-Identifier: BSD-3-Clause
"""`keepon examples`: the scenarios that came with Keepon."""

from __future__ import annotations

import textwrap
from pathlib import Path

from keepon.cli import new_command
from keepon.model import examples
from keepon.report import terminal

UNLIMITED = 10_000


def listed() -> str:
    """What each is, in a pipe in one line, and where they are."""
    width = terminal.width() or UNLIMITED
    lines = [
        textwrap.fill(f"{name:<16} {examples.title(name)}", width, subsequent_indent=" " * 17)
        for name in examples.names()
    ]
    return "\n".join([*lines, f"files: {examples.folder()}"])


def copy(name: str, file: Path | None) -> str:
    """Write one into a file that is not there yet; what to do next.

    Raises:
        ConfigError: there is no such example, or the file is there or cannot be written.
    """
    target = Path(f"{name}.toml") if file is None else file
    return new_command.create(target, examples.copied(name, target.parent))
