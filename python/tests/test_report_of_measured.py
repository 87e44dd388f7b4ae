# SPDX-License-Identifier: BSD-3-Clause
"""Reports of targets vm and host: what was measured is called so, and how far it may be off."""

from __future__ import annotations

import copy
import html
import re
from pathlib import Path
from typing import Any, cast

import pytest
from helpers import TWO_STATIONS
from keepon.cli import session
from keepon.model import loading
from keepon.model.plan import Plan
from keepon.model.result import BoundCheck, Result, TargetName
from keepon.report import page, sections, tables, verdict
from keepon.targets.host.observations import CARD, OWN, SOFTWARE, SOFTWARE_RECEIVED
from keepon.targets.sim.runner import run_all

OFF_NS = 897


@pytest.fixture(scope="module")
def simulated() -> tuple[Result, Plan]:
    few: dict[str, Any] = {"duration_s": 0.02, "warmup_s": 0.02}
    scenario = loading.load(TWO_STATIONS).model_copy(update=few)
    plan = session.planned(scenario)
    return run_all(scenario, plan, 1).result, plan


@pytest.fixture
def measured(simulated: tuple[Result, Plan]) -> tuple[Result, Plan]:
    """A result as target host writes it, of clocks that were apart: frames seem to have come before
    they were sent.
    """
    result, plan = copy.deepcopy(simulated)
    result["target"] = "host"
    result["calibrated"], result["chosen"] = [], []
    (run,) = result["runs"]
    run["host"] = {
        "kernel": "6.1.0-56", "cpus": {"governors": ["powersave"], "isolated": ""},
        "clocks": "set", "clock_limit_ns": 1000,
        "clock_offsets_ns": {"talker": [-128, 68], "listener": [-1, 0]},
        "stations": {"talker": {"interface": "eth1", "driver": "igb", "clock": "/dev/ptp2",
                                "coalescing": {"rx_us": 3}}},
    }  # fmt: skip
    entry = run["streams"]["S1"]
    entry["stamps"] = {"talker": OWN, "listeners": {"listener": CARD}, "uncertainty_ns": OFF_NS}
    entry["delay_ns"].update({"min": -235.0, "max": -211.0})
    checks = entry["bound_check"]
    for key, worst_ns in (("delay_ns", -211.0), ("delay_min_ns", -235.0), ("deadline_ns", -211.0)):
        checks[key]["worst_ns"] = worst_ns
        checks[key]["uncertainty_ns"] = OFF_NS
    checks["clocks_ns"] = {"bound_ns": 1000, "worst_ns": 127.0, "met": True, "outcome": "met"}
    return result, plan


def _words(result: Result, plan: Plan) -> str:
    """The page as it is read."""
    text = re.sub(r"<(script|style|svg).*?</\1>", "", page.render(result, plan), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_every_bound_is_in_the_table_with_what_it_was_forgiven(
    measured: tuple[Result, Plan],
) -> None:
    result, plan = measured
    checks = result["runs"][0]["streams"]["S1"]["bound_check"]
    checks["of_later_versions_ns"] = {
        "bound_ns": 7, "worst_ns": 5.125, "met": True, "outcome": "met",
    }  # fmt: skip
    shown = {
        row[1].text: (row[3].text, row[3].bad)
        for row in page.bound_grid(result, plan).rows
        if row[0].text == "S1"
    }
    assert len(shown) == len(checks) + len(("due", "missing"))
    assert shown["earliest, ns"] == (f"-235 ± {OFF_NS}, forgiven", False)
    assert shown["latest, ns"] == (f"-211 ± {OFF_NS}", False)
    assert shown["talker's and listeners' clocks apart, ns"] == ("127 (bound 1000)", False)
    assert shown["of_later_versions_ns"] == ("5.125 (bound 7)", False)
    checks["clocks_ns"].update({"worst_ns": 1127.0, "met": False, "outcome": "missed"})
    assert ("1127 (bound 1000)", True) in [
        (row[3].text, row[3].bad) for row in page.bound_grid(result, plan).rows
    ]


def test_a_share_of_the_limit_is_never_negative_and_says_how_far_it_may_be_off(
    measured: tuple[Result, Plan],
) -> None:
    result, plan = measured
    (row,) = sections.streams(result, plan, ()).rows
    checks = result["runs"][0]["streams"]["S1"]["bound_check"]
    bound_ns, deadline_ns = (checks[key]["bound_ns"] for key in ("delay_ns", "deadline_ns"))
    texts = [cell.text for cell in row]
    assert "-0.211 ± 0.897" in texts and f"{(bound_ns + 211) / 1000:.3f} ± 0.897" in texts
    assert f"0.0% to {(OFF_NS - 211) / deadline_ns:.1%}" in texts
    assert not any(cell.share is not None and cell.share < 0 for cell in row)
    entry = result["runs"][0]["streams"]["S1"]
    entry["stamps"]["uncertainty_ns"] = 0
    for check in entry["bound_check"].values():
        check.pop("uncertainty_ns", None)
    (row,) = sections.streams(result, plan, ()).rows
    assert "0.0%" in [cell.text for cell in row]


def test_page_and_terminal_say_who_stamped_and_what_clocks_did(
    measured: tuple[Result, Plan],
) -> None:
    words = _words(*measured)
    for part in (
        OWN,
        f"listener: {CARD}",
        "/dev/ptp2 -128 68 1000",
        "governors powersave",
        "± 897",
    ):
        assert part in words, part
    shown = [
        {str(cell) for column in table.columns for cell in column.cells}
        for table in tables.delays(measured[0], None)
    ]
    assert any({OWN, f"listener: {CARD}", str(OFF_NS)} <= cells for cells in shown)
    assert any({"talker", "-128", "68", "1000"} <= cells for cells in shown)


def test_a_verdict_says_what_it_forgave(measured: tuple[Result, Plan]) -> None:
    (one,) = verdict.verdicts(measured[0])
    assert one.sentence.endswith("no bound was exceeded by more than clocks may have been apart.")
    assert f"as far as clocks up to {OFF_NS} ns apart show" in one.summary
    assert f"earliest instant of S1 beyond its bound by less than it may be off, {OFF_NS} ns" in (
        one.summary
    )


def _tags(result: Result, plan: Plan) -> dict[str, str]:
    """What stands beside the headings of a page."""
    found = re.findall(
        r'<h2 id="(\w+)">[^<]*<span class="tag">([^<]*)</span>', page.render(result, plan)
    )
    return {name: html.unescape(tag) for name, tag in found}


def test_what_was_measured_is_not_called_calculated(
    measured: tuple[Result, Plan], simulated: tuple[Result, Plan]
) -> None:
    tags = _tags(*measured)
    assert tags["delays"] == tags["frames"]
    assert tags["delays"] == (
        "measured by stamps: as frames leave, keepon's own stamps; as they come, hardware stamps"
        " of the card"
    )
    assert tags["loads"].startswith("measured by counters")
    assert tags["schedule"] == "calculated by the planner"
    in_guest = cast(Result, {**simulated[0], "target": "vm"})
    assert _tags(in_guest, simulated[1])["delays"].startswith("measured in the guest, ")
    for result in (measured[0], in_guest):
        words = _words(result, measured[1])
        assert "Calculated is everything above" not in words
        assert "Measured are delays" in words and "Calculated by the planner are slots" in words
    tags = _tags(*simulated)
    assert (tags["delays"], tags["loads"]) == ("calculated", "calculated")
    assert "Calculated is everything above" in _words(*simulated)


@pytest.mark.parametrize("target", ["sim", "vm", "host"])
def test_a_capture_calls_stamps_exact_only_where_they_are(
    measured: tuple[Result, Plan], tmp_path: Path, target: TargetName
) -> None:
    few: dict[str, Any] = {"duration_s": 0.02, "warmup_s": 0.02}
    scenario = loading.load(TWO_STATIONS).model_copy(update=few)
    outcome = run_all(scenario, measured[1], 1)
    outcome.result["target"] = target
    if target == "host":
        outcome.result["runs"] = measured[0]["runs"]
    session.write_folder(tmp_path / "r", scenario, measured[1], outcome, 50)
    note = outcome.result["capture"]["note"]
    assert ("exact network time" in note) == (target == "sim")
    assert ("by the record of the modelled wire" in note) == (target == "vm")
    assert ("keepon's own stamps; as they come, hardware stamps of the card" in note) == (
        target == "host"
    )
    assert (f"off by {OFF_NS} ns" in note) == (target == "host")
    assert note.encode() in (tmp_path / "r" / "capture.pcapng").read_bytes()


def test_what_stamps_cannot_show_is_not_said_to_be_for_want_of_frames(
    measured: tuple[Result, Plan],
) -> None:
    result, plan = measured
    entry = result["runs"][0]["streams"]["S1"]
    entry["stamps"].update({"talker": SOFTWARE, "listeners": {"listener": SOFTWARE_RECEIVED}})
    late: BoundCheck = {
        "bound_ns": plan["streams"]["S1"]["bounds"]["delay_ns"], "worst_ns": 9000.0,
        "met": False, "outcome": "nothing checked",
    }  # fmt: skip
    entry["bound_check"]["delay_ns"] = late
    entry["bound_check"]["release_error_ns"] = {**late, "worst_ns": None}
    summary = verdict.summary(result["runs"][0])
    assert "delay of S1 not checked, stamps come late" in summary
    assert "release error of S1 not checked, no stamp is of the wire" in summary
    assert "too few frames" not in summary
    shown = {row[1].text: row[3] for row in page.bound_grid(result, plan).rows}
    assert shown["latest, ns"].text == "9000, not checked" and not shown["latest, ns"].bad
