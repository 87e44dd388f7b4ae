# SPDX-License-Identifier: BSD-3-Clause
"""Streams of talkers that keep no time have no bound: what becomes of them is what a trial sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from keepon.trial.trial import FULL, OVERDUE, trial
from port_cases import bridge, link, planned, run_keepon, station, stream, text_of
from port_cases import scenario_of as parsed

SLEEPING = 'release = "sleep"\n'
GUARD = 'qdisc = "tc qdisc replace dev eth0 root guard fudge 50000"\n'
TIMER = (
    'qdisc = "tc qdisc replace dev eth0 root handle 100 taprio num_tc 2 map 1 0 1 1 1 1 1 1 1 1 1 1'
    " 1 1 1 1 queues 1@0 1@1 base-time 0 sched-entry S 01 500000 sched-entry S 02 500000 clockid"
    ' CLOCK_TAI"\n'
)


def one_stream(driver: str, deadline_ns: int, more: str) -> list[str]:
    """A frame of a millisecond that finds its window shut waits for the next."""
    return [
        station("a", driver, "tsn-end-station", more),
        station("b", "launchtime", "tsn-end-station"), bridge("sw"), link("a", "sw"),
        link("b", "sw"), stream("s", "a", "b", deadline_ns=deadline_ns, advance_ns=400_000),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("driver", "more", "worst_ns"),
    [
        ("standard", SLEEPING, 1_003_764), ("standard", GUARD, 1_003_764),
        ("standard", TIMER, 1_003_764), ("launchtime", SLEEPING, 1_003_804),
    ],
)  # fmt: skip
def test_a_deadline_that_no_bound_keeps_is_missed_in_the_trial(
    driver: str, more: str, worst_ns: int
) -> None:
    """`keepon plan` said "every bound" and 0, and every frame of the run missed it."""
    scenario = parsed(*one_stream(driver, 200_000, more))
    end = f"{OVERDUE} of 200000 ns (the worst came after {worst_ns} ns)"
    assert trial(scenario, planned(scenario))["unsent"] == {"s": {end: 10}}


@pytest.mark.slow
def test_what_the_command_says_of_a_missed_deadline_helps(tmp_path: Path) -> None:
    path = tmp_path / "late.toml"
    path.write_text(text_of(*one_stream("standard", 200_000, SLEEPING)), encoding="utf-8")
    done = run_keepon("plan", str(path))
    assert done.returncode == 1
    assert (
        "10; no bound holds for its talker: let its frames leave at their times (driver, release,"
        " qdisc, sync.mode), or raise deadline_ns"
    ) in " ".join(done.stdout.split())
    for helped in (("standard", 1_003_764, SLEEPING), ("launchtime", 200_000, "")):
        scenario = parsed(*one_stream(*helped))
        assert trial(scenario, planned(scenario))["unsent"] == {}


@pytest.mark.slow
def test_a_deadline_that_only_the_trial_has_seen_is_no_promise(tmp_path: Path) -> None:
    """Clocks 100 ppm apart, and nothing sets them: it is missed after half a second."""
    path = tmp_path / "drifts.toml"
    path.write_text(
        text_of(
            station("a", more="clock_ppm = -100.0\ncpu_ppm = -100.0\n"),
            station("b", "standard"), link("a", "b"), stream("s", "a", "b", deadline_ns=60_000),
            head='sync = { mode = "none" }\n',
        ),
        encoding="utf-8",
    )  # fmt: skip
    done = run_keepon("plan", str(path))
    assert done.returncode == 0
    assert "s: deadline_ns kept in these 0.01 s, with no bound that promises it for longer" in (
        " ".join(done.stdout.split())
    )


def together(queue_frames: int, more: str) -> list[str]:
    """Frames of two streams that one wake-up hands over, on the way to a slower link."""
    return [
        station("a", "launchtime", "tsn-end-station", more),
        station("z", "launchtime", "tsn-end-station"),
        bridge("sw") + f"queue_frames = {queue_frames}\nqueues = 4\n",
        link("a", "sw"), link("z", "sw", rate_bps=100_000_000),
        *(stream(f"f{number}", "a", "z", priority=4) for number in range(3)),
    ]  # fmt: skip


@pytest.mark.slow
def test_what_the_command_says_of_a_full_queue_helps(tmp_path: Path) -> None:
    """Priority 4 has class 2 of four (IEEE Std 802.1Q-2022, table 8-5)."""
    path = tmp_path / "full.toml"
    path.write_text(text_of(*together(1, SLEEPING)), encoding="utf-8")
    done = run_keepon("plan", str(path))
    said = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert f'{FULL} the queue of class 2 of bridge "sw" towards "z" (queue_frames = 1) ' in said
    assert (
        "; raise queue_frames there (1024 if left out), or let its frames leave at their times"
        " (driver, release, qdisc, sync.mode)"
    ) in said
    for helped in ((1024, SLEEPING), (1, "")):
        scenario = parsed(*together(*helped))
        assert trial(scenario, planned(scenario))["unsent"] == {}
