# SPDX-License-Identifier: BSD-3-Clause
"""What a result says twice, in counts and in words: where the two differ, somebody has changed the
file, and neither is to be believed.
"""

from __future__ import annotations

from collections.abc import Iterator

from keepon.errors import one_line
from keepon.model import outcomes
from keepon.model.plan import Plan
from keepon.model.result import BoundCheck, Result, RunResult, StreamResult
from keepon.model.scenario import Scenario

Found = Iterator[tuple[str, str]]
"""Keys, and what is wrong with each."""

LEAST = ("delay_min_ns",)
"""Bounds from below."""
ROUNDED_NS = 0.001
PLANNED = ("release_error_ns", "delay_ns", "jitter_ns")
"""Bounds that a run has as they are in its plan."""


def of_result(result: Result, scenario: Scenario) -> Found:
    """What contradicts itself in a result that has all keys (outcomes.completed)."""
    if result["scenario"] != scenario.name:
        yield "scenario", f'is "{one_line(result["scenario"])}", and "{scenario.name}" was run'
    drivers = [run["driver"] for run in result["runs"]]
    if result["judged"] is not None and drivers and result["judged"] not in drivers:
        yield "judged", f'is "{one_line(result["judged"])}", of which there is no run'
    deadlines_ns = {stream.id: stream.deadline_ns for stream in scenario.stream}
    for number, run in enumerate(result["runs"]):
        at = f"runs[{number}]"
        if run["driver"] in drivers[:number]:
            yield f"{at}.driver", f'is "{run["driver"]}", as that of a run before'
        for name, stream in run["streams"].items():
            for key, found in _of_stream(stream, deadlines_ns[name]):
                yield f"{at}.streams.{name}.{key}", found
        yield from _of_run(at, run)


def _of_run(at: str, run: RunResult) -> Found:
    if run["outcome"] != (expected := outcomes.of_run(run)):
        yield f"{at}.outcome", f'is "{run["outcome"]}", those of its streams say "{expected}"'
    begin_ns, end_ns = run["window_ns"]
    if begin_ns > end_ns:
        yield f"{at}.window_ns", "ends before it begins"


def _of_stream(stream: StreamResult, deadline_ns: int | None) -> Found:
    due, delivered, missing = stream["due"], stream["delivered"], stream["missing"]
    if delivered + missing != due:
        yield "missing", f"is {missing}, beside {due} due and {delivered} delivered"
    told = sum(stream["verdicts"].values()) + stream["pending"]
    if told != stream["submitted"] or told > due:
        yield (
            "submitted",
            f"is {stream['submitted']}, of {due} due, and {told} ended or are pending",
        )
    ended = delivered + sum(stream["lost"].values()) + stream["in_flight"]
    if ended != stream["sent"]:
        yield "sent", f"is {stream['sent']}, and {ended} were delivered, lost or in flight"
    delays_ns, checks = stream["delay_ns"], stream["bound_check"]
    least_ns, mean_ns, most_ns = (delays_ns[key] for key in ("min", "mean", "max"))
    if least_ns is None or mean_ns is None or most_ns is None:
        if not least_ns == mean_ns == most_ns:
            yield "delay_ns", "lacks some of min, mean and max"
    elif not least_ns - ROUNDED_NS <= mean_ns <= most_ns + ROUNDED_NS:
        yield "delay_ns", "has a mean that is not between min and max"
    for name, check in checks.items():
        if not _agrees(name, check):
            yield f"bound_check.{name}", "has an outcome that its numbers do not have"
        shown_ns = least_ns if name in LEAST else most_ns
        if name in (*LEAST, *outcomes.LATEST) and check["worst_ns"] != shown_ns:
            yield f"bound_check.{name}.worst_ns", "is none of `delay_ns`"
    if "deadline_ns" in checks and checks["deadline_ns"]["bound_ns"] != deadline_ns:
        yield "bound_check.deadline_ns.bound_ns", "is not the scenario's"
    if stream["outcome"] != (expected := outcomes.of_stream(due, missing, checks)):
        yield "outcome", f'is "{stream["outcome"]}", its counts and bounds say "{expected}"'


def _agrees(name: str, check: BoundCheck) -> bool:
    """Whether a check's words are what its numbers say. What was within the uncertainty of stamps
    may also be open.
    """
    worst_ns, off_ns = check["worst_ns"], check.get("uncertainty_ns", 0)
    if check["outcome"] == outcomes.NOTHING_CHECKED:
        return not check["met"] and (worst_ns is None or "uncertainty_ns" in check)
    if worst_ns is None:
        return False
    bound_ns = check["bound_ns"]
    is_kept = worst_ns >= bound_ns - off_ns if name in LEAST else worst_ns <= bound_ns + off_ns
    return check["met"] == is_kept and check["outcome"] == (
        outcomes.MET if is_kept else outcomes.MISSED
    )


def of_plan(plan: Plan, result: Result) -> Found:
    """Where a plan has other bounds than the result was compared with."""
    if plan["scenario"] != result["scenario"]:
        yield "scenario", f'is "{one_line(plan["scenario"])}", and that of the result is another'
    for run in result["runs"]:
        for name, stream in run["streams"].items():
            for key in PLANNED:
                bound_ns = plan["streams"][name]["bounds"].get(key)
                check = stream["bound_check"].get(key)
                if bound_ns != (None if check is None else check["bound_ns"]):
                    yield (
                        f"streams.{name}.bounds.{key}",
                        "is not what result.json beside it was compared with",
                    )
