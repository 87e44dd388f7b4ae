# SPDX-License-Identifier: BSD-3-Clause
"""tshark with our dissector, and not as root, whose scripts it leaves out from 4.4 on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

DISSECTOR = Path(__file__).parents[2] / "tools" / "wireshark" / "keepon.lua"
NOBODY: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}


def tshark(path: Path, *words: str) -> str:
    """What it prints of a capture; it may say nothing beside."""
    # Handed over open, as nobody may look into the folders of this user.
    with DISSECTOR.open() as script, path.open() as capture:
        files = [file.fileno() for file in (script, capture)]
        lua, packets = (f"/dev/fd/{number}" for number in files)
        done = subprocess.run(
            ["tshark", "-X", f"lua_script:{lua}", "-r", packets, *words],
            capture_output=True, text=True, check=True, timeout=120, pass_fds=files,
            env=os.environ | {"HOME": "/nonexistent"}, **NOBODY if os.geteuid() == 0 else {},
        )  # fmt: skip
    assert done.stderr == ""
    return done.stdout
