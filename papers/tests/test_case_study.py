# SPDX-License-Identifier: BSD-3-Clause
"""The habitat case study beyond one run: slots that run free, the cascade, its guard, its files."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers import HABITAT, frames

from keepon.cli import app as cli
from keepon.cli import session
from keepon.model import documents, loading
from keepon.model.scenario import Scenario
from keepon.targets.sim.runner import simulate
from keepon_papers import casestudy, onset
from keepon_papers.schema_files import PACKAGE
from keepon_papers.spread import Spread


def _habitat(duration_s: float, **changes: Any) -> Scenario:
    return loading.load(HABITAT).model_copy(update={"duration_s": duration_s, **changes})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("three-stations", 'needs stations with driver = "under-test"'),
        ("gptp", 'needs streams F2, F3, F4, "F2" is not there'),
    ],
)
def test_a_scenario_of_which_no_case_study_can_be_made_is_refused(
    refused: Any,
    name: str,
    expected: str,
) -> None:
    scenario = HABITAT.parent / f"{name}.toml"
    assert expected in refused("reproduce", scenario, "--duration", "0.1", "--seeds", "1")


def test_the_onset_is_the_first_frame_about_a_period_late_and_the_shift_is_what_follows() -> None:
    planned_ps = 1_000_000
    made = frames([planned_ps] * 5 + [planned_ps + 1_000_000_000] * 5)
    got = casestudy.delayed_cycle(made, planned_ps, 1_000_000)
    assert (got["onset_seq"], got["share"]) == (5, 0.5)
    shifted = frames([planned_ps] * 5 + [planned_ps + 2_000_000] * 5)
    assert casestudy.shift_after(shifted, planned_ps, got["onset_txtime_ns"]) == 2000.0
    never = casestudy.delayed_cycle(frames([planned_ps] * 3), planned_ps, 1_000_000)
    assert never == {"onset_seq": None, "onset_txtime_ns": None, "share": 0.0}


def test_free_running_crystals_slip_and_the_slips_are_counted() -> None:
    scenario = _habitat(1.0)
    plan = session.planned(scenario)
    free = casestudy.paper_mode(
        scenario, casestudy.CRYSTAL_PPM, casestudy.planned_slot(scenario, plan)
    )
    part = casestudy._paper_run(free, 1, None)
    # 50 ppm are 50 us in a second: 25 slots of 2 us.
    for name, ppm in (("F2", -50.0), ("F7", 50.0), ("F8", -50.0)):
        slots = part["streams"][name]["slots"]
        assert slots["drift_ppm"] == pytest.approx(ppm, abs=0.1)
        assert abs(slots["slots_last"] - slots["slots_first"]) in (24, 25, 26)
        assert slots["slip_count"] in (24, 25, 26)


def test_200_byte_slots_leave_up_to_one_slot_early_and_in_their_slot() -> None:
    part = casestudy._paper_run(casestudy.paper_mode(_habitat(1.0), None, 200), 1, None)
    for name, stream in part["streams"].items():
        assert stream["slots"]["in_wrong_slot"] == 0, name
        assert stream["sent"] == 1000, name
        assert stream["release_error_ns"]["min"] > -1760 + 64, name
        assert stream["release_error_ns"]["max"] <= 64, name
    assert min(stream["release_error_ns"]["min"] for stream in part["streams"].values()) < -1000


def test_the_cascade_needs_the_tail_of_the_host() -> None:
    """A frequent tail brings the cascade soon; one below the guard never does (same seed)."""
    often = 'driver = "under-test"\nhost = { timer = { tail_probability = 0.01 } }'
    text = HABITAT.read_text().replace('driver = "under-test"\nhost = "raspberry-pi-4"', often)
    found = {}
    for scale in (1.0, casestudy.SHRUNK_TAIL_SCALE):
        often_late = casestudy.with_delta(
            loading.parse(text, "habitat"), casestudy.CASCADE_DELTA_NS
        )
        variant = often_late.model_copy(update={"duration_s": 2.0, "host_tail_scale": scale})
        plan = session.planned(variant)
        run, _ = simulate(variant, plan, "standard", 3)
        found[scale] = casestudy.cascade(variant, plan, run, 3)
    assert found[1.0]["onset_frame"] is not None
    assert found[1.0]["shift_after_ns"]["F2"] > 1000
    assert found[casestudy.SHRUNK_TAIL_SCALE]["onset_frame"] is None


@pytest.mark.parametrize("isolation", ["frame", "order"])
def test_a_frame_after_its_window_takes_the_next_one_whatever_the_isolation(isolation: str) -> None:
    habitat = casestudy.with_delta(_habitat(2.0), casestudy.CASCADE_DELTA_NS)
    options = habitat.planner.model_copy(update={"isolation": isolation})
    scenario = habitat.model_copy(update={"planner": options})
    often = onset.varied(
        scenario, onset.Setting(delta_ns=casestudy.CASCADE_DELTA_NS, tail_probability=0.01)
    )
    plan = session.planned(scenario)
    run, _ = simulate(often, plan, "standard", 1)
    shares = {
        name: entry["share"]
        for name, entry in casestudy.cascade(often, plan, run, 1)["streams"].items()
    }
    assert max(shares[name] for name in casestudy.CHAIN) > 0.3


@pytest.mark.slow
def test_the_guard_follows_delta_and_occupancy_and_decides() -> None:
    """The third frame waits for the driver's work on all three: a longer delta gives as much, a
    call takes three.
    """
    scenario = _habitat(2.0)
    plan = session.planned(scenario)
    late = casestudy.first_late

    def guard(**keys: int) -> int:
        return onset.guard_ns(scenario, plan, onset.Setting(**keys), late)

    at_50 = guard(delta_ns=50_000)
    assert guard(delta_ns=80_000) - at_50 == pytest.approx(30_000, abs=2 * onset.PROBE_STEP_NS)
    assert guard(delta_ns=50_000, occupancy_ns=7_000) - at_50 == pytest.approx(
        3 * 4_000, abs=2 * onset.PROBE_STEP_NS
    )
    often = onset.Setting(delta_ns=50_000, tail_probability=0.01)
    points = [
        onset.point(scenario, plan, "", setting, range(1, 3), late, Spread())
        for setting in (often, replace(often, delta_ns=150_000), replace(often, tail_mean_ns=500))
    ]
    assert [one.with_cascade for one in points] == [2, 0, 0]
    assert points[0].expected_share > 0.99 > 0.01 > max(one.expected_share for one in points[1:])


@pytest.mark.slow
def test_reproduce_writes_every_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(arguments: list[str]) -> int:
        monkeypatch.setattr(sys, "argv", ["keepon", *arguments])
        return cli.main()

    out = tmp_path / "r"
    arguments = [
        "reproduce",
        str(HABITAT),
        "--duration",
        "0.2",
        "--seeds",
        "2",
        "--out",
        str(out),
        "--capture-frames",
        "0",
    ]
    assert run(arguments) == 0
    document = json.loads((out / "reproduction.json").read_text())
    schema = documents.json_schema("reproduction", PACKAGE)
    jsonschema.Draft202012Validator(schema).validate(document)
    assert set(document["parts"]) == {"free_running", "slot_200", "cascade", "shrunk_tail", "onset"}
    assert "expected: runs" in (out / "report.html").read_text().lower()
    assert "free_running: F2" in capsys.readouterr().out
    assert "Free-running crystals" in (out / "report.html").read_text()
    assert not (out / "capture.pcapng").exists()
    assert run(["report", str(out)]) == 0
    assert "Free-running crystals" in (out / "report.html").read_text()
