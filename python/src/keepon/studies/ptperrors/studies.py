# SPDX-License-Identifier: BSD-3-Clause
"""The studies of section A.9 by name: what `keepon reproduce` runs."""

from __future__ import annotations

from collections.abc import Callable

from keepon.errors import ConfigError
from keepon.model import study
from keepon.model.result import Calibrated, Chosen
from keepon.model.study import StudyDocument
from keepon.provenance import commit
from keepon.studies.ptperrors import eq6, fig28, fig29, settings
from keepon.studies.ptperrors.settings import Settings
from keepon.studies.settings import from_options

PARTS: dict[str, Callable[[Settings], study.Part]] = {
    "eq4": eq6.offset_bound,
    "eq6": eq6.drift_bound,
    "fig28": fig28.part,
    "fig29": fig29.part,
}
TITLES = {
    "eq4": "Eq. 4: bound of the PTP offset error, and the granularity that batches give it",
    "eq6": "Eq. 6: bound of the PTP drift, as printed and corrected",
    "fig28": "Figure 28: granularity, jitter and the error of PTP",
    "fig29": "Figure 29: PTP with and without a filter of the frequency",
    "ptp-errors": "The published analysis of PTP errors: Eq. 4, Eq. 6, Figures 28 and 29",
}


def run(name: str, assignments: list[str], seed: int | None, seeds: int | None) -> StudyDocument:
    """One part, or with "ptp-errors" all of them.

    Args:
        name: a key of TITLES.
        assignments: KEY=VALUE texts.
        seed, seeds: instead of the settings of these names.

    Raises:
        ConfigError: a setting is wrong, or given twice.
    """
    changes = from_options(assignments)
    for key, value in (("seed", seed), ("seeds", seeds)):
        if value is not None:
            if key in changes:
                raise ConfigError(f"setting `{key}` = {changes[key]}: --{key} gives it as well; drop one")
            changes[key] = value
    chosen = settings.parse(changes)
    if name in ("fig29", "ptp-errors"):
        fig29.check(chosen)
    parts = [make(chosen) for part, make in PARTS.items() if name in (part, "ptp-errors")]
    return study.document(name, TITLES[name], parts, chosen.model_dump(), *_origins(chosen), commit())


def _origins(chosen: Settings) -> tuple[list[Calibrated], list[Chosen]]:
    """Settings with published values, and those without one; what was changed by the user is chosen."""
    defaults = Settings()
    values = chosen.model_dump()
    published = [key for key in settings.CALIBRATED if values[key] == getattr(defaults, key)]
    calibrated: list[Calibrated] = [
        {"parameter": key, "value": values[key], "source_id": settings.CALIBRATED[key]} for key in published
    ]
    reasons = dict(settings.CHOICES)
    free: list[Chosen] = [
        {
            "parameter": key,
            "value": value,
            "why": reasons[key] if value == getattr(defaults, key) else "set on the command line",
        }
        for key, value in values.items()
        if key not in published and (key in reasons or value != getattr(defaults, key))
    ]
    return calibrated, free
