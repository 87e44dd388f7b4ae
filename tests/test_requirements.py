# SPDX-License-Identifier: BSD-3-Clause
"""requirements.toml against the tree: every row once, and every test it names still there.

Reviewers judge whether a test really shows its row.
"""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests" / "requirements.toml"
SHOWN, SAID = {"works", "refused", "contradicted"}, {"contradicted", "context", "open"}
"""States that need a test, and states that need a note."""
KEYS = {"id", "what", "state", "test", "note"}
WHAT_WORDS_MAX = 14

EXPECTED = [
    f"{group}{number}"
    for group, count in {
        "A": 38, "B": 19, "C": 31, "D": 30, "E": 29, "F": 17, "G": 15, "H": 14, "I": 26, "J": 15,
        "K": 14, "L": 39,
        "M": 23, "N": 36, "O": 24, "P": 25,
    }.items()
    for number in range(1, count + 1)
]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(TABLE.read_text())["row"]
    return found


def functions_of_text(text: str, suffix: str) -> frozenset[str]:
    """Names of the functions a source file defines: module level in Python, at the start of a line
    in C and C++.
    """
    if suffix == ".py":
        return frozenset(
            node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
        )
    without_comments = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return frozenset(
        re.findall(
            r"^(?:static )?(?:void|bool|int) (\w+)\([^;{]*\)\n?\s*\{",
            without_comments,
            re.MULTILINE,
        )
    )


@cache
def functions_of(path: Path) -> frozenset[str]:
    return functions_of_text(path.read_text(), path.suffix)


def complaint(reference: str) -> str | None:
    """What is wrong with "folder/file.py::test_x" or "folder/file.c::test_x"; None if it can be
    run.
    """
    name, separator, function = reference.partition("::")
    path = ROOT / name
    if not separator or not function:
        return f"'{reference}' is not of the form file::function"
    if not path.is_file():
        return f"'{reference}' names a file that does not exist"
    if function not in functions_of(path):
        return f"'{reference}' names a function that {name} does not define"
    if path.suffix == ".py" and not function.startswith("test_"):
        return f"'{reference}' is not a test that pytest collects"
    if (
        path.suffix == ".c"
        and len(re.findall(rf"\b{function}\(", path.read_text())) < 2
        and "kpn_test" not in function
    ):
        return f"'{reference}' is defined and never called"
    return None


def test_every_requirement_has_exactly_one_row() -> None:
    ids = [row["id"] for row in rows()]
    assert len(EXPECTED) == 395
    assert sorted(ids) == sorted(EXPECTED)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_row_names_what_shows_it_or_why_nothing_does(row: dict[str, Any]) -> None:
    assert set(row) <= KEYS
    assert row["state"] in SHOWN | SAID
    assert 0 < len(row["what"].split()) <= WHAT_WORDS_MAX, row["what"]
    references = row.get("test", [])
    assert len(set(references)) == len(references)
    if row["state"] in SAID:
        assert row.get("note"), "a row that is not shown, or shown otherwise, says why"
    if row["state"] in SHOWN:
        assert references, "a row that is said to be shown names a test"
    assert [text for text in map(complaint, references) if text] == []


def test_a_renamed_or_deleted_test_is_noticed() -> None:
    """The check itself: what is not there, or not a test, is found."""
    here = "tests/test_requirements.py"
    insert = "core/selftest/test_insert.c"
    assert complaint(f"{here}::test_a_renamed_or_deleted_test_is_noticed") is None
    assert complaint(f"{insert}::test_strict_drops") is None
    for wrong in (
        f"{here}::test_that_was_renamed",
        f"{here}::rows",
        f"{insert}::test_strict_drop",
        f"{insert}::KPN_EXPECT_EQ",
        "core/selftest/test_gone.c::test_strict_drops",
        here,
        f"{here}::",
    ):
        assert complaint(wrong) is not None, wrong


def test_a_test_in_a_comment_is_not_a_test() -> None:
    assert (
        functions_of_text(
            "/*\nstatic void test_x(struct t *t)\n{\n*/\n// void test_y(void) {\n", ".c"
        )
        == frozenset()
    )
    assert functions_of_text("static void test_x(struct t *t);\n", ".c") == frozenset()
    assert functions_of_text("static void test_x(struct t *t)\n{\n}\n", ".c") == {"test_x"}
    assert functions_of_text("# def test_x(): ...\ndef test_y(): ...\n", ".py") == {"test_y"}
