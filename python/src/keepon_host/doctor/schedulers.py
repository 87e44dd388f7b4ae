# SPDX-License-Identifier: BSD-3-Clause
"""Which queueing disciplines the running kernel has, without loading one: some distributions put
their modules into a package of their own.
"""

from __future__ import annotations

import re
from typing import Final

from keepon_host.doctor.tree import Tree

ALWAYS: Final = ("pfifo", "bfifo", "pfifo_fast", "mq", "noqueue")
"""Part of every kernel that has any."""
INSTALL: Final = (
    "apt-get install linux-image-$(dpkg --print-architecture) (on Ubuntu"
    " linux-modules-extra-$(uname -r))"
)


def lacks(tree: Tree, kind: str) -> bool:
    """Whether the kernel certainly has no such queueing discipline."""
    module = f"sch_{kind}"
    if kind in ALWAYS or tree.has(f"sys/module/{module}"):
        return False
    config = tree.config() or {}
    option = f"NET_SCH_{kind.upper()}"
    if config.get(option) == "y":
        return False
    folder = f"lib/modules/{tree.release}"
    lists = [tree.text(f"{folder}/{name}") for name in ("modules.dep", "modules.builtin")]
    known = [text for text in lists if text is not None]
    if any(re.search(rf"(^|/){module}\.ko", text, re.MULTILINE) for text in known):
        return False
    # Without both lists it may be part of the kernel, or be loaded by hand.
    return len(known) == len(lists) or (bool(config) and config.get(option) != "m")


def problem(tree: Tree, kind: str) -> str:
    """A sentence on what is lacking and where to get it."""
    if kind == "guard":
        return (
            "the queueing discipline guard (sch_guard) is not installed: it is Keepon's own, of"
            " package keepon-dkms or scripts/install"
        )
    return (
        f"this kernel ({tree.release}) has no queueing discipline {kind} (sch_{kind}): install one"
        f" that has it with {INSTALL}"
    )
