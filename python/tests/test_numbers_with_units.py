# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with units in scenarios; and all that is wrong with a file at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers import SMALL
from keepon.cli import app, edge
from keepon.errors import EXIT_INPUT, ConfigError
from keepon.model import documents, loading
from keepon.model.units import unit_of

SCHEMA = documents.json_schema("scenario")["$defs"]


@pytest.mark.parametrize(
    ("key", "written", "value"),
    [
        ("stream.period_ns", '"250 us"', 250_000),
        ("stream.period_ns", '"250us"', 250_000),
        ("stream.period_ns", '"16.683333 ms"', 16_683_333),
        ("stream.period_ns", '"1_000.5 µs"', 1_000_500),
        ("stream.frame_bytes", '"1.5 kB"', 1500),
        ("stream.frame_bytes", '"1 KiB"', 1024),
        ("stream.offset_ns", '"auto"', "auto"),
        ("stream.offset_ns", '"12 us"', 12_000),
        ("link.rate_bps", '"100 Mb/s"', 100_000_000),
        ("link.rate_bps", '"2.5 Gbit/s"', 2_500_000_000),
        ("link.rate_bps", '"25Gbps"', 25_000_000_000),
        ("link.asymmetry_ns", '"-0.5 us"', -500),
        ("station.clock_ppm", '"0.01 %"', 100.0),
        ("station.clock_ppm", '"-50 ppb"', -0.05),
        ("station.wander_ppb_per_s", '"0.1 ppm/s"', 100.0),
        ("defaults.propagation_ns", '"1 us"', 1000),
        ("sync.interval_ms", '"0.25 s"', 250),
        ("duration_s", '"500 ms"', 0.5),
    ],
)
def test_a_number_may_have_a_unit(key: str, written: str, value: Any) -> None:
    table, _, name = key.rpartition(".")
    scenario: Any = loading.parse(with_key(table, name, written), "a.toml")
    found = getattr(scenario, table) if table else scenario
    assert getattr(found[0] if isinstance(found, list) else found, name) == value


def with_key(table: str, name: str, written: str) -> str:
    """SMALL with a key in its first table of that name."""
    lines = [line for line in SMALL.splitlines() if not line.startswith(f"{name} =")]
    if table in ("", "defaults", "sync"):
        at, added = 2, f"{table}.{name}".lstrip(".")
    else:
        at, added = lines.index(f"[[{table}]]") + 1, name
    return "\n".join([*lines[:at], f"{added} = {written}", *lines[at:]])


@pytest.mark.parametrize(
    ("key", "written", "said"),
    [
        ("stream.period_ns", '"250"',
         'key `stream[0].period_ns` (stream "F1") = "250": must be a whole number, between 1000 and'
         ' 10000000000; write it without quotes, or with a unit in them: "250 us" (ns, us, µs,'),
        ("stream.period_ns", '"250 Mb/s"', '= "250 Mb/s": must be a whole number, between 1000'),
        ("stream.period_ns", '"208.3333333 us"',
         '= "208.3333333 us": is 208333.3333 ns: must be a whole number, between 1000 and'
         " 10000000000; the nearest is 208333"),
        ("stream.period_ns", '"11 s"', '= "11 s": must be between 1000 and 10000000000; choose'),
        ("stream.frame_bytes", '"9.1 kB"',
         '= "9.1 kB": must be between 64 and 9018; an Ethernet frame with FCS has 64 to 9018'),
        ("stream.offset_ns", '"soon"', 'must be a whole number, "auto" or between 0 and'),
        ("link.rate_bps", '"1 GB/s"', '(b/s, bit/s, bps, kb/s, kbit/s, kbps, Mb/s'),
        ("station.clock_ppm", '"5 us"', 'must be a number between -1000 and 1000; write it'),
        ("stream.tc", '"5 us"', "must be a whole number, between 0 and 15; write it without"),
    ],
)  # fmt: skip
def test_what_is_no_such_number_is_refused(key: str, written: str, said: str) -> None:
    table, _, name = key.rpartition(".")
    with pytest.raises(ConfigError) as error:
        loading.parse(with_key(table, name, written), "a.toml")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("written", "is_one"),
    [("250 us", True), ("250", False), ("us", False), ("1 Mb/s", False), (250_000, True)],
)
def test_the_schema_takes_what_is_taken(written: Any, is_one: bool) -> None:
    judge = jsonschema.Draft202012Validator(SCHEMA["Stream"]["properties"]["period_ns"])
    assert judge.is_valid(written) == is_one


def test_every_unit_of_a_key_is_one_of_its_name() -> None:
    for key in ("a_ns", "ns", "a_bytes_max", "a_ms", "a_s", "a_bps", "a_ppm", "a_ppb_per_s"):
        unit = unit_of(key)
        assert unit is not None and unit.number(unit.example) is not None
        own = {"ppb_per_s": "ppb/s"}.get(unit.own, unit.own)
        assert unit.number(f"3 {own}") == 3
    assert unit_of("slots") is None and unit_of("schema") is None and unit_of(None) is None


TWO_WRONG = SMALL.replace('ends = ["b", "br1"]', 'ends = ["c", "br1"]').replace(
    'talker = "a"', 'talker = "e"'
)


def refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """What `keepon plan` says of a file, without its name."""
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["keepon", "plan", str(path)])
    assert app.main() == EXIT_INPUT
    return capsys.readouterr().err.replace(f"keepon: {path}:", "").splitlines()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            SMALL.replace("period_ns", "peroid_ns").replace("200", '"long"').replace("0.1", "-1"),
            ["4: key `duration_s` = -1: must be between 0.001",
             '23: key `stream[0].peroid_ns` (stream "F1") = 1000000: unknown key; did you mean',
             '24: key `stream[0].frame_bytes` (stream "F1") = "long": must be a whole number'],
        ),
        (
            TWO_WRONG,
            ['18: key `link[1].ends[0]` = "c": no such node',
             '21: key `stream[0].talker` (stream "F1") = "e": no such station'],
        ),
    ],
    ids=["keys", "names"],
)  # fmt: skip
def test_all_that_is_wrong_is_said_at_once(
    text: str, said: list[str], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    lines = refused(text, tmp_path, monkeypatch, capsys)
    assert len(lines) == len(said)
    for line, expected in zip(lines, said, strict=True):
        assert line.startswith(expected)


def test_of_many_wrong_keys_the_first_are_said(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    more = "".join(f'[[load]]\nid = "l{n}"\ntalker = "x{n}"\nlistener = "b"\n' for n in range(30))
    lines = refused(SMALL + more, tmp_path, monkeypatch, capsys)
    assert len(lines) == edge.LINES_MAX
    assert 'key `load[18].talker` = "x18"' in lines[-2]
    assert lines[-1] == "keepon: and 11 more; correct these first"


def test_a_union_is_said_once() -> None:
    """Of a table or a word, what fits what was written."""
    text = SMALL.replace('name = "br1"', 'name = "br1"\ngates = {a = {base_ns = 0}}')
    with pytest.raises(ConfigError) as error:
        loading.parse(text, "a.toml")
    assert str(error.value).count("\n") == 0
    assert "`bridge[0].gates.a.entries`" in str(error.value)
