# SPDX-License-Identifier: BSD-3-Clause
"""Several results side by side: rows for the terminal, and a page with their delays over each
other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from rich.markup import escape
from rich.table import Table

from keepon.errors import ConfigError
from keepon.model import outcomes
from keepon.model.result import OutcomeName, Result, StreamResult
from keepon.report import delayplots, verdict
from keepon.report.delayplots import Named
from keepon.report.grids import WIDTHS, Cell, Column, Grid
from keepon.report.html import environment
from keepon.report.panels import STYLES, Panel
from keepon.report.sections import us

PLOTTED_MAX = 48
"""Pairs of driver and stream; those that got worse are shown first."""
FOLDERS_MAX = STYLES
_SAME: Final = ("talker", "listeners")
"""What makes a stream the same stream."""
_NOT_COMPARED: Final = ("id", *_SAME)
"""Of a stream; whatever else differs is said."""


@dataclass(frozen=True)
class Member:
    """One result, by the name of its folder."""

    name: str
    result: Result

    @property
    def streams(self) -> dict[str, dict[str, Any]]:
        """Its streams as the scenario has them."""
        return {stream["id"]: stream for stream in self.result["effective"]["stream"]}

    @property
    def stations(self) -> frozenset[str]:
        """Their names."""
        return frozenset(each["name"] for each in self.result["effective"]["station"])

    def entry(self, driver: str, stream: str) -> StreamResult | None:
        """A stream in the run of a driver, if there is one."""
        for run in self.result["runs"]:
            if run["driver"] == driver:
                return run["streams"].get(stream)
        return None


class ComparedRow(TypedDict):
    """One driver and stream that all results have, an entry for each of them."""

    driver: str
    stream: str
    mean_ns: list[float | None]
    max_ns: list[float | None]
    outcomes: list[OutcomeName]
    worse: bool


def check_related(members: list[Member]) -> None:
    """Refuse to compare what has nothing to do with each other.

    Raises:
        ConfigError: too many, no driver and stream in common, of different scenarios with no more
            than half of their streams in common (unless one has all streams of the others, between
            the same stations), or a stream of the same name with another talker or listeners.
    """
    if len(members) > FOLDERS_MAX:
        raise ConfigError(
            f"compare: {len(members)} result folders, at most {FOLDERS_MAX} can be distinguished;"
            " name fewer"
        )
    first, *others = members
    for other in others:
        for name, stream in first.streams.items():
            found = other.streams.get(name, stream)
            for key in _SAME:
                if found[key] != stream[key]:
                    raise ConfigError(
                        f"compare: stream {name} has {key} {_words(stream[key])} in {first.name}"
                        f" and {_words(found[key])} in {other.name}; name results of one scenario"
                    )
    names = sorted({member.result["scenario"] for member in members})
    common = len(set.intersection(*(set(member.streams) for member in members)))
    least, *_, most = sorted(members, key=lambda member: len(member.streams))
    grown = common == len(least.streams) and len({member.stations for member in members}) == 1
    if len(names) > 1 and 0 < 2 * common <= len(most.streams) and not grown:
        raise ConfigError(
            f"compare: the results are of {' and '.join(names)}, and {common} of the"
            f" {len(most.streams)} streams of {most.name} are in all; name results of one scenario"
        )
    if not side_by_side(members):
        raise ConfigError(
            "compare: the results have no driver and stream in common (scenarios"
            f" {', '.join(names)}); name results of one scenario"
        )


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def differences(members: list[Member]) -> list[str]:
    """What is not the same in all results, a sentence for each."""
    sentences = []
    for key, what in (("scenario", "scenario"), ("target", "target"), ("seed", "seed")):
        values = list(dict.fromkeys(str(member.result[key]) for member in members))  # type: ignore[literal-required]
        if len(values) > 1:
            sentences.append(f"not of one {what}: {', '.join(sorted(values))}")
    sentences += _settings(members)
    drivers = [{run["driver"] for run in member.result["runs"]} for member in members]
    streams = [set(member.streams) for member in members]
    for what, own in (("driver", drivers), ("stream", streams)):
        everywhere = set.intersection(*own)
        for member, names in zip(members, own, strict=True):
            if few := sorted(names - everywhere):
                sentences.append(f"not in all, but in {member.name}: {what} {', '.join(few)}")
    for name in members[0].streams:
        if not all(name in own for own in streams):
            continue
        keys = dict.fromkeys(key for member in members for key in member.streams[name])
        for key in (key for key in keys if key not in _NOT_COMPARED):
            values = [_words(member.streams[name].get(key)) for member in members]
            if len(set(values)) > 1:
                sentences.append(f"stream {name} differs in {key}: {', '.join(values)}")
    return sentences


_NO_SETTINGS: Final = ("schema", "name", "seed", "notes", "stream", "compare")
"""Parts of a scenario on which no delay depends, or which are compared elsewhere."""


def _settings(members: list[Member]) -> list[str]:
    """Where scenarios differ beside their streams: single values as they are, all others by name,
    as `station talker: host`; results of earlier versions lack keys, which are not counted.
    """
    sentences = []
    first, *others = [member.result["effective"] for member in members]
    for part in first:
        if part in _NO_SETTINGS or not all(part in own for own in others):
            continue
        values = [own[part] for own in (first, *others)]
        if not isinstance(values[0], list | dict):
            shown = [str(value) for value in values]
            if len(set(shown)) > 1:
                sentences.append(f"not of one {part}: {', '.join(shown)}")
            continue
        found = list(
            dict.fromkeys(text for own in values[1:] for text in _parts(part, values[0], own))
        )
        if found:
            sentences.append(f"not the same: {', '.join(found)}")
    return sentences


def _parts(part: str, one: Any, other: Any) -> list[str]:
    """Which keys of a part of the scenario differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in one if key in other and one[key] != other[key]]
        return [f"{part}.{key} ({_words(one[key])}, {_words(other[key])})" for key in keys]
    one, other = ({_name(entry): entry for entry in some or []} for some in (one, other))
    found = [f"{part} {name}" for name in one.keys() ^ other.keys()]
    for name in sorted(one.keys() & other.keys()):
        ours, theirs = one[name], other[name]
        keys = [key for key in ours if key in theirs and ours[key] != theirs[key]]
        keys += [key for key in ("rate_bps", "propagation_ns") if (key in ours) != (key in theirs)]
        found += [f"{part} {name}: {key}" for key in keys]
    return sorted(found)


def _name(entry: dict[str, Any]) -> str:
    """What tells an entry of a list from the others."""
    if "ends" in entry:
        return "-".join(entry["ends"])
    return str(
        entry.get("name")
        or entry.get("id")
        or " at ".join(str(entry[key]) for key in ("kind", "node") if key in entry)
    )


def side_by_side(members: list[Member]) -> list[ComparedRow]:
    """Mean and max delay in ns and outcome per driver and stream common to all results.

    `worse`: a later max exceeds the first or is not known while the first is, or a later outcome is
    worse (frames that are missing have no delay).
    """
    rows: list[ComparedRow] = []
    for run in members[0].result["runs"]:
        for stream in run["streams"]:
            found = [member.entry(run["driver"], stream) for member in members]
            entries = [entry for entry in found if entry is not None]
            if len(entries) != len(members):
                continue
            maxima = [entry["delay_ns"]["max"] for entry in entries]
            ranks = [outcomes.WORST_FIRST.index(entry["outcome"]) for entry in entries]
            first = maxima[0]
            later = first is not None and any(m is None or m > first for m in maxima[1:])
            rows.append(
                {
                    "driver": run["driver"],
                    "stream": stream,
                    "mean_ns": [entry["delay_ns"]["mean"] for entry in entries],
                    "max_ns": maxima,
                    "outcomes": [entry["outcome"] for entry in entries],
                    "worse": later or any(rank < ranks[0] for rank in ranks[1:]),
                }
            )
    return rows


def _cells(row: ComparedRow) -> Iterator[str]:
    for mean, largest, outcome in zip(row["mean_ns"], row["max_ns"], row["outcomes"], strict=True):
        yield f"{us(mean)} / {us(largest)}, {outcome}"


def table(members: list[Member], rows: list[ComparedRow]) -> Table:
    """The rows of `side_by_side`, in us, for the terminal."""
    found = Table()
    for column in ("driver", "stream"):
        found.add_column(column)
    for member in members:
        found.add_column(escape(member.name), justify="right")
    for row in rows:
        style = "red" if row["worse"] else None
        found.add_row(row["driver"], row["stream"], *_cells(row), style=style)
    return found


def _grid(members: list[Member], rows: list[ComparedRow]) -> Grid:
    grid = Grid(
        "Delay in every result: mean / max, outcome",
        [Column("stream", "text"), Column("run", "text")]
        + [Column(member.name, "words") for member in members]
        + [Column("than the first", "text")],
    )
    for row in rows:
        judged = Cell("✗ worse" if row["worse"] else "✓ not worse", bad=row["worse"])
        texts = [Cell(text) for text in _cells(row)]
        grid.rows.append([Cell(row["stream"]), Cell(row["driver"]), *texts, judged])
    return grid


def _plots(members: list[Member], rows: list[ComparedRow]) -> dict[str, list[Panel]]:
    found = {}
    for row in sorted(rows, key=lambda row: not row["worse"])[:PLOTTED_MAX]:
        named = [
            Named(member.name, entry)
            for member in members
            if (entry := member.entry(row["driver"], row["stream"])) is not None
        ]
        title = f"{row['stream']}, {row['driver']}"
        key = f"stream-{row['stream']}-{row['driver']}"
        if panels := delayplots.of_stream(title, named, key):
            found[title] = panels
    return found


def render(members: list[Member], rows: list[ComparedRow]) -> str:
    """The page: one HTML file that needs nothing else."""
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            members=[(member, verdict.verdicts(member.result)) for member in members],
            worse=sum(row["worse"] for row in rows),
            rows=len(rows),
            grid=_grid(members, rows),
            differences=differences(members),
            plots=_plots(members, rows),
            left_out=max(0, len(rows) - PLOTTED_MAX),
            widths=WIDTHS,
        )
    )
