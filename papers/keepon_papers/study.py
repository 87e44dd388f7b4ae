# SPDX-License-Identifier: BSD-3-Clause
"""What a study is, and how one runs: settings are read and checked, its parts made, a document
written of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from keepon.errors import ConfigError
from keepon.targets.runs import commit
from keepon_papers import inputs, spread
from keepon_papers.document import Part, Sets, StudyDocument, document
from keepon_papers.settings import Origins, from_options, parse
from keepon_papers.spread import Spread, SpreadSettings

S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True)
class Found:
    """What a study has found.

    Attributes:
        parts: figures and equations.
        sets: of a study over sets of streams: each of them, and with `interrupted` those decided
            before Ctrl-C.
    """

    parts: list[Part]
    sets: Sets | None = None
    interrupted: bool = False


@dataclass(frozen=True)
class Study(Generic[S]):
    """A study.

    Attributes:
        title: one line for the list of studies.
        settings: what it can be set to, every key with a default.
        origins: where these defaults come from.
        find: makes its parts of its settings; `Spread` does what is independent of each other.
        checks: raise ConfigError, before any work, if settings do not go together.
        options: settings that are options of the command, too, besides those of every study
            (`spread.OPTIONS`).
    """

    title: str
    settings: type[S]
    origins: Origins
    find: Callable[[S, Spread], Found]
    checks: tuple[Callable[[S], None], ...] = ()
    options: tuple[str, ...] = ()


def parts(*makers: Callable[[S, Spread], Part]) -> Callable[[S, Spread], Found]:
    """What finds these parts, one after the other."""
    return lambda settings, workers: Found([make(settings, workers) for make in makers])


def read_settings(
    study: Study[S],
    name: str,
    assignments: list[str],
    seed: int | None = None,
    seeds: int | None = None,
) -> tuple[S, SpreadSettings]:
    """Settings of a study, and those of who does its work, from texts.

    Args:
        name: of the study, for messages.
        assignments: KEY=VALUE texts.
        seed, seeds: instead of the settings of these names.

    Raises:
        ConfigError: a setting is wrong, given twice, or does not go with another; one sentence.
    """
    changes = from_options(assignments)
    for key, value in {"seed": seed, "seeds": seeds}.items():
        if value is not None:
            _add(study, name, changes, key, value)
    given = {key: changes.pop(key) for key in spread.OPTIONS if key in changes}
    settings = parse(study.settings, changes)
    for check in study.checks:
        check(settings)
    return settings, spread.read(given)


def _add(study: Study[S], name: str, changes: dict[str, Any], key: str, value: int) -> None:
    """A setting that is an option of its own."""
    if key not in study.settings.model_fields:
        instead = (
            "; --sets says how many are drawn" if "sets" in study.options else "; leave it out"
        )
        raise ConfigError(f'option --{key} = {value}: not for study "{name}"{instead}')
    if key in changes:
        raise ConfigError(f"setting `{key}` = {changes[key]}: --{key} gives it as well; drop one")
    changes[key] = value


def run(
    study: Study[S],
    name: str,
    assignments: list[str],
    seed: int | None = None,
    seeds: int | None = None,
) -> StudyDocument:
    """The document of a study; arguments are those of `read_settings`.

    Raises:
        ConfigError: a setting is wrong, given twice, or does not go with another; before any work.
        EnvironmentProblemError: there is no such cluster, or it or a process has died.
        KeyboardInterrupt: Ctrl-C; a study over sets has decided none by then.
        PlanRejectedError: an independent checker disagrees.
        SimulationError: the frames of a run contradict each other.
    """
    settings, who = read_settings(study, name, assignments, seed, seeds)
    with inputs.collecting() as used, Spread(who) as workers:
        found = study.find(settings, workers)
    made = document(
        name,
        study.title,
        found.parts,
        settings.model_dump(),
        *study.origins.documents(settings, used),
        commit(),
    )
    if found.sets is not None:
        made["interrupted"] = found.interrupted
        made["attempted"] = len(found.sets["rows"])
        made["sets"] = found.sets
    return made
