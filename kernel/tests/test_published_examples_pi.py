# SPDX-License-Identifier: GPL-2.0-only
"""The examples of the KeepON paper's artifact appendix on an emulated Raspberry Pi 4, the card they
were written for, by its own tc and sender commands; the judge is the log of the wire.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from keepon.targets.vm import observations, programs
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from test_nics_genet import board, emulator
from test_published_examples import PACINGS, near_multiples
from wirelog import read_log

pytestmark = [pytest.mark.vm, pytest.mark.hw]

HERE = Path(__file__).parent
Wire = dict[str, npt.NDArray[np.int64]]


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> tuple[GuestResult, Wire]:
    """The run, and of each stream the distances of its frames on the wire, in ps."""
    log = tmp_path_factory.mktemp("examples") / "wire.csv"
    kernel = get_kernel("6.1", "arm64")
    folders = [HERE.parent / name for name in ("native", "nics/genet", "keepon")]
    result = run_guest(
        kernel, HERE / "published_examples.sh", programs.guest_files(kernel.machine),
        modules=build_modules(kernel, folders), tools=programs.tools(kernel.machine),
        environment={"WIRE": "pi", "RING": "64", "PACING": PACINGS["own"], "EXAMPLES": "1 2"},
        qemu=emulator(), qemu_args=board(log, prefetch=4), icount_shift=0, timeout_s=1800,
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    names = [name.removesuffix(".json") for name in result.files if name.endswith(".json")]
    starts: dict[int, list[int]] = {observations.stream_hash(name): [] for name in names}
    for run in read_log(log):
        if run.stream in starts and not run.placeholder:
            starts[run.stream].append(run.start_ns * 1000)
    return result, {
        name: np.diff(np.array(starts[observations.stream_hash(name)], dtype=np.int64))
        for name in names
    }


@pytest.mark.parametrize(("name", "period_us"), [("example1", 100), ("example3", 1000)])
def test_every_frame_leaves_at_its_distance(
    guest: tuple[GuestResult, Wire], name: str, period_us: int
) -> None:
    gaps = guest[1][name]
    assert len(gaps) == 399
    assert np.all(near_multiples(gaps, period_us) == 1)


@pytest.mark.parametrize(("name", "period_us"), [("example2-tc0", 320), ("example2-tc1", 160)])
def test_example_2_reaches_its_periods_in_relaxed_mode(
    guest: tuple[GuestResult, Wire], name: str, period_us: int
) -> None:
    counts = near_multiples(guest[1][f"{name}-relaxed"], period_us)
    assert len(counts) > 100
    assert np.mean(counts == 1) > 0.95


@pytest.mark.parametrize(("name", "period_us"), [("example2-tc0", 1600), ("example2-tc1", 800)])
def test_example_2_sends_only_in_own_slots_in_strict_mode(
    guest: tuple[GuestResult, Wire], name: str, period_us: int
) -> None:
    near_multiples(guest[1][f"{name}-strict"], period_us)
    counters = observations.read_counters(guest[0].files["example2-strict.stats"].decode())
    assert counters["verdict_not_allowed"] > 600


def test_best_effort_of_example_2_keeps_to_slots(guest: tuple[GuestResult, Wire]) -> None:
    for late in ("relaxed", "strict"):
        gaps = guest[1][f"example2-tc2-{late}"]
        assert len(gaps) == 399
        near_multiples(gaps, 10)
