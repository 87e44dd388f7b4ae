# SPDX-License-Identifier: BSD-3-Clause
"""`keepon plan` as a whole, from reading the file to the last line, of many streams with launch
times.

Six periods, so that gate lists and hyperperiods are long. Without gates the bridges are a ring.
With gates each is also linked to the fourth and the opposite one: on a ring alone gate lists would
have more entries than any bridge. ETF's delta is long enough for a driver that is handed the frames
of twenty streams at once.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

PERIODS_MS = (1, 2, 4, 5, 8, 10)
BRIDGES = 20
STATIONS_PER_BRIDGE = 4
SIZES = ((1024, "none", 5.0), (1024, "auto", 5.0), (2048, "none", 15.0), (2048, "auto", 15.0))
"""Streams, gates, and the goal in CPU seconds."""
MEMORY_TARGET_MB = 1000
LIMIT_S = 60


_COMMAND = """
import sys
from pathlib import Path
from keepon.cli.app import main
code = main()
print("peak", Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
sys.exit(code)
"""
"""The command; what wait4 says of memory begins with that of who started it."""


def _links(chords: bool) -> list[tuple[int, int]]:
    apart = (1, 4, BRIDGES // 2) if chords else (1,)
    pairs = {frozenset((one, (one + step) % BRIDGES)) for one in range(BRIDGES) for step in apart}
    return sorted((min(pair), max(pair)) for pair in pairs)


def text(streams: int, gates: str, seed: int) -> str:
    """A scenario, as a user would write it."""
    draw = random.Random(seed)
    parts = [f'schema = "keepon.scenario/1"\nname = "six-periods-{streams}"']
    parts += [f'[[bridge]]\nname = "b{number}"\ngates = "{gates}"' for number in range(BRIDGES)]
    parts += [f'[[link]]\nends = ["b{one}", "b{other}"]' for one, other in _links(gates != "none")]
    stations = [f"s{number}" for number in range(BRIDGES * STATIONS_PER_BRIDGE)]
    for number, name in enumerate(stations):
        parts.append(f'[[station]]\nname = "{name}"\ndriver = "launchtime"\netf_delta_ns = 500_000')
        parts.append(f'[[link]]\nends = ["{name}", "b{number % BRIDGES}"]')
    for number in range(streams):
        talker, listener = draw.sample(stations, 2)
        parts.append(
            f'[[stream]]\nid = "F{number}"\ntalker = "{talker}"\nlisteners ='
            f' ["{listener}"]\nperiod_ns = {1_000_000 * draw.choice(PERIODS_MS)}\nframe_bytes ='
            f" {draw.randint(64, 400)}\npriority = {draw.choice((4, 5, 6))}\nadvance_ns = 900_000"
        )
    return "\n".join(parts)


def _run(words: list[str]) -> tuple[str, float, float]:
    """What a command printed, its CPU seconds and its peak memory in MB."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        command = [sys.executable, "-c", _COMMAND, *words]
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0  # waited for
        printed.seek(0)
        text, _, peak_kb = printed.read().rpartition("peak ")
        return text, used.ru_utime + used.ru_stime, int(peak_kb) / 1024


def measure(seed: int) -> list[dict[str, object]]:
    """CPU seconds and peak memory of each size; feasible is what was checked and tried."""
    rows: list[dict[str, object]] = []
    for streams, gates, target_s in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scenario.toml"
            path.write_text(text(streams, gates, seed), encoding="utf-8")
            printed, seconds, memory_mb = _run(["plan", str(path), "--time-limit", str(LIMIT_S)])
        tried = "frames within every bound" in printed
        rows.append(
            {
                "streams": streams,
                "gates": gates,
                "status": "tried" if tried else printed.strip().splitlines()[-1][:200],
                "cpu_seconds": round(seconds, 2),
                "memory_mb": round(memory_mb),
                "target_seconds": target_s,
                "target_mb": MEMORY_TARGET_MB,
                "met": tried and seconds < target_s and memory_mb < MEMORY_TARGET_MB,
            }
        )
    return rows
