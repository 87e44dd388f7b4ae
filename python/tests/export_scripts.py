# SPDX-License-Identifier: BSD-3-Clause
"""What tests of exports share: words of scripts, and what tc says to them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess

EACH = 'for text; do said=$(sh -c "$text" 2>&1); printf "%s\\0%s\\0" $? "$said"; done'

SLOW = """
schema = "keepon.scenario/1"
name = "slow"
duration_s = 6.0
seed = 1
sync = { mode = "ideal" }
bridge = [{ name = "sw" }]
station = [{ name = "a", driver = "launchtime" }, { name = "b", driver = "launchtime" }]
link = [{ ends = ["a", "sw"] }, { ends = ["b", "sw"] }]
[[stream]]
id = "S"
talker = "a"
listeners = ["b"]
frame_bytes = 200
"""


def script_lines(text: str) -> list[list[str]]:
    """Words of each command of a script; comments and continuations are the shell's."""
    return [
        words
        for line in text.replace("\\\n", " ").splitlines()
        if (words := shlex.split(line, comments=True))
    ]


def tc_says(*commands: str | list[str]) -> list[tuple[int, str]]:
    """Exit code and message of each command, text or words of a script, on `lo`, where none can do
    harm: in a namespace of their own, or without rights.
    """
    texts = [
        command
        if isinstance(command, str)
        else shlex.join(command).partition(" '$gates'")[0] + " flags 0x2" * ("$gates" in command)
        for command in commands
    ]
    apart = ["unshare", "--net"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*apart, "sh", "-c", EACH, "sh", *(re.sub(r" dev \S+", " dev lo", text) for text in texts)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = done.stdout.split("\0")
    return list(zip(map(int, said[:-1:2]), said[1::2], strict=True))


def tc_parses(*commands: str | list[str]) -> list[bool]:
    """Whether tc understands the words: it does if the kernel alone refuses them."""
    return [code in (0, 2) for code, _ in tc_says(*commands)]
