# SPDX-License-Identifier: BSD-3-Clause
"""Another Debian release than this machine's, by apt, which checks signatures; lists and cache stay
in one folder.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from common import StageError, must, run_quiet

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def archive_uri() -> str:
    """Where this machine gets Debian from."""
    done = run_quiet(
        [
            "apt-get",
            "indextargets",
            "--format",
            "$(SITE) $(REPO_URI)",
            "Created-By: Packages",
            "Origin: Debian",
        ]
    )
    for line in done.stdout.splitlines():
        uri = line.split()[-1]
        if "security" not in uri:
            return uri
    raise StageError("apt knows no Debian archive: add one to its sources")


def foreign_apt(folder: Path, kind: str, suite: str) -> list[str | Path]:
    """apt-get with the up-to-date lists of `suite` alone, kept in `folder`; `kind`: deb
    or deb-src.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name in (
        "lists/partial",
        "cache/archives/partial",
        "etc/sources.list.d",
        "etc/preferences.d",
    ):
        (folder / name).mkdir(parents=True)
    (folder / "etc/sources.list").write_text(
        f"{kind} [signed-by={KEYRING}] {archive_uri()} {suite} main\n"
    )
    config = {
        "Dir::Etc::SourceList": folder / "etc/sources.list",
        "Dir::Etc::SourceParts": folder / "etc/sources.list.d",
        "Dir::Etc::PreferencesParts": folder / "etc/preferences.d",
        "Dir::Etc::Preferences": folder / "etc/preferences",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Dir::State::Status": "/dev/null",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    command: list[str | Path] = ["apt-get", "-q"]
    command += [part for key, value in config.items() for part in ("-o", f"{key}={value}")]
    must([*command, "update"])
    return command
