# SPDX-License-Identifier: BSD-3-Clause
"""Debian packages from whatever sources apt has on this machine: unpacked and never installed, kept
in the cache.

`architecture` is Debian's name of another one than this machine's; apt is told of it for the one
command, with lists of its own in the cache, so that the machine's configuration stays as it is.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from keepon.vm.paths import cache_folder, find_program, only_one, run_host


def apt_options(architecture: str | None) -> list[str]:
    """Options for apt programs; the lists of another architecture are fetched when there
    are none.
    """
    if architecture is None:
        return []
    folder = cache_folder() / f"apt-{architecture}"
    settings = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "Dir::State::Lists": folder / "lists",
        "Dir::State::Status": "/dev/null",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
    with only_one(folder):
        done = folder / ".updated"
        if not done.is_file():
            for name in ("lists/partial", "cache/archives/partial"):
                (folder / name).mkdir(parents=True, exist_ok=True)
            run_host([find_program("apt-get"), "-q", *options, "update"])
            done.touch()
    return options


def offered_names(pattern: str, architecture: str | None = None) -> list[str]:
    """Names of the packages apt knows that match a regular expression."""
    command: list[str | Path] = [
        find_program("apt-cache"),
        *apt_options(architecture),
        "search",
        "--names-only",
        pattern,
    ]
    return [line.split()[0] for line in run_host(command).splitlines() if line]


def dependencies(names: list[str], architecture: str) -> list[str]:
    """The packages `names` and all that they depend on, as far as a dependency names one
    package.
    """
    without = [
        f"--no-{kind}"
        for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    ]
    command: list[str | Path] = [
        find_program("apt-cache"),
        *apt_options(architecture),
        "depends",
        "--recurse",
        *without,
        *names,
    ]
    return sorted({line for line in run_host(command).splitlines() if re.match(r"[a-z0-9]", line)})


def candidate(package: str, architecture: str | None = None) -> str | None:
    """The version apt would install; None if it knows no such package."""
    policy = run_host([find_program("apt-cache"), *apt_options(architecture), "policy", package])
    found = re.search(r"^ *Candidate: (\S+)", policy, re.MULTILINE)
    return None if found is None or found[1] == "(none)" else found[1]


def download(package: str, architecture: str | None = None) -> Path:
    """The .deb of a package; kept in the cache."""
    folder = cache_folder() / "packages"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as draft:
        run_host(
            [find_program("apt-get"), "-q", *apt_options(architecture), "download", package],
            cwd=Path(draft),
        )
        (path,) = Path(draft).glob("*.deb")
        return path.replace(folder / path.name)


def unpack(package: str, tree: Path, architecture: str | None = None) -> str:
    """Unpack a package below `tree`; its file name. Taken from the cache when it holds this very
    version.
    """
    dpkg_deb = find_program("dpkg-deb")
    version = (candidate(package, architecture) or "").replace(":", "%3a")
    kept = sorted((cache_folder() / "packages").glob(f"{package}_{version or '*'}_*.deb"))
    if architecture is not None:
        kept = [path for path in kept if path.stem.rpartition("_")[2] in (architecture, "all")]
    path = kept[-1] if kept else download(package, architecture)
    run_host([dpkg_deb, "-x", path, tree])
    return path.name
