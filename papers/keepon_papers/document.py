# SPDX-License-Identifier: BSD-3-Clause
"""The document of a study (`keepon.study/1`): tables, curves, ours beside published, and what kind
each number is of.

Kinds, marked in every output: "calculated" from the mechanism, "calibrated" to a publication (with
its id), "chosen" where a publication is silent, "by construction" where it could not come out
otherwise. `schemas/study.schema.json` is made of these types (schema_files).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, cast

from pydantic import Field, GetCoreSchemaHandler, GetPydanticSchema, with_config
from pydantic_core import CoreSchema

# pydantic takes those of `typing` from Python 3.12 on.
from typing_extensions import TypedDict

from keepon import __version__
from keepon.errors import TraceError
from keepon.model import documents
from keepon.model.typed import CLOSED, AtLeastOne

STUDY_SCHEMA: Final = "keepon.study/1"

Kind = Literal["calculated", "calibrated", "chosen", "by construction"]
Style = Literal["line", "dashed", "points", "band"]
Cell = str | int | float | None
Digits = Annotated[int, Field(ge=0, le=20)]
SettingValue = float | str | list[float]


@with_config(CLOSED)
@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    """its heading, with the unit"""
    digits: Digits = 3
    """after the point, where its cells are numbers"""


@with_config(CLOSED)
@dataclass(frozen=True)
class Table:
    """Rows of cells under columns."""

    title: str
    """what it shows"""
    kind: Kind
    """what kind its numbers are of"""
    columns: list[Column]
    """from left to right"""
    rows: Annotated[list[list[Cell]], Field(min_length=1)]
    """a cell for each column; null is shown as "-\""""
    note: str = ""
    """below the table"""


@with_config(CLOSED)
@dataclass(frozen=True)
class Curve:
    """One curve of a panel."""

    label: str
    """in the legend"""
    x: Annotated[list[float], Field(min_length=1)]
    """where its points are"""
    y: Annotated[list[float], Field(min_length=1)]
    """their values, one for each of `x`; of a band the lower edge"""
    style: Style = "line"
    """how it is drawn"""
    y_upper: list[float] | None = None
    """upper edge of a band; null: it is none"""


@with_config(CLOSED)
@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    """above it"""
    x_label: str
    """of the horizontal axis, with the unit"""
    y_label: str
    """of the vertical axis, with the unit"""
    curves: Annotated[list[Curve], Field(min_length=1)]
    """what is drawn"""
    log_y: bool = False
    """the vertical axis is logarithmic"""


@with_config(CLOSED)
@dataclass(frozen=True)
class Plot:
    """Panels side by side, two in a row."""

    name: str
    """unique in the document"""
    title: str
    """what it shows"""
    kind: Kind
    """what kind its numbers are of"""
    panels: Annotated[list[Panel], Field(min_length=1)]
    """pairs of axes"""
    note: str = ""
    """below the plot"""


@with_config(CLOSED)
@dataclass(frozen=True)
class Comparison:
    """One published figure with ours beside it."""

    quantity: str
    """what it is, with the unit"""
    ours: Cell
    """what we find"""
    published: Cell
    """what was published; null: nothing was"""
    id: Annotated[str, Field(min_length=1)]
    """of the publication in `keepon_papers.published`"""
    kind: Kind
    """what kind our number is of"""
    remark: str
    """why they differ, if they do"""


@with_config(CLOSED)
@dataclass(frozen=True)
class Check:
    """A statement that must hold."""

    what: str
    """the statement"""
    met: bool
    """it holds"""
    found: str
    """what it was judged by"""


@with_config(CLOSED)
@dataclass
class Part:
    """One figure or equation of a publication."""

    name: str
    """unique in the document"""
    title: str
    """what it is about"""
    source: str
    """where it was published"""
    compared: list[Comparison] = field(default_factory=list)
    """ours beside the published"""
    checks: list[Check] = field(default_factory=list)
    """statements that must hold"""
    tables: list[Table] = field(default_factory=list)
    """what was found, as numbers"""
    plots: list[Plot] = field(default_factory=list)
    """what was found, drawn"""
    findings: list[str] = field(default_factory=list)
    """what was found, in words"""
    by_construction: list[str] = field(default_factory=list)
    """what could not have come out otherwise, so is no result"""


@with_config(CLOSED)
class CalibratedSetting(TypedDict):
    """A number that was published, and that the study used."""

    parameter: str
    """what it is"""
    value: SettingValue
    """its value"""
    source_id: str
    """id of the publication"""


@with_config(CLOSED)
class ChosenSetting(TypedDict):
    """A number that nobody has published, and that the study used."""

    parameter: str
    """what it is"""
    value: SettingValue
    """its value"""
    why: str
    """why it is what it is"""


@with_config(CLOSED)
class Sets(TypedDict):
    """Every set of streams a study decided."""

    columns: list[str]
    """what the cells of a row are"""
    rows: Annotated[list[list[Cell]], Field(min_length=1)]
    """a row for each set, a cell for each column"""


def _schema_of_parts(_: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """In a document parts are plain tables: what `asdict` makes of them."""
    return handler.generate_schema(Annotated[list[Part], Field(min_length=1)])


@with_config(CLOSED)
class StudyDocument(TypedDict):
    """A published figure reproduced: tables, curves, ours beside published, and what kind each
    number is of.
    """

    schema: Literal["keepon.study/1"]
    """the kind of document"""
    study: str
    """name of the study"""
    title: str
    """what it is about"""
    version: str
    """of keepon"""
    commit: str | None
    """of the sources; null: they are no checkout"""
    met: bool
    """every check of every part holds"""
    effective: dict[str, Any]
    """every setting with the value it had"""
    calibrated: list[CalibratedSetting]
    """numbers that were published"""
    chosen: list[ChosenSetting]
    """numbers that were not, and those the user has changed"""
    parts: Annotated[list[dict[str, Any]], GetPydanticSchema(_schema_of_parts)]
    """figures and equations"""
    interrupted: NotRequired[bool]
    """of a study over sets: Ctrl-C ended it early, it tells of `attempted` sets only"""
    attempted: NotRequired[AtLeastOne]
    """how many sets were decided"""
    sets: NotRequired[Sets]
    """the sets, one by one"""


def document(
    name: str,
    title: str,
    parts: Sequence[Part],
    effective: dict[str, Any],
    calibrated: list[CalibratedSetting],
    chosen: list[ChosenSetting],
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


def read(path: Path) -> StudyDocument:
    """A study's document.

    Raises:
        TraceError: it cannot be read, is not JSON, or is no whole study.
    """
    found = cast(StudyDocument, documents.read(path, STUDY_SCHEMA))
    whole = documents.check(path, found, StudyDocument)
    found["parts"] = [asdict(part) for part in whole["parts"]]
    if (key := _without_value(found["effective"], "effective")) is not None:
        raise TraceError(f"{path}: key `{key}` = null: must have a value; {documents.DAMAGED}")
    for key, count, wanted, like in _lengths(found["parts"]):
        if count != wanted:
            raise TraceError(
                f"{path}: key `{key}` has {count} entries: must have {wanted}, as `{like}` beside"
                f" it; {documents.DAMAGED}"
            )
    return found


def _without_value(setting: object, key: str) -> str | None:
    """The first setting that says nothing, which the page could not show as TOML."""
    entries: Iterable[tuple[str, object]] = ()
    if isinstance(setting, dict):
        entries = ((f"{key}.{name}", each) for name, each in setting.items())
    elif isinstance(setting, list):
        entries = ((f"{key}[{number}]", each) for number, each in enumerate(setting))
    found = (_without_value(each, name) for name, each in entries)
    return key if setting is None else next((each for each in found if each is not None), None)


def _lengths(parts: list[dict[str, Any]]) -> Iterator[tuple[str, int, int, str]]:
    """Lists that must be as long as another: key, length, that of the other, and its name."""
    for number, part in enumerate(parts):
        for place, table in enumerate(part["tables"]):
            for line, row in enumerate(table["rows"]):
                key = f"parts[{number}].tables[{place}].rows[{line}]"
                yield key, len(row), len(table["columns"]), "columns"
        for place, plot in enumerate(part["plots"]):
            for panel, axes in enumerate(plot["panels"]):
                for line, curve in enumerate(axes["curves"]):
                    key = f"parts[{number}].plots[{place}].panels[{panel}].curves[{line}]"
                    count = len(curve["x"])
                    yield f"{key}.y", len(curve["y"]), count, "x"
                    if curve["style"] == "band":
                        yield f"{key}.y_upper", len(curve["y_upper"] or ()), count, "x"
