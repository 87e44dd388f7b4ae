# SPDX-License-Identifier: BSD-3-Clause
"""The version stands in one place, and everything that tells one tells that one."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import keepon
import keepon_host
import pytest
from keepon_host.checkout import checkout_root

ROOT = checkout_root()
PLACE = ROOT / "kernel/include/keepon_version.h"
MODULES = (
    "native", "keepon", "hwsim", "generic", "hwcheck", "nics/intel", "nics/genet", "nics/gem",
)  # fmt: skip
TOOLS = ROOT / "out/build/python/tools"
SUFFIXES = {".h", ".c", ".py", ".toml", ".txt", ".in", ".cpp", ".hpp", ""}


def stated() -> str:
    (version,) = re.findall(r'^#define KEEPON_VERSION "(\d+\.\d+\.\d+)"$', PLACE.read_text(), re.M)
    return str(version)


@pytest.mark.slow
def test_the_package_its_metadata_and_the_command_have_the_version() -> None:
    assert keepon.__version__ == stated()
    assert importlib.metadata.version("keepon") == stated()
    done = subprocess.run(
        [sys.executable, "-m", "keepon", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"keepon {stated()}\n"


@pytest.mark.slow
def test_a_checkout_in_which_nothing_was_built_tells_it_too(tmp_path: Path) -> None:
    """What the documents run with nothing but Python, by the system's own."""
    package = Path(keepon_host.__file__).parent
    ignored = shutil.ignore_patterns("_version.py", "*.so", "__pycache__")
    shutil.copytree(package, tmp_path / "python/src/keepon_host", ignore=ignored)
    (tmp_path / "kernel/include").mkdir(parents=True)
    shutil.copy(PLACE, tmp_path / "kernel/include")
    for name in ("doctor", "hwcheck", "link", "start"):
        done = subprocess.run(
            ["/usr/bin/python3", "-S", "-m", "keepon_host", name, "--help"],
            env={"PYTHONPATH": str(tmp_path / "python/src")},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), name
    doctor = subprocess.run(
        ["/usr/bin/python3", "-S", "-m", "keepon_host", "doctor", "--json"],
        env={"PYTHONPATH": str(tmp_path / "python/src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(doctor.stdout)["version"] == stated()


@pytest.mark.parametrize("name", ["keepon-talk", "keepon-listen"])
def test_tools_have_the_version(name: str) -> None:
    done = subprocess.run([TOOLS / name, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{name} {stated()}\n"


def test_cmake_has_the_version() -> None:
    cache = (ROOT / "out/build/python/CMakeCache.txt").read_text()
    assert f"CMAKE_PROJECT_VERSION:STATIC={stated()}\n" in cache


@pytest.mark.parametrize("folder", MODULES)
def test_every_module_states_it(folder: str) -> None:
    sources = "".join(path.read_text() for path in (ROOT / "kernel" / folder).glob("*.c"))
    assert sources.count("MODULE_VERSION(KEEPON_VERSION);") == 1


def test_the_newest_entry_of_the_changelog_is_of_the_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased"
    assert headings[1] == stated()


def test_no_other_file_states_a_version_of_keepon() -> None:
    """A second place would fall behind."""
    pattern = re.compile(
        rf"keepon[^\n]*{re.escape(stated())}|VERSION[^\n]*{re.escape(stated())}", re.I
    )
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    found = [
        name
        for name in listed
        if name
        and Path(name).suffix in SUFFIXES
        and ROOT / name != PLACE
        and pattern.search((ROOT / name).read_text(errors="replace"))
    ]
    assert found == []
