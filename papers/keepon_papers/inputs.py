# SPDX-License-Identifier: BSD-3-Clause
"""What the runs of a study were given of hosts and NICs, collected while they run: a study lists
what it used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from keepon.model.hosts import Sourced

_COLLECTED: ContextVar[dict[Sourced, None] | None] = ContextVar("collected", default=None)


@contextmanager
def collecting() -> Iterator[Mapping[Sourced, None]]:
    """Every number that a run noted within it used, once, in the order of first use."""
    found: dict[Sourced, None] = {}
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


def note(used: Iterable[Sourced]) -> None:
    """Tell what a run was given; without effect where nobody collects."""
    found = _COLLECTED.get()
    if found is not None:
        found.update(dict.fromkeys(used))


def note_nodes(used: Mapping[str, list[Sourced]]) -> None:
    """The same by node."""
    note(entry for entries in used.values() for entry in entries)
