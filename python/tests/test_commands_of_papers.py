# SPDX-License-Identifier: BSD-3-Clause
"""Commands of published studies: from a checkout as all others, else refused in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from keepon.cli import papers
from keepon.errors import EXIT_ENVIRONMENT, EXIT_MET

REMEDY = "run it from a checkout set up with `scripts/setup run`"


@pytest.mark.parametrize("name", papers.PUBLISHED)
def test_they_are_commands_like_others(
    name: str, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    assert keepon("--help") == EXIT_MET
    assert f"\n  {name} " in capsys.readouterr().out
    assert keepon(name, "--help") == EXIT_MET
    assert f"keepon {name} [OPTIONS]" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("reproduce", "eq4", "--seeds", 1), ("nics", "--all", "linux")])
def test_without_their_package_they_are_refused(
    words: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    monkeypatch.setattr(papers, "entry_points", lambda **_: ())
    assert keepon(*words) == EXIT_ENVIRONMENT
    refused = capsys.readouterr().err
    assert refused.startswith(f"keepon: command {words[0]}: ") and REMEDY in refused
    assert refused.count("\n") == 1
    assert keepon("--help") == EXIT_MET
    assert f"\n  {words[0]} " not in capsys.readouterr().out


def test_without_their_package_a_study_is_not_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    monkeypatch.setattr(papers, "entry_points", lambda **_: ())
    (tmp_path / "result.json").write_text(json.dumps({"schema": "keepon.study/1"}))
    assert keepon("report", tmp_path) == EXIT_ENVIRONMENT
    refused = capsys.readouterr().err
    assert refused.startswith("keepon: report of a study: ") and REMEDY in refused


@pytest.mark.slow
def test_what_plans_does_not_load_them() -> None:
    program = (
        "import sys; from keepon.cli.app import app;"
        " sys.exit(any(name.startswith('keepon_papers') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
