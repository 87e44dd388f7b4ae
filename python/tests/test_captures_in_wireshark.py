# SPDX-License-Identifier: BSD-3-Clause
"""Captures of results in tshark with our dissector: no warning, and fields that say what the result
says.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers import EPOCH_NS, ROOT, TWO_STATIONS
from keepon.cli import session
from keepon.measure import capture
from keepon.model.loading import parse
from keepon.model.scenario import Scenario
from keepon.targets.sim.runner import simulate_build
from wireshark import tshark

FIELDS = (
    "frame.interface_name", "frame.packet_flags_direction", "keepon.stream", "keepon.seq",
    "keepon.txtime", "keepon.delay", "keepon.advance", "ptp.v2.messagetype", "frame.len",
    "frame.comment", "keepon.sent", "frame.time_epoch",
)  # fmt: skip
LOADED = """
[[load]]
id = "bulk"
talker = "talker"
listener = "listener"
kind = "udp"
rate_bps = 20_000_000
"""


def rows(path: Path, *words: str) -> list[dict[str, str]]:
    chosen = [word for field in FIELDS for word in ("-e", field)]
    printed = tshark(path, "-T", "fields", "-E", "separator=/t", *chosen, *words)
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in printed.splitlines()]


def scenario(**changes: Any) -> Scenario:
    text = (ROOT / "examples" / "gptp.toml").read_text() + LOADED
    return parse(text, "gptp").model_copy(update={"duration_s": 0.2, "warmup_s": 2.0, **changes})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("captures") / "gptp"
    one = scenario()
    session.run_scenario(one, session.planned(one), path, 1, 10_000, None)
    return path


@pytest.mark.slow
def test_fields_are_what_the_result_says(folder: Path) -> None:
    result = json.loads((folder / "result.json").read_text())
    stream = result["runs"][0]["streams"]["S1"]
    number = f"0x{capture.stream_hash('S1'):08x}"
    seen = [row for row in rows(folder / "capture.pcapng") if row["keepon.stream"] == number]
    sides = {
        name: [row for row in seen if row["frame.interface_name"] == name]
        for name in ("talker", "listener")
    }
    # The window is of instants on the wire, what was due is of txtimes.
    first_ns, end_ns = (EPOCH_NS + at_ns for at_ns in result["runs"][0]["window_ns"])
    for name, key in (("listener", "delay_ns"), ("talker", "release_error_ns")):
        due = [row for row in sides[name] if first_ns <= int(row["keepon.txtime"]) < end_ns]
        delays = [int(row["keepon.delay"]) for row in due]
        assert abs(len(delays) - stream["delivered"]) <= 1
        assert abs(min(delays) - stream[key]["min"]) <= 2
        assert abs(max(delays) - stream[key]["max"]) <= 2
    assert {row["frame.packet_flags_direction"] for row in sides["talker"]} == {"0x00000002"}
    assert {row["frame.packet_flags_direction"] for row in sides["listener"]} == {"0x00000001"}
    for row in seen:
        assert f"txtime_ns={row['keepon.txtime']} " in row["frame.comment"]
        assert int(row["keepon.txtime"]) - int(row["keepon.sent"]) == int(row["keepon.advance"])
        seconds, _, part = row["frame.time_epoch"].partition(".")
        stamp_ns = int(seconds) * 10**9 + int(part)
        assert stamp_ns - int(row["keepon.txtime"]) == int(row["keepon.delay"])


@pytest.mark.slow
def test_best_effort_and_ptp_are_in_the_capture_of_the_window(folder: Path) -> None:
    result = json.loads((folder / "result.json").read_text())
    stated, run = result["capture"], result["runs"][0]
    found = rows(folder / "capture.pcapng")
    assert stated["frames"] == len(found)
    number = f"0x{capture.stream_hash('bulk'):08x}"
    at_listener = [
        row for row in found
        if row["keepon.stream"] == number and row["frame.interface_name"] == "listener"
    ]  # fmt: skip
    got_bps = sum(int(row["frame.len"]) for row in at_listener) * 8 / 0.2
    assert got_bps == pytest.approx(run["loads"]["bulk"]["goodput_bps"], rel=0.02)
    kinds = Counter(row["ptp.v2.messagetype"] for row in found if row["ptp.v2.messagetype"])
    assert len(kinds) >= 4, kinds
    start_ns, end_ns = stated["window_ns"]
    for row in found:
        seconds, _, part = row["frame.time_epoch"].partition(".")
        assert start_ns <= int(seconds) * 10**9 + int(part) < end_ns
    assert end_ns - start_ns == pytest.approx(0.2e9, rel=1e-4)


@pytest.mark.slow
def test_tshark_finds_nothing_wrong_with_any_frame(folder: Path) -> None:
    """Comments are the one thing it remarks on. It goes through twice, as answers come later than
    what they answer; those of peer delay name whom they answer.
    """
    path = folder / "capture.pcapng"
    assert tshark(path, "-2", "-Y", "_ws.malformed || _ws.expert.severity > 0x100000") == ""
    answers = ("-Y", "ptp.v2.pdrs.requestingportidentity", "-T", "fields")
    identities = tshark(path, *answers, "-e", "ptp.v2.pdrs.requestingportidentity").split()
    asking = tshark(
        path, "-Y", "ptp.v2.messagetype == 2", "-T", "fields", "-e", "ptp.v2.clockidentity"
    )
    assert identities and set(identities) <= set(asking.split())
    checked = ("-o", "eth.check_fcs:TRUE", "-Y", 'eth.fcs.status != "Good"')
    assert tshark(path, *checked) == ""


def test_a_limit_makes_the_window_shorter_and_leaves_nothing_out_of_it() -> None:
    one = scenario(duration_s=0.05)
    plan = session.planned(one)
    _, whole = simulate_build(one, plan, "keepon", 1, None, 100_000)
    _, few = simulate_build(one, plan, "keepon", 1, None, 77)
    assert whole.seen is not None and few.seen is not None
    assert few.seen.start_ns == whole.seen.start_ns < few.seen.end_ns < whole.seen.end_ns
    assert few.seen.sightings == [
        seen for seen in whole.seen.sightings if seen.at_ns < few.seen.end_ns
    ]
    assert 60 < len(few.seen.sightings) <= 77
    assert whole.trace_hash == few.trace_hash


def test_a_capture_changes_nothing_in_a_run() -> None:
    one = scenario(duration_s=0.05)
    plan = session.planned(one)
    _, without = simulate_build(one, plan, "keepon", 1)
    _, kept = simulate_build(one, plan, "keepon", 1, None, 1000)
    assert without.trace_hash == kept.trace_hash and without.seen is None


def _written(path: Path, frames: list[bytes]) -> Path:
    packets = [
        capture.Packet(EPOCH_NS + 100 + number, 0, data, f'<b>{number} & "ü"')
        for number, data in enumerate(frames)
    ]
    capture.write(path, ["rt0"], packets, "test")
    return path


def test_placeholders_of_every_kind_are_named(tmp_path: Path) -> None:
    """As keepon_hwsim's capture device shows them (docs/hwsim.md)."""
    rest = bytes(46)
    station = bytes.fromhex("024b504e0001")
    frames = [
        bytes(64),
        bytes.fromhex("0180c2000001") + station + bytes.fromhex("88087fff") + rest,
        bytes.fromhex("0180c200000f") + station + bytes.fromhex("88b5") + rest,
        bytes.fromhex("0180c2000001") + station + bytes.fromhex("88080001") + rest,
        capture.frame(1, 2, 5, capture.TestFrame("S1", 7, EPOCH_NS, EPOCH_NS - 5), 64),
    ]
    path = _written(tmp_path / "x.pcapng", frames)
    kinds = tshark(path, "-T", "fields", "-e", "keepon_placeholder.kind").split("\n")[:-1]
    assert kinds == ["bad-fcs", "mac-control", "reserved-address", "", ""]


def test_damaged_headers_are_marked_and_foreign_frames_left_alone(tmp_path: Path) -> None:
    ethernet = bytes.fromhex("024b504e0002024b504e000188b5")
    good = capture.frame(1, 2, 5, capture.TestFrame("S1", 7, EPOCH_NS, EPOCH_NS - 5), 64)
    frames = [
        ethernet + b"KPNT" + bytes([2]) + bytes(60),
        ethernet + b"KPNT" + bytes([1]) + bytes(8),
        ethernet + b"else" + bytes(60),
        ethernet,
        ethernet + b"KP",
        good,
    ]
    path = _written(tmp_path / "x.pcapng", frames)
    chosen = ("-e", "keepon.version.unknown", "-e", "keepon.short", "-e", "keepon.delay")
    lines = tshark(path, "-T", "fields", *chosen).split("\n")[:-1]
    assert [bool(line.split("\t")[0]) for line in lines] == [True, *[False] * 5]
    assert [bool(line.split("\t")[1]) for line in lines] == [False, True, *[False] * 4]
    assert lines[-1].split("\t")[2] == "105"


@pytest.mark.slow
def test_stamps_in_utc_are_moved_by_the_preference_and_udp_is_known(tmp_path: Path) -> None:
    payload = struct.pack(">4sBBHIQqq", b"KPNT", 1, 11, 1, 0x1234, 5, EPOCH_NS, EPOCH_NS - 9)
    udp = struct.pack(">HHHH", 7000, 7001, 8 + len(payload), 0) + payload
    address = struct.pack(">4s4s", b"\x0a\0\0\1", b"\x0a\0\0\2")
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    frame = bytes.fromhex("024b504e0002024b504e00010800") + head + address + udp + bytes(4)
    path = _written(tmp_path / "x.pcapng", [frame])
    for seconds, delay in ((0, 100), (37, 37_000_000_100)):
        printed = tshark(
            path, "-o", f"keepon.offset_s:{seconds}", "-T", "fields", "-e", "keepon.seq",
            "-e", "keepon.delay",
        )  # fmt: skip
        assert printed == f"5\t{delay}\n"


def test_streams_alone_where_nothing_else_is_kept(tmp_path: Path) -> None:
    """As target vm hands them back: both sides of streams, in a window that is stated."""
    one = parse(TWO_STATIONS.read_text(), "two").model_copy(update={"duration_s": 0.1})
    plan = session.planned(one)
    outcome = session.SIMULATOR.run_all(one, plan, 1, None)
    assert outcome.runs[0].seen is None
    session.write_folder(tmp_path / "r", one, plan, outcome, 50)
    stated = json.loads((tmp_path / "r" / "result.json").read_text())["capture"]
    found = rows(tmp_path / "r" / "capture.pcapng")
    assert stated["frames"] == len(found) <= 50 and "best effort" not in stated["note"]
    assert {row["frame.interface_name"] for row in found} == {"talker", "listener"}
