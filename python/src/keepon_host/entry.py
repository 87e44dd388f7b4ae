# SPDX-License-Identifier: BSD-3-Clause
"""Where the command `keepon` begins: signals are handled before anything else is loaded."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

from keepon_host import __version__, alone
from keepon_host.errors import EXIT_INTERRUPTED, EXIT_MET


def leave(_number: int, _frame: Any) -> None:
    """End without an exception: a module that is half loaded may make another one of it."""
    os.write(2, b"keepon: interrupted; nothing was written\n")
    os._exit(EXIT_INTERRUPTED)


def _run(words: Sequence[str]) -> int:
    if words == ["--version"]:
        print(f"keepon {__version__}")
        return EXIT_MET
    from keepon_host import cli

    return cli.dispatch(words)


def begin() -> int:
    """The program `keepon`; its exit code."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    obeyed = [number for number in ending if signal.getsignal(number) is not signal.SIG_IGN]
    for number in obeyed:
        signal.signal(number, leave)
    code = alone.run(_run)
    for number in obeyed:
        signal.signal(number, signal.SIG_IGN)  # what comes now comes too late
    return code
