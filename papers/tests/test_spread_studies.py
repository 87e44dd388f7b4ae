# SPDX-License-Identifier: BSD-3-Clause
"""Who does the work of a study changes nothing but the time; Ctrl-C ends all of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import process
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers import HABITAT
from keepon_host import interrupts

from keepon.cli import app as cli
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.hosts import Sourced
from keepon_papers import casestudy, inputs, onset, spread, study
from keepon_papers.clocks import bridged, headline
from keepon_papers.registry import STUDIES
from keepon_papers.spread import By, Spread, SpreadSettings
from keepon_papers.study import Found

PTP = ["intervals=100", "sweep_intervals=60", "sweep_points=5", "seeds=20"]
THREE = ["duration_s=0.1", "starts=2"]
SETS = ["sets=2", "levels_percent=[5, 50]"]
LONG = ("headline", "fig7", "fig12")
TINY = {
    "eq4": PTP,
    "eq6": PTP,
    "fig28": PTP,
    "fig29": PTP,
    "ptp-errors": PTP,
    "fig7": ["duration_s=0.02", "warmup_s=0.02", "read_ns=1000"],
    "fig8": ["duration_s=0.5", "warmup_s=0.5"],
    "fig12": ["duration_s=1", "warmup_s=2", "software_warmup_s=2", "software_duration_s=4"],
    "fig13": ["batch_slots=4", "duration_s=2", "warmup_s=1", "software_warmup_s=4", "seeds=2"],
    "fig17": ["measured_ms=5", "warmup_ms=20"],
    "fig18": ["measured_ms=5", "warmup_ms=20"],
    "fig22": ["seeds=2", "duration_s=20", "single_s=15", "hold_s=2"],
    "fig23": ["duration_s=0.1", "warmup_s=0.5"],
    "headline": ["duration_s=1", "gains_s=1", "warmup_s=2"],
    "fig27": SETS,
    "schedulability": [*SETS, "beyond_percent=[60]"],
    "mitsubishi.table8": THREE,
    "mitsubishi.table9": THREE,
    "mitsubishi.table10": THREE,
    "mitsubishi.table11": THREE,
    "mitsubishi.remedy": THREE,
    "cochran.table": ["samples=200", "settle_s=4"],
    "fejes.fig1": ["packets=200"],
    "fejes.fig2": ["packets=200", "settle_s=4"],
    "fejes.fig3": ["packets=200"],
    "fejes.sizes": ["packets=200"],
    "garbugli.fig4": ["duration_s=1", "changed_s=1", "saturated_s=1"],
    "garbugli.fig5": ["duration_s=1"],
}


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes from the first piece on; servos that settle within seconds."""
    monkeypatch.setattr("keepon.spread.LONG_S", 0.0)
    monkeypatch.setattr(bridged, "SLOW", 2.0)
    for module in (bridged, headline):
        monkeypatch.setattr(module, "DELAYS", 11)
    monkeypatch.setattr(headline, "GAINS", (1.0, 3.0))


def without_times(document: Any) -> Any:
    """The document of a study over sets without the seconds each took, which are measured."""
    for part in document["parts"]:
        part["plots"] = [[panel["title"] for panel in plot["panels"]] for plot in part["plots"]]
        part["compared"] = [
            row for row in part["compared"] if not row["quantity"].startswith("mean time")
        ]
        for table in part["tables"]:
            kept = [not column["name"].endswith(("(ms)", "(s)")) for column in table["columns"]]
            table["rows"] = [
                [cell for cell, keep in zip(row, kept, strict=True) if keep]
                for row in table["rows"]
            ]
    kept = ["seconds" not in name for name in document["sets"]["columns"]]
    document["sets"] = [
        [cell for cell, keep in zip(row, kept, strict=True) if keep]
        for row in document["sets"]["rows"]
    ]
    return document


def text(name: str, *who: str) -> str:
    document: Any = study.run(STUDIES[name], name, [*TINY[name], *who])
    return json.dumps(without_times(document) if "sets" in document else document)


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.full if name in LONG else ()) for name in STUDIES],
)
def test_a_study_is_the_same_byte_for_byte_with_one_worker_and_with_two(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = text(name, "workers=1")
    done: list[int] = []
    ordinary = Spread.as_done

    def watched(self: Spread, *given: Any) -> Any:
        assert self._workers == 2
        for place, result in ordinary(self, *given):
            done.append(place)
            yield place, result

    monkeypatch.setattr(Spread, "as_done", watched)
    assert text(name, "workers=2") == alone
    assert len(done) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fig22", "fig13", "eq6"])
def test_a_study_is_the_same_byte_for_byte_from_a_cluster(name: str, scheduler: str) -> None:
    assert text(name, f"cluster={scheduler}") == text(name, "workers=1")


@pytest.mark.slow
def test_the_case_study_is_the_same_from_a_cluster(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cascade over seeds and the onset of one group; what both runs are given is one second."""
    setting = onset.Setting(delta_ns=50_000, tail_probability=0.01)
    monkeypatch.setattr(onset, "GROUPS", {"often": (setting,)})
    scenario = loading.load(HABITAT).model_copy(update={"duration_s": 1.0})
    plan = session.planned(scenario)
    with Spread(spread.read({"cluster": scheduler})) as others:
        found = casestudy.reproduce(scenario, plan, 3, 3, None, others)
    assert found == casestudy.reproduce(scenario, plan, 3, 3)
    assert [entry["seed"] for entry in found["parts"]["cascade"]["seeds"]] == [3, 4, 5]


# --- pieces of work
# -----------------------------------------------------------------------------------------------


def piece(number: int, seconds: float) -> tuple[int, int]:
    """A piece that the sooner is done the later it comes; it tells of a number it used, and who did
    it.
    """
    time.sleep(seconds)
    inputs.note([Sourced(f"number {number}", number, "test")])
    return number, os.getpid()


def refused(number: int) -> int:
    if number == 1:
        raise ConfigError("setting `number` = 1: must be another; choose 2")
    return number


PIECES = [(number, 0.05 * (4 - number)) for number in range(5)]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["threads", "processes"])
def test_results_and_the_numbers_used_come_in_order_whichever_is_first(by: By) -> None:
    with Spread(SpreadSettings(workers=3)) as workers, inputs.collecting() as used:
        results = workers.in_order(piece, PIECES, by)
        assert [number for number, _ in results] == list(range(5))
        assert [entry.value for entry in used] == list(range(5))
        here = {process for _, process in results} == {os.getpid()}
        assert here == (by == "threads")
        assert workers.in_order(piece, [], by) == []


@pytest.mark.slow
def test_short_work_starts_no_process_and_long_work_does(monkeypatch: pytest.MonkeyPatch) -> None:
    with Spread(SpreadSettings(workers=2)) as workers:
        assert {process for _, process in workers.in_order(piece, PIECES, "processes if long")} == {
            os.getpid()
        }
    monkeypatch.setattr("keepon.spread.LONG_S", 0.15)
    with Spread(SpreadSettings(workers=2)) as workers:
        results = workers.in_order(piece, PIECES, "processes if long")
    assert [number for number, _ in results] == list(range(5))
    first, *_, last = [process for _, process in results]
    assert first == os.getpid() != last


@pytest.mark.slow
@pytest.mark.parametrize("by", ["threads", "processes"])
@pytest.mark.parametrize("count", [1, 2])
def test_what_a_piece_refuses_is_raised_as_it_is(by: By, count: int) -> None:
    with (
        Spread(SpreadSettings(workers=count)) as workers,
        pytest.raises(ConfigError, match="choose 2"),
    ):
        workers.in_order(refused, [(number,) for number in range(5)], by)


# --- Ctrl-C
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("number", interrupts.ENDING)
@pytest.mark.parametrize(
    "at", [(process._ExecutorManagerThread, "start"), (process.ProcessPoolExecutor, "shutdown")],
    ids=["begins", "ends"],
)  # fmt: skip
def test_an_end_while_the_pool_begins_or_ends_is_obeyed_and_breaks_nothing(
    number: int, at: tuple[type, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the midst of either an exception would leave a thread that never began to be joined."""
    ordinary, before = getattr(*at), set(multiprocessing.active_children())
    came: list[int] = []

    def interrupted(self: object, *args: object, **options: object) -> object:
        if not came:
            came.append(number)
            signal.raise_signal(number)
        return ordinary(self, *args, **options)

    monkeypatch.setattr(*at, interrupted)
    with (
        pytest.raises(KeyboardInterrupt),
        interrupts.ending_interrupts(),
        Spread(SpreadSettings(workers=2)) as workers,
    ):
        workers.in_order(piece, [(1, 0.0), (2, 0.0)], "processes")
    assert came == [number]
    assert set(multiprocessing.active_children()) <= before


def children(process: int) -> list[int]:
    return [
        int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def stat(process: int) -> list[str]:
    """Fields of /proc/PID/stat from the third (state) on."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def seconds(process: int) -> float:
    fields = stat(process)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def runs(process: int, started: str) -> bool:
    """The process with this number is the one that was started then, and has not ended: a machine
    that builds much gives numbers out again within seconds.
    """
    try:
        fields = stat(process)
    except OSError:
        return False
    return fields[0] not in "ZX" and fields[19] == started


def waited(condition: Callable[[], bool], limit_s: float = 600) -> bool:
    until = time.monotonic() + limit_s
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


@contextmanager
def begun(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A command as a terminal starts it, in a group of its own."""
    run = [sys.executable, "-m", "keepon", "reproduce", *words]
    with subprocess.Popen(
        run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def check_interrupted(process: subprocess.Popen[str]) -> None:
    """Ctrl-C as a terminal gives it ends the command, with one line."""
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out, err) == (130, "", "keepon: interrupted; nothing was written\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "processes"),
    [
        (["fig12", "--workers", "2"], False),
        (["fig12", "--workers", "1"], False),
        (["fig28", "--workers", "2", "--seeds", "1000", "--set", "sweep_intervals=10000"], True),
    ],
)
def test_ctrl_c_ends_threads_and_processes_and_writes_nothing(
    words: list[str], processes: bool, tmp_path: Path
) -> None:
    with begun([*words, "--out", str(tmp_path / "x")]) as running:
        assert waited(lambda: seconds(running.pid) > 3)
        if processes:
            assert waited(lambda: sum(seconds(child) > 0.5 for child in children(running.pid)) >= 2)
        left = {child: stat(child)[19] for child in children(running.pid)}
        check_interrupted(running)
    assert list(tmp_path.iterdir()) == []
    assert waited(lambda: not any(runs(child, started) for child, started in left.items()), 15)


@pytest.mark.slow
def test_ctrl_c_takes_back_what_no_worker_of_a_cluster_has_begun(
    scheduler: str, tmp_path: Path
) -> None:
    import distributed

    words = ["fig22", "--seeds", "1000", "--cluster", scheduler, "--out", str(tmp_path / "x")]
    with distributed.Client(scheduler, set_as_default=False) as client, begun(words) as running:
        assert waited(lambda: all(client.processing().values()))
        check_interrupted(running)
        assert waited(lambda: not any(client.processing().values()), 30)
    assert list(tmp_path.iterdir()) == []


# --- options
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fig12", "--workers", "0"], 'setting `workers` = 0: must be "auto" or between 1 and 64'),
        (
            ["eq4", "--set", "workers=65"],
            'setting `workers` = 65: must be "auto" or between 1 and 64',
        ),
        (
            ["headline", "--workers", "2", "--cluster", "tcp://h:1"],
            "setting `workers` = 2: is not for a cluster",
        ),
        (
            ["fig7", "--workers", "2", "--set", "workers=2"],
            "option --workers = 2: --set gives `workers` as well",
        ),
        (["fig8", "--cluster", "nonsense"], 'option --cluster = "nonsense": is not an address'),
        (
            ["habitat", "--workers", "2", "--cluster", "tcp://h:1"],
            "setting `workers` = 2: is not for a cluster",
        ),
        (
            ["habitat", "--cluster", "nonsense"],
            'option --cluster = "nonsense": is not an address',
        ),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["keepon", "reproduce", *words, "--out", str(tmp_path / "x")])
    assert cli.main() == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert sentence in printed.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "meant"),
    [([], "auto"), (["workers=3"], 3), (["workers=auto"], "auto"), (["workers = 1"], 1)],
)
def test_all_processors_work_by_default_and_no_document_says_how_many(
    given: list[str], meant: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    ordinary = Spread.__init__
    monkeypatch.setattr(
        Spread, "__init__", lambda self, who: (seen.append(who), ordinary(self, who))[1]
    )
    nothing = replace(STUDIES["eq4"], find=lambda settings, workers: Found([]))
    document = study.run(nothing, "eq4", given)
    assert seen == [SpreadSettings(workers=meant)]
    assert not {"workers", "cluster"} & set(document["effective"])
