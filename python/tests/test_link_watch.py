# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon link watch` makes of readings; the links themselves are in kernel/tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from keepon.errors import EXIT_INTERRUPTED, ConfigError, EnvironmentProblemError
from keepon_host import cli, interrupts
from keepon_host.link import view, watch
from keepon_host.link.watch import Moment, Reading
from prometheus_client.parser import text_string_to_metric_families

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


def test_a_link_made_anew_has_no_rates_yet() -> None:
    anew = Moment("rt0", Reading(11.0, UP), Reading(10.0, {**UP, "verdict_on_time": 500}))
    assert anew.rate("verdict_on_time") is None
    assert anew.document()["per_second"]["verdict_on_time"] is None
    assert "on_time 9" in watch.line(anew)


def test_a_collector_can_read_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.prom"
    file.write_text("old")
    watch.write_textfile(file, moment(name='r"\\0'))
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(file.read_text())
        for sample in family.samples
    }
    assert found.pop(("keepon_frames_total", 'r"\\0', "on_time")) == 9
    assert found.pop(("keepon_submitted_total", 'r"\\0')) == 12
    assert found.pop(("keepon_clock_error_ps", 'r"\\0')) == 12_500
    assert found.pop(("keepon_late_ns", 'r"\\0', "7")) == 840
    assert len(found) == len(UP) - 4
    assert [path.name for path in tmp_path.iterdir()] == ["a.prom"]


@pytest.mark.parametrize("count", [None, 2])
def test_the_file_goes_with_the_link_and_stays_after_the_last_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int | None
) -> None:
    """Nobody shall go on showing a link that is not there."""
    file = tmp_path / "a.prom"
    readings = iter([Reading(10.0, UP), Reading(11.0, UP)])

    def read(name: str, names: list[str]) -> Reading:
        for reading in readings:
            return reading
        raise EnvironmentProblemError("rt0 has gone")

    monkeypatch.setattr(watch, "names_of", lambda name: list(UP))
    monkeypatch.setattr(watch, "read", read)
    seen = watch.moments("rt0", 0.1, count, file)
    next(seen)
    assert file.is_file()
    if count:
        assert len(list(seen)) == 1 and file.is_file()
        return
    with pytest.raises(EnvironmentProblemError):
        list(seen)
    assert not file.exists()


def test_it_goes_where_it_lies_and_a_link_to_it_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "a.prom").symlink_to("there/b.prom")
    monkeypatch.setattr(watch, "names_of", lambda name: list(UP))
    monkeypatch.setattr(watch, "read", lambda name, names: Reading(10.0, UP))
    seen = watch.moments("rt0", 0.1, None, tmp_path / "a.prom")
    next(seen)
    assert (tmp_path / "there" / "b.prom").is_file()
    seen.close()
    assert (tmp_path / "a.prom").is_symlink() and list((tmp_path / "there").iterdir()) == []


@pytest.mark.parametrize("number", interrupts.ENDING)
def test_whatever_ends_the_program_takes_its_file_away(
    number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`python3 -m keepon_host link watch`, too, as a service has it."""
    file = tmp_path / "a.prom"
    seen: list[bool] = []

    def read(name: str, names: list[str]) -> Reading:
        if file.is_file():
            seen.append(True)
            signal.raise_signal(number)
        return Reading(10.0, UP)

    monkeypatch.setattr(watch, "names_of", lambda name: list(UP))
    monkeypatch.setattr(watch, "read", read)
    words = ["link", "watch", "rt0", "--interval", "0.1", "--textfile", str(file)]
    assert cli.main(words) == EXIT_INTERRUPTED
    assert seen == [True] and not file.exists()


def test_figures_that_cannot_be_renewed_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A full disk; but what was there before the watch stays."""
    file = tmp_path / "a.prom"
    file.write_text("of somebody else's")
    full = iter([False, True, True])
    written = watch.write_textfile

    def write(path: Path, moment: Moment) -> None:
        if next(full):
            raise ConfigError("option --textfile: no space left")
        written(path, moment)

    monkeypatch.setattr(watch, "names_of", lambda name: list(UP))
    monkeypatch.setattr(watch, "read", lambda name, names: Reading(10.0, UP))
    monkeypatch.setattr(watch, "write_textfile", write)
    with pytest.raises(ConfigError):
        list(watch.moments("rt0", 0.1, None, file))
    assert not file.exists()
    file.write_text("of somebody else's")
    with pytest.raises(ConfigError):
        list(watch.moments("rt0", 0.1, None, file))
    assert file.read_text() == "of somebody else's"


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "a.prom").mkdir()
    with pytest.raises(ConfigError, match=r"a\.prom\": is no ordinary file and stays"):
        watch.write_textfile(tmp_path / "a.prom", moment())
    assert [path.name for path in tmp_path.iterdir()] == ["a.prom"]


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "loop", ".", ""):
        with pytest.raises(ConfigError, match="option --textfile"):
            watch.write_textfile(tmp_path / name, moment())
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loop", "pipe"]


def test_a_link_to_a_file_stays_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "a.prom").symlink_to("there/b.prom")
    watch.write_textfile(tmp_path / "a.prom", moment())
    assert (tmp_path / "a.prom").is_symlink()
    assert "keepon_frames_total" in (tmp_path / "there" / "b.prom").read_text()


def test_a_name_that_is_no_text_is_written_all_the_same(tmp_path: Path) -> None:
    watch.write_textfile(tmp_path / "a.prom", moment(name="\udcff"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.prom"]


def test_errors_are_told_to_the_picosecond() -> None:
    told = {ps: moment(clock_error_ps=ps).error_ns() for ps in (0, 1, 10, 1500, 1_234_567_890)}
    assert told == {0: "0", 1: "0.001", 10: "0.01", 1500: "1.5", 1_234_567_890: "1234567.89"}
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
