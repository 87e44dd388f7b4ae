# SPDX-License-Identifier: BSD-3-Clause
"""The studies of set clocks by name: what `keepon reproduce` runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keepon.errors import ConfigError
from keepon.model import study
from keepon.model.study import StudyDocument
from keepon.provenance import commit
from keepon.studies.clocks import fig7, fig8, fig12, fig13, fig22, headline, inputs
from keepon.studies.clocks.settings import Common, Origins, parse
from keepon.studies.settings import from_options


@dataclass(frozen=True)
class Entry:
    """One study: title, settings, where their defaults come from, and what makes its part of a document."""

    title: str
    settings: type[Common]
    origins: Origins
    part: Callable[[Any], study.Part]


ENTRIES: dict[str, Entry] = {
    "fig7": Entry(
        "Figure 7: stability of the emulated clock, as periods of a square wave",
        fig7.Settings,
        fig7.ORIGINS,
        fig7.part,
    ),
    "fig8": Entry("Figure 8: how late a clock is read, by slot and batch", fig8.Settings, fig8.ORIGINS, fig8.part),
    "fig12": Entry("Figure 12: accuracy of PTP as master and as slave", fig12.Settings, fig12.ORIGINS, fig12.part),
    "fig13": Entry("Figure 13: one clock, two clocks, software, hardware", fig13.Settings, fig13.ORIGINS, fig13.part),
    "fig22": Entry(
        "Figure 22: time to converge over 100 starts (minutes)",
        fig22.Settings,
        fig22.ORIGINS,
        fig22.part,
    ),
    "headline": Entry(
        "Release error in network time over 10 minutes (minutes)", headline.Settings, headline.ORIGINS, headline.part
    ),
}
TITLES = {name: entry.title for name, entry in ENTRIES.items()}


def run(name: str, assignments: list[str], seed: int | None, seeds: int | None) -> StudyDocument:
    """One study.

    Args:
        name: a key of TITLES.
        assignments: KEY=VALUE texts.
        seed, seeds: instead of the settings of these names.

    Raises:
        ConfigError: a setting is wrong, or given twice.
    """
    entry = ENTRIES[name]
    changes = from_options(assignments)
    for key, value in (("seed", seed), ("seeds", seeds)):
        if value is not None:
            if key in changes:
                raise ConfigError(f"setting `{key}` = {changes[key]}: --{key} gives it as well; drop one")
            changes[key] = value
    settings = parse(entry.settings, changes)
    with inputs.collecting() as used:
        part = entry.part(settings)
    return study.document(
        name, entry.title, [part], settings.model_dump(), *entry.origins.documents(settings, used), commit()
    )
