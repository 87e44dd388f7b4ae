# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` does: plan, check, try in the simulator, show it, give the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from keepon.cli import planning
from keepon.errors import EXIT_INTERRUPTED, EXIT_MET, EXIT_MISSED, EXIT_NOT_TRIED
from keepon.machines.planned import mtu_of
from keepon.model import documents, overload
from keepon.model.outcomes import qdisc_remedy
from keepon.model.plan import Plan, Trial
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology
from keepon.planner.network.solve import INTERRUPTED
from keepon.report import tables, terminal
from keepon.trial import behind_etf
from keepon.trial.trial import BEHIND, FULL, LATE, OVERDUE, TAKEN, WAITING

STREAMS_SHOWN_MAX = 20
UNSENT_SHOWN_MAX = 5
TIMED = "let its frames leave at their times (driver, release, qdisc, sync.mode)"
"""What helps where a talker keeps no time."""


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

    If there was no time for the run, or the simulator cannot do it, the first line says so.

    Raises:
        ConfigError: the scenario or an option is wrong.
        PlanRejectedError: the plan failed a check, which is a defect of the planner.
        TimeUpError: the time was over before anything was decided.
    """
    scenario, plan = planning.planned(load, time_limit_s, keep, workers, planning.tried)
    if out is not None:
        documents.write(out, plan)
    if as_json:
        print(json.dumps(plan, indent=1, allow_nan=False))
    else:
        _show(scenario, plan)
    if "why" in plan and plan["why"]["constraint"] == INTERRUPTED:
        return EXIT_INTERRUPTED
    # What came late in the trial would come late for the user: the plan is shown, and is no
    # success.
    if plan["status"] != "feasible" or ("trial" in plan and plan["trial"]["unsent"]):
        return EXIT_MISSED
    return EXIT_NOT_TRIED if "not_tried" in plan else EXIT_MET


def _show(scenario: Scenario, plan: Plan) -> None:
    if plan["status"] != "feasible":
        why = plan["why"]
        terminal.say(f"{plan['status']}: {why['message']}; nearest change: {why['nearest_change']}")
        if len(why["streams"]) > 1:
            shown = why["streams"][:STREAMS_SHOWN_MAX]
            terminal.say(
                "streams:"
                f" {', '.join(shown)}{' and others' if len(shown) < len(why['streams']) else ''}"
            )
        return
    untried = f", {plan['not_tried']}" if "not_tried" in plan else ""
    terminal.say(f"{plan['scenario']}: plan ({plan['method']}){untried}")
    for table in (tables.plan_table(plan), *tables.plan_parts(plan), *tables.rationale(plan)):
        terminal.show(table)
    if mtus := _mtus(scenario, plan):
        terminal.say(mtus)
    if "kept" in plan:
        terminal.say(f"kept as they were: {len(plan['kept'])} streams")
    tried = plan.get("trial")
    if tried:
        of = (
            f" of the {tried['repeats_s']:.15g} s after which streams and gates repeat"
            if "repeats_s" in tried
            else ""
        )
        within = (
            "frames within every bound"
            if not tried["unsent"]
            else "frames, not all of them in time"
        )
        terminal.say(
            f"checked independently, and in the simulator over {tried['duration_s']:.15g} s{of}:"
            f" {tried['delivered']} {within}"
        )
        for line in _unsent(scenario, plan, tried):
            terminal.say(line)
        if only_tried := [
            stream.id
            for stream in scenario.stream
            if stream.deadline_ns is not None
            and plan["streams"][stream.id]["bounds"]["delay_ns"] is None
            and stream.id not in tried["unsent"]
        ]:
            terminal.say(
                f"{_named(only_tried)}: deadline_ns kept in these"
                f" {tried['duration_s']:.15g} s, with no bound that promises it for longer"
            )
    else:
        terminal.say(f"checked independently{', but not tried' if untried else ''}")
    terminal.say(f"planned in {plan['seconds']:.3f} s")


def _mtus(scenario: Scenario, plan: Plan) -> str:
    """Which MTU keepon devices come up with; empty without any."""
    named: dict[str, list[str]] = {}
    for name, port in Topology(scenario).ports.items():
        planned = plan["stations"].get(name)
        if planned is not None and "allowed" in planned:
            mtu = mtu_of(scenario, scenario.station_named(port.station), planned)
            told = "no slots" if mtu is None else f"MTU {mtu}"
            named.setdefault(told, []).append(name)
    shown = "; ".join(f"{told}: {_named(names)}" for told, names in named.items())
    return f"for all that has no priority, keepon devices come up with {shown}" if shown else ""


def _unsent(scenario: Scenario, plan: Plan, tried: Trial) -> list[str]:
    """What the trial did not send in time, and what helps; streams to which the same happened on
    one line.
    """
    talkers = {
        name: driver["driver"] for driver in plan["stations"].values() for name in driver["streams"]
    }
    alike: dict[tuple[str, str], list[str]] = {}
    for name, verdicts in tried["unsent"].items():
        told = ", ".join(f"{key} {count}" for key, count in verdicts.items())
        is_etf = talkers[name] == "launchtime"
        raised = "etf_delta_ns, and advance_ns with it" if is_etf else "advance_ns"
        kinds = tried.get("behind", {})
        busy = [kinds[key] for key in verdicts if key in kinds]
        by_etf = [key for key in verdicts if key.startswith(behind_etf.BY_ETF)]
        remedy = (
            "the host model hands over too late or clocks have not settled: raise advance_ns or"
            " warmup_s"
        )
        if busy:
            remedy = overload.remedy(busy[0], raised)
        elif by_etf:
            remedy = behind_etf.remedy(by_etf[0])
        elif LATE in verdicts and is_etf:
            remedy = f"ETF's driver needs longer for so many frames in a row: raise {raised}"
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
            stream = next(entry for entry in scenario.stream if entry.id == name)
            station = scenario.station_named(stream.talker)
            etf = station.driver != "keepon" or station.release in ("etf", "reschedule")
            if etf or station.qdisc is not None:
                remedy = qdisc_remedy(verdicts, station.qdisc, stream.period_ns) or remedy
        alike.setdefault((told, remedy), []).append(name)
    lines = []
    for (told, remedy), names in alike.items():
        lines.append(f"{_named(names)}: not sent in time: {told}; {remedy}")
    return lines


def _named(streams: list[str]) -> str:
    """The first of them, and how many more."""
    more = len(streams) - UNSENT_SHOWN_MAX
    others = f" and {more} others" if more > 0 else ""
    return f"{', '.join(streams[:UNSENT_SHOWN_MAX])}{others}"
