# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon`, and `python -m keepon`, begins with: to load all of it takes part of a second, and
who ends it in that time gets the same sentence as later.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from keepon_host import interrupts
from keepon_host.entry import leave

from keepon.errors import EXIT_INTERRUPTED


def main() -> int:
    """The command."""
    numbers = interrupts.handled_by(leave)
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


if __name__ == "__main__":
    raise SystemExit(main())
