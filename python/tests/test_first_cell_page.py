# SPDX-License-Identifier: BSD-3-Clause
"""docs/first-cell.md: its commands print what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/first-cell.md"
CHANGES = {
    "[[bridge]]\n": '[[bridge]]\nprofile = "unmanaged"\nqueues = 4\n',
    'mode = "ideal"': 'mode = "gptp"\ngrandmaster = "plc"',
    "warmup_s = 0.2": "warmup_s = 10.0",
    'drive6"\ndriver = "keepon"\nhost = "raspberry-pi-4"': 'drive6"\ndriver = "foreign"',
    'id = "back6"': 'id = "back6"\npriority = 3',
}


def change(cell: Path) -> None:
    """What the page's table says."""
    text = cell.read_text()
    stream = text.index('id = "back6"')
    own = text[stream:].split("[[stream]]")[0]
    text = text.replace(own, own.replace("priority = 6\n", ""))
    for old, new in CHANGES.items():
        assert old in text
        text = text.replace(old, new)
    cell.write_text(text)


@pytest.mark.slow
def test_what_the_page_prints_is_what_the_commands_print(tmp_path: Path) -> None:
    page = PAGE.read_text()
    blocks = [
        re.sub(r"^    ", "", block, flags=re.MULTILINE)
        for block in re.findall(r"(?:^(?:    .*)?\n)+", page, re.MULTILINE)
        if "    $ " in block
    ]
    ran = []
    for session in re.split(r"^\$ ", "".join(blocks), flags=re.MULTILINE)[1:]:
        line, *said = session.strip().splitlines()
        command, *arguments = shlex.split(line)
        if command == "cat":
            (tmp_path / arguments[0]).write_text("\n".join(said) + "\n")
            continue
        if "--out" in arguments:
            change(tmp_path / "cell.toml")
        printed = subprocess.run(
            [sys.executable, "-m", command, *arguments],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert printed.returncode == 0, printed.stderr
        ran.append(arguments[0])
        shown = " ".join(printed.stdout.split())
        for expected in said:
            assert expected == "..." or " ".join(expected.split()) in shown
    assert ran == ["new", "plan", "plan", "run"]
