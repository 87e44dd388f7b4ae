# SPDX-License-Identifier: BSD-3-Clause
"""A study on the terminal, as HTML and as a result folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli_w
from rich.markup import escape
from rich.table import Table

from keepon.model import documents
from keepon.model.study import StudyDocument, shown
from keepon.report import studygrids, terminal
from keepon.report.grids import WIDTHS
from keepon.report.html import environment

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
    told = []
    for part in document["parts"]:
        for check in part["checks"]:
            told.append(
                f"{part['name']}: {'holds' if check['met'] else 'FAILS'}: {check['what']}"
                f" ({check['found']})"
            )
        told += [f"{part['name']}: found: {text}" for text in part["findings"]]
        told += [
            f"{part['name']}: true by construction: {text}" for text in part["by_construction"]
        ]
    calibrated = [
        f"{entry['parameter']} = {entry['value']} ({entry['source_id']})"
        for entry in document["calibrated"]
    ]
    chosen = [f"{entry['parameter']} = {entry['value']}" for entry in document["chosen"]]
    if calibrated:
        told.append("calibrated: " + ", ".join(calibrated))
    if chosen:
        told.append("chosen: " + ", ".join(chosen))
    return told


def show(document: StudyDocument) -> None:
    """Print the study."""
    for table in tables(document):
        terminal.show(table)
    for line in lines(document):
        terminal.say(line)


def html(document: StudyDocument) -> str:
    """The report: one HTML file that needs nothing else."""
    # Loads matplotlib, which what draws nothing should not wait for.
    from keepon.report import plots

    drawn = {
        plot["name"]: plots.render(plot) for part in document["parts"] for plot in part["plots"]
    }
    return environment().get_template("study.html.j2").render(
        study=document, drawn=drawn, effective=tomli_w.dumps(document["effective"]),
        grids=studygrids, widths=WIDTHS,
    )  # fmt: skip


def write_folder(folder: Path, document: StudyDocument) -> None:
    """`result.json` and `report.html`, whole or not at all."""
    with documents.result_folder(folder) as work:
        documents.write(work / documents.RESULT_FILE, document)
        (work / documents.REPORT_FILE).write_text(html(document), encoding="utf-8")
