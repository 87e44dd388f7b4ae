# SPDX-License-Identifier: BSD-3-Clause
"""`keepon sweep`: one scenario with each combination of values of some keys, with several seeds.

Each such point is kept in the output folder by the hash of all that it depends on, so that a sweep
that was interrupted, or has more values or results than an earlier one, makes only what is new.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import itertools
import json
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, cast

from rich.markup import escape
from rich.table import Table

from keepon import __version__
from keepon.cli import edge, planning, session, shared
from keepon.errors import EXIT_MET, ConfigError, EnvironmentProblemError, one_line, shell_path
from keepon.model import atomic, documents, loading, result
from keepon.model import plan as plans
from keepon.model.loading import Change, values_of
from keepon.model.scenario import Scenario
from keepon.planner.network.plan import without_time
from keepon.planner.network.solve import INTERRUPTED
from keepon.planner.partition.limits import Limits, TimeUpError
from keepon.report import picture, terminal
from keepon.spread import Spread
from keepon.targets.runs import commit

DEFAULT = ("streams.*.missing", "streams.*.delay_ns.max")
POINTS, TABLE, PLOTS = "points", "sweep.csv", ("sweep.svg", "sweep.png")
NO_PLAN: Final = {"infeasible": "no plan", "unknown": "undecided"}
NEAR_MAX, REASONS_MAX = 6, 3
_LEFT_OUT = ("delay_series", "delay_distribution", "onset_delays_ns", "onset_first_seq")
"""Of a kept stream: most of a result's bytes, and no numbers of a table."""


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    settings: list[str]
    seeds: int
    measures: list[str]
    workers: int | None
    cluster: str
    time_limit_s: float


@dataclass(frozen=True)
class Point:
    """One run: what was set, the scenario with it, and where its result is kept."""

    changes: tuple[Change, ...]
    scenario: Scenario
    file: Path


def run(path: Path, out: Path | None, asked: Asked, as_json: bool) -> int:
    """Make the points that are not there yet; print and write table and plots of all.

    Raises:
        ConfigError: scenario, key, value, folder or name of a result is not right.
        EnvironmentProblemError: the cluster is not there, or the folder cannot be written.
    """
    if asked.cluster and asked.workers:
        raise ConfigError(
            "option --workers: is not for a cluster, which has its own; leave one of the two out"
        )
    scenario = shared.load(path, None, None)
    folder = out if out is not None else Path("out") / f"{scenario.name}-sweep"
    keys = [_assigned(text) for text in asked.settings]
    _check(keys, folder)
    points = list(_points(path, keys, asked.seeds, folder / POINTS))
    measures = asked.measures or list(DEFAULT)
    found = _make(points, asked, measures)
    rows = [_row(point, found[point.file], measures) for point in points]
    names = [key for key, values in keys if len(values) > 1]
    _write(folder, rows, names, measures)
    if as_json:
        shared.print_json(rows)
        return EXIT_MET
    terminal.show(_table(rows, names, measures))
    whys = dict.fromkeys(
        found[point.file]["why"]["message"] for point in points if "why" in found[point.file]
    )
    for why in list(whys)[:REASONS_MAX]:
        terminal.say(f"no plan: {why}")
    files = ", ".join(shell_path(folder / name) for name in (TABLE, *PLOTS))
    terminal.say(f"{len(points)} points; written: {files}")
    return EXIT_MET


def _assigned(text: str) -> tuple[str, list[Any]]:
    key, _, values = text.partition("=")
    found = values_of(values)
    if not key.strip() or "" in found or not found:
        raise ConfigError(
            f'option --set = "{one_line(text)}": must be KEY=VALUE,VALUE; for example --set'
            " stream.*.advance_ns=100000,200000"
        )
    return key.strip(), found


def _check(keys: Sequence[tuple[str, list[Any]]], folder: Path) -> None:
    """Refuse a key that is given twice, and a folder that holds what is not of a sweep."""
    for key, count in {key: [each for each, _ in keys].count(key) for key, _ in keys}.items():
        if count > 1:
            raise ConfigError(f'option --set = "{key}": is given twice; write all values in one')
    names = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
    for name in names:
        if name not in (POINTS, TABLE, *PLOTS):
            raise ConfigError(
                f'{folder}: holds other files than those of a sweep, as "{one_line(name)}"; choose'
                " another folder with --out"
            )
    try:
        (folder / POINTS).mkdir(parents=True, exist_ok=True)
        atomic.check_writable(folder / POINTS / "x")
    except OSError as error:
        raise EnvironmentProblemError(
            f"{folder}: cannot be written ({error.strerror}); choose another folder with --out"
        ) from error


def _points(
    path: Path, keys: Sequence[tuple[str, list[Any]]], seeds: int, folder: Path
) -> Iterator[Point]:
    """All of them, each checked as a scenario before any work."""
    text = loading.read_text(path)
    for values in itertools.product(*(values for _, values in keys)):
        changes = tuple(zip((key for key, _ in keys), values, strict=True))
        said = " and ".join(f"{key} = {value}" for key, value in changes)
        loaded = loading.parse(text, f"{path} with {said}" if said else str(path), changes)
        if loaded.compare is not None:
            judged = loaded.compare.model_copy(update={"drivers": loaded.compare.drivers[:1]})
            loaded = loaded.model_copy(update={"compare": judged})
        session.SIMULATOR.check_supported(loaded)
        session.check_size(loaded)
        for seed in range(loaded.seed, loaded.seed + seeds):
            own = loaded.model_copy(update={"seed": seed})
            made_of = json.dumps([__version__, commit(), own.effective()], sort_keys=True)
            name = hashlib.sha256(made_of.encode()).hexdigest()[:32]
            yield Point(changes, own, folder / f"{name}.json")


def _make(points: Sequence[Point], asked: Asked, measures: Sequence[str]) -> dict[Path, Any]:
    """The document of each point by its file. Names of results are looked up in the first one that
    is there, so that a wrong name does not cost a sweep.
    """
    found = {point.file: _read(point.file) for point in points if point.file.exists()}
    checked = _check_measures(found.values(), measures)
    lacking = list({point.file: point for point in points if point.file not in found}.values())
    work = [(point.scenario, asked.time_limit_s) for point in lacking]
    edge.Settings.left = _left(len(found), points)
    with (
        Spread(asked.workers, asked.cluster) as spread,
        shared.progress_bar() as progress,
        closing(spread.as_done(_made, work, "processes if long")) as done,
    ):
        for place, document in done:
            # With more time there may be one.
            if document.get("status") != "unknown":
                documents.write(lacking[place].file, document)
            checked = checked or _check_measures([document], measures)
            found[lacking[place].file] = document
            edge.Settings.left = _left(len(found), points)
            if progress is not None:
                progress("points", len(found) / len(points))
    return found


def _left(count: int, points: Sequence[Point]) -> str:
    return (
        f"{count} of {len({point.file for point in points})} points are kept in"
        f" {points[0].file.parent}, and the same command makes the others"
    )


def _made(scenario: Scenario, time_limit_s: float) -> dict[str, Any]:
    """The result of a point, or the plan that says why it has none; no signals are set, as a
    cluster's worker does this in a thread.
    """
    watch = planning.Watch(Limits(time.monotonic() + time_limit_s))
    try:
        plan = planning.checked(scenario, None, watch)
    except TimeUpError as error:
        plan = {**without_time(scenario, str(error), placed=False), "seconds": time_limit_s}
    except ConfigError as error:  # what the planner refuses is a point as one without a place is
        why: plans.Why = {
            "constraint": "scenario", "message": str(error), "streams": [], "nearest_change": "",
        }  # fmt: skip
        plan = {**plans.empty(scenario.name, "infeasible", "none"), "why": why, "seconds": 0.0}
    if plan["status"] != "feasible":
        if plan["why"]["constraint"] == INTERRUPTED:
            raise KeyboardInterrupt
        return cast(dict[str, Any], plan)
    outcome = session.SIMULATOR.run_all(scenario, plan, scenario.seed)
    if outcome.interrupted:
        raise KeyboardInterrupt
    for stream in outcome.result["runs"][0]["streams"].values():
        for key in _LEFT_OUT:
            cast(dict[str, Any], stream).pop(key, None)
    return cast(dict[str, Any], outcome.result)


def _read(file: Path) -> dict[str, Any]:
    read = result.read if documents.schema_of(file) == result.RESULT_SCHEMA else plans.read
    return cast(dict[str, Any], read(file))


def _numbers(table: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str, Any]]:
    """Each number of a run: its name, the same with `*` for the stream or station, and its value,
    None where it is not known.
    """
    for key, value in table.items():
        here = (*path, key)
        if isinstance(value, dict):
            yield from _numbers(value, here)
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            name = ".".join(here)
            yield name, ".".join((here[0], "*", *here[2:])) if len(here) > 2 else name, value


def _check_measures(made: Iterable[dict[str, Any]], measures: Sequence[str]) -> bool:
    """Refuse names that are no number of the first run there is; False if there is none."""
    run = next((each["runs"][0] for each in made if "runs" in each), None)
    names = {name: same for name, same, _ in _numbers(run or {})}
    for measure in measures if run else ():
        if not any(fnmatchcase(name, measure) for name in names):
            every = list(dict.fromkeys(names.values()))
            near = difflib.get_close_matches(measure, every, NEAR_MAX, 0.3)
            raise ConfigError(
                f'option --measure = "{one_line(measure)}": is no number of a run in result.json;'
                f" choose one of {', '.join(dict.fromkeys([*near, *every]))}"
            )
    return run is not None


def _row(point: Point, document: dict[str, Any], measures: Sequence[str]) -> dict[str, Any]:
    """A line of the table: of a name with `*` the greatest of all that it names."""
    row: dict[str, Any] = {**dict(point.changes), "seed": point.scenario.seed}
    if "why" in document:
        return {**row, "outcome": NO_PLAN[document["status"]], **dict.fromkeys(measures)}
    judged = document["runs"][0]
    numbers = [(name, value) for name, _, value in _numbers(judged) if value is not None]
    values = {
        measure: max((value for name, value in numbers if fnmatchcase(name, measure)), default=None)
        for measure in measures
    }
    return {**row, "outcome": judged["outcome"], **values}


def _grouped(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Rows that differ by their seed alone."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(json.dumps([row[key] for key in keys], default=str), []).append(row)
    return list(groups.values())


def _over_seeds(values: Sequence[Any]) -> str:
    """One number, or of several seeds the mean and between which it was."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    if min(known) == max(known):
        return f"{known[0]:.10g}"
    return f"{statistics.fmean(known):.7g} ({min(known):.10g} to {max(known):.10g})"


def _table(rows: Sequence[dict[str, Any]], keys: Sequence[str], measures: Sequence[str]) -> Table:
    table = Table(*map(escape, keys), "outcome")
    for measure in measures:
        table.add_column(escape(measure), justify="right")
    for group in _grouped(rows, keys):
        outcomes = Counter(row["outcome"] for row in group)
        said = ", ".join(f"{name} {count}" for name, count in outcomes.items())
        table.add_row(
            *(escape(str(group[0][key])) for key in keys),
            said if len(outcomes) > 1 else group[0]["outcome"],
            *(_over_seeds([row[measure] for row in group]) for measure in measures),
        )
    return table


def _write(
    folder: Path, rows: Sequence[dict[str, Any]], keys: Sequence[str], measures: Sequence[str]
) -> None:
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    documents.write_text(folder / TABLE, text.getvalue(), "choose another folder with --out")
    figure = picture.drawn(_grouped(rows, keys), keys, measures)
    for name in PLOTS:
        figure.savefig(folder / name, dpi=120)
