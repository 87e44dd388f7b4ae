# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon export` writes and replaces, and what it leaves as it was."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import HABITAT
from keepon.cli import export_command as command
from keepon.errors import EXIT_ENVIRONMENT, EXIT_INPUT, EXIT_MET, EnvironmentProblemError
from keepon.model import atomic, documents


@pytest.mark.slow
def test_nothing_is_replaced_unless_asked(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    out, picture = tmp_path / "a" / "out", tmp_path / "net.dot"
    for name, place in (("commands", out), ("dot", picture)):
        words = [HABITAT, "--plan", plan_file, "--format", name, "--out", place]
        assert keepon("export", *words) == EXIT_MET
        assert keepon("export", *words) == EXIT_INPUT
        assert "--force" in capsys.readouterr().err
        assert keepon("export", *words, "--force") == EXIT_MET
    manifest = json.loads((out / "export.json").read_text())
    assert {path.name for path in out.iterdir()} == {*manifest["files"], "export.json"}
    assert manifest["schema"] == "keepon.export/1" and manifest["format"] == "commands"
    assert os.access(out / "br1.sh", os.X_OK)
    (out / "mine.txt").write_text("kept")
    assert (
        keepon("export", HABITAT, "--plan", plan_file, "--format", "yang", "--out", out, "--force")
        == EXIT_INPUT
    )
    assert 'holds "mine.txt"' in capsys.readouterr().err
    assert (out / "mine.txt").read_text() == "kept" and (out / "br1.sh").exists()
    assert sorted(path.name for path in out.parent.iterdir()) == ["out"]


@pytest.mark.slow
def test_a_folder_takes_the_place_of_an_earlier_export_whole(
    plan_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command.run(HABITAT, plan_file, "tsntool", out)
    exported = command.run(HABITAT, plan_file, "yang", out, force=True)
    assert {path.name for path in out.iterdir()} == {*exported["files"], "export.json"}
    assert not list(out.glob("*.cfg"))


@pytest.mark.slow
def test_foreign_folders_and_wrong_kinds_of_place_are_left(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    foreign, file = tmp_path / "foreign", tmp_path / "file"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    file.write_text("a file")
    for name, place in (("commands", foreign), ("dot", foreign), ("commands", file)):
        words = [HABITAT, "--plan", plan_file, "--format", name, "--out", place, "--force"]
        assert keepon("export", *words) == EXIT_INPUT
    assert (foreign / "thesis.tex").read_text() == "years of work" and file.read_text() == "a file"
    assert keepon("export", *words[:-2], file / "below") == EXIT_ENVIRONMENT
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.slow
def test_a_failed_write_leaves_what_was_there(
    plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    command.run(HABITAT, plan_file, "yang", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    opened = Path.open

    def full(path: Path, mode: str = "r", *more: Any, **named: Any) -> Any:
        if "w" in mode:
            raise OSError(28, "No space left on device")
        return opened(path, mode, *more, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        for name, place in (("yang", out), ("dot", tmp_path / "net.dot")):
            with pytest.raises(EnvironmentProblemError, match="No space left on device"):
                command.run(HABITAT, plan_file, name, place, force=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "plan.json"]


@pytest.mark.slow
def test_a_failed_exchange_brings_the_earlier_export_back(
    plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    command.run(HABITAT, plan_file, "yang", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    real = Path.replace

    def second_fails(self: Path, target: Path) -> Path:
        if target == out and self.name != atomic.EARLIER:
            raise OSError(5, "Input/output error")
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", second_fails)
        with pytest.raises(EnvironmentProblemError, match="Input/output error"):
            command.run(HABITAT, plan_file, "tsntool", out, force=True)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "plan.json"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yang", "dot"])
def test_what_a_killed_export_was_to_replace_stays(
    name: str, plan_file: Path, tmp_path: Path
) -> None:
    """A plan's file is written the same way."""
    out = tmp_path / "out"
    command.run(HABITAT, plan_file, name, out)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for again in (
        lambda: command.run(HABITAT, plan_file, name, out, force=True),
        lambda: documents.write(plan_file, json.loads(plan_file.read_text())),
    ):
        killed = multiprocessing.get_context("fork").Process(target=_killed_in, args=(again,))
        killed.start()
        killed.join()
        assert killed.exitcode == -signal.SIGKILL
    assert {path: path.read_bytes() for path in before} == before


def _killed_in(work: Callable[[], object]) -> None:
    """Before what was written takes its place."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "replace", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        work()


@pytest.mark.parametrize("read", ["plan", "scenario"])
def test_what_is_read_is_not_replaced_by_force(
    read: str, plan_file: Path, tmp_path: Path, keepon: Any
) -> None:
    scenario = tmp_path / "habitat.toml"
    scenario.write_bytes(HABITAT.read_bytes())
    out = {"plan": plan_file, "scenario": scenario}[read]
    before = out.read_bytes()
    words = (scenario, "--plan", plan_file, "--format", "dot", "--out", out, "--force")
    assert keepon("export", *words) == EXIT_INPUT
    assert out.read_bytes() == before
