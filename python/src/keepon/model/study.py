# SPDX-License-Identifier: BSD-3-Clause
"""The document of a study (`keepon.study/1`): tables, curves, ours beside published, and what kind each number is of.

Kinds, marked in every output: "calculated" from the mechanism, "calibrated" to a publication (with its id), "chosen"
where a publication is silent, "by construction" where it could not come out otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

from keepon import __version__
from keepon.model.result import Calibrated, Chosen

STUDY_SCHEMA = "keepon.study/1"

Kind = Literal["calculated", "calibrated", "chosen", "by construction"]
Style = Literal["line", "dashed", "points", "band"]
Cell = str | int | float | None


@dataclass(frozen=True)
class Column:
    """A column of a table; `digits` after the point where its cells are numbers."""

    name: str
    digits: int = 3


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns; None is shown as "-"."""

    title: str
    kind: Kind
    columns: list[Column]
    rows: list[list[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Curve:
    """One curve of a panel; a band lies between `y` and `y_upper`."""

    label: str
    x: list[float]
    y: list[float]
    style: Style = "line"
    y_upper: list[float] | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    curves: list[Curve]
    log_y: bool = False


@dataclass(frozen=True)
class Plot:
    """Panels side by side, two in a row; `name` is unique in the document."""

    name: str
    title: str
    kind: Kind
    panels: list[Panel]
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """One published figure with ours beside it; `remark` says why they differ, if they do."""

    quantity: str
    ours: Cell
    published: Cell
    id: str
    kind: Kind
    remark: str


@dataclass(frozen=True)
class Check:
    """A statement that must hold, and what was found."""

    what: str
    met: bool
    found: str


@dataclass
class Part:
    """One figure or equation of a publication."""

    name: str
    title: str
    source: str
    compared: list[Comparison] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    by_construction: list[str] = field(default_factory=list)


class Sets(TypedDict):
    """Every set of streams a study decided, one row each."""

    columns: list[str]
    rows: list[list[Cell]]


class StudyDocument(TypedDict):
    """The whole document; the last three are of studies over sets."""

    schema: str
    study: str
    title: str
    version: str
    commit: str | None
    met: bool
    effective: dict[str, Any]
    calibrated: list[Calibrated]
    chosen: list[Chosen]
    parts: list[dict[str, Any]]
    interrupted: NotRequired[bool]
    attempted: NotRequired[int]
    sets: NotRequired[Sets]


def document(
    name: str,
    title: str,
    parts: Sequence[Part],
    effective: dict[str, Any],
    calibrated: list[Calibrated],
    chosen: list[Chosen],
    commit: str | None,
) -> StudyDocument:
    """The whole document, ready for JSON.

    Args:
        effective: every setting with the value it had.
        calibrated: {parameter, value, source_id} of the settings that were published.
        chosen: {parameter, value, why} of those that were not.
    """
    return {
        "schema": STUDY_SCHEMA,
        "study": name,
        "title": title,
        "version": __version__,
        "commit": commit,
        "met": all(check.met for part in parts for check in part.checks),
        "effective": effective,
        "calibrated": calibrated,
        "chosen": chosen,
        "parts": [asdict(part) for part in parts],
    }


def shown(cell: Cell, digits: int = 3) -> str:
    """A cell as text.

    >>> shown(None), shown(2.5, 1), shown(39), shown("x")
    ('-', '2.5', '39', 'x')
    """
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.{digits}f}"
    return str(cell)
