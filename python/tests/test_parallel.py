# SPDX-License-Identifier: BSD-3-Clause
"""Runs side by side: the same results as one after the other, and Ctrl-C stops them all."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from keepon.cli import session
from keepon.model import loading
from keepon.parallel import check_stopped, in_order
from keepon.targets.sim import runner

HABITAT = Path(__file__).parents[2] / "examples" / "habitat.toml"


def test_results_come_in_the_order_of_items_whichever_is_first() -> None:
    def work(number: int) -> int:
        time.sleep((4 - number) * 0.01)
        return number * number

    assert list(in_order(work, range(5), workers=5)) == [0, 1, 4, 9, 16]
    assert list(in_order(work, [], workers=1)) == []


def test_the_first_that_fails_in_order_is_raised_and_the_others_are_stopped() -> None:
    stopped: list[int] = []
    beside = threading.Event()

    def work(number: int) -> int:
        if number == 1:
            beside.wait()
            raise ValueError("one")
        try:
            while number > 1:
                beside.set()
                check_stopped()
                time.sleep(0.001)
        except KeyboardInterrupt:
            stopped.append(number)
            raise
        return number

    results: Iterator[int] = in_order(work, range(6), workers=3)
    assert next(results) == 0
    with pytest.raises(ValueError, match="one"):
        next(results)
    assert set(stopped) <= {2, 3, 4, 5}
    assert stopped  # what ran beside it
    check_stopped()  # the next runs are not stopped
    assert threading.active_count() < 20


def test_ctrl_c_while_runs_are_handed_out_stops_those_that_have_begun() -> None:
    stopped: list[int] = []

    def work(number: int) -> None:
        end_s = time.monotonic() + 60
        try:
            while time.monotonic() < end_s:
                check_stopped()
                time.sleep(0.001)
        except KeyboardInterrupt:
            stopped.append(number)
            raise

    def items() -> Iterator[int]:
        yield 0
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(in_order(work, items(), workers=2))
    assert stopped == [0]


def test_drivers_side_by_side_leave_the_traces_of_one_after_the_other() -> None:
    scenario = loading.load(HABITAT).model_copy(update={"duration_s": 0.2})
    plan = session.planned(scenario)
    alone = [
        runner.simulate(scenario, plan, driver, 3)[0].trace_hash for driver in scenario.drivers()
    ]
    together = runner.run_all(scenario, plan, 3)
    assert [run.trace_hash for run in together.runs] == alone
    assert [run.driver for run in together.runs] == scenario.drivers()


def test_ctrl_c_keeps_what_is_complete_up_to_the_first_that_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = loading.load(HABITAT).model_copy(update={"duration_s": 0.2})
    plan = session.planned(scenario)
    ordinary = runner.simulate

    def pressed(*args: object) -> object:
        if args[2] == scenario.drivers()[1]:
            raise KeyboardInterrupt
        return ordinary(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "simulate", pressed)
    outcome = runner.run_all(scenario, plan, 3)
    assert outcome.interrupted
    assert [run.driver for run in outcome.runs] == scenario.drivers()[:1]
