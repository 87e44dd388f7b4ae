# SPDX-License-Identifier: BSD-3-Clause
"""`keepon export`: what is refused, and what is written where."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers import HABITAT, ROOT, planned_example, small
from keepon.cli import export_command as command
from keepon.cli import session
from keepon.errors import EXIT_INPUT, EXIT_MET, TraceError
from keepon.export.exported import Planned
from keepon.planner.verify import problems

REFUSED_PLANS: list[tuple[dict[str, Any], str]] = [
    ({"schema": "keepon.plan/2"}, r'key `schema` = "keepon.plan/2": must be "keepon.plan/1"'),
    ({"status": "infeasible"}, r'key `status` = "infeasible": must be "feasible"'),
    ({"status": "unknown"}, r'key `status` = "unknown"'),
    ({"verified": False}, r"key `verified` = False: must be true; plan again with keepon plan"),
    ({"scenario": "other"}, r'key `scenario` = "other": must be "habitat"; plan again'),
    ({"streams": {}}, r"does not hold for scenario .*streams are not those of the scenario"),
    ({"bridges": 3}, r"key `bridges` = 3: must be a table; plan again"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED_PLANS)
def test_plans_that_do_not_hold_are_refused(
    habitat: Planned,
    change: dict[str, Any],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    plan, out = tmp_path / "plan.json", tmp_path / "out"
    plan.write_text(json.dumps({**habitat.plan, **change}))
    assert (
        keepon("export", HABITAT, "--plan", plan, "--format", "commands", "--out", out)
        == EXIT_INPUT
    )
    said = capsys.readouterr().err
    assert re.search(sentence, said) and said.count("\n") == 1
    assert not out.exists()


def test_the_command_of_a_remedy_can_be_pasted(
    habitat: Planned, tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    """Whatever is in the names of the files."""
    plan, source = tmp_path / "my plan;ü.json", tmp_path / "it's mine.toml"
    plan.write_text(json.dumps({**habitat.plan, "scenario": "other"}))
    source.write_text(HABITAT.read_text())
    words = (source, "--plan", plan, "--format", "dot", "--out", tmp_path / "out")
    assert keepon("export", *words) == EXIT_INPUT
    said = capsys.readouterr().err.partition("plan again with ")[2]
    assert shlex.split(said) == ["keepon", "plan", str(source), "--out", str(plan)]


@pytest.mark.parametrize(("name", "out"), [("dot", "it.dot"), ("commands", "scripts")])
def test_names_of_files_printed_are_names_of_files_written(
    name: str,
    out: str,
    plan_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = (HABITAT, "--plan", plan_file, "--format", name, "--out", out)
    assert keepon("export", *words) == EXIT_MET
    first, *others = capsys.readouterr().out.splitlines()
    assert first == f"habitat: {name} written to {out}"
    written = {str(path) for path in Path(out).glob("*") if path.name != "export.json"}
    assert {line.strip() for line in others} == written
    assert keepon("export", *words, "--force", "--json") == EXIT_MET
    document = json.loads(capsys.readouterr().out)
    folder = tmp_path / out if document["out"] == "scripts" else tmp_path
    assert all((folder / file).is_file() for file in document["files"])


def test_a_picture_of_the_network_needs_no_plan(
    plan_file: Path, tmp_path: Path, keepon: Any
) -> None:
    out = tmp_path / "it.svg"
    words = (HABITAT, "--format", "svg", "--out", out)
    assert keepon("export", *words) == EXIT_MET
    scenario = planned_example("habitat").scenario
    names = {node.name for node in (*scenario.station, *scenario.bridge)}
    for more in ((), ("--plan", plan_file, "--force")):
        assert keepon("export", *words, *more) == (EXIT_MET if more else EXIT_INPUT)
        text = out.read_text()
        ElementTree.fromstring(text)
        shown = re.findall(r">([^<>]+)</text>", text)
        assert names | {"sends F2..4"} <= set(shown) and "var(" not in text
        # Rates stand at every cable; routes and use are the plan's.
        assert sum(word.startswith("1 Gb/s") for word in shown) == len(scenario.link)
        assert ('id="route-F2"' in text) == ("1 Gb/s, 1.2%" in shown) == bool(more)


def test_a_changed_gate_is_noticed(
    habitat: Planned, tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    changed = json.loads(json.dumps(habitat.plan))
    entries = changed["bridges"]["br1"]["ports"]["br2"]["entries"]
    next(entry for entry in entries if entry["gates"] == "0x40")["gates"] = "0x00"
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(changed))
    assert (
        keepon("export", HABITAT, "--plan", plan, "--format", "yang", "--out", tmp_path / "out")
        == EXIT_INPUT
    )
    assert "does not hold for scenario" in capsys.readouterr().err


@pytest.mark.parametrize(("key", "value"), [("mode", "paper"), ("placeholder", "mac-control")])
def test_a_changed_ring_is_noticed(key: str, value: str) -> None:
    scenario = small()
    changed = json.loads(json.dumps(session.planned(scenario)))
    changed["stations"]["a"][key] = value
    assert f"station a: {key} is not the one asked for" in problems(scenario, changed)


@pytest.mark.parametrize(
    "key", ["ring_slots", "partition_slots", "batch_slots", "depth_slots", "poll_overhead_ns"]
)
def test_what_a_scenario_states_is_not_changed(key: str) -> None:
    scenario = small()
    plan = session.planned(scenario)
    planned: dict[str, Any] = dict(plan["stations"]["a"])
    options = scenario.station_named("a").keepon.model_copy(update={key: planned[key]})
    stations = [
        station.model_copy(update={"keepon": options}) if station.name == "a" else station
        for station in scenario.station
    ]
    stated = scenario.model_copy(update={"station": stations})
    assert problems(stated, plan) == []
    changed = json.loads(json.dumps(plan))
    changed["stations"]["a"][key] += 1
    assert f"station a: {key} is not the one asked for" in problems(stated, changed)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--format", "xml"], r'option --format = "xml": must be one of commands, dot'),
        (
            ["--format", "commands", "--device", "a b"],
            r'option --device = "a b": must be a device name',
        ),
        (["--format", "commands", "--keepon-device", "x" * 16], r"option --keepon-device"),
        (["--format", "commands", "--device", "rt0"], r"must differ from --device"),
        (
            ["--format", "commands", "--device", "rt0.0"],
            r'option --device = "rt0.0": is what the VLAN device on rt0 is called; choose another',
        ),
        (
            ["--format", "commands", "--keepon-device", "abcdefghijklm.0"],
            r'option --keepon-device = "abcdefghijklm.0": is what the VLAN device',
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(
    plan_file: Path,
    words: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    out = tmp_path / "out"
    assert keepon("export", HABITAT, "--plan", plan_file, "--out", out, *words) == EXIT_INPUT
    assert re.search(sentence, capsys.readouterr().err)
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yang", "tsntool"])
def test_formats_of_gates_need_gates(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(planned_example("three-stations").plan))
    words = (ROOT / "examples" / "three-stations.toml", "--plan", plan, "--format", name)
    assert keepon("export", *words, "--out", tmp_path / "out") == EXIT_INPUT
    assert "carries gate lists only" in capsys.readouterr().err


def test_a_plan_that_lacks_what_a_format_needs_is_refused(habitat: Planned, tmp_path: Path) -> None:
    plan = json.loads(json.dumps(habitat.plan))
    del plan["stations"]["power-gateway"]["batch_slots"]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(TraceError, match=r"plan.json: key .*batch_slots.* = missing.*; plan again"):
        command.run(HABITAT, tmp_path / "plan.json", "commands", tmp_path / "out")


@pytest.mark.slow
def test_json_says_what_was_written(
    plan_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    out = tmp_path / "out"
    words = [HABITAT, "--plan", plan_file, "--format", "commands", "--out", out, "--json"]
    assert keepon("export", *words) == EXIT_MET
    document = json.loads(capsys.readouterr().out)
    assert document["out"] == str(out) and "br1.sh" in document["files"]
