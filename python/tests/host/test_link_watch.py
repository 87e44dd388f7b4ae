# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon link watch` makes of readings; the links themselves are in kernel/tests."""

from __future__ import annotations

import signal

import pytest
from keepon.errors import EXIT_INTERRUPTED, EnvironmentProblemError
from keepon_host import cli, interrupts
from keepon_host.link import view, watch
from keepon_host.link.watch import Moment, Reading

UP = {
    "submitted": 12, "underruns": 0, "slips": 0, "losses": 0, "verdict_on_time": 9,
    "verdict_late": 1, "verdict_moved": 0, "pending": 2, "synchronised": 1, "head_valid": 1,
    "clock_error_ps": 12_500, "lead_slots": 7,
    "class_0_late_ns": 0, "class_7_late_ns": 840,
}  # fmt: skip


def moment(seconds: float = 2.0, name: str = "rt0", **changes: int) -> Moment:
    """A reading, and one so many seconds before it without a frame."""
    before = {key: 0 if key not in watch.STATES else value for key, value in UP.items()}
    return Moment(name, Reading(10.0 + seconds, {**UP, **changes}), Reading(10.0, before))


def test_a_line_says_what_ended_how() -> None:
    assert watch.line(moment()) == (
        "rt0: synchronised, clock within 12.5 ns, on_time 4.5/s, late 0.5/s,"
        " late at worst 840 ns (class 7)"
    )
    first = Moment("rt0", moment().now, None)
    assert watch.line(first) == (
        "rt0: synchronised, clock within 12.5 ns, on_time 9, late 1, late at worst 840 ns (class 7)"
    )
    assert "underruns 3" in watch.line(moment(underruns=3))
    assert watch.line(moment(synchronised=0)).startswith("rt0: not synchronised, clock within")


def test_a_link_made_again_has_no_rates_yet() -> None:
    again = Moment("rt0", Reading(11.0, UP), Reading(10.0, {**UP, "verdict_on_time": 500}))
    assert again.rate("verdict_on_time") is None
    assert again.document()["per_second"]["verdict_on_time"] is None
    assert "on_time 9" in watch.line(again)


def test_it_ends_after_the_last_count_or_with_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([Reading(10.0, UP), Reading(11.0, UP)])

    def read(name: str, names: list[str]) -> Reading:
        for reading in readings:
            return reading
        raise EnvironmentProblemError("rt0 has gone")

    monkeypatch.setattr(watch, "names_of", lambda name: list(UP))
    monkeypatch.setattr(watch, "read", read)
    assert len(list(watch.moments("rt0", 0.1, 1))) == 1
    seen = watch.moments("rt0", 0.1, None)
    next(seen)
    with pytest.raises(EnvironmentProblemError):
        next(seen)


@pytest.mark.parametrize("number", interrupts.ENDING)
def test_each_of_them_ends_it(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python3 -m keepon_host link watch`, too, as a service has it."""

    def read(name: str, names: list[str]) -> Reading:
        signal.raise_signal(number)
        return Reading(10.0, UP)

    monkeypatch.setattr(watch, "names_of", lambda name: list(UP))
    monkeypatch.setattr(watch, "read", read)
    assert cli.main(["link", "watch", "rt0", "--interval", "0.1"]) == EXIT_INTERRUPTED


def test_errors_have_three_decimals() -> None:
    errors = {ps: moment(clock_error_ps=ps).error_ns() for ps in (0, 1, 10, 1500, 1_234_567_890)}
    assert errors == {0: "0", 1: "0.001", 10: "0.01", 1500: "1.5", 1_234_567_890: "1234567.89"}
    assert moment(seconds=0.0).rate("submitted") is None


@pytest.mark.parametrize(
    ("masks", "columns", "bar"),
    [
        ([1 << 7, 1, 1, 1], 10, "7000"),
        ([1 << 7, 1, 1, 1] * 2, 2, "77"),
        ([0, 3, 1 << 15, 1], 9, ".*f0"),
        ([0xFFFF], 80, "*"),
        ([1] * 500 + [1 << 7] + [1] * 499, 10, "0000070000"),
        ([], 80, ""),
    ],
)
def test_a_rare_slot_is_seen_in_the_bar(masks: list[int], columns: int, bar: str) -> None:
    assert watch.partition_bar(masks, columns) == bar


def test_the_page_on_a_terminal() -> None:
    text = "\n".join(view.page(moment(slips=2), [1 << 7, *[1] * 9], 60, False))
    assert "rt0: synchronised\nclock within 12.5 ns\n" in text
    assert "slips 2" in text
    assert "7000000000" in text
    assert [line.split() for line in text.splitlines()[-4:-1]] == [
        ["frames", "so", "far", "a", "second"], ["on_time", "9", "4.5"], ["late", "1", "0.5"],
    ]  # fmt: skip
    assert text.splitlines()[-1] == "later than a txtime at worst: 840 ns in class 7"
