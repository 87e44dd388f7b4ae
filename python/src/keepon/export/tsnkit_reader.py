# SPDX-License-Identifier: BSD-3-Clause
"""A scenario from CSV files of tsnkit: streams and topology, and a schedule if a folder has one.

With NAME-OFFSET, -ROUTE, -QUEUE and -GCL.csv the scenario has that schedule's offsets, routes,
queues and gate lists, so that `keepon plan` checks a schedule made elsewhere. Nothing in the files
is evaluated; all fields are read strictly, blanks around them as if they were not there.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from keepon.errors import ConfigError
from keepon.export.exported import Exported
from keepon.export.tsnkit import (
    IDS_FILE,
    IDS_SCHEMA,
    RATES_BPS,
    SCHEDULE_COLUMNS,
    STREAM_COLUMNS,
    TOPO_COLUMNS,
)
from keepon.model import documents, loading
from keepon.model.gates import ALL_GATES, fill, guard_ns
from keepon.model.scenario import SCENARIO_SCHEMA

_LINK = re.compile(r"\((\d{1,6}), ?(\d{1,6})\)")
_LISTENER = re.compile(r"\[(\d{1,6})\]")
_BLANKS_BEHIND_QUOTE = re.compile(r'"[ \t]+(?=,|$)')
_WHOLE = re.compile(r"\d{1,18}")
_NEEDED = ("GCL", "OFFSET", "ROUTE", "QUEUE")

_Link = tuple[int, int]


@dataclass(frozen=True)
class _Row:
    path: Path
    line: int
    fields: dict[str, str]

    def wrong(self, column: str, expectation: str) -> ConfigError:
        shown = self.fields[column]
        return ConfigError(
            f'{self.path}: line {self.line}: column `{column}` = "{shown}": {expectation}'
        )

    def whole(self, column: str) -> int:
        if not _WHOLE.fullmatch(self.fields[column]):
            raise self.wrong(column, "must be a whole number from 0 to 10^18; write one")
        return int(self.fields[column])

    def link(self) -> _Link:
        match = _LINK.fullmatch(self.fields["link"])
        if match is None or match[1] == match[2]:
            raise self.wrong("link", 'must be two node numbers such as "(0, 1)"; write them so')
        return int(match[1]), int(match[2])


@dataclass(frozen=True)
class Problem:
    """The two files of a problem; with `folder` it may have a schedule and names beside them."""

    streams: Path
    topology: Path
    folder: Path | None = None


def problem_of(source: Path) -> Problem | None:
    """A folder as tsnkit's programs take it, or N_task.csv, stream.csv with its topology beside it,
    as its benchmark has them; None if it is neither.
    """
    if source.is_dir():
        return Problem(source / "stream.csv", source / "topo.csv", source)
    for ends in ("task.csv", "stream.csv"):
        beside = source.with_name(source.name.removesuffix(ends) + "topo.csv")
        if source.name.endswith(ends) and beside.is_file():
            return Problem(source, beside)
    return None


def read_table(path: Path, columns: Sequence[str]) -> list[_Row]:
    """Rows of a CSV file with exactly these columns; the first of streams may be called id.

    Raises:
        ConfigError: it cannot be read, its header is another, a row is shorter or longer, or there
            is no row.
    """
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            text = (_BLANKS_BEHIND_QUOTE.sub('"', line.rstrip("\r\n")) for line in handle)
            reader = csv.reader(text, strict=True, skipinitialspace=True)
            lines = [(reader.line_num, [part.strip() for part in fields]) for fields in reader]
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); tsnkit has a file of this name"
        ) from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is no CSV file ({error}); write it again") from error
    if lines and lines[0][1][:1] == ["id"] and columns[0] == "stream":
        lines[0][1][0] = "stream"
    if not lines or lines[0][1] != list(columns):
        found = ",".join(lines[0][1]) if lines else ""
        raise ConfigError(
            f'{path}: line 1 = "{found}": must be {",".join(columns)}; name the columns so'
        )
    for line, fields in lines[1:]:
        if len(fields) != len(columns):
            raise ConfigError(
                f"{path}: line {line}: has {len(fields)} fields: must have {len(columns)};"
                " correct it"
            )
    if len(lines) == 1:
        raise ConfigError(f"{path}: has no rows; tsnkit takes no empty file either")
    return [_Row(path, line, dict(zip(columns, fields, strict=True))) for line, fields in lines[1:]]


@dataclass
class _Reader:
    """A folder being read; numbers are tsnkit's, names the scenario's."""

    problem: Problem
    name: str = "tsnkit"
    node_names: list[str] = field(default_factory=list)
    stream_names: list[str] = field(default_factory=list)
    links: dict[_Link, _Row] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def node(self, number: int) -> str:
        return self.node_names[number] if number < len(self.node_names) else f"n{number}"

    def stream(self, number: int) -> str:
        return self.stream_names[number] if number < len(self.stream_names) else f"s{number}"

    def read_names(self) -> None:
        if self.problem.folder is None:
            self.name = self.problem.streams.stem
            return
        path = self.problem.folder / IDS_FILE
        if not path.exists():
            return
        document = documents.read(path, IDS_SCHEMA)
        for key in ("nodes", "streams"):
            names = document.get(key)
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ConfigError(
                    f"{path}: key `{key}`: must be a list of names; export again or remove the file"
                )
        self.name = str(document.get("scenario", self.name))
        self.node_names, self.stream_names = document["nodes"], document["streams"]

    def neighbours(self, node: int) -> list[int]:
        return [there for here, there in self.links if here == node]

    def is_station(self, node: int) -> bool:
        """As tsnkit tells them apart: a station has one link."""
        return len(self.neighbours(node)) == 1

    def read_links(self) -> None:
        for row in read_table(self.problem.topology, TOPO_COLUMNS):
            if row.link() in self.links:
                raise row.wrong("link", "is listed twice; remove one")
            if row.whole("rate") not in RATES_BPS:
                raise row.wrong(
                    "rate",
                    f"must be one of {', '.join(map(str, RATES_BPS))} (1: 1 Gb/s); change it",
                )
            self.links[row.link()] = row
        for (here, there), row in self.links.items():
            back = self.links.get((there, here))
            if back is None:
                raise row.wrong("link", f'has no way back; add "({there}, {here})"')
            if back.whole("rate") != row.whole("rate"):
                raise row.wrong(
                    "rate", f"must be that of the way back, {back.whole('rate')}; change one"
                )

    def link_tables(self) -> list[dict[str, Any]]:
        tables = []
        seen: set[_Link] = set()
        for (here, there), row in self.links.items():
            seen.add((here, there))
            if (there, here) in seen:
                continue
            back = self.links[there, here]
            out_ns, in_ns = row.whole("t_prop"), back.whole("t_prop")
            table = {
                "ends": [self.node(here), self.node(there)],
                "rate_bps": RATES_BPS[row.whole("rate")],
                "propagation_ns": min(out_ns, in_ns),
            }
            tables.append(table | ({"asymmetry_ns": out_ns - in_ns} if out_ns != in_ns else {}))
        return tables

    def bridge_tables(self, gates: dict[_Link, dict[str, Any]] | None) -> list[dict[str, Any]]:
        tables: list[dict[str, Any]] = []
        for node in sorted({here for here, _ in self.links}):
            rows = [self.links[peer, node] for peer in self.neighbours(node)]
            times = {row.whole("t_proc") for row in rows}
            if self.is_station(node):
                if times != {0}:
                    self.notes.append(
                        f"station {self.node(node)}: t_proc of the link to it is left out, it"
                        " forwards nothing"
                    )
                continue
            if len(times) > 1:
                other = next(row for row in rows if row.whole("t_proc") != rows[0].whole("t_proc"))
                raise other.wrong(
                    "t_proc",
                    f"must be {rows[0].whole('t_proc')} as on other links to {node}; change one",
                )
            lists = {
                self.node(there): entry
                for (here, there), entry in (gates or {}).items()
                if here == node
            }
            kind: Any = lists if lists else "auto" if gates is None else "none"
            tables.append(
                {
                    "name": self.node(node),
                    "processing_ns": times.pop(),
                    "gates": kind,
                    # a queue of tsnkit is the priority that the stream gets here
                    "traffic_classes": list(range(8)),
                }
            )
        return tables

    def stream_tables(self) -> dict[int, dict[str, Any]]:
        tables: dict[int, dict[str, Any]] = {}
        known = {here for here, _ in self.links}
        for row in read_table(self.problem.streams, STREAM_COLUMNS):
            match = _LISTENER.fullmatch(row.fields["dst"])
            if match is None:
                raise row.wrong(
                    "dst", 'must be one node number such as "[9]"; write a row for each listener'
                )
            for column, node in (("src", row.whole("src")), ("dst", int(match[1]))):
                if node not in known or not self.is_station(node):
                    raise row.wrong(
                        column, "must be a node with exactly one link in topo.csv; change it"
                    )
            if row.whole("stream") in tables:
                raise row.wrong("stream", "is listed twice; remove one")
            table = {
                "id": self.stream(row.whole("stream")),
                "talker": self.node(row.whole("src")),
                "listeners": [self.node(int(match[1]))],
                "period_ns": row.whole("period"),
                "frame_bytes": row.whole("size"),
                "deadline_ns": row.whole("deadline"),
            }
            if row.whole("jitter") <= row.whole("period"):
                table["jitter_ns"] = row.whole("jitter")
            else:
                self.notes.append(
                    f"stream {table['id']}: its jitter of {row.whole('jitter')} ns is above its"
                    " period, asks for nothing, and is left out"
                )
            tables[row.whole("stream")] = table
        return tables

    def schedule(self) -> dict[str, list[_Row]] | None:
        """The tables of the folder's schedule; None if it has none."""
        folder = self.problem.folder
        found = folder.glob("*-GCL.csv") if folder is not None else ()
        names = sorted(path.name.removesuffix("-GCL.csv") for path in found)
        if folder is None or not names:
            return None
        if len(names) > 1:
            raise ConfigError(
                f"{folder}: holds schedules {', '.join(names)}: must be one; move the others away"
            )
        if not self.node_names:
            self.name = names[0]
        return {
            kind: read_table(folder / f"{names[0]}-{kind}.csv", SCHEDULE_COLUMNS[kind])
            for kind in _NEEDED
        }

    def known_link(self, row: _Row) -> _Link:
        if row.link() not in self.links:
            raise row.wrong("link", "is not in topo.csv; correct one of the files")
        return row.link()

    def apply(self, schedule: dict[str, list[_Row]], streams: dict[int, dict[str, Any]]) -> None:
        """Offsets, queues and routes of a schedule, for every stream."""

        def table(row: _Row) -> dict[str, Any]:
            if row.whole("stream") not in streams:
                raise row.wrong("stream", "is not in stream.csv; correct one of the files")
            return streams[row.whole("stream")]

        for row in schedule["OFFSET"]:
            if row.whole("frame") != 0 or "offset_ns" in table(row):
                raise row.wrong(
                    "frame",
                    "must be 0, once for each stream: here all periods are alike; change it",
                )
            table(row)["offset_ns"] = row.whole("offset")
        ways: dict[int, list[_Link]] = {}
        for row in schedule["ROUTE"]:
            table(row)
            ways.setdefault(row.whole("stream"), []).append(self.known_link(row))
        for row in schedule["QUEUE"]:
            key = "tc" if self.is_station(self.known_link(row)[0]) else "priority"
            if table(row).setdefault(key, row.whole("queue")) != row.whole("queue"):
                raise row.wrong(
                    "queue",
                    f"must be {table(row)[key]} as at other bridges of the stream; change one",
                )
        for number, entry in streams.items():
            if "offset_ns" not in entry or number not in ways:
                raise ConfigError(
                    f"{self.problem.folder}: the schedule has no offset or no route for stream"
                    f" {number}; add it or remove the schedule's files"
                )
            entry["route"] = self.bridges_between(number, entry, dict(ways[number]))

    def bridges_between(
        self, number: int, entry: dict[str, Any], following: dict[int, int]
    ) -> list[str]:
        names = {self.node(node): node for link in self.links for node in link}
        node, end, passed = names[entry["talker"]], names[entry["listeners"][0]], []
        while node in following:
            node = following.pop(node)
            passed.append(self.node(node))
        if node != end or following:
            raise ConfigError(
                f"{self.problem.folder}: the route of stream {number} does not lead from its"
                " talker to its listener link by link; correct ROUTE.csv"
            )
        return passed[:-1]

    def guard_ns(self, link: _Link) -> int:
        """How long before a window other gates are closed on a link."""
        return guard_ns(RATES_BPS[self.links[link].whole("rate")])

    def gate_lists(self, rows: list[_Row]) -> dict[_Link, dict[str, Any]]:
        """Gate lists of bridge ports. Queues that no row names are open whenever none of those
        named is.
        """
        windows: dict[_Link, list[_Row]] = {}
        for row in rows:
            start_ns, end_ns, cycle_ns = row.whole("start"), row.whole("end"), row.whole("cycle")
            if not start_ns < end_ns <= cycle_ns:
                raise row.wrong(
                    "end", f"must be above start and at most cycle ({cycle_ns}); correct it"
                )
            if row.whole("queue") > 7 and not self.is_station(self.known_link(row)[0]):
                raise row.wrong("queue", "must be between 0 and 7; change it")
            windows.setdefault(self.known_link(row), []).append(row)
        lists: dict[_Link, dict[str, Any]] = {}
        for link, own in windows.items():
            cycle_ns = own[0].whole("cycle")
            for row in own:
                if row.whole("cycle") != cycle_ns:
                    raise row.wrong(
                        "cycle", f"must be {cycle_ns} as in other rows of the link; change one"
                    )
            if not self.is_station(link[0]):
                lists[link] = {
                    "base_ns": 0,
                    "entries": _entries(own, cycle_ns, self.guard_ns(link)),
                }
        gated = {here for (here, _), entry in lists.items() if len(entry["entries"]) > 1}
        return {link: entry for link, entry in lists.items() if link[0] in gated}


def _entries(rows: list[_Row], cycle_ns: int, guard_ns: int) -> list[dict[str, Any]]:
    """Windows as gate entries, with the guard before each; one entry with all gates open if no
    window ever ends.
    """
    spans = [(row.whole("start"), row.whole("end"), 1 << row.whole("queue")) for row in rows]
    rest = ALL_GATES
    for _, _, bit in spans:
        rest &= ~bit
    edges = sorted({*(start for start, _, _ in spans), *(end for _, end, _ in spans)})
    if all(start == 0 and end == cycle_ns for start, end, _ in spans):
        return [{"gates": f"0x{ALL_GATES:02x}", "ns": cycle_ns}]
    open_spans: list[tuple[int, int, int]] = []
    for at_ns, end_ns in itertools.pairwise(edges):
        mask = 0
        for start, stop, bit in spans:
            mask |= bit if start <= at_ns < stop else 0
        if mask:
            open_spans.append((at_ns, end_ns, mask))
    found = fill(open_spans, rest, cycle_ns, guard_ns)
    return [{"gates": f"0x{mask:02x}", "ns": ns} for mask, ns in found]


def read(problem: Problem) -> tuple[str, Exported]:
    """Name and text of the scenario that files of tsnkit describe.

    Raises:
        ConfigError: a file is missing or says what cannot be; the message names file, line, column
            and value.
    """
    reader = _Reader(problem)
    reader.read_names()
    reader.read_links()
    streams = reader.stream_tables()
    schedule = reader.schedule()
    gates = None
    if schedule is not None:
        reader.apply(schedule, streams)
        gates = reader.gate_lists(schedule["GCL"])
    bridges = reader.bridge_tables(gates)
    stations = [
        {"name": reader.node(node), "driver": "launchtime", "host": "tsn-end-station"}
        for node in sorted({here for here, _ in reader.links})
        if reader.is_station(node)
    ]
    document = {
        "schema": SCENARIO_SCHEMA, "name": reader.name, "station": stations, "bridge": bridges,
        "link": reader.link_tables(), "stream": list(streams.values()),
    }  # fmt: skip
    text = tomli_w.dumps(document)
    loading.parse(text, str(problem.folder or problem.streams))
    reader.notes.append(
        'chosen, as tsnkit says nothing of it: stations have driver "launchtime" and host'
        ' "tsn-end-station"; frames carry FCS in their size; sync is ideal'
    )
    return reader.name, Exported({f"{reader.name}.toml": text}, reader.notes)
