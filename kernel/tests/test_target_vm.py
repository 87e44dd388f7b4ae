# SPDX-License-Identifier: GPL-2.0-only
"""`keepon run --target vm`: the example scenarios on a kernel, whole result folders, bounds of the
plan kept.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from keepon.cli.app import app
from keepon.measure.capture import stream_hash
from keepon.model import documents, resultfolder
from keepon_guests import offered_families
from typer.testing import CliRunner
from wireshark import tshark

pytestmark = pytest.mark.vm

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name: str, folder: Path, *options: str) -> dict[str, Any]:
    command = ["run", str(EXAMPLES / name), "--target", "vm", "--out", str(folder), *options]
    done = CliRunner().invoke(app, command, standalone_mode=False)
    assert done.exception is None, done.output
    assert done.return_value in (0, None), done.output
    for file in (
        documents.SCENARIO_FILE,
        documents.PLAN_FILE,
        documents.CAPTURE_FILE,
        documents.REPORT_FILE,
    ):
        assert (folder / file).stat().st_size > 0
    result: dict[str, Any] = json.loads((folder / documents.RESULT_FILE).read_text())
    assert result["target"] == "vm"
    jsonschema.Draft202012Validator(documents.json_schema("result")).validate(result)
    resultfolder.read(folder)
    return result


def run_twice(name: str, folder: Path, *options: str) -> dict[str, Any]:
    """The result of two runs that must not differ in anything but the time they took."""
    first, second = (run(name, folder / part, *options) for part in ("first", "second"))
    for result in (first, second):
        result["runs"][0]["guest"].pop("wall_seconds")
    assert first == second
    return first


@pytest.mark.parametrize("family", offered_families())
def test_two_stations_keep_every_bound(family: str, tmp_path: Path) -> None:
    result = run_twice("two-stations.toml", tmp_path, "--duration", "0.3", "--kernel", family)
    stream = result["runs"][0]["streams"]["S1"]
    assert result["runs"][0]["met"]
    assert (stream["due"], stream["delivered"], stream["verdicts"]["on_time"]) == (300, 300, 300)
    assert stream["stamp_error_ns"]["max"] <= 1, "hardware stamps are the instants on the wire"
    assert all(check["met"] for check in stream["bound_check"].values())
    # What was sent and heard, frame by frame; nobody asks for stamps of software here.
    file = tmp_path / "first" / "packets-keepon-S1.csv"
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert len(rows) >= 300
    for row in rows:
        assert abs(int(row["tx_hardware_ns"]) - int(row["txtime_ns"])) <= 5
        assert row["rx_hardware_ns"]
        assert row["tx_software_ns"] == ""


def test_three_stations_over_a_bridge(tmp_path: Path) -> None:
    result = run_twice("three-stations.toml", tmp_path, "--duration", "0.2")
    assert result["runs"][0]["met"]
    for name in ("left", "right"):
        station = result["runs"][0]["stations"][name]
        # an underrun costs the clock a restart's uncertainty and a strip's width, one that was only
        # suspected what the wire was idle; none is expected
        worst_ns = max(abs(value) for value in station["clock"]["nic_offset_ns"].values())
        idle_ns = station["nic"]["tx_idle_ns"] if station["suspected_underruns"] else 0
        assert worst_ns <= 2000 * (1 + station["underruns"]) + idle_ns, station
    streams = result["runs"][0]["streams"]
    for name in ("L1", "R1"):
        assert streams[name]["delivered"] == 200
        # a constant way over the bridge: 1230 bytes, 2 us of processing, two wires
        assert streams[name]["delay_ns"]["max"] - streams[name]["delay_ns"]["min"] <= 1
    _capture_says_the_same(tmp_path / "second", streams)


def test_frames_in_the_buffers_of_several_slots(tmp_path: Path) -> None:
    """With `fragments_max` the NICs of the guest send them so, too."""
    (tmp_path / "fragments.toml").write_text("""\
schema = "keepon.scenario/1"
name = "fragments"
duration_s = 0.3
[[station]]
name = "a"
nic = { fragments_max = 32 }
[[station]]
name = "b"
driver = "standard"
[[link]]
ends = ["a", "b"]
rate_bps = 100_000_000
[[stream]]
id = "S"
talker = "a"
listeners = ["b"]
period_ns = 2_000_000
frame_bytes = 1300
advance_ns = 10_000_000
""")
    run_of = run(str(tmp_path / "fragments.toml"), tmp_path / "out")["runs"][0]
    plan = json.loads((tmp_path / "out" / documents.PLAN_FILE).read_text())
    assert run_of["met"] and run_of["streams"]["S"]["delivered"] >= 150
    # slots of 125 bytes of wire; one descriptor and short placeholders would be 30 of them
    assert (plan["stations"]["a"]["slot_bytes"], plan["streams"]["S"]["frame_slots"]) == (105, 11)


def _capture_says_the_same(folder: Path, streams: dict[str, Any]) -> None:
    """The dissector's delays of what listeners got are those of the result."""
    fields = ["-T", "fields", "-e", "keepon.stream", "-e", "frame.packet_flags_direction"]
    printed = tshark(folder / documents.CAPTURE_FILE, *fields, "-e", "keepon.delay")
    found = [line.split("\t") for line in printed.splitlines()]
    for name, stream in streams.items():
        number, inbound = f"0x{stream_hash(name):08x}", 1
        delays = [
            int(delay)
            for stream_number, direction, delay in found
            if stream_number == number and int(direction, 16) == inbound
        ]
        assert abs(len(delays) - stream["delivered"]) <= 1
        assert abs(min(delays) - stream["delay_ns"]["min"]) <= 1
        assert abs(max(delays) - stream["delay_ns"]["max"]) <= 1
