# SPDX-License-Identifier: BSD-3-Clause
"""`keepon sweep`: points, what of them is kept, and what comes of them."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from helpers import TWO_STATIONS
from keepon.cli import sweep_command
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.report import picture

PATIENCE_S = 600
SHORT = ("--set", "duration_s=0.01")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Scenarios of the points that are made, not read."""
    seen: list[Any] = []
    ordinary = sweep_command._made

    def counted(scenario: Any, time_limit_s: float) -> Any:
        seen.append(scenario)
        return ordinary(scenario, time_limit_s)

    monkeypatch.setattr(sweep_command, "_made", counted)
    monkeypatch.setattr("keepon.spread.LONG_S", 60.0)  # in this process
    return seen


@pytest.mark.slow
def test_a_grid_is_made_once_and_shown_at_80_columns(
    made: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = (
        "sweep", TWO_STATIONS, *SHORT, "--out", tmp_path / "x", "--seeds", 2,
        "--set", "stream.*.advance_ns=1 us, 200 us",
    )  # fmt: skip
    assert keepon(*words) == 0
    first = capsys.readouterr().out
    lines = [line for line in first.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    assert [(scenario.stream[0].advance_ns, scenario.seed) for scenario in made] == [
        (1_000, 1), (1_000, 2), (200_000, 1), (200_000, 2),
    ]  # fmt: skip
    with (tmp_path / "x/sweep.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [row["outcome"] for row in rows] == ["no plan", "no plan", "met", "met"]
    assert [row["streams.*.missing"] for row in rows] == ["", "", "0", "0"]
    assert (tmp_path / "x/sweep.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(r"^200 us +met +0 +50$", first, re.MULTILINE)
    assert first.count('no plan: key `stream[0].advance_ns` (stream "S1") = 1000: must be') == 1
    # Nothing is made again: neither for the same, nor for another number of it.
    assert keepon(*words) == 0
    assert capsys.readouterr().out == first
    assert keepon(*words, "--measure", "streams.*.due", "--json") == 0
    found = [row["streams.*.due"] for row in json.loads(capsys.readouterr().out)]
    assert found == [None, None, 10, 10]
    assert len(made) == 4
    assert keepon(*words, "--seeds", 3) == 0
    assert len(made) == 6


def test_a_point_has_a_file_for_all_that_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def files(*values: float) -> list[Path]:
        keys = [("duration_s", list(values))]
        return [point.file for point in sweep_command._points(TWO_STATIONS, keys, 2, Path("x"))]

    first = files(1, 2)
    assert len(set(first)) == 4
    assert files(2, 1) == [*first[2:], *first[:2]]
    monkeypatch.setattr(sweep_command, "__version__", "99.0")
    assert not set(files(1, 2)) & set(first)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--set stream.*.deadline_us=5", "unknown key"),
        ("--set sync.mode=often", 'key `sync.mode` = "often": must be one of'),
        ("--set stream.get9.priority=1", "names no stream; write stream.NAME.KEY"),
        ("--set name.x=1", "`name` is no table"),
        ("--set duration_s", "must be KEY=VALUE,VALUE"),
        ("--set seed=1 --set seed=2", "is given twice"),
        ("--measure streams.*.delays", "choose one of streams.*.delay_ns."),
        ("--out x", "holds other files than those of a sweep"),
        ("--workers 2 --cluster tcp://127.0.0.1:1", "leave one of the two out"),
    ],
)
def test_what_is_wrong_is_one_sentence(words: str, said: str, refused: Any) -> None:
    Path("x").mkdir()
    Path("x/mine.txt").touch()
    assert said in refused("sweep", TWO_STATIONS, *SHORT, *words.split())


DOCUMENT = {
    "sync": {"mode": "ptp"},
    "link": [{"ends": ["a", "b"]}],
    "station": [{"name": f"drive{n}", "nic": {"ring": 8}} for n in (1, 2, 3)] + [{"name": "a.b"}],
}


@pytest.mark.parametrize(
    ("key", "places"),
    [
        ("sync.mode", [("sync", "mode")]),
        ("link.a-b.rate_bps", [("link", 0, "rate_bps")]),
        ("station.drive2.nic.ring", [("station", 1, "nic", "ring")]),
        ("station.drive1..2.driver", [("station", 0, "driver"), ("station", 1, "driver")]),
        ("station.a.b.driver", [("station", 3, "driver")]),
        ("station.*.nic.ring", [("station", n, "nic", "ring") for n in range(4)]),
    ],
)
def test_keys_name_tables(key: str, places: list[tuple[Any, ...]]) -> None:
    expected = json.loads(json.dumps(DOCUMENT))
    for *path, last in places:
        table = expected
        for each in path:
            table = table.setdefault(each, {}) if isinstance(table, dict) else table[each]
        table[last] = 5
    before = json.dumps(DOCUMENT)
    assert loading.changed(DOCUMENT, (key, 5)) == expected
    assert json.dumps(DOCUMENT) == before


def test_changes_come_after_ranges_and_before_checks() -> None:
    text = TWO_STATIONS.read_text()
    changed = loading.parse(text, "x.toml", [("stream.*.advance_ns", "0.2 ms")])
    assert {stream.advance_ns for stream in changed.stream} == {200_000}
    with pytest.raises(ConfigError, match=r"x\.toml: key `stream\[0\]\.advance_ns`"):
        loading.parse(text, "x.toml", [("stream.*.advance_ns", -1)])


def test_plots_have_numbers_at_their_places_and_words_side_by_side() -> None:
    rows = [
        {"a_ns": a, "b": b, "seed": seed, "m": None if a == "8 us" else seed}
        for a in ("4 us", "1000 ns", "8 us") for b in ("x", "y") for seed in (1, 2)
    ]  # fmt: skip
    groups = [rows[n : n + 2] for n in range(0, len(rows), 2)]
    (axis,) = picture.drawn(groups, ["a_ns", "b"], ["m"]).axes
    curves = [container.lines[0].get_xydata().tolist() for container in axis.containers]
    assert curves == [[[1000, 1.5], [4000, 1.5]]] * 2
    assert [text.get_text() for text in axis.figure.legends[0].texts] == ["b = x", "b = y"]
    (axis,) = picture.drawn(groups, ["b"], ["m"]).axes
    assert [text.get_text() for text in axis.get_xticklabels()] == ["x", "y"]


@pytest.mark.slow
def test_a_sweep_goes_on_where_ctrl_c_ended_it(tmp_path: Path) -> None:
    words = [
        sys.executable, "-m", "keepon", "sweep", str(TWO_STATIONS), "--out", str(tmp_path / "x"),
        "--set", "duration_s=0.01,0.02,2000", "--workers", "2",
    ]  # fmt: skip
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while len(list((tmp_path / "x").glob("points/*.json"))) < 2:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("x/points/*.json")}
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 130
    assert errors == (
        f"keepon: interrupted; 2 of 3 points are kept in {tmp_path / 'x/points'}, and the same"
        " command makes the others\n"
    )
    words[words.index("duration_s=0.01,0.02,2000")] = "duration_s=0.01,0.02,0.03"
    subprocess.run(words, check=True, capture_output=True)
    now = {file: file.stat().st_mtime_ns for file in tmp_path.glob("x/points/*.json")}
    assert len(now) == 3 and now.items() >= kept.items()


@pytest.mark.slow
def test_a_cluster_finds_the_same(scheduler: str, tmp_path: Path, keepon: Any) -> None:
    for name, who in (("a", ("--workers", 1)), ("b", ("--cluster", scheduler))):
        words = ("sweep", TWO_STATIONS, *SHORT, "--seeds", 2, "--out", tmp_path / name)
        assert keepon(*words, *who) == 0
    assert len({(tmp_path / name / "sweep.csv").read_text() for name in "ab"}) == 1
