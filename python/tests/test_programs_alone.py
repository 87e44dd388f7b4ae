# SPDX-License-Identifier: BSD-3-Clause
"""`python3 -m keepon_host...`, where there is nothing but Python: what is wrong with their words
is one sentence, as with `keepon`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT

NO_STEPS = "is no file of steps (Expecting value: line 1 column 1 (char 0)); write one with keepon"
NO_JOB = "is no job of keepon run --target host ("


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("start", "keepon: argument NIC: is missing; name the card, such as eth0"),
        ("start lo --steps empty", "keepon: argument NIC: has no use with option --steps; leave"),
        ("start --steps none", "keepon: none: cannot be read (No such file or directory)"),
        ("start --steps .", "keepon: .: cannot be read (Is a directory); check the name"),
        ("start --steps empty", f"keepon: empty: {NO_STEPS}"),
        ("testbed none .", "keepon: none: cannot be read (No such file or directory); check"),
        ("testbed empty .", f"keepon: empty: {NO_JOB}Expecting value: line 1 column 1 (char 0))"),
        ("testbed other .", f"keepon: other: {NO_JOB}'int' object is not iterable)"),
        ("doctor none0", 'keepon: argument IFACE = "none0": is no interface here; there are'),
        ("hwcheck lo --slot-bytes 0", "keepon: "),
        ("plan cell.toml", 'keepon: command "plan" is of package keepon, which is not'),
        ("link show none0", 'keepon: there is no device "none0"; ip link lists those there'),
        ("link add lo rt0 slot_bytes x", 'keepon: slot_bytes "x" is no number from 64 to'),
        ("start v0 --link v0", 'keepon: option --link = "v0": must differ from the card, on which'),
    ],
)
def test_what_is_wrong_is_one_sentence(words: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "other").write_text('{"stations": 3}')
    program, *rest = words.split()
    module = "keepon_host.testbed" if program == "testbed" else "keepon_host"
    first = [] if program == "testbed" else [program]
    done = subprocess.run(
        [sys.executable, "-S", "-m", module, *first, *rest], cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "python" / "src")}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode in (2, 3), done.stdout) == (True, "")
    assert done.stderr.startswith(sentence) and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["-h"], []])
def test_its_commands_are_listed_where_nothing_else_is_installed(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "keepon_host", *words], capture_output=True, text=True,
        env={"PYTHONPATH": str(ROOT / "python" / "src")}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n  start        Give a card a keepon link" in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines())


def test_a_version_takes_few_modules() -> None:
    """And with signals obeyed before they are loaded (keepon_host/entry.py)."""
    code = "import sys; from keepon_host.entry import begin; begin(); print(len(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, "--version"], capture_output=True, text=True,
        env={"PYTHONPATH": str(ROOT / "python" / "src")}, check=True,
    )  # fmt: skip
    said, count = done.stdout.splitlines()
    assert said.startswith("keepon ") and int(count) < 80
