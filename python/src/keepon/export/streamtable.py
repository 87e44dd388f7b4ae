# SPDX-License-Identifier: BSD-3-Clause
"""Streams from a table as people keep them: CSV or xlsx, a row for each, columns named in one of
several ways, units in the header or in the cells.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from keepon.errors import ConfigError, one_line
from keepon.model import ranges, rates, validation
from keepon.model.loading import TEXT_MOST
from keepon.model.scenario import Load, Stream
from keepon.model.scenariochecks import Wrong
from keepon.model.units import unit_of

COLUMNS = {
    "id": "id, name, stream, flow, stream id, stream name, flow id, flow name",
    "talker": "talker, src, source, sender, from, producer, publisher, source node, src node",
    "listeners": "listener, listeners, dst, dest, destination, destinations, receiver, receivers,"
    " to, sink, consumer, consumers, subscriber, subscribers, destination node, dst node",
    "period_ns": "period, cycle, cycle time, interval, send interval, update time",
    "rate": "rate, frequency, frame rate, fps",
    "rate_bps": "bit rate, bitrate, data rate, bandwidth, throughput",
    "frame_bytes": "size, length, bytes, frame size, frame length, frame bytes, frame, packet size",
    "payload_bytes": "payload, payload size, payload length, payload bytes, data size, data length",
    "deadline_ns": "deadline, latency, max latency, maximum latency, max delay, delay",
    "jitter_ns": "jitter, max jitter",
    "offset_ns": "offset, phase",
    "priority": "priority, prio, pcp",
}
"""Keys of a stream, and what a column with them may be called; the first is the plain name."""
_KEY_OF = {name: key for key, names in COLUMNS.items() for name in names.split(", ")}
_NEEDED = (
    ("talker",),
    ("listeners",),
    ("period_ns", "rate", "rate_bps"),
    ("frame_bytes", "payload_bytes"),
)
_UNITS = {
    "usec": "us", "msec": "ms", "sec": "s", "microseconds": "us", "milliseconds": "ms",
    "nanoseconds": "ns", "seconds": "s", "byte": "B", "bytes": "B", "octet": "B", "octets": "B",
    "b": "B", "kb": "kB", "hz": "Hz", "1/s": "Hz", "/s": "Hz", "fps": "Hz", "khz": "kHz",
}  # fmt: skip
_RATES = {"Hz": 1, "kHz": 1000}
_OF_LOADS = ("id", "talker", "listeners", "rate_bps", "frame_bytes", "priority")
_AROUND_BYTES = 22
"""What a frame has beside its payload: addresses and type 14, tag with the priority 4, FCS 4."""
_LEAST_BYTES = 64
_HEADER_ROWS = 20
_NUMBER = re.compile(r"([-+]?\d[\d_]*(?:[.,]\d+)?(?:[eE][-+]?\d{1,2})?)\s*(\D.*)?")
_BRACKETED = re.compile(r"[\[(]([^\])]*)[\])]\s*$")
_APART = re.compile(r"\s*[,;|+&\n]\s*")
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_DELIMITERS = ";\t|,"
Cells = list[tuple[int, list[str]]]
"""Rows with their numbers, from 1."""


@dataclass(frozen=True)
class Column:
    """A column whose key is known; `unit` is empty where the header has none."""

    key: str
    header: str
    place: int
    unit: str


@dataclass
class StreamTable:
    """What a table says.

    Attributes:
        streams, loads: keys and values of each as a scenario has them, units kept.
        stations: in the order in which the table names them.
        notes: what was left out or changed.
    """

    streams: list[dict[str, Any]] = field(default_factory=list)
    loads: list[dict[str, Any]] = field(default_factory=list)
    stations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(path: Path) -> StreamTable:
    """The streams of a table.

    Raises:
        ConfigError: it cannot be read, has no such columns, or says what no stream may have; a
            sentence each, with row and column.
    """
    if path.suffix.lower() in (".xlsx", ".xlsm"):
        rows, has_comma = _of_workbook(path), True
    else:
        rows, has_comma = _of_text(path)
    return Reader(path, has_comma).read(rows)


def _of_text(path: Path) -> tuple[Cells, bool]:
    """Cells by the delimiter with which most columns are known, and whether numbers may have a
    decimal comma.
    """
    try:
        with path.open("rb") as file:
            data = file.read(TEXT_MOST)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); check the name and the permissions"
        ) from error
    # Spreadsheets on Windows write UTF-16 or what they call ANSI.
    code = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(code)
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    found: list[tuple[int, str, Cells]] = []
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
        except csv.Error as error:
            raise ConfigError(
                f"{path}: row {reader.line_num}: is no CSV ({error}); write it again"
            ) from error
        known = max((len(_columns(row)) for _, row in rows[:_HEADER_ROWS]), default=0)
        found.append((known, delimiter, rows))
    _, delimiter, rows = max(found, key=lambda one: one[0])
    return rows, delimiter != ","


def _of_workbook(path: Path) -> Cells:
    """Cells of the sheet that is open when the workbook is opened."""
    try:
        import openpyxl
    except ImportError:
        raise ConfigError(
            f"{path}: reading xlsx needs openpyxl, which is not installed; pip install"
            " openpyxl, or save the table as CSV"
        ) from None
    try:
        sheet = openpyxl.load_workbook(path, read_only=True, data_only=True).active
        if sheet is None:
            raise ValueError("it has no sheet")
        return [
            (number, [_shown(cell) for cell in row])
            for number, row in enumerate(sheet.iter_rows(values_only=True), 1)
        ]
    except Exception as error:  # openpyxl has no exception of its own for a damaged file
        raise ConfigError(
            f"{path}: is no workbook ({one_line(error, 200)}); save it again as xlsx or CSV"
        ) from error


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    return format(cell, ".15g") if isinstance(cell, float) else str(cell).strip()


def _columns(headers: Sequence[str]) -> list[Column]:
    """Those of a header that are known, each key once."""
    found: dict[str, Column] = {}
    for place, header in enumerate(headers):
        inner = _BRACKETED.search(header)
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", header[: inner.start()] if inner else header)
        tokens = re.split(r"[\s_/.:-]+", words.strip(" .:"))
        unit = _unit(inner[1]) if inner else ""
        if not inner and len(tokens) > 1 and " ".join(tokens).lower() not in _KEY_OF:
            tokens, unit = tokens[:-1], _unit(tokens[-1])
            tokens = tokens[:-1] if tokens[-1] == "in" else tokens
        key = _KEY_OF.get(" ".join(tokens).lower())
        if key and key not in found:
            unit_of_key = unit_of(key)
            known = {**_RATES, **_sizes("rate_bps")} if unit_of_key is None else unit_of_key.sizes
            # A rate in what is no unit of one is refused at its cells.
            kept = unit in known or (key == "rate" and inner)
            found[key] = Column(key, header, place, unit if kept else "")
    return list(found.values())


def _sizes(key: str) -> dict[str, int]:
    unit = unit_of(key)
    return {} if unit is None else unit.sizes


def _unit(text: str) -> str:
    """A unit as scenarios have it, of any way to write it."""
    lower = text.strip().lower()
    return _UNITS.get(
        lower, lower if lower in ("ns", "us", "µs", "μs", "ms", "s") else text.strip()
    )


def frame_bytes(payload_bytes: int) -> int:
    """Length with header, tag and FCS."""
    return max(_LEAST_BYTES, payload_bytes + _AROUND_BYTES)


def rate_hz(per_s: Fraction) -> int | str:
    """A rate as scenarios have it."""
    return int(per_s) if per_s.denominator == 1 else str(per_s)


class Reader:
    """A table being read; all that is wrong with it is said at once."""

    def __init__(self, path: Path, has_comma: bool = False) -> None:
        self.path = path
        self.has_comma = has_comma
        self.comma_seen = False
        self.wrong = Wrong()
        self.table = StreamTable()
        self.names: dict[str, str] = {}
        self.places: dict[str, str] = {}

    def read(self, rows: Cells) -> StreamTable:
        at, columns = self._header(rows)
        headers = rows[at][1]
        self.comma_seen = self.has_comma and any(
            re.fullmatch(r"\d+,\d+( .*)?", cell) for _, cells in rows for cell in cells
        )
        unused = [name for name in headers if name and name not in {one.header for one in columns}]
        if unused:
            self.table.notes.append(f"columns left out: {', '.join(map(one_line, unused))}")
        for number, cells in rows[at + 1 :]:
            if any(cells) and not cells[0].startswith("#"):
                self._row(f"row {number}", cells, columns)
        return self.end("row of a stream below its header")

    def end(self, what: str) -> StreamTable:
        """What was read, unless something was wrong or there was nothing of what it needs."""
        self.wrong.end()
        if not self.table.streams:
            raise ConfigError(f"{self.path}: has no {what}; add one")
        used = [name for one in self.table.streams for name in (one["talker"], *one["listeners"])]
        used += [one[key] for one in self.table.loads for key in ("talker", "listener")]
        self.table.stations = list(dict.fromkeys(used))
        changed = [f"{old} -> {new}" for old, new in self.names.items() if old != new]
        if changed:
            self.table.notes.append(f"names changed: {', '.join(map(one_line, changed))}")
        return self.table

    def _header(self, rows: Cells) -> tuple[int, list[Column]]:
        """The first row with the most known columns."""
        known = [_columns(cells) for _, cells in rows[:_HEADER_ROWS]]
        at = max(range(len(known)), key=lambda one: len(known[one]), default=None)
        keys = {column.key for column in known[at]} if at is not None else set()
        for any_of in _NEEDED:
            if not keys & set(any_of):
                names = ", ".join(COLUMNS[key] for key in any_of)
                raise ConfigError(
                    f"{self.path}: has no column for {COLUMNS[any_of[0]].partition(',')[0]}: one of"
                    f" its first {_HEADER_ROWS} rows must name it as one of {names}; name it so"
                )
        assert at is not None
        return at, known[at]

    def _row(self, place: str, cells: list[str], columns: list[Column]) -> None:
        written = {one.key: one for one in columns if one.place < len(cells) and cells[one.place]}
        stream: dict[str, Any] = {}
        for column in written.values():
            with self.wrong:
                self._cell(place, column, cells[column.place], stream)
        if "id" not in written and "talker" in stream:
            stream = {"id": f"s{len(self.table.streams) + 1}"} | stream
        order = [key for key in (*COLUMNS, "rate_hz", "frame_bytes") if key in stream]
        stream = {key: stream[key] for key in order}
        expanded = ranges.expanded(
            {"stream": [stream]},
            lambda key, value, rule: self.wrong.add(
                self.refusal(place, written.get(key.rpartition(".")[2]), value, rule)
            ),
        )
        for one in expanded["stream"]:
            if "rate_bps" in one:
                self._keep_load(place, one, written)
            else:
                self.keep(place, one, written)

    def _cell(self, place: str, column: Column, text: str, stream: dict[str, Any]) -> None:
        """What a cell says, into the stream."""
        key = column.key
        if key in ("id", "talker"):
            stream[key] = self._name(text)
        elif key == "listeners":
            stream[key] = [self._name(each) for each in _APART.split(text.strip("[](){} "))]
        elif key == "priority":
            stream[key] = int(text) if re.fullmatch(r"\d{1,9}", text) else text
        elif key == "rate":
            stream |= self._rate(place, column, text)
        elif key == "payload_bytes":
            value = self._number(place, column, text)
            size = Fraction(value) if isinstance(value, int) else unit_of(key).number(value)  # type: ignore[union-attr]
            if size is None:
                raise self.refusal(place, column, text, "must be a number of bytes; write one")
            stream["frame_bytes"] = frame_bytes(int(size))
        else:
            stream[key] = self._number(place, column, text)

    def _name(self, text: str) -> str:
        """A name as scenarios have them."""
        made = _NOT_OF_A_NAME.sub("-", text.strip()).strip("-._")[:64]
        self.names[text] = made or text
        return self.names[text]

    def _split(self, place: str, column: Column, text: str) -> tuple[str, str] | None:
        """Digits and unit of a number; None if it is none."""
        found = _NUMBER.fullmatch(text)
        if found is None:
            return None
        if self.comma_seen and re.fullmatch(r"\d{1,3}(\.\d{3})+", found[1]):
            raise self.refusal(
                place, column, text,
                "has a point where other cells have decimal commas; write it without the point",
            )  # fmt: skip
        if "," in found[1] and not self.has_comma:
            raise self.refusal(
                place, column, text,
                "may have a decimal comma only where columns are not separated by commas; write a"
                " point",
            )  # fmt: skip
        return found[1].replace(",", "."), _unit(found[2] or "") or column.unit

    def _number(self, place: str, column: Column, text: str) -> Any:
        """A number with its unit; plain where it is in the key's own."""
        split = self._split(place, column, text)
        if split is None:
            return text
        digits, unit = split
        if not unit and column.key.endswith("_ns"):
            # Without the row: once for the column.
            raise ConfigError(
                f'{self.path}: column "{column.header}" has no unit; write it into the header,'
                f' "{column.header} [us]", or each cell, "250 us"'
            )
        if unit in ("", "ns", "B") and re.fullmatch(r"\d{1,18}", digits):
            return int(digits)
        return f"{digits} {unit or ('b/s' if column.key == 'rate_bps' else 'B')}"

    def _rate(self, place: str, column: Column, text: str) -> dict[str, Any]:
        """A rate in frames a second, as a period where that is a whole number of ns."""
        fraction = re.fullmatch(r"\d{1,9}/\d{1,9}", text)
        split = (text, column.unit) if fraction else self._split(place, column, text)
        if split and split[1] in _sizes("rate_bps"):
            return {"rate_bps": f"{split[0]} {split[1]}"}
        per_s = rates.rate(text) if fraction else Fraction(split[0]) if split else None
        rate = (per_s or Fraction(0)) * _RATES.get(split[1] or "Hz" if split else "", 0)
        if rate <= 0:
            raise self.refusal(
                place, column, text, "must be above 0 Hz, kHz, kb/s or Mb/s; write it so"
            )
        if wrong := rates.too_long(rate):
            raise self.refusal(place, column, text, wrong)
        if (cycle := rates.cycle(rate))[0] == 1:
            return {"period_ns": cycle[1]}
        return {"rate_hz": rate_hz(rate)}

    def _keep_load(self, place: str, row: dict[str, Any], written: dict[str, Column]) -> None:
        """A row with a bit rate: best effort to each listener."""
        more = [key for key in row if key not in _OF_LOADS]
        if more:
            column = written.get(more[0]) or written.get("rate")
            self.wrong.add(
                self.refusal(
                    place, column, row[more[0]],
                    "is beside a bit rate, which makes the row best effort; leave one of both out",
                )
            )  # fmt: skip
            return
        listeners = row.pop("listeners", [])
        for count, listener in enumerate(listeners):
            name = row["id"] if len(listeners) == 1 else f"{row['id']}-{count + 1}"
            load = {**row, "id": name, "listener": listener}
            try:
                Load.model_validate(load)
            except ValidationError as failure:
                for each in validation.every(failure, load, Load):
                    key = re.match(r"\w*", each.key)[0]  # type: ignore[index]
                    column = written.get(key) or written.get("rate")
                    rule = f"{each.rule}; {each.remedy}" if each.remedy else each.rule
                    self.wrong.add(self.refusal(place, column, each.value, rule, key))
                return
            self.table.loads.append(load)

    def keep(self, place: str, stream: dict[str, Any], written: dict[str, Column]) -> None:
        """One stream if it may be one; what has the id of another is a further listener of it."""
        try:
            Stream.model_validate(stream)
        except ValidationError as failure:
            for each in validation.every(failure, stream, Stream):
                key = re.match(r"\w*", each.key)[0]  # type: ignore[index]
                sources = {"period_ns": "rate", "rate_hz": "rate", "frame_bytes": "payload_bytes"}
                column = written.get(key) or written.get(sources.get(key, ""))
                rule = f"{each.rule}; {each.remedy}" if each.remedy else each.rule
                # What is missing beside a cell of its own was refused as that.
                if (column is None) == each.is_missing:
                    self.wrong.add(self.refusal(place, column, each.value, rule, key))
            return
        for name in stream["listeners"]:
            if name == stream["talker"]:
                column = written["listeners"]
                rule = "is the talker itself; name another station"
                self.wrong.add(self.refusal(place, column, name, rule))
        before = next((one for one in self.table.streams if one["id"] == stream["id"]), None)
        if before is None:
            self.places[stream["id"]] = place
            self.table.streams.append(stream)
        elif before | {"listeners": stream["listeners"]} == stream:
            before["listeners"] = list(dict.fromkeys(before["listeners"] + stream["listeners"]))
        else:
            rule = f"already used by {self.places[stream['id']]}; rename one of the two"
            self.wrong.add(self.refusal(place, written.get("id"), stream["id"], rule))

    def refusal(
        self, place: str, column: Column | None, value: Any, rule: str, key: str = ""
    ) -> ConfigError:
        if column is None:
            name = COLUMNS.get(key, key).partition(",")[0]
            return ConfigError(f"{self.path}: {place}: has no {name}; fill the cell in")
        shown = f'"{one_line(value)}"' if isinstance(value, str) else one_line(value)
        return ConfigError(f"{self.path}: {self.where(place, column)} = {shown}: {rule}")

    def where(self, place: str, column: Column) -> str:
        return f'{place}, column "{column.header}"'
