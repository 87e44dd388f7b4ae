# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a result: made of its numbers, readable in both schemes, a sentence where there is
nothing to draw.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browser import Browser
from helpers import HABITAT, ROOT
from keepon.errors import EXIT_ENVIRONMENT, EXIT_INPUT, EXIT_MET
from keepon.model import loading
from keepon.report import picture


@pytest.mark.slow
def test_the_picture_says_what_the_result_says_in_both_schemes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    out, path = tmp_path / "r", tmp_path / "p.svg"
    assert keepon("run", HABITAT, "--duration", 0.1, "--out", out) == EXIT_MET
    assert keepon("report", out, "--picture", path) == EXIT_MET
    text = path.read_text()
    ElementTree.fromstring(text)
    words = re.findall(r">([^<>]+)</text>", text)
    result = json.loads((out / "result.json").read_text())
    for run in result["runs"]:
        assert run["driver"] in words
        for name in run["streams"]:
            error = run["streams"][name]["release_error_ns"]
            worst = max(abs(error["min"]), abs(error["max"]))
            shown = f"{worst:.3g} ns" if worst < 1000 else f"{worst / 1000:.3g} µs"
            assert name in words and shown in words
    assert "true by construction" in " ".join(words)
    with Browser() as browser:
        for dark, ink in ((False, "rgb(27, 31, 36)"), (True, "rgb(230, 233, 237)")):
            browser.open(path, 800, dark)
            assert browser.complaints() == []
            fill = "getComputedStyle(document.querySelector('text')).fill"
            assert browser.does(fill) == ink
    # What is left out is named: here but the worst, and one stream that sent nothing.
    monkeypatch.setattr(picture, "STREAMS_MAX", 1)
    for run in result["runs"]:
        run["streams"]["F12"]["release_error_ns"].update(min=None, max=None)
    words = re.findall(r">([^<>]+)</text>", picture.release_errors(result))
    assert sum(word in result["runs"][0]["streams"] for word in words) == 1
    said = " ".join(words)
    assert "left out, nearer to their instants: F" in said
    assert "left out, no frame was sent: F12" in said
    # What cannot be drawn or written is one sentence.
    capsys.readouterr()
    assert keepon("report", out, "--picture", tmp_path) == EXIT_ENVIRONMENT
    for run in result["runs"]:
        for stream in run["streams"].values():
            stream["release_error_ns"].update(dict.fromkeys(stream["release_error_ns"]), count=0)
    (out / "result.json").write_text(json.dumps(result))
    assert keepon("report", out, "--picture", path) == EXIT_INPUT
    printed = capsys.readouterr().err
    assert "no frame was sent, so there is no picture" in printed and len(printed.splitlines()) == 2


def test_the_readmes_picture_is_of_make_run() -> None:
    text = (ROOT / "docs" / "plain-cell.svg").read_text()
    words = set(re.findall(r">([^<>]+)</text>", text))
    streams = {stream.id for stream in loading.load(ROOT / "examples" / "plain-cell.toml").stream}
    assert {"keepon", "standard", *streams} <= words
    assert "docs/plain-cell.svg" in (ROOT / "README.md").read_text()
    assert "plain-cell.toml" in (ROOT / "scripts" / "run").read_text()
