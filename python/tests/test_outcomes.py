# SPDX-License-Identifier: BSD-3-Clause
"""What was due and did not come is missed, what nothing checked is not met: outcomes of streams,
runs and commands.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from helpers import EPOCH_NS, ROBOT_CELL, TWO_STATIONS, frames, small, small_text
from hypothesis import given
from hypothesis import strategies as st
from keepon.cli import app as cli
from keepon.cli import session
from keepon.errors import SimulationError
from keepon.measure import results
from keepon.measure.due import Schedule, on_schedule
from keepon.model import documents, loading, outcomes
from keepon.model.loading import parse
from keepon.model.scenario import Scenario
from keepon.report import compared, delayplots, verdict
from keepon.report import page as report
from keepon.targets.sim.runner import run_all
from keepon_papers.report import case_page

NAMES = ["on_time", "moved", "best_effort", "sent_stale", "late", "occupied"]
LATE_SUBMIT = (
    '\n[[fault]]\nat_s = 0.3\nkind = "late-submit"\nnode = "talker"\nvalue_ns = 5_000_000_000\n'
)


def two_stations(more: str = "", **changes: str) -> Scenario:
    """The example for a second, with pieces of its text replaced."""
    text = TWO_STATIONS.read_text()
    for old, new in {"duration_s = 1000.0": "duration_s = 1.0", **changes}.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    return parse(text + more, "two-stations")


def one_run(scenario: Scenario) -> dict[str, Any]:
    document: dict[str, Any] = run_all(scenario, session.planned(scenario), 1).runs[0].document
    return document


# -- what was due
# --------------------------------------------------------------------------------------------------


@given(
    st.integers(1, 50), st.lists(st.integers(0, 99), min_size=1, max_size=4), st.integers(0, 300),
    st.integers(0, 300), st.integers(0, 300), st.integers(0, 3),
)  # fmt: skip
def test_frames_due_are_those_one_would_count(
    period: int, releases: list[int], begins: int, start: int, length: int, more: int
) -> None:
    """Every period from the first on, one by one; of a rate a period has a fraction of a ns."""
    releases = [release % (2 * period) for release in releases]
    releases[0] %= period
    cycle = period * len(releases) + more % len(releases)
    schedule = Schedule(cycle, tuple(releases), begins)
    starts = [number * cycle // len(releases) for number in range(1000)]
    first = next(number for number in range(400) if starts[number] + releases[0] >= begins)
    due = [
        number - first
        for number in range(first, 1000)
        if start <= starts[number] + releases[number % len(releases)] < start + length
    ]
    assert schedule.due(start, start + length).tolist() == due


def test_a_frame_that_was_never_handed_over_has_a_row_without_instants() -> None:
    made = frames([1000, 1000, 1000])
    schedule = Schedule(1_000_000, (64,), EPOCH_NS)
    got = on_schedule(made, schedule, (1_000_000, 5_000_000), "F1")
    assert got.seq.tolist() == [1, 2, 3, 4]
    assert got.submitted.tolist() == [True, True, False, False]
    assert got.arrival_ps[0, 2:].tolist() == got.wire_ps[2:].tolist() == [-1, -1]
    assert (got.txtime_ns - EPOCH_NS).tolist() == [1_000_064, 2_000_064, 3_000_064, 4_000_064]


def test_a_talker_that_keeps_another_schedule_is_an_error() -> None:
    with pytest.raises(SimulationError, match="frame 0 was handed over for"):
        on_schedule(frames([1000]), Schedule(1_000_000, (65,), EPOCH_NS), (0, 1_000_000), "F1")
    twice = frames([1000, 1000])
    twice.seq[1] = 0
    with pytest.raises(SimulationError, match="there twice"):
        on_schedule(twice, Schedule(1_000_000, (64,), EPOCH_NS), (0, 1_000_000), "F1")


def test_frames_that_were_due_and_never_handed_over_are_missing() -> None:
    run = one_run(two_stations(LATE_SUBMIT))
    stream = run["streams"]["S1"]
    assert (stream["due"], stream["submitted"], stream["missing"]) == (1000, 101, 899)
    assert (run["outcome"], run["met"]) == (outcomes.MISSED, False)
    assert stream["first_bad"]["txtime_ns"] % 10**9 // 10**6 == 301


def test_what_is_on_its_way_when_the_time_measured_ends_is_waited_for() -> None:
    """The last frame comes 60 ms late, which its deadline allows; four periods and 20 ms would be
    too short a wait.
    """
    more = LATE_SUBMIT.replace("0.3", "1.1985").replace("5_000_000_000", "60_000_000")
    changes = {
        'driver = "keepon"': 'driver = "standard"\nrelease = "sleep"',
        "deadline_ns = 10_000": "deadline_ns = 200_000_000",
        "[station.keepon]\nslot_bytes = 1230\nbatch_slots = 8\n": "",
    }
    run = one_run(two_stations(more, **changes))
    stream = run["streams"]["S1"]
    assert (stream["due"], stream["missing"], run["outcome"]) == (1000, 0, outcomes.MET)
    assert stream["bound_check"]["deadline_ns"]["worst_ns"] > 59_000_000


# -- outcomes
# --------------------------------------------------------------------------------------------------


def test_a_run_in_which_nothing_was_due_is_not_met() -> None:
    scenario = two_stations(**{"warmup_s = 0.2": "warmup_s = 0.0"}).model_copy(
        update={"duration_s": 0.01}
    )
    run = one_run(scenario)
    assert (run["streams"]["S1"]["due"], run["outcome"], run["met"]) == (
        0,
        outcomes.NO_FRAMES,
        False,
    )


@pytest.mark.parametrize(("ppm", "outcome"), [(50, outcomes.MET), (-50, outcomes.MISSED)])
def test_free_running_clocks_have_a_deadline_and_no_bound(ppm: int, outcome: str) -> None:
    """50 ppm are 60 us in the 1.2 s of the run: by so much the talker comes early, or late."""
    host = 'host = "raspberry-pi-4"'
    scenario = two_stations('[sync]\nmode = "none"\n', **{host: f"{host}\nclock_ppm = {ppm}"})
    stream = one_run(scenario)["streams"]["S1"]
    checks = stream["bound_check"]
    assert {name: check["outcome"] for name, check in checks.items()} == {"deadline_ns": outcome}
    assert (stream["first_bad"] is not None) == (outcome == outcomes.MISSED)
    assert stream["delay_ns"]["min" if ppm > 0 else "max"] == pytest.approx(-1200 * ppm, abs=10_000)


def test_a_stream_without_any_bound_is_not_called_met() -> None:
    run = one_run(two_stations('[sync]\nmode = "none"\n', **{"deadline_ns = 10_000": ""}))
    assert run["streams"]["S1"]["missing"] == 0
    assert (run["outcome"], run["met"]) == (outcomes.NOTHING_CHECKED, False)


def test_a_bound_with_too_few_frames_is_not_checked() -> None:
    got = results.stream_result(
        frames([1_000_000]), NAMES, {}, {"delay_ns": 1000, "jitter_ns": 0}, "F1", 1_000_000, None
    )
    assert got["bound_check"]["jitter_ns"]["outcome"] == got["outcome"] == outcomes.NOTHING_CHECKED


def test_a_run_is_as_good_as_its_worst_stream() -> None:
    for words, expected in (
        (["met", "met"], "met"),
        (["met", "nothing checked"], "nothing checked"),
        (["nothing checked", "no frames"], "no frames"),
        (["no frames", "missed", "met"], "missed"),
    ):
        assert (
            outcomes.of_run(
                {"streams": {str(i): {"outcome": word} for i, word in enumerate(words)}}
            )
            == expected
        )


def test_an_early_frame_is_a_first_bad_one() -> None:
    got = results.stream_result(
        frames([1_000_000, 900_000, 1_000_000]),
        NAMES,
        {},
        {"delay_min_ns": 950, "delay_ns": 1000},
        "F1",
        1_000_000,
        None,
    )
    assert got["bound_check"]["delay_min_ns"] == {
        "bound_ns": 950, "worst_ns": 900.0, "met": False, "outcome": outcomes.MISSED,
    }  # fmt: skip
    assert got["first_bad"]["seq"] == 1


def test_a_driver_that_does_not_pad_may_come_earlier_by_the_padding() -> None:
    entry = {"bounds": {"delay_min_ns": 950, "delay_ns": 1000}, "padding_ps": 240_001}
    assert results.bounds_of(entry, padded=True)["delay_min_ns"] == 950
    assert results.bounds_of(entry, padded=False) == {"delay_min_ns": 709, "delay_ns": 1000}


# -- one bound
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_bound_that_is_printed_is_the_one_that_is_checked_and_shown() -> None:
    """A cell whose bridges open their gates by clocks that gPTP sets: what these are off is part of
    the plan.
    """
    scenario = loading.load(ROBOT_CELL).model_copy(update={"duration_s": 1.0})
    plan = session.planned(scenario)
    outcome = run_all(scenario, plan, 1)
    run = outcome.runs[0].document
    assert run["outcome"] == outcomes.MET
    rows = {row["stream"]: row for row in report.bound_rows(outcome.result, plan)}
    for name, stream in run["streams"].items():
        promised = plan["streams"][name]["bounds"]
        for key, check in stream["bound_check"].items():
            if key != "deadline_ns":
                assert check["bound_ns"] == promised[key], (name, key)
        assert set(stream["bound_check"]) >= {
            "release_error_ns",
            "delay_min_ns",
            "delay_ns",
            "jitter_ns",
        }
        deadline_ns = next(entry.deadline_ns for entry in scenario.stream if entry.id == name)
        assert rows[name]["bounds"] == [
            *(promised[key] for key in report.BOUND_KEYS),
            deadline_ns or "-",
        ]
        delay_ns = stream["delay_ns"]
        assert (
            promised["delay_min_ns"] <= delay_ns["min"] <= delay_ns["max"] <= promised["delay_ns"]
        )
        assert sum(plan["streams"][name]["terms"].values()) <= 1000 * promised["delay_ns"]


@pytest.mark.slow
def test_a_bound_that_is_not_the_plans_is_shown_beside_what_it_is_compared_with() -> None:
    """A peer that does not pad may be there earlier than the plan says of keepon: the report must
    not set its frames beside a bound that is not theirs without a word.
    """
    scenario = loading.load(ROBOT_CELL.with_name("gptp.toml")).model_copy(
        update={"duration_s": 0.1}
    )
    plan = session.planned(scenario)
    result = run_all(scenario, plan, 1).result
    (row,) = report.bound_rows(result, plan)
    promised_ns = plan["streams"]["S1"]["bounds"]["delay_min_ns"]
    shown = {
        run["driver"]: dict(zip(report.checked_keys(result), cells, strict=False))["delay_min_ns"]
        for run, cells in zip(result["runs"], row["runs"], strict=True)
    }
    check = result["runs"][1]["streams"]["S1"]["bound_check"]["delay_min_ns"]
    assert check["bound_ns"] < check["worst_ns"] < promised_ns
    assert shown["launchtime"]["text"] == f"{check['worst_ns']} (bound {check['bound_ns']})"
    assert "bound" not in shown["keepon"]["text"]


def test_a_deadline_closer_than_the_clocks_of_the_gates_is_not_planned() -> None:
    """90 ns of the bridge's clock count: a deadline that only the ideal instant keeps is
    refused. Without room for full frames, which a plan with a closer deadline does without.
    """
    text = small_text(
        **{
            "warmup_s = 0.0": 'warmup_s = 0.5\n[sync]\nmode = "gptp"\ngrandmaster = "br1"',
            'driver = "under-test"': 'driver = "under-test"\nkeepon = { frame_bytes_max = 0 }',
        }
    )
    delay_ns = session.planned(parse(text, "small"))["streams"]["F1"]["bounds"]["delay_ns"]
    for slack_ns, status in ((0, "feasible"), (-1, "infeasible")):
        tight = text.replace(
            "frame_bytes = 200", f"frame_bytes = 200\ndeadline_ns = {delay_ns + slack_ns}"
        )
        assert session.planned(parse(tight, "small"))["status"] == status


# -- command line, files
# ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"), [("met", 0), ("missed", 1), ("nothing checked", 4), ("no frames", 5)]
)  # fmt: skip
def test_every_outcome_has_its_exit_code_and_stands_everywhere(
    name: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = TWO_STATIONS.read_text()
    if name == "missed":
        text += LATE_SUBMIT
    elif name == "nothing checked":
        text = text.replace("deadline_ns = 10_000\n", "") + '[sync]\nmode = "none"\n'
    elif name == "no frames":
        text = text.replace("period_ns = 1_000_000", "period_ns = 1_000_000_000").replace(
            "0.2", "0.25"
        )
    path, out = tmp_path / "s.toml", tmp_path / "x"
    path.write_text(text)
    monkeypatch.setattr(
        sys, "argv", ["keepon", "run", str(path), "--duration", "0.4", "--out", str(out)]
    )
    assert cli.main() == code
    printed = capsys.readouterr().out
    assert f"keepon: {name}: " in printed
    assert ("every bound kept" in printed) == (code == 0)
    result = json.loads((out / documents.RESULT_FILE).read_text())
    jsonschema.Draft202012Validator(documents.json_schema("result")).validate(result)
    assert result["runs"][0]["outcome"] == result["runs"][0]["streams"]["S1"]["outcome"] == name
    assert re.search(rf">[✓✗?∅] {name}</td>", (out / documents.REPORT_FILE).read_text())
    monkeypatch.setattr(sys, "argv", ["keepon", "report", str(out), "--json"])
    assert cli.main() == 0
    assert json.loads(capsys.readouterr().out)[0]["runs"]["keepon"]["outcome"] == name


def test_the_report_marks_every_bound_that_was_missed() -> None:
    """In red is what was beyond its bound, the deadline too, and nothing else."""
    scenario = two_stations(
        '[sync]\nmode = "none"\n', **{'host = "raspberry-pi-4"': 'host = "ideal"\nclock_ppm = -50'}
    )
    plan = session.planned(scenario)
    result = run_all(scenario, plan, 1).result
    assert "; deadline missed by S1" in verdict.summary(result["runs"][0])
    (row,) = report.bound_rows(result, plan)
    keys = ["deadline_ns"]
    cells = dict(zip([*keys, "due", "missing"], row["runs"][0], strict=True))
    assert {key: cell["bad"] for key, cell in cells.items()} == {
        "deadline_ns": True, "due": False, "missing": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("missing", "found", "by_deadline", "by_bounds", "of_peer", "words"),
    [
        (0, {"delay_ns": "missed", "deadline_ns": "met"}, "met", "missed", "met",
         "2 frames due; its own bounds missed by S1"),
        (0, {"delay_ns": "met", "jitter_ns": "missed", "delay_min_ns": "missed"},
         "nothing checked", "missed", "missed", "2 frames due; its own bounds missed by S1"),
        (0, {"delay_ns": "met", "deadline_ns": "missed"}, "missed", "met", "missed",
         "2 frames due; deadline missed by S1, by up to 2.500 us"),
        (1, {"delay_ns": "met", "deadline_ns": "met"}, "missed", "missed", "missed",
         "2 frames due; 1 of them missing"),
    ],
)  # fmt: skip
def test_a_peer_is_judged_by_the_deadline(
    missing: int, found: dict[str, str], by_deadline: str, by_bounds: str, of_peer: str, words: str
) -> None:
    """Bounds are those of a plan for another driver: how it did against them stands beside."""
    worst: dict[str, Any] = {"bound_ns": 1000, "worst_ns": 3500}
    checks: Any = {key: {"outcome": outcome, **worst} for key, outcome in found.items()}
    entry: Any = {"due": 2, "missing": missing, "bound_check": checks}
    entry["outcome"] = outcomes.of_stream(2, missing, checks)
    run: Any = {"driver": "standard", "streams": {"S1": entry}, "loads": {}, "onset": None}
    outcomes.add_sides(run)
    assert (entry["by_deadline"], entry["by_bounds"]) == (by_deadline, by_bounds)
    run |= {"outcome": entry["outcome"], "causes": []}
    result: Any = {"judged": "keepon", "runs": [run], "effective": {}}
    (shown,) = verdict.verdicts(result)
    assert (shown.outcome, shown.summary) == (of_peer, words)
    assert verdict.verdicts({**result, "judged": "standard"})[0].outcome == entry["outcome"]


def test_every_bound_that_is_checked_has_a_name_in_words() -> None:
    assert set(verdict.NAMES) == set(report.RUN_TITLES)
    for key, words in verdict.NAMES.items():
        check = {"outcome": "missed", "bound_ns": 1000, "worst_ns": 3500}
        missed: Any = {"due": 2, "missing": 0, "bound_check": {key: check}}
        run: Any = {"streams": {"S1": missed}, "loads": {}, "onset": None}
        summary = verdict.summary(run)
        assert f"; {words} missed by S1" in summary and "_" not in summary
        assert (", by up to 2.500 us" in summary) == (key == "deadline_ns")


def test_frames_that_come_early_are_in_the_figures() -> None:
    """Delays below zero have no place on an axis of logarithms."""
    scenario = two_stations(
        f'[sync]\nmode = "none"\n{LATE_SUBMIT}',
        **{'host = "raspberry-pi-4"': 'host = "ideal"\nclock_ppm = 50'},
    )
    result = run_all(scenario, session.planned(scenario), 1).result
    onset = result["runs"][0]["streams"]["S1"]["onset_delays_ns"]
    early = [value for value in onset if value is not None]
    assert early and min(early) < 0
    for panels in (delayplots.around_onset(result), delayplots.first_frames(result)):
        (panel,) = panels
        assert not panel.y.log
    (panel,) = delayplots.around_onset(result)
    (curve,) = panel.curves
    drawn = [float(text) for text in re.findall(r"V([^M]+)", curve.path)]
    assert drawn == pytest.approx(early)
    assert panel.y.low <= min(drawn) <= max(drawn) <= panel.y.high


def test_a_run_that_lost_frames_compares_worse_though_its_delays_are_the_same() -> None:
    whole, late = (
        run_all(scenario, session.planned(scenario), 1).result
        for scenario in (two_stations(), two_stations(LATE_SUBMIT))
    )
    members = [compared.Member("whole", whole), compared.Member("late", late)]
    (row,) = compared.side_by_side(members)
    assert row["max_ns"][0] == row["max_ns"][1]
    assert (row["outcomes"], row["worse"]) == (["met", "missed"], True)
    (row,) = compared.side_by_side(members[::-1])
    assert not row["worse"]


def test_the_case_study_counts_frames_that_were_never_handed_over_as_missing() -> None:
    slots = {"in_wrong_slot": 0, "slip_count": 0, "drift_ppm": 0.0}
    entry = {"due": 10, "submitted": 4, "sent": 4, "delivered": 4, "slots": slots}
    parts = {"free_running": {"status": "feasible", "streams": {"F2": entry}}}
    assert case_page.reproduction_lines({"parts": parts})[0].endswith(" 6 missing")
    del entry["due"]
    assert case_page.reproduction_lines({"parts": parts})[0].endswith(" 0 missing"), (
        "of a file of an earlier version"
    )


def test_a_cascade_after_which_f2_never_came_is_named() -> None:
    summary = {
        "seeds": 1, "with_cascade": 1, "onset_frame_median": 9, "onset_frame_min": 9,
        "onset_frame_max": 9, "f2_shift_ns_median": None,
    }  # fmt: skip
    part = {"etf_delta_ns": 50_000, "host_tail_scale": 1.0, "summary": summary, "seeds": []}
    (line,) = case_page.reproduction_lines({"parts": {"cascade": part}})
    assert line.endswith("median 9 (9 to 9), no frame of F2 came after it")


def test_help_says_what_the_exit_codes_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["--help"], ["run", "--help"]):
        monkeypatch.setattr(sys, "argv", ["keepon", *command])
        assert cli.main() == 0
        said = " ".join(capsys.readouterr().out.split())
        for code, words in ((4, "nothing checked"), (5, "no frames"), (70, "a defect of Keepon")):
            assert f"{code} {words}" in said


def test_a_result_of_an_earlier_version_is_read_and_not_believed() -> None:
    scenario = small()
    outcome = run_all(scenario, session.planned(scenario), 1)
    result = outcome.result
    for run in result["runs"]:
        run.pop("outcome")
        run["met"] = True
        for stream in run["streams"].values():
            stream.pop("outcome")
            stream.pop("due")
            stream["bound_check"] = {}
    outcomes.completed(result)
    assert result["runs"][0]["outcome"] == outcomes.NOTHING_CHECKED
    assert [run["met"] for run in result["runs"]] == [False, False]
    assert report.render(result, session.planned(scenario))


def test_numbers_of_frames_stay_exact_far_from_the_origin() -> None:
    schedule = Schedule(2_000_000, (64, 1_000_064), EPOCH_NS)
    got = schedule.txtimes_ns(np.array([0, 1, 10**9], dtype=np.int64))
    assert (got - EPOCH_NS).tolist() == [64, 2_000_064, 64 + 10**15]
