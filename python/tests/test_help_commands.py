# SPDX-License-Identifier: BSD-3-Clause
"""`keepon docs` and `keepon completion`: what came with Keepon, wherever it is installed."""

from __future__ import annotations

import pydoc
import sys
from typing import Any

import pytest
from keepon.cli import completion
from keepon_host.checkout import checkout_root


def test_pages_are_listed_and_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    folder = checkout_root() / "docs"
    assert keepon("docs") == 0
    *listed, files = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in listed]
    assert names[2:] == sorted(path.stem for path in folder.glob("[a-z]*.md"))
    assert "results              What a run says" in listed
    assert files == f"files: {folder.parent}"
    text = (folder / "results.md").read_text()
    assert keepon("docs", "results") == 0
    assert capsys.readouterr().out == text
    paged: list[str] = []
    monkeypatch.setattr(pydoc, "pager", paged.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert keepon("docs", "results") == 0
    assert paged == [text]


@pytest.mark.parametrize("shell", completion.FILES)
def test_completion_is_what_packages_have(
    shell: str, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    assert keepon("completion", shell) == 0
    packaged = completion.texts()[f"completion/{shell}/{completion.FILES[shell]}"]
    assert capsys.readouterr().out == packaged and completion.VARIABLE in packaged


@pytest.mark.parametrize("words", ["docs nothing", "completion csh"])
def test_a_name_that_is_none_is_answered_with_those_there_are(words: str, refused: Any) -> None:
    assert f'"{words.split()[1]}": must be one of ' in refused(*words.split())
