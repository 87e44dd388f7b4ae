# SPDX-License-Identifier: BSD-3-Clause
"""scripts/check_arrows.py on a copy of the C folders: an include of core/src, and a call inside any
folder, that does not go down to a lower layer is refused, and so is a circle of includes in sim.
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
    """The C folders with layers, and the check, which looks at the tree it is in."""
    for folder in ("core", "kernel", "nicmodel", "sim"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "scripts").mkdir()
    for name in ("check_arrows.py", "common.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    return tmp_path


def check(tree: Path) -> tuple[int, list[str]]:
    command = [sys.executable, "-B", str(tree / "scripts" / "check_arrows.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def test_an_include_that_does_not_go_down(copy: Path) -> None:
    """A header that climbs, a file that climbs, and one to a file in the same layer."""
    climbing = {"kpn_head.h": "kpn_place.h", "search.c": "kpn_insert.h", "index.c": "kpn_doubt.h"}
    for file, header in climbing.items():
        with (copy / "core" / "src" / file).open("a") as source:
            source.write(f'\n#include "{header}"\n')
    code, problems = check(copy)
    assert code == 1 and len(problems) == len(climbing)
    for file, header in climbing.items():
        (problem,) = (each for each in problems if each.startswith(f"core/src/{file}: "))
        assert f"must not include core/src/{header}, in layer" in problem
        assert "files know lower layers only" in problem


@pytest.mark.slow
def test_headers_that_include_each_other_through_a_third(copy: Path) -> None:
    """Files that include a member of the circle, or are included by one, are not named."""
    for name, header in (("types", "world"), ("world", "trace"), ("trace", "types")):
        path = copy / f"sim/include/keepon/sim/{name}.hpp"
        path.write_text(f'#include "keepon/sim/{header}.hpp"\n')
    assert check(copy) == (1, ["sim: trace, types, world include each other; move functions"])


@pytest.mark.slow
def test_a_file_in_no_layer(copy: Path) -> None:
    (copy / "core" / "src" / "attic.c").write_text('#include "kpn_place.h"\n')
    code, problems = check(copy)
    assert code == 1
    assert problems == [
        "core/src/attic.c: file attic is in no layer; add it to LAYERS in scripts/check_arrows.py"
    ]


@pytest.mark.slow
def test_a_file_that_is_gone(copy: Path) -> None:
    (copy / "core" / "src" / "dual.c").unlink()
    code, problems = check(copy)
    assert code == 1
    assert problems == [
        "core/src: there is no file dual, which LAYERS in scripts/check_arrows.py lists"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "body", "name", "home"),
    [
        ("kernel/hwsim/ring.c", "hwsim_link_refresh(0);", "hwsim_link_refresh", "link"),
        # an address
        ("kernel/keepon/engine.c", "return &keepon_link_ops;", "keepon_link_ops", "link"),
        # to a file in the same layer, by way of an inline function
        (
            "kernel/keepon/bridge.c",
            "keepon_share_locked(0, 0, 0);",
            "keepon_share_find_locked",
            "share",
        ),
        ("kernel/generic/frames.c", "generic_pump_end(0);", "generic_pump_end", "pump"),
        ("nicmodel/ring_nic_history.c", "ring_nic_advance(0, 0);", "ring_nic_advance", "ring_nic"),
        ("core/src/search.c", "kpn_insert_due(0, 0);", "kpn_insert_due", "insert"),
    ],
)
def test_a_call_that_does_not_go_down(
    copy: Path, file: str, body: str, name: str, home: str
) -> None:
    source = copy / file
    source.write_text(f"{source.read_text()}\nstatic void *wrong(void)\n{{\n\t{body}\n}}\n")
    code, problems = check(copy)
    assert code == 1
    assert len(problems) == 1
    assert problems[0].startswith(f"{file}: file {source.stem}, in layer")
    assert f"must not use {name} of file {home}, in layer" in problems[0]


@pytest.mark.slow
def test_the_tree_as_it_is_and_a_name_in_a_comment_or_a_message(copy: Path) -> None:
    source = copy / "kernel" / "hwsim" / "ring.c"
    source.write_text(f'{source.read_text()}\n/* nic.c: hwsim_nic_create(), "hwsim_link" */\n')
    assert check(copy)[0] == 0
