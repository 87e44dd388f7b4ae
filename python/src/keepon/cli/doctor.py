# SPDX-License-Identifier: BSD-3-Clause
"""What this machine has and lacks for Keepon: interpreter, modules, compilers; each with the
remedy.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keepon import __version__
from keepon.errors import EnvironmentProblemError


@dataclass(frozen=True)
class Check:
    """One thing looked at: `needed` ones decide whether the simulator can be used."""

    name: str
    ok: bool
    needed: bool
    found: str
    remedy: str


def _modules() -> list[Check]:
    checks = []
    for name in ("jinja2", "matplotlib", "numpy", "pydantic", "rich", "typer"):
        present = importlib.util.find_spec(name) is not None
        checks.append(
            Check(
                f"module {name}",
                present,
                True,
                "present" if present else "absent",
                "" if present else "run `make run`",
            )
        )
    return checks


def _simulator() -> Check:
    from keepon.targets.sim.build import simulator

    try:
        module = simulator()
    except EnvironmentProblemError as error:
        return Check("simulator module", False, True, str(error), "run `make run`")
    return Check("simulator module", True, True, str(module.__file__), "")


def _tools() -> list[Check]:
    wanted = {
        "gcc": ("builds core and simulator", "apt-get install gcc g++"),
        "cmake": ("builds core and simulator", "apt-get install cmake"),
        "ninja": ("builds core and simulator", "apt-get install ninja-build"),
        "git": ("names the commit in results", "apt-get install git"),
        "clang": ("fuzzing and the lint tier", "apt-get install clang"),
        "qemu-system-x86_64": ("target vm and kernel tests", "scripts/setup kernel"),
    }
    checks = []
    for name, (purpose, remedy) in wanted.items():
        path = shutil.which(name)
        checks.append(
            Check(
                f"tool {name} ({purpose})",
                path is not None,
                False,
                path or "absent",
                remedy if path is None else "",
            )
        )
    return checks


def _link_kind() -> Check:
    """Whether this machine's own kernel has link kind keepon; target vm brings its own."""
    loaded = Path("/sys/module/keepon").is_dir()
    remedy = (
        ""
        if loaded
        else "none needed for targets sim and vm; docs/kernel.md says how to build and load it"
    )
    return Check(
        "kernel module keepon", loaded, False, "loaded" if loaded else "not loaded here", remedy
    )


def examine() -> list[Check]:
    """Every check, in the order to read them."""
    recent = sys.version_info >= (3, 11)
    return [
        Check(
            "Python",
            recent,
            True,
            platform.python_version(),
            "" if recent else "use Python 3.11 or newer",
        ),
        *_modules(),
        _simulator(),
        *_tools(),
        _link_kind(),
    ]


def document(checks: list[Check]) -> dict[str, Any]:
    """The checks as data."""
    return {
        "version": __version__,
        "ok": all(check.ok for check in checks if check.needed),
        "checks": [asdict(c) for c in checks],
    }
