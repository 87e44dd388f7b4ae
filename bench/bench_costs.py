# SPDX-License-Identifier: BSD-3-Clause
"""The costs that `make test` holds, measured again: prints what has changed, writes
bench/costs.json, which is committed.

They are the counts of bench-core, bench-clock and bench-tcp, without those of the C library's
memset and memcpy, which depend on the CPU. Counts depend on the compiler: it is recorded beside
them, and they are compared with those of the same one alone (tests/test_benchmarks.py).
"""

from __future__ import annotations

import json
import sys

import bench_clock
import bench_core
import bench_tcp
from callgrind import ROOT, BenchError, versions

RECORD = ROOT / "bench" / "costs.json"
TOLERANCE = 0.02
OF_THE_C_LIBRARY = ("memset", "memcpy")
COMPILED_BY = ("compiler", "machine")


def flat(node: object, name: str = "") -> dict[str, float]:
    """Figures of a tree by the path of their names."""
    if not isinstance(node, dict):
        return {name: float(str(node))}
    found: dict[str, float] = {}
    for key, below in node.items():
        if key not in OF_THE_C_LIBRARY:
            found |= flat(below, f"{name}.{key}" if name else key)
    return found


def measured() -> dict[str, float]:
    """Every figure, by benchmark and name."""
    return flat(
        {
            "core": bench_core.measured(),
            "clock": bench_clock.measured(),
            "tcp": bench_tcp.measured(),
        }
    )


def compiled_by() -> dict[str, str]:
    return {key: versions()[key] for key in COMPILED_BY}


def differences(recorded: dict[str, float], found: dict[str, float]) -> list[str]:
    """What is not within the tolerance, one line a figure."""
    lines = []
    for name in sorted(recorded.keys() | found.keys()):
        before, after = recorded.get(name), found.get(name)
        if before is None or after is None or abs(after - before) > TOLERANCE * before:
            lines.append(f"{name}: recorded {before}, measured {after}")
    return lines


def main() -> int:
    try:
        found, tools = measured(), compiled_by()
    except BenchError as error:
        print(f"bench costs: {error}", file=sys.stderr)
        return 3
    if RECORD.is_file():
        for line in differences(json.loads(RECORD.read_text())["figures"], found):
            print(line)
    document = {"schema": "keepon.bench/1", "name": "costs", **tools, "figures": found}
    RECORD.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{tools['compiler']}, {len(found)} figures; {RECORD.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
