# SPDX-License-Identifier: BSD-3-Clause
"""`keepon new`: a commented scenario to begin with."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from keepon.cli import edge
from keepon.errors import ConfigError, one_line, shell_path
from keepon.export import streamtable, tsnkit_reader, yang_reader
from keepon.model import examples, loading, ranges, schemafiles, starter
from keepon.model.units import unit_of
from keepon.model.validation import suggestion
from keepon.report import terminal

STATIONS = 4
"""With no table to name them."""
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Asked:
    """What a new network is asked to be.

    Attributes:
        stations: None: as many as the table names, or STATIONS without one.
        bridges: None: as few as the shape has.
        at: words such as `plc=br1`, on which bridges stations are.
        rate: of every link.
    """

    shape: str
    stations: int | None = None
    bridges: int | None = None
    table: Path | None = None
    at: tuple[str, ...] = ()
    rate: str = "1 Gb/s"


def write(file: Path, asked: Asked) -> str:
    """Write a scenario of that shape into a file that is not there yet; what to do next.

    Raises:
        ConfigError: an argument is out of its range, the table is wrong, or the file is there or
            cannot be written.
    """
    _check_name(file)
    shape = asked.shape
    if shape not in starter.SHAPES:
        raise ConfigError(
            f'argument SHAPE = "{one_line(shape)}": must be one of {", ".join(starter.SHAPES)};'
            " choose one"
        )
    least = starter.RING_BRIDGES_MIN if shape == starter.RING else 1
    count = least if asked.bridges is None else asked.bridges
    stations = STATIONS if asked.stations is None else asked.stations
    for option, value, low, high in (
        ("--stations", stations, 2, starter.STATIONS_MAX),
        ("--bridges", count, least, starter.BRIDGES_MAX),
    ):
        if not low <= value <= high:
            raise ConfigError(
                f"option {option} = {value}: must be between {low} and {high} for a {shape}; choose"
                " one in this range"
            )
    unit = unit_of("rate_bps")
    if unit is None or unit.number(asked.rate) is None:
        raise ConfigError(
            f'option --rate = "{one_line(asked.rate)}": must be a number with a unit, such as'
            ' "100 Mb/s"; write it so'
        )
    name = _NOT_OF_A_NAME.sub("-", file.stem).strip("-._")[:64] or shape
    if asked.table is None:
        if asked.at:
            raise ConfigError("option --at: needs the stations of a table; give --from, too")
        text = starter.starter(shape, name, stations, count, file.name, asked.rate)
        loading.parse(text, file.name)  # the rate may be out of range
        return create(file, text)
    if asked.stations is not None:
        raise ConfigError(
            "option --stations: has no use with --from, whose table names the stations; leave one"
            " of the two out"
        )
    reader = yang_reader if asked.table.suffix.lower() in yang_reader.SUFFIXES else streamtable
    table = reader.read(asked.table)
    homes = _homes(asked.at, table.stations, starter.bridge_names(count))
    what = f"with the {len(table.stations)} stations of {one_line(asked.table.name)}"
    text = starter.of_streams(
        shape, name, table.stations, count, homes, table.streams, file.name, asked.rate, what,
        table.loads,
    )  # fmt: skip
    loading.parse(text, str(asked.table))
    for note in table.notes:
        edge.say(f"note: {note}")
    return create(file, text)


def read(source: Path, out: Path | None) -> str:
    """Write the scenario that a file of others says into a file that is not there yet.

    Raises:
        ConfigError: what is wrong with it, with file, row and column.
    """
    problem = tsnkit_reader.problem_of(source)
    name = source.stem or "network"
    file = out or Path(f"{name}.toml")
    if problem is None:
        return write(file, Asked(starter.STAR, table=source))
    _, exported = tsnkit_reader.read(problem)
    for note in exported.notes:
        edge.say(f"note: {note}")
    (text,) = exported.files.values()
    return create(file, schemafiles.directive(file.parent) + text)


def _homes(words: tuple[str, ...], stations: list[str], bridges: list[str]) -> dict[str, str]:
    """Bridges by station, of `drive1..3=br2`."""
    homes: dict[str, str] = {}
    for word in words:
        written, _, bridge = word.partition("=")
        for name in ranges.names(written) or [written]:
            for known, what, found in ((stations, "station", name), (bridges, "bridge", bridge)):
                if found not in known:
                    raise ConfigError(
                        f'option --at = "{one_line(word)}": "{one_line(found)}" is no {what};'
                        f" {suggestion(found, known)}"
                    )
            homes[name] = bridge
    return homes


def _check_name(file: Path) -> None:
    if not str(file).isprintable():
        raise ConfigError(
            f'argument FILE = "{file}": must be of letters that can be printed; choose another name'
        )


def create(file: Path, text: str) -> str:
    """Write a scenario into a file that is not there yet; what to do next.

    Raises:
        ConfigError: the file is there or cannot be written.
    """
    _check_name(file)
    try:
        with file.open("x", encoding="utf-8") as out:
            _fill(out, text)
    except FileExistsError:
        raise ConfigError(
            f"{file}: is there already and stays as it is; choose another name"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot be written ({error.strerror}); choose another place"
        ) from None
    return f"{file}: written; change it, then: keepon plan {shell_path(file)}"


def _fill(out: TextIO, text: str) -> None:
    """All of it, or the file is taken away again."""
    try:
        out.write(text)
        out.flush()
    except BaseException:
        Path(out.name).unlink()
        raise


UNLIMITED = 10_000


def examples_listed() -> str:
    """What each is, in a pipe in one line, and where they are."""
    width = terminal.width() or UNLIMITED
    lines = [
        textwrap.fill(f"{name:<16} {examples.title(name)}", width, subsequent_indent=" " * 17)
        for name in examples.names()
    ]
    return "\n".join([*lines, f"files: {examples.folder()}"])


def copy_example(name: str, file: Path | None) -> str:
    """Write one into a file that is not there yet; what to do next.

    Raises:
        ConfigError: there is no such example, or the file is there or cannot be written.
    """
    target = Path(f"{name}.toml") if file is None else file
    return create(target, examples.copied(name, target.parent))
