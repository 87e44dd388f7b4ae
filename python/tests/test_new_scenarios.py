# SPDX-License-Identifier: BSD-3-Clause
"""`keepon new`: what it writes is a scenario that has a plan and keeps it."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlparse

import jsonschema
import pytest
from keepon.model import loading, starter


def keepon(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "keepon", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "stations", "bridges", "cables"),
    [
        ("line", 2, 1, 2),
        ("line", 6, 3, 8),
        ("ring", 5, 3, 8),
        ("star", 5, 1, 5),
        ("star", 9, 4, 12),
    ],
)
def test_it_keeps_its_bounds(
    shape: str, stations: int, bridges: int, cables: int, tmp_path: Path
) -> None:
    file = tmp_path / "my plant, hall 2.toml"
    counts = ("--stations", str(stations), "--bridges", str(bridges))
    assert "keepon plan" in keepon("new", shape, str(file), *counts).stdout
    scenario = loading.load(file)
    assert scenario.name == "my-plant-hall-2"
    assert (len(scenario.station), len(scenario.bridge)) == (stations, bridges)
    assert (len(scenario.link), len(scenario.stream)) == (cables, 2 * (stations - 1))
    ran = keepon("run", str(file), "--duration", "0.05", "--out", str(tmp_path / "out"))
    assert "every bound kept" in ran.stdout


@pytest.mark.slow
def test_what_its_comments_name_is_taken(tmp_path: Path) -> None:
    """Each driver, and clocks that IEEE 802.1AS sets: once loaded, and so far as to plans that say
    what of clocks is to be stated.
    """
    file = tmp_path / "a.toml"
    keepon("new", "star", str(file))
    text = file.read_text()
    (driver_line,) = (line for line in text.splitlines() if line.startswith("# driver: "))
    drivers = re.findall(r'"(.*?)"', driver_line)
    assert drivers == ["keepon", "launchtime", "standard"]
    for driver in drivers:
        changed = text.replace('driver = "keepon"', f'driver = "{driver}"')
        assert {each.driver for each in loading.parse(changed, "a.toml").station} == {driver}
    for old, new in re.findall(r'(mode|grandmaster) = "(gptp|br1)"', text):
        line = f'{old} = "{new}"'
        text = re.sub(r"(?m)^\[sync\]$", f"[sync]\n{line}", text)
    text = text.replace('mode = "ideal"\n', "").replace("warmup_s = 0.2", "warmup_s = 10.0")
    file.write_text(text)
    assert loading.load(file).sync.grandmaster == "br1"
    sentence = keepon("plan", str(file), code=2).stderr
    assert "clocks do not keep what is stated of them: " in sentence and "warmup_s" not in sentence


@pytest.mark.slow
@pytest.mark.parametrize("shape", starter.SHAPES)
def test_the_largest_has_a_plan(shape: str, tmp_path: Path) -> None:
    file = str(tmp_path / "large.toml")
    keepon("new", shape, file, "--stations", "64", "--bridges", "16")
    assert json.loads(keepon("plan", file, "--json").stdout)["status"] == "feasible"


@pytest.mark.slow
def test_an_editor_finds_the_schema(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    keepon("new", "line", str(file))
    first = file.read_text().splitlines()[0]
    schema = json.loads(Path(urlparse(first.removeprefix("#:schema ")).path).read_text())
    jsonschema.validate(tomllib.loads(file.read_text()), schema)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("bus", "{}/a.toml"), 'argument SHAPE = "bus": must be one of line, ring, star, tree;'),
        (("ring", "{}/a.toml", "--bridges", "2"), "option --bridges = 2: must be between 3 and 16"),
        (("line", "{}/a.toml", "--bridges", "0"), "option --bridges = 0: must be between 1 and 16"),
        (("star", "{}/a.toml", "--stations", "1"), "--stations = 1: must be between 2 and 64"),
        (("star", "{}/a.toml", "--stations", "65"), "--stations = 65: must be between 2 and 64"),
        (("star", "{}/no/a.toml"), "a.toml: cannot be written (No such file or directory);"),
        (("star", "{}/a\nb.toml"), 'a b.toml": must be of letters that can be printed; choose'),
        (("star", "{}/a\x1b.toml"), "must be of letters that can be printed; choose"),
        (("star", "{}/\udcff.toml"), "must be of letters that can be printed; choose"),
        (("star", "{}"), "is there already and stays as it is; choose another name"),
        (("star", "{}/there.toml"), "is there already and stays as it is; choose another name"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    (tmp_path / "there.toml").write_text("mine")
    given = [argument.format(tmp_path) for argument in arguments]
    error = keepon("new", *given, code=2).stderr
    assert sentence in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["there.toml"]
    assert (tmp_path / "there.toml").read_text() == "mine"


@pytest.mark.slow
def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "keepon", "new", "line", str(tmp_path / "a.toml")],
        capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)),
    )  # fmt: skip
    assert done.returncode == 2
    assert "a.toml: cannot be written (File too large); choose another place" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command_it_prints_works(tmp_path: Path) -> None:
    printed = keepon("new", "line", f"{tmp_path}/my plant $x.toml").stdout.strip()
    command = printed.rpartition("then: ")[2].replace("keepon", f"{sys.executable} -m keepon", 1)
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0
