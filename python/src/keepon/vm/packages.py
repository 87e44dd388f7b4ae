# SPDX-License-Identifier: BSD-3-Clause
"""Debian packages from whatever sources apt has on this machine: unpacked and never installed, kept in the cache."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from keepon.vm.paths import cache_folder, find_program, run_host


def offered_names(pattern: str) -> list[str]:
    """Names of the packages apt knows that match a regular expression."""
    lines = run_host([find_program("apt-cache"), "search", "--names-only", pattern]).splitlines()
    return [line.split()[0] for line in lines if line]


def candidate(package: str) -> str | None:
    """The version apt would install; None if it knows no such package."""
    policy = run_host([find_program("apt-cache"), "policy", package])
    found = re.search(r"^ *Candidate: (\S+)", policy, re.MULTILINE)
    return None if found is None or found[1] == "(none)" else found[1]


def download(package: str) -> Path:
    """The .deb of a package; kept in the cache."""
    folder = cache_folder() / "packages"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as draft:
        run_host([find_program("apt-get"), "-q", "download", package], cwd=Path(draft))
        (path,) = Path(draft).glob("*.deb")
        return path.replace(folder / path.name)


def unpack(package: str, tree: Path) -> str:
    """Unpack a package below `tree`; its file name. Taken from the cache when it holds this very version."""
    dpkg_deb = find_program("dpkg-deb")
    version = (candidate(package) or "").replace(":", "%3a")
    kept = sorted((cache_folder() / "packages").glob(f"{package}_{version or '*'}_*.deb"))
    path = kept[-1] if kept else download(package)
    run_host([dpkg_deb, "-x", path, tree])
    return path.name
