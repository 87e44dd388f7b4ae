# SPDX-License-Identifier: BSD-3-Clause
"""Every benchmark is built, and what the core, its clock and the simulator's TCP cost is what was
recorded.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import warnings
from pathlib import Path

import bench_costs
import bench_kernel
import callgrind
import ns3_peer
import pytest
from keepon_guests import build_modules, get_kernel

BENCH = Path(__file__).resolve().parents[1] / "bench"
IDLE = ("done", "idle", 8, 400, 0)


@pytest.mark.slow
def test_costs_are_as_recorded() -> None:
    recorded = json.loads(bench_costs.RECORD.read_text())
    found, here = bench_costs.measured(), bench_costs.compiled_by()
    there = {key: recorded[key] for key in here}
    if here != there:
        warnings.warn(
            f"costs are not compared: recorded with {there}, here is {here}", stacklevel=1
        )
        return
    wrong = bench_costs.differences(recorded["figures"], found)
    assert not wrong, "\n".join([*wrong, "If that is meant: make bench-costs"])


@pytest.mark.parametrize(
    ("measured", "held"), [(98.1, True), (101.9, True), (97.9, False), (102.1, False)]
)
def test_a_cost_is_held_within_two_percent(measured: float, held: bool) -> None:
    assert (bench_costs.differences({"x": 100.0}, {"x": measured}) == []) == held


def test_a_cost_that_is_not_recorded_or_not_measured_is_found() -> None:
    assert len(bench_costs.differences({"x": 1.0}, {"y": 1.0})) == 2


@pytest.mark.slow
def test_a_run_counts_the_same_again_and_a_longer_one_as_much_an_operation() -> None:
    driver, core = callgrind.build("core_cost")
    short, again = (callgrind.run.__wrapped__(driver, IDLE) for _ in range(2))
    long = callgrind.run(driver, (*IDLE[:3], 10 * IDLE[3], 0))
    assert short == again
    assert short.per_operation(core) == pytest.approx(long.per_operation(core), rel=0.01)


@pytest.mark.slow
def test_what_is_not_measured_is_not_counted() -> None:
    text = "import ctypes, sys\ncount = ctypes.CDLL(sys.argv[1])\n"
    for begin, end in ((0, 1_000), (1_000, 3_000)):
        text += f"sum(range({100 * end}))\n"
        text += f"count.collect_begin(); sum(range({begin}, {end})); count.collect_end()\n"
    library = callgrind.library("collect")
    _, (once, twice) = callgrind.counted([sys.executable, "-c", text, library])
    assert 1.5 * once < twice < 2.5 * once


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCH.glob("bench_*.py")))
def test_every_benchmark_is_importable(name: str) -> None:
    assert callable(importlib.import_module(name).main)


@pytest.mark.vm
def test_kernel_modules_of_benchmarks_compile() -> None:
    folders = [bench_kernel.NATIVE, *sorted(path.parent for path in BENCH.glob("kernel/*/Kbuild"))]
    modules = build_modules(get_kernel(bench_kernel.FAMILY), folders, build_root=bench_kernel.BUILD)
    assert {module.stem for module in modules} >= {"keepon_meter", "keepon_plain"}


def test_the_program_for_ns3_compiles() -> None:
    absent = ns3_peer.absent()
    if absent:
        warnings.warn(absent, stacklevel=1)
        return
    assert ns3_peer.build().is_file()


@pytest.mark.parametrize("path", sorted(BENCH.glob("*.py")), ids=lambda path: path.stem)
def test_no_benchmark_measures_wall_time(path: Path) -> None:
    """It is longer on a machine that is shared."""
    assert not re.search(r"perf_counter|time\.time\b", path.read_text())
