# SPDX-License-Identifier: BSD-3-Clause
"""Whether what is published of the case study may stand beside a result: figures of one experiment
say nothing of another that only has a name like it.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from keepon.model import examples, loading

CASE_STUDY: Final = "habitat"
_SAME: Final = {"stream": "id", "bridge": "name", "link": "ends", "load": "id", "fault": "kind"}
"""What makes the experiment, and what tells its entries apart."""
_NO_FIGURE: Final = ("deadline_ns",)
"""What may be another: no delay depends on it."""


@functools.cache
def _published() -> dict[str, Any]:
    """The case study as this version has it, with all defaults."""
    return loading.load(examples.path(CASE_STUDY)).effective()


def is_case_study(effective: dict[str, Any]) -> bool:
    """Whether a scenario has the streams, bridges, links with their rates, loads and faults of the
    published case study; name, duration, seed, drivers and hosts may be others.
    """
    ours = _published()
    defaults = ours["defaults"]
    return _is_same(effective["defaults"], defaults, {}) and all(
        _are_same(effective.get(kind, []), ours[kind], key, defaults) for kind, key in _SAME.items()
    )


def _are_same(
    theirs: list[dict[str, Any]], ours: list[dict[str, Any]], key: str, defaults: dict[str, Any]
) -> bool:
    """Whether all entries agree, in whatever order."""
    if len(theirs) != len(ours):
        return False
    theirs, ours = (sorted(some, key=lambda entry: str(entry[key])) for some in (theirs, ours))
    return all(_is_same(their, own, defaults) for their, own in zip(theirs, ours, strict=True))


def _is_same(their: dict[str, Any], own: dict[str, Any], defaults: dict[str, Any]) -> bool:
    """Whether an entry agrees in all keys it has: results of earlier versions lack some."""
    return all(
        value == own.get(name, defaults.get(name))
        for name, value in their.items()
        if name not in _NO_FIGURE
    )
