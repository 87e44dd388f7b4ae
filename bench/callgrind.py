# SPDX-License-Identifier: BSD-3-Clause
"""Instructions under callgrind: what bench_core.py, bench_clock.py and bench_tcp.py share.

The core is compiled as for a kernel module: gcc -O2 -ffreestanding, one archive, assertions on. A
driver, bench/core/NAME.c, repeats one operation and collects only while it runs. Counts are
deterministic: what one compiler makes costs the same in every run.
"""

from __future__ import annotations

import platform
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "out" / "build" / "bench-core"
INCLUDES = [f"-I{ROOT / 'core' / 'include'}", f"-I{ROOT / 'core' / 'platform' / 'user'}"]
CORE_FLAGS = ["-std=c11", "-O2", "-g", "-ffreestanding", "-Wall", "-Wextra", *INCLUDES]
BENCH_FLAGS = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", *INCLUDES]


class BenchError(Exception):
    """A step of the benchmark failed; the text says which."""


@dataclass(frozen=True)
class Run:
    """One run of a driver: instructions by function, and what it says happened."""

    instructions: dict[str, int]
    operations: int
    trims: int
    bytes: int

    def per_operation(self, functions: set[str]) -> float:
        return sum(self.instructions.get(name, 0) for name in functions) / self.operations


def command(arguments: list[str | Path], cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(
            [str(argument) for argument in arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise BenchError(
            f"{arguments[0]} is not installed; run: apt-get install gcc valgrind"
        ) from error
    if done.returncode:
        raise BenchError(
            f"{' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stderr.strip()}"
        )
    return done.stdout


def plain(name: str) -> str:
    """Function without the suffix of a clone the compiler made (.part.0, .constprop.0)."""
    return name.split(".")[0]


@cache
def archive() -> Path:
    """The core, compiled."""
    BUILD.mkdir(parents=True, exist_ok=True)
    objects = []
    for source in sorted((ROOT / "core" / "src").glob("*.c")):
        objects.append(BUILD / f"{source.stem}.o")
        command(["gcc", *CORE_FLAGS, "-c", source, "-o", objects[-1]])
    path = BUILD / "libkeepon_core.a"
    path.unlink(missing_ok=True)
    command(["ar", "rcs", path, *objects])
    return path


def build(name: str) -> tuple[Path, set[str]]:
    """Compile driver `name`; its path and the names of the core's functions."""
    core, driver = archive(), BUILD / name
    source = ROOT / "bench" / "core" / f"{name}.c"
    # Static: valgrind starts it in a third of the time.
    command(["gcc", *BENCH_FLAGS, "-static", source, core, "-o", driver])
    symbols = [line.split() for line in command(["nm", "--defined-only", core]).splitlines()]
    return driver, {plain(words[2]) for words in symbols if len(words) == 3 and words[1] in "tT"}


def library(name: str) -> Path:
    """Compile bench/NAME.c to a library that a Python program loads."""
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{name}.so"
    command(["gcc", *BENCH_FLAGS, "-shared", "-fPIC", ROOT / "bench" / f"{name}.c", "-o", path])
    return path


def self_costs(profile: Path) -> dict[str, int]:
    """Instructions each function executed itself, from a callgrind profile without compressed
    names.
    """
    costs: dict[str, int] = {}
    function = ""
    skip = False
    for line in profile.read_text(encoding="utf-8").splitlines():
        if line.startswith("fn="):
            function = plain(line[3:])
        elif line.startswith("calls="):
            skip = True  # the next line is the cost of the callee
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            words = line.split()
            if not skip and len(words) > 1:
                costs[function] = costs.get(function, 0) + int(words[1])
            skip = False
    return costs


@cache
def run(driver: Path, scenario: tuple[str | int, ...]) -> Run:
    profile = BUILD / "callgrind.out"
    options = [
        "--tool=callgrind",
        "--collect-atstart=no",
        "--compress-strings=no",
        "--compress-pos=no",
    ]
    words = command(
        [
            "valgrind",
            *options,
            f"--callgrind-out-file={profile}",
            driver,
            *[str(value) for value in scenario],
        ]
    ).split()
    return Run(self_costs(profile), int(words[1]), int(words[3]), int(words[5]))


def counted(arguments: list[str | Path]) -> tuple[str, list[int]]:
    """What a program printed, and the instructions of each of its pairs of collect_begin() and
    collect_end() (bench/collect.c).
    """
    with tempfile.TemporaryDirectory(prefix="keepon-bench-") as folder:
        options = ["--tool=callgrind", "--instr-atstart=no"]
        out = Path(folder) / "out"
        printed = command(["valgrind", *options, f"--callgrind-out-file={out}", *arguments])
        # The one that is written at the end has no number.
        files = sorted(Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        totals = [re.search(r"^totals: (\d+)$", path.read_text(), re.MULTILINE) for path in files]
        return printed, [int(found[1]) for found in totals if found]


def versions() -> dict[str, str]:
    """What the counts depend on, and what counted."""
    return {
        "compiler": command(["gcc", "--version"]).splitlines()[0],
        "machine": platform.machine(),
        "valgrind": command(["valgrind", "--version"]).strip(),
    }
