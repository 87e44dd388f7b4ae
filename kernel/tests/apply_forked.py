# SPDX-License-Identifier: GPL-2.0-only
"""In the guest: carries out `keepon apply` as often as it is asked, each time in a process of its
own, forked from one that has imported the command. To start Python is most of what a try takes.

Five lines in: AT, BEFORE and AFTER of the wrapped commands, SSH_CONNECTION, words of the command.
One out: number of the process. Its exit code, as a shell has it, is in /tmp/code.NUMBER when it has
ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from keepon.linux.apply.__main__ import main

NAMES = ("AT", "BEFORE", "AFTER", "SSH_CONNECTION")
SAID = "/tmp/said"


def command(values: list[str], words: str) -> None:
    """What the forked process is."""
    os.environ.update({name: value for name, value in zip(NAMES, values, strict=True) if value})
    if values[0]:
        os.environ["PATH"] = f"/tmp/bin:{os.environ['PATH']}"
    said = os.open(SAID, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, number in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(file, number)
    code = main(words.split())
    sys.stdout.flush()
    os._exit(code)


def watched(values: list[str], words: str) -> None:
    """Its parent, who waits for it, so that the next one can be asked for."""
    child = os.fork()
    if child == 0:
        command(values, words)
    print(child, flush=True)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    draft = Path(f"/tmp/draft.{child}")
    draft.write_text(f"{code if code >= 0 else 128 - code}\n")
    draft.rename(f"/tmp/code.{child}")
    os._exit(0)


while lines := [line.rstrip("\n") for _, line in zip(range(5), sys.stdin, strict=False)]:
    if os.fork() == 0:
        watched(lines[:4], lines[4])
