# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/packages says where git does not tell it which files there are."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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
