# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` does: plan, check, try in the simulator, show it, give the exit code."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from keepon import documents, outcomes, tables
from keepon.errors import EXIT_INTERRUPTED, EXIT_MET, EXIT_MISSED, ConfigError, PlanRejectedError, one_line
from keepon.planner.network import clocks, keeping
from keepon.planner.network.plan import plan as make_plan
from keepon.planner.network.plan import without_time
from keepon.planner.network.solve import INTERRUPTED, PLAN_SCHEMA
from keepon.planner.parameters import rationale
from keepon.planner.partition.limits import TIME_LIMIT_MAX_S, Limits, Progress, TimeUpError, silent
from keepon.planner.verify import verify
from keepon.results import SENT_VERDICTS
from keepon.runner import Build, simulate_build, talk_start_ns
from keepon.scenario import Scenario

UNPLANNED = ("late", "unsynchronised", "unlocked", "stepped")
"""Verdicts that say something of host and clocks, and nothing of the plan."""
LATE = "beyond a bound, beside frames of its talker that came late"
STREAMS_SHOWN_MAX = 20
ROWS_SHOWN_MAX = 200
"""Longer tables have no frame: to fit their columns takes longer than to plan."""
GRACE_S = 0.5
NOT_TRIED = "not tried in the simulator, as the time limit was reached: give a longer --time-limit"
TRIAL_LAPS = 4
TRIAL_MIN_NS = 10_000_000
TRIAL_MAX_NS = 500_000_000
TRIAL_SYNCS = 40
TRIAL_SYNCS_MAX_NS = 60_000_000_000


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


def _at_leisure() -> None:
    """Who has all the time there is looks at no clock."""


def trial(scenario: Scenario, plan: dict[str, Any], look: Callable[[], None] = _at_leisure) -> dict[str, Any]:
    """Run a feasible plan in the simulator without faults, with the drivers it was made for, and compare all bounds.

    Hosts have no tails: how seldom they are late is their affair (G2 of the rationale), and no plan could promise more.
    Frames that come late all the same are named, with the streams of their talkers, whose bounds rest on their being in
    time.

    Returns:
        duration_s, frames delivered, `unsent`: by stream how many frames got which of UNPLANNED instead.

    Raises:
        ConfigError: a clock was further off than stated for it.
        PlanRejectedError: a frame that was sent did not keep a bound of the plan, was lost, or had no slot of its own.
        TimeUpError: by `look`, which is called now and then.
    """

    def looked(_driver: str, _share: float) -> None:
        look()

    cycles_ns = [entry.period_ns for entry in scenario.stream]
    duration_ns = min(max(TRIAL_LAPS * math.lcm(*cycles_ns), 2 * max(cycles_ns), TRIAL_MIN_NS), TRIAL_MAX_NS)
    # Streams start to be sent after a while, measured or not.
    duration_ns = max(duration_ns, max(cycles_ns), _sync_ns(scenario)) + max(
        0, talk_start_ns(scenario) - round(scenario.warmup_s * 1e9)
    )
    short = scenario.model_copy(update={"duration_s": duration_ns / 1e9, "fault": [], "host_tail_scale": 0.0})
    driver = "keepon" if short.compare is not None else short.drivers()[0]
    build, run = simulate_build(short, plan, driver, scenario.seed, looked)
    settled_ns = round(scenario.warmup_s * 1e9)
    if scenario.sync.by_ptp and clocks.wrong_clocks(build, settled_ns):
        # Exchanges of PTP that always take longer than their interval end in time only with what hosts vary.
        short = short.model_copy(update={"host_tail_scale": scenario.host_tail_scale})
        build, run = simulate_build(short, plan, driver, scenario.seed, looked)
    _check_clocks(build, settled_ns, look)
    unsent: dict[str, dict[str, int]] = {}
    late = _late_talkers(short, run.document)
    talkers = {stream.id: stream.talker for stream in scenario.stream}
    for name, entry in run.document["streams"].items():
        talker = talkers[name]
        if talker in late and not all(check["met"] for check in entry["bound_check"].values()):
            unsent[name] = {LATE: late[talker]}
            continue
        for bound, check in entry["bound_check"].items():
            if check["outcome"] == outcomes.MISSED and bound != "deadline_ns":
                # A frame that misses its window while clocks settle keeps those behind it waiting for ever.
                _check_clocks(build, talk_start_ns(scenario), look)
                raise PlanRejectedError(
                    f"the plan failed in the simulator: {bound} of stream {name} was {check['worst_ns']:g}, its bound "
                    f"is {check['bound_ns']}"
                )
        ended = {key: count for key, count in entry["verdicts"].items() if count and key not in SENT_VERDICTS}
        others = {key: count for key, count in {**ended, **entry["lost"]}.items() if key not in UNPLANNED}
        if others or (not ended and not entry["delivered"]):
            _check_clocks(build, talk_start_ns(scenario), look)
        if others:
            told = ", ".join(f"{key} {count}" for key, count in others.items())
            raise PlanRejectedError(f"the plan failed in the simulator: frames of stream {name} ended as {told}")
        if ended:
            unsent[name] = ended
        elif not entry["delivered"]:
            raise PlanRejectedError(f"the plan failed in the simulator: no frame of stream {name} was sent")
    delivered = sum(entry["delivered"] for entry in run.document["streams"].values())
    return {"duration_s": short.duration_s, "delivered": delivered, "unsent": unsent}


def _check_clocks(build: Build, from_ns: int, look: Callable[[], None]) -> None:
    if build.scenario.sync.by_ptp and (wrong := clocks.wrong_clocks(build, from_ns)):
        raise clocks.refusal(build.scenario, build.plan, wrong, lambda _: look())


def _sync_ns(scenario: Scenario) -> int:
    """How long clocks are watched: servos answer once an interval, and what they do comes back after many."""
    if not scenario.sync.by_ptp:
        return 0
    return min(TRIAL_SYNCS * scenario.sync.interval_ms * 1_000_000, TRIAL_SYNCS_MAX_NS)


def _late_talkers(scenario: Scenario, document: dict[str, Any]) -> dict[str, int]:
    """Frames that came to the driver or the NIC when it was too late for them, by talker."""
    found: dict[str, int] = {}
    for stream in scenario.stream:
        entry, station = document["streams"][stream.id], document["stations"][stream.talker]
        if scenario.station_named(stream.talker).driver == "launchtime":
            count = station["nic"]["late_launches"]
        else:
            count = found.get(stream.talker, 0) + sum(entry["verdicts"].get(name, 0) for name in ("moved", "late"))
        if count:
            found[stream.talker] = count
    return found


def run(
    read: Callable[[], Scenario],
    out: Path | None,
    keep: Path | None,
    time_limit_s: float,
    workers: int,
    as_json: bool,
) -> int:
    """Plan a scenario and show it; a plan that is printed has passed the checker and a run in the simulator.

    If there was no time for the run, that is said. The time begins here, before the scenario is read.

    Raises:
        ConfigError: the scenario or an option is wrong.
        PlanRejectedError: the plan failed a check, which is a defect of the planner.
        TimeUpError: the time was over before anything was decided.
    """
    if not 0 < time_limit_s <= TIME_LIMIT_MAX_S:
        raise ConfigError(
            f"option --time-limit = {time_limit_s}: must be above 0 and at most {TIME_LIMIT_MAX_S:g} seconds; choose "
            "one in this range"
        )
    with _progress() as told:
        watch = _Watch(Limits(time.monotonic() + time_limit_s, workers=workers, progress=told))
        try:
            with _hard_stop(watch):
                plan = _tried(read(), keep, watch)
        except TimeUpError as error:
            raise TimeUpError(
                f"the time limit of {time_limit_s:g} s was reached while {error}; nothing was decided, so give a "
                "longer --time-limit"
            ) from None
    if out is not None:
        documents.write(out, plan)
    if as_json:
        print(json.dumps(plan, indent=1, allow_nan=False))
    else:
        _show(plan)
    if plan.get("why", {}).get("constraint") == INTERRUPTED:
        return EXIT_INTERRUPTED
    return EXIT_MET if plan["status"] == "feasible" else EXIT_MISSED


def _earlier(keep: Path) -> dict[str, Any]:
    """The plan whose streams must not move."""
    earlier = documents.read(keep, PLAN_SCHEMA)
    if earlier.get("status") != "feasible":
        raise ConfigError(
            f'{keep}: key `status` = "{one_line(earlier.get("status"))}": must be "feasible"; name such a plan'
        )
    keeping.check(earlier, str(keep))
    return earlier


def _tried(scenario: Scenario, keep: Path | None, watch: _Watch) -> dict[str, Any]:
    """The plan, checked and tried as far as there is time: never unchecked, and if not tried, that is in it."""
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


def _show(plan: dict[str, Any]) -> None:
    if plan["status"] != "feasible":
        why = plan["why"]
        print(f"{plan['status']}: {why['message']}; nearest change: {why['nearest_change']}")
        if len(why["streams"]) > 1:
            shown = why["streams"][:STREAMS_SHOWN_MAX]
            print(f"streams: {', '.join(shown)}{' and others' if len(shown) < len(why['streams']) else ''}")
        return
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=240)
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
        print(
            f"checked independently, and in the simulator over {tried['duration_s']:g} s: {tried['delivered']} frames "
            "within every bound"
        )
        for name, verdicts in tried["unsent"].items():
            told = ", ".join(f"{key} {count}" for key, count in verdicts.items())
            print(f"{name}: not sent: {told}; the host model hands over too late or clocks have not settled: raise "
                  "advance_ns or warmup_s")  # fmt: skip
    else:
        print(f"checked independently{', but ' + plan['not_tried'] if 'not_tried' in plan else ''}")
    print(f"planned in {plan['seconds']:.3f} s")


def _unframed(table: Table) -> str:
    """A table as lines of text, its columns as wide as they must be."""
    padded = []
    for column in table.columns:
        cells = [str(column.header), *map(str, column.cells)]
        width = max(map(len, cells))
        padded.append([cell.rjust(width) if column.justify == "right" else cell.ljust(width) for cell in cells])
    title = [str(table.title)] if table.title else []
    return "\n".join([*title, *("  ".join(row).rstrip() for row in zip(*padded, strict=True))])
