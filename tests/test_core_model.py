# SPDX-License-Identifier: BSD-3-Clause
"""The core against the independent exact model of core_model/, operation by operation.

Three sources of operations: cases drawn by hypothesis (short, shrinking well), seeded streams
(long, shortened by leaving out what does not matter), and cases written down, one for every symptom
found so far.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from core_model import cases, scenarios
from core_model.build import build_library
from core_model.campaign import explain, failure, play, play_seed
from core_model.core import CommitRecord, Core, Library, OutcomeRecord, RefusedError
from core_model.driver import Driver
from core_model.twin import Down
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SEEDS = range(1, 41)
SEED_OPERATIONS = 150
SOAK_SEEDS = range(1000, 2000)
SOAK_OPERATIONS = 400


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The core as it is, with rig and shim."""
    return Library(build_library(Path(tmp_path_factory.mktemp("core_model"))))


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(source=st.randoms(use_true_random=False), count=st.integers(1, 60))
def test_drawn_operations(library: Library, source: Random, count: int) -> None:
    case = cases.random_case(source, library)
    play(library, case, cases.random_operations(source, case, count))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_seeded_stream(library: Library, seed: int) -> None:
    play_seed(library, seed, SEED_OPERATIONS)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(scenarios.SCENARIOS))
def test_scenario(library: Library, name: str) -> None:
    case, operations = scenarios.SCENARIOS[name]
    if failure(library, case, operations):
        pytest.fail(explain(library, case, operations))


@pytest.mark.slow
def test_streams_reach_every_verdict(library: Library) -> None:
    """The checks would prove nothing if most frames were refused: every verdict must have
    occurred.
    """
    total: Counter[str] = Counter()
    for case, operations in scenarios.SCENARIOS.values():
        driver = play(library, case, operations)
        total.update(driver.counts)
    # IN_DOUBT needs a CPU that is held up within a call: core/selftest/test_held_up.c.
    elsewhere = ("PENDING", "IN_DOUBT")
    missing = [name for name in library.verdict_names if name not in elsewhere and not total[name]]
    assert not missing


class AfterTheCall(Driver):
    """A model that takes a call for an instant: slots that begin during it do so by the clock it
    has set, and the wire starts when it is over."""

    def settle(self, name: str) -> tuple[list[CommitRecord], list[OutcomeRecord]]:
        self.law_of_begun = self.law
        return super().settle(name)

    def check_carried(self, down: Down, start_ps: int, restart_ps: int) -> None:
        super().check_carried(down, self.now.now_ps, restart_ps)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "symptom"),
    [
        ("slots begin while the clock is set", "a locked slot off the grid"),
        (
            "the first slot begins while the others are trimmed",
            "the time of day was not carried over",
        ),
    ],
)
def test_slots_begin_while_a_call_is_under_way(library: Library, name: str, symptom: str) -> None:
    """What was read and decided before holds for them: judged by what the call does to later ones
    they would be wrong."""
    case, operations = scenarios.SCENARIOS[name]
    play(library, case, operations)
    hasty = AfterTheCall(library, case)
    with pytest.raises(AssertionError, match=symptom):
        for operation in operations:
            hasty.apply(operation)
    hasty.core.close()


@pytest.mark.slow
def test_same_operations_same_trace(library: Library) -> None:
    """Two pacers with equal seeds, used alternately, do the same."""
    rng = Random(7)
    case = cases.random_case(rng, library)
    cores = [
        Core(library, case.params, list(case.allowed), list(case.late), list(case.rounding))
        for _ in range(2)
    ]
    for core in cores:
        core.start()
    for _ in range(200):
        for core in cores:
            core.advance(core.poll_interval_ps())
            core.poll()
            core.submit(64, 7, None)
    hashes = [core.hash() for core in cores]
    for core in cores:
        core.close()
    assert hashes[0] == hashes[1]


@pytest.mark.slow
def test_validation_is_asked(library: Library) -> None:
    case = cases.make_case({"slot_bytes": 63})
    with pytest.raises(RefusedError, match="slot_bytes"):
        Core(library, case.params, list(case.allowed), list(case.late), list(case.rounding))


@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_seeded_stream_soak(library: Library, seed: int) -> None:
    play_seed(library, seed, SOAK_OPERATIONS)
