# SPDX-License-Identifier: BSD-3-Clause
"""`keepon examples`: what came with Keepon is listed and copied, wherever Keepon is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from keepon.model import examples, loading
from keepon_host.checkout import checkout_root


def keepon(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "keepon", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_all_are_listed_with_what_they_are(tmp_path: Path) -> None:
    listed = keepon("examples", folder=tmp_path).stdout
    there = sorted(path.stem for path in (checkout_root() / "examples").rglob("*.toml"))
    assert len(there) > 3
    assert [line.split()[0] for line in listed.splitlines()[:-1] if line[0] != " "] == there
    assert "The habitat case study of the KeepON paper" in listed


@pytest.mark.slow
@pytest.mark.parametrize("name", examples.names())
def test_a_copy_is_the_example_and_names_its_schema(tmp_path: Path, name: str) -> None:
    done = keepon("examples", name, "mine.toml", folder=tmp_path)
    assert done.stdout == "mine.toml: written; change it, then: keepon plan mine.toml\n"
    copy = tmp_path / "mine.toml"
    assert loading.load(copy) == loading.load(examples.path(name))
    way = copy.read_text().split("\n")[0].removeprefix("#:schema ")
    assert (tmp_path / way).resolve().name == "scenario.schema.json"
    assert (tmp_path / way).is_file()


@pytest.mark.slow
def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "gptp.toml").write_text("mine")
    done = keepon("examples", "gptp", folder=tmp_path)
    assert done.returncode == 2
    assert "is there already and stays as it is" in done.stderr
    assert (tmp_path / "gptp.toml").read_text() == "mine"


@pytest.mark.slow
def test_a_wrong_name_is_answered_with_the_names(tmp_path: Path) -> None:
    done = keepon("examples", "gpt", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        'keepon: argument NAME = "gpt": must be one of asynchronous, cqf, gateway, gptp,'
        " habitat, plain-cell, policing, preemption, redundancy, robot-cell, shaping, software,"
        " three-classes, three-stations, two-stations; choose one\n"
    )
    assert list(tmp_path.iterdir()) == []
