# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon` begins with: to load all of it takes part of a second, and who ends it in that time
gets the same sentence as later.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

from keepon_host import interrupts

from keepon.errors import EXIT_INTERRUPTED


def _leave(_number: int, _frame: FrameType | None) -> None:
    """Not by an exception: a module that is half loaded may make another one of it."""
    os.write(2, b"keepon: interrupted; nothing was written\n")
    os._exit(EXIT_INTERRUPTED)


def main() -> int:
    """The command."""
    numbers = interrupts.handled_by(_leave)
    from keepon.cli import app

    code = app.main()
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)  # what comes now comes too late
    if code == EXIT_INTERRUPTED:
        # Python would wait for threads that know of no end.
        for each in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                each.flush()
        os._exit(code)
    return code
