# SPDX-License-Identifier: BSD-3-Clause
"""The core on a 32-bit machine: no 128-bit products, no 64-bit division.

Vector tests pass there, and streams of operations leave exactly the trace they leave on 64 bits.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from core_model.build import CORE, build_program, core_sources, rig_sources, run, stream_sources

REPLAY = Path(__file__).parent / "core_model" / "replay.c"
STREAMS = 400
SOAK_STREAMS = 20_000
WORDS = {
    "32": ["-m32", "-O2"],
    "64": ["-O2"],
    "64, sanitized": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The replay program for each kind of machine."""
    folder = Path(tmp_path_factory.mktemp("replay"))
    sources = [*core_sources(), *rig_sources(), *stream_sources(), REPLAY]
    return {
        name: build_program(sources, folder / name.replace(", ", "-"), f"replay-{name[:2]}", flags)
        for name, flags in WORDS.items()
    }


def traces(program: Path, seed: int, count: int) -> list[str]:
    """Hashes of some streams."""
    return run([program, str(seed), str(count)]).stdout.split()


def check(replays: dict[str, Path], seed: int, count: int) -> None:
    expected = traces(replays["64"], seed, count)
    assert len(expected) == count
    played = [trace for trace in expected if int(trace, 16)]
    assert len(played) > count // 2, "most streams must choose a valid configuration"
    assert len(set(played)) > len(played) * 9 // 10
    assert traces(replays["32"], seed, count) == expected


@pytest.mark.slow
def test_streams_leave_the_same_trace(replays: dict[str, Path]) -> None:
    check(replays, 1, STREAMS)


@pytest.mark.slow
def test_streams_break_nothing_under_sanitizers(replays: dict[str, Path]) -> None:
    assert traces(replays["64, sanitized"], 2, STREAMS) == traces(replays["64"], 2, STREAMS)


@pytest.mark.slow
def test_vectors_on_32_bits(tmp_path: Path) -> None:
    sources = [*core_sources(), *sorted((CORE / "selftest").glob("*.c"))]
    program = build_program(sources, tmp_path, "selftest", ["-m32", "-O2"])
    assert ", 0 failed" in run([program]).stdout


@pytest.mark.slow
def test_no_64_bit_helpers(tmp_path: Path) -> None:
    """The objects of the core ask for nothing but memory functions of libc and each other."""
    build_program(
        [*core_sources(), *rig_sources(), *stream_sources(), REPLAY],
        tmp_path,
        "replay",
        ["-m32", "-ffreestanding"],
    )
    wanted: set[str] = set()
    for source in core_sources():
        lines = run(["nm", "-u", tmp_path / f"{source.stem}.o"]).stdout.splitlines()
        wanted |= {line.split()[-1] for line in lines}
    foreign = {name for name in wanted if not name.startswith("kpn_")}
    assert foreign <= {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_"} | {
        name for name in foreign if name.startswith("__x86.get_pc_thunk")
    }


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10, 20))
def test_streams_leave_the_same_trace_soak(replays: dict[str, Path], seed: int) -> None:
    check(replays, seed, SOAK_STREAMS)
