# SPDX-License-Identifier: BSD-3-Clause
"""`keepon reproduce NAME`: documents, tables, reports, exit codes and refusals of the registered
studies.
"""

from __future__ import annotations

import copy
import functools
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from keepon.cli import app as cli
from keepon.model import documents
from keepon_papers import document as study
from keepon_papers import published
from keepon_papers import study as frame
from keepon_papers.ptperrors.settings import CALIBRATED, CHOICES, Settings
from keepon_papers.registry import STUDIES
from keepon_papers.report import study_page
from keepon_papers.schema_files import PACKAGE
from keepon_papers.spread import Spread

QUICK = [
    "--set",
    "intervals=100",
    "--set",
    "sweep_intervals=60",
    "--set",
    "sweep_points=5",
    "--seeds",
    "40",
]


def keepon(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["keepon", *arguments])
    return cli.main()


def run(name: str, *assignments: str) -> Any:
    return frame.run(STUDIES[name], name, list(assignments))


@pytest.fixture(scope="module")
def whole() -> Any:
    return run("ptp-errors")


@pytest.mark.slow
def test_every_statement_holds_with_the_published_settings(whole: dict[str, Any]) -> None:
    checks = [check for part in whole["parts"] for check in part["checks"]]
    assert len(checks) >= 10
    assert [check for check in checks if not check["met"]] == []
    assert whole["met"] is True


@pytest.mark.slow
def test_document_has_every_part_and_fits_its_schema(whole: dict[str, Any]) -> None:
    assert [part["name"] for part in whole["parts"]] == ["eq4", "eq6", "fig28", "fig29"]
    jsonschema.validate(
        json.loads(json.dumps(whole, allow_nan=False)),
        documents.json_schema("study", PACKAGE),
    )
    for part in whole["parts"]:
        assert part["compared"]
        assert part["plots"]
        for table in part["tables"]:
            assert all(len(row) == len(table["columns"]) for row in table["rows"])


@pytest.mark.slow
def test_a_document_that_lacks_a_key_or_has_another_does_not_fit(whole: dict[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(documents.json_schema("study", PACKAGE))
    for way in (
        ["parts", 0],
        ["parts", 0, "tables", 0],
        ["parts", 0, "plots", 0, "panels", 0, "curves", 0],
        ["chosen", 0],
    ):
        table = functools.reduce(lambda inside, step: inside[step], way, whole)
        for key in list(table):
            changed = copy.deepcopy(whole)
            functools.reduce(lambda inside, step: inside[step], way, changed).pop(key)
            assert not validator.is_valid(changed), (way, key)
        changed = copy.deepcopy(whole)
        functools.reduce(lambda inside, step: inside[step], way, changed)["colour"] = "red"
        assert not validator.is_valid(changed), way


@pytest.mark.slow
def test_published_figures_stand_beside_ours_under_their_ids(whole: dict[str, Any]) -> None:
    known = {entry["id"] for entry in published.load("keepon").values() if isinstance(entry, dict)}
    rows = [row for part in whole["parts"] for row in part["compared"]]
    assert {row["id"] for row in rows} - known == {"D-EQ6"}
    beside = {(row["id"], row["published"]) for row in rows}
    for expected in (
        ("keepon.fig8", 39),
        ("keepon.fig28_granularity", 0.5),
        ("keepon.fig28_granularity", 2.7),
        ("keepon.fig28_granularity", 5.4),
        ("keepon.fig28_jitter", 0.03),
        ("keepon.fig28_jitter", 1.5),
        ("keepon.fig28_jitter", 50),
        ("keepon.fig29", 12.2),
    ):
        assert expected in beside


def test_every_setting_is_calibrated_or_chosen() -> None:
    assert set(CALIBRATED) | set(CHOICES) == set(Settings.model_fields)
    assert not set(CALIBRATED) & set(CHOICES)


def test_a_published_setting_that_was_changed_is_no_longer_called_calibrated() -> None:
    document = run("eq6", "interval_ms=50", "intervals=60", "seeds=20")
    assert "interval_ms" not in {entry["parameter"] for entry in document["calibrated"]}
    why = {entry["parameter"]: entry["why"] for entry in document["chosen"]}
    assert why["interval_ms"] == "set on the command line"
    assert document["effective"]["interval_ms"] == 50


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["exponential", "extremes", "rounding"])
def test_statements_hold_whatever_the_distribution(distribution: str) -> None:
    document = run("ptp-errors", f"distribution={distribution}")
    assert [
        check for part in document["parts"] for check in part["checks"] if not check["met"]
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eq4", "eq6", "fig28", "fig29"])
def test_command_prints_tables_and_writes_a_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out" / name
    assert keepon(monkeypatch, "reproduce", name, "--out", str(folder), *QUICK) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert f"{name}: holds: " in printed.out
    assert "calibrated: " in printed.out
    assert "chosen: " in printed.out
    assert "[calculated]" in printed.out
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "result.json"]
    document = documents.read(folder / "result.json", study.STUDY_SCHEMA)
    assert document["effective"]["seeds"] == 40
    page = (folder / "report.html").read_text()
    plots = [plot for part in document["parts"] for plot in part["plots"]]
    assert page.count("<svg") == len(plots) > 0
    assert len(set(re.findall(r'\bid="([^"]+)"', page))) == len(re.findall(r'\bid="([^"]+)"', page))
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    for word in (
        "calculated",
        "Calibrated",
        "Chosen",
        "True by construction",
        "Effective configuration",
    ):
        assert word in page


@pytest.mark.slow
def test_json_is_the_document_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "x"
    for seed in ("7", "7"):
        assert (
            keepon(
                monkeypatch,
                "reproduce",
                "eq6",
                "--out",
                str(folder),
                "--seed",
                seed,
                "--json",
                *QUICK,
            )
            == 0
        )
    first, second = capsys.readouterr().out.split('"schema"')[1:]
    assert first.rstrip().removesuffix("{").rstrip() == second.rstrip()
    assert json.loads('{"schema"' + second) == json.loads((folder / "result.json").read_text())


@pytest.mark.slow
def test_report_is_written_again_from_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "x"
    assert keepon(monkeypatch, "reproduce", "eq4", "--out", str(folder), *QUICK) == 0
    before = (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    capsys.readouterr()
    assert keepon(monkeypatch, "report", str(folder)) == 0
    assert (folder / "report.html").read_text() == before
    assert "eq4: holds: " in capsys.readouterr().out
    assert keepon(monkeypatch, "report", str(folder), "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "keepon.fig8"


@pytest.mark.slow
def test_a_statement_that_does_not_hold_gives_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Corrections late in the interval end the growth that H11 states.
    changes = ["--set", "turnaround_us=20000", *QUICK]
    assert keepon(monkeypatch, "reproduce", "fig29", "--out", str(tmp_path / "x"), *changes) == 1
    assert "fig29: FAILS: unfiltered, ratio from clock" in capsys.readouterr().out
    assert "NO</td>" in (tmp_path / "x" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--set", "interval_ms=-1"],
            "setting `interval_ms` = -1: must be between 0.001 and 10000; choose",
        ),
        (
            ["--set", "interval_ms=0.03"],
            "setting `interval_ms` = 0.03: must be more than 0.044, one exchange (20 us)",
        ),
        (
            ["--set", "turnaround_us=100000"],
            "setting `interval_ms` = 100.0: must be more than 100.044",
        ),
        (
            ["--set", "filter_window_samples=0"],
            "must be between 1 and 1000; 1 switches the filter off",
        ),
        (["--set", "filter_window_samples=1"], "must be between 2 and 1000 in Figure 29's study"),
        (["--set", "filter_window_samples=2.5"], "must be a whole number, between 1 and 1000"),
        (
            ["--set", "intervals=50", "--set", "filter_window_samples=40"],
            "`intervals` = 50: must be at least 100",
        ),
        (
            ["--set", "granularity_us=-0.1"],
            "setting `granularity_us` = -0.1: must be between 0 and 1000",
        ),
        (
            ["--set", "granularity_max_us=0.5"],
            "`granularity_max_us` = 0.5: must be more than granularity_min_us, 0.8",
        ),
        (["--set", "jitter_us=nan"], "must be a number between 0 and 1000"),
        (
            ["--set", "ratio_from=clocks"],
            'must be one of "clock", "counter", "independent"; did you mean "clock"?',
        ),
        (
            ["--set", "intervall_ms=5"],
            'setting `intervall_ms` = 5: unknown key; did you mean "interval_ms"?',
        ),
        (["--set", "interval_ms"], 'option --set = "interval_ms": must be KEY=VALUE; for example'),
        (["--set", "interval_ms=[1]"], "setting `interval_ms` = [1]: must be a number"),
        (["--seeds", "3"], "setting `seeds` = 3: must be between 20 and 1000"),
        (
            ["--seed", "3", "--set", "seed=4"],
            "setting `seed` = 4: --seed gives it as well; drop one",
        ),
        (["--duration", "3"], 'option --duration: not for study "fig29"'),
        (["--capture-frames", "3"], 'option --capture-frames: not for study "fig29"'),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert keepon(monkeypatch, "reproduce", "fig29", "--out", str(tmp_path / "x"), *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert sentence in printed.err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_study_and_settings_of_a_scenario_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keepon(monkeypatch, "reproduce", "fig280", "--out", str(tmp_path / "x")) == 2
    assert (
        'argument STUDY = "fig280": must be one of habitat, eq4, eq6, fig28'
        in capsys.readouterr().err
    )
    assert (
        keepon(monkeypatch, "reproduce", "habitat", "--set", "a=1", "--out", str(tmp_path / "x"))
        == 2
    )
    assert 'option --set = "a=1": not for a scenario' in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_folder_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(settings: Settings, _: Spread) -> frame.Found:
        raise AssertionError(settings)

    (tmp_path / "thesis.tex").write_text("precious")
    monkeypatch.setitem(STUDIES, "eq4", replace(STUDIES["eq4"], find=never))
    assert keepon(monkeypatch, "reproduce", "eq4", "--out", str(tmp_path)) == 2
    assert "holds other files than results" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.slow
def test_cells_are_shown_with_the_digits_of_their_column(whole: dict[str, Any]) -> None:
    page = study_page.html(whole)
    row = next(row for row in whole["parts"][0]["compared"] if row["id"] == "keepon.fig8")
    assert row["ours"] == 39
    assert ">39</td>" in page
    assert "NaN" not in page


NUMBERED = {
    "keepon": {"fig": [*range(1, 30)], "table": [*range(1, 7)], "example": [1, 2, 3]},
    "fejes": {"fig": [1, 2, 3]},
    "mitsubishi": {"fig": [2, *range(5, 20)], "table": [*range(1, 12)]},
    "garbugli": {"fig": [2, 4, 5]},
}
"""What the recorded facts of each document number."""


def test_every_published_figure_is_listed_with_a_state_that_holds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keepon(monkeypatch, "reproduce", "--list", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    for source, kinds in NUMBERED.items():
        wanted = {f"{kind}{number}" for kind, numbers in kinds.items() for number in numbers}
        assert wanted <= set(figures[source])
    path = Path(__file__).parents[2] / "tests" / "requirements.toml"
    rows = {row["id"]: row for row in tomllib.loads(path.read_text(encoding="utf-8"))["row"]}
    studies = {"habitat", *STUDIES}
    repeated = set()
    for source, entries in figures.items():
        for name, entry in entries.items():
            said = f"{source}.{name}"
            named = re.findall(r"\b[A-Z]\d+\b", entry.get("why", ""))
            if entry["state"] == "study":
                assert entry["by"] and set(entry["by"]) <= studies, said
                repeated |= set(entry["by"])
            elif entry["state"] == "tests":
                assert entry["by"] and all(rows[row].get("test") for row in entry["by"]), said
            else:
                assert entry["state"] in ("hardware", "text", "open") and entry["why"], said
                assert bool(named) == (entry["state"] != "text"), said
            state = {"open": "open", "hardware": "context"}.get(entry["state"], "contradicted")
            assert all(rows[row]["state"] == state for row in named), said
            contradicted = [row for row in entry.get("by", []) if row in rows
                            and rows[row]["state"] == "contradicted"]  # fmt: skip
            assert set(contradicted) <= set(named), said
    assert repeated == studies


def test_the_list_has_a_line_for_each_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keepon(monkeypatch, "reproduce", "--list") == 0
    shown = capsys.readouterr().out
    assert re.search(r"keepon\.fig17 +study +fig17\n", shown)
    assert re.search(r"keepon\.fig14 +tests +E1, E2\n", shown)
    assert re.search(r"keepon\.fig24 +hardware +temperatures of a board", shown)


@pytest.mark.slow
def test_help_loads_neither_solver_nor_plots() -> None:
    script = (
        "import sys; from keepon.cli import app; sys.argv[1:] = ['--help']; code = app.main(); "
    )
    script += (
        "print(code, {'ortools', 'matplotlib', 'distributed'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == "0 set()\n"
