# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios and frame arrays that several tests need; frame arrays are what the analysis takes,
made by hand.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import keepon
import numpy as np
from keepon.cli import session
from keepon.export.exported import Planned
from keepon.measure.results import FrameArrays
from keepon.model.loading import load, parse
from keepon.model.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
HABITAT = ROOT / "examples" / "habitat.toml"
TWO_STATIONS = ROOT / "examples" / "two-stations.toml"
ROBOT_CELL = ROOT / "examples" / "robot-cell.toml"
EPOCH_NS = 1_700_000_000_000_000_000

SMALL = """
schema = "keepon.scenario/1"
name = "small"
duration_s = 0.1
warmup_s = 0.0
[[station]]
name = "a"
driver = "under-test"
[[station]]
name = "b"
driver = "launchtime"
host = "tsn-end-station"
[[bridge]]
name = "br1"
[[link]]
ends = ["a", "br1"]
[[link]]
ends = ["b", "br1"]
[[stream]]
id = "F1"
talker = "a"
listeners = ["b"]
period_ns = 1_000_000
frame_bytes = 200
[compare]
drivers = ["keepon", "standard"]
"""


def with_plan(scenario: Scenario | str) -> Planned:
    """A scenario, or its text, and its plan."""
    if isinstance(scenario, str):
        scenario = parse(scenario, "scenario.toml")
    return Planned(scenario, session.planned(scenario))


@cache
def planned_example(name: str) -> Planned:
    """An example and its plan, made once: a test that changes the plan changes a copy."""
    return with_plan(load(ROOT / "examples" / f"{name}.toml"))


def apart(script: str) -> list[str]:
    """Command that runs `script` (sh, whose arguments follow) with networks and a /sys of its own.

    In a chroot nothing is mounted at /, so the propagation of mounts cannot be changed from there
    on; /sys alone is made private then.
    """
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    rooted = any(line.split()[4] == "/" for line in mounts)
    kept = [] if rooted else ["--propagation", "unchanged"]
    own = "" if rooted else "mount --make-private /sys\n"
    return [
        *("unshare", *rights, "--net", "--mount", *kept, "sh", "-ec"),
        f"{own}mount -t sysfs none /sys\n{script}", "sh",
    ]  # fmt: skip


RUN = 'exec "$@"\n'


def python_apart(script: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Python that has Keepon, and nothing but the standard library beside it, as
    the "$@" of `script`, with networks of its own (`apart`); it must end well.
    """
    done = subprocess.run(
        [*apart(script), sys.executable, "-S", "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(keepon.__file__).parents[1])},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def small(**replacements: str) -> Scenario:
    """The small scenario with pieces of its text replaced."""
    return parse(small_text(**replacements), "small.toml")


def small_text(**replacements: str) -> str:
    """Text of the small scenario; keys name what is replaced, see the call sites."""
    text = SMALL
    for old, new in replacements.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def frames(
    delays_ps: list[int | None], period_ns: int = 1_000_000, verdict: int = 0, error_ps: int = 0
) -> FrameArrays:
    """Frames of one stream with one listener and these delays; None: sent but not arrived."""
    count = len(delays_ps)
    txtime_ns = EPOCH_NS + np.arange(count, dtype=np.int64) * period_ns + 64
    txtime_ps = (txtime_ns - EPOCH_NS) * 1000
    arrival = np.array(
        [-1 if d is None else int(t) + d for t, d in zip(txtime_ps, delays_ps, strict=True)],
        dtype=np.int64,
    )
    stamps = np.where(arrival < 0, -1, EPOCH_NS + arrival // 8000 * 8)
    return FrameArrays(
        seq=np.arange(count, dtype=np.int64),
        txtime_ns=txtime_ns,
        submit_ps=txtime_ps - 100_000_000,
        verdict=np.full(count, verdict, dtype=np.int64),
        wire_ps=txtime_ps + error_ps,
        arrival_ps=arrival[np.newaxis, :],
        stamp_ns=stamps[np.newaxis, :],
        epoch_ns=EPOCH_NS,
    )


def bounds(**given: int | None) -> dict[str, int | None]:
    """The bounds of a stream in a plan; None where there is none."""
    empty: dict[str, int | None] = dict.fromkeys(
        ("release_error_ns", "delay_ns", "jitter_ns", "data_age_ns")
    )
    return {**empty, **given}
