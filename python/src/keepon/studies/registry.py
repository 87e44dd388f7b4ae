# SPDX-License-Identifier: BSD-3-Clause
"""The studies `keepon reproduce` knows by name, besides the habitat case study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepon.errors import ConfigError
from keepon.studies.clocks import studies as clock_studies
from keepon.studies.partitions import studies as partition_studies
from keepon.studies.ptperrors import studies as ptp_errors

Run = Callable[[str, list[str], int | None, int | None], dict[str, Any]]


@dataclass(frozen=True)
class Study:
    """A study: what it is, and how it runs.

    Attributes:
        title: one line for the list of studies.
        run: (name, KEY=VALUE settings, seed or None, number of seeds or None) -> document; raises ConfigError before
            any work if a setting is wrong.
        options: settings that are options of the command, too.
    """

    title: str
    run: Run
    options: tuple[str, ...] = ()


STUDIES: dict[str, Study] = {
    **{name: Study(title, ptp_errors.run) for name, title in ptp_errors.TITLES.items()},
    **{name: Study(title, clock_studies.run) for name, title in clock_studies.TITLES.items()},
    **{
        name: Study(title, partition_studies.run, partition_studies.OPTIONS)
        for name, title in partition_studies.TITLES.items()
    },
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


def assignments(name: str, study: Study | None, options: Mapping[str, object], changes: list[str]) -> list[str]:
    """KEY=VALUE settings with those that were given as options of the command.

    Args:
        name, study: as for `find`.
        options: option -> what it was given, None if it was not.

    Raises:
        ConfigError: the study has no such option, or the setting is given as well.
    """
    given = {key: value for key, value in options.items() if value is not None}
    for key, value in given.items():
        if study is None or key not in study.options:
            able = ", ".join(entry for entry, other in STUDIES.items() if key in other.options)
            raise ConfigError(f'option --{key} = {value}: not for study "{name}"; it is for {able}')
        if any(change.partition("=")[0].strip() == key for change in changes):
            raise ConfigError(f"option --{key} = {value}: --set gives `{key}` as well; drop one")
    return [*changes, *(f"{key}={value}" for key, value in given.items())]
