# SPDX-License-Identifier: BSD-3-Clause
"""What a kernel log says about the health of a kernel: panics, oopses, warnings, stalls,
corruption.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from keepon_host.errors import TraceError

from keepon_guests import races

STAMP = re.compile(r"^(?:<\d+>)?\[\s*(\d+\.\d+)\](?:\[[^]]*\])? ?")
REPORT = re.compile(r"keepon-vm: exit=(\d+) late=(yes|no) tainted=(\d+)")

# Texts of the kernel's own reports (lib/bug.c, kernel/panic.c, kernel/rcu/tree_stall.h,
# mm/kmemleak.c ...).
TROUBLE = re.compile(
    r"""
      \bBUG:\ | \bBUG\ at\  | kernel\ BUG | \bWARNING:\  | \bOops\b
    | Kernel\ panic | general\ protection\ fault | double\ fault | Unable\ to\ handle\ kernel
    | unable\ to\ handle\ page\ fault
    | rcu.*\bstall | rcu.*detected\ expedited | \bRCU\b.*stall | INFO:\ task\ .*blocked\ for
    | soft\ lockup | hard\ LOCKUP
    | kmemleak:\ (?!Kernel\ memory\ leak\ detector\ initialized)
    | KASAN | KCSAN | KFENCE | UBSAN | refcount_t: | ODEBUG: | DMA-API:.*(?:device\ driver|leak)
    | list_(?:add|del)\ corruption | possible\ (?:circular|recursive)\ locking
    | INFO:\ possible | INFO:\ trying\ to\ register | inconsistent\ lock\ state
    | suspicious\ RCU\ usage | sleeping\ function\ called
    | scheduling\ while\ atomic | bad\ unlock\ balance
    | unregister_netdevice:\ waiting | NETDEV\ WATCHDOG | transmit\ queue\ \d+\ timed\ out
    | [Oo]ut\ of\ memory | oom-kill: | page\ allocation\ failure | segfault\ at | \btraps:
    | irq\ \d+:\ nobody\ cared | Bad\ page | disagrees\ about\ version | Unknown\ symbol
    """,
    re.VERBOSE,
)

# Bits of /proc/sys/kernel/tainted that a sound kernel never sets
# (Documentation/admin-guide/tainted-kernels.rst).
TAINTS = {
    4: "machine check",
    5: "bad page",
    7: "oops or BUG",
    9: "warning",
    14: "soft lockup",
}


@dataclass(frozen=True)
class Report:
    """What the guest's first process said at the end of the script; times in virtual seconds since
    the start.
    """

    exit_code: int
    late: bool
    tainted: int
    virtual_seconds: float


def find_report(log: str) -> Report | None:
    """The report in a console log; None if the guest never came so far."""
    for line in log.splitlines():
        match = REPORT.search(line)
        stamp = STAMP.match(line)
        if match and stamp:
            return Report(int(match[1]), match[2] == "yes", int(match[3]), float(stamp[1]))
    return None


def find_trouble(log: str, expected: Sequence[str] = ()) -> list[str]:
    """Lines of a kernel log that report trouble, without those matching a pattern of `expected`,
    each once.

    Data races between the kernel's own accesses are none of ours (races.py).
    """
    try:
        allowed = [re.compile(pattern) for pattern in expected]
    except re.error as error:
        raise TraceError(
            f"expected kernel message {error.pattern!r} is no regular expression: {error.msg}"
        ) from error
    texts = [STAMP.sub("", line.rstrip("\r")) for line in log.splitlines()]
    others = races.of_the_kernel(texts)
    lines: dict[str, None] = {}
    for number, text in enumerate(texts):
        if number in others or not TROUBLE.search(text):
            continue
        if not any(pattern.search(text) for pattern in allowed):
            lines[text] = None
    return list(lines)


def taint_problems(tainted: int) -> list[str]:
    """What the taint bits say that went wrong, in words."""
    return [f"kernel is tainted: {text}" for bit, text in TAINTS.items() if tainted >> bit & 1]


def tail(log: str, lines: int = 60) -> str:
    return "\n".join(log.splitlines()[-lines:])
