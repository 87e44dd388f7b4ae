# SPDX-License-Identifier: BSD-3-Clause
"""A station's steps are data: they are written to a file and read back, and the exported script has
each of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from keepon.cli import session
from keepon.errors import TraceError
from keepon.export import shell
from keepon.export.stations import script
from keepon.linux.apply import steps
from keepon.linux.station import Machine, setup
from keepon.model import loading

EXAMPLES = Path(__file__).parents[2] / "examples"


def machine(example: str) -> Machine:
    scenario = loading.load(EXAMPLES / f"{example}.toml")
    return Machine(scenario, session.planned(scenario), "keepon")


@pytest.mark.parametrize("example", ["habitat", "robot-cell", "gptp"])
def test_every_step_is_in_the_script_in_order(example: str) -> None:
    its = machine(example)
    for station in its.scenario.station:
        if station.name not in its.plan["stations"]:
            continue
        rest = script(its, station).partition("\ntrap 'exit 130' INT TERM\n")[2]
        for step in setup(its, station).steps:
            for line in shell.lines(step):
                assert f"{line}\n" in rest
                rest = rest.partition(f"{line}\n")[2]
        assert rest == "finished=1\n"


@pytest.mark.parametrize("example", ["habitat", "robot-cell", "gptp"])
def test_steps_are_read_back_as_written(example: str) -> None:
    its = machine(example)
    for station in its.scenario.station:
        if station.name in its.plan["stations"]:
            found = setup(its, station)
            assert steps.of_document(json.loads(json.dumps(steps.to_document(found)))) == found


def test_a_document_that_has_no_steps_is_refused() -> None:
    for document in ({}, {"schema": "keepon.steps/2"}, [], {"schema": steps.STEPS_SCHEMA}):
        with pytest.raises(TraceError, match=r"no steps of keepon\.steps/1"):
            steps.of_document(document)  # type: ignore[arg-type]
