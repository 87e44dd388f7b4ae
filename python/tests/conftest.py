# SPDX-License-Identifier: BSD-3-Clause
"""Makes `helpers` importable under any import mode of pytest, Ctrl-C mean something, and a cluster
for whoever asks.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# A shell starts what it puts into the background with Ctrl-C ignored, and nohup all with SIGHUP
# ignored; that is inherited, and some tests send either.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Workers of xdist have 80 columns, and what is printed goes by that.
os.environ.pop("COLUMNS", None)

# How long an example takes says how busy the machine is.
settings.register_profile("keepon", deadline=None)
settings.load_profile("keepon")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Address of a dask scheduler with two workers, each a process."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as local:
        yield local.scheduler_address
