# SPDX-License-Identifier: BSD-3-Clause
"""What a shell may put in for an argument or the value of an option."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import typer
from keepon_host.link import options

from keepon.model import examples, starter

NET = Path("/sys/class/net")
Completer = Callable[[str], list[str]]


def of(values: Callable[[], Iterable[str]]) -> Completer:
    """Those of the values that begin with what is there."""

    def completed(incomplete: str) -> list[str]:
        return [value for value in values() if value.startswith(incomplete)]

    return completed


def words(*values: str) -> Completer:
    """Words that are always the same."""
    return of(lambda: values)


def _interfaces() -> list[str]:
    try:
        return sorted(path.name for path in NET.iterdir() if path.is_dir())
    except OSError:
        return []


example_names = of(examples.names)
interfaces = of(_interfaces)
formats = words("commands", "dot", "yang", "tsnkit", "tsntool", "svg")
shapes = words(*starter.SHAPES)


def link_options(context: typer.Context, incomplete: str) -> list[str]:
    """Of `link add` and `link set`: the words of the option before, else options not given yet."""
    given = [str(word) for word in context.params.get("options") or ()]
    known = {option.name: option.words for option in options.OPTIONS}
    if given and given[-1] in known and len(given) % 2:
        fitting: Iterable[str] = known[given[-1]]
    else:
        fitting = [name for name in (*known, "class") if name == "class" or name not in given]
    return [word for word in fitting if word.startswith(incomplete)]
