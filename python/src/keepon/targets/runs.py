# SPDX-License-Identifier: BSD-3-Clause
"""What a target takes and gives: one run per driver, and the result document of all."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from keepon_host.checkout import checkout

from keepon import __version__
from keepon.measure.results import FrameArrays
from keepon.measure.sightings import Seen, Sighting
from keepon.model.hosts import Sourced
from keepon.model.plan import Plan
from keepon.model.result import RESULT_SCHEMA, Calibrated, Chosen, Result, RunResult, TargetName
from keepon.model.scenario import Scenario

Progress = Callable[[str, float], None]


@dataclass
class Run:
    """One driver's run: its part of the result file, the arrays of the frames that were measured,
    what its wires saw, if that was captured, and `files` for the result folder, by name. `others`:
    best effort that they saw, where frames of streams are all else that is known.
    """

    driver: str
    document: RunResult
    frames: dict[str, FrameArrays]
    trace_hash: str
    seen: Seen | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    others: list[Sighting] | None = None


@dataclass
class Outcome:
    """Everything a scenario's runs gave; `interrupted` if the user stopped before the last."""

    result: Result
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

    def run_all(
        self, scenario: Scenario, plan: Plan, seed: int, progress: Progress | None = None
    ) -> Outcome:
        """Every driver of the scenario in turn; a Ctrl-C keeps the ones that are complete.

        Args:
            scenario: one that `check_supported` accepts.
            plan: its verified, feasible plan.
            seed: of everything random.
            progress: called with (driver, share done) now and then.

        Raises:
            SimulationError: a run contradicts itself.
            EnvironmentProblemError: what the target needs is not there.
        """


def result_document(
    target: TargetName,
    scenario: Scenario,
    seed: int,
    runs: list[Run],
    sources: dict[str, list[Sourced]],
    constructed: list[str],
    interrupted: bool,
) -> Result:
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
    calibrated: dict[tuple[str, str], Calibrated] = {}
    chosen: dict[tuple[str, str], Chosen] = {}
    for station, entries in sources.items():
        for entry in entries:
            same = (entry.parameter, str(entry.value))
            if entry.kind == "calibrated":
                known = calibrated.setdefault(same, {**entry.as_calibrated(), "stations": []})
                known["stations"].append(station)
            else:
                used = chosen.setdefault(same, {**entry.as_chosen(), "stations": []})
                used["stations"].append(station)
    return {
        "schema": RESULT_SCHEMA,
        "scenario": scenario.name,
        "target": target,
        "seed": seed,
        "version": __version__,
        "commit": commit(),
        "effective": scenario.effective(),
        "calibrated": list(calibrated.values()),
        "chosen": list(chosen.values()),
        "by_construction": constructed,
        "interrupted": interrupted,
        "judged": runs[0].driver if runs else None,
        "runs": [run.document for run in runs],
    }


def commit() -> str | None:
    """Commit of the checkout this package runs from; None outside one."""
    root = checkout()
    if root is None:
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
