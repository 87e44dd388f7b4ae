# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the clock in instructions per mode, under callgrind: prints a table, writes
out/bench/clock.json.

What is counted (how: callgrind.py):
  read      everything within kpn_pacer_gettime() or kpn_dual_gettime().
  observe   counter, interpolated: a whole idle poll, two readings of the CPU counter, doorbell and
            posting included; dual, published: one reading of the receive index that showed one
            frame and, published, the correction.
  frame     what each further frame of a reading costs (kpn_rx_take()).
  stamp     kpn_dual_stamp() of a received frame.
Exit code 0 if every run was as meant, whether targets are met or not: the table says which are.
"""

from __future__ import annotations

import json
import sys

from callgrind import CORE_FLAGS, ROOT, BenchError, build, run, versions

RESULT = ROOT / "out" / "bench" / "clock.json"
MODES = ("counter", "interpolated", "dual", "published")
COUNT = 4000
FRAMES = 8
MANY_FRAMES = 64
READ_TARGET = 60
OBSERVE_TARGET = 120


def measured() -> dict[str, dict[str, float]]:
    """Figure by mode."""
    driver, core = build("clock_cost")
    everything = core | {
        "bench_cpu_ns",
        "bench_read_index",
        "bench_doorbell",
        "bench_set_length",
        "take",
    }

    def cost(operation: str, mode: str, frames: int) -> float:
        return run(driver, (operation, MODES.index(mode), COUNT, frames)).per_operation(everything)

    one = {mode: cost("observe", mode, 1) for mode in ("dual", "published")}
    many = {mode: cost("observe", mode, MANY_FRAMES) for mode in one}
    polls = {mode: cost("observe", mode, FRAMES) for mode in ("counter", "interpolated")}
    return {
        "read_instructions": {mode: round(cost("read", mode, FRAMES), 1) for mode in MODES},
        "observe_instructions": {mode: round(value, 1) for mode, value in {**polls, **one}.items()},
        "frame_instructions": {
            mode: round((many[mode] - one[mode]) / (MANY_FRAMES - 1), 1) for mode in one
        },
        "stamp_instructions": {mode: round(cost("stamp", mode, FRAMES), 1) for mode in one},
    }


def main() -> int:
    try:
        found = measured()
        tools = versions()
    except BenchError as error:
        print(f"bench clock: {error}", file=sys.stderr)
        return 3
    targets = {"read_instructions": READ_TARGET, "observe_instructions": OBSERVE_TARGET}
    met = {
        f"{figure}.{mode}": value <= targets[figure]
        for figure in targets
        for mode, value in found[figure].items()
    }
    document = {
        "schema": "keepon.bench/1",
        "name": "clock",
        **found,
        "slots_per_poll": FRAMES,
        "targets": targets,
        "met": met,
        "flags": [flag for flag in CORE_FLAGS if not flag.startswith("-I")],
        **tools,
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    names = [f"{figure}.{mode}" for figure, modes in found.items() for mode in modes]
    width = max(map(len, names))
    print(f"{'figure':{width}}  {'value':>8}  {'target':>7}")
    for figure, modes in found.items():
        for mode, value in modes.items():
            name = f"{figure}.{mode}"
            verdict = (
                f"{targets[figure]:7d}  {'met' if met[name] else 'MISSED'}"
                if figure in targets
                else ""
            )
            print(f"{name:{width}}  {value:8.1f}  {verdict}".rstrip())
    print(f"{tools['compiler']}; {RESULT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
