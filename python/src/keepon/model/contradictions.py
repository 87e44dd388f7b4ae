# SPDX-License-Identifier: BSD-3-Clause
"""Redundant parts of a result, counts and words: where two of them differ, the file was changed
after the run, and neither can be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from keepon.errors import one_line
from keepon.model import documents, outcomes
from keepon.model.plan import Plan
from keepon.model.result import BoundCheck, Result, RunResult, StreamResult
from keepon.model.scenario import Scenario, Stream

Found = Iterator[tuple[str, str]]
"""Keys, and what is wrong with each."""

LEAST: Final = ("delay_min_ns",)
"""Bounds from below."""
ROUNDED_NS = 0.001
SHARES: Final = ("p50", "p99", "p999", "p9999")
PLANNED: Final = ("release_error_ns", "delay_ns", "jitter_ns")
"""Bounds that a run has of its plan."""


def of_result(result: Result, scenario: Scenario) -> Found:
    """What contradicts itself in a result that has all keys (outcomes.completed)."""
    if result["scenario"] != scenario.name:
        yield "scenario", f'is "{one_line(result["scenario"])}", and "{scenario.name}" was run'
    drivers = [run["driver"] for run in result["runs"]]
    if result["judged"] is not None and drivers and result["judged"] not in drivers:
        yield "judged", f'is "{one_line(result["judged"])}", of which there is no run'
    planned = {stream.id: stream for stream in scenario.stream}
    for number, run in enumerate(result["runs"]):
        at = f"runs[{number}]"
        if run["driver"] in drivers[:number]:
            yield f"{at}.driver", f'is "{run["driver"]}", as that of a run before'
        for name, stream in run["streams"].items():
            for key, found in _of_stream(stream, planned[name], run["window_ns"]):
                yield f"{at}.streams.{name}.{key}", found
        yield from _of_run(at, run, scenario.duration_s)


def _of_run(at: str, run: RunResult, duration_s: float) -> Found:
    if run["outcome"] != (expected := outcomes.of_run(run)):
        yield f"{at}.outcome", f'is "{run["outcome"]}", those of its streams say "{expected}"'
    begin_ns, end_ns = run["window_ns"]
    if abs(end_ns - begin_ns - round(duration_s * 1e9)) > 1:
        yield f"{at}.window_ns", f"is not of {duration_s} s, the `duration_s` of the scenario"


def _of_stream(stream: StreamResult, planned: Stream, window_ns: list[int]) -> Found:
    due, delivered, missing = stream["due"], stream["delivered"], stream["missing"]
    if delivered + missing != due:
        yield "missing", f"is {missing}, beside {due} due and {delivered} delivered"
    accounted = sum(stream["verdicts"].values()) + stream["pending"]
    if accounted != stream["submitted"] or accounted > due:
        yield (
            "submitted",
            f"is {stream['submitted']}, of {due} due, and {accounted} ended or are pending",
        )
    ended = delivered + sum(stream["lost"].values()) + stream["in_flight"]
    if ended != stream["sent"]:
        yield "sent", f"is {stream['sent']}, and {ended} were delivered, lost or in flight"
    if due > (window_ns[1] - window_ns[0]) / planned.period_ns + 1:
        yield "due", f"is {due}, more than its period has in the window"
    yield from _of_checks(stream, planned)
    if stream["outcome"] != (expected := outcomes.of_stream(due, missing, stream["bound_check"])):
        yield "outcome", f'is "{stream["outcome"]}", its counts and bounds say "{expected}"'


def _of_checks(stream: StreamResult, planned: Stream) -> Found:
    delays_ns, checks = stream["delay_ns"], stream["bound_check"]
    least_ns, mean_ns, most_ns = (delays_ns[key] for key in ("min", "mean", "max"))
    if least_ns is None or mean_ns is None or most_ns is None:
        if not least_ns == mean_ns == most_ns:
            yield "delay_ns", "lacks some of min, mean and max"
    else:
        between = (mean_ns, *(delays_ns[key] or 0 for key in SHARES))
        if not all(least_ns - ROUNDED_NS <= each <= most_ns + ROUNDED_NS for each in between):
            yield "delay_ns", "has a mean or share that is not between min and max"
    if delays_ns["count"] > stream["due"] * len(planned.listeners):
        yield "delay_ns.count", "is more than frames were due"
    for name, check in checks.items():
        if not _agrees(name, check):
            yield f"bound_check.{name}", "has an outcome that its numbers do not have"
        shown_ns = least_ns if name in LEAST else most_ns
        if name in (*LEAST, *outcomes.LATEST) and check["worst_ns"] != shown_ns:
            yield f"bound_check.{name}.worst_ns", "is none of `delay_ns`"
    if (checks["deadline_ns"]["bound_ns"] if "deadline_ns" in checks else None) != (
        planned.deadline_ns
    ):
        yield "bound_check.deadline_ns", "is not the scenario's"


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
    for name, stream in chain.from_iterable(run["streams"].items() for run in result["runs"]):
        planned = plan["streams"][name]
        bounds = planned["bounds"]
        allowed_ns: dict[str, set[int | None]] = {key: {bounds[key]} for key in PLANNED}
        least_ns = bounds.get("delay_min_ns")
        allowed_ns["delay_min_ns"] = {least_ns}
        if least_ns is not None:  # of frames that no driver pads
            allowed_ns["delay_min_ns"].add(least_ns - -(-planned.get("padding_ps", 0) // 1000))
        for key, allowed in allowed_ns.items():
            check = stream["bound_check"].get(key)
            if (None if check is None else check["bound_ns"]) not in allowed:
                yield (
                    f"streams.{name}.bounds.{key}",
                    f"is not what {documents.RESULT_FILE} beside it was compared with",
                )
