# SPDX-License-Identifier: BSD-3-Clause
"""Result folders are written whole or not at all, and never over what is not ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from keepon.errors import ConfigError, EnvironmentProblemError, TraceError
from keepon.model import documents

OURS = '{"schema": "keepon.result/1"}'


def test_a_failed_run_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), documents.result_folder(tmp_path / "out" / "x") as work:
        (work / "plan.json").write_text("half")
        raise ZeroDivisionError
    assert list((tmp_path / "out").iterdir()) == []


def test_a_failed_run_leaves_the_earlier_result(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    with documents.result_folder(folder) as work:
        (work / documents.RESULT_FILE).write_text(OURS)
    with pytest.raises(KeyboardInterrupt), documents.result_folder(folder) as work:
        (work / documents.RESULT_FILE).write_text("second")
        raise KeyboardInterrupt
    assert (folder / documents.RESULT_FILE).read_text() == OURS
    assert list(tmp_path.iterdir()) == [folder]


def test_a_result_of_ours_is_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    for name in ("packets-keepon-a.csv", documents.CAPTURE_FILE, documents.PLAN_FILE):
        with documents.result_folder(folder) as work:
            (work / documents.RESULT_FILE).write_text(OURS)
            (work / name).touch()
    assert sorted(path.name for path in folder.iterdir()) == [
        documents.PLAN_FILE, documents.RESULT_FILE,
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == [folder]


def test_a_foreign_folder_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with (
        pytest.raises(ConfigError, match="holds other files than results"),
        documents.result_folder(tmp_path),
    ):
        pass
    assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize(
    ("names", "named"),
    [
        (("result.json", "notes.txt"), "notes.txt"),
        (("result.json", ".hidden"), ".hidden"),
        (("result.json", "plan.json/mine"), "plan.json"),
        (("result.json", "src/main.c"), "src"),
        (("result.json", "analysis.csv"), "analysis.csv"),
        (("plan.json",), "plan.json"),
    ],
)
def test_a_foreign_file_in_a_result_folder_is_named_and_stays(
    names: tuple[str, ...], named: str, tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(OURS)
    with pytest.raises(ConfigError, match=f'other files than results, as "{re.escape(named)}"'):
        documents.check_target(tmp_path)
    assert all((tmp_path / name).read_text() == OURS for name in names)


@pytest.mark.parametrize("text", ["{}", "", '{"schema": "mine/1"}', '{"schema": 1}', "[]"])
def test_a_result_of_another_program_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / documents.RESULT_FILE).write_text(text)
    with pytest.raises(ConfigError, match=r'as "result\.json"; move them away'):
        documents.check_target(tmp_path)


def test_files_are_replaced_by_those_of_their_kind(tmp_path: Path) -> None:
    path = tmp_path / "a"
    is_plan = documents.has_schema("keepon.plan/")
    for text in ("", '{"a": 1, "schema": "keepon.plan/1"}'):
        path.write_text(text)
        documents.check_replaces("--out", path, is_plan, "a plan")
    documents.check_replaces("--out", tmp_path / "b", is_plan, "a plan")
    through_proc = Path("/proc/self/cwd", os.path.relpath(path))
    for text in (OURS, 'Notes on "schema": "keepon.plan/1"', "[1]"):
        path.write_text(text)
        with pytest.raises(ConfigError, match=r'--out = ".*a": is there and is not a plan, so'):
            documents.check_replaces("--out", path, is_plan, "a plan")
        with pytest.raises(ConfigError, match=r"is there and is not a plan, so"):
            documents.check_replaces("--out", through_proc, is_plan, "a plan")


@pytest.mark.parametrize(
    "name", ["/dev/stdout", "//dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"]
)
def test_what_a_stream_leads_to_keeps_what_is_in_it(name: str, tmp_path: Path) -> None:
    """The shell opened it to have something put behind its end."""
    diary = tmp_path / "diary.txt"
    (tmp_path / "link").symlink_to("/dev/stdout")
    diary.write_text("dear diary\n")
    script = (
        "from pathlib import Path; from keepon.model import documents;"
        f" print('first'); documents.write_text(Path({name!r}), 'second\\n', ''); print('third')"
    )
    with diary.open("a") as handle:
        subprocess.run([sys.executable, "-c", script], stdout=handle, check=True, cwd=tmp_path)
    assert diary.read_text() == "dear diary\nfirst\nsecond\nthird\n"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        documents.check_target(path)


def test_a_folder_that_cannot_be_made_is_an_environment_problem() -> None:
    with pytest.raises(EnvironmentProblemError, match="cannot be written"):
        documents.check_target(Path("/proc/keepon/x"))
    with pytest.raises(EnvironmentProblemError, match="cannot be written"):
        documents.write(Path("/proc/keepon.json"), {})


def test_readers_refuse_what_they_do_not_know(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text, message in (
        (json.dumps({"schema": "keepon.result/2"}), 'must be "keepon.result/1"'),
        ("[]", 'must be "keepon.result/1"'),
        ("{", "not JSON"),
    ):
        path.write_text(text)
        with pytest.raises(TraceError, match=message):
            documents.read(path, "keepon.result/1")
    with pytest.raises(TraceError, match="cannot be read"):
        documents.read(tmp_path / "absent.json", "keepon.result/1")


def test_a_file_that_fails_half_way_leaves_the_earlier_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    documents.write(path, {"a": 1})
    for broken in ({"a": float("nan")}, {"a": object()}):
        with pytest.raises((ValueError, TypeError)):
            documents.write(path, broken)
    taken = tmp_path / "folder"
    taken.mkdir()
    with pytest.raises(EnvironmentProblemError, match="cannot be written"):
        documents.write(taken, {"a": 1})
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "plan.json"]
    assert json.loads(path.read_text()) == {"a": 1}
