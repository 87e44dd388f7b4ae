# SPDX-License-Identifier: BSD-3-Clause
"""Completion of `keepon` for bash, zsh and fish, by typer."""

from __future__ import annotations

import os

from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

NAME = "keepon"
VARIABLE = "_KEEPON_COMPLETE"
# zsh runs the file itself at the first TAB, where typer's script would only prepare for the second.
AT_ONCE = {"zsh": '[ "$funcstack[1]" = _keepon ] && _keepon_completion "$@"\n'}
# As the shells look for them
FILES = {"bash": "keepon", "zsh": "_keepon", "fish": "keepon.fish"}


def prepare() -> None:
    """Let the command answer a shell that asks it what comes next."""
    if VARIABLE in os.environ:
        completion_init()


def script(shell: str) -> str:
    """What a shell reads."""
    text = get_completion_script(prog_name=NAME, complete_var=VARIABLE, shell=shell)
    return f"{text}\n{AT_ONCE.get(shell, '')}"


def texts() -> dict[str, str]:
    """The same by its file's name, `completion/bash/keepon`."""
    return {f"completion/{shell}/{file}": script(shell) for shell, file in FILES.items()}
