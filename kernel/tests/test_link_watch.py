# SPDX-License-Identifier: GPL-2.0-only
"""`keepon link watch` in a guest: what it says is what `ethtool -S` says."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import guest_programs
import pytest
from guest_python import PYTHON, python_files
from keepon.targets.vm import observations, programs
from keepon_guests import build_modules, get_kernel, run_guest
from keepon_host.link import watch
from test_link_command import TRIED

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
FRAMES = 100


def late_ns(trace: str) -> dict[int, int]:
    """By class, how much later than its txtime a frame was at worst, as the kernel traced them."""
    found: dict[int, int] = {}
    for (_, tc, txtime_ns), ends in observations.read_outcomes(trace).items():
        for _, start_ps in ends:
            if txtime_ns and start_ps:
                found[tc] = max(found.get(tc, 0), start_ps // 1000 - txtime_ns)
    return found


def test_what_it_says_is_what_ethtool_says(tmp_path: Path) -> None:
    kernel = get_kernel("6.1")
    files = {
        **programs.guest_files(),
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        guest_programs.PLUGIN: guest_programs.plugin(tmp_path),
        **python_files(TRIED, tmp_path),
    }
    result = run_guest(
        kernel, HERE / "link_watch.sh", files, environment={"PYTHON": PYTHON.name},
        modules=build_modules(kernel, [KERNEL / "native", KERNEL / "hwsim", KERNEL / "keepon"]),
        tools=[PYTHON, *programs.tools()], timeout_s=1200,
    ).check()  # fmt: skip
    print(f"{result.wall_seconds:.0f} s\n{result.stdout}")
    assert result.tap.problems() == []

    lines = result.files["ethtool.txt"].decode().split("\n")
    ethtool = {name: int(value) for name, value in (line.split() for line in lines if line)}
    (last,) = (json.loads(line) for line in result.files["last.json"].splitlines())
    worst = {f"class_{tc}_late_ns": value for tc, value in last["late_ns"].items()}
    assert {**last["counters"], **last["states"], **worst} == ethtool
    traced = late_ns(result.files["trace.txt"].decode())
    assert traced.keys() == {7}
    # A class whose frames were all early, or that had none, is never late.
    assert {int(tc): late for tc, late in last["late_ns"].items()} == {
        tc: max(0, traced.get(tc, 0)) for tc in range(16)
    }
    assert set(last["states"]) == set(watch.STATES)
    assert last["per_second"] == dict.fromkeys(last["counters"])

    watched = [json.loads(line) for line in result.files["watched.json"].splitlines()]
    assert [line["state"] for line in watched] == ["synchronised"] * 6
    assert watched[-1]["counters"]["verdict_on_time"] == ethtool["verdict_on_time"] == FRAMES
    for before, now in pairwise(watched):
        seconds = now["monotonic_s"] - before["monotonic_s"]
        assert seconds == pytest.approx(0.5, abs=0.05)
        for name, rate in now["per_second"].items():
            more = now["counters"][name] - before["counters"][name]
            assert rate == pytest.approx(more / seconds, rel=1e-3)
    # One every 10 ms, for a second.
    assert max(line["per_second"]["verdict_on_time"] or 0 for line in watched) == pytest.approx(
        100, rel=0.1
    )
