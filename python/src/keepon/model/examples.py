# SPDX-License-Identifier: BSD-3-Clause
"""The example scenarios that came with this package."""

from __future__ import annotations

from pathlib import Path

from keepon.errors import ConfigError, one_line
from keepon.model import schemafiles

PACKAGED = Path(__file__).resolve().parents[1] / "doc" / "examples"
CHECKOUT = Path(__file__).resolve().parents[4] / "examples"


def folder() -> Path:
    """Where they are: in the package, or in the checkout it runs from."""
    return PACKAGED if PACKAGED.is_dir() else CHECKOUT


def _files() -> dict[str, Path]:
    return {path.stem: path for path in folder().rglob("*.toml")}


def names() -> list[str]:
    """Without `.toml`, sorted."""
    return sorted(_files())


def path(name: str) -> Path:
    """The file of an example.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in names():
        raise ConfigError(
            f'argument NAME = "{one_line(name)}": must be one of {", ".join(names())}; choose one'
        )
    return _files()[name]


def title(name: str) -> str:
    """What it is, the first sentence of its comment."""
    lines = path(name).read_text(encoding="utf-8").split("\n")[2:]
    words = []
    for line in lines:
        if not line.startswith("# "):
            break
        words.append(line.removeprefix("# "))
    first, stop, _ = " ".join(words).partition(". ")
    return first.rstrip(".:") + ("." if stop else "")


def copied(name: str, target: Path) -> str:
    """Its text for a file in the folder `target`, where editors find the schema."""
    text = path(name).read_text(encoding="utf-8")
    return schemafiles.directive(target) + text.partition("\n")[2]
