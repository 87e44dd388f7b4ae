# SPDX-License-Identifier: BSD-3-Clause
"""What a guest gets besides kernel modules: keepon-talk, keepon-listen and the iproute2 plugin."""

from __future__ import annotations

from pathlib import Path

from keepon.errors import EnvironmentProblemError
from keepon.vm.paths import checkout_root, only_one, run_host

PLUGIN_IN_GUEST = "/usr/lib/x86_64-linux-gnu/ip/link_keepon.so"
NAMES = ("keepon-talk", "keepon-listen")


def tools() -> list[Path]:
    """Statically linked talker and listener, as scripts/setup builds them.

    Raises:
        EnvironmentProblemError: they were not built.
    """
    folder = checkout_root() / "out" / "build" / "python" / "tools"
    found = [folder / name for name in NAMES]
    for path in found:
        if not path.is_file():
            raise EnvironmentProblemError(f"{path.name} is not built: run `scripts/setup run kernel`")
    return found


def plugin() -> Path:
    """The iproute2 plugin, built against the headers of the distribution's source package when it is not up to date."""
    root = checkout_root()
    folder = root / "out" / "build" / "plugin"
    target = folder / "link_keepon.so"
    sources = [*sorted((root / "kernel" / "plugin").iterdir()), root / "kernel/include/uapi/keepon_link.h"]
    with only_one(folder):
        if not target.is_file() or any(source.stat().st_mtime > target.stat().st_mtime for source in sources):
            run_host([root / "kernel" / "plugin" / "build", folder])
    return target


def guest_files() -> dict[str, Path]:
    """Files every guest of this target gets."""
    return {PLUGIN_IN_GUEST: plugin()}
