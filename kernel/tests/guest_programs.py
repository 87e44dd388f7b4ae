# SPDX-License-Identifier: GPL-2.0-only
"""Programs of our own for guests, built for a test: linked statically, as a guest has no libraries
but those of the tools it is given.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).parent
KERNEL = HERE.parent
PLUGIN = "/usr/lib/x86_64-linux-gnu/ip/link_keepon.so"
"""Where the guest's iproute2 looks for it."""
GUARD_PLUGIN = "/usr/lib/x86_64-linux-gnu/tc/q_guard.so"
_FLAGS = (
    *("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static"),
    f"-I{KERNEL / 'include' / 'uapi'}",
)


def _must(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def compiled(folder: Path, name: str, *sources: str, compiler: str = "gcc") -> Path:
    """A program in the folder, of C sources beside this file; without any, of NAME.c."""
    program = folder / name
    paths = [str(HERE / source) for source in sources or (f"{name}.c",)]
    _must([compiler, *_FLAGS, *paths, "-o", str(program)])
    return program


def phy_register(folder: Path, compiler: str = "gcc") -> dict[str, Path]:
    """phy_register as a file of a guest."""
    return {"/usr/bin/phy_register": compiled(folder, "phy_register", compiler=compiler)}


def plugin(folder: Path) -> Path:
    """The plugin for the installed `ip`, which is the one the guest gets."""
    _must([str(KERNEL / "plugin" / "build"), str(folder)])
    return folder / "link_keepon.so"


def guard_plugin(folder: Path) -> Path:
    """The plugin for the installed `tc`."""
    return plugin(folder).with_name("q_guard.so")
