# SPDX-License-Identifier: BSD-3-Clause
"""Runs a stream of operations on a case; finds the shortest stream that still fails. Also a
program:

    python -m core_model.campaign LIBRARY FIRST_SEED SEEDS OPERATIONS

Exit code 1 and the difference if core and model disagree.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random
from time import monotonic

from core_model.cases import Case, Operation, random_case, random_operations
from core_model.core import Library
from core_model.driver import Driver

SHRINK_S = 20.0


def play(library: Library, case: Case, operations: list[Operation]) -> Driver:
    """Apply every operation, then drain and stop; AssertionError at the first difference."""
    driver = Driver(library, case)
    for number, operation in enumerate(operations):
        try:
            driver.apply(operation)
        except AssertionError as error:
            raise AssertionError(f"operation {number} {operation}: {error}") from error
    driver.close()
    return driver


def failure(library: Library, case: Case, operations: list[Operation]) -> str | None:
    """The difference, or None."""
    try:
        play(library, case, operations)
    except AssertionError as error:
        return str(error)
    return None


def shrink(library: Library, case: Case, operations: list[Operation]) -> list[Operation]:
    """Leave out operations, large pieces first, as long as something still fails and for at most
    SHRINK_S.
    """
    end_s = monotonic() + SHRINK_S
    piece = len(operations) // 2
    while piece:
        at = 0
        while at < len(operations) and monotonic() < end_s:
            fewer = operations[:at] + operations[at + piece :]
            if failure(library, case, fewer):
                operations = fewer
            else:
                at += piece
        piece //= 2
    return operations


def shorten(allowed: tuple[int, ...]) -> str:
    """Masks, or what they can be made of again."""
    return (
        str(allowed)
        if len(allowed) <= 64
        else f"{len(allowed)} masks beginning with {allowed[:16]}"
    )


def explain(library: Library, case: Case, operations: list[Operation]) -> str:
    """A failing stream as short as it gets, ready to be written down as a test."""
    fewer = shrink(library, case, operations)
    setup = f"params = {case.params}\nallowed = {shorten(case.allowed)}"
    return f"{failure(library, case, fewer)}\n{setup}\noperations = {fewer}"


def play_seed(library: Library, seed: int, count: int) -> Counter[str]:
    """A drawn case; returns verdicts counted. The failing stream is shortened and part of the
    error.
    """
    rng = Random(seed)
    case = random_case(rng, library)
    operations = random_operations(rng, case, count)
    if failure(library, case, operations):
        raise AssertionError(f"seed {seed}: {explain(library, case, operations)}")
    driver = play(library, case, operations)
    return Counter(driver.counts) + Counter(slots_checked=driver.slots_checked)


def main() -> int:
    """Play some seeds and print what happened."""
    library = Library(Path(sys.argv[1]))
    total: Counter[str] = Counter()
    for seed in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])):
        try:
            total += play_seed(library, seed, int(sys.argv[4]))
        except AssertionError as error:
            print(error)
            return 1
    print(dict(total))
    return 0


if __name__ == "__main__":
    sys.exit(main())
