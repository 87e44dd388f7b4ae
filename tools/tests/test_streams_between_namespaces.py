# SPDX-License-Identifier: BSD-3-Clause
"""keepon-talk to keepon-listen over a veth pair: what was sent arrives, and both results say the
same.
"""

from __future__ import annotations

import itertools
import re
import signal
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from lab import Lab, build_tools, check_identity, finish, load

LONG = "600s"


def exchange(
    lab: Lab, folder: Path, count: int, *options: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Send `count` frames with `options`; results of both sides, which both ended well."""
    files = folder / "talk.json", folder / "listen.json"
    listener = lab.start_listening("--count", str(count), "--duration", LONG, "--json", files[1])
    sent = lab.send("--count", str(count), "--json", files[0], *options)
    code, out, err = finish(listener)
    assert (sent.returncode, code) == (0, 0), sent.stderr + sent.stdout + err + out
    return load(files[0]), load(files[1])


def column(result: dict[str, Any], key: str) -> list[Any]:
    return [frame[key] for frame in result["frames"]]


def test_a_thousand_frames_none_lost(lab: Lab, tmp_path: Path) -> None:
    talk, listen = exchange(
        lab, tmp_path, 1000, "--period", "500us", "--sw-stamps", "--stream", "F2", "--size", "200"
    )
    counters = check_identity(talk)
    assert (counters["submitted"], counters["stamped"]) == (1000, 1000)
    assert counters["ignored_answers"] == 0
    assert (talk["schema"], listen["schema"]) == ("keepon.talk/1", "keepon.listen/1")
    (stream,) = listen["streams"]
    found = [
        stream[key]
        for key in ("received", "lost", "duplicates", "reordered", "first_seq", "last_seq")
    ]
    assert found == [1000, 0, 0, 0, 0, 999]
    assert stream["stream_hash"] == talk["stream_hash"]
    assert column(listen, "seq") == list(range(1000))
    assert column(listen, "txtime_ns") == column(talk, "txtime_ns")
    assert column(listen, "sent_ns") == column(talk, "submitted_ns")
    assert set(column(listen, "frame_bytes")) == {200}
    assert set(column(listen, "vid")) == {None}
    txtimes = column(talk, "txtime_ns")
    assert [later - earlier for earlier, later in itertools.pairwise(txtimes)] == [500_000] * 999
    # One clock, and a frame is stamped after it was handed over and before it is received.
    for sent, received in zip(talk["frames"], listen["frames"], strict=True):
        assert sent["submitted_ns"] <= sent["tx_stamp_ns"] <= received["rx_stamp_ns"]
    assert stream["statistics"]["interarrival_ns"]["count"] == 999
    assert stream["statistics"]["delay_ns"]["count"] == 1000
    assert listen["stamp_source"] == "software"


def test_statistics_are_those_of_the_frames(lab: Lab, tmp_path: Path) -> None:
    talk, listen = exchange(lab, tmp_path, 200, "--sw-stamps")
    deviations = sorted(frame["tx_stamp_ns"] - frame["txtime_ns"] for frame in talk["frames"])
    summary = talk["statistics"]["deviation_ns"]
    assert [summary[key] for key in ("count", "min", "p50", "p99", "max")] == [
        200, deviations[0], deviations[99], deviations[197], deviations[199],
    ]  # fmt: skip
    assert abs(summary["mean"] - sum(deviations) / 200) <= 1
    stamps = column(listen, "rx_stamp_ns")
    distances = sorted(later - earlier for earlier, later in itertools.pairwise(stamps))
    assert listen["streams"][0]["statistics"]["interarrival_ns"]["max"] == distances[-1]
    assert listen["streams"][0]["stream"] == "keepon"


@pytest.mark.parametrize(
    ("options", "vid", "pcp"),
    [
        (["--vlan", "100", "--pcp", "6"], 100, 6),
        (["--pcp", "5"], 0, 5),
        (["--vlan", "4094"], 4094, 0),
    ],
)
def test_tags_arrive_as_sent(
    lab: Lab, tmp_path: Path, options: list[str], vid: int, pcp: int
) -> None:
    _, listen = exchange(lab, tmp_path, 20, "--size", "68", *options)
    assert set(zip(column(listen, "vid"), column(listen, "pcp"), strict=True)) == {(vid, pcp)}
    assert set(column(listen, "frame_bytes")) == {68}


@pytest.mark.parametrize(
    ("peer", "smallest"), [("192.0.2.2:5000", 82), ("[2001:db8::2]:5000", 102)]
)
def test_udp_of_both_families(lab: Lab, tmp_path: Path, peer: str, smallest: int) -> None:
    talk, listen = exchange(
        lab, tmp_path, 50, "--sw-stamps", "--udp", peer, "--size", str(smallest)
    )
    assert check_identity(talk)["stamped"] == 50
    assert column(listen, "seq") == list(range(50))
    assert set(column(listen, "frame_bytes")) == {smallest}


def test_published_arguments(lab: Lab, tmp_path: Path) -> None:
    """Examples 1, 2 and 3 of the artifact, and what each argument adds."""
    for arguments, expected in (
        ("100000 200000 100", (100_000, 200_000, 104, 8, None, None)),
        ("100000 200000 100 12 250000000", (100_000, 200_000, 104, 12, None, None)),
        ("1000000 200000 100 8 0 5", (1_000_000, 200_000, 104, 8, None, None)),
        ("1000000 200000 100 8 0 5 0", (1_000_000, 200_000, 104, 8, 0, 5)),
        ("", (1_000_000, 200_000, 100, 8, None, None)),
    ):
        before_ns = time.clock_gettime_ns(time.CLOCK_TAI)
        talk, listen = exchange(lab, tmp_path, 30, "--cyclic", *arguments.split())
        settings = talk["settings"]
        keys = ("period_ns", "advance_ns", "frame_bytes", "priority", "vid", "pcp")
        assert tuple(settings[key] for key in keys) == expected
        assert settings["txtime"] is True
        assert set(zip(column(listen, "vid"), column(listen, "pcp"), strict=True)) == {expected[4:]}
        words = arguments.split()
        second, ns = divmod(talk["first_txtime_ns"], 10**9)
        assert ns == (int(words[4]) if len(words) > 4 else 0)
        assert second >= before_ns // 10**9 + 3
    exchange(lab, tmp_path, 5, "--cyclic", "1000000", "--base-time", "now+1s")


def test_the_grid_is_base_time_and_offset(lab: Lab, tmp_path: Path) -> None:
    talk, _ = exchange(
        lab, tmp_path, 5, "--base-time", "123", "--offset", "45us", "--period", "7ms"
    )
    assert (talk["first_txtime_ns"] - 123 - 45_000) % 7_000_000 == 0
    talk, _ = exchange(lab, tmp_path, 5, "--base-time", "now+200ms", "--advance", "3ms")
    first = talk["frames"][0]
    assert first["submitted_ns"] >= first["txtime_ns"] - 3_000_000
    assert talk["first_txtime_ns"] == first["txtime_ns"]


def test_sleep_release_sends_at_the_txtime_and_not_before(lab: Lab, tmp_path: Path) -> None:
    talk, _ = exchange(lab, tmp_path, 100, "--no-txtime", "--sw-stamps")
    assert talk["settings"]["advance_ns"] == 0
    assert talk["settings"]["txtime"] is False
    assert min(frame["tx_stamp_ns"] - frame["txtime_ns"] for frame in talk["frames"]) >= 0


def test_monotonic_clock(lab: Lab, tmp_path: Path) -> None:
    talk, listen = exchange(lab, tmp_path, 50, "--clock", "monotonic", "--no-txtime", "--sw-stamps")
    assert all(
        abs(frame["tx_stamp_ns"] - frame["submitted_ns"]) < 10**10 for frame in talk["frames"]
    )
    assert listen["streams"][0]["statistics"]["delay_ns"]["count"] == 0


def test_a_frame_can_be_handed_over_late(lab: Lab, tmp_path: Path) -> None:
    options = ["--delay", "7=30ms", "--late-after", "2=10000000"]
    talk, _ = exchange(lab, tmp_path, 20, "--period", "40ms", *options)
    late = {
        frame["seq"]: frame["submitted_ns"] - (frame["txtime_ns"] - 200_000)
        for frame in talk["frames"]
    }
    assert late[2] >= 10_000_000
    assert late[7] >= 30_000_000
    assert min(late.values()) >= 0


def test_an_endless_run_keeps_the_last_records(lab: Lab, tmp_path: Path) -> None:
    talk, listen = exchange(lab, tmp_path, 50, "--records", "10", "--sw-stamps")
    assert column(talk, "seq") == list(range(40, 50))
    assert check_identity(talk)["submitted"] == 50
    assert column(listen, "seq") == list(range(50))


def test_two_streams_at_once_and_one_asked_for(lab: Lab, tmp_path: Path) -> None:
    everything = lab.start_listening(
        "--count", "200", "--duration", LONG, "--json", tmp_path / "all.json"
    )
    one = lab.start_listening(
        "--count", "100", "--duration", LONG, "--stream", "B", "--json", tmp_path / "b.json"
    )
    other = lab.a.start(lab.talk, "va", "--count", "100", "--stream", "A")
    assert lab.send("--count", "100", "--stream", "B", "--offset", "500us").returncode == 0
    assert finish(other)[0] == 0
    assert finish(everything)[0] == 0
    assert finish(one)[0] == 0
    streams = load(tmp_path / "all.json")["streams"]
    assert [(stream["received"], stream["lost"]) for stream in streams] == [(100, 0), (100, 0)]
    assert {frame["stream"] for frame in load(tmp_path / "b.json")["frames"]} == {"B"}


def test_an_ethertype_can_be_asked_for(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "listen.json"
    listener = lab.start_listening(
        "--count", "10", "--duration", LONG, "--ethertype", "0x22f0", "--json", path
    )
    assert lab.send("--count", "10").returncode == 0
    assert (
        lab.send(
            "--count", "10", "--ethertype", "0x22f0", "--vlan", "3", "--stream", "S"
        ).returncode
        == 0
    )
    assert finish(listener)[0] == 0
    assert [stream["received"] for stream in load(path)["streams"]] == [10]
    assert set(column(load(path), "vid")) == {3}


def read_pcap(path: Path) -> list[tuple[int, bytes]]:
    """(time in ns, frame) of a nanosecond pcap in this machine's byte order."""
    data = path.read_bytes()
    magic, major, minor, _, _, _, link = struct.unpack("=IHHIIII", data[:24])
    assert (magic, major, minor, link) == (0xA1B23C4D, 2, 4, 1)
    frames, place = [], 24
    while place < len(data):
        seconds, ns, kept, length = struct.unpack("=IIII", data[place : place + 16])
        assert kept == length
        frames.append((seconds * 10**9 + ns, data[place + 16 : place + 16 + kept]))
        place += 16 + kept
    return frames


def test_capture_and_deltas_say_what_the_result_says(lab: Lab, tmp_path: Path) -> None:
    files = tmp_path / "listen.json", tmp_path / "listen.pcap"
    listener = lab.start_listening(
        "--count", "30", "--deltas", "--json", files[0], "--pcap", files[1]
    )
    assert lab.send("--count", "30", "--vlan", "7", "--pcp", "2", "--size", "128").returncode == 0
    code, out, _ = finish(listener)
    assert code == 0
    stamps = column(load(files[0]), "rx_stamp_ns")
    frames = read_pcap(files[1])
    assert [time for time, _ in frames] == stamps
    for number, (_, frame) in enumerate(frames):
        assert len(frame) == 124
        assert frame[:6].hex(":") == "03:00:4b:50:4e:01"
        assert frame[12:22].hex() == "81004007" + "88b5" + b"KPNT".hex()
        assert int.from_bytes(frame[30:38]) == number
    deltas = re.findall(r"^(\d\d):(\d\d):(\d\d)\.(\d{9})  keepon (\d+)$", out, re.MULTILINE)
    assert [int(delta[4]) for delta in deltas] == list(range(30))
    found = [int(seconds) * 10**9 + int(ns) for _, _, seconds, ns, _ in deltas]
    assert found == [0, *(later - earlier for earlier, later in itertools.pairwise(stamps))]


def test_results_on_standard_output_stay_clean(lab: Lab, tmp_path: Path) -> None:
    sent = lab.send("--count", "3", "--json", "-")
    assert sent.returncode == 0
    (tmp_path / "out.json").write_text(sent.stdout)
    assert check_identity(load(tmp_path / "out.json"))["submitted"] == 3
    assert "submitted 3 = " in sent.stderr


def test_a_listener_ends_after_its_time(lab: Lab, tmp_path: Path) -> None:
    talker = lab.a.start(lab.talk, "va")
    lab.wait_until_sent(10)
    listener = lab.start_listening("--duration", "1s", "--json", tmp_path / "listen.json")
    assert finish(listener)[0] == 0
    (stream,) = load(tmp_path / "listen.json")["streams"]
    assert stream["received"] > 0 and stream["lost"] == 0
    assert talker.poll() is None
    talker.send_signal(signal.SIGINT)
    assert finish(talker)[0] == 130


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_with_what_there_is(
    lab: Lab, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    files = tmp_path / "talk.json", tmp_path / "listen.json"
    listener = lab.start_listening("--json", files[1])
    talker = lab.a.start(lab.talk, "va", "--sw-stamps", "--json", files[0])
    lab.wait_until_sent(100)
    assert talker.poll() is None
    talker.send_signal(number)
    assert finish(talker)[0] == code
    listener.send_signal(number)
    ended, out, _ = finish(listener)
    assert ended == code
    talk, listen = load(files[0]), load(files[1])
    assert talk["interrupted"] is True
    assert listen["interrupted"] is True
    counters = check_identity(talk)
    assert counters["submitted"] == counters["stamped"] == listen["streams"][0]["received"] > 0
    assert f"received {counters['submitted']}, lost 0" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["listen.json", "talk.json"]


def test_the_static_programs_talk_too(lab: Lab, tmp_path: Path) -> None:
    folder = build_tools(
        tmp_path / "static", ["-DKEEPON_WERROR=ON", "-DKEEPON_TOOLS_STATIC=ON"], []
    )
    described = subprocess.run(
        ["ldd", folder / "keepon-talk"], capture_output=True, text=True, check=False
    )
    assert "not a dynamic executable" in described.stdout + described.stderr
    listener = lab.b.start(folder / "keepon-listen", "vb", "--count", "20", "--duration", LONG)
    assert listener.stderr is not None
    assert "listening on vb" in listener.stderr.readline()
    sent = lab.a.run(
        folder / "keepon-talk", "va", "--count", "20", "--sw-stamps", "--udp", "192.0.2.2:5000"
    )
    assert sent.returncode == 0, sent.stderr
    assert finish(listener)[0] == 0
