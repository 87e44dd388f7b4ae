# SPDX-License-Identifier: BSD-3-Clause
"""Documents of studies: their schemas, and what is refused in one sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from schemas import undescribed

from keepon.cli import app as cli
from keepon.errors import EXIT_INPUT
from keepon.model import document_schemas, documents
from keepon_papers import document as study
from keepon_papers.schema_files import DOCUMENTS, FOLDER, PACKAGE

NAMES = sorted(DOCUMENTS)


def test_schemas_are_schemas() -> None:
    for name in NAMES:
        jsonschema.Draft202012Validator.check_schema(documents.json_schema(name, PACKAGE))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_what_the_types_say(name: str) -> None:
    path = FOLDER / f"{name}.schema.json"
    found = "run python -m keepon_papers.schema_files"
    assert path.read_text(encoding="utf-8") == document_schemas.text(name, DOCUMENTS), found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_described(name: str) -> None:
    assert list(undescribed(document_schemas.schema(name, DOCUMENTS))) == []


def test_a_study_that_is_not_whole_is_refused(refused: Any, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"schema": "keepon.study/1"}', encoding="utf-8")
    assert "= missing: must be there" in refused("report", tmp_path)


def small_study() -> Any:
    """As JSON has it: a table, a curve and a band."""
    table = study.Table("t", "calculated", [study.Column("a"), study.Column("b")], [[1, 2.5]])
    curves = [
        study.Curve("c", [1.0, 2.0], [3.0, 4.0]),
        study.Curve("d", [1.0, 2.0], [3.0, 4.0], "band", [5.0, 6.0]),
    ]
    plot = study.Plot("p", "p", "calculated", [study.Panel("p", "x", "y", curves)])
    part = study.Part("n", "n", "s", tables=[table], plots=[plot])
    return study.document("eq4", "t", [part], {}, [], [], None)


_CURVES = ("parts", 0, "plots", 0, "panels", 0, "curves")


@pytest.mark.parametrize(
    ("way", "value", "expected"),
    [
        (("parts", 0, "tables", 0, "rows", 0), [1], "rows[0]` has 1 entries: must have 2"),
        (("parts", 0, "tables", 0, "rows", 0), [1, 2, 3], "rows[0]` has 3 entries: must have 2"),
        ((*_CURVES, 0, "y"), [1.0], "curves[0].y` has 1 entries: must have 2"),
        ((*_CURVES, 0, "x"), [], "curves[0].x` = []: must be a list with at least one entry"),
        ((*_CURVES, 1, "y_upper"), None, "curves[1].y_upper` has 0 entries: must have 2"),
        ((*_CURVES, 0, "y", 0), 10**400, "is no finite number"),
        (("parts", 0, "tables", 0, "columns", 0, "digits"), 2**64, "must be at most 20"),
    ],
)
def test_a_study_whose_lists_do_not_fit_is_refused(
    refused: Any, tmp_path: Path, way: tuple[str | int, ...], value: object, expected: str
) -> None:
    document: Any = small_study()
    path = tmp_path / "result.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    study.read(path)
    around = document
    for step in way[:-1]:
        around = around[step]
    around[way[-1]] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    sentence = refused("report", tmp_path)
    assert expected in sentence and " again" in sentence


@pytest.mark.slow
def test_a_study_whose_settings_say_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page shows them as TOML, which has no null."""
    out = tmp_path / "r"

    def keepon(*words: object) -> int:
        monkeypatch.setattr(sys, "argv", ["keepon", *map(str, words)])
        return cli.main()

    keepon("reproduce", "eq6", "--out", out)
    document = json.loads((out / "result.json").read_text())
    document["effective"]["more"] = {"given": [1, None]}
    (out / "result.json").write_text(json.dumps(document))
    capsys.readouterr()
    assert keepon("report", out) == EXIT_INPUT
    printed = capsys.readouterr().err
    assert "result.json: key `effective.more.given[1]` = null: must have a value; the" in printed
    assert printed.count("\n") == 1
