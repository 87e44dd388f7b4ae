# SPDX-License-Identifier: BSD-3-Clause
"""Whose a data race is that KCSAN reports: a module's, or the kernel's own.

Kernels have races of their own, between accesses their authors did not mark. A report is about a
module if an unmarked access was made by it, or by the function of the kernel it called. An atomic
access of a module that meets an unmarked one of the kernel is the kernel's to mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

TITLE = re.compile(r"BUG: KCSAN: ")
END = re.compile(r"^\s*={20,}$")
# "write to", "read (marked) to", "read-write (reordered) to", "race at unknown origin, with read
# to"
ACCESS = re.compile(
    r"(?:read|write|assert no \w+)(?P<kind> \([a-z, ]+\))? to 0x[0-9a-f]+ of \d+ bytes by "
)
FRAME = re.compile(r"^\s*\S+\+0x[0-9a-f]+/0x[0-9a-f]+(?P<module> \[\w+\])?$")
# The access and who called it.
FRAMES = 2


def is_of_modules(report: Sequence[str]) -> bool:
    """Whether an unmarked access is a module's; also if the report cannot be read."""
    unmarked = complete = False
    left = 0
    for line in report:
        access = ACCESS.search(line)
        frame = FRAME.match(line)
        if access:
            unmarked = "marked" not in (access["kind"] or "")
            left = FRAMES
        elif frame and left:
            left -= 1
            complete = True
            if unmarked and frame["module"]:
                return True
    return not complete


def of_the_kernel(lines: Sequence[str]) -> set[int]:
    """Numbers of the lines that begin a report about the kernel's own code; `lines`
    without stamps.
    """
    found = set()
    for number, line in enumerate(lines):
        if TITLE.search(line):
            rest = lines[number + 1 :]
            size = next((place for place, text in enumerate(rest) if END.match(text)), None)
            if size is not None and not is_of_modules(rest[:size]):
                found.add(number)
    return found
