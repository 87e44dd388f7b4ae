# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` does: plan, check, try in the simulator, show it, give the exit code."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from keepon.errors import (
    EXIT_INTERRUPTED,
    EXIT_MET,
    EXIT_MISSED,
    ConfigError,
    one_line,
)
from keepon.model import documents
from keepon.model.plan import Plan, Trial, read
from keepon.model.scenario import Scenario
from keepon.planner.network import keeping
from keepon.planner.network.plan import plan as make_plan
from keepon.planner.network.plan import without_time
from keepon.planner.network.solve import INTERRUPTED
from keepon.planner.parameters import rationale
from keepon.planner.partition.limits import TIME_LIMIT_MAX_S, Limits, Progress, TimeUpError, silent
from keepon.planner.verify import verify
from keepon.report import tables
from keepon.trial.trial import LATE, trial

STREAMS_SHOWN_MAX = 20
UNSENT_SHOWN_MAX = 5
ROWS_SHOWN_MAX = 200
"""Longer tables have no frame: to fit their columns takes longer than to plan."""
GRACE_S = 0.5
NOT_TRIED = "not tried in the simulator, as the time limit was reached: give a longer --time-limit"


@contextmanager
def _progress() -> Iterator[Progress]:
    """One line on stderr when that is a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield silent
        return
    with Console(stderr=True).status("planning") as status:
        yield lambda what: status.update(what)


@dataclass
class _Watch:
    """The limits of a command, and what is being done, for who is told that the time is over."""

    limits: Limits
    at: str = "the scenario was read"

    def look(self) -> None:
        """Look at the clock.

        Raises:
            TimeUpError: the time is over.
        """
        self.limits.look(self.at)


@contextmanager
def _hard_stop(watch: _Watch) -> Iterator[None]:
    """End what looks at no clock, GRACE_S after the time is over: one file, one pass of a library.

    Raises:
        TimeUpError: it was ended.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ended(_number: int, _frame: object) -> None:
        raise TimeUpError(watch.at)

    before = signal.signal(signal.SIGALRM, ended)
    signal.setitimer(signal.ITIMER_REAL, watch.limits.left_s() + GRACE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(
    load: Callable[[], Scenario],
    out: Path | None,
    keep: Path | None,
    time_limit_s: float,
    workers: int,
    as_json: bool,
) -> int:
    """Plan a scenario and show it; a plan that is printed has passed the checker and a run in the
    simulator.

    If there was no time for the run, that is said. The time begins here, before the scenario is
    read.

    Raises:
        ConfigError: the scenario or an option is wrong.
        PlanRejectedError: the plan failed a check, which is a defect of the planner.
        TimeUpError: the time was over before anything was decided.
    """
    if not 0 < time_limit_s <= TIME_LIMIT_MAX_S:
        raise ConfigError(
            f"option --time-limit = {time_limit_s}: must be above 0 and at most"
            f" {TIME_LIMIT_MAX_S:g} seconds; choose one in this range"
        )
    with _progress() as told:
        watch = _Watch(Limits(time.monotonic() + time_limit_s, workers=workers, progress=told))
        try:
            with _hard_stop(watch):
                plan = _tried(load(), keep, watch)
        except TimeUpError as error:
            raise TimeUpError(
                f"the time limit of {time_limit_s:g} s was reached while {error}; nothing was"
                " decided, so give a longer --time-limit"
            ) from None
    if out is not None:
        documents.write(out, plan)
    if as_json:
        print(json.dumps(plan, indent=1, allow_nan=False))
    else:
        _show(plan)
    if "why" in plan and plan["why"]["constraint"] == INTERRUPTED:
        return EXIT_INTERRUPTED
    # What came late in the trial would come late for the user: the plan is shown, and is no
    # success.
    late = "trial" in plan and plan["trial"]["unsent"]
    return EXIT_MET if plan["status"] == "feasible" and not late else EXIT_MISSED


def _earlier(keep: Path) -> Plan:
    """The plan whose streams must not move."""
    earlier = read(keep)
    if earlier.get("status") != "feasible":
        raise ConfigError(
            f'{keep}: key `status` = "{one_line(earlier.get("status"))}": must be "feasible"; name'
            " such a plan"
        )
    keeping.check(earlier, str(keep))
    return earlier


def _tried(scenario: Scenario, keep: Path | None, watch: _Watch) -> Plan:
    """The plan, checked and tried as far as there is time: never unchecked, and if not tried, that
    is in it.
    """
    earlier = None if keep is None else _earlier(keep)
    watch.look()
    limits = watch.limits = replace(watch.limits, seed=scenario.seed)
    watch.at = "places were looked for"
    plan = make_plan(scenario, limits, earlier)
    if plan["status"] != "feasible":
        return plan
    limits.progress("checking the plan")
    watch.at = "the plan was checked"
    try:
        plan = verify(scenario, plan, watch.look)
    except TimeUpError as error:
        return {**without_time(scenario, str(error), placed=True), "seconds": plan["seconds"]}
    if not scenario.stream:
        return plan
    limits.progress("trying the plan in the simulator")
    watch.at = "the plan was tried in the simulator"
    try:
        return {**plan, "trial": trial(scenario, plan, watch.look)}
    except TimeUpError:
        return {**plan, "not_tried": NOT_TRIED}


def _show(plan: Plan) -> None:
    if plan["status"] != "feasible":
        why = plan["why"]
        print(f"{plan['status']}: {why['message']}; nearest change: {why['nearest_change']}")
        if len(why["streams"]) > 1:
            shown = why["streams"][:STREAMS_SHOWN_MAX]
            print(
                "streams:"
                f" {', '.join(shown)}{' and others' if len(shown) < len(why['streams']) else ''}"
            )
        return
    console = (
        Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=240)
    )
    print(f"{plan['scenario']}: plan ({plan['method']})")
    for table in (tables.plan_table(plan), *tables.plan_parts(plan)):
        if table.row_count <= ROWS_SHOWN_MAX:
            console.print(table)
        else:
            print(_unframed(table))
    for line in rationale.text(plan):
        print(line)
    if "kept" in plan:
        print(f"kept as they were: {len(plan['kept'])} streams")
    tried = plan.get("trial")
    if tried:
        within = (
            "frames within every bound"
            if not tried["unsent"]
            else "frames, not all of them in time"
        )
        print(
            f"checked independently, and in the simulator over {tried['duration_s']:g} s:"
            f" {tried['delivered']} {within}"
        )
        for line in _unsent(plan, tried):
            print(line)
    else:
        print(f"checked independently{', but ' + plan['not_tried'] if 'not_tried' in plan else ''}")
    print(f"planned in {plan['seconds']:.3f} s")


def _unsent(plan: Plan, tried: Trial) -> list[str]:
    """What the trial did not send in time, and what helps; streams to which the same happened on
    one line.
    """
    talkers = {
        name: driver["driver"] for driver in plan["stations"].values() for name in driver["streams"]
    }
    alike: dict[tuple[str, str], list[str]] = {}
    for name, verdicts in tried["unsent"].items():
        told = ", ".join(f"{key} {count}" for key, count in verdicts.items())
        remedy = (
            "the host model hands over too late or clocks have not settled: raise advance_ns or"
            " warmup_s"
        )
        if LATE in verdicts and talkers[name] == "launchtime":
            remedy = (
                "ETF's driver needs longer for so many frames in a row: raise etf_delta_ns, and"
                " advance_ns with it"
            )
        alike.setdefault((told, remedy), []).append(name)
    lines = []
    for (told, remedy), names in alike.items():
        others = (
            f" and {len(names) - UNSENT_SHOWN_MAX} others" if len(names) > UNSENT_SHOWN_MAX else ""
        )
        lines.append(
            f"{', '.join(names[:UNSENT_SHOWN_MAX])}{others}: not sent in time: {told}; {remedy}"
        )
    return lines


def _unframed(table: Table) -> str:
    """A table as lines of text, its columns as wide as they must be."""
    padded = []
    for column in table.columns:
        cells = [str(column.header), *map(str, column.cells)]
        width = max(map(len, cells))
        padded.append(
            [
                cell.rjust(width) if column.justify == "right" else cell.ljust(width)
                for cell in cells
            ]
        )
    title = [str(table.title)] if table.title else []
    return "\n".join([*title, *("  ".join(row).rstrip() for row in zip(*padded, strict=True))])
