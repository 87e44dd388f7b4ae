# SPDX-License-Identifier: BSD-3-Clause
"""scripts/check_text.py on a small tree: what its rules refuse is refused, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WORD = "some" + "body"
SOURCE = "# SPDX-License-Identifier: BSD-3-Clause\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a page and the check."""
    (tmp_path / "scripts").mkdir()
    for name in ("check_text.py", "common.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# A page\n\n## A part: one\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def problems(tree: Path) -> list[str]:
    command = [sys.executable, "-B", str(tree / "scripts" / "check_text.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout.splitlines() if done.returncode else []


def test_a_tree_by_the_rules(tree: Path) -> None:
    row = "| " + " | ".join(["x" * 200] * 3) + " |\n"
    page = "x" * 160 + "\n" + row + "[one](page.md#a-part-one) [two](#top)\n# Top\n"
    (tree / "docs" / "other.md").write_text(page)
    (tree / "a.py").write_text(f"{SOURCE}beside = 'a toolbox, instead of it'\n")
    assert problems(tree) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x" * 161, "1: 161 characters (limit 160)"),
        (f"| a | {'x' * 201} |", "1: a cell of 201 characters (limit 200)"),
        ("\n" * 301, " 301 lines; split it (limit 300)"),
        (f"Ask {WORD}.", f"1: '{WORD}': name who does it"),
        ("[one](gone.md)", " the link gone.md leads nowhere"),
        ("[one](page.md#gone)", " the link page.md#gone leads nowhere"),
    ],
)
def test_a_page_against_a_rule(tree: Path, text: str, problem: str) -> None:
    (tree / "docs" / "other.md").write_text(text)
    found = problems(tree)
    assert len(found) == 1
    assert found[0].startswith(f"docs/other.md:{problem}")


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.py", f"# Ask {WORD}.\n", "a.py:2"),
        ("a.py", "def was_to" + "ld() -> None: ...\n", "a.py:2"),
        ("a.py", "kpn_ins" + "tead = 1\n", "a.py:2"),
        ("be" + "side.py", "", "be" + "side.py"),
    ],
)
def test_a_word_of_the_dialect_in_a_source(tree: Path, name: str, text: str, place: str) -> None:
    (tree / "core").mkdir()
    (tree / "core" / name).write_text(
        f"{SOURCE.replace('BSD-3-Clause', 'GPL-2.0-only OR BSD-3-Clause')}{text}"
    )
    found = problems(tree)
    assert len(found) == 1
    assert found[0].startswith(f"core/{place}: ")


def test_released_parts_of_the_changelog_stay(tree: Path) -> None:
    text = f"## [Unreleased]\n\n{{}}\n\n## [0.1.0] - 2026-11-25\n\n{WORD}\n"
    (tree / "CHANGELOG.md").write_text(text.format("- One."))
    assert problems(tree) == []
    (tree / "CHANGELOG.md").write_text(text.format(WORD))
    assert len(problems(tree)) == 1
