# SPDX-License-Identifier: BSD-3-Clause
"""Reads a result folder: result and plan, and whether each is whole and both are of one scenario.

The JSON Schemas say what one key may be; here is what two keys must have in common, so that what
draws and compares results need not look again.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from keepon.errors import ConfigError, TraceError, one_line
from keepon.model import documents, loading, outcomes
from keepon.model.cables import hops
from keepon.model.plan import PLAN_SCHEMA, Plan
from keepon.model.result import BoundCheck, Clock, Result, RunResult, StreamResult
from keepon.model.result import read as read_result
from keepon.model.scenario import Scenario, Stream
from keepon.model.topology import Topology


def read(folder: Path) -> tuple[Result, Plan]:
    """Result and plan of a result folder, with every key that reports rely on.

    Raises:
        TraceError: one cannot be read, is not whole, contradicts itself or the other, or is not of
            the other's scenario.
    """
    path = folder / documents.RESULT_FILE
    result = outcomes.completed(read_result(path))
    scenario = _scenario(path, result)
    for number, run in enumerate(result["runs"]):
        for key, found in _problems(run, scenario):
            raise TraceError(f"{path}: key `runs[{number}].{key}` {found}; {documents.DAMAGED}")
    for key, found in of_result(result, scenario):
        raise TraceError(f"{path}: key `{key}` {found}; {documents.DAMAGED}")
    plan_path = folder / documents.PLAN_FILE
    plan = cast(Plan, documents.read_whole(plan_path, PLAN_SCHEMA, Plan))
    wrong = itertools.chain(_plan_problems(plan, scenario), of_plan(plan, result))
    for key, found in wrong:
        raise TraceError(f"{plan_path}: key `{key}` {found}; run the scenario again")
    return result, plan


def _scenario(path: Path, result: Result) -> Scenario:
    """The scenario that was run; `effective` has all its defaults then."""
    try:
        scenario = loading.of_document(result["effective"], f"{path}: table `effective`")
    except ConfigError as error:
        # Who reads a result has not written it: what is wrong, without the remedy.
        what = str(error).rpartition("; ")[0] or str(error)
        raise TraceError(f"{what}; {documents.DAMAGED}") from error
    result["effective"] = scenario.effective()
    return scenario


_Problems = Iterator[tuple[str, str]]
"""Keys, and what is wrong with each."""
_HERE = "`effective`"
_BESIDE = f"{documents.RESULT_FILE} beside it"


def _names(
    key: str, given: Collection[str], known: Collection[str], whose: str, all_of: bool = False
) -> _Problems:
    """A table by name: it has none that the scenario in `whose` has not, or all of them."""
    for name in given:
        if name not in known:
            yield key, f'has "{one_line(name)}", which {whose} has not'
    for name in known if all_of else ():
        if name not in given:
            yield key, f'lacks "{one_line(name)}", which {whose} has'


def _lengths(key: str, table: Mapping[str, Any] | None) -> _Problems:
    """Lists that are of the same length."""
    if table is None:
        return
    first, *others = table
    for name in others:
        if len(table[name]) != len(table[first]):
            yield (
                f"{key}.{name}",
                f"has {len(table[name])} entries: must have {len(table[first])}, as `{first}`"
                " beside it",
            )


def _problems(run: RunResult, scenario: Scenario) -> _Problems:
    """What is wrong with a run."""
    stations = [station.name for station in scenario.station]
    bridges = [bridge.name for bridge in scenario.bridge]
    yield from _names(
        "streams", run["streams"], [stream.id for stream in scenario.stream], _HERE, all_of=True
    )
    yield from _names("stations", run["stations"], stations, _HERE)
    ports = Topology(scenario).ports
    for name, station in run["stations"].items():
        own = [port.name for port in ports.values() if port.station == name]
        yield from _names(f"stations.{name}.ports", station.get("ports", {}), own, _HERE)
    yield from _names("bridges", run["bridges"], bridges, _HERE)
    yield from _names("loads", run["loads"], [load.id for load in scenario.load], _HERE)
    for name, stream in run["streams"].items():
        yield from _lengths(f"streams.{name}.delay_series", stream.get("delay_series"))
        yield from _lengths(f"streams.{name}.delay_distribution", stream.get("delay_distribution"))
    for name, load in run["loads"].items():
        if "tcp" in load:
            yield from _lengths(f"loads.{name}.tcp.window", load["tcp"]["window"])
    for kind in ("stations", "bridges"):
        for name, entry in run[kind].items():
            clock: Clock = entry.get("clock", {})
            yield from _lengths(f"{kind}.{name}.clock.offset_series", clock.get("offset_series"))


def _plan_problems(plan: Plan, scenario: Scenario) -> _Problems:
    """Where a plan has other names than the scenario."""
    streams = {stream.id: stream for stream in scenario.stream}
    bridges = [bridge.name for bridge in scenario.bridge]
    topology = Topology(scenario)
    yield from _names("streams", plan["streams"], streams, _BESIDE, all_of=True)
    yield from _names("stations", plan["stations"], topology.ports, _BESIDE)
    yield from _names("bridges", plan["bridges"], bridges, _BESIDE)
    for name, station in plan["stations"].items():
        yield from _names(f"stations.{name}.streams", station["streams"], streams, _BESIDE)
    for name, bridge in plan["bridges"].items():
        neighbours = topology.neighbours[name]
        yield from _names(f"bridges.{name}.ports", bridge["ports"], neighbours, _BESIDE)
        for peer, port in bridge["ports"].items():
            at = f"bridges.{name}.ports.{peer}.queues"
            yield from _names(at, port["queues"], streams, _BESIDE)
    for name, entry in plan["streams"].items():
        at = f"streams.{name}.routes"
        yield from _names(at, entry["routes"], streams[name].listeners, _BESIDE, all_of=True)
        for listener, route in entry["routes"].items():
            way = [streams[name].talker, *route, listener]
            if any(hop not in topology.wires for hop in hops(way)):
                yield f"{at}.{listener}", f"passes nodes that are not linked in {_BESIDE}"


LEAST: Final = ("delay_min_ns",)
"""Bounds from below."""
ROUNDED_NS = 0.001
SHARES: Final = ("p50", "p99", "p999", "p9999")
PLANNED: Final = ("release_error_ns", "delay_ns", "jitter_ns")
"""Bounds that a run has of its plan."""


def of_result(result: Result, scenario: Scenario) -> _Problems:
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


def _of_run(at: str, run: RunResult, duration_s: float) -> _Problems:
    if run["outcome"] != (expected := outcomes.of_run(run)):
        yield f"{at}.outcome", f'is "{run["outcome"]}", those of its streams say "{expected}"'
    begin_ns, end_ns = run["window_ns"]
    if abs(end_ns - begin_ns - round(duration_s * 1e9)) > 1:
        yield f"{at}.window_ns", f"is not of {duration_s} s, the `duration_s` of the scenario"


def _of_stream(stream: StreamResult, planned: Stream, window_ns: list[int]) -> _Problems:
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


def _of_checks(stream: StreamResult, planned: Stream) -> _Problems:
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


def of_plan(plan: Plan, result: Result) -> _Problems:
    """Where a plan has other bounds than the result was compared with."""
    if plan["scenario"] != result["scenario"]:
        yield "scenario", f'is "{one_line(plan["scenario"])}", and that of the result is another'
    for name, stream in itertools.chain.from_iterable(
        run["streams"].items() for run in result["runs"]
    ):
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
