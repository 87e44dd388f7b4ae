# SPDX-License-Identifier: BSD-3-Clause
"""Whether this program runs from a checkout, and of which folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from keepon_host.errors import EnvironmentProblemError


def checkout() -> Path | None:
    """Top folder of the checkout that this program runs from; None: it was installed."""
    for folder in Path(__file__).resolve().parents:
        if (folder / "kernel" / "keepon").is_dir() and (folder / "Makefile").is_file():
            return folder
    return None


def checkout_root() -> Path:
    """The same, where sources are needed.

    Raises:
        EnvironmentProblemError: it was installed without them.
    """
    if (folder := checkout()) is None:
        raise EnvironmentProblemError(
            f"{Path(__file__).parent} is in no checkout of Keepon, whose sources are needed here:"
            " run `make run`"
        )
    return folder


def found_program(name: str) -> str:
    """One of our programs, installed or built here.

    Raises:
        EnvironmentProblemError: it is neither.
    """
    installed = shutil.which(name)
    if installed is not None:
        return installed
    built = checkout_root() / "out" / "build" / "python" / "tools" / name
    if not built.is_file():
        raise EnvironmentProblemError(
            f"the program {name} is not here; run `scripts/setup run` in a checkout, or install it"
        )
    return str(built)
