# SPDX-License-Identifier: BSD-3-Clause
"""CPU time to decide partition problems, ours beside Z3 and CP-SAT alone: prints a table, writes
out/bench/planner.json.

One process, the same instances, each made from the seed with the parameters of KeepON paper section
A.8, Table 5:
  decided, wrong   of 20 instances per utilisation level, answered by us alone; wrong: rejected by
                   the independent checker or contradicted by CP-SAT alone or Z3 with booleans.
  median_ratio_*   over a sample of --instances of them, spread over the levels: time of the peer by
  ours. cpsat_median_ratio_vs_z3   time of Z3 in the published encoding by CP-SAT alone, at
  utilisations from 25 % on. networks         streams over a ring of bridges: releases, routes and
  gate lists of all (planner_networks.py).
A peer that reaches its cap, 30 s of wall time, is censored: ratios with it are lower bounds.
Exit code 0 if every answer is right, whether targets are met or not: the table says which are.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import planner_networks
import planner_whole
from keepon.planner.partition.check import REJECTED, check
from keepon.planner.partition.files import answered
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import UNKNOWN, Problem, parse
from keepon.planner.partition.solve import decide
from keepon_papers.partitions.generate import Parameters, generate
from planner_peers import cpsat_alone, z3_boolean, z3_published

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "out" / "bench" / "planner.json"
SEED = 5
PER_LEVEL = 20
OURS_CAP_S = 30.0
PEER_CAP_S = 30.0
REPEATS = 5
DENSE_PERCENT = 25
TARGETS = {
    "median_ratio_vs_z3": 1000,
    "cpsat_median_ratio_vs_z3": 20,
    "median_ratio_vs_z3_boolean": 100,
}
SCALE_TARGET_S = 1.0

Peer = Callable[[Problem, float], str]
PEERS: dict[str, Peer] = {
    "z3_published": z3_published,
    "z3_boolean": z3_boolean,
    "cpsat_alone": cpsat_alone,
}
EXACT_PEERS = ("z3_boolean", "cpsat_alone")


def timed(action: Callable[[], str]) -> tuple[str, float]:
    """An answer and its CPU time; none of the solvers works anywhere but in this process."""
    begin = time.process_time()
    answer = action()
    return answer, time.process_time() - begin


def ours(problem: Problem) -> tuple[str, float]:
    """Answer, and the median time of a few repetitions where it is so short that one alone says
    little.
    """
    answer, seconds = timed(lambda: decide(problem, Limits(time.monotonic() + OURS_CAP_S)).answer)
    if seconds < 0.1:
        seconds = statistics.median(
            timed(lambda: decide(problem, Limits()).answer)[1] for _ in range(REPEATS)
        )
    return answer, seconds


def sample(count: int, total: int) -> list[int]:
    """`count` positions spread evenly over the instances, which stand in the order of
    their levels.
    """
    return [(2 * k + 1) * total // (2 * count) for k in range(count)]


def scale_seconds() -> tuple[str, float]:
    """128 streams with jitter, 8 classes, a partition period of 512 slots and periods that are no
    chain.
    """
    periods = (320, 480, 640, 960)
    flows = [
        {
            "flow": k,
            "class": k % 8,
            "period_us": 10 * periods[k * 7 % 4],
            "jitter_us": 10 * (10 + k % 3 * 10),
        }
        for k in range(128)
    ]
    case = {"id": "period-512", "slot_us": 10, "ring_slots": 512, "n_classes": 8, "flows": flows}
    return ours(parse(case, "bench", 0))


def decide_all(
    instances: list[dict[str, object]], problems: list[Problem]
) -> tuple[list[tuple[str, float]], list[str]]:
    """Our answers and times, and the ids of those the checker rejects."""
    results, wrong = [], []
    for case, problem in zip(instances, problems, strict=True):
        answer, seconds = ours(problem)
        row = answered(case, problem, decide(problem, Limits(time.monotonic() + OURS_CAP_S)))
        if check(row).state == REJECTED:
            wrong.append(problem.name)
        results.append((answer, seconds))
    return results, wrong


def median_ratio(rows: list[dict[str, object]], slower: str, faster: str) -> float:
    return round(statistics.median(row[slower] / row[faster] for row in rows), 1)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--instances",
        type=int,
        default=10,
        help="sample the peers are timed on; default %(default)s",
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, help="of the instances; default %(default)s"
    )
    options = parser.parse_args()
    instances = generate(Parameters(per_level=PER_LEVEL), options.seed)["instances"]
    if not 1 <= options.instances <= len(instances):
        parser.error(
            f"--instances = {options.instances}: must be between 1 and {len(instances)}; choose one"
            " in this range"
        )
    problems = [parse(case, "bench", position) for position, case in enumerate(instances)]
    decide(problems[0], Limits())
    results, wrong = decide_all(instances, problems)
    scale_answer, scale_s = scale_seconds()
    networks, rejected = planner_networks.measure(options.seed)
    wrong += rejected
    whole = planner_whole.measure(options.seed)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    rows: list[dict[str, object]] = []
    for position in sample(options.instances, len(problems)):
        case, (answer, seconds) = instances[position], results[position]
        row: dict[str, object] = {"id": case["id"], "util_percent": case["util_actual_percent"],
        "answer": answer,
                                  "ours": seconds, "censored": []}  # fmt: skip
        for name, peer in PEERS.items():
            found, row[name] = timed(
                lambda peer=peer, position=position: peer(problems[position], PEER_CAP_S)
            )
            if found == UNKNOWN:
                row["censored"].append(name)
            elif name in EXACT_PEERS and UNKNOWN not in (answer, found) and found != answer:
                wrong.append(problems[position].name)
        rows.append(row)
        line = "  ".join(
            f"{name} {row[name]:8.3f} s{'+' if name in row['censored'] else ' '}" for name in PEERS
        )
        print(f"{row['id']:14} {answer:18} ours {1000 * seconds:8.3f} ms  {line}", flush=True)

    dense = [row for row in rows if row["util_percent"] >= DENSE_PERCENT - 1]
    ratios = {
        "median_ratio_vs_z3": median_ratio(rows, "z3_published", "ours"),
        "cpsat_median_ratio_vs_z3": median_ratio(dense, "z3_published", "cpsat_alone")
        if dense
        else None,
        "median_ratio_vs_z3_boolean": median_ratio(rows, "z3_boolean", "ours"),
        "median_ratio_vs_cpsat": median_ratio(rows, "cpsat_alone", "ours"),
    }
    met = {
        name: ratios[name] is not None and ratios[name] >= target
        for name, target in TARGETS.items()
    }
    met["period_512_streams_128_seconds"] = scale_answer != UNKNOWN and scale_s < SCALE_TARGET_S
    document = {
        "schema": "keepon.bench/1",
        "name": "planner",
        **ratios,
        "decided": sum(answer != UNKNOWN for answer, _ in results),
        "instances": len(results),
        "wrong": len(set(wrong)),
        "wrong_ids": sorted(set(wrong)),
        "censored": {name: sum(name in row["censored"] for row in rows) for name in PEERS},
        "sample": len(rows),
        "sample_dense": len(dense),
        "cap_seconds": PEER_CAP_S,
        "seed": options.seed,
        "period_512_streams_128_seconds": round(scale_s, 4),
        "networks": networks,
        "whole_commands": whole,
        "memory_mb_ours": round(memory_mb, 1),
        "targets": TARGETS | {"period_512_streams_128_seconds": SCALE_TARGET_S},
        "met": met,
        "rows": rows,
        "python": platform.python_version(),
        "ortools": version("ortools"),
        "z3": version("z3-solver"),
        "repeats_exactly": False,
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print()
    for name, target in document["targets"].items():
        verdict = "met" if met[name] else "MISSED"
        print(
            f"{name:32} {'-' if document[name] is None else document[name]:>10}  target {target:>6}"
            f"  {verdict}"
        )
    for row in networks:
        goal = "" if row["target_seconds"] is None else f"  target {row['target_seconds']:g} s"
        print(
            f"network of {row['bridges']} bridges, {row['streams']} streams: {row['status']} in"
            f" {row['seconds']} s, checked in {row['check_seconds']} s{goal} "
            f" {'met' if row['met'] else 'MISSED'}"
        )
    for row in whole:
        print(
            f'keepon plan, {row["streams"]} streams of six periods, gates "{row["gates"]}":'
            f" {row['status']}, "
            f"{row['cpu_seconds']} s of CPU, {row['memory_mb']} MB  target"
            f" {row['target_seconds']:g} s, "
            f"{row['target_mb']} MB  {'met' if row['met'] else 'MISSED'}"
        )
    print(
        f"ours: {document['decided']} of {len(results)} decided, {document['wrong']} wrong,"
        f" {memory_mb:.0f} MB"
    )
    print(
        f"peers: {len(rows)} instances, {len(dense)} from {DENSE_PERCENT} % on; censored:"
        f" {document['censored']}"
    )
    print(RESULT.relative_to(ROOT))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
