# SPDX-License-Identifier: BSD-3-Clause
"""scripts/check_arrows.py on a copy of the core: an include of core/src that does not go down to a
lower floor is refused.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The core, and the check, which looks at the tree it is in."""
    shutil.copytree(ROOT / "core", tmp_path / "core")
    (tmp_path / "scripts").mkdir()
    for name in ("check_arrows.py", "common.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    return tmp_path


def check(tree: Path) -> tuple[int, list[str]]:
    command = [sys.executable, "-B", str(tree / "scripts" / "check_arrows.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def test_the_core_as_it_is(copy: Path) -> None:
    assert check(copy)[0] == 0


@pytest.mark.parametrize(
    ("file", "header"),
    [
        ("kpn_head.h", "kpn_place.h"),  # a header that climbs
        ("search.c", "kpn_insert.h"),  # a file that climbs
        ("index.c", "kpn_doubt.h"),  # to a room on the same floor
    ],
)
def test_an_include_that_does_not_go_down(copy: Path, file: str, header: str) -> None:
    source = copy / "core" / "src" / file
    source.write_text(f'{source.read_text()}\n#include "{header}"\n')
    code, problems = check(copy)
    assert code == 1
    assert len(problems) == 1
    assert problems[0].startswith(f"core/src/{file}: ")
    assert f"must not include core/src/{header}, on floor" in problems[0]
    assert "rooms know lower floors only" in problems[0]


def test_a_room_on_no_floor(copy: Path) -> None:
    (copy / "core" / "src" / "attic.c").write_text('#include "kpn_place.h"\n')
    code, problems = check(copy)
    assert code == 1
    assert problems == [
        "core/src/attic.c: room attic is on no floor; add it to FLOORS in scripts/check_arrows.py"
    ]


def test_a_room_that_is_gone(copy: Path) -> None:
    (copy / "core" / "src" / "dual.c").unlink()
    code, problems = check(copy)
    assert code == 1
    assert problems == [
        "core/src: there is no room dual, which FLOORS in scripts/check_arrows.py lists"
    ]
