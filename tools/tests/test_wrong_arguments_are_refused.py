# SPDX-License-Identifier: BSD-3-Clause
"""Bad input: exit code 2, one sentence naming option, value and remedy, and no file touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


TALK = [
    ([], "no interface is named"),
    (["nosuch0"], "interface nosuch0 does not exist"),
    (
        ["a-name-too-long-for-linux"],
        'interface "a-name-too-long-for-linux" is not a name of 1...15 characters',
    ),
    (["lo", "more"], "argument more is not known"),
    (["lo", "--size", "63"], "--size 63 is out of range; give 64...9728 bytes"),
    (["lo", "--size", "1e2"], "--size 1e2 is not a whole number"),
    (["lo", "--size"], "--size needs a value"),
    (["lo", "--nonsense"], "--nonsense is not known"),
    (["lo", "-v"], "-v is not known"),
    (["lo", "--deadline=1"], "--deadline=1 has a value"),
    (["lo", "--period", "999"], "--period 999 is out of range; give 1000...3600000000000 ns"),
    (["lo", "--period", "1.5ms"], "--period 1.5ms is not a time"),
    (["lo", "--period", "1ms", "--period", "2ms"], "--period is given twice"),
    (["lo", "--base-time", "now-5"], "--base-time now-5 is not a time"),
    (["lo", "--clock", "utc"], "--clock utc is not a clock; give tai or monotonic"),
    (["lo", "--clock-limit", "0"], "--clock-limit 0 is out of range; give 1..."),
    (["lo", "--clock-wait", "1s"], "--clock-wait waits for --clock-limit; give that too"),
    (["lo", "--priority", "16"], "--priority 16 is out of range; give 0...15"),
    (["lo", "--pcp", "8"], "--pcp 8 is out of range; give 0...7"),
    (["lo", "--vlan", "4095"], "--vlan 4095 is out of range; give 0...4094"),
    (["lo", "--dst", "1:2:3:4:5:6"], "--dst 1:2:3:4:5:6 is not a MAC address"),
    (["lo", "--ethertype", "0x8100"], "use --vlan and --pcp"),
    (["lo", "--ethertype", "0x5ff"], "--ethertype 0x5ff is out of range"),
    (["lo", "--udp", "localhost:5000"], "localhost is not a numeric address"),
    (["lo", "--udp", "192.0.2.1"], "--udp 192.0.2.1 is not HOST:PORT"),
    (["lo", "--udp", "192.0.2.1:0"], "give 1...65535"),
    (["lo", "--udp", "192.0.2.1:5000", "--pcp", "1"], "--udp cannot insert a tag"),
    (["lo", "--udp", "192.0.2.1:5000", "--dst", "03:00:00:00:00:01"], "are for raw frames"),
    (["lo", "--udp", "192.0.2.1:5000", "--size", "70"], "give at least 82"),
    (["lo", "--no-txtime", "--deadline"], "drop one of them"),
    (["lo", "--delay", "17"], "--delay 17 is not FRAME=TIME"),
    (["lo", "--delay", "3=1", "--delay", "3=2"], "names frame 3 twice"),
    (["lo", "--count", "10", "--delay", "10=1"], "frames are 0...9"),
    (["lo", "--stream", "a b"], '--stream "a b" is not a stream id'),
    (["lo", "--stamp-offset", "37s"], "give --hw-stamps too"),
    (["lo", "--fifo", "100"], "--fifo 100 is out of range; give 1...99"),
    (["lo", "--json", "/dev/null"], "--json /dev/null exists and is not a regular file"),
    (["lo", "--cyclic", "100000", "200000", "59"], "--cyclic SIZE 59 is out of range; give 60..."),
    (
        ["lo", "--cyclic", "100000", "--period", "1ms"],
        "--period is given by --cyclic and by itself",
    ),
    (
        ["lo", "--cyclic", "100000", "200000", "100", "8", "1000000000"],
        "--cyclic NS 1000000000 is out of range; give 0...999999999 ns",
    ),
    (["lo", "--cyclic", *["1000000"] * 8], "--cyclic with 8 arguments; give at most 7"),
]
LISTEN = [
    ([], "no interface is named"),
    (["nosuch0"], "interface nosuch0 does not exist"),
    (["lo", "vb"], "argument vb is not known"),
    (["lo", "--count", "-1"], "--count -1 is out of range"),
    (["lo", "--duration", "0"], "--duration 0 is out of range"),
    (["lo", "--records", "0"], "--records 0 is out of range; give 1...10000000 frames"),
    (["lo", "--stream", ""], '--stream "" is not a stream id'),
    (["lo", "--stream", "a", "--stream", "a"], "look alike in a frame"),
    (["lo", "--deltas", "--json", "-"], "--deltas prints on standard output"),
    (["lo", "--json", "x", "--pcap", "x"], "name the same file x"),
]


@pytest.mark.parametrize(("arguments", "sentence"), TALK, ids=lambda value: str(value)[:60])
def test_talk(tools: Path, arguments: list[str], sentence: str) -> None:
    refuse(tools / "keepon-talk", arguments, sentence)


@pytest.mark.parametrize(("arguments", "sentence"), LISTEN, ids=lambda value: str(value)[:60])
def test_listen(tools: Path, arguments: list[str], sentence: str) -> None:
    refuse(tools / "keepon-listen", arguments, sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["lo"], "GUEST and LINK are needed"),
        (["lo", "lo", "--stamp"], "GUEST and LINK are needed"),
        (["lo", "nosuch0"], "interface nosuch0 does not exist"),
        (["lo", "lo"], "GUEST and LINK are both lo"),
    ],
)
def test_relay(tools: Path, arguments: list[str], sentence: str) -> None:
    refuse(tools / "keepon-relay", arguments, sentence)


def refuse(program: Path, arguments: list[str], sentence: str) -> None:
    done = run(program, *arguments)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert done.stderr.startswith(f"{program.name}: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["keepon-talk", "keepon-listen"])
def test_help_names_every_option(tools: Path, name: str) -> None:
    done = run(tools / name, "--help")
    assert done.returncode == 0
    source = Path(__file__).parents[1] / f"{name.removeprefix('keepon-')}_options.c"
    options = [
        line.split('"')[1]
        for line in source.read_text().splitlines()
        if "_argument, NULL, OPTION_" in line
    ]
    assert len(options) > 5
    missing = [option for option in options if f"--{option}" not in done.stdout]
    assert missing == []
    assert max(map(len, done.stdout.splitlines())) <= 110


def test_selftest_passes(tools: Path) -> None:
    done = run(tools / "keepon_tools_selftest")
    assert done.returncode == 0, done.stdout
    assert ", 0 failed" in done.stdout
