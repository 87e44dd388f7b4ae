# SPDX-License-Identifier: BSD-3-Clause
"""The studies `keepon reproduce` knows by name, besides the habitat case study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keepon.errors import ConfigError
from keepon_papers import goodput
from keepon_papers.clocks import fig7, fig8, fig12, fig13, fig22, fig23, headline
from keepon_papers.partitions import fig27, schedulability
from keepon_papers.ptperrors import eq4, eq6, fig28, fig29
from keepon_papers.ptperrors import settings as ptperrors
from keepon_papers.spread import OPTIONS
from keepon_papers.study import Study, parts
from keepon_papers.timed import (
    cochran,
    deviations,
    fejes,
    remedy,
    switching,
    threeclasses,
    throughput,
    virtual,
    windows,
)

STUDIES: dict[str, Study[Any]] = {
    "eq4": eq4.STUDY,
    "eq6": eq6.STUDY,
    "fig28": fig28.STUDY,
    "fig29": fig29.STUDY,
    "ptp-errors": Study(
        "The published analysis of PTP errors: Eq. 4, Eq. 6, Figures 28 and 29",
        ptperrors.Settings,
        ptperrors.ORIGINS,
        parts(eq4.part, eq6.part, fig28.part, fig29.part),
        (ptperrors.check, fig29.check),
    ),
    "fig7": fig7.STUDY,
    "fig8": fig8.STUDY,
    "fig12": fig12.STUDY,
    "fig13": fig13.STUDY,
    "fig17": goodput.FIG17,
    "fig18": goodput.FIG18,
    "fig22": fig22.STUDY,
    "fig23": fig23.STUDY,
    "headline": headline.STUDY,
    "fig27": fig27.STUDY,
    "schedulability": schedulability.STUDY,
    "mitsubishi.table8": Study(
        "Table 8: TC0's deviation from its period, offload on and off",
        threeclasses.Settings,
        threeclasses.ORIGINS,
        parts(deviations.part("table8")),
        (threeclasses.check,),
    ),
    "mitsubishi.table9": Study(
        "Table 9: TC1's deviation from its period, offload on and off",
        threeclasses.Settings,
        threeclasses.ORIGINS,
        parts(deviations.part("table9")),
        (threeclasses.check,),
    ),
    "mitsubishi.table10": Study(
        "Table 10: TC0 and TC1's distance, offload on and off; the least window of TC0",
        threeclasses.Settings,
        threeclasses.ORIGINS,
        parts(deviations.part("table10"), windows.window),
        (threeclasses.check,),
    ),
    "mitsubishi.table11": Study(
        "Table 11: throughput of TC2, the ceiling of UDP, the collapse of TCP",
        threeclasses.Settings,
        threeclasses.ORIGINS,
        parts(throughput.part, windows.ceiling),
        (threeclasses.check,),
    ),
    "mitsubishi.remedy": Study(
        "rescheduling and keepon beside txtime-assist",
        threeclasses.Settings,
        threeclasses.ORIGINS,
        parts(remedy.part),
        (threeclasses.check_slots,),
    ),
    "cochran.table": cochran.STUDY,
    "fejes.fig1": fejes.FIG1,
    "fejes.fig2": fejes.FIG2,
    "fejes.fig3": switching.FIG3,
    "fejes.sizes": fejes.SIZES,
    "garbugli.fig4": virtual.FIG4,
    "garbugli.fig5": virtual.FIG5,
}


def find(name: str) -> Study[Any] | None:
    """The study of this name; None if `name` is the habitat study or a scenario file.

    Raises:
        ConfigError: it is none of these.
    """
    if name in STUDIES:
        return STUDIES[name]
    if (
        name != "habitat"
        and "/" not in name
        and not name.endswith(".toml")
        and not Path(name).exists()
    ):
        known = ", ".join(("habitat", *STUDIES))
        raise ConfigError(f'argument STUDY = "{name}": must be one of {known}, or a scenario file')
    return None


def assignments(name: str, options: Mapping[str, object], changes: list[str]) -> list[str]:
    """KEY=VALUE settings with those that were given as options of the command.

    Args:
        name: of a study; another has no such options.
        options: option -> what it was given, None if it was not.

    Raises:
        ConfigError: the study has no such option, or the setting is given as well.
    """
    given = {key: value for key, value in options.items() if value is not None}
    for key, value in given.items():
        able = [entry for entry, study in STUDIES.items() if key in (*OPTIONS, *study.options)]
        if name not in able:
            raise ConfigError(
                f'option --{key} = {value}: not for study "{name}"; it is for {", ".join(able)}'
            )
        if any(change.partition("=")[0].strip() == key for change in changes):
            raise ConfigError(f"option --{key} = {value}: --set gives `{key}` as well; drop one")
    return [*changes, *(f"{key}={value}" for key, value in given.items())]
