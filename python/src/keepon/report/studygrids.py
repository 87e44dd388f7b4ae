# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a study's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keepon.model.study import shown
from keepon.report.grids import Cell, Column, Grid, cells


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
