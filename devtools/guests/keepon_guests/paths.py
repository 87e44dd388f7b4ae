# SPDX-License-Identifier: BSD-3-Clause
"""Where the virtual machine tooling keeps things, and locks, because several people may share one
checkout.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from keepon_host.checkout import checkout_root
from keepon_host.errors import EnvironmentProblemError

SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")


def cache_folder() -> Path:
    """Kernels, initramfs archives and downloads; may be removed at any time.

    Checkouts may share one by a link: what is in it names its own place, so that has to be the same
    for all of them.
    """
    folder = checkout_root() / "out" / "cache" / "vm"
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def find_program(name: str) -> Path:
    """Path of a host program, also in the folders of system programs that are not in every user's
    PATH.
    """
    found = shutil.which(name) or shutil.which(name, path=":".join(SYSTEM_FOLDERS))
    if found is None:
        raise EnvironmentProblemError(f"program {name} is missing: run `scripts/setup kernel`")
    return Path(found)


def run_host(command: Sequence[str | Path], *, cwd: Path | None = None) -> str:
    """Standard output of a host command; EnvironmentProblemError with its last lines when
    it fails.
    """
    parts = [str(part) for part in command]
    try:
        done = subprocess.run(
            parts,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise EnvironmentProblemError(
            f"{parts[0]}: {error.strerror}: run `scripts/setup kernel`"
        ) from error
    if done.returncode:
        tail = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise EnvironmentProblemError(
            f"exit code {done.returncode} from {' '.join(parts[:4])}: {tail}"
        )
    return done.stdout


@contextmanager
def only_one(name: Path) -> Iterator[None]:
    """Hold the lock file NAME.lock: nobody else prepares the same thing at the same time."""
    name.parent.mkdir(parents=True, exist_ok=True)
    with name.with_name(f".{name.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
