# SPDX-License-Identifier: BSD-3-Clause
"""The studies `keepon reproduce` knows by name, besides the habitat case study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepon.clockstudies import studies as clock_studies
from keepon.errors import ConfigError
from keepon.ptperrors import studies as ptp_errors

Run = Callable[[str, list[str], int | None, int | None], dict[str, Any]]


@dataclass(frozen=True)
class Study:
    """A study: what it is, and how it runs.

    Attributes:
        title: one line for the list of studies.
        run: (name, KEY=VALUE settings, seed or None, number of seeds or None) -> document; raises ConfigError before
            any work if a setting is wrong.
    """

    title: str
    run: Run


STUDIES: dict[str, Study] = {
    **{name: Study(title, ptp_errors.run) for name, title in ptp_errors.TITLES.items()},
    **{name: Study(title, clock_studies.run) for name, title in clock_studies.TITLES.items()},
}


def find(name: str) -> Study | None:
    """The study of this name; None if `name` is the habitat study or a scenario file.

    Raises:
        ConfigError: it is none of these.
    """
    if name in STUDIES:
        return STUDIES[name]
    if name != "habitat" and "/" not in name and not name.endswith(".toml") and not Path(name).exists():
        known = ", ".join(("habitat", *STUDIES))
        raise ConfigError(f'argument STUDY = "{name}": must be one of {known}, or a scenario file')
    return None
