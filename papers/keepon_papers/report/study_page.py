# SPDX-License-Identifier: BSD-3-Clause
"""A study on the terminal, as HTML and as a result folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w
from rich.markup import escape
from rich.table import Table

from keepon.model import documents
from keepon.report import terminal
from keepon.report.grids import WIDTHS, Cell, Column, Grid, cells
from keepon.report.html import environment
from keepon_papers.document import StudyDocument, shown

_WORD_COLUMNS = ("quantity", "published as", "kind", "remark")


def _compared(part: dict[str, Any]) -> Table:
    table = Table(title=escape(f"{part['title']} ({part['source']})"), title_justify="left")
    for column in ("quantity", "ours", "published", "published as", "kind", "remark"):
        word = column in _WORD_COLUMNS
        table.add_column(column, justify="left" if word else "right")
    for row in part["compared"]:
        cells = (
            row["quantity"],
            shown(row["ours"]),
            shown(row["published"]),
            row["id"],
            row["kind"],
            row["remark"],
        )
        table.add_row(*(escape(cell) for cell in cells))
    return table


def tables(document: StudyDocument) -> list[Table]:
    """For each part: ours beside the published, then its tables."""
    found = []
    for part in document["parts"]:
        if part["compared"]:
            found.append(_compared(part))
        for entry in part["tables"]:
            title = escape(f"{entry['title']} [{entry['kind']}]")
            table = Table(
                title=title,
                title_justify="left",
                caption=escape(entry["note"] or "") or None,
                caption_justify="left",
            )
            for index, column in enumerate(entry["columns"]):
                words = any(isinstance(row[index], str) for row in entry["rows"])
                table.add_column(escape(column["name"]), justify="left" if words else "right")
            for row in entry["rows"]:
                pairs = zip(row, entry["columns"], strict=True)
                table.add_row(*(escape(shown(cell, column["digits"])) for cell, column in pairs))
            found.append(table)
    return found


def lines(document: StudyDocument) -> list[str]:
    """What was checked, found, and true by construction, one line each."""
    sentences = []
    for part in document["parts"]:
        for check in part["checks"]:
            sentences.append(
                f"{part['name']}: {'holds' if check['met'] else 'FAILS'}: {check['what']}"
                f" ({check['found']})"
            )
        sentences += [f"{part['name']}: found: {text}" for text in part["findings"]]
        sentences += [
            f"{part['name']}: true by construction: {text}" for text in part["by_construction"]
        ]
    calibrated = [
        f"{entry['parameter']} = {entry['value']} ({entry['source_id']})"
        for entry in document["calibrated"]
    ]
    chosen = [f"{entry['parameter']} = {entry['value']}" for entry in document["chosen"]]
    if calibrated:
        sentences.append("calibrated: " + ", ".join(calibrated))
    if chosen:
        sentences.append("chosen: " + ", ".join(chosen))
    return sentences


def show(document: StudyDocument) -> None:
    """Print the study."""
    for table in tables(document):
        terminal.show(table)
    for line in lines(document):
        terminal.say(line)


def compared(part: Mapping[str, Any]) -> Grid:
    """Ours beside the published."""
    return Grid(
        "Ours beside the published",
        [
            Column("quantity", "words"), Column("ours"), Column("published", quiet=True),
            Column("published as", "words", quiet=True), Column("ours is", "words"),
            Column("remark", "words"),
        ],
        [
            cells(
                row["quantity"], shown(row["ours"]), shown(row["published"]), row["id"],
                row["kind"], row["remark"],
            )
            for row in part["compared"]
        ],
    )  # fmt: skip


def checks(part: Mapping[str, Any]) -> Grid:
    """What must hold."""
    return Grid(
        "What must hold",
        [Column("statement", "words"), Column("holds", "text"), Column("found", "words")],
        [
            [
                Cell(check["what"]),
                Cell("yes" if check["met"] else "NO", bad=not check["met"]),
                Cell(check["found"]),
            ]
            for check in part["checks"]
        ],
    )


def of_table(table: Mapping[str, Any]) -> Grid:
    """A table of the study's own."""
    words = [
        number == 0 or any(isinstance(row[number], str) for row in table["rows"])
        for number in range(len(table["columns"]))
    ]
    return Grid(
        table["title"],
        [
            Column(column["name"], "words" if is_word else "number")
            for column, is_word in zip(table["columns"], words, strict=True)
        ],
        [
            cells(
                *(
                    shown(cell, column["digits"])
                    for cell, column in zip(row, table["columns"], strict=True)
                )
            )
            for row in table["rows"]
        ],
    )


def settings(caption: str, entries: Sequence[Mapping[str, Any]], last: str, title: str) -> Grid:
    """Settings with where they are from, or why they are what they are."""
    return Grid(
        caption,
        [Column("parameter", "words"), Column("value"), Column(title, "words")],
        [cells(entry["parameter"], entry["value"], entry[last]) for entry in entries],
    )


def html(document: StudyDocument) -> str:
    """The report: one HTML file that needs nothing else."""
    # Loads matplotlib, which what draws nothing should not wait for.
    from keepon_papers.report import figures

    drawn = {
        plot["name"]: figures.render(plot) for part in document["parts"] for plot in part["plots"]
    }
    return environment(__package__).get_template("study.html.j2").render(
        study=document, drawn=drawn, effective=tomli_w.dumps(document["effective"]),
        grids=sys.modules[__name__], widths=WIDTHS,
    )  # fmt: skip


def write_folder(folder: Path, document: StudyDocument) -> None:
    """`result.json` and `report.html`, whole or not at all."""
    with documents.result_folder(folder) as work:
        documents.write(work / documents.RESULT_FILE, document)
        (work / documents.REPORT_FILE).write_text(html(document), encoding="utf-8")
