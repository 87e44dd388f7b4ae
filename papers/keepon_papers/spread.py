# SPDX-License-Identifier: BSD-3-Clause
"""Settings of who does the pieces of a study; results with the numbers that they were given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict

from keepon import spread
from keepon.model.fields import Whole
from keepon.model.hosts import Sourced
from keepon.spread import WORKERS_MAX
from keepon.spread import By as By
from keepon_papers import inputs
from keepon_papers.settings import parse, refuse

Result = TypeVar("Result")


class SpreadSettings(BaseModel):
    """Settings of every study that no result depends on, so that no document has them.

    Attributes:
        workers: threads or processes of this machine, "auto": as many as it has processors.
        cluster: address of a dask scheduler whose workers do the work instead; empty for none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    workers: Annotated[int | str, Whole(1, WORKERS_MAX, ("auto",))] = "auto"
    cluster: str = ""


OPTIONS = tuple(SpreadSettings.model_fields)
"""They are options of the command, too."""


def read(given: Mapping[str, Any]) -> SpreadSettings:
    """Settings by their names.

    Raises:
        ConfigError: one is wrong, or workers of this machine are given beside a cluster's.
    """
    settings = parse(SpreadSettings, dict(given))
    if settings.cluster and settings.workers != "auto":
        raise refuse(
            "workers",
            settings.workers,
            "is not for a cluster, which has its own workers; drop one of them",
        )
    return settings


class Spread(spread.Spread):
    """Does pieces of a study.

    Args:
        settings: who does it; this thread alone unless given.
    """

    def __init__(self, settings: SpreadSettings | None = None) -> None:
        chosen = SpreadSettings(workers=1) if settings is None else settings
        super().__init__(None if chosen.workers == "auto" else int(chosen.workers), chosen.cluster)

    def in_order(
        self, work: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], by: By = "threads"
    ) -> list[Result]:
        """As `as_done`, results in the order of arguments; numbers that `work` notes, which are
        lost there if another process does it, are noted in that order.
        """
        found: dict[int, tuple[Result, list[Sourced]]] = {}
        with closing(self.as_done(partial(_with_numbers, work), arguments, by)) as done:
            found.update(done)
        for place in range(len(arguments)):
            inputs.note(found[place][1])
        return [found[place][0] for place in range(len(arguments))]


def _with_numbers(work: Callable[..., Result], *arguments: Any) -> tuple[Result, list[Sourced]]:
    """A result with the numbers that its runs were given."""
    with inputs.collecting() as used:
        result = work(*arguments)
    return result, list(used)
