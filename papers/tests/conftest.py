# SPDX-License-Identifier: BSD-3-Clause
"""Makes the modules beside these tests, and beside those of keepon, importable; a cluster for tests
that need one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.append(str(HERE.parents[1] / "python" / "tests"))

from session_settings import refused  # noqa: E402, F401


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Address of a dask scheduler with two workers, each a process."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as local:
        yield local.scheduler_address
