# SPDX-License-Identifier: BSD-3-Clause
"""The study of schedulability by threads, processes and a cluster, stopped and cut off."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from schedulability_cases import QUICK, hard_task

from keepon import spread
from keepon.cli import edge
from keepon.errors import EnvironmentProblemError
from keepon.model import documents
from keepon_papers import document as study
from keepon_papers.partitions import deciding, experiment, sets
from keepon_papers.partitions.deciding import find
from keepon_papers.partitions.sets import Finding, Task
from keepon_papers.partitions.settings import Settings
from keepon_papers.schema_files import PACKAGE
from keepon_papers.spread import Spread, SpreadSettings

# --- many sets
# --------------------------------------------------------------------------------------------------


def answers(**who: Any) -> list[Finding]:
    with Spread(SpreadSettings(**who)) as spread:
        results = experiment.decide(sets.tasks(Settings(sets=2, levels_percent=[5, 50])), spread)
    assert not results.interrupted
    assert all(finding.seconds > 0 for finding in results.findings)
    return [replace(finding, seconds=0.0, shared_seconds=0.0) for finding in results.findings]


@pytest.mark.slow
def test_answers_are_the_same_whichever_worker_decides(scheduler: str) -> None:
    alone = answers(workers=1)
    assert [finding.position for finding in alone] == [0, 1, 2, 3]
    assert [finding.level_percent for finding in alone] == [5, 5, 50, 50]
    assert answers(workers=2) == alone
    assert answers(cluster=scheduler) == alone


@pytest.mark.slow
def test_a_process_that_dies_is_one_sentence() -> None:
    tasks = [hard_task(60), *sets.tasks(Settings(sets=30))]
    others = set(multiprocessing.active_children())

    def kill(done: int, _: int, __: Finding) -> None:
        for child in set(multiprocessing.active_children()) - others if done == 1 else ():
            child.kill()

    with (
        pytest.raises(EnvironmentProblemError, match="a process has died"),
        Spread(SpreadSettings(workers=2)) as spread,
    ):
        experiment.decide(tasks, spread, kill)


@contextmanager
def interrupting(after: int) -> Iterator[experiment.OnProgress]:
    """Ctrl-C as a terminal gives it, to all processes of the experiment."""
    others = set(multiprocessing.active_children())

    def press(done: int, _: int, __: Finding) -> None:
        if done == after:
            for child in set(multiprocessing.active_children()) - others:
                assert child.pid is not None
                # From its first moment: it would tell of the interruption in words of Python's.
                status = Path(f"/proc/{child.pid}/status").read_text()
                blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
                assert blocked >> (signal.SIGINT - 1) & 1
                os.kill(child.pid, signal.SIGINT)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)

    yield press


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_writes_what_is_done(
    workers: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    # Sets nobody waits for: what is being decided is given up at once.
    monkeypatch.setattr(
        sets, "tasks", lambda settings: [*_ordinary(settings), *[hard_task(120)] * 3]
    )
    monkeypatch.setattr(experiment, "progress", lambda total: interrupting(3))
    before = set(multiprocessing.active_children())
    begin_s = sum(os.times()[:4])
    folder = tmp_path / "x"
    arguments = (
        "--out",
        folder,
        "--workers",
        workers,
        "--sets",
        1,
        "--set",
        "levels_percent=[5, 30, 50]",
    )
    assert keepon("reproduce", "fig27", *arguments) == 130
    assert sum(os.times()[:4]) - begin_s < 60  # of CPU, children included
    assert set(multiprocessing.active_children()) <= before
    assert (
        capfd.readouterr().err
        == f"interrupted; 3 sets were decided, the others are left out of {folder}\n"
    )
    document = documents.read(folder / "result.json", study.STUDY_SCHEMA)
    jsonschema.validate(document, documents.json_schema("study", PACKAGE))
    assert document["interrupted"] is True
    assert [row[1] for row in document["sets"]["rows"]] == [5, 30, 50]
    assert (folder / "report.html").is_file()


_ordinary = sets.tasks


def test_ctrl_c_before_the_first_set_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    def pressed(_: Task) -> Finding:
        raise KeyboardInterrupt

    monkeypatch.setattr(deciding, "find", pressed)
    monkeypatch.setattr(edge.Settings, "concluded", False)
    assert keepon("reproduce", "fig27", "--out", tmp_path / "x", "--workers", 1, *QUICK) == 130
    assert "interrupted; nothing was written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# --- the cluster
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def refusal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, keepon: Any
) -> Callable[[str], str]:
    def refused(address: str) -> str:
        code = keepon("reproduce", "fig27", "--out", tmp_path / "x", "--cluster", address, *QUICK)
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert list(tmp_path.iterdir()) == []
        return f"{code}: {printed.err}"

    return refused


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[[str], str]
) -> None:
    monkeypatch.setattr(spread, "ANSWER_S", 1)
    sentence = refusal("tcp://127.0.0.1:1")
    assert sentence.startswith(
        '3: keepon: option --cluster = "tcp://127.0.0.1:1": no scheduler answers there within 1 s'
    )
    sentence = refusal("nonsense")
    assert sentence.startswith('2: keepon: option --cluster = "nonsense": is not an address')
    monkeypatch.setitem(sys.modules, "distributed", None)
    sentence = refusal("tcp://127.0.0.1:1")
    assert sentence.startswith("3: keepon: option --cluster: dask.distributed cannot be imported")


@pytest.mark.slow
def test_a_first_message_of_the_scheduler_that_does_not_come_alone_is_waited_out(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[[str], str], scheduler: str
) -> None:
    """The library's own assertion, seen on a loaded machine: connected again, and one sentence if
    it never ends.
    """
    import distributed

    client = distributed.Client
    failures = [spread.CONNECTS_MAX - 1]

    def crowded(*given: Any, **more: Any) -> Any:
        failures[0] -= 1
        assert failures[0] < 0
        return client(*given, **more)

    monkeypatch.setattr(distributed, "Client", crowded)
    with spread.connected(scheduler) as connection:
        assert list(connection.as_done(find, [])) == []
    failures[0] = spread.CONNECTS_MAX
    assert "no scheduler answers there" in refusal(scheduler)


@pytest.mark.slow
def test_a_cluster_of_another_version_or_without_workers_is_refused(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[[str], str], scheduler: str
) -> None:
    import distributed

    monkeypatch.setattr(spread, "__version__", "99.0")
    sentence = refusal(scheduler)
    assert sentence.startswith("3: ")
    assert "this is 99.0; install the same everywhere" in sentence
    monkeypatch.undo()
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty:
        sentence = refusal(empty.scheduler_address)
    assert sentence.startswith("3: ")
    assert "the scheduler has no workers" in sentence


@pytest.mark.slow
def test_a_cluster_that_is_lost_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[[str], str], scheduler: str
) -> None:
    import distributed

    def lost(*_: Any, **__: Any) -> Iterator[Any]:
        raise CancelledError

    monkeypatch.setattr(distributed, "as_completed", lost)
    sentence = refusal(scheduler)
    assert sentence.startswith(
        f'3: keepon: option --cluster = "{scheduler}": scheduler or workers were lost'
    )


@pytest.mark.slow
def test_a_client_that_does_not_close_well_spoils_nothing(
    monkeypatch: pytest.MonkeyPatch, scheduler: str
) -> None:
    import distributed

    alone = answers(workers=1)
    close = distributed.Client.close
    raised = []

    def closed(self: Any, *args: Any, **options: Any) -> None:
        close(self, *args, **options)
        # Not when a client is collected, which closes it, too: nobody could catch that.
        if sys._getframe(1).f_code.co_name != "__del__":
            raised.append(self)
            raise AssertionError

    monkeypatch.setattr(distributed.Client, "close", closed)
    assert answers(cluster=scheduler) == alone
    assert len(raised) == 1
