# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the core in instructions, under callgrind: prints a table, writes out/bench/core.json.

`core/core_cost.c` drives it on the plainest backend there can be (how: callgrind.py).

What is counted: Everything is measured for both kinds of index, of what is done and of what was
fetched. idle poll   everything within kpn_pacer_poll(): two readings of the CPU counter, the index,
the strip, the doorbell. insert      kpn_pacer_submit() of a scheduled frame: the core's functions,
without memcpy, heap and backend calls. inserted    as idle poll, without memset, the backend's
stores to descriptors and the caller's outcome call. trim        slope of the same over runs with
different numbers of trims. padding     a frame of some length placed in a slot whose last frame had
another, and a poll that completes one frame, with padding deferred and on demand: the core's
functions, and beside them memset and memcpy. long        a frame of 1518 bytes in slots of 105:
as insert, and a poll that completes one less an idle poll, without the FCS.
Exit code 0 if every run was as meant, whether targets are met or not: the table says which are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from callgrind import CORE_FLAGS, ROOT, BenchError, Run, build, command, run, versions

RESULT = ROOT / "out" / "bench" / "core.json"
BATCHES = (1, 8, 64, 512)
INSERTED = (0, 1, 2, 4, 8)
COUNT = 4000
IDLE_TARGET = 120
INSERT_TARGET = 250
INSERTED_TARGETS = {0: 120, 1: 220, 2: 265, 4: 355, 8: 535}
TRIM_TARGET = 80
STATE_BYTES_TARGET = 64
OBSERVATION = ("bench_cpu_ns", "bench_read_index", "bench_doorbell")
INDICES = ("done", "fetch")
PADDINGS = ("deferred", "on-demand")
LENGTHS = (60, 200, 1196)  # without FCS
FCS_BYTES = 4
LONG_SLOTS = {"fragments": (128, 13), "one-buffer": (1, 36)}  # buffers at most, slots it takes
LONG_TARGETS = (250, 60)  # of insertion: at all, and for each slot; of completion each slot
HEAP = ("kpn_prebuffer_", "sift_", "sooner")


def pacer_bytes(driver: Path, ring_slots: int) -> int:
    return int(command([driver, "done", "bytes", str(ring_slots), "0", "0"]).split()[5])


def split(one: Run, core: set[str]) -> dict[str, float]:
    """Instructions of an operation: the core's own, and of zeroing and copying, which depend on the
    C library.
    """
    names = {
        "own": core,
        **{
            kind: {name for name in one.instructions if kind in name}
            for kind in ("memset", "memcpy")
        },
    }
    return {name: round(one.per_operation(functions), 1) for name, functions in names.items()}


def measure_padding(
    driver: Path, core: set[str], index: str
) -> dict[str, dict[str, dict[str, float]]]:
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for padding in PADDINGS:
        row = rows[padding] = {}
        for bytes_ in LENGTHS:
            for before in (bytes_, max(LENGTHS)):
                frames = bytes_ + FCS_BYTES, COUNT, before + FCS_BYTES
                row[f"place_{bytes_}_after_{before}"] = split(
                    run(driver, (index, f"place-{padding}", *frames)), core
                )
            row[f"sent_{bytes_}"] = split(
                run(driver, (index, f"sent-{padding}", bytes_ + FCS_BYTES, COUNT, 0)), core
            )
    return rows


def measure(driver: Path, core: set[str], index: str) -> dict[str, object]:
    whole_poll = core | {"bench_cpu_ns", "bench_read_index", "bench_doorbell", "bench_set_length"}
    poll = core | set(OBSERVATION)
    insert = {name for name in core if not name.startswith(HEAP)}

    idle = {
        str(batch): round(
            run(driver, (index, "idle", batch, COUNT, 0)).per_operation(whole_poll), 1
        )
        for batch in BATCHES
    }
    idle_drift: dict[str, dict[str, float]] = {}
    for batch in BATCHES:
        runs = {ppm: run(driver, (index, "idle", batch, COUNT, ppm * 1000)) for ppm in (50, -50)}
        idle_drift[str(batch)] = {
            f"{ppm:+d}_ppm": round(one.per_operation(whole_poll), 1) for ppm, one in runs.items()
        }
        idle_drift[str(batch)]["trims_per_poll"] = round(runs[50].trims / COUNT, 3)
    many = run(driver, (index, "idle", 64, COUNT, 50_000))
    few = run(driver, (index, "idle", 64, COUNT, 25_000))
    trim = (many.per_operation(poll) - few.per_operation(poll)) * COUNT / (many.trims - few.trims)
    inserted = {
        str(count): round(run(driver, (index, "complete", count, COUNT, 0)).per_operation(poll), 1)
        for count in INSERTED
    }
    long = {
        way: {
            "insert": round(
                run(driver, (index, "long-insert", buffers, COUNT, 0)).per_operation(insert), 1
            ),
            "poll": round(
                run(driver, (index, "long-sent", buffers, COUNT, 0)).per_operation(poll), 1
            ),
        }
        for way, (buffers, _) in LONG_SLOTS.items()
        if index == "done"  # a fetch index says less, and polls do not all complete as much
    }
    small, large = 8, 4096
    return {
        "idle_poll_instructions": idle,
        "idle_poll_instructions_drift": idle_drift,
        "insert_instructions": round(
            run(driver, (index, "insert", 1, COUNT, 0)).per_operation(insert), 1
        ),
        "insert_instructions_drift": round(
            run(driver, (index, "insert", 1, COUNT, 50_000)).per_operation(insert), 1
        ),
        "poll_instructions_by_inserted": inserted,
        "long_frame_instructions": long,
        "trim_instructions": round(trim, 1),
        "padding_instructions": measure_padding(driver, core, index),
        "state_bytes_per_descriptor": (pacer_bytes(driver, large) - pacer_bytes(driver, small))
        / (large - small),
    }


def figures(measured: dict[str, object]) -> list[tuple[str, float, float]]:
    """(figure, value, target) in the order of the table."""
    idle = measured["idle_poll_instructions"]
    inserted = measured["poll_instructions_by_inserted"]
    assert isinstance(idle, dict) and isinstance(inserted, dict)
    rows = [
        (f"idle_poll_instructions.{batch}", float(value), float(IDLE_TARGET))
        for batch, value in idle.items()
    ]
    rows.append(
        ("insert_instructions", float(str(measured["insert_instructions"])), float(INSERT_TARGET))
    )
    for count, value in inserted.items():
        target = float(INSERTED_TARGETS[int(count)])
        rows.append((f"poll_instructions_by_inserted.{count}", float(value), target))
    rows.append(
        ("trim_instructions", float(str(measured["trim_instructions"])), float(TRIM_TARGET))
    )
    long = measured["long_frame_instructions"]
    assert isinstance(long, dict)
    for way, counts in long.items():
        slots = LONG_SLOTS[way][1]
        least, each = LONG_TARGETS
        rows.append((f"long_insert.{way}", float(counts["insert"]), float(least + each * slots)))
        sent = float(counts["poll"]) - float(idle["8"])
        rows.append((f"long_sent.{way}", round(sent, 1), float(each * slots)))
    bytes_ = float(str(measured["state_bytes_per_descriptor"]))
    rows.append(("state_bytes_per_descriptor", bytes_, float(STATE_BYTES_TARGET)))
    return rows


def print_padding(rows: object) -> None:
    assert isinstance(rows, dict)
    print("padding: own instructions + memset + memcpy of the C library")
    for name in rows[PADDINGS[0]]:
        cells = [
            " + ".join(f"{value:.0f}" for value in rows[padding][name].values())
            for padding in PADDINGS
        ]
        print(
            f"  {name:21}"
            + "".join(
                f"  {padding} {cell:18}" for padding, cell in zip(PADDINGS, cells, strict=True)
            )
        )


def print_index(index: str, measured: dict[str, object]) -> None:
    rows = figures(measured)
    width = max(len(name) for name, _, _ in rows)
    print(f"{'index of ' + index:{width}}  {'value':>8}  {'target':>7}")
    for name, value, target in rows:
        print(
            f"{name:{width}}  {value:8.1f}  {target:7.0f}  {'met' if value <= target else 'MISSED'}"
        )
    print("idle polls while the clock is off by 50 ppm (trims included):")
    drift = measured["idle_poll_instructions_drift"]
    assert isinstance(drift, dict)
    for batch, row in drift.items():
        print(f"  batch {batch:>3}: " + ", ".join(f"{key} {value}" for key, value in row.items()))
    print(f"insert while the clock is off by 50 ppm: {measured['insert_instructions_drift']}")
    print_padding(measured["padding_instructions"])


def measured() -> dict[str, dict[str, object]]:
    """All of it, by what moves the index."""
    driver, core = build("core_cost")
    return {index: measure(driver, core, index) for index in INDICES}


def main() -> int:
    try:
        found = measured()
        tools = versions()
    except BenchError as error:
        print(f"bench core: {error}", file=sys.stderr)
        return 3
    rows = [
        (f"{index}.{name}", value, target)
        for index in INDICES
        for name, value, target in figures(found[index])
    ]
    document = {
        "schema": "keepon.bench/1",
        "name": "core",
        **found,
        "targets": {name: target for name, _, target in rows},
        "met": {name: value <= target for name, value, target in rows},
        "flags": [flag for flag in CORE_FLAGS if not flag.startswith("-I")],
        **tools,
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for index in INDICES:
        print_index(index, found[index])
    print(f"{tools['compiler']}; {RESULT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
