# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` does: plan, check, try in the simulator, show it, give the exit code."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from keepon.cli import edge, planning
from keepon.errors import (
    EXIT_INTERRUPTED,
    EXIT_MET,
    EXIT_MISSED,
    EXIT_NOT_TRIED,
    ConfigError,
    one_line,
)
from keepon.measure import causes
from keepon.model import documents, overload, policing
from keepon.model.outcomes import qdisc_remedy
from keepon.model.plan import Plan, Trial
from keepon.model.scenario import Scenario
from keepon.planner.network.solve import INTERRUPTED
from keepon.report import screen, tables, terminal
from keepon.trial import trial
from keepon.trial.trial import BEHIND, FULL, LATE, OVERDUE, TAKEN, WAITING

STREAMS_SHOWN_MAX = 20
UNSENT_SHOWN_MAX = 5
TIMED = "let its frames leave at their times (driver, release, qdisc, sync.mode)"
"""What helps where a talker keeps no time."""


@dataclass(frozen=True)
class Shown:
    """What the command line asks to see of a plan."""

    why: str | None = None
    gates: bool = False
    everything: bool = False
    quiet: bool = False
    as_json: bool = False


def run(
    load: Callable[[], Scenario],
    out: Path | None,
    keep: Path | None,
    time_limit_s: float,
    workers: int,
    shown: Shown,
) -> int:
    """Plan a scenario and show it; a plan that is printed has passed the checker and a run in the
    simulator.

    If there was no time for the run, or the simulator cannot do it, the first line says so.

    Raises:
        ConfigError: the scenario or an option is wrong.
        PlanRejectedError: the plan failed a check, which is a defect of the planner.
        TimeUpError: the time was over before anything was decided.
    """
    scenario, plan = planning.planned(load, time_limit_s, keep, workers, planning.tried)
    if out is not None:
        documents.write(out, plan)
    if shown.as_json:
        print(json.dumps(plan, indent=1, allow_nan=False))
    elif plan["status"] != "feasible":
        _show_why_not(plan)
    else:
        _show(scenario, plan, shown)
    if "why" in plan and plan["why"]["constraint"] == INTERRUPTED:
        return EXIT_INTERRUPTED
    # What came late in the trial would come late for the user: the plan is shown, and is no
    # success.
    if plan["status"] != "feasible" or ("trial" in plan and plan["trial"]["unsent"]):
        return EXIT_MISSED
    return EXIT_NOT_TRIED if "not_tried" in plan else EXIT_MET


def _show_why_not(plan: Plan) -> None:
    why = plan["why"]
    terminal.say(f"{plan['status']}: {why['message']}; nearest change: {why['nearest_change']}")
    if len(why["streams"]) > 1:
        names = why["streams"][:STREAMS_SHOWN_MAX]
        others = " and others" if len(names) < len(why["streams"]) else ""
        terminal.say(f"streams: {', '.join(names)}{others}")


def _show(scenario: Scenario, plan: Plan, shown: Shown) -> None:
    """The verdict, or the one part of the plan that was asked for, or the first screen, and below
    it all there is.
    """
    if shown.why is not None:
        parts = [*tables.stations(plan, shown.why), *tables.rationale(plan, shown.why)]
        if not parts:
            known = [name for name, entry in plan["stations"].items() if entry.get("rationale")]
            raise ConfigError(
                f'option --why = "{one_line(shown.why)}": must be a station with slots:'
                f" {', '.join(known) or 'this plan has none'}"
            )
    elif shown.gates:
        parts = tables.gate_lists(plan)
    else:
        _say_verdict(scenario, plan)
        if shown.quiet:
            return
        _say_first_screen(scenario, plan, shown.everything)
        parts = tables.everything(plan) if shown.everything else []
    for table in parts:
        terminal.show(table)
    if shown.why is None and not shown.gates:
        more = "" if shown.everything else "; more: --why STATION, --gates, --all"
        terminal.say(f"planned in {time.monotonic() - edge.STARTED_S:.1f} s{more}")


def _say_verdict(scenario: Scenario, plan: Plan) -> None:
    """What the plan promises, and what its trial showed."""
    tried, kept = plan.get("trial"), screen.margins(scenario, plan)
    stated = sum(stream.deadline_ns is not None for stream in scenario.stream)
    least = f", least margin {kept[0][0] / 1000:.3f} us ({kept[0][1]})" if kept else ""
    sure = f"{len(kept)} of {stated} deadlines sure{least}" if stated else "no deadline is stated"
    head = f"{plan['scenario']}: plan ({plan['method']})"
    if "not_tried" in plan:
        terminal.say(f"{head}, {plan['not_tried']}", "bold")
        terminal.say(f"checked independently, but not tried; {sure}")
        return
    if not tried:
        terminal.say(f"{head}: {sure}; checked independently", "bold")
        return
    late = f"{len(tried['unsent'])} streams not in time when tried; " if tried["unsent"] else ""
    terminal.say(f"{head}: {late}{sure}", "bold red" if late else "bold")
    of = ""
    if "repeats_s" in tried:
        of = f" of the {tried['repeats_s']:.15g} s after which streams and gates repeat"
    within = "frames, not all of them in time" if tried["unsent"] else "frames within every bound"
    terminal.say(
        f"checked independently, and in the simulator over {tried['duration_s']:.15g} s{of}:"
        f" {tried['delivered']} {within}",
    )


def _say_first_screen(scenario: Scenario, plan: Plan, everything: bool) -> None:
    tried = plan.get("trial")
    for line in _unsent(scenario, plan, tried) if tried else []:
        terminal.say(line, "red")
    for line in screen.warnings(scenario, plan):
        terminal.say(f"{screen.WARNING}{line}", "yellow")
    terminal.show(screen.streams(scenario, plan, everything))
    if tried and (
        only_tried := [
            stream.id
            for stream in scenario.stream
            if stream.deadline_ns is not None
            and plan["streams"][stream.id]["bounds"]["delay_ns"] is None
            and stream.id not in tried["unsent"]
        ]
    ):
        terminal.say(
            f"{_named(only_tried)}: deadline_ns kept in these {tried['duration_s']:.15g} s, with no"
            " bound that promises it for longer"
        )
    for line in screen.needs(scenario, plan):
        terminal.say(line)
    if used := screen.uses(scenario, plan):
        terminal.show(screen.links(used, everything))
    terminal.say(screen.mtus(scenario, plan))
    if "kept" in plan:
        terminal.say(f"kept as they were: {len(plan['kept'])} streams")


def _unsent(scenario: Scenario, plan: Plan, tried: Trial) -> list[str]:
    """What the trial did not send in time, and what helps; streams to which the same happened on
    one line.
    """
    talkers = {
        name: driver["driver"] for driver in plan["stations"].values() for name in driver["streams"]
    }
    streams = {stream.id: stream for stream in scenario.stream}
    enough = causes.alike_of_talkers(
        {name: plan["streams"][name].get("advance_in_time_ns", 0) for name in tried["unsent"]},
        {stream.id: stream.talker for stream in scenario.stream},
    )
    alike: dict[tuple[str, str], list[str]] = {}
    for name, verdicts in tried["unsent"].items():
        ends = ", ".join(f"{key} {count}" for key, count in verdicts.items())
        is_etf = talkers[name] == "launchtime"
        raised = "etf_delta_ns, and advance_ns with it" if is_etf else "advance_ns"
        kinds = tried.get("behind", {})
        busy = [kinds[key] for key in verdicts if key in kinds]
        by_etf = [key for key in verdicts if key.startswith(trial.BY_ETF)]
        remedy = (
            "the host model hands over too late or clocks have not settled: raise advance_ns or"
            " warmup_s"
        )
        stream, enough_ns = streams[name], enough.get(name, 0)
        if {"late", LATE} & verdicts.keys() and enough_ns > stream.advance_ns:
            remedy = f"handed over too late: raise advance_ns to {enough_ns}"
        if busy:
            remedy = overload.remedy(busy[0], raised)
        elif by_etf:
            remedy = trial.etf_remedy(by_etf[0])
        elif LATE in verdicts and is_etf:
            remedy = f"ETF's driver needs longer for so many frames in a row: raise {raised}"
        elif any(place in key for key in verdicts for place in policing.PLACES):
            remedy = "a filter of the scenario drops them, and plans know nothing of those by hand"
        elif TAKEN in verdicts:
            remedy = (
                "its talker keeps no time, and frames of its queue take each other's windows: give"
                f" it a priority of its own, or {TIMED}"
            )
        elif WAITING in verdicts:
            remedy = "give its class a longer window, or send shorter frames or fewer of them"
        elif any(key.startswith(FULL) for key in verdicts):
            remedy = f"raise queue_frames there (1024 if left out), or {TIMED}"
        elif all(key.startswith(OVERDUE) for key in verdicts):
            remedy = f"no bound holds for its talker: {TIMED}, or raise deadline_ns"
        elif BEHIND in verdicts:
            remedy = "what helps those that came late helps these, too"
        else:
            station = scenario.station_named(stream.talker)
            etf = station.driver != "keepon" or station.release in ("etf", "reschedule")
            if etf or station.qdisc is not None:
                remedy = qdisc_remedy(verdicts, station.qdisc, stream.period_ns) or remedy
        alike.setdefault((ends, remedy), []).append(name)
    lines = []
    for (ends, remedy), names in alike.items():
        lines.append(f"{_named(names)}: not sent in time: {ends}; {remedy}")
    return lines


def _named(streams: list[str]) -> str:
    """The first of them, and how many more."""
    more = len(streams) - UNSENT_SHOWN_MAX
    others = f" and {more} others" if more > 0 else ""
    return f"{', '.join(streams[:UNSENT_SHOWN_MAX])}{others}"
