# SPDX-License-Identifier: BSD-3-Clause
"""The examples, run as recorded: every frame as before, and no more events than before."""

from __future__ import annotations

import json

import pytest
import recorded_networks

RECORDED = json.loads(recorded_networks.TRACES.read_text())


def test_every_run_is_recorded_and_nothing_else():
    runs = {
        f"{name} {seed}" for name in recorded_networks.NAMES for seed in recorded_networks.SEEDS
    }
    assert set(RECORDED) == runs
    assert {path.stem for path in recorded_networks.FOLDER.glob("*.json")} == {
        *recorded_networks.NAMES,
        "traces",
    }


@pytest.mark.slow
@pytest.mark.parametrize("run", sorted(RECORDED))
def test_frames_of_the_examples_are_what_they_were(run):
    name, seed = run.split()
    now, before = recorded_networks.trace(name, int(seed)), dict(RECORDED[run])
    assert now.pop("events") <= before.pop("events")
    assert now == before


def test_one_frame_that_is_late_changes_trace_and_results():
    network = recorded_networks.read("mixed")
    digests = set()
    for value_ns in (700_000, 700_001):
        for call in network["calls"]:
            if call[:2] == ["add_fault", "late-submit"]:
                call[4] = value_ns
        sim = recorded_networks.build_from(network, 1)
        sim.run(network["until_ns"])
        digests.add((sim.trace_hash(), recorded_networks.results(network, sim)))
    assert len(digests) == 2
    assert len({digest for _, digest in digests}) == 2


AHEAD = ("two-stations", "habitat-keepon", "habitat-standard", "habitat-launchtime",
         "habitat-gptp", "free-running", "mixed")  # fmt: skip


@pytest.mark.parametrize("name", AHEAD)
def test_what_is_done_ahead_of_time_is_what_events_would_have_done(name):
    """Who looks often, and stations with a fault to come, leave hardly anything to foresee."""
    network = recorded_networks.read(name)
    at_once, stepwise, faulty = (recorded_networks.build_from(network, 2) for _ in range(3))
    stations = [call[1] for call in network["calls"] if call[0] == "add_station"]
    for station in stations:
        faulty.add_fault("late-submit", network["nodes"][station], network["until_ns"] + 1, 1)
    for until_ns in range(0, network["until_ns"], 37_003):
        stepwise.run(until_ns)
    for sim in (at_once, stepwise, faulty):
        sim.run(network["until_ns"])
    for sim in (stepwise, faulty):
        assert sim.trace_hash() == at_once.trace_hash()
        assert recorded_networks.results(network, sim) == recorded_networks.results(
            network, at_once
        )
        assert sim.event_count > at_once.event_count
