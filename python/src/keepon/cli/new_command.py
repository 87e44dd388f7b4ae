# SPDX-License-Identifier: BSD-3-Clause
"""`keepon new`: a commented scenario to begin with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TextIO

from keepon.errors import ConfigError, one_line, shell_path
from keepon.model import starter

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def write(shape: str, file: Path, stations: int, bridges: int | None) -> str:
    """Write a scenario of that shape into a file that is not there yet; what to do next.

    Raises:
        ConfigError: an argument is out of its range, or the file is there or cannot be written.
    """
    if shape not in starter.SHAPES:
        raise ConfigError(
            f'argument SHAPE = "{one_line(shape)}": must be one of {", ".join(starter.SHAPES)};'
            " choose one"
        )
    least = starter.RING_BRIDGES_MIN if shape == starter.RING else 1
    count = least if bridges is None else bridges
    for option, value, low, high in (
        ("--stations", stations, 2, starter.STATIONS_MAX),
        ("--bridges", count, least, starter.BRIDGES_MAX),
    ):
        if not low <= value <= high:
            raise ConfigError(
                f"option {option} = {value}: must be between {low} and {high} for a {shape}; choose"
                " one in this range"
            )
    name = _NOT_OF_A_NAME.sub("-", file.stem).strip("-._")[:64] or shape
    return create(file, starter.starter(shape, name, stations, count, file.name))


def create(file: Path, text: str) -> str:
    """Write a scenario into a file that is not there yet; what to do next.

    Raises:
        ConfigError: the file is there or cannot be written.
    """
    if not str(file).isprintable():
        raise ConfigError(
            f'argument FILE = "{file}": must be of letters that can be printed; choose another name'
        )
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
