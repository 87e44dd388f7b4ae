# SPDX-License-Identifier: BSD-3-Clause
"""What a setup needs of a machine, looked at before anything is changed."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from keepon_host.doctor import asked, schedulers
from keepon_host.doctor.tree import Tree
from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line
from keepon_host.start import steps
from keepon_host.start.steps import PACKAGES, Need

CLASS = Path("/sys/class/net")
_MODULE = re.compile(r"^(\S*/)?keepon\.ko(\.\w+)?:", re.MULTILINE)


def check_root() -> None:
    """Raises EnvironmentProblemError: we are not root."""
    if os.geteuid():
        raise EnvironmentProblemError("only root may change an interface; use sudo")


def check_there(name: str) -> None:
    """Raises ConfigError: there is no such interface."""
    if "/" in name or name in ("", ".", "..") or not (CLASS / name / "ifindex").is_file():
        there = ", ".join(sorted(entry.name for entry in CLASS.iterdir()))
        raise ConfigError(
            f'argument NIC = "{one_line(name)}": is no interface here; there are {there}'
        )


def has_clock(device: str) -> bool:
    stamping = asked.stamping(device)
    return isinstance(stamping, asked.Stamping) and stamping.phc >= 0


def _check(need: Need) -> None:
    match need:
        case steps.Program(name):
            if shutil.which(name) is None:
                raise EnvironmentProblemError(
                    f"{name} is not installed: apt-get install {PACKAGES[name]}"
                )
        case steps.Free(device, remedy):
            if (CLASS / device).exists():
                raise EnvironmentProblemError(f"{device} is there already: {remedy}")
        case steps.LinkType():
            _check_link_type()
        case steps.Queues(device, count):
            has = len(list((CLASS / device / "queues").glob("tx-*")))
            if has < count:
                raise EnvironmentProblemError(
                    f"{device} has {has} transmit queues and the plan needs {count}: {need.remedy}"
                )
        case steps.Clock(device, otherwise):
            if not has_clock(device):
                raise EnvironmentProblemError(f"{device} has no PTP hardware clock, {otherwise}")
        case steps.Scheduler(kind):
            check_scheduler(kind)


def check_scheduler(kind: str) -> None:
    """Raises EnvironmentProblemError: the kernel has no such queueing discipline."""
    if schedulers.lacks(Tree(), kind):
        raise EnvironmentProblemError(schedulers.problem(Tree(), kind))


def _check_link_type() -> None:
    if Path("/sys/module/keepon").is_dir():
        return
    index = Path("/lib/modules", platform.release(), "modules.dep")
    try:
        known = _MODULE.search(index.read_text(errors="replace"))
    except OSError:
        known = None
    if known is None:
        raise EnvironmentProblemError(
            f"this kernel ({platform.release()}) has no module keepon: install keepon's modules for"
            " it (docs/kernel.md)"
        )


def check(needs: Iterable[Need]) -> None:
    """Look at all of them.

    Raises:
        EnvironmentProblemError: one is not there; the message says what to do.
    """
    for need in needs:
        _check(need)
