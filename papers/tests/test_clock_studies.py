# SPDX-License-Identifier: BSD-3-Clause
"""Figures 7, 8, 12, 13, 22 and the headline, shortened: what each mechanism must show; documents
fit their schema.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from keepon.cli import app as cli
from keepon.errors import ConfigError
from keepon.model import documents
from keepon_papers import published, study
from keepon_papers.clocks import bridged, fig7, fig8, fig22, networks, reception, releases
from keepon_papers.registry import STUDIES
from keepon_papers.schema_files import PACKAGE
from keepon_papers.settings import parse
from keepon_papers.spread import Spread

QUICK = {
    "fig7": ["duration_s=0.04", "warmup_s=0.02", "seeds=1"],
    "fig8": ["duration_s=0.5", "warmup_s=1.2"],
    "fig12": ["seeds=1", "duration_s=4", "warmup_s=12", "software_duration_s=60"],
    "fig13": ["batch_slots=4", "duration_s=12", "stall_us=60"],
    "fig22": ["seeds=4", "duration_s=40", "single_s=16"],
    "fig23": ["warmup_s=4", "duration_s=0.5"],
    "headline": ["duration_s=4", "gains_s=4", "warmup_s=12"],
}


@functools.cache
def run(name: str) -> Any:
    return study.run(STUDIES[name], name, QUICK[name])


def rows(document: dict[str, Any], table: int) -> list[list[Any]]:
    found: list[list[Any]] = document["parts"][0]["tables"][table]["rows"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_every_statement_holds_and_the_document_fits_its_schema(name: str) -> None:
    document = run(name)
    jsonschema.validate(
        json.loads(json.dumps(document, allow_nan=False)),
        documents.json_schema("study", PACKAGE),
    )
    (part,) = document["parts"]
    assert part["name"] == name
    assert [check for check in part["checks"] if not check["met"]] == []
    assert len(part["checks"]) >= 3
    assert part["compared"]
    assert part["plots"]
    assert part["findings"]
    assert part["by_construction"]
    for table in part["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"])


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_published_figures_are_those_of_the_data_file(name: str) -> None:
    known = {
        entry["id"]: entry for entry in published.load("keepon").values() if isinstance(entry, dict)
    }

    def numbers(value: Any) -> set[float]:
        if isinstance(value, dict):
            return set().union(*(numbers(entry) for entry in value.values()))
        return {value} if isinstance(value, int | float) else set()

    for row in run(name)["parts"][0]["compared"]:
        assert row["published"] in numbers(known[row["id"]])
        assert row["kind"] == (
            "by construction" if "mean period" in row["quantity"] else "calculated"
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_every_setting_is_calibrated_or_chosen(name: str) -> None:
    entry = STUDIES[name]
    keys = set(entry.settings.model_fields)
    assert set(entry.origins.calibrated) | set(entry.origins.chosen) >= keys
    document = run(name)
    parameters = [one["parameter"] for key in ("calibrated", "chosen") for one in document[key]]
    assert sorted(name for name in parameters if name in keys) == sorted(keys)
    # The rest is what the runs used of hosts and NICs; a figure's clock that nobody sets has no
    # stamps of reception.
    inputs = {name for name in parameters if name not in keys}
    assert {
        "nic: fetch_ns",
        "nic: prefetch_slots",
        "nic: restart_ns",
        "driver: median_ns",
    } <= inputs
    assert ("rx: median_ns" in inputs) == ("wakeup: median_ns" in inputs)
    assert ("timer: median_ns" in inputs) == (
        name == "headline"
    )  # its launch-time NIC has ETF in front
    changed = {
        one["parameter"] for one in document["chosen"] if one["why"] == "set on the command line"
    }
    assert changed == {text.split("=")[0] for text in QUICK[name]}


@pytest.mark.slow
def test_a_counted_clock_spreads_by_its_polls_and_a_longer_slot_moves_the_median() -> None:
    found = {row[0]: row for row in rows(run("fig7"), 0)}
    counted, hardware, ours = (
        found[name] for name in ("emulated, as published", "hardware (PHC)", "emulated, ours")
    )
    assert hardware[5] < 0.05 < ours[5] < 0.8 * counted[5]
    assert counted[8] < 2.5  # a poll and its two reads of the index at either edge, no slot
    frames = found["emulated, as published, frames of 1500 bytes"]
    assert abs(frames[4] - 3 * 12.16) < 0.1
    assert abs(frames[3] - 36) < 0.05
    missing = {row[0]: row[2] for row in rows(run("fig7"), 1)}
    assert missing[1] == missing[8] == 0
    assert missing[16] > 100


@pytest.mark.slow
def test_the_published_merge_does_not_settle_and_ours_does_at_once() -> None:
    times = {(row[0], row[1]): row for row in rows(run("fig22"), 0)}
    criterion = "every reading within 10000 ns"
    merged, ours = (
        times[kind.name, criterion] for kind in (networks.DUAL_PUBLISHED, networks.DUAL)
    )
    assert merged[8] == 0
    assert merged[9] > 10_000
    assert ours[8] == 100
    assert ours[5] < 5
    assert ours[9] < 60


@pytest.mark.slow
def test_two_clocks_are_better_by_stamps_of_software() -> None:
    found = {row[0]: row[1:] for row in rows(run("fig23"), 0)}
    one, ours = found[networks.COUNTER.name], found[networks.DUAL.name]
    assert all(few < many for few, many in zip(ours, one, strict=True))
    assert ours[0] < 141 < 2000 < ours[2]


@pytest.mark.slow
def test_stamps_of_hardware_then_keepon_then_software() -> None:
    found = {(row[0], row[1]): row for row in rows(run("fig12"), 0)}
    for role in ("master", "slave"):
        for column in (2, 3):  # as reported, of the clock
            hard, keep, soft = (
                found[name, role][column]
                for name in (
                    "hardware stamps",
                    "keepon, as published",
                    "software stamps, idle clock",
                )
            )
            assert hard < 0.015
            assert hard < keep < soft
        assert (
            found["keepon, ours, mean latency taken off", role][3]
            < found["software stamps", role][3]
        )


@pytest.mark.slow
def test_reports_show_spread_and_no_constant_delay() -> None:
    found = {(row[0], row[1]): row for row in rows(run("fig12"), 0)}
    with_delay, without = (
        found[f"keepon, ours, {name}", "slave"]
        for name in ("latency not taken off", "mean latency taken off")
    )
    assert abs(with_delay[4] - without[4]) > 1.5  # the clocks are apart
    assert abs(with_delay[2] - without[2]) < 0.2  # and nothing tells


def test_paper_mode_posts_enough_for_its_wire_not_to_run_dry() -> None:
    settings = parse(bridged.Settings, {"batch_slots": 1, "duration_s": 1.0, "warmup_s": 5.0})
    scenario = bridged.scenario_for(networks.PAPER, bridged.for_kind(networks.PAPER, settings), 1.0)
    station = networks.run(scenario).document["stations"][bridged.TALKER]
    assert station["underruns"] + station["suspected_underruns"] < 10
    assert bridged.for_kind(networks.SINGLE, settings) is settings


@pytest.mark.slow
def test_later_reception_makes_stamps_of_software_worse_in_proportion() -> None:
    by_scale = {row[0]: row[3:] for row in rows(run("fig12"), 2)}
    for once, twice in zip(by_scale[1.0], by_scale[2.0], strict=True):
        assert 1.6 < twice / once < 2.6
    edges = rows(run("fig12"), 1)
    assert len(edges) == 8
    for system, quantity, role, keepon_us, scale, stddev_us, at_one, _ in edges:
        column = 2 if quantity == "as reported" else 3
        soft = {(row[0], row[1]): row[column] for row in rows(run("fig12"), 0)}[
            "software stamps", role
        ]
        assert (soft > keepon_us) == (scale < 1) == (at_one == "yes"), (system, quantity, role)
        assert stddev_us == pytest.approx(scale * 2.705, rel=0.01)


@pytest.mark.parametrize(
    ("values", "limit", "expected"),
    [
        ([1, 2, 3], 0.5, 1.0),
        ([1, 2, 3], 2.5, 2.5),
        ([1, 2, 3], 3.0, None),
        ([4, 2, 4], 3.0, 2.5),
        ([1, 4, 2], 3.0, None),
    ],
)
def test_an_order_holds_from_the_last_crossing_on(
    values: list[int], limit: float, expected: float | None
) -> None:
    assert (
        reception.holds_from(np.array([1.0, 2.0, 3.0]), np.array(values, dtype=float), limit)
        == expected
    )


def counts(**changes: int) -> releases.Frames:
    whole = {
        "due": 10,
        "submitted": 10,
        "sent": 8,
        "moved": 1,
        "ended": 1,
        "pending": 1,
        "delivered": 6,
        "lost": 1,
    }
    return releases.Frames(**(whole | {"in_flight": 1} | changes))


def test_a_frame_that_vanishes_does_not_add_up() -> None:
    assert counts().add_up
    for name in ("due", "submitted", "sent", "ended", "pending", "delivered", "lost", "in_flight"):
        assert not counts(**{name: 5}).add_up, name


def test_verdicts_count_as_sent_or_ended() -> None:
    verdicts = {"on_time": 3, "moved": 1, "sent_stale": 1, "late": 2, "no_room": 1}
    stream = {
        "verdicts": verdicts,
        "submitted": 9,
        "sent": 5,
        "pending": 1,
        "delivered": 4,
        "lost": {"wire": 1},
    }
    found = releases.frames({**stream, "in_flight": 0}, 9)
    assert (found.moved, found.ended, found.lost) == (1, 3, 1)
    assert found.add_up


def test_times_of_a_period_are_counted_as_one_counts() -> None:
    for start in range(6):
        for end in range(start, 14):
            for period in (1, 3, 4):
                for first in range(20):
                    count = releases.times_due(start, end, period, first)
                    assert count == sum(
                        time % period == first % period for time in range(start, end)
                    )


def test_frames_are_accounted_for_where_the_period_does_not_divide_the_time() -> None:
    settings = parse(
        bridged.Settings,
        {"slot_bytes": 300, "period_ns": 1_024_000, "duration_s": 1.0, "warmup_s": 3.0},
    )
    found = bridged.measure(networks.HARDWARE, settings, 1.0).frames
    assert found.add_up
    assert found.due in (976, 977)


def test_shares_of_the_release_error_add_up_and_tell_a_mean_from_a_spread() -> None:
    nothing = np.zeros(4)
    apart = np.array([-1.0, 1.0, -1.0, 1.0])
    cases = [
        (apart + 3, nothing, (90, 10, 0, 0)),
        (nothing, apart + 3, (0, 0, 100, 0)),
        (apart, np.array([-1.0, -1.0, 1.0, 1.0]), (0, 50, 50, 0)),
        (apart, apart, (0, 25, 25, 50)),
        (nothing, nothing, (0, 0, 0, 0)),
    ]
    for by_clock, rest, expected in cases:
        one = releases.Releases(by_clock + rest, by_clock, rest, by_clock, counts(), 0)
        assert one.shares_percent() == pytest.approx(expected)


@pytest.mark.slow
def test_every_frame_of_the_headline_is_accounted_for() -> None:
    table = rows(run("headline"), 4)
    assert len(table) == 12
    for _, _, due, submitted, sent, _, ended, pending, delivered, lost, in_flight in table:
        assert due == submitted == 4000
        assert submitted == sent + ended + pending
        assert sent == delivered + lost + in_flight


@pytest.mark.slow
def test_a_held_up_poll_shows_in_a_counted_clock_only() -> None:
    p99 = {row[0]: row[2] for row in rows(run("fig13"), 0)}
    assert p99[networks.COUNTER.name] > 20
    assert p99[networks.SINGLE.name] < 3
    assert p99[networks.DUAL.name] < 0.5


@pytest.mark.slow
def test_the_knee_is_the_last_batch_without_sleep() -> None:
    settings = parse(fig8.Settings, {})
    assert fig8.last_awake(settings, 300) == 39
    assert run("fig8")["parts"][0]["compared"][0]["ours"] == 39
    late = {row[0]: row[1] for row in rows(run("fig8"), 0)}
    assert late[64] > 10 * late[39]


def test_the_knee_moves_with_the_overhead_set_aside() -> None:
    settings = parse(fig8.Settings, {"overhead_us": 50, "duration_s": 1.0})
    awake = fig8.last_awake(settings, 300)
    assert awake == 19
    before, after = fig8.lateness([(300, awake), (300, awake + 8)], settings, Spread())
    assert after.mean_us > 2 * before.mean_us


@pytest.mark.slow
def test_ours_adds_less_than_a_quantum_to_its_clock_and_paper_mode_a_slot() -> None:
    rest = {(row[0], row[1]): row for row in rows(run("headline"), 1)}
    for scale in (0.5, 1.0, 2.0):
        assert rest["paper mode", scale][6] - rest["paper mode", scale][5] > 1800
        ours = rest["ours, single clock", scale]
        assert ours[6] - ours[5] < 20
        assert rest["ours, dual clock, direct link", scale][4] < 30


@pytest.mark.slow
def test_slower_servos_pass_on_less_of_the_jitter() -> None:
    spread = [row[4] for row in rows(run("headline"), 3)]
    assert spread[3] < spread[0] / 3
    assert spread[7] < spread[4] / 3


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ([0, 0, 0, 0], 0.0),
        ([9, 0, 0, 0], 1.0),
        ([0, 9, 0, 0], None),
        ([0, 0, 0, 9], 0.0),
        ([9, 9, 9, 9], None),
    ],
)
def test_settled_is_the_first_time_that_holds(offset: list[int], expected: float | None) -> None:
    assert fig22.settled_s(np.arange(4.0), np.array(offset, dtype=float), 1.0, 2.0) == expected


def test_edges_are_at_the_first_reading_past_a_multiple_and_never_twice() -> None:
    readings = np.array([5, 9, 11, 9, 11, 19, 20, 41, 50]) * 1000
    found = fig7.wave(np.arange(9) * 1000, readings, 10)
    assert found.period_ns.tolist() == [4.0, 1.0, 1.0]
    assert found.missed == 1


def test_equal_seeds_draw_equal_crystals_and_others_do_not() -> None:
    settings = parse(fig22.Settings, {})
    assert networks.crystals(settings, 3, 4) == networks.crystals(settings, 3, 4)
    assert networks.crystals(settings, 3, 4) != networks.crystals(settings, 4, 4)
    assert all(abs(ppm) <= 50 for seed in range(50) for ppm in networks.crystals(settings, seed, 4))


def test_a_clock_error_between_changes_of_rate_is_a_straight_line() -> None:
    from keepon_papers.clocks.clockruns import ClockTrack

    grid = np.arange(0, 5) * 10**10
    offsets = np.array([0, 1000, 2000, 9000, 9000])
    track = ClockTrack(grid, grid, offsets, grid, grid, grid, np.array([1.0, 1, 1, 2, 2]), {})
    at_ns = np.array([5e6, 15e6, 25e6, 35e6])
    by_clock, rest = releases.causes(track, at_ns, np.array([-0.5, 1.5, 0.0, 1.0]))
    assert by_clock.tolist() == [-0.5, -1.5, -9.0]
    assert rest.tolist() == [0.0, 3.0, 10.0]


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("fig22", ["seeds=0"], "setting `seeds` = 0: must be between 1 and 1000"),
        ("fig22", ["sync_mode=ntp"], 'setting `sync_mode` = "ntp": must be one of'),
        (
            "fig12",
            ["slotbytes=3"],
            'setting `slotbytes` = 3: unknown key; did you mean "slot_bytes"?',
        ),
        ("fig13", ["batch_slots=200"], "setting `depth_slots` = 128: must be at least 202"),
        (
            "headline",
            ["slot_bytes=300"],
            "setting `period_ns` = 1000000: must be a multiple of a slot's time, 2560 ns",
        ),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(
    name: str, changes: list[str], sentence: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        study.run(STUDIES[name], name, changes)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.slow
def test_command_prints_tables_and_writes_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "x"
    changes = [part for text in QUICK["fig22"] for part in ("--set", text)]
    monkeypatch.setattr(
        sys, "argv", ["keepon", "reproduce", "fig22", "--out", str(folder), "--seed", "5", *changes]
    )
    assert cli.main() == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "fig22: holds: " in printed.out
    assert "chosen: " in printed.out
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "result.json"]
    assert documents.read(folder / "result.json", "keepon.study/1")["effective"]["seed"] == 5
    assert (folder / "report.html").read_text().count("<svg") == 1
