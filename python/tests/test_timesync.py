# SPDX-License-Identifier: BSD-3-Clause
"""[sync] in scenarios: what is refused, what a result says of clocks, release errors in network
time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import tomli_w
from helpers import ROOT, small, small_text
from keepon._sim import StationSpec
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.measure import clocks
from keepon.measure.statistics import summary
from keepon.model import documents, hosts, loading, scenariochecks
from keepon.model.loading import parse
from keepon.model.scenario import Scenario
from keepon.report import page as report
from keepon.report import tables
from keepon.targets.sim import timesync
from keepon.targets.sim.refusals import check_supported
from keepon.targets.sim.runner import run_all
from keepon_papers.clocks import clockruns

GPTP = ROOT / "examples" / "gptp.toml"


def with_sync(text: str) -> str:
    return small_text(**{"warmup_s = 0.0": f"warmup_s = 0.0\nsync = {{ {text} }}"})


WRONG = [
    ('mode = "gptp"', r"`sync.grandmaster` is missing; sync.mode = \"gptp\" needs one"),
    (
        'mode = "gptp", grandmaster = "br9"',
        r'`sync.grandmaster` = "br9": no such node; did you mean "br1"',
    ),
    ('mode = "ptp", grandmaster = "br1"', r'`sync.grandmaster` = "br1": is a bridge'),
    ('mode = "ntp", grandmaster = "br1"', r'`sync.mode` = "ntp": must be one of .*; did you mean'),
    (
        'mode = "gptp", grandmaster = "br1", interval_ms = -125',
        r"`sync.interval_ms` = -125: must be between 1 and 10000",
    ),
    (
        'mode = "gptp", grandmaster = "br1", delay_interval_ms = 0',
        r"`sync.delay_interval_ms` = 0: must be between 1 and",
    ),
    (
        'mode = "gptp", grandmaster = "br1", servo = "pid"',
        r'`sync.servo` = "pid": must be one of "pi", "linreg", "ratio"',
    ),
    (
        'mode = "gptp", grandmaster = "br1", pi_proportional_norm_max = 1.5',
        r"`sync.pi_proportional_norm_max` = 1.5: must be between 1e-09 and 1",
    ),
    (
        'mode = "gptp", grandmaster = "br1", pi_integral_scale = -1.0',
        r"`sync.pi_integral_scale` = -1.0: must be between 0",
    ),
    (
        'mode = "gptp", grandmaster = "br1", filter_samples = 1001',
        r"`sync.filter_samples` = 1001: must be between 0 and",
    ),
    (
        'mode = "gptp", grandmaster = "br1", rx_jitter_scale = -0.5',
        r"`sync.rx_jitter_scale` = -0.5: must be between 0 and",
    ),
    (
        'mode = "gptp", grandmaster = "br1", domains = [ { domain = 128, grandmaster = "a" } ]',
        r"`sync.domains\[0\].domain` = 128: must be between 0 and 127; PTP has domains 0 to 127",
    ),
    (
        'mode = "gptp", grandmaster = "br1", domains = [ { domain = 0, grandmaster = "a" } ]',
        r"`sync.domains\[0\].domain` = 0: already used by sync.grandmaster",
    ),
    (
        'mode = "gptp", grandmaster = "br1", domains = [ { domain = 4, grandmaster = "z" } ]',
        r'`sync.domains\[0\].grandmaster` = "z": no such node',
    ),
    (
        'mode = "gptp", grandmaster = "br1", tc = 3',
        r"`station\[0\].keepon.classes` .*must have class 3",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_synchronisation_gets_one_sentence(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse(with_sync(text), "small.toml")
    assert str(caught.value).startswith("small.toml: key `")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_faults_of_synchronisation_need_synchronisation() -> None:
    for kind in ("lost-sync", "master-change"):
        extra = f'[[fault]]\nat_s = 0.0\nkind = "{kind}"\nnode = "a"\n[compare]'
        scenario = small(**{"[compare]": extra})
        with pytest.raises(
            ConfigError, match=rf'`fault\[0\].kind` = "{kind}": needs sync.mode "ptp" or "gptp"'
        ):
            check_supported(scenario)


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    scenario = clockruns.variant(
        loading.load(GPTP), scenario_duration_s=1.0, scenario_warmup_s=30.0
    )
    return run_all(scenario, session.planned(scenario), 1).result


@pytest.mark.slow
def test_the_example_shows_clocks_by_their_kind(example: dict[str, Any]) -> None:
    jsonschema.validate(
        json.loads(json.dumps(example, allow_nan=False)), documents.json_schema("result")
    )
    found = {run["driver"]: run for run in example["runs"]}
    assert set(found) == {"keepon", "launchtime"}
    for driver, run in found.items():
        assert run["streams"]["S1"]["submitted"] == run["streams"]["S1"]["delivered"] == 1000
        for name in ("talker", "listener"):
            clock = run["stations"][name]["clock"]
            assert clock["stamps"] == (
                "hardware" if driver == "launchtime" else "slot (tx), software (rx)"
            )
            assert clock["offset_ns"]["count"] == clock["read_offset_ns"]["count"] == 100
            assert 235 <= clock["sync"]["received"] <= 250
            assert clock["sync"]["lost"] == 0
        assert run["bridges"]["br1"]["clock"]["offset_ns"]["rms"] == 0.0
        assert run["bridges"]["br2"]["clock"]["offset_ns"]["rms"] < 10
        assert run["ptp_frames"]["sync"]["lost"] == {}
    hardware, slots = (
        found[driver]["stations"]["talker"]["clock"]["offset_ns"]
        for driver in ("launchtime", "keepon")
    )
    assert hardware["rms"] < 10 < slots["rms"] < 3_000
    assert found["launchtime"]["stations"]["talker"]["clock"]["lock_s"] < 5


def test_release_errors_are_in_network_time(example: dict[str, Any]) -> None:
    """A talker that is 500 ns ahead sends 500 ns early; a slot adds half a byte and 4 ns by which
    crystals may part while the longest frame is sent, a comparator 32 ns and a tick.
    """
    for run in example["runs"]:
        offset = run["stations"]["talker"]["clock"]["offset_ns"]
        error = run["streams"]["S1"]["release_error_ns"]
        assert error["mean"] == pytest.approx(-offset["mean"], abs=25)
        assert error["min"] >= -offset["max"] - 24
        assert error["max"] <= -offset["min"] + 45
    # Both crystals are off by 50 ppm: in true time the stream would be off by 50 us a second.
    assert all(
        abs(run["streams"]["S1"]["slots"]["drift_ppm"]) < 2
        for run in example["runs"]
        if run["driver"] == "keepon"
    )


def test_calibrated_and_constructed_values_are_named(example: dict[str, Any]) -> None:
    calibrated = {entry["parameter"]: entry for entry in example["calibrated"]}
    chosen = {entry["parameter"]: entry for entry in example["chosen"]}
    assert calibrated["rx: median_ns"]["source_id"].startswith("fejes.fig1")
    assert calibrated["rx: median_ns"]["value"] == hosts.RX_STAGE.median_ns
    assert chosen["rx: sigma"]["why"].startswith("shape")
    assert chosen["ingress_latency_ns (keepon)"]["why"].startswith("scenario")
    assert chosen["ptp_turnaround_ns"]["why"].startswith("no published value")
    # Messages are handled as late whatever stamps them, and later ones set the clock later.
    assert any("launchtime" in entry for entry in calibrated["rx: median_ns"]["stations"])
    assert any(
        text.startswith("Network time is what the grandmaster")
        for text in example["by_construction"]
    )
    assert not any("ideal clock" in text for text in example["by_construction"])


def test_report_and_table_show_the_clocks(example: dict[str, Any]) -> None:
    scenario = loading.load(GPTP)
    html = report.render(example, session.planned(scenario))
    assert '<h2 id="clocks">' in html
    assert html.count("slot (tx), software (rx)") == 2
    table = tables.clocks(example)
    assert table is not None
    assert table.row_count == 6  # three nodes that follow, two runs
    ideal = run_all(small(), session.planned(small()), 1).result
    assert tables.clocks(ideal) is None
    assert '<h2 id="clocks">' not in report.render(ideal, session.planned(small()))


def test_a_scenario_with_all_its_defaults_is_read_back(tmp_path: Path) -> None:
    scenario = loading.load(GPTP)
    path = tmp_path / "again.toml"
    path.write_text(tomli_w.dumps(scenario.effective()))
    again = loading.load(path)
    assert again == scenario
    jsonschema.validate(scenario.effective(), documents.json_schema("scenario"))


def test_an_asymmetric_link_reaches_the_simulator() -> None:
    text = GPTP.read_text().replace(
        'ends = ["br2", "listener"]', 'ends = ["br2", "listener"]\nasymmetry_ns = 2000'
    )
    scenario = parse(text, "gptp.toml")
    run = clockruns.measure(
        clockruns.variant(scenario, scenario_duration_s=5.0, scenario_warmup_s=15.0), "launchtime"
    )
    assert run.clocks["listener"].document["offset_ns"]["mean"] == pytest.approx(-1000, abs=12)
    assert run.clocks["talker"].document["offset_ns"]["mean"] == pytest.approx(0, abs=12)


@pytest.mark.parametrize("grandmaster", ["talker", "listener"])
def test_every_frame_due_is_in_the_result_however_slow_network_time_is(grandmaster: str) -> None:
    """30 s at -900 ppm are 27 ms: more than what a run waits for its last frames."""
    scenario = loading.load(GPTP)
    stations = [
        entry.model_copy(update={"clock_ppm": 0.0, "cpu_ppm": 0.0}) for entry in scenario.station
    ]
    index = [entry.name for entry in stations].index(grandmaster)
    stations[index] = stations[index].model_copy(update={"clock_ppm": -900.0, "cpu_ppm": -900.0})
    bridges = [entry.model_copy(update={"clock_ppm": -500.0}) for entry in scenario.bridge]
    slow = clockruns.variant(
        scenario.model_copy(update={"station": stations, "bridge": bridges}),
        grandmaster=grandmaster,
        scenario_duration_s=20.0,
        scenario_warmup_s=10.0,
    )
    run = clockruns.measure(slow, "launchtime")
    stream = run.document["streams"]["S1"]
    assert (
        stream["submitted"] == stream["verdicts"]["on_time"] + stream["verdicts"]["moved"] == 20_000
    )
    assert run.txtime_ns["S1"][-1] >= 30 * 10**9 - 2_000_000


@pytest.mark.slow
def test_a_sweep_gives_arrays_and_repeats_to_the_bit() -> None:
    scenario = loading.load(GPTP)
    short = {"scenario_duration_s": 2.0, "scenario_warmup_s": 20.0}
    runs = {
        scale: clockruns.measure(
            clockruns.variant(scenario, rx_jitter_scale=scale, **short), "keepon"
        )
        for scale in (0.5, 1.0, 2.0)
    }
    again = clockruns.measure(clockruns.variant(scenario, rx_jitter_scale=1.0, **short), "keepon")
    assert np.array_equal(runs[1.0].clocks["talker"].offset_ps, again.clocks["talker"].offset_ps)
    assert np.array_equal(runs[1.0].release_error_ps["S1"], again.release_error_ps["S1"])
    assert len(runs[1.0].release_error_ps["S1"]) == 2000
    spread = [np.std(run.clocks["talker"].offset_ps[1000:]) for run in runs.values()]
    assert spread[0] < spread[2]
    paper = clockruns.measure(
        clockruns.variant(scenario, keepon_mode="paper", station_clock_error_ns=60_000, **short),
        "keepon",
    )
    assert paper.clocks["talker"].document["source"] == "counter"
    # Free-running slots: up to a slot early, whatever the clock does.
    assert np.ptp(paper.release_error_ps["S1"]) > np.ptp(runs[1.0].release_error_ps["S1"])


def test_end_to_end_through_plain_bridges_with_any_servo() -> None:
    scenario = loading.load(GPTP)
    for servo in ("pi", "linreg", "ratio"):
        run = clockruns.measure(
            clockruns.variant(
                scenario,
                mode="ptp",
                grandmaster="listener",
                servo=servo,
                scenario_duration_s=2.0,
                scenario_warmup_s=40.0,
            ),
            "launchtime",
        )
        assert set(run.clocks) == {"talker", "listener"}, (
            "plain bridges have no clock that PTP sets"
        )
        assert abs(run.clocks["talker"].document["offset_ns"]["mean"]) < 100
        assert set(run.document["ptp_frames"]) == {"sync", "follow-up", "delay-req", "delay-resp"}


def test_a_change_of_master_and_lost_syncs_reach_the_simulator() -> None:
    text = (
        GPTP.read_text()
        .replace("warmup_s = 60.0", "warmup_s = 1.0")
        .replace("duration_s = 10.0", "duration_s = 30.0")
        + '\n[[fault]]\nat_s = 5.0\nkind = "master-change"\nnode = "br2"\n'
        + '\n[[fault]]\nat_s = 12.0\nkind = "lost-sync"\nnode = "talker"\nvalue_ns ='
        " 2_000_000_000\n"
    )
    run = clockruns.measure(parse(text, "gptp.toml"), "launchtime")
    assert run.clocks["br2"].document["grandmaster"]
    at_s = run.clocks["br2"].at_ps / 1e12
    assert not np.any(run.clocks["br2"].offset_ps[at_s > 5.1])
    assert run.clocks["talker"].document["sync"]["lost"] == 16
    assert run.document["ptp_frames"]["sync"]["lost"] == {"lost-sync fault": 16}


def test_sources_follow_host_and_scale() -> None:
    station = loading.load(GPTP).station[0]
    stage, sources = hosts.rx_stage(station, 2.0)
    assert stage.median_ns == 2 * hosts.RX_STAGE.median_ns
    assert stage.sigma == hosts.RX_STAGE.sigma
    assert any(source.parameter == "rx_jitter_scale" and source.value == 2.0 for source in sources)
    ideal, none = hosts.rx_stage(station.model_copy(update={"host": "ideal"}), 1.0)
    assert ideal.median_ns == 0
    assert none == []


def test_statistics_of_a_clock_by_hand() -> None:
    at_ps = np.arange(1, 1001, dtype=np.int64) * 10**10
    offset_ps = np.where(at_ps < 3 * 10**12, 5_000_000, 100_000).astype(np.int64)
    assert clocks.lock_time_s(at_ps, offset_ps, 1_000) == pytest.approx(3.0)
    assert clocks.lock_time_s(at_ps, offset_ps, 50) is None
    assert clocks.lock_time_s(at_ps, offset_ps, 10_000) == 0.0
    numbers = clocks.offset_statistics(np.array([-3000, 3000, 3000, -3000], dtype=np.int64))
    assert numbers["rms"] == 3.0
    assert numbers["mean"] == 0.0
    rate = clocks.frequency_error_ppb(at_ps, at_ps // 1_000_000)
    assert rate["mean"] == pytest.approx(1000)
    assert rate["rms"] == pytest.approx(1000)
    assert clocks.frequency_error_ppb(at_ps[:1], at_ps[:1]) == {"mean": None, "rms": None}
    assert clocks.offset_statistics(at_ps[:0])["rms"] is None
    assert summary(at_ps[:0], 1000)["count"] == 0


def test_frames_that_do_not_add_up_are_noticed() -> None:
    flow = {
        "id": "ptp sync of a port 0", "kind": "sync", "submitted": 3, "sent": 3, "pending": 0,
        "on_wire": 3,
        "delivered": 2, "delivered_by_listener": [2], "in_flight": 0, "lost": {"link a - b": 1},
        "verdicts": {"best_effort": 3}, "wrong_bytes": 0, "duplicates": 0, "ghosts": 0,
    }  # fmt: skip
    assert clocks.frames_document([flow, flow])["sync"]["lost"] == {"link a - b": 2}
    for key, value in (
        ("pending", 1),
        ("in_flight", 1),
        ("delivered", 4),
        ("wrong_bytes", 1),
        ("duplicates", 1),
    ):
        with pytest.raises(ValueError, match="ptp sync of a port 0"):
            clocks.frames_document([{**flow, key: value}])


def test_ideal_clocks_are_untouched() -> None:
    scenario: Scenario = small()
    station, bridge = StationSpec(), timesync.bridge_spec(scenario, scenario.bridge[0])
    assert timesync.set_by_ptp(station, scenario, scenario.station[0]) == []
    assert (station.sync, station.host.rx.median_ns) == ("ideal", 0)
    assert (bridge.ppm, bridge.wander_ppb_per_s, bridge.sync) == (0, 0, "none")
    assert (bridge.processing_ns, bridge.queue_frames) == (2000, 1024)
    assert bridge.queues == [1, 0, 2, 3, 4, 5, 6, 7]
    result = run_all(scenario, session.planned(scenario), 1).result
    assert "ptp_frames" not in result["runs"][0]


def habitat_with_gptp(**station_keys: object) -> Scenario:
    """The habitat case study with crystals of +-50 ppm that wander, and gPTP from its
    first bridge.
    """
    document = loading.load(GPTP.parent / "habitat.toml").effective()
    random = np.random.default_rng(1)
    document |= {"duration_s": 2.0, "warmup_s": 20.0, "compare": {"drivers": ["keepon"]}}
    document["sync"] = {"mode": "gptp", "grandmaster": document["bridge"][0]["name"], "priority": 7}
    for station in document["station"]:
        station |= {
            "ingress_latency_ns": 6_150,
            "cpu_ppm": float(random.uniform(-50, 50)),
            **station_keys,
        }
    for node in (*document["station"], *document["bridge"]):
        node |= {"clock_ppm": float(random.uniform(-50, 50)), "wander_ppb_per_s": 10.0}
    return Scenario.model_validate(document)


@pytest.mark.slow
def test_the_habitat_with_gptp_keeps_every_bound() -> None:
    """Bounds of the plan, with the stated error of the clocks in them: every frame of every stream
    is within.
    """
    run = clockruns.measure(habitat_with_gptp())
    for stream, found in run.document["streams"].items():
        assert found["missing"] == 0, stream
        assert {
            key: check["met"] for key, check in found["bound_check"].items() if not check["met"]
        } == {}, stream
    # What the clocks really were is far within what was stated.
    assert max(clock.document["absolute_p999_ns"] for clock in run.clocks.values()) < 5_000


@pytest.mark.slow
def test_a_stated_clock_error_that_is_too_small_shows() -> None:
    run = clockruns.measure(habitat_with_gptp(clock_error_ns=600))
    checks = [
        check
        for found in run.document["streams"].values()
        for check in found["bound_check"].values()
    ]
    assert not all(check["met"] for check in checks)


def test_frames_of_ptp_must_not_share_the_queue_of_a_stream() -> None:
    scenario = habitat_with_gptp()
    sync = scenario.sync.model_copy(update={"priority": 6})
    with pytest.raises(ConfigError, match=r"sync\.priority.*has traffic class 6 in bridge"):
        scenariochecks.check(scenario.model_copy(update={"sync": sync}), "habitat")
