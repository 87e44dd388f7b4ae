# SPDX-License-Identifier: BSD-3-Clause
"""Reads a result folder: result and plan, and whether each is whole and both are of one scenario.

The JSON Schemas say what one key may be; here is what two keys must have in common, so that what
draws and compares results need not look again.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from keepon.errors import ConfigError, TraceError, one_line
from keepon.model import contradictions, documents, loading, outcomes
from keepon.model.plan import PLAN_SCHEMA, Plan
from keepon.model.result import Clock, Result, RunResult
from keepon.model.result import read as read_result
from keepon.model.scenario import Scenario
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
    for key, found in contradictions.of_result(result, scenario):
        raise TraceError(f"{path}: key `{key}` {found}; {documents.DAMAGED}")
    plan_path = folder / documents.PLAN_FILE
    plan = cast(Plan, documents.read_whole(plan_path, PLAN_SCHEMA, Plan))
    wrong = itertools.chain(_plan_problems(plan, scenario), contradictions.of_plan(plan, result))
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
    yield from _names("streams", plan["streams"], streams, _BESIDE, all_of=True)
    yield from _names("stations", plan["stations"], Topology(scenario).ports, _BESIDE)
    yield from _names("bridges", plan["bridges"], bridges, _BESIDE)
    linked = set(
        itertools.chain.from_iterable(
            itertools.permutations(link.ends, 2) for link in scenario.link
        )
    )
    for name, station in plan["stations"].items():
        yield from _names(f"stations.{name}.streams", station["streams"], streams, _BESIDE)
    for name, bridge in plan["bridges"].items():
        neighbours = [there for here, there in linked if here == name]
        yield from _names(f"bridges.{name}.ports", bridge["ports"], neighbours, _BESIDE)
        for peer, port in bridge["ports"].items():
            at = f"bridges.{name}.ports.{peer}.queues"
            yield from _names(at, port["queues"], streams, _BESIDE)
    for name, entry in plan["streams"].items():
        at = f"streams.{name}.routes"
        yield from _names(at, entry["routes"], streams[name].listeners, _BESIDE, all_of=True)
        for listener, route in entry["routes"].items():
            hops = [streams[name].talker, *route, listener]
            if any(pair not in linked for pair in itertools.pairwise(hops)):
                yield f"{at}.{listener}", f"passes nodes that are not linked in {_BESIDE}"
