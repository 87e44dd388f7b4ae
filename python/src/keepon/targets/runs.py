# SPDX-License-Identifier: BSD-3-Clause
"""What a target takes and gives: one run per driver, and the result document of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from keepon import __version__
from keepon.measure import results
from keepon.measure.results import FrameArrays
from keepon.model.hosts import Sourced
from keepon.model.scenario import Scenario
from keepon.provenance import commit

Progress = Callable[[str, float], None]


@dataclass
class Run:
    """One driver's run: its part of the result file, and the arrays of the frames that were measured."""

    driver: str
    document: dict[str, Any]
    frames: dict[str, FrameArrays]
    trace_hash: str


@dataclass
class Outcome:
    """Everything a scenario's runs gave; `interrupted` if the user stopped before the last."""

    result: dict[str, Any]
    runs: list[Run] = field(default_factory=list)
    interrupted: bool = False


class Target(Protocol):
    """Where a scenario runs."""

    @property
    def name(self) -> str:
        """As `--target` and the result call it."""

    @property
    def duration_s(self) -> float | None:
        """How long a run is if nobody says; None: as the scenario says."""

    def check_supported(self, scenario: Scenario) -> None:
        """Refuse what this target cannot do, before any work.

        Raises:
            ConfigError: one sentence on the first such key.
        """

    def run_all(self, scenario: Scenario, plan: dict[str, Any], seed: int, progress: Progress | None = None) -> Outcome:
        """Every driver of the scenario in turn; a Ctrl-C keeps the ones that are complete.

        Args:
            scenario: one that `check_supported` accepts.
            plan: its verified, feasible plan.
            seed: of everything random.
            progress: told (driver, share done) now and then.

        Raises:
            SimulationError: a run contradicts itself.
            EnvironmentProblemError: what the target needs is not there.
        """


def result_document(
    target: str,
    scenario: Scenario,
    seed: int,
    runs: list[Run],
    sources: dict[str, list[Sourced]],
    constructed: list[str],
    interrupted: bool,
) -> dict[str, Any]:
    """`keepon.result/1` of these runs.

    Args:
        target: its name.
        scenario: what was run.
        seed: of everything random.
        runs: the complete ones, the judged one first.
        sources: by node, the calibrated and chosen numbers that mattered.
        constructed: what these runs cannot but show, in sentences.
        interrupted: the user stopped before the last.
    """
    inputs: dict[str, dict[tuple[str, str], dict[str, Any]]] = {"calibrated": {}, "chosen": {}}
    for station, entries in sources.items():
        for entry in entries:
            same = (entry.parameter, str(entry.value))
            known = inputs[entry.kind].setdefault(same, {**entry.as_dict(), "stations": []})
            known["stations"].append(station)
    return {
        "schema": results.RESULT_SCHEMA,
        "scenario": scenario.name,
        "target": target,
        "seed": seed,
        "version": __version__,
        "commit": commit(),
        "effective": scenario.effective(),
        **{kind: list(entries.values()) for kind, entries in inputs.items()},
        "by_construction": constructed,
        "interrupted": interrupted,
        "judged": runs[0].driver if runs else None,
        "runs": [run.document for run in runs],
    }
