# SPDX-License-Identifier: BSD-3-Clause
"""Planning within a time limit, for every command that plans: read, plan, check, try."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from keepon.errors import ConfigError, one_line
from keepon.model.plan import Plan, read
from keepon.model.scenario import Scenario
from keepon.planner.network import keeping
from keepon.planner.network.plan import plan as make_plan
from keepon.planner.network.plan import without_time
from keepon.planner.partition.limits import TIME_LIMIT_MAX_S, Limits, Progress, TimeUpError, silent
from keepon.planner.verify import verify
from keepon.trial.trial import refusal, trial

GRACE_S = 0.5
NOT_TRIED = "not tried in the simulator"
NO_TIME = f"{NOT_TRIED}, as the time limit was reached: give a longer --time-limit"


@contextmanager
def progress_line() -> Iterator[Progress]:
    """One line on stderr when that is a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield silent
        return
    with Console(stderr=True).status("planning") as status:
        yield lambda what: status.update(what)


@dataclass
class Watch:
    """The limits of a command, and what it is doing, for the message that the time is over."""

    limits: Limits
    at: str = "the scenario was read"

    def look(self) -> None:
        """Look at the clock.

        Raises:
            TimeUpError: the time is over.
        """
        self.limits.look(self.at)


@contextmanager
def _hard_stop(watch: Watch) -> Iterator[None]:
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


def checked(scenario: Scenario, keep: Path | None, watch: Watch) -> Plan:
    """The plan, checked: if there was no time for that, there is none, and it says so."""
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
        return verify(scenario, plan, watch.look)
    except TimeUpError as error:
        return {**without_time(scenario, str(error), placed=True), "seconds": plan["seconds"]}


def tried(scenario: Scenario, keep: Path | None, watch: Watch) -> Plan:
    """The plan, checked and tried as far as there is time: never unchecked, and if not tried, that
    is in it.
    """
    plan = checked(scenario, keep, watch)
    if plan["status"] != "feasible" or not scenario.stream:
        return plan
    if (reason := refusal(scenario)) is not None:
        return {**plan, "not_tried": f"{NOT_TRIED}: {reason}"}
    watch.limits.progress("trying the plan in the simulator")
    watch.at = "the plan was tried in the simulator"
    try:
        return {**plan, "trial": trial(scenario, plan, watch.look)}
    except TimeUpError:
        return {**plan, "not_tried": NO_TIME}


def planned(
    load: Callable[[], Scenario],
    time_limit_s: float,
    keep: Path | None = None,
    workers: int = 1,
    make: Callable[[Scenario, Path | None, Watch], Plan] = checked,
) -> tuple[Scenario, Plan]:
    """A scenario and what `make` makes of it, `checked` or `tried`, in the time there is.

    The time begins here, before the scenario is read.

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
    with progress_line() as on_progress:
        watch = Watch(
            Limits(time.monotonic() + time_limit_s, workers=workers, progress=on_progress)
        )
        try:
            with _hard_stop(watch):
                scenario = load()
                return scenario, make(scenario, keep, watch)
        except TimeUpError as error:
            raise TimeUpError(
                f"the time limit of {time_limit_s:g} s was reached while {error}; nothing was"
                " decided, so give a longer --time-limit"
            ) from None
