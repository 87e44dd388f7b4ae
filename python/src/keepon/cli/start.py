# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon` begins with: to load all of it takes part of a second, and whoever ends it in that
time gets the sentence that is told later, too.
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
    """Not by an exception: a module that is half loaded may make another one of it. When all is
    done it stays so.
    """
    if interrupts.over():
        return
    os.write(2, b"keepon: interrupted; nothing was written\n")
    os._exit(EXIT_INTERRUPTED)


def main() -> int:
    """The command."""
    with interrupts.ended_by(_leave):
        from keepon.cli import app

        code = app.main()
        if code == EXIT_INTERRUPTED:
            # Python would wait for threads that began as it came and were told of no end, and would
            # give the signal for the exit code if it came in the midst of an eval().
            for each in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    each.flush()
            os._exit(code)
    for number in interrupts.ENDING:
        signal.signal(number, signal.SIG_IGN)  # all is done, and was so when it came
    return code
