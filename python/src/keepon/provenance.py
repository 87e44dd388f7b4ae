# SPDX-License-Identifier: BSD-3-Clause
"""Which sources a result came from."""

from __future__ import annotations

import subprocess

from keepon_host.checkout import checkout


def commit() -> str | None:
    """Commit of the checkout this package runs from; None outside one."""
    root = checkout()
    if root is None:
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
