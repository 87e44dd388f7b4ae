# SPDX-License-Identifier: BSD-3-Clause
"""Options that say where to write: files of other programs stay, and a name that leads nowhere is
an error of one sentence.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import TWO_STATIONS
from keepon.cli import app as cli
from partition_cases import instance

Called = Callable[..., tuple[int, str]]
LONG = 300 * "x"
WRITING = (
    ("plan", "ok.toml", "--out", "{}"),
    ("run", "ok.toml", "--duration", "0.01", "--out", "{}"),
    ("report", "res", "--picture", "{}"),
    ("compare", "res", "res", "--out", "{}"),
    ("export", "ok.toml", "--plan", "res/plan.json", "--format", "dot", "--out", "{}"),
    ("export", "ok.toml", "--plan", "res/plan.json", "--format", "yang", "--force", "--out", "{}"),
    ("new", "line", "{}"),
    ("reproduce", "eq4", "--out", "{}"),
    ("partition", "rings.json", "--out", "{}"),
    ("hwcheck", "lo", "--out", "{}"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario, a result of it, and rings to divide."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copy(TWO_STATIONS, folder / "ok.toml")
    with pytest.MonkeyPatch.context() as patch:
        arguments = ["run", str(folder / "ok.toml"), "--duration", "0.05"]
        patch.setattr(sys, "argv", ["keepon", *arguments, "--out", str(folder / "res")])
        assert cli.main() == 0
    rings = {"schema": {"version": 1}, "instances": [instance([(0, 4, 1), (1, 8, 2)], 8)]}
    (folder / "rings.json").write_text(json.dumps(rings))
    return folder


@pytest.fixture
def called(
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Called:
    """Runs `keepon` in a folder with a scenario and its result: exit code, and what stderr says."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["keepon", *arguments])
        return cli.main(), capsys.readouterr().err

    return run


def filled(words: tuple[str, ...], place: str) -> list[str]:
    return [word.format(place) for word in words]


@pytest.mark.slow
@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_a_file_of_another_kind_stays_as_it_is(words: tuple[str, ...], called: Called) -> None:
    texts = {
        "notes.sh": "#!/bin/sh\n",
        "page.html": '<!DOCTYPE html><p>Of <svg></svg>, digraph and "keepon.plan/1"</p>',
        "mine.json": '{"instances": [{"a": 1}], "schema": {"version": 1}}',
    }
    for kept in (*texts, "ok.toml", "res/result.json", "res/report.html"):
        for name, text in texts.items():
            Path(name).write_text(text)
        before = Path(kept).read_bytes()
        code, printed = called(*filled(words, kept))
        assert code == 2 and printed.count("\n") == 1 and kept in printed, printed
        assert Path(kept).read_bytes() == before


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_a_name_that_no_file_can_have_is_one_sentence(
    words: tuple[str, ...], called: Called
) -> None:
    before = sorted(Path().rglob("*"))
    code, printed = called(*filled(words, LONG))
    assert code in (2, 3) and printed.count("\n") == 1 and "File name too long" in printed, printed
    assert sorted(Path().rglob("*")) == before


def test_a_file_of_gigabytes_is_none_of_ours(called: Called) -> None:
    """Nor is it read to see that."""
    for words in WRITING:
        if words[0] in ("plan", "partition", "report"):
            with Path("big").open("wb") as handle:
                handle.truncate(1 << 40)
            code, printed = called(*filled(words, "big"))
            assert code == 2 and "would be lost" in printed


@pytest.mark.slow
def test_what_a_command_wrote_it_writes_again(called: Called) -> None:
    for words in WRITING:
        if words[0] in ("plan", "compare", "partition"):
            assert called(*filled(words, "made")) == called(*filled(words, "made")) == (0, "")
            Path("made").unlink()
    dot = ("export", "ok.toml", "--plan", "res/plan.json", "--format", "dot", "--out", "a.dot")
    assert called(*dot)[0] == called(*dot, "--force")[0] == 0


def test_a_scenario_in_the_folder_of_its_result_is_not_lost(called: Called) -> None:
    """It is the effective one there, until the user changes it to run it again."""
    mine = Path("res/scenario.toml")
    mine.write_text(f"# mine\n{mine.read_text()}")
    for words in (("run",), ("reproduce",)):
        code, printed = called(*words, str(mine), "--out", "res")
        assert code == 2 and "holds scenario.toml, which the command reads" in printed, printed
    Path("link.toml").symlink_to(mine)
    assert called("run", "link.toml", "--out", "res")[0] == 2
    assert called("run", str(mine), "--duration", "0.01", "--out", "res2")[0] == 0
    assert mine.read_text().startswith("# mine")


@pytest.mark.slow
def test_the_page_of_a_result_is_not_its_picture(called: Called) -> None:
    code, printed = called("report", "res", "--picture", "res/report.html")
    assert code == 2 and "would be lost" in printed
    assert called("report", "res", "--picture", "p.svg") == (0, "")
    assert called("report", "res", "--picture", "p.svg") == (0, "")


@pytest.mark.slow
def test_notes_beside_a_result_are_not_lost_with_it(called: Called) -> None:
    again = ("run", "ok.toml", "--duration", "0.01", "--out", "res")
    assert called(*again) == (0, "")
    Path("res/sub").mkdir()
    Path("res/sub/notes.txt").write_text("mine")
    for words in (again, ("reproduce", "eq4", "--out", "res")):
        code, printed = called(*words)
        assert code == 2 and 'other files than results, as "sub"; move them away' in printed
    assert Path("res/sub/notes.txt").read_text() == "mine"
    shutil.rmtree("res/sub")
    assert called("reproduce", "eq4", "--out", "res") == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "telling"),
    [
        (
            ("run", "ok.toml", "--duration", "0.01", "--out", "new"),
            "keepon.cli.shared.print_delays",
        ),
        (("reproduce", "eq4", "--out", "new"), "keepon_papers.report.study_page.show"),
    ],
)
def test_ctrl_c_while_a_result_is_printed_says_that_it_is_there(
    words: tuple[str, ...], telling: str, called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(telling, interrupted)
    code, printed = called(*words)
    assert (code, printed.strip()) == (130, "keepon: interrupted; new had been written")
    assert Path("new/result.json").is_file()
