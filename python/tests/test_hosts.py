# SPDX-License-Identifier: BSD-3-Clause
"""The host model against the figures it is calibrated to, measured as they were: differences of
successive stamps.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pytest
from helpers import small
from keepon import _sim
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.measure.statistics import IntArray
from keepon.model import documents, hosts, timing
from keepon.model.hosts import Stage
from keepon.targets.sim import runner, specs
from keepon.targets.vm import target
from keepon_papers import published

RUNS = 40
TOLERANCE = 0.03


def sent(figure: dict[str, Any]) -> IntArray:
    """Arrivals in ns of a stream whose application sleeps until each packet is due, as isochron's
    does; no tails.
    """
    count, period_ns = RUNS * figure["packets_count"], figure["period_us"] * 1000
    stages, _ = hosts.host_of("raspberry-pi-4", "standard", 0.0)
    simulation = _sim.Simulation(1, timing.EPOCH_NS)
    host = {name: vars(stage) for name, stage in stages.items()}
    talker = simulation.add_station(
        "talker", {"driver": "standard", "release": "sleep", "host": host}
    )
    listener = simulation.add_station("listener", {"driver": "standard"})
    simulation.add_link(talker, listener, 1_000_000_000, 50)
    stream = simulation.add_stream(
        {
            "id": "S1",
            "talker": talker,
            "listeners": [listener],
            "routes": [[]],
            "period_ns": period_ns,
            "frame_bytes": 64,
        }
    )
    simulation.run((count + 1) * period_ns + 20_000_000)
    arrivals: IntArray = np.asarray(simulation.frames(stream)["arrival_ps"])[0, :count] // 1000
    return arrivals


def drawn(stage: Stage, count: int) -> IntArray:
    """Latencies of a stage by its definition: a log-normal, what is above the limit drawn again; no
    tail.
    """
    random = np.random.default_rng(1)
    body = stage.median_ns * np.exp(stage.sigma * random.standard_normal(2 * count))
    kept = body[body <= stage.limit_ns] if stage.limit_ns else body
    assert kept.size >= count
    latencies: IntArray = np.rint(stage.base_ns + kept[:count]).astype(np.int64)
    return latencies


def spread_us(stamps: IntArray, figure: dict[str, Any]) -> tuple[float, float]:
    """What Figure 1 tells of stamps, in us: what 80 % of the differences keep, and the greatest of
    each 10000.
    """
    off = np.abs(np.diff(stamps) - figure["period_us"] * 1000) / 1000
    of_each = off[: off.size // figure["packets_count"] * figure["packets_count"]].reshape(
        -1, figure["packets_count"]
    )
    return float(np.quantile(off, 0.8)), float(np.median(of_each.max(axis=1)))


def test_stamps_of_transmission_differ_as_published() -> None:
    figure = published.load("fejes")["fig1"]
    within, greatest = spread_us(sent(figure), figure)
    assert within == pytest.approx(figure["sw_tx_80_percent_within_us"], rel=TOLERANCE)
    assert greatest == pytest.approx(figure["max_diff_intended_to_actual_us"], rel=TOLERANCE)


@pytest.mark.parametrize("sigma", hosts.RX_SHAPES)
def test_stamps_of_reception_differ_as_published_whatever_the_shape(sigma: float) -> None:
    figure = published.load("fejes")["fig1"]
    arrivals = sent(figure)
    within, greatest = spread_us(arrivals + drawn(hosts.rx_shape(sigma), arrivals.size), figure)
    assert within == pytest.approx(figure["sw_rx_80_percent_within_us"], rel=TOLERANCE)
    assert greatest == pytest.approx(figure["sw_rx_max_diff_us"], rel=TOLERANCE)


@pytest.mark.parametrize(
    "stage", [hosts.rx_shape(sigma) for sigma in hosts.RX_SHAPES] + [Stage(7, 900, 0.3, 0, 0, 0)]
)
def test_mean_and_spread_of_a_stage_are_those_of_its_draws(stage: Stage) -> None:
    latencies = drawn(stage, 400_000)
    assert stage.mean_ns == pytest.approx(float(latencies.mean()), rel=0.005)
    assert stage.stddev_ns == pytest.approx(float(latencies.std()), rel=0.01)


def inputs(result: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {entry["parameter"]: entry for entry in result[kind]}


def test_a_result_lists_what_its_run_used_and_what_was_chosen() -> None:
    scenario = small()
    result = runner.run_all(scenario, session.planned(scenario), 1).result
    jsonschema.validate(json.loads(json.dumps(result)), documents.json_schema("result"))
    taken, stated = inputs(result, "calibrated"), inputs(result, "chosen")
    assert taken["wakeup: median_ns"]["source_id"].startswith("fejes.fig1")
    for name, value in (
        ("prefetch_slots", 2),
        ("fetch_ns", 800),
        ("restart_ns", 2_000),
        ("index_read_ns", 800),
    ):
        assert stated[f"nic: {name}"]["value"] == value
        assert stated[f"nic: {name}"]["why"] == "no published value"
    assert stated["wakeup: tail_probability"]["why"].startswith("no published value")
    assert not set(taken) & set(stated)
    # No card stamps a received frame or reports sent ones to an ordinary driver, no receive ring
    # is a clock.
    assert not [name for name in (*taken, *stated) if name.startswith("rx")]
    assert "nic: rx_lag_ns" not in stated
    # A listener sends nothing: its stages, but for the poll of its ring, are nobody's result.
    senders = {
        entry["stations"][0] for entry in (taken["wakeup: median_ns"], stated["stack: median_ns"])
    }
    assert not any(name.startswith("b ") for name in senders)


def test_what_no_frame_met_is_not_listed() -> None:
    calm = small(**{"warmup_s = 0.0": "warmup_s = 0.0\nhost_tail_scale = 0.0"})
    result = runner.run_all(calm, session.planned(calm), 1).result
    assert "wakeup: cap_ns" not in inputs(result, "calibrated")
    alone = small(**{'drivers = ["keepon", "standard"]': 'drivers = ["keepon"]'})
    sentences = " ".join(runner.by_construction(alone))
    assert "conventional driver" not in sentences
    assert "comparator" not in sentences  # the listener's NIC has one, and sends nothing
    assert "conventional driver" in " ".join(runner.by_construction(small()))


def test_the_scenario_sets_what_nobody_has_published() -> None:
    station = small().station[0]
    own = station.model_copy(update={"nic": station.nic.model_copy(update={"fetch_ns": 1_500})})
    spec, used = specs.nic_spec(own, "keepon")
    assert spec.fetch_ns == 1_500
    assert (
        next(entry for entry in used if entry.parameter == "nic: fetch_ns").source_id == "scenario"
    )


def test_plans_are_made_for_the_nic_of_the_scenario() -> None:
    fetched = 'driver = "under-test"\nnic = { prefetch_slots = 9, fetch_ns = 1_500 }'
    scenario, usual = small(**{'driver = "under-test"': fetched}), small()
    lead_ns = [
        session.planned(one)["stations"]["a"]["headroom"]["lead_time_ns"]
        for one in (scenario, usual)
    ]
    slot_ns = session.planned(usual)["stations"]["a"]["slot_time_ps"] // 1000
    assert lead_ns[0] - lead_ns[1] == 7 * slot_ns
    run = runner.run_all(scenario, session.planned(scenario), 1).result["runs"][0]
    assert run["driver"] == "keepon" and run["met"]
    slow = (
        'driver = "under-test"\nkeepon = { slot_bytes = 230 }\nnic = { fetch_ns = 9_000, restart_ns'
        " = 9_000 }"
    )
    with pytest.raises(
        ConfigError, match=r"slot_bytes.*takes 9000 ns to fetch a frame and has 2 fetched ahead"
    ):
        session.planned(small(**{'driver = "under-test"': slow}))
    with pytest.raises(ConfigError, match=r"nic.prefetch_slots` = 9: must be 2 for target vm"):
        target.check_supported(scenario)


def test_a_stage_the_scenario_changes_is_no_longer_calibrated() -> None:
    station = small().station[0]
    table = {"base": "raspberry-pi-4", "rx": {"median_ns": 900}}
    changed = station.model_validate({**station.model_dump(), "host": table})
    stage, sources = hosts.rx_stage(changed, 1.0)
    assert stage.median_ns == 900
    (entry,) = [entry for entry in sources if entry.parameter == "rx: median_ns"]
    assert (entry.kind, entry.value) == ("chosen", 900)
