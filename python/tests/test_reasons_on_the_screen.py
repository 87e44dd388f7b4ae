# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` and `keepon run` say of frames that do not come: why, and what helps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from keepon.errors import EXIT_MET, EXIT_MISSED, EXIT_NOTHING_CHECKED
from keepon.model import loading
from keepon.planner.network.plan import plan as make_plan
from keepon.report import screen

# Class 5 is open from 300 to 800 us of each ms, from 1 us after the start of time on.
WINDOW = """schema = "keepon.scenario/1"
name = "own-window"
duration_s = 0.1
station = [
  { name = "a", driver = "DRIVER", qdisc = '''
tc qdisc add dev e root handle 100 taprio num_tc 8 map 0 1 2 3 4 5 6 7 1 1 1 1 1 1 1 1 queues 1@0 \\
  1@1 1@2 1@3 1@4 1@5 1@6 1@7 base-time 1000 CLOCK sched-entry S 04 300000 \\
  sched-entry S 20 500000 sched-entry S 80 200000''' },
  { name = "b", driver = "launchtime" },
]
link = [{ ends = ["a", "b"] }]
[[stream]]
id = "rtc"
talker = "a"
listeners = ["b"]
period_ns = 1_000_000
frame_bytes = 200
tc = 5
advance_ns = 700_000
"""
SOFTWARE = WINDOW.replace("DRIVER", "standard").replace("CLOCK", "clockid CLOCK_TAI")
SHUT = (
    "the gates of its talker's qdisc are shut for its class at its time: give it the tc or the"
    " offset_ns of a window"
)


@pytest.mark.parametrize("driver", ["standard", "launchtime"])
@pytest.mark.parametrize(("period_ns", "open_ns"), [(1_000_000, 300_000), (3_000_000, 300_000)])
def test_a_release_is_chosen_within_a_window_of_the_class(
    driver: str, period_ns: int, open_ns: int
) -> None:
    text = SOFTWARE
    if driver == "launchtime":
        text = WINDOW.replace("DRIVER", driver).replace("CLOCK", "flags 0x2")
    text = text.replace("period_ns = 1_000_000", f"period_ns = {period_ns}")
    plan = make_plan(loading.parse(text, "window.toml"))
    release_ns = plan["streams"]["rtc"]["release_ns"]
    # behind the opening of the gate at 301 us, as Linux has it, and its preamble
    assert open_ns + 1_000 + 64 < release_ns <= open_ns + 1_000 + 64 + 32


def test_two_streams_of_one_window_have_their_places_in_it() -> None:
    second = SOFTWARE[SOFTWARE.index("[[stream]]") :].replace('"rtc"', '"second"')
    plan = make_plan(loading.parse(SOFTWARE + second, "window.toml"))
    releases = [plan["streams"][name]["release_ns"] for name in ("rtc", "second")]
    assert releases == [301_065, 301_065 + 1_760]


@pytest.mark.parametrize("period_ns", [250_000, 1_500_000])
def test_a_stream_that_its_windows_do_not_suit_is_left_to_the_trial(
    period_ns: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    file = tmp_path / "window.toml"
    file.write_text(SOFTWARE.replace("period_ns = 1_000_000", f"period_ns = {period_ns}"))
    assert keepon("plan", file) == EXIT_MISSED
    assert f"its period, {period_ns} ns, is no multiple of the cycle" in capsys.readouterr().out


def test_a_run_says_why_frames_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    file, out = tmp_path / "window.toml", tmp_path / "out"
    file.write_text(SOFTWARE.replace("tc = 5", "tc = 5\noffset_ns = 0"))
    assert keepon("run", file, "--out", out) == EXIT_MISSED
    printed = " ".join(capsys.readouterr().out.split())
    assert "100 of them missing; " in printed
    assert f"- not_allowed: its slot belongs to another class (100 of rtc); {SHUT} " in printed
    file.write_text(SOFTWARE)
    assert keepon("run", file, "--out", out) == EXIT_NOTHING_CHECKED
    assert "missing" not in capsys.readouterr().out.split("standard: ")[-1]


NETWORK = """schema = "keepon.scenario/1"
name = "beside"
duration_s = 0.1
station = [
  { name = "a", driver = "launchtime", host = "tsn-end-station" },
  { name = "c", driver = "standard" },
  { name = "z", driver = "launchtime" },
]
bridge = [{ name = "b", gates = "none" }]
link = [
  { ends = ["a", "b"], rate_bps = 100_000_000 },
  { ends = ["c", "b"] },
  { ends = ["z", "b"], rate_bps = 100_000_000 },
]
[[stream]]
id = "S"
talker = "a"
listeners = ["z"]
period_ns = 200_000
frame_bytes = 80
offset_ns = 0
advance_ns = 900_000
[[load]]
id = "L"
"""


def test_a_run_says_what_best_effort_loses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    file, out = tmp_path / "load.toml", tmp_path / "out"
    load = 'talker = "c"\nlistener = "z"\nkind = "udp"\nrate_bps = 400_000_000\n'
    file.write_text(NETWORK + load)
    assert keepon("run", file, "--out", out) == EXIT_MET
    printed = " ".join(capsys.readouterr().out.split())
    assert "every bound kept; best effort L lost " in printed
    assert re.search(r"- best effort L .* lost [0-9.]+ %: b queue to z", printed)
    (cause,) = json.loads((out / "result.json").read_text())["runs"][0]["causes"]
    assert 0.1 < cause["shares"]["L"] < 0.8 and cause["frames"]["L"] > 1000
    file.write_text(NETWORK + load.replace("400_000_000", "40_000_000"))
    assert keepon("run", file, "--out", out) == EXIT_MET
    assert "lost" not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("talker", "frame_bytes", "why", "lost"),
    [
        # 11 us a frame in the driver, and 25.6 us on the wire, preamble and gap included
        ("c", 64, ", as station c takes at most one frame in 11000 ns (46545454 bit/s)", ""),
        ("a", 300, ", as station a takes at most one frame in 25600 ns (93750000 bit/s)",
         " and lost P %: no_room N"),
        # The wire behind the bridge is the slow one.
        ("c", 1518, "", " and lost P %: b queue to z N"),
    ],
)  # fmt: skip
def test_a_run_says_what_best_effort_was_asked_and_what_arrived(
    talker: str,
    frame_bytes: int,
    why: str,
    lost: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    """What waits in the talker's queue is not lost, and nothing was said of it."""
    file, out = tmp_path / "load.toml", tmp_path / "out"
    load = f'talker = "{talker}"\nlistener = "z"\nframe_bytes = {frame_bytes}\n'
    file.write_text(f"{NETWORK}{load}rate_bps = 400_000_000\n")
    keepon("run", file, "--out", out)
    said = re.sub("(to z|which|room) [0-9]+", r"\1 N", " ".join(capsys.readouterr().out.split()))
    said = re.sub("lost [0-9.]+ %", "lost P %", said)
    asked = "was asked to send 400000000 bit/s, of which N arrived"
    assert f"- best effort L {asked}{why}{lost}; " in said
    assert (" takes " in said, " lost " in said) == (bool(why), bool(lost))


@pytest.mark.slow
def test_best_effort_that_keeps_a_driver_busy_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    """ "so many frames in a row" were those of the load; without it all are in time."""
    file = tmp_path / "busy.toml"
    file.write_text(
        f'{NETWORK}talker = "a"\nlistener = "c"\nkind = "saturate"\nframe_bytes = 100\n'
    )
    assert keepon("plan", file) == EXIT_MISSED
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        'behind saturate load "L", of which station a takes at most one frame in 11000 ns'
        in printed
    )
    assert "send it from another station, or raise etf_delta_ns" in printed
    assert keepon("run", file, "--out", tmp_path / "out") == EXIT_MISSED
    assert (
        "- best effort L sends what its talker takes: station a takes at most one frame in 11000 ns"
        " (72727272 bit/s)"
    ) in " ".join(capsys.readouterr().out.split())
    file.write_text(NETWORK[: NETWORK.index("[[load]]")])
    assert keepon("plan", file) == EXIT_MET


STATION = """[[station]]
name = "d{n}"
[[link]]
ends = ["d{n}", "br"]
[[stream]]
id = "s{n}"
talker = "d{n}"
listeners = ["plc"]
period_ns = 1_000_000
frame_bytes = {bytes}
advance_ns = {advance_ns}
[[load]]
id = "v{n}"
talker = "d{n}"
listener = "plc"
rate_bps = {rate_bps}
"""


def test_what_is_alike_of_stations_is_one_warning_with_the_worst_numbers() -> None:
    text = 'schema = "keepon.scenario/1"\nname = "many"\nduration_s = 0.1\n'
    text += '[[station]]\nname = "plc"\n[[bridge]]\nname = "br"\n[[link]]\nends = ["plc", "br"]\n'
    for n in range(4):
        text += STATION.format(
            n=n, bytes=100 + 300 * n, advance_ns=60_000 + 3000 * n,
            rate_bps=950_000_000 + 1_000_000 * n,
        )  # fmt: skip
    scenario = loading.parse(text, "many.toml")
    plan = make_plan(scenario)
    late, over, *_ = screen.warnings(scenario, plan)
    found = [
        re.search(r"about (\S+) of the frames .* come late", row["quantity"])
        for station in plan["stations"].values()
        for row in station.get("rationale", [])
    ]
    worst = max((match[1] for match in found if match), key=float)
    assert late.startswith(f"d0..3: about {worst} or less of the frames of s0..3 come late; ")
    assert over.startswith("d0..1 to br: best effort sends up to 963.5 Mb/s, streams leave 869.9")
