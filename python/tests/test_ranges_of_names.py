# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of names: one table for equal stations, links, streams."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT
from keepon.cli import app
from keepon.errors import EXIT_INPUT, ConfigError
from keepon.model import loading, ranges

HEAD = """\
schema = "keepon.scenario/1"
name = "cell"
[[station]]
name = "controller"
[[bridge]]
name = "switch"
[[link]]
ends = ["controller", "switch"]
"""
PAGE = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
DRIVES = PAGE.partition("```toml\n")[2].partition("```")[0]
"""The page's own example."""


def test_the_example_of_the_page_is_six_of_each() -> None:
    scenario = loading.parse(HEAD + DRIVES, "cell.toml")
    drives = [f"drive{n}" for n in range(1, 7)]
    assert [station.name for station in scenario.station] == ["controller", *drives]
    assert [link.ends for link in scenario.link[1:]] == [[each, "switch"] for each in drives]
    actual, sync = scenario.stream[:6], scenario.stream[6]
    assert [(one.id, one.talker, one.listeners) for one in actual] == [
        (f"actual{n}", f"drive{n}", ["controller"]) for n in range(1, 7)
    ]
    assert sync.listeners == drives
    again = loading.of_document(scenario.effective(), "cell.toml")
    assert again == scenario


def test_the_same_written_out_is_the_same_scenario() -> None:
    out: list[Any] = []
    document = ranges.expanded(tomllib.loads(HEAD + DRIVES), lambda *what: out.append(what))
    assert not out and loading.of_document(document, "x") == loading.parse(HEAD + DRIVES, "x")


@pytest.mark.parametrize(
    ("text", "written_out"),
    [
        ("a1..3", ["a1", "a2", "a3"]),
        ("a1..a3", ["a1", "a2", "a3"]),
        ("cam08..10", ["cam08", "cam09", "cam10"]),
        ("r2.d9..10", ["r2.d9", "r2.d10"]),
        ("a3..1", []),
        ("a1..b3", None),
        ("a..b", None),
        ("a1", None),
        (7, None),
    ],
)
def test_what_is_a_range(text: Any, written_out: list[str] | None) -> None:
    assert ranges.names(text) == written_out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('talker = "drive1..6"', 'talker = "drive1..5"',
         ':17: key `stream[0].talker` = "drive1..5": must be 6 names, as `id` has; write tables'),
        ("frame_bytes = 64", 'frame_bytes = 64\n[[load]]\nid = "a1..3"\ntalker = "b1..2"',
         ':30: key `load[0].talker` = "b1..2": must be 3 names'),
        ('listeners = ["drive1..6"]', 'listeners = ["drive6..1"]',
         ':25: key `stream[6].listeners[0]` (stream "sync") = "drive6..1": no such station; did'),
        ('id = "actual1..6"', 'id = "actual"',
         ':17: key `stream[0].talker` = "drive1..6": is a range, and `id` is none; write one of'),
        ('name = "drive1..6"', 'name = "drive6..1"',
         ':10: key `station[1].name` = "drive6..1": counts down; write the least first'),
        ('name = "drive1..6"', 'name = "drive1..999999999"',
         ':10: key `station[1].name` = "drive1..999999999": must be 256 names at most'),
        ('name = "drive1..6"', 'name = "drive1..6"\nwrong = 1',
         ':11: key `station[1].wrong` (station "drive1") = 1: unknown key; known here'),
        ("frame_bytes = 64", "frame_bytes = 6",
         ':27: key `stream[6].frame_bytes` (stream "sync") = 6: must be between 64 and'),
        ("frame_bytes = 200", "frame_bytes = 20",
         ':20: key `stream[0].frame_bytes` (stream "actual1") = 20: must be between 64 and'),
        ('listeners = ["controller"]', 'listeners = ["contoller"]',
         ':18: key `stream[0].listeners[0]` (stream "actual1") = "contoller": no such station;'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_once_with_its_line(
    old: str, new: str, said: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    text = HEAD + DRIVES.replace(old, new, 1)
    assert text != HEAD + DRIVES
    path = tmp_path / "cell.toml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["keepon", "plan", str(path)])
    assert app.main() == EXIT_INPUT
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"keepon: {path}{said}")


def test_ranges_of_both_ends_go_in_step() -> None:
    more = '[[bridge]]\nname = "sw1..2"\n[[link]]\nends = ["sw1..2", "drive1..2"]\n'
    more += '[[station]]\nname = "drive1..2"\n[[link]]\nends = ["sw1..2", "switch"]\n'
    scenario = loading.parse(HEAD + more, "x")
    assert [link.ends for link in scenario.link[1:3]] == [["sw1", "drive1"], ["sw2", "drive2"]]
    with pytest.raises(ConfigError, match=r'= "drive1\.\.2": must be 3 names, as `ends` has'):
        loading.parse(HEAD + more.replace("sw1..2", "sw1..3"), "x")
