# SPDX-License-Identifier: GPL-2.0-only
"""ptp4l between an emulated PC and an emulated Raspberry Pi 4 on one wire, both over keepon links.

How far the clocks are apart is not taken from ptp4l: frames of either station have a stamp of its
clock and an instant in the log of its wire.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from keepon_guests import GuestResult
from test_nics_paced import addresses
from twin import both, pc, pi
from wirelog import STREAM, counters, read_log

pytestmark = [pytest.mark.vm, pytest.mark.hw]

SECONDS_PTP = 10
SPREAD_NS = 1_000
FAR = re.compile(r"master offset +(-?\d+) s2 freq +[+-]?\d+ path delay +(-?\d+)")


def station(card: str, role: str, done: bool) -> dict[str, str]:
    return {
        "CARD": card, "ROLE": role, "SECONDS_PTP": str(SECONDS_PTP), "OURS": addresses("e1000e")[0],
        "INDEX_DONE": str(int(done)),
    }  # fmt: skip


def clock(result: GuestResult, log: Path) -> npt.NDArray[np.int64]:
    """Of each frame of the stream the instant on the wire and the stamp."""
    runs = [run for run in read_log(log) if run.kind == STREAM and not run.placeholder]
    frames = json.loads(result.files["talk.json"])["frames"]
    assert len(runs) == len(frames) == SECONDS_PTP * 10
    return np.array(
        [(run.start_ns, frame["tx_stamp_ns"]) for run, frame in zip(runs, frames, strict=True)],
        dtype=np.int64,
    )


def apart_ns(near: npt.NDArray[np.int64], far: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """How far the far clock is ahead, at its frames while the near one is known."""
    far = far[(far[:, 0] > near[0, 0]) & (far[:, 0] < near[-1, 0])]
    base = int(near[0, 1] - near[0, 0])
    error = [(clock[:, 1] - clock[:, 0] - base).astype(np.float64) for clock in (near, far)]
    return error[1] - np.interp(far[:, 0], near[:, 0], error[0])


@pytest.mark.parametrize(("master", "done"), [("pc", False), ("pi", True)])
def test_ptp4l_between_a_pc_and_a_pi(master: str, done: bool, tmp_path: Path) -> None:
    """No further apart than what either link says its clock may be off, which is what is not known
    between index and wire; and steadily so.
    """
    roles = {"pc": "slave", "pi": "slave", master: "master"}
    said = {name: station(name, role, done) for name, role in roles.items()}
    results = both({
        "pc": pc(tmp_path, "nics_twin.sh", said["pc"]),
        "pi": pi(tmp_path, "nics_twin.sh", said["pi"], done=done),
    })  # fmt: skip
    for result in results.values():
        assert result.check().tap.problems() == []
    slave = "pi" if master == "pc" else "pc"
    clocks = {name: clock(results[name], tmp_path / f"{name}.csv") for name in roles}
    offsets = apart_ns(clocks[master], clocks[slave])
    late = offsets[len(offsets) // 2 :]
    delays = [int(delay) for _, delay in FAR.findall(results[slave].files["ptp4l.txt"].decode())]
    assert delays, results[slave].files["ptp4l.txt"].decode()[-2000:]
    errors = {name: counters(result)["clock_error_ps"] / 1000 for name, result in results.items()}
    print(
        f"master {master}, index {done}: mean {late.mean():.0f} ns, deviation {late.std():.0f},"
        f" most {np.abs(late - late.mean()).max():.0f}; path {np.mean(delays[-50:]):.0f};"
        f" claims {errors}; {results[slave].wall_seconds:.0f} s"
    )
    assert np.abs(late).max() <= sum(errors.values())
    assert late.std() < SPREAD_NS
