# SPDX-License-Identifier: BSD-3-Clause
"""The studies of partitions by name: what `keepon reproduce` runs."""

from __future__ import annotations

from keepon import interrupts
from keepon.errors import ConfigError
from keepon.model import study
from keepon.model.study import StudyDocument
from keepon.provenance import commit
from keepon.studies.partitions.settings import BeyondSettings, Settings, origins, parse
from keepon.studies.settings import from_options

TITLES = {
    "fig27": "Figure 27: which sets of flows have a partition, and how long it takes to know (minutes)",
    "schedulability": "Figure 27 and beyond: up to full rings, with a partition and without (minutes)",
}
OPTIONS = ("sets", "workers", "cluster")
"""Settings that are options of the command, too."""


def run(name: str, assignments: list[str], seed: int | None, seeds: int | None) -> StudyDocument:
    """One study; after Ctrl-C from what was decided by then.

    Args:
        name: a key of TITLES.
        assignments: KEY=VALUE texts.
        seed: instead of the setting of this name.
        seeds: must be None: there is one seed; `sets` says how many are drawn from it.

    Raises:
        ConfigError: a setting is wrong, or given twice.
        EnvironmentProblemError: there is no such cluster, or it or a process has died.
        KeyboardInterrupt: Ctrl-C before the first set was decided.
        PlanRejectedError: the independent checker disagrees with an answer.
    """
    changes = from_options(assignments)
    if seeds is not None:
        raise ConfigError(f'option --seeds = {seeds}: not for study "{name}"; --sets says how many are drawn')
    if seed is not None:
        if "seed" in changes:
            raise ConfigError(f"setting `seed` = {changes['seed']}: --seed gives it as well; drop one")
        changes["seed"] = seed
    settings = parse(BeyondSettings if name == "schedulability" else Settings, changes)
    return experiment(name, settings)


def experiment(name: str, settings: Settings) -> StudyDocument:
    """The document of a study with these settings."""
    # Loads CP-SAT, which takes a second that no other command should spend.
    from keepon.studies.partitions import fig27, sets, spread

    tasks = sets.tasks(settings)
    with spread.progress(len(tasks)) as told:
        results = spread.run(tasks, settings, told)
    if not results.findings:
        raise KeyboardInterrupt
    with interrupts.interrupts_wait() as seen:
        published = [finding for finding in results.findings if finding.level_percent in settings.levels_percent]
        parts = [fig27.schedulability(published, tasks, settings)] if published else []
        if isinstance(settings, BeyondSettings):
            parts.append(fig27.limit(results.findings, settings))
        document = study.document(
            name, TITLES[name], parts, settings.model_dump(), *origins(settings), commit()
        )  # fmt: skip
        document["interrupted"] = results.interrupted or bool(seen)
        document["attempted"] = len(results.findings)
        document["sets"] = fig27.raw(results.findings)
        return document
