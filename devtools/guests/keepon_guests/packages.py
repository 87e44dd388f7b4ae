# SPDX-License-Identifier: BSD-3-Clause
"""Debian packages from whatever sources apt has on this machine: unpacked and never installed, kept
in the cache.

`lists` names lists of their own in the cache, which apt is given for the one command, so that the
machine's configuration stays as it is: Debian's name of another architecture than this machine's,
or one of SUITES, releases that need not be this machine's.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from pathlib import Path

from keepon_host.errors import EnvironmentProblemError

from keepon_guests.paths import cache_folder, find_program, only_one, run_host

NEWEST = "newest"
# By the label of the archive that has them.
SUITES: dict[str, dict[str, tuple[str, ...]]] = {
    NEWEST: {"Debian": ("trixie", "trixie-backports", "sid")},
    "bookworm": {"Debian": ("bookworm",), "Debian-Security": ("bookworm-security",)},
}
LISTS_S = 86400
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def archives(label: str) -> list[str]:
    """Addresses of this machine's archives of a label."""
    found = run_host(
        [find_program("apt-get"), "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
         f"Label: {label}", "Component: main"]
    )  # fmt: skip
    return sorted(set(found.split()))


def sources(lists: str) -> str:
    """Lines of sources.list for SUITES, from the Debian archives of this machine."""
    if not archives("Debian"):
        raise EnvironmentProblemError(
            "apt has no list of a Debian archive: run apt-get update, or add one to the apt sources"
        )
    keys = f"[signed-by={KEYRING}] " if KEYRING.is_file() else ""
    return "".join(
        f"deb {keys}{archive} {suite} main\n"
        for label, suites in SUITES[lists].items()
        for archive in archives(label)
        for suite in suites
    )


def apt_options(lists: str | None) -> list[str]:
    """Options for apt programs; lists of their own are fetched when there are none of today."""
    if lists is None:
        return []
    folder = cache_folder() / f"apt-{lists}"
    settings = {
        "Dir::State::Lists": folder / "lists",
        "Dir::State::Status": "/dev/null",
        "Dir::Cache": folder / "cache",
        "Dir::Cache::pkgcache": "pkgcache.bin",  # a system made of an image of Debian has none
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    if lists in SUITES:
        settings |= {
            "Dir::Etc::SourceList": folder / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
        }
    else:
        settings |= {"APT::Architecture": lists, "APT::Architectures": lists}
    options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
    with only_one(folder):
        done = folder / ".updated"
        # An archive keeps no packages but those of its newest lists.
        if not done.is_file() or time.time() - done.stat().st_mtime > LISTS_S:
            for name in ("lists/partial", "cache/archives/partial"):
                (folder / name).mkdir(parents=True, exist_ok=True)
            if lists in SUITES:
                (folder / "sources.list").write_text(sources(lists))
            run_host([find_program("apt-get"), "-q", *options, "update"])
            done.touch()
    return options


def offered_names(pattern: str, lists: str | None = None) -> list[str]:
    """Names of the packages apt knows that match a regular expression."""
    command: list[str | Path] = [
        find_program("apt-cache"),
        *apt_options(lists),
        "search",
        "--names-only",
        pattern,
    ]
    return [line.split()[0] for line in run_host(command).splitlines() if line]


def dependencies(names: list[str], lists: str | None) -> list[str]:
    """The packages `names` and all that they depend on, as far as a dependency names one
    package.
    """
    without = [
        f"--no-{kind}"
        for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    ]
    command: list[str | Path] = [
        find_program("apt-cache"),
        *apt_options(lists),
        "depends",
        "--recurse",
        *without,
        *names,
    ]
    return sorted({line for line in run_host(command).splitlines() if re.match(r"[a-z0-9]", line)})


def candidate(package: str, lists: str | None = None) -> str | None:
    """The version apt would install; None if it knows no such package."""
    policy = run_host([find_program("apt-cache"), *apt_options(lists), "policy", package])
    # A name with a dot that is no package is a pattern: apt answers for linux-source-6.12, too.
    found = re.search(rf"^{re.escape(package)}:\n.*\n *Candidate: (\S+)", policy)
    return None if found is None or found[1] == "(none)" else found[1]


def download(package: str, lists: str | None = None) -> Path:
    """The .deb of a package; kept in the cache."""
    folder = cache_folder() / "packages"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as draft:
        run_host(
            [find_program("apt-get"), "-q", *apt_options(lists), "download", package],
            cwd=Path(draft),
        )
        (path,) = Path(draft).glob("*.deb")
        return path.replace(folder / path.name)


def unpack(package: str, tree: Path, lists: str | None = None) -> str:
    """Unpack a package below `tree`; its file name. Taken from the cache when it holds this very
    version.
    """
    dpkg_deb = find_program("dpkg-deb")
    version = (candidate(package, lists) or "").replace(":", "%3a")
    kept = sorted((cache_folder() / "packages").glob(f"{package}_{version or '*'}_*.deb"))
    if lists and lists not in SUITES:
        kept = [path for path in kept if path.stem.rpartition("_")[2] in (lists, "all")]
    path = kept[-1] if kept else download(package, lists)
    run_host([dpkg_deb, "-x", path, tree])
    return path.name
