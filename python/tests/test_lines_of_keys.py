# SPDX-License-Identifier: BSD-3-Clause
"""Messages about a key of a TOML file say its line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keepon.model.lines import TRIES_MAX, line_of

TEXT = """\
# a comment
name = "x"

[table]
list = [
  1,   # one
  { a = 2 },

  3,
]
words = '''
b = 1
'''

[[entry]]
id = "first"
sub.key = 1

[entry.inner]
c = 1

[[entry]]
id = "second"
"""


def test_of_a_name_with_quotes(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("a = 1\n[sync]\nb = 1\n'\"q\"' = 2\n'c.\"d' = 3\n")
    assert line_of(path, 'sync.""q""') == 4
    assert line_of(path, 'sync."c."d"') == 5


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("name", 2),
        ("table", 4),
        ("table.list", 5),
        ("table.list[1].a", 5),
        ("table.words", 11),
        ("entry[0]", 15),
        ("entry[0].id", 16),
        ("entry[0].sub.key", 17),
        ("entry[0].inner.c", 20),
        ("entry[1]", 22),
        ("entry[1].id", 23),
        ("entry[1].missing", 22),
        ("entry[7].id", 15),
        ("nothing", None),
    ],
)
def test_of_every_kind_of_key(key: str, line: int | None, tmp_path: Path) -> None:
    for text in (TEXT, TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT, TEXT.rstrip("\n")):
        (tmp_path / "a.toml").write_bytes(text.encode())
        assert line_of(tmp_path / "a.toml", key) == line


@pytest.mark.slow
@given(st.lists(st.sampled_from(["", "# c", "v", "m", "t"]), max_size=60), st.data())
def test_of_generated_files(kinds: list[str], data: st.DataObject) -> None:
    """Files whose lines are known as they are written."""
    lines: list[str] = []
    starts: dict[str, int] = {}
    within, tables = "", 0
    for number, kind in enumerate(kinds):
        if kind == "t":
            within, tables = f"t[{tables}].", tables + 1
            lines.append("[[t]]")
        elif kind in ("v", "m"):
            starts[f"{within}k{number}"] = len(lines) + 1
            size = data.draw(st.integers(0, 9)) if kind == "m" else 0
            lines += [f"k{number} = 1"] if kind == "v" else [f"k{number} = [", *["1,"] * size, "]"]
        else:
            lines.append(kind)
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write("\n".join(lines))
        file.flush()
        assert {key: line_of(Path(file.name), key) for key in starts} == starts


@pytest.mark.parametrize("content", [b"a = ", b"\xff", b"a = " + b"[" * 9000 + b"]" * 9000])
def test_what_is_no_toml_has_no_lines(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(content)
    assert line_of(tmp_path / "a.toml", "a") is None
    assert line_of(tmp_path / "absent.toml", "a") is None


@pytest.mark.slow
@pytest.mark.parametrize("value", ["1,\n", "[1],\n", "{ a = 1 },\n"])
def test_long_values_cost_little(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand lines with a list of four hundred in the middle."""
    streams = ["[[s]]\nid = 1\nname = 'x'\n\n" for _ in range(2500)]
    streams.insert(1250, f"list = [\n{value * 400}]\n")
    (tmp_path / "a.toml").write_text("".join(streams))
    parsed = []
    loads = tomllib.loads
    monkeypatch.setattr(tomllib, "loads", lambda text: parsed.append(1) or loads(text))
    assert line_of(tmp_path / "a.toml", "s[7].name") == 4 * 7 + 3
    assert line_of(tmp_path / "a.toml", "s[1250].name") == 4 * 1250 + 402 + 3
    assert line_of(tmp_path / "a.toml", "s[1249].list") == 4 * 1250 + 1
    assert len(parsed) < 3 * 40


def test_lines_like_statements_in_a_text_are_given_up(tmp_path: Path) -> None:
    body = "b = 1\n" * (4 * TRIES_MAX)
    (tmp_path / "a.toml").write_text(f"a = '''\n{body}'''\nb = 1\nc = 1\n")
    assert line_of(tmp_path / "a.toml", "b") is None
    (tmp_path / "a.toml").write_text("a = '''\nb = 1\nb = 1\n'''\nb = 1\n")
    assert line_of(tmp_path / "a.toml", "b") == 5


def test_a_pipe_is_not_read_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.toml")
    assert line_of(tmp_path / "a.toml", "a") is None


def stderr_of(*arguments: Any) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "keepon", *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    return done.stderr


@pytest.mark.slow
def test_the_command_says_file_and_line(tmp_path: Path) -> None:
    example = (Path(__file__).parents[2] / "examples" / "two-stations.toml").read_text()
    wrong = tmp_path / "wrong.toml"
    for old, new, key in (
        ("period_ns = 1_000_000", "period_ns = -5", "stream[0].period_ns"),
        ('driver = "keepon"', 'drover = "keepon"', "station[0].drover"),
        ("seed = 1", '"warmup_s.x" = 1', '"warmup_s.x"'),
        ("period_ns = 1_000_000", '"id.x" = 1', 'stream[0]."id.x"'),
        ("batch_slots = 8", "batch_slots = 100000", "station[0].keepon.batch_slots"),
    ):
        text = example.replace(old, new, 1)
        line = text[: text.index(new)].count("\n") + 1
        wrong.write_text(text)
        assert stderr_of("plan", wrong).startswith(f"keepon: {wrong}:{line}: key `{key}` ")
