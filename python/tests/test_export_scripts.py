# SPDX-License-Identifier: BSD-3-Clause
"""All scripts of `keepon export`: words that tc and a shell read, and the order of their steps."""

from __future__ import annotations

import re
import subprocess

import pytest
from export_scripts import script_lines, tc_parses
from helpers import planned_example
from keepon.export import commands
from keepon.export.exported import Planned


def test_tc_reads_every_command(habitat: Planned) -> None:
    files = commands.export(habitat).files
    chosen = [
        line for name in ("br1.sh", "rt-simulator.sh",
        "power-gateway.sh") for line in script_lines(files[name])
        if line[:3] in (["tc", "qdisc", "add"], ["tc", "qdisc", "replace"])
    ]  # fmt: skip
    assert {kind for line in chosen for kind in ("taprio", "mqprio", "etf") if kind in line} == {
        "taprio", "mqprio", "etf",
    }  # fmt: skip
    assert all(tc_parses(*chosen))


@pytest.mark.parametrize(
    ("kind", "wrong", "instead"),
    [
        ("taprio", "num_tc", "tcs"),
        ("taprio", "S", "T"),
        ("mqprio", "num_tc", "tcs"),
        ("etf", "offload", "upload"),
    ],
)
def test_tc_would_say_so_if_a_word_were_wrong(
    habitat: Planned, kind: str, wrong: str, instead: str
) -> None:
    texts = commands.export(habitat).files.values()
    line = next(
        line for text in texts for line in script_lines(text) if kind in line and wrong in line
    )
    assert tc_parses([instead if word == wrong else word for word in line]) == [False]


def test_roots_are_looked_at_first_and_go_before_others_are_set(habitat: Planned) -> None:
    """Linux would take the classes of both."""
    for text in commands.export(habitat).files.values():
        lines = text.splitlines()
        set_here = {
            at: line.split()[4]
            for at, line in enumerate(lines)
            if re.match(r"tc qdisc \S+ dev \S+ .*root .*\w", line) and " del " not in line
        }
        for at, device in set_here.items():
            assert lines[at - 1].startswith(f"tc qdisc del dev {device} root ")
        looked_at = [line.split()[1] for line in lines if re.match(r"own_root \w", line)]
        assert looked_at == [device for device in set_here.values() if device != "rt0"]
        if looked_at:
            changes = min(text.index(word) for word in ("\nswitch_off ", "\nlinked "))
            assert text.rindex("\nown_root ") < changes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["habitat", "robot-cell", "gptp"])
def test_scripts_are_posix_shell(name: str) -> None:
    for file, text in commands.export(planned_example(name)).files.items():
        if file.endswith(".sh"):
            done = subprocess.run(
                ["sh", "-n"], input=text, text=True, capture_output=True, check=False
            )
            assert done.returncode == 0, (file, done.stderr)
