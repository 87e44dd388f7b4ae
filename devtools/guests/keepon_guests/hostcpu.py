# SPDX-License-Identifier: BSD-3-Clause
"""A host CPU for a guest, with QEMU's main thread always first on it: what makes mode icount repeat
to the instruction.

With `-icount sleep=off` QEMU's main thread moves virtual time on to the next timer once the vCPU
has halted. It goes by a flag that the vCPU thread sets a little before it adds the instructions it
has just executed (QEMU 7.2): a main thread that looks in between moves time on by that number too
much, and two equal guests part ways. Timers wake it at any time, so the host's scheduler decides.
It decides nothing any more when both threads share one CPU and the main thread, by a real-time
priority that it does not hand on, runs as soon as it can: the vCPU thread then stands still
wherever it is.
"""

from __future__ import annotations

import fcntl
import functools
import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

MAIN_THREAD_FIRST = ["chrt", "--reset-on-fork", "--fifo", "1"]


@functools.cache
def may_be_first() -> bool:
    """Whether this user may give a thread real-time priority (root, or a limit `rtprio` of 1 and
    more).
    """
    done = subprocess.run([*MAIN_THREAD_FIRST, "true"], capture_output=True, check=False)
    return done.returncode == 0


@contextmanager
def own_cpu(locks: Path) -> Iterator[list[str]]:
    """Words before QEMU's command line that put it on one CPU, on a free one as long as `locks`
    knows one.

    Without the right to real-time priority both threads still share a CPU, and runs differ seldom
    instead of never.
    """
    locks.mkdir(parents=True, exist_ok=True)
    cpus = sorted(os.sched_getaffinity(0))
    first = MAIN_THREAD_FIRST if may_be_first() else []
    with ExitStack() as held:
        for cpu in cpus:
            lock = held.enter_context((locks / f".cpu-{cpu}.lock").open("w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            break
        else:
            cpu = random.choice(cpus)  # they are all taken: none is better
        yield ["taskset", "--cpu-list", str(cpu), *first]
