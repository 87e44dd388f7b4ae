# SPDX-License-Identifier: BSD-3-Clause
"""Lost, doubled, swapped and foreign frames, interfaces that cannot or are gone: counted and
reported, never silent.
"""

from __future__ import annotations

import json
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from lab import Lab, check_identity, finish, load

# Sends frames given as a list of hexadecimal strings; runs inside a namespace.
SENDER = """
import json, socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as packets:
    packets.bind(("va", 0))
    for frame in json.load(sys.stdin):
        packets.send(bytes.fromhex(frame))
"""


def frame(seq: int, stream: int = 1, version: int = 1, payload_bytes: int = 46) -> str:
    """A test frame, as docs/tools.md describes it."""
    header = struct.pack(">IBBHIQqq", 0x4B504E54, version, 11, 1, stream, seq, 0, 0)
    ethernet = bytes.fromhex("03004b504e01" + "020000000001" + "88b5")
    return (ethernet + header.ljust(payload_bytes, b"\0")[:payload_bytes]).hex()


def deliver(
    lab: Lab, folder: Path, frames: list[str], *end: str
) -> tuple[int, dict[str, Any], str]:
    """Send raw frames to a listener with an end; its exit code, result and table."""
    path = folder / "listen.json"
    listener = lab.start_listening("--json", path, *end)
    script = folder / "frames.json"
    script.write_text(json.dumps(frames))
    lab.a.must("sh", "-c", f'exec "$0" -c "$1" < {script}', sys.executable, SENDER)
    code, out, _ = finish(listener)
    return code, load(path), out


def test_gaps_doubles_and_swaps(lab: Lab, tmp_path: Path) -> None:
    frames = [frame(seq) for seq in (5, 6, 9, 8, 9, 12, 6)]
    code, result, out = deliver(lab, tmp_path, frames, "--count", "7")
    (stream,) = result["streams"]
    assert code == 1
    assert [stream[key] for key in ("received", "lost", "duplicates", "reordered")] == [7, 3, 2, 1]
    assert (stream["first_seq"], stream["last_seq"]) == (5, 12)
    assert "received 7, lost 3, duplicate 2, reordered 1, sequence 5...12" in out


def test_a_complete_stream_is_no_trouble(lab: Lab, tmp_path: Path) -> None:
    frames = [frame(seq) for seq in range(10)]
    code, result, _ = deliver(lab, tmp_path, frames, "--count", "10")
    assert code == 0
    assert result["counters"] == {"received": 10, "dropped_by_socket": 0, "other_streams": 0}


def test_foreign_and_broken_frames_are_not_counted(lab: Lab, tmp_path: Path) -> None:
    foreign = "ffffffffffff" + "020000000001" + "88b5" + "00" * 46
    cut = frame(1, payload_bytes=35)
    frames = [foreign, cut, frame(0, version=2), frame(3)]
    code, result, _ = deliver(lab, tmp_path, frames, "--count", "1")
    assert code == 0
    assert [seen["seq"] for seen in result["frames"]] == [3]


def test_more_streams_than_can_be_counted(lab: Lab, tmp_path: Path) -> None:
    frames = [*(frame(0, stream=number) for number in range(70)), frame(1, stream=0)]
    code, result, out = deliver(lab, tmp_path, frames, "--count", "65")
    assert code == 1
    assert result["counters"]["received"] == 65
    assert result["counters"]["other_streams"] == 6
    assert "of streams beyond the first 64: 6" in out


def test_fewer_frames_than_asked_for(lab: Lab, tmp_path: Path) -> None:
    """How many come in its time is the machine's affair."""
    end = ("--count", "3", "--duration", "2s")
    code, result, _ = deliver(lab, tmp_path, [frame(0), frame(1)], *end)
    assert code == 1
    assert result["counters"]["received"] <= 2


def test_nothing_received_is_not_success(lab: Lab, tmp_path: Path) -> None:
    code, result, _ = deliver(lab, tmp_path, [], "--duration", "100ms")
    assert code == 1
    assert result["frames"] == []


def test_an_interface_that_goes_down_refuses_frames(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    talker = lab.a.start(lab.talk, "va", "--count", "1500", "--json", path)
    try:
        lab.wait_until_sent(100)
        talker.send_signal(signal.SIGSTOP)  # not all are sent before the interface is down
        lab.a.must("ip", "link", "set", "va", "down")
        talker.send_signal(signal.SIGCONT)
        code, out, err = finish(talker)
    finally:
        lab.a.must("ip", "link", "set", "va", "up")
    assert code == 1, err
    result = load(path)
    counters = check_identity(result)
    assert counters["submitted"] == 1500
    assert 0 < counters["refused"] < 1500
    refused = [seen for seen in result["frames"] if seen["error"] == "refused"]
    assert len(refused) == counters["refused"]
    assert all(seen["errno"] for seen in refused)
    assert "last refusal: Network is down" in out


def test_stamps_that_never_come_are_no_success(lab: Lab, tmp_path: Path) -> None:
    """Nobody has this address, so the frames wait for an answer to ARP and never reach the
    interface.
    """
    path = tmp_path / "talk.json"
    peer = ["--udp", "192.0.2.99:5000"]
    done = lab.send("--count", "20", "--sw-stamps", "--linger", "100ms", "--json", path, *peer)
    assert done.returncode == 1, done.stderr
    assert check_identity(load(path))["unanswered"] == 20
    assert lab.send("--count", "20", "--linger", "100ms", *peer).returncode == 0, (
        "no stamps were asked for"
    )


def test_hardware_stamps_that_are_not_there(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text("precious")
    done = lab.send("--count", "1", "--hw-stamps", "--json", path)
    assert done.returncode == 3
    assert path.read_text() == "precious"
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.json"], (
        "nothing half written stays"
    )
    assert "--hw-stamps: interface va does not stamp frames it sends" in done.stderr
    assert "use --sw-stamps" in done.stderr


def test_a_listener_says_why_it_uses_software_stamps(lab: Lab) -> None:
    listener = lab.b.start(lab.listen, "vb", "--duration", "10ms")
    assert "software stamps (it does not stamp all received frames: " in finish(listener)[2]


@pytest.mark.parametrize("program", ["talk", "listen"])
def test_an_old_result_survives_what_cannot_run(lab: Lab, tmp_path: Path, program: str) -> None:
    lab.a.must("ip", "link", "add", "down0", "type", "veth", "peer", "name", "down1")
    path = tmp_path / "old.json"
    path.write_text("precious")
    done = lab.a.run(getattr(lab, program), "down0", "--json", path)
    lab.a.must("ip", "link", "delete", "down0")
    assert done.returncode == 3
    assert "interface down0 is down; ip link set down0 up" in done.stderr
    assert path.read_text() == "precious"
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.json"]


def test_a_frame_longer_than_the_interface_sends(lab: Lab) -> None:
    done = lab.send("--count", "1", "--size", "1519")
    assert done.returncode == 2
    assert (
        "--size 1519 is more than interface va sends with its MTU of 1500 bytes; give at most 1518"
        in done.stderr
    )
    assert lab.send("--count", "1", "--size", "1518").returncode == 0
    assert lab.send("--count", "1", "--size", "1522", "--pcp", "1").returncode == 0


def test_a_file_that_cannot_be_written(lab: Lab) -> None:
    done = lab.send("--count", "1", "--json", "/nonexistent/talk.json")
    assert done.returncode == 3
    assert (
        "--json /nonexistent/talk.json cannot be written: No such file or directory" in done.stderr
    )


def test_clocks_cannot_be_held_against_an_interface_without_one(lab: Lab) -> None:
    done = lab.a.run(lab.talk, "va", "--count", "1", "--clock-limit", "1us")
    assert done.returncode == 3
    assert done.stderr == (
        "keepon-talk: interface va has no clock of its own (ethtool -T va); drop --clock-limit\n"
    )


def test_a_relay_sends_no_frame_that_it_had_to_cut(lab: Lab) -> None:
    for namespace, name in ((lab.a, "va"), (lab.b, "vb")):
        namespace.must("ip", "link", "set", name, "mtu", "9500")
    lab.b.must("ip", "link", "set", "lo", "up")
    relay = lab.b.start(lab.listen.with_name("keepon-relay"), "vb", "lo")
    time.sleep(0.5)
    tagged = "02000000000102000000000288b60000" + "00" * 8 + "0800"
    frames = json.dumps([tagged + "00" * (each - 26) for each in (9216, 9217)])
    lab.a.must("sh", "-c", f'echo \'{frames}\' | "$0" -c "$1"', sys.executable, SENDER)
    time.sleep(0.2)
    relay.send_signal(signal.SIGINT)
    out, _ = relay.communicate(timeout=5)
    assert out.startswith("sent 1, missed 0") and out.endswith("refused 0, malformed 1\n")


def test_a_relay_ends_when_its_guest_is_gone(lab: Lab) -> None:
    lab.b.must("ip", "link", "set", "lo", "up")
    relay = lab.b.start(lab.listen.with_name("keepon-relay"), "vb", "lo")
    time.sleep(0.5)
    lab.b.must("ip", "link", "del", "vb")
    assert relay.wait(timeout=5) == 3
