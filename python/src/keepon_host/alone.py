# SPDX-License-Identifier: BSD-3-Clause
"""The edge of `python3 -m keepon_host...`: an error of writing its output is one line, as with
`keepon`.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence

from keepon_host.errors import EXIT_ENVIRONMENT, EXIT_INTERRUPTED

NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)


def drop_output() -> None:
    """What is left in the buffer of stdout goes nowhere: it would fail again at exit, and change
    the exit code.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """One line on stderr. If it cannot be written, because the disk is full or the terminal has
    gone, the line is lost, and the exit code stays what it is.
    """
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        # What is left in its buffer would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def run(main: Callable[[Sequence[str]], int]) -> int:
    """The exit code of a program whose output may be closed, full, or without a reader."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 (as long as the process)
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        return EXIT_INTERRUPTED
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename is not None:
            raise
        say(f"keepon: the output cannot be written ({error.strerror}); send it elsewhere")
        drop_output()
        return EXIT_ENVIRONMENT
    return code
