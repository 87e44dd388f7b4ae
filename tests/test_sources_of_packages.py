# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/packages says where git does not tell it which files there are, what it shows of a
build, and when it writes the manual again.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
Names = dict[str, Any]


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Names:
    """The names that functions of the script see."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return runpy.run_path(str(ROOT / "scripts/packages"))["main"].__globals__


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (
            "fatal: not a git repository (or any of the parent directories): .git",
            "get the sources by",
        ),
        (
            "fatal: detected dubious ownership in repository at '/x'",
            "git config --global --add safe",
        ),
        ("", "get the sources by `git clone`"),
    ],
)
def test_sources_that_git_does_not_list_are_refused(
    tmp_path: Path, answer: str, remedy: str
) -> None:
    """A git that answers as it does in a source archive, in a clone of another user, and in a
    folder within another checkout.
    """
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\necho {shlex.quote(answer)} >&2\nexit {128 if answer else 0}\n")
    git.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", "import runpy, sys; sys.argv[0] = 'scripts/packages'\n"
         "found = runpy.run_path(sys.argv[0])\ntry:\n found['inputs']()\n"
         "except found['StageError'] as error:\n print(error)"],
        cwd=ROOT, capture_output=True, text=True, check=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": "scripts"},
    )  # fmt: skip
    assert done.stdout.startswith("packages are made of what git lists, and "), done.stdout
    assert answer in done.stdout and remedy in done.stdout
    assert done.stdout.count("\n") == 1


def test_a_build_shows_its_progress_and_keeps_all_of_it(
    packages: Names, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for code in (0, 1):
        command = ["sh", "-c", f"echo one; echo keepon: two; exit {code}"]
        words = (tmp_path / "tree", command, tmp_path, os.environ)
        if code == 0:
            packages["run_logged"](*words)
            assert re.fullmatch(r"keepon: +\d s  two\n", capsys.readouterr().out)
        else:
            with pytest.raises(packages["StageError"], match=r"do not build; .* is in .*build.log"):
                packages["run_logged"](*words)
        assert (tmp_path / "build.log").read_text() == "one\nkeepon: two\n"


@pytest.mark.parametrize(("state", "builds"), [(None, 1), ("old", 1), ("new", 0)])
def test_the_manual_is_written_again_if_sources_have_changed(
    packages: Names,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    state: str | None,
    builds: int,
) -> None:
    built: list[tuple[str, ...]] = []
    if state is not None:
        (tmp_path / "inputs").write_text(state)
    monkeypatch.setitem(packages, "PAGES", tmp_path)
    monkeypatch.setitem(packages, "content_hash", lambda _words: "new")
    monkeypatch.setitem(packages, "build", lambda _options, *words: built.append(words))
    packages["make_pages"]("trixie")
    assert built == [("trixie", packages["native"]())] * builds
