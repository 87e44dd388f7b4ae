# SPDX-License-Identifier: BSD-3-Clause
"""A result folder that is damaged is refused in one sentence; it is no defect of Keepon."""

from __future__ import annotations

import copy
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT
from keepon.cli import app as cli
from keepon.cli import session
from keepon.errors import EXIT_INPUT, EXIT_MET, EXIT_MISSED
from keepon.model import loading
from keepon.targets.sim.runner import run_all

OF_HOST = {
    "kernel": "6.1.0-56", "cpus": {"governors": ["powersave"], "isolated": ""},
    "clocks": "set", "clock_limit_ns": 1000,
    "clock_offsets_ns": {"gm": [-128, 68]},
    "stations": {"gm": {"interface": "eth1", "driver": "igb", "clock": "/dev/ptp2",
                        "coalescing": {"rx_us": 3}}},
}  # fmt: skip
"""What target host adds to a run."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A result folder with clocks, bridges and an onset, and what is in its files."""
    scenario = loading.load(ROOT / "examples" / "gptp.toml")
    due = [stream.model_copy(update={"deadline_ns": 10**9}) for stream in scenario.stream]
    scenario = scenario.model_copy(update={"duration_s": 0.05, "warmup_s": 0.5, "stream": due})
    plan = session.planned(scenario)
    outcome = run_all(scenario, plan, scenario.seed)
    folder = tmp_path_factory.mktemp("whole") / "r"
    session.write_folder(folder, scenario, plan, outcome, 0)
    files = {name: json.loads((folder / name).read_text()) for name in ("result.json", "plan.json")}
    files["result.json"]["runs"][0]["host"] = OF_HOST
    return folder, files


@pytest.fixture
def report(
    whole: tuple[Path, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[dict[str, Any]], tuple[int, str]]:
    """`keepon report` of the folder with other contents: exit code and what is on stderr."""

    def of(files: dict[str, Any]) -> tuple[int, str]:
        folder, _ = whole
        for name, document in files.items():
            (folder / name).write_text(json.dumps(document))
        monkeypatch.setattr(sys, "argv", ["keepon", "report", str(folder)])
        code = cli.main()
        return code, capsys.readouterr().err

    return of


GONE = object()
LAST = "file is damaged or of another version, make it again\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "way", "value", "sentence"),
    [
        ("result.json", "effective stream 0", GONE,
         'key `runs[0].streams` has "TC0", which `effective` has not'),
        ("result.json", "effective station 0", GONE, "table `effective`: key `link[0].ends[0]` = "),
        ("result.json", "effective bridge 0 name", "other", "no such node"),
        ("result.json", "runs 0 bridges br2 clock lock_s", GONE,
         "key `runs[0].bridges.br2.clock.lock_s` = missing: must be there as `source` is"),
        ("result.json", "runs 0 bridges br2 clock offset_series time_s 0", GONE, "beside it"),
        ("result.json", "runs 0 streams {stream} delay_series max_ns 0", GONE,
         "delay_series.max_ns` has "),
        ("result.json", "runs 0 host clock_offsets_ns gm 0", GONE, "at least 2 entries"),
        ("result.json", "runs 0 host stations gm coalescing", "x", "must be a table; "),
        ("plan.json", "stations {talker} slot_time_ps", GONE,
         "slot_time_ps` = missing: must be there as `mode` is"),
    ],
)  # fmt: skip
def test_two_keys_that_do_not_fit_are_refused(
    whole: tuple[Path, dict[str, Any]],
    report: Callable[[dict[str, Any]], tuple[int, str]],
    file: str,
    way: str,
    value: object,
    sentence: str,
) -> None:
    _, files = whole
    stream = files["result.json"]["effective"]["stream"][0]
    named = way.format(stream=stream["id"], talker=stream["talker"])
    damaged = copy.deepcopy(files)
    _change(damaged[file], [int(key) if key.isdecimal() else key for key in named.split()], value)
    code, said = report(damaged)
    assert code == EXIT_INPUT, said
    sentence = sentence.replace("TC0", stream["id"])
    assert f"{file}: " in said and sentence in said and said.endswith(LAST), said
    assert said.count("\n") == 1


COUNTS = ("due", "submitted", "sent", "pending", "delivered", "missing", "in_flight")


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        *(f"streams {{stream}} {key}" for key in COUNTS),
        "streams {stream} verdicts on_time",
        "streams {stream} outcome",
        "streams {stream} delay_ns min",
        "streams {stream} delay_ns max",
        "streams {stream} delay_ns mean",
        *(f"streams {{stream}} bound_check delay_ns {key}"
          for key in ("bound_ns", "worst_ns", "met", "outcome")),
        "streams {stream} bound_check jitter_ns bound_ns",
        "streams {stream} bound_check deadline_ns bound_ns",
        "outcome",
        "window_ns 0",
        "streams {stream} delay_ns count",
        "streams {stream} delay_ns p99",
        "driver",
    ],
)  # fmt: skip
def test_what_contradicts_the_rest_of_a_result_is_refused(
    whole: tuple[Path, dict[str, Any]],
    report: Callable[[dict[str, Any]], tuple[int, str]],
    way: str,
) -> None:
    """A count that is changed by one, a time by a ms, a word to another one."""
    _, files = whole
    changed = copy.deepcopy(files)
    run = changed["result.json"]["runs"][0]
    named = way.format(stream=changed["result.json"]["effective"]["stream"][0]["id"]).split()
    keys = [int(key) if key.isdecimal() else key for key in named]
    there: Any = run
    for key in keys:
        there = there[key]
    if isinstance(there, str):
        words = ("met", "missed") if keys[-1] == "outcome" else (there, "standard")
        other: object = words[0] if there == words[1] else words[1]
    elif isinstance(there, bool):
        other = not there
    else:
        other = there + (1 if keys[-2] == "verdicts" or keys[-1] in COUNTS else 10**12)
    _change(run, keys, other)
    code, said = report(changed)
    assert code == EXIT_INPUT and said.count("\n") == 1, said
    assert "result.json: key `" in said or "is not what result.json beside it was" in said, said


@pytest.mark.slow
def test_a_plan_with_other_bounds_is_refused(
    whole: tuple[Path, dict[str, Any]], report: Callable[[dict[str, Any]], tuple[int, str]]
) -> None:
    _, files = whole
    for key in ("delay_ns", "jitter_ns", "release_error_ns", "delay_min_ns"):
        changed = copy.deepcopy(files)
        next(iter(changed["plan.json"]["streams"].values()))["bounds"][key] += 1
        code, said = report(changed)
        assert code == EXIT_INPUT and f"bounds.{key}` is not what result.json beside it was" in said
    changed = copy.deepcopy(files)
    changed["plan.json"]["scenario"] = "another"
    assert "and that of the result is another" in report(changed)[1]


@pytest.mark.slow
def test_defaults_that_are_not_there_are_those_of_this_version(
    whole: tuple[Path, dict[str, Any]], report: Callable[[dict[str, Any]], tuple[int, str]]
) -> None:
    _, files = whole
    damaged = copy.deepcopy(files)
    del damaged["result.json"]["effective"]["defaults"]
    code, said = report(damaged)
    assert code in (EXIT_MET, EXIT_MISSED) and said == ""


@pytest.mark.slow
def test_a_plan_of_another_network_is_refused(
    whole: tuple[Path, dict[str, Any]], report: Callable[[dict[str, Any]], tuple[int, str]]
) -> None:
    _, files = whole
    damaged = copy.deepcopy(files)
    stream = next(iter(damaged["plan.json"]["streams"].values()))
    listener = next(iter(stream["routes"]))
    stream["routes"][listener] = stream["routes"][listener][:-1]
    code, said = report(damaged)
    assert (
        code == EXIT_INPUT
        and f"routes.{listener}` passes nodes that are not linked in result.json" in said
    )


def _change(document: Any, way: list[Any], value: object) -> None:
    for key in way[:-1]:
        document = document[key]
    if value is GONE:
        del document[way[-1]]
    else:
        document[way[-1]] = value


def _ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """To every key, of lists to the first entry."""
    if way:
        yield way
    keys = list(value) if isinstance(value, dict) else [0] if isinstance(value, list) else []
    for key in keys if value else ():
        yield from _ways(value[key], (*way, key))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_damaged_is_no_defect(
    whole: tuple[Path, dict[str, Any]],
    report: Callable[[dict[str, Any]], tuple[int, str]],
    seed: int,
) -> None:
    _, files = whole
    chance = random.Random(seed)
    ways = {name: list(_ways(document)) for name, document in files.items()}
    values = (GONE, GONE, None, -1, 1.5, 1e308, "x", "", [], {}, [1], {"a": 1})
    refused = 0
    for _ in range(60):
        damaged = copy.deepcopy(files)
        name = chance.choice(list(ways))
        way, value = chance.choice(ways[name]), chance.choice(values)
        _change(damaged[name], list(way), value)
        code, said = report(damaged)
        assert code in (EXIT_MET, EXIT_MISSED, EXIT_INPUT), (name, way, value, said)
        assert (code == EXIT_INPUT) == (said.count("\n") == 1), (name, way, value, said)
        named = f"/{name}: " in said or f"{name} beside it" in said
        assert not said or named, (name, way, value, said)
        refused += code == EXIT_INPUT
    assert refused > 20
