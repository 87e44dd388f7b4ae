# SPDX-License-Identifier: BSD-3-Clause
"""What every session of tests is given: Ctrl-C and SIGHUP that mean something, a width, no deadline
for examples, and the fixtures `keepon`, `refused` and `scheduler`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# A shell starts what it puts into the background with Ctrl-C ignored, and nohup all with SIGHUP
# ignored; that is inherited, and some tests send either.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Workers of xdist have 80 columns, and what is printed goes by that.
os.environ.pop("COLUMNS", None)

# Thousands of collected tests are looked at for garbage otherwise, 5 % of the time.
gc.set_threshold(50_000, 20, 20)

# How long an example takes says how busy the machine is.
settings.register_profile("keepon", deadline=None)
settings.load_profile("keepon")


@pytest.fixture
def keepon(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs `keepon` with arguments in this process; its exit code."""
    from keepon.cli import app

    def run(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["keepon", *map(str, arguments)])
        return app.main()

    return run


@pytest.fixture
def refused(
    keepon: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Any:
    """Runs `keepon` with arguments in an empty folder and gives the line it must refuse them with,
    the first where several things are wrong.
    """
    from keepon.errors import EXIT_INPUT

    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> str:
        code = keepon(*arguments)
        said = capsys.readouterr()
        assert code == EXIT_INPUT, said.err
        assert said.out == ""
        lines = said.err.splitlines()
        assert all(line.startswith("keepon: ") for line in lines), said.err
        assert "internal error" not in said.err
        assert len(lines[0]) < 2_100
        return lines[0]

    return run


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Address of a dask scheduler with two workers, each a process."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as local:
        yield local.scheduler_address
