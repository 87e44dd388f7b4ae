# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: E501 (one case per line)
"""Every wrong scenario gets one sentence with file, key, value, range and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import SMALL, small_text
from hypothesis import given
from hypothesis import strategies as st
from keepon.errors import ConfigError
from keepon.model.fields import Whole
from keepon.model.loading import load, parse

SLOT = {
    'name = "a"\ndriver = "under-test"': 'name = "a"\ndriver = "under-test"\nkeepon = { slot_bytes = 1230 }'
}

ONE_SLOT = {key: text.replace("1230", "1230, frame_bytes_max = 0") for key, text in SLOT.items()}

CASES: list[tuple[str, dict[str, str], str]] = [
    ("unknown key", {"frame_bytes": "frame_byte"}, r'`stream\[0\].frame_byte` .*unknown key; did you mean "frame_bytes"'),
    ("unknown table", {"[[bridge]]": "[[brigde]]"}, r'`brigde` .*unknown key; did you mean "bridge"'),
    ("missing node", {'listeners = ["b"]': 'listeners = ["c"]'}, r'listeners\[0\]` \(stream "F1"\) = "c": no such station'),
    ("bridge as listener", {'listeners = ["b"]': 'listeners = ["br1"]'}, r'"br1": no such station'),
    ("missing talker", {'talker = "a"': 'talker = "x"'}, r'talker` \(stream "F1"\) = "x": no such station'),
    ("link to nowhere", {'["b", "br1"]': '["b", "br2"]'}, r'`link\[1\].ends\[1\]` = "br2": no such node; did you mean "br1"'),
    ("not a multiple", {**SLOT, "1_000_000": "1_000_500"}, r"= 1000500: must be a multiple of the slot time 10000 ns"),
    ("larger than a slot", {**ONE_SLOT, "= 200": "= 1224"}, r"= 1224: must be at most 1222, what a slot of 1230 bytes"),
    ("duplicate node", {'name = "b"': 'name = "a"'}, r'`station\[1\].name` = "a": already used by station\[0\]'),
    ("duplicate link", {'["b", "br1"]': '["br1", "a"]'}, r"`link\[1\].ends` .*already linked, .*; remove one"),
    ("negative time", {"1_000_000": "-1"}, r"`stream\[0\].period_ns` .*= -1: must be between 1000 and 10000000000"),
    ("negative warm-up", {"warmup_s = 0.0": "warmup_s = -1.0"}, r"`warmup_s` = -1.0: must be between 0 and 3600"),
    ("wrong type", {"= 200": '= "200"'}, r'= "200": must be a whole number, between 64 and 9018; .*64 to 9018 bytes'),
    ("fraction", {"= 200": "= 200.5"}, r"= 200.5: must be a whole number"),
    ("truth value", {"= 200": "= true"}, r"= true: must be a whole number"),
    ("table expected", {"warmup_s = 0.0": "defaults = 3"}, r"`defaults` = 3: must be a table"),
    ("list expected", {'listeners = ["b"]': 'listeners = "b"'}, r"must be a list of 1 to 256 different names"),
    ("unknown schema", {"scenario/1": "scenario/2"}, r'`schema` = "keepon.scenario/2": must be "keepon.scenario/1"'),
    ("no schema", {'schema = "keepon.scenario/1"': ""}, r"key `schema` is missing"),
    ("missing key", {"frame_bytes = 200": ""}, r"key `stream\[0\].frame_bytes` .*missing"),
    ("unconnected", {'[[link]]\nends = ["b", "br1"]': ""}, r'"b": is not connected to talker "a"; add the missing \[\[link\]\]'),
    ("link to itself", {'["b", "br1"]': '["b", "b"]'}, r"must be a list of exactly 2 different names"),
    ("talks to itself", {'listeners = ["b"]': 'listeners = ["a"]'}, r'"a": is the talker itself'),
    ("unknown driver", {'driver = "launchtime"': 'driver = "launch-time"'}, r'did you mean "launchtime"'),
    ("unknown host", {'host = "tsn-end-station"': 'host = "pi5"'}, r'`station\[1\].host` .*"pi5": no such host model'),
    ("host stage", {'host = "tsn-end-station"': "host = { timer = { median = 1 } }"}, r'timer.median` .*did you mean "median_ns"'),
    ("cut body", {'host = "tsn-end-station"': "host = { timer = { median_ns = 8_000, sigma = 0.0 } }"}, r'`station\[1\].host.timer.median_ns` = 8000: must be at most its limit_ns, 4030'),
    ("no delta", {'driver = "under-test"': 'driver = "under-test"\netf_delta_ns = 0'}, r'etf_delta_ns` .*must be "auto" or between 1 and 1000000000'),
    ("offset", {"frame_bytes = 200": "frame_bytes = 200\noffset_ns = 1_000_000"}, r"offset_ns` .*must be between 0 and 999999"),
    ("route", {"frame_bytes = 200": 'frame_bytes = 200\nroute = ["br9"]'}, r'route\[0\]` .*"br9": no such bridge'),
    ("broken route", {"frame_bytes = 200": "frame_bytes = 200\nroute = []"}, r'"a" and "b" are not linked'),
    ("rate", {"warmup_s = 0.0": "warmup_s = 0.0\ndefaults = { rate_bps = 999_999_937 }"}, r"rate_bps` .*must divide 8e12"),
    ("no drivers", {'drivers = ["keepon", "standard"]': "drivers = []"}, r"`compare.drivers` = \[\]: must be a list with at least one"),
    ("under test", {'[compare]\ndrivers = ["keepon", "standard"]': ""}, r'key `compare` is missing; station "a"'),
    ("nothing under test", {'driver = "under-test"': 'driver = "keepon"'}, r'no station has driver = "under-test"'),
    ("gates word", {'name = "br1"': 'name = "br1"\ngates = "some"'}, r'gates` .*must be one of "auto", "none"'),
    ("gates peer", {'name = "br1"': 'name = "br1"\ngates = { x = { entries = [{ gates = "0x20", ns = 5 }] } }'}, r'"x": no such neighbour'),
    ("gates mask", {'name = "br1"': 'name = "br1"\ngates = { a = { entries = [{ gates = 32, ns = 5 }] } }'}, r'"0x00" and "0xff"'),
    ("class twice", {'driver = "under-test"': 'driver = "under-test"\nkeepon = { classes = [{ tc = 1 }, { tc = 1 }] }'}, r"listed twice"),
    ("fault node", {"[compare]": '[[fault]]\nat_s = 1.0\nkind = "poll-stall"\nnode = "z"\n[compare]'}, r'`fault\[0\].node` = "z"'),
    (
        "fault of a bridge",
        {"[compare]": '[[fault]]\nat_s = 1.0\nkind = "link-down"\nnode = "br1"\n[compare]'},
        r'`fault\[0\].node` = "br1": must be a station for link-down.*; name one of a, b',
    ),
    (
        "nobody polls",
        {"[compare]": '[[fault]]\nat_s = 1.0\nkind = "poll-stall"\nnode = "b"\n[compare]'},
        r'`fault\[0\].kind` = "poll-stall": must be of a station with driver "keepon".*"b" has'
        " launchtime; name",
    ),
    (
        "nobody under test polls",
        {
            'drivers = ["keepon", "standard"]': 'drivers = ["standard"]\n'
            '[[fault]]\nat_s = 1.0\nkind = "poll-stall"\nnode = "a"',
        },
        r'"a" has standard; name such a station',
    ),
    ("load", {"[compare]": '[[load]]\nid = "F1"\ntalker = "a"\nlistener = "b"\n[compare]'}, r'`load\[0\].id` = "F1": already used by stream\[0\]'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("replacements", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_one_sentence_names_what_is_wrong(replacements: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse(small_text(**replacements), "small.toml")
    text = str(caught.value)
    assert text.startswith("small.toml: key `")
    assert "\n" not in text
    assert ";" in text, "the remedy is missing"
    assert caught.value.exit_code == 2


def test_not_toml_names_line_and_column() -> None:
    with pytest.raises(ConfigError, match=r"not TOML: .*line 3, column 10"):
        parse('schema = "keepon.scenario/1"\nname = "x"\nseed = 1 2\n', "x.toml")


def test_binary_rubbish_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"absent.toml: cannot be read \(No such file or directory\)"
    ):
        load(tmp_path / "absent.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_no_text_makes_the_reader_fail_otherwise(text: str) -> None:
    with pytest.raises(ConfigError):
        parse(text, "x.toml")


@given(
    st.integers(0, SMALL.count("\n") - 1),
    st.sampled_from(['"', "[", "x = 1", "frame_bytes = -3", "tc = 99", "= 4"]),
)
def test_a_line_put_anywhere_is_accepted_or_refused_with_a_sentence(line: int, put: str) -> None:
    lines = SMALL.split("\n")
    lines.insert(line, put)
    try:
        parse("\n".join(lines), "x.toml")
    except ConfigError as error:
        assert str(error).startswith("x.toml: ")


@pytest.mark.slow
@given(
    st.one_of(
        st.none(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.lists(st.integers(), max_size=2),
    )
)
def test_a_whole_number_in_range_is_the_only_thing_that_passes(value: object) -> None:
    field = Whole(3, 9)
    fits = isinstance(value, int) and not isinstance(value, bool) and 3 <= value <= 9
    if fits:
        assert field.check(value) == value
    else:
        with pytest.raises(Exception, match="must be"):
            field.check(value)
