# SPDX-License-Identifier: BSD-3-Clause
"""What is our fault and not the input's: exit code 70 and one line that a report needs, never "no
plan" or "missed".
"""

from __future__ import annotations

import copy
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from helpers import TWO_STATIONS
from keepon import __version__
from keepon.cli import planning
from keepon.measure import results
from keepon.model.plan import Plan
from keepon.planner import plan as make_plan


def _too_early(*given: Any) -> Plan:
    """A planner that promises less delay than there is."""
    plan = copy.deepcopy(make_plan(*given))
    for stream in plan["streams"].values():
        stream["bounds"]["delay_ns"] = 46
    return plan


def _printed(captured: pytest.CaptureFixture[str]) -> list[str]:
    printed = captured.readouterr()
    assert printed.out == ""
    return printed.err.splitlines()


def test_a_plan_that_its_checker_rejects(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, keepon: Any
) -> None:
    out = tmp_path / "plan.json"
    monkeypatch.setattr(planning, "make_plan", _too_early)
    assert keepon("plan", TWO_STATIONS, "--out", out) == 70
    what, line = _printed(capsys)
    assert what.startswith("keepon: the plan failed its independent check: ")
    assert line.startswith(
        f"keepon: a defect of Keepon; please report it with: keepon {__version__}, Python 3."
    )
    assert f"plan {TWO_STATIONS} --out {out}, sha256 " in line
    assert line.split("sha256 ")[1][:16] == sha256(TWO_STATIONS.read_bytes()).hexdigest()[:16]
    assert not out.exists()


def test_a_plan_that_fails_in_the_simulator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    monkeypatch.setattr(planning, "make_plan", _too_early)
    monkeypatch.setattr(planning, "verify", lambda _scenario, plan, _look: plan)
    assert keepon("plan", TWO_STATIONS) == 70
    assert _printed(capsys)[0].startswith("keepon: the plan failed in the simulator: ")


@pytest.mark.slow
def test_accounts_that_do_not_add_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, keepon: Any
) -> None:
    check_flow = results.check_flow

    def one_too_many(whole: Any, *more: Any) -> None:
        check_flow(whole | {"submitted": whole["submitted"] + 1}, *more)

    monkeypatch.setattr(results, "check_flow", one_too_many)
    assert keepon("run", TWO_STATIONS, "--out", tmp_path / "x") == 70
    assert "submitted is not verdicts + pending" in _printed(capsys)[0]
    assert not (tmp_path / "x").exists()


def test_what_nobody_expected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    def broken(*_: Any) -> Plan:
        raise IndexError("list index out of range")

    monkeypatch.setattr(planning, "make_plan", broken)
    assert keepon("plan", TWO_STATIONS) == 70
    what, line = _printed(capsys)
    assert (
        what == "keepon: internal error (IndexError: list index out of range); --debug shows where"
    )
    assert "please report it with" in line
